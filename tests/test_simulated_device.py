"""Runs on simulated accelerators: what the device itself does, and every fault of it through the real command line.

What holds here holds for placement, sharding, memory and faults. It says nothing of a real NPU's numbers or operators.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RunCli, environment, outputs, report_items, report_run, start_cli, write_jsonl
from simulated_device.machine import GIB, MIB, Card, Fault, Machine

ENGINE = ("--engine", "torch_engine_for_tests:FACTS")
SENTENCES = "Press one for sales. " * 4


def rows(count: int = 30) -> list[dict[str, object]]:
    return [{"id": f"p{n:03d}", "text": f"Prompt number {n}. {SENTENCES[: 21 * (n % 5)]}"} for n in range(count)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the CPU makes of the rows."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_jsonl(folder / "m.jsonl", rows())
    process = start_cli("run", "m.jsonl", *ENGINE, "--devices", "cpu", "--workers", "1", cwd=folder)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return outputs(folder / "m-out")


def script(machine: Machine, lines: str) -> Any:
    """Run Python on a machine; what it leaves in `told` comes back."""
    code = f"import json, torch\ntold = {{}}\n{lines}\nprint(json.dumps(told))"
    env = environment(machine.environment())
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


NETWORK = """
def network(device):
    torch.manual_seed(1)
    x, layers = torch.randn(2, 6, 40), torch.nn.ModuleList([
        torch.nn.Conv1d(6, 8, 5, padding=2), torch.nn.ConvTranspose1d(8, 8, 4, 2, 1), torch.nn.Linear(80, 80)])
    half = torch.randn(4, 16, 16)
    layers, x, half = layers.to(device), x.to(device), half.to(device, torch.bfloat16)
    with torch.inference_mode():
        for layer in layers:
            x = torch.nn.functional.silu(layer(x))
        x[:, 1:] += x[:, :1].cumsum(-1)
        x = torch.matmul(torch.matmul(x, x.mT).softmax(-1), x)
        x = torch.cat([x, x.flip(1)], 1).softmax(-1).masked_fill(x.mean() > 1e9, 0)
        x = torch.fft.irfft(torch.fft.rfft(x) * 2j, n=80)
        drawn = torch.multinomial(x.abs().flatten(1) + 1e-3, 5, generator=torch.Generator(device).manual_seed(7))
        return x.cpu(), drawn.cpu(), (half @ half).float().cpu(), x.topk(3).indices.cpu()
"""


def test_both_devices_compute_as_the_cpu_does_bit_for_bit() -> None:
    told = script(
        Machine("npu", [Card(), Card()]),
        NETWORK + "want = network('cpu')\n"
        "for d in ('npu:0', 'npu:1'): told[d] = all(torch.equal(a, b) for a, b in zip(want, network(d)))\n"
        "told['ops'] = [dict(torch.ops.simulated.operators(n)) for n in (0, 1)]\n"
        "told['left'] = [torch.accelerator.memory_allocated(n) for n in (0, 1)]\n"
        "told['peak'] = [torch.accelerator.max_memory_allocated(n) for n in (0, 1)]",
    )
    assert told["npu:0"] and told["npu:1"]
    assert told["ops"][0] == told["ops"][1] and told["ops"][0]["aten::convolution"] == 2
    assert told["left"] == [0, 0] and min(told["peak"]) > 10_000


FAULTY = """
def why(action):
    try:
        action()
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return 'fine'
told['fits'] = why(lambda: torch.zeros(MIB // 4, device='mlu:1'))
told['too big'] = why(lambda: torch.zeros(MIB, device='mlu:1'))
told['free'] = torch.accelerator.get_memory_info(1)
told['two'] = why(lambda: torch.ones(2, device='mlu:0') + torch.ones(2, device='mlu:1'))
told['double'] = why(lambda: torch.ones(2, device='mlu:0', dtype=torch.float64))
told['refused'] = why(lambda: torch.ones(2, device='mlu:0').erf())
told['first'] = why(lambda: torch.ones(2, device='mlu:2').cos())
told['second'] = why(lambda: torch.ones(2, device='mlu:2').cos())
told['after'] = why(lambda: torch.ones(2, device='mlu:2'))
told['others'] = why(lambda: torch.ones(2, device='mlu:0').cos())
late = torch.ones(2, device='mlu:3').cos()
told['late'] = why(lambda: torch.accelerator.synchronize(3))
told['nan'] = torch.ones(2, device='mlu:3').sin().isnan().all().item()
"""


def test_faults_come_as_real_devices_bring_them() -> None:
    machine = Machine(
        "mlu",
        [Card(), Card(total=4 * MIB, used=MIB), Card(), Card()],
        faults=[Fault(2, "lost", "cos", after=1), Fault(3, "async", "cos"), Fault(3, "nan", "sin")],
        refuse_ops=["aten::erf"],
        refuse_types=["float64"],
    )
    told = script(machine, f"import torch_mlu\nMIB = {MIB}\n" + FAULTY)
    assert told["fits"] == told["first"] == told["others"] == "fine"
    assert told["too big"].startswith("OutOfMemoryError") and told["free"] == [3 * MIB, 4 * MIB]
    assert "same device" in told["two"] and "Double" in told["double"]
    assert told["refused"].startswith("NotImplementedError")
    assert told["second"].startswith("AcceleratorError") and told["after"].startswith("AcceleratorError")
    assert "507015" in told["late"] and told["nan"] is True


PLACED = """
from cosyvoice.placement import Placement, held_bytes, is_device_lost, is_out_of_memory, open_device
def why(action):
    try:
        return action()
    except Exception as error:
        return f'{type(error).__name__}: {error}'
device = open_device('npu:0')
placement, early = Placement(device), torch.zeros(8)
net = torch.nn.Linear(64, 64).to(device)
told['held'] = held_bytes(device)
told['good'] = why(lambda: placement.prove(net.parameters()))
told['on cpu'] = why(lambda: placement.prove([*net.parameters(), early]))
told['not grown'] = why(lambda: Placement(device).prove(net.parameters()))
told['cpu'] = why(lambda: Placement(open_device('cpu')).prove([early]))
told['absent'] = why(lambda: open_device('npu:5'))
told['other kind'] = why(lambda: open_device('mlu:0'))
told['wrong numbers'] = why(lambda: Placement(open_device('npu:1')).prove([]))
try:
    torch.zeros(2**40, device='npu:0')
except Exception as error:
    told['oom'] = [is_out_of_memory(error), is_device_lost(error)]
try:
    torch.ones(2, device='npu:0').cos()
except Exception as error:
    told['lost'] = [is_out_of_memory(error), is_device_lost(error)]
told['texts'] = [is_device_lost(RuntimeError(text)) for text in (
    'NPU function error: FORCE STOP', 'aclrt failed, error code is 507015', 'CUDA error: unspecified launch failure',
    'SUSPECT REMOTE ERROR', 'shape mismatch', 'mat1 and mat2 shapes cannot be multiplied (507x2 and 3x4)')]
"""


def test_an_engine_proves_that_it_computes_where_its_report_says() -> None:
    machine = Machine("npu", [Card(), Card()], faults=[Fault(0, "lost", "cos"), Fault(1, "nan", "mm")])
    told = script(machine, PLACED)
    assert told["held"] == 64 * 65 * 4
    assert told["good"] == "computes on npu:0, 0 MiB of weights on it" and told["cpu"] == "computes on cpu"
    assert "weights of the model are on cpu instead of npu:0" in told["on cpu"]
    assert "computed somewhere else" in told["not grown"]
    assert "sees 2 of them" in told["absent"] and told["other kind"].startswith("EngineError")
    assert "computes other numbers" in told["wrong numbers"]
    assert told["oom"] == [True, False] and told["lost"] == [False, True]
    assert told["texts"] == [True, True, True, True, False, False]


def test_devices_are_listed_with_memory_formats_precision_and_plug_in(cli: RunCli) -> None:
    machine = Machine(
        "mlu", [Card(title="MLU370 (simulated)"), Card(64 * GIB, used=60 * GIB), Card()],
        faults=[Fault(2, "lost")], refuse_types=["bfloat16"],
    )  # fmt: skip
    ended = cli("devices", "--json", env=machine.environment())
    cpu, first, second, lost = ended.json()["devices"]
    assert (first["name"], first["title"], first["memory_bytes"]) == ("mlu:0", "MLU370 (simulated)", 8 * GIB)
    assert first["number_formats"] == ["fp32", "fp16"] and first["precision"].startswith("fp16/")
    assert first["versions"]["torch_mlu"] == "0.0+simulated" and not first["autoload"]
    assert second["free_bytes"] == 4 * GIB
    assert "507899" in lost["fault"] and "reset the device" in lost["fault"]
    assert cpu["precision"] and ended.json()["troubles"] == []


def run_on(cli: RunCli, tmp_path: Path, machine: Machine, *words: str) -> tuple[Any, dict[str, dict[str, Any]]]:
    """A run and what its report says of each device."""
    write_jsonl(tmp_path / "m.jsonl", rows())
    ended = cli("run", "m.jsonl", *ENGINE, *words, env=machine.environment())
    report = tmp_path / "m-out/report.json"
    devices = report_run(tmp_path / "m-out")["devices"] if report.exists() else []
    return ended, {device["name"]: device for device in devices}


def test_one_of_three_is_lost_one_has_no_room_and_the_result_is_the_same(
    cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    machine = Machine(
        "mlu",
        [Card(), Card(), Card(total=5 * MIB)],
        faults=[
            Fault(1, "lost", "cos", after=1, once=str(tmp_path / "was lost")),
            # Slow enough that the last device to load still finds work.
            Fault(0, "slow", "cos", milliseconds=700),
            Fault(2, "slow", "cos", milliseconds=700),
        ],
        tally=tmp_path,
    )
    ended, devices = run_on(cli, tmp_path, machine)
    assert ended.code == 0, ended.err
    assert outputs(tmp_path / "m-out") == undisturbed
    assert [machine.operators_run(number) > 20 for number in range(3)] == [True] * 3
    assert devices["mlu:1"]["restarts"] == 1 and "507899" in devices["mlu:1"]["notes"][0]
    assert devices["mlu:2"]["restarts"] == 0 and devices["mlu:2"]["items"] > 0
    assert re.search(r"has no room for \d utterances", ended.err)
    log = (tmp_path / "m-out/run.log").read_text(encoding="utf-8")
    assert re.search(r"mlu:1: .*lost.*go back to the queue, the worker is restarted", log)


def test_a_hung_device_and_a_killed_worker_cost_nothing(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    machine = Machine(
        "npu",
        [Card(), Card()],
        faults=[
            Fault(0, "hang", "cos", after=1, once=str(tmp_path / "hung")),
            # Slow enough that the first one finds work, however late it is ready.
            Fault(1, "slow", "cos", milliseconds=1500),
        ],
    )
    write_jsonl(tmp_path / "m.jsonl", rows())
    process = start_cli("run", "m.jsonl", *ENGINE, "--heartbeat", "10", cwd=tmp_path, env=machine.environment())
    end = time.monotonic() + 120
    while not (tmp_path / "hung").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    os.kill(worker_of(process.pid, "ASCEND_RT_VISIBLE_DEVICES=1"), signal.SIGKILL)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert outputs(tmp_path / "m-out") == undisturbed
    assert "npu:0 made no progress for 10 s" in err and "npu:1 was killed by signal SIGKILL" in err
    devices = {device["name"]: device for device in report_run(tmp_path / "m-out")["devices"]}
    assert (devices["npu:0"]["restarts"], devices["npu:1"]["restarts"]) == (1, 1)


def worker_of(parent: int, variable: str) -> int:
    """The child of a run that was started with this variable: each worker sees one device."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    children = [int(word) for word in found.stdout.split()]
    matching = [pid for pid in children if variable.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")]
    assert len(matching) == 1
    return matching[0]


def test_when_every_device_is_lost_the_cpu_finishes(cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """The devices pass their worker's start and fail in the work: each gets a fresh process once."""
    machine = Machine("npu", [Card(), Card()], faults=[Fault(0, "lost", "cos"), Fault(1, "async", "cos")])
    ended, devices = run_on(cli, tmp_path, machine, "--workers", "1")
    assert ended.code == 0, ended.err
    assert outputs(tmp_path / "m-out") == undisturbed
    assert {name: device["items"] for name, device in devices.items()} == {"npu:0": 0, "npu:1": 0, "cpu": 30}
    assert all(1 <= devices[name]["restarts"] <= 2 for name in ("npu:0", "npu:1"))
    warnings = report_run(tmp_path / "m-out")["warnings"]
    assert sum("out of work" in warning for warning in warnings) == 2
    assert "the CPU goes on with 1 workers" in warnings[-1]


def test_a_device_that_refuses_the_work_at_the_start_is_told_and_without_fallback_the_run_ends(
    cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    refusing = Machine("npu", [Card(), Card()], refuse_ops=["aten::sin"])
    ended, devices = run_on(cli, tmp_path, refusing, "--no-cpu-fallback")
    assert ended.code == 4, ended.err
    assert "npu:0 cannot compute: Could not run 'aten::sin'" in ended.err
    assert report_run(tmp_path / "m-out")["exit_code"] == 4 and devices["npu:1"]["items"] == 0
    whole = Machine("npu", [Card(), Card()], tally=tmp_path)
    ended, devices = run_on(cli, tmp_path, whole, "--devices", "npu:1", "--no-cpu-fallback")
    assert ended.code == 0, ended.err
    assert outputs(tmp_path / "m-out") == undisturbed
    assert list(devices) == ["npu:1"] and whole.operators_run(1) > 100
    assert not (tmp_path / "device-0").exists() or whole.operators_run(0) < 20, "npu:0 was probed, not used"


def test_numbers_that_are_not_finite_are_made_again(cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    machine = Machine(
        "npu", [Card()], faults=[Fault(0, "nan", "cos", after=1, once=str(tmp_path / "poisoned"), times=1)]
    )
    ended, _ = run_on(cli, tmp_path, machine)
    assert ended.code == 0, ended.err
    items = report_items(tmp_path / "m-out").values()
    again = {item["id"] for item in items if [take["faults"] for take in item["takes"]][:1] == [["non_finite"]]}
    assert 1 <= len(again) <= 4, "one batch"
    made = outputs(tmp_path / "m-out")
    assert {name: data for name, data in made.items() if name[:-4] not in again} == {
        name: data for name, data in undisturbed.items() if name[:-4] not in again
    }
    assert all(made[f"{name}.wav"] for name in again)


def test_a_worker_that_holds_too_much_memory_is_replaced(
    cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows())
    words = ("--devices", "cpu", "--workers", "1", "--recycle-memory", "0.1", "--limit", "10", "-v")
    ended = cli("run", "m.jsonl", *ENGINE, *words)
    assert ended.code == 0, ended.err
    assert "a fresh process takes over: it holds" in ended.err, "0.1 GiB is less than torch alone takes"
    made = outputs(tmp_path / "m-out")
    assert len(made) == 10 and made == {name: undisturbed[name] for name in made}
    device = report_run(tmp_path / "m-out")["devices"][0]
    assert device["restarts"] == 0 and device["notes"][0].startswith("a fresh process takes over")


def test_a_text_that_fells_every_device_fails_alone(cli: RunCli, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """With one worker: the device is not retired for it, the others of its batch are made."""
    write_jsonl(
        tmp_path / "m.jsonl", [*rows(), {"id": "poison", "text": "A deadly sentence, such as no device survives."}]
    )
    ended = cli("run", "m.jsonl", *ENGINE, "--devices", "cpu", "--workers", "1")
    assert ended.code == 3, ended.err
    assert outputs(tmp_path / "m-out") == undisturbed
    assert "the device failed 4 times on this text" in report_items(tmp_path / "m-out")["poison"]["reason"]


COSYVOICE = """
import pathlib, sys
import numpy as np
from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.engine import Utterance, Voice
from cosyvoice.assembly import load
voice = Voice('guest', 'guest', audio=REFERENCE, text='希望你以后能够做的比我还好呦。')
texts = ['今天天气不错，我们去公园走走吧。', 'A longer sentence, so that lengths differ in a batch.']
for generation in (2, 3):
    folder = make_checkpoint(pathlib.Path(FOLDER) / str(generation), generation, 'tiny')
    heard = {}
    for device in ('cpu', 'npu:0'):
        engine = load(model_folder=str(folder), device=device, precision='fp32', threads=1)
        wanted = [Utterance(str(n), text, voice, mode='zero_shot', seed=n) for n, text in enumerate(texts)]
        heard[device] = {speech.utterance_id: speech.samples for speech in engine.speak(iter(wanted))}
    pairs = [(heard['cpu'][n], heard['npu:0'][n]) for n in ('0', '1')]
    same = all(a.shape == b.shape and a.size > 20_000 for a, b in pairs)
    told[str(generation)] = {
        'shapes': same,
        'apart': max(float(np.abs(a - b).max()) for a, b in pairs) if same else None,
        'finite': all(bool(np.isfinite(b).all()) for _, b in pairs),
    }
told['ops'] = sum(torch.ops.simulated.operators(0).values())
"""


def test_the_cosyvoice_engines_need_no_float64_no_complex_numbers_and_no_fft(tmp_path: Path) -> None:
    """What the NPUs and MLUs of today lack. With random weights at the smallest size, in the official folder layout."""
    machine = Machine(
        "npu", [Card()], refuse_types=["float64", "complex64"], extra={"XDG_CACHE_HOME": str(tmp_path / "cache")},
        refuse_ops=["aten::_fft_r2c", "aten::_fft_c2r", "aten::stft", "aten::istft", "aten::upsample_linear1d"],
    )  # fmt: skip
    reference = Path(__file__).parent / "data/parity/zero_shot_prompt.wav"
    told = script(machine, f"REFERENCE, FOLDER = {str(reference)!r}, {str(tmp_path)!r}\n" + COSYVOICE)
    assert told["ops"] > 10_000, "it did compute there"
    assert told["2"]["shapes"] and told["2"]["apart"] < 1e-3
    # The pitch of CosyVoice 3 is float64 on the CPU alone, and random weights turn the least difference into another
    # phase: the speech ids are the same (the lengths are), the waves need not be.
    assert told["3"]["shapes"] and told["3"]["finite"]


STAGES = """
import gc, pathlib
from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.assembly import load
folder = make_checkpoint(pathlib.Path(FOLDER) / 'model', 2, 'tiny')
def engine(precision='auto', **more):
    gc.collect()  # the engine before, which would leave while the memory is watched
    try:
        made = load(model_folder=str(folder), device='npu:0', precision=precision, threads=1, **more)
    except Exception as error:
        return {'fault': f'{type(error).__name__}: {error}'}
    finally:
        torch.ops.simulated.heal(0)
    on = (made._lm.network.device, made.sounding.flow.device, made.sounding.vocoder.device)
    return {**made.description, 'moved': list(made.moved), 'on': [device.type for device in on]}
def inject(kind, op, type=''):
    torch.ops.simulated.inject(0, kind, op, 0, -1, 0, '', type)
told['sound'] = engine()
told['kept'] = [path.name for path in pathlib.Path(CACHE).rglob('self-test/*.npz')]
inject('wrong', 'aten::silu', 'BFloat16')
told['bf16'] = engine()
inject('refused', 'aten::gelu')
told['refused'] = engine('fp16')
inject('wrong', 'aten::leaky_relu')
inject('nan', 'aten::gelu')
told['two'] = engine('fp32')
for op in ('aten::silu', 'aten::gelu', 'aten::leaky_relu'):
    inject('wrong', op)
told['all'] = engine('fp32')
inject('wrong', 'aten::gelu')
told['no fallback'] = engine('fp32', cpu_fallback=False)
inject('lost', 'aten::gelu')
told['lost'] = engine('fp32')
"""


def test_a_stage_that_fails_its_self_test_goes_to_fp32_or_to_the_cpu_and_is_told(tmp_path: Path) -> None:
    machine = Machine("npu", [Card()], extra={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    told = script(machine, f"FOLDER, CACHE = {str(tmp_path)!r}, {str(tmp_path / 'cache')!r}\n" + STAGES)
    sound = told["sound"]
    assert sound["on"] == ["npu"] * 3 and sound["moved"] == [] and "notes" not in sound
    off = re.search(r"language model (\S+)%, flow (\S+)%, vocoder (\S+)%", sound["self test"])
    assert off and 0 < float(off[1]) < 5 and float(off[2]) == float(off[3]) == 0
    assert len(told["kept"]) == 3, "the CPU's numbers are computed once"
    assert told["bf16"]["on"] == ["npu"] * 3 and told["bf16"]["precision"].startswith("fp32/fp32/fp32")
    (moved,) = told["bf16"]["moved"]
    assert re.match(r"the language model runs in fp32: in bf16 it gives other numbers than the CPU: \d+% off", moved)
    assert (
        told["refused"]["on"] == ["npu", "cpu", "npu"] and "'aten::gelu' is not implemented" in told["refused"]["notes"]
    )
    assert re.search(r"it took \d+\.\d s for \d+\.\d s of speech", told["refused"]["notes"])
    assert told["two"]["on"] == ["npu", "cpu", "cpu"] and len(told["two"]["moved"]) == 2
    assert (
        "the flow runs on the CPU: on the device in fp32 it gives numbers that are not finite" in told["two"]["notes"]
    )
    assert told["all"]["fault"].startswith("DeviceFault: every stage fails its self-test")
    assert re.match(r"DeviceFault: the flow fails its self-test .*--no-cpu-fallback", told["no fallback"]["fault"])
    assert told["lost"]["fault"].startswith("DeviceFault: npu:0 is lost")


def test_a_run_on_a_device_that_computes_one_stage_wrongly_is_that_of_the_cpu(cli: RunCli, tmp_path: Path) -> None:
    from benchmarks.make_checkpoint import make_checkpoint

    model = make_checkpoint(tmp_path / "model", 2, "tiny")
    shutil.copy(Path(__file__).parent / "data/parity/zero_shot_prompt.wav", tmp_path / "guest.wav")
    write_jsonl(
        tmp_path / "m.jsonl",
        [{"id": f"p{n}", "text": text, "ref_audio": "guest.wav"} for n, text in enumerate(("Hi.", "好。"))],
    )
    words = ("--model", str(model), "--precision", "fp32", "--bad-takes", "keep", "--takes", "1")
    machine = Machine(
        "npu", [Card()], faults=[Fault(0, "wrong", "aten::gelu")], tally=tmp_path,
        extra={"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    env = machine.environment()
    on_cpu = cli("run", "m.jsonl", *words, "-o", "calm", "--devices", "cpu", "--workers", "1", env=env)
    assert on_cpu.code == 0, on_cpu.err
    ended = cli("run", "m.jsonl", *words, "-o", "moved", "--workers-per-device", "1", env=env)
    assert ended.code == 0, ended.err
    assert machine.operators_run(0) > 1000, "the other stages did run there"
    for name in ("p0.wav", "p1.wav"):
        calm, moved = (read_wav(tmp_path / folder / name) for folder in ("calm", "moved"))
        assert calm.shape == moved.shape and np.abs(calm - moved).max() < 2e-3 and np.abs(calm).max() > 0.05
    run = report_run(tmp_path / "moved")
    told = "the flow runs on the CPU: on the device in fp32 it gives other numbers than the CPU"
    (warning,) = run["warnings"]
    assert warning.startswith(f"npu:0: {told}") and warning in ended.err
    assert run["devices"][0]["notes"][0].startswith(told) and told in run["engine"]["notes"]
    assert run["devices"][0]["name"] == "npu:0" and run["devices"][0]["items"] == 2


def read_wav(path: Path) -> Any:
    import soundfile

    return soundfile.read(path)[0]
