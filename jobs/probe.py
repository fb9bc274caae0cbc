"""Finds the accelerators of this machine by asking children, so that this process never imports torch and a vendor's
broken library costs one question, not the run."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from jobs.device_trouble import Trouble, crashed, fix_for, hung
from jobs.devices import VISIBILITY, Device, cpu
from jobs.nvidia import Listing, listing

PLUGINS = {"torch_npu": "npu", "torch_mlu": "mlu"}
"""Vendors' plug-ins and the kind of device that each brings."""
NO_AUTOLOAD = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
PROBE_S = 120.0
"""How long a child may take; importing torch from a slow disk and waking eight devices are in it."""
AT_ONCE = 4
CHILD = Path(__file__).resolve().parent / "probe_child.py"


@dataclass(frozen=True, slots=True)
class Found:
    """What this machine has."""

    devices: tuple[Device, ...]
    """The CPU first; devices that cannot be used are there too, with their fault."""
    troubles: tuple[Trouble, ...]
    """What kept devices from being found at all."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one child said, or why it said nothing."""

    report: Mapping[str, Any]
    what: str = ""
    fix: str = ""

    @property
    def ok(self) -> bool:
        return not self.what


@cache
def find() -> Found:
    """Look once in the life of this process; takes as long as importing torch does."""
    plugins = [name for name in PLUGINS if importlib.util.find_spec(name) is not None]
    loaders = {entry.name for entry in metadata.entry_points(group="torch.backends")}
    smi = listing()
    auto = _ask({}, None)
    # A broken plug-in hides everything; a whole one hides the GPUs beside its own devices.
    gpus_hidden = bool(smi.gpus) and auto.report.get("kind") not in ("", "cuda")
    plain = _ask(NO_AUTOLOAD, None) if gpus_hidden or (not auto.ok and (plugins or loaders)) else None
    by_hand = [name for name in plugins if name not in auto.report.get("loaded", ()) and loaders != {name}]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = dict(zip(by_hand, threads.map(lambda name: _ask(NO_AUTOLOAD, name), by_hand), strict=True))
        slices = list(threads.map(lambda gpu: _ask({"CUDA_VISIBLE_DEVICES": gpu.uuid}, None), _to_ask(smi)))
    devices: dict[str, Device] = {}
    for answer in (auto, plain, *answers.values()):
        for device in _devices(answer, autoload=answer is auto) if answer is not None else ():
            devices.setdefault(device.name, device)
    if slices:
        devices = {name: device for name, device in devices.items() if device.kind != "cuda"}
        devices |= {device.name: device for device in _slices(smi, slices)}
    usual = auto if auto.ok or plain is None else plain
    loaded = {*auto.report.get("loaded", ()), *(name for name, answer in answers.items() if answer.ok)}
    troubles = (
        *_auto_troubles(auto, plain, loaders),
        *(Trouble(name, PLUGINS[name], answer.what, answer.fix) for name, answer in answers.items() if not answer.ok),
        *_blind_plugins(loaded, devices),
        *_nvidia_troubles(smi, usual, devices),
    )
    return Found((_cpu(usual), *devices.values()), troubles)


def _ask(environment: Mapping[str, str], plugin: str | None) -> _Answer:
    """Run one child."""
    limit_s = float(os.environ.get("COSYVOICE_BATCH_PROBE_S", PROBE_S))
    command = [sys.executable, "-P", str(CHILD), str(CHILD.parent.parent), *([plugin] if plugin else [])]
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return _Answer({}, *hung(limit_s))
    if done.returncode < 0:
        return _Answer({}, *crashed(signal.Signals(-done.returncode).name))
    try:
        report = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing"])[-1]
        return _Answer({}, f"the process ended with code {done.returncode}: {said[:300]}", fix_for(said))
    if "error" in report:
        return _Answer(report, report["error"], fix_for(report["error"]))
    return _Answer(report)


def _devices(answer: _Answer, *, autoload: bool) -> Iterator[Device]:
    report = answer.report
    backend = report.get("backend", "")
    outer = os.environ.get(VISIBILITY.get(backend, ""))
    listed = [part.strip() for part in outer.split(",") if part.strip()] if outer else None
    for entry in report.get("devices", ()):
        index = entry["index"]
        yield Device(
            name=f"{report['kind']}:{index}",
            title=entry["title"],
            memory_bytes=entry.get("total"),
            free_bytes=entry.get("free"),
            backend=backend,
            number_formats=tuple(entry.get("formats", ())),
            precision=entry.get("precision", ""),
            versions=tuple(report["versions"].items()),
            # The person's own list renumbers: the first device that we see is the first of the list.
            visible_as=listed[index] if listed and index < len(listed) else str(index),
            autoload=autoload,
            fault=f"{entry['fault']}; {fix_for(entry['fault'])}" if entry["fault"] else "",
        )


def _to_ask(smi: Listing) -> tuple[Any, ...]:
    return smi.gpus if smi.has_slices else ()


def _slices(smi: Listing, answers: list[_Answer]) -> Iterator[Device]:
    """Each slice, and each whole GPU beside them, as its own child saw it."""
    for number, (gpu, answer) in enumerate(zip(smi.gpus, answers, strict=True)):
        seen = next((d for d in _devices(answer, autoload=True) if d.kind == "cuda"), None)
        named = Device(f"cuda:{number}", gpu.title, backend="cuda", uuid=gpu.uuid, visible_as=gpu.uuid)
        if seen is None:
            why = f"{answer.what}; {answer.fix}" if not answer.ok else f"torch does not see {gpu.uuid}; {_NOT_SEEN}"
            yield replace(named, fault=why)
        else:
            yield replace(seen, name=named.name, title=named.title, uuid=gpu.uuid, visible_as=gpu.uuid)


_NOT_SEEN = "install a CUDA build of torch that fits the driver, and let containers see the device (--gpus)"


def _auto_troubles(auto: _Answer, plain: _Answer | None, loaders: set[str]) -> Iterator[Trouble]:
    if auto.ok:
        return
    culprit = next(iter(loaders)) if len(loaders) == 1 and plain is not None and plain.ok else "torch"
    yield Trouble(culprit, PLUGINS.get(culprit, ""), auto.what, auto.fix)
    if plain is not None and not plain.ok and plain.what != auto.what:
        yield Trouble("torch without plug-ins", "", plain.what, plain.fix)


def _blind_plugins(loaded: set[str], devices: Mapping[str, Device]) -> Iterator[Trouble]:
    for name in sorted(loaded):
        kind = PLUGINS[name]
        if not any(device.kind == kind for device in devices.values()):
            tool = {"npu": "npu-smi info", "mlu": "cnmon"}[kind]
            fix = f"see whether `{tool}` lists any, and let containers see /dev (--device)"
            yield Trouble(name, kind, "it loads, but there is no device for it", fix)


def _nvidia_troubles(smi: Listing, usual: _Answer, devices: Mapping[str, Device]) -> Iterator[Trouble]:
    if smi.fault:
        yield Trouble("nvidia-smi", "cuda", smi.fault, "update or restart the NVIDIA driver")
    if smi.gpus and usual.ok and not any(device.kind == "cuda" for device in devices.values()):
        version = usual.report["versions"]["torch"]
        yield Trouble("torch", "cuda", f"nvidia-smi lists {len(smi.gpus)} GPUs, torch {version} sees none", _NOT_SEEN)


def _cpu(usual: _Answer) -> Device:
    """The CPU with what torch can do on it."""
    facts = usual.report.get("cpu", {})
    return replace(
        cpu(),
        number_formats=tuple(facts.get("formats", ())),
        precision=facts.get("precision", ""),
        versions=tuple((k, v) for k, v in usual.report.get("versions", {}).items() if k == "torch"),
    )
