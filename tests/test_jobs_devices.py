"""Which devices are found, chosen and given to workers; broken drivers and plug-ins cost a question, never the run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCli, report_run, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_device.machine import GIB, STAND_INS, python_path
from torch_engine_for_tests import FACTS

from cosyvoice.catalog import KOKORO
from jobs.device_choice import choose, read_wishes
from jobs.device_trouble import Trouble, fix_for
from jobs.devices import Device, cores
from jobs.errors import EnvironmentFault, UserError
from jobs.memory_watch import GROWTH_BYTES, WARM_TAKES, MemoryWatch, resident_bytes
from jobs.nvidia import parse
from jobs.probe import Found
from jobs.seats import MOST_ON_ONE_DEVICE, Seating, plan_seats
from jobs.settings import Settings

CPU = Device("cpu", "a CPU", cores=8, free_bytes=16 * GIB)


def card(name: str, free: int = 20 * GIB, **more: Any) -> Device:
    kind, _, index = name.partition(":")
    return Device(name, f"card {name}", memory_bytes=24 * GIB, free_bytes=free, backend=kind, visible_as=index, **more)


MACHINE = (
    CPU,
    card("cuda:0"),
    card("cuda:1", uuid="MIG-0c-1"),
    card("cuda:2", fault="it is lost; restart it"),
    card("npu:0"),
)


def names(text: str, **more: Any) -> list[str]:
    return [device.name for device in choose(text, MACHINE, **more).devices]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("auto", ["cuda:0", "cuda:1", "npu:0"]),
        ("cpu", ["cpu"]),
        ("cuda", ["cuda:0", "cuda:1"]),
        ("gpu:*", ["cuda:0", "cuda:1"]),
        ("cuda:0,1", ["cuda:0", "cuda:1"]),
        ("cuda:1,0,1", ["cuda:1", "cuda:0"]),
        ("npu:0, cuda:1", ["npu:0", "cuda:1"]),
        ("cpu,npu:*", ["npu:0", "cpu"]),
        ("MIG-0c", ["cuda:1"]),
        ("cuda:2", []),
    ],
)
def test_devices_are_chosen_by_the_words_after_devices(text: str, chosen: list[str]) -> None:
    assert names(text) == chosen


@pytest.mark.parametrize(
    "text", ["", "cuda:", "cuda:x", "0", "npu,1", "tpu", "auto,cpu", "cpu:1", "cuda:0;1", "cuda:*,1"]
)
def test_words_that_mean_nothing_are_refused_with_what_may_be_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"write auto|there are cpu|stands alone|one CPU"):
        read_wishes(text)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="cudanpml:*,0123456789 xMIG-", max_size=24))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        wishes = read_wishes(text)
    except ValueError as error:
        assert str(error)
    else:
        assert all(wish.uuid or wish.kind in ("cpu", "cuda", "npu", "mlu", "xpu", "mps") for wish in wishes)


def test_a_device_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(EnvironmentFault, match=r"no cuda:7; this machine has cpu, cuda:0, cuda:1, cuda:2, npu:0"):
        choose("cuda:7", MACHINE)
    with pytest.raises(EnvironmentFault, match="no mlu"):
        choose("mlu", MACHINE)


def test_what_is_left_out_is_told_with_its_reason() -> None:
    full = (*MACHINE[:2], card("cuda:3", free=GIB))
    choice = choose("auto", full, min_free_bytes=2 * GIB)
    assert [device.name for device in choice.devices] == ["cuda:0"]
    assert choice.warnings == ("cuda:3 (card cuda:3) is left out: 1.0 GiB of memory are free, 2.0 GiB are needed",)
    assert any("it is lost; restart it" in warning for warning in choose("auto", MACHINE).warnings)


def plan(
    machine: tuple[Device, ...], troubles: tuple[Trouble, ...] = (), engine: Any = FACTS, **chosen: Any
) -> Seating:
    return plan_seats(Settings(**chosen), engine, look=lambda: Found(machine, troubles))


def test_each_worker_sees_its_own_device_alone() -> None:
    machine = (
        CPU, replace(card("cuda:0"), visible_as="MIG-aa"),
        card("npu:0"), card("mlu:1", autoload=False), replace(card("cuda:4"), backend="rocm"),
        replace(card("mps:0"), backend="mps"), card("xpu:3"),
    )  # fmt: skip
    seats = {seat.device: seat for seat in plan(machine, workers_per_device=1, threads=2).seats}
    seen = {name: {k: v for k, v in seat.environment if k != "OMP_NUM_THREADS"} for name, seat in seats.items()}
    assert seen == {
        "cuda:0": {"CUDA_VISIBLE_DEVICES": "MIG-aa"},
        "npu:0": {"ASCEND_RT_VISIBLE_DEVICES": "0"},
        "mlu:1": {"MLU_VISIBLE_DEVICES": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        "cuda:4": {"HIP_VISIBLE_DEVICES": "4"},
        "mps:0": {},
        "xpu:3": {"ZE_AFFINITY_MASK": "3"},
    }
    assert {seat.own_device for seat in seats.values()} == {"cuda:0", "npu:0", "mlu:0", "mps:0", "xpu:0"}
    assert all(dict(seat.environment)["OMP_NUM_THREADS"] == "2" for seat in seats.values())


def test_a_large_card_gets_several_workers_a_small_one_gets_one() -> None:
    engine = replace(FACTS, memory_bytes=4 * GIB)
    machine = (CPU, card("cuda:0", free=80 * GIB))
    assert len(plan(machine, engine=engine).seats) == min(MOST_ON_ONE_DEVICE, cores())
    assert len(plan((CPU, card("cuda:0", free=7 * GIB)), engine=engine).seats) == 1
    seats = plan((CPU, card("cuda:0"), card("cuda:1")), engine=engine, workers_per_device=2).seats
    assert [seat.name for seat in seats] == ["cuda:0 #1", "cuda:1 #1", "cuda:0 #2", "cuda:1 #2"]


def test_the_cpu_stands_by_unless_forbidden() -> None:
    machine = (CPU, card("npu:0"))
    waiting = plan(machine, workers=3).reserve
    assert [seat.device for seat in waiting] == ["cpu"] * 3
    assert dict(waiting[0].environment)["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
    forbidden = plan(machine, cpu_fallback=False)
    assert forbidden.reserve == () and not any(seat.cpu_fallback for seat in forbidden.seats)
    assert all(seat.cpu_fallback for seat in plan(machine).seats)


def test_no_accelerator_means_the_cpu_told_only_where_one_was_wanted() -> None:
    assert plan((CPU,)).warnings == ()
    broken = Trouble("torch_npu", "npu", "ImportError: libhccl.so", "source set_env.sh")
    deaf = Trouble("torch", "", "no answer within 120 s", "look at the vendor's tool")
    assert "no answer within 120 s" in plan((CPU,), (deaf,)).warnings[0], "it may hide any kind of device"
    for chosen in ("auto", "npu", "npu:*"):
        seating = plan((CPU,), (broken,), devices=chosen)
        assert {seat.device for seat in seating.seats} == {"cpu"}
        assert "libhccl.so" in seating.warnings[0] or "libhccl.so" in seating.warnings[1]
        assert "the CPU does the work" in seating.warnings[-1]
        with pytest.raises(EnvironmentFault, match=r"libhccl\.so"):
            plan((CPU,), (broken,), devices=chosen, cpu_fallback=False)
    with pytest.raises(EnvironmentFault, match="no accelerator"):
        plan((CPU,), cpu_fallback=False)


def test_an_engine_of_the_cpu_looks_for_nothing_and_refuses_accelerators() -> None:
    def never() -> Found:
        raise AssertionError("the embedded voice must not wait for a probe")

    assert {seat.device for seat in plan_seats(Settings(), KOKORO, look=never).seats} == {"cpu"}
    assert {seat.device for seat in plan_seats(Settings(devices="cpu"), FACTS, look=never).seats} == {"cpu"}
    with pytest.raises(UserError, match="CPU only, not on npu:0"):
        plan_seats(Settings(devices="npu:0"), KOKORO, look=never)


def test_workers_times_threads_stay_within_the_cores() -> None:
    for threads in (1, 2, cores(), cores() + 1):
        seats = plan((CPU,), devices="cpu", threads=threads).seats
        assert len(seats) == 1 or len(seats) * threads <= cores()
    assert len(plan((CPU,), engine=replace(FACTS, memory_bytes=10 * GIB)).seats) == 1, "two do not fit into 16 GiB"


LISTED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 3g.20gb     Device  1: (UUID: MIG-GPU-5d5ba0d6-d33d/1/0)
GPU 1: NVIDIA H200 (UUID: GPU-aa)
Some line that no version of today prints
"""


def test_the_list_of_nvidia_smi_gives_slices_and_whole_gpus() -> None:
    found = parse(LISTED)
    assert [(gpu.index, gpu.title, gpu.is_slice) for gpu in found] == [
        (0, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", True),
        (0, "NVIDIA A100-SXM4-40GB MIG 3g.20gb", True),
        (1, "NVIDIA H200", False),
    ]
    assert [gpu.uuid for gpu in found] == [
        "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f",
        "MIG-GPU-5d5ba0d6-d33d/1/0",
        "GPU-aa",
    ]


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="GPU MIG0123:()-\n UUID", max_size=200))
def test_any_output_of_nvidia_smi_is_survived(text: str) -> None:
    parse(text)


def nvidia(gpus: list[dict[str, Any]], **more: str) -> dict[str, str]:
    """The environment of a machine with these GPUs."""
    path = os.pathsep.join([str(STAND_INS / "nvidia/bin"), os.environ["PATH"]])
    return {"NVIDIA_MACHINE": json.dumps(gpus), "PATH": path, "PYTHONPATH": python_path(STAND_INS / "nvidia"), **more}


def listed(cli: RunCli, env: Mapping[str, str]) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]]]:
    ended = cli("devices", "--json", env=env)
    assert ended.code == 0, ended.err
    found = ended.json()
    return {device["name"]: device for device in found["devices"]}, found["troubles"]


WHOLE = {"uuid": "GPU-aa", "title": "NVIDIA H200", "total": 141 * GIB, "used": GIB}
SLICE = {"title": "NVIDIA A100 MIG 1g.5gb", "profile": "1g.5gb", "total": 5 * GIB}
CUT = {
    "uuid": "GPU-bb",
    "title": "NVIDIA A100",
    "total": 80 * GIB,
    "slices": [{**SLICE, "uuid": f"MIG-{name}"} for name in "xyz"],
}


def test_whole_gpus_are_listed_with_memory_formats_and_versions(cli: RunCli) -> None:
    found, troubles = listed(cli, nvidia([WHOLE, {**WHOLE, "uuid": "GPU-cc", "broken": True}]))
    assert list(found) == ["cpu", "cuda:0", "cuda:1"] and troubles == []
    good = found["cuda:0"]
    assert (good["title"], good["free_bytes"], good["memory_bytes"]) == ("NVIDIA H200", 140 * GIB, 141 * GIB)
    assert good["number_formats"] == ["fp32", "bf16", "fp16"] and good["fault"] == ""
    assert good["versions"]["cuda"] == "13.0" and good["visible_as"] == "0"
    assert "ECC" in found["cuda:1"]["fault"] and "reset the device" in found["cuda:1"]["fault"]


def test_the_persons_own_list_of_visible_devices_is_kept(cli: RunCli) -> None:
    second = {**WHOLE, "uuid": "GPU-cc", "title": "second"}
    found, _ = listed(cli, nvidia([WHOLE, second], CUDA_VISIBLE_DEVICES="1"))
    assert found["cuda:0"]["title"] == "second" and found["cuda:0"]["visible_as"] == "1"
    assert "cuda:1" not in found


def test_every_mig_slice_is_a_device_though_torch_counts_one(cli: RunCli) -> None:
    found, troubles = listed(cli, nvidia([CUT, WHOLE]))
    assert [found[f"cuda:{n}"]["visible_as"] for n in range(4)] == ["MIG-x", "MIG-y", "MIG-z", "GPU-aa"]
    assert [found[f"cuda:{n}"]["memory_bytes"] for n in range(4)] == [5 * GIB] * 3 + [141 * GIB]
    assert not any(device["fault"] for device in found.values()) and troubles == []


def test_gpus_that_torch_cannot_see_are_told(cli: RunCli) -> None:
    """The real torch, which finds no driver here, beside an nvidia-smi that lists a GPU."""
    found, troubles = listed(cli, {**nvidia([WHOLE]), "PYTHONPATH": python_path()})
    assert list(found) == ["cpu"]
    assert "lists 1 GPUs" in troubles[0]["what"] and "CUDA build" in troubles[0]["fix"]


def test_a_failing_nvidia_smi_is_told(cli: RunCli) -> None:
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    found, troubles = listed(cli, nvidia([], NVIDIA_SMI_FAILS=words))
    assert list(found) == ["cpu"] and "communicate" in troubles[0]["what"]


BROKEN = {"import": "libhccl.so", "segfault": "SIGSEGV", "hang": "no answer within 15 s"}


def broken(how: str) -> dict[str, str]:
    env = {"PYTHONPATH": python_path(STAND_INS / "broken"), "BROKEN_PLUGIN": how}
    return env | ({"COSYVOICE_BATCH_PROBE_S": "15"} if how == "hang" else {})


@pytest.mark.parametrize("how", ["import", "hang"])
def test_a_broken_plug_in_costs_the_question_not_the_run(cli: RunCli, tmp_path: Path, how: str) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": "a", "text": "Hello there, and welcome."}])
    ended = cli("run", "m.jsonl", "--engine", "torch_engine_for_tests:FACTS", "--workers", "1", env=broken(how))
    assert ended.code == 0, ended.err
    assert BROKEN[how] in ended.err and "the CPU does the work" in ended.err
    assert (tmp_path / "m-out/a.wav").exists()
    warnings = report_run(tmp_path / "m-out")["warnings"]
    assert BROKEN[how] in warnings[0] and "torch_npu" in warnings[0]


def test_a_plug_in_that_crashes_is_listed_with_what_to_do(cli: RunCli) -> None:
    ended = cli("devices", env=broken("segfault"))
    assert ended.code == 0 and ended.out.startswith("cpu"), ended.err
    assert "torch_npu" in ended.out and "SIGSEGV" in ended.out and "lists as a pair" in ended.out


def test_doctor_explains_a_broken_plug_in_and_does_not_fail_for_it(cli: RunCli) -> None:
    ended = cli("doctor", "--json", env={"PYTHONPATH": python_path(STAND_INS / "broken")})
    found = {finding["what"]: finding for finding in ended.json()}
    trouble = found["torch_npu (npu devices)"]
    assert not trouble["ok"] and not trouble["needed"] and "set_env.sh" in trouble["fix"]
    assert found["torch"]["ok"], "torch itself works without the plug-in"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ImportError: libhccl.so: cannot open shared object file", "set_env.sh"),
        ("OSError: libcublasLt.so.12: undefined symbol: cublasLtGetVersion", "LD_LIBRARY_PATH"),
        ("ImportError: torch_npu.so: undefined symbol: _ZN2at", "built for another torch"),
        ("RuntimeError: The NVIDIA driver on your system is too old", "update the NVIDIA driver"),
        ("RuntimeError: aclrtSynchronize, error code is 507015", "reset the device"),
        ("ImportError: libcnrt.so: cannot open shared object file", "Cambricon"),
        ("a sentence that nobody has seen before", "vendor's tool"),
    ],
)
def test_known_complaints_have_their_fix(text: str, words: str) -> None:
    assert words in fix_for(text)


def test_a_worker_that_grows_past_its_bound_must_go() -> None:
    held = resident_bytes()
    assert held is not None and held > 2**22
    watch = MemoryWatch(2 * GIB)
    assert watch.hear(1, GIB, None) == ""
    assert re.search(r"3\.00 GiB of memory.*2\.00 GiB", watch.hear(2, 3 * GIB, GIB))
    assert "device memory" in watch.hear(3, GIB, 3 * GIB)
    assert (watch.host_peak_bytes, watch.device_peak_bytes) == (3 * GIB, 3 * GIB)


def test_without_a_bound_growth_counts_from_the_warm_size() -> None:
    watch = MemoryWatch(None)
    assert watch.hear(1, 9 * GIB, None) == "", "what the first batches take is no leak"
    assert watch.hear(WARM_TAKES, 2 * GIB, None) == ""
    assert watch.hear(WARM_TAKES + 1, 4 * GIB, None) == ""
    assert "grew from 2.00 GiB" in watch.hear(WARM_TAKES + 2, 4 * GIB + 1, None)
    small = MemoryWatch(None)
    small.hear(WARM_TAKES, 100, None)
    assert small.hear(WARM_TAKES + 1, 100 + GROWTH_BYTES, None) == ""
