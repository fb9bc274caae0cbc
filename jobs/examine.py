"""Looks over the machine for `doctor`: each finding says what was found and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs import devices
from jobs.errors import EnvironmentFault
from jobs.model_store import MODEL_VARIABLE, find_model, look
from jobs.probe import NO_AUTOLOAD, PROBE_S, find
from jobs.version import library_version, tool_version

_NEEDED = ("numpy", "scipy", "soundfile", "soxr", "wetext", "onnxruntime", "misaki", "hibari-tts", "tokenizers")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    fix: str = ""
    needed: bool = True


def examine() -> list[Finding]:
    """All findings, the needed ones first."""
    return [*_libraries(), named_or_pulled(os.environ), _ffmpeg(), _segmenter(), *_torch(), *_machine()]


def _libraries() -> Iterator[Finding]:
    yield Finding("cosyvoice-batch", True, f"{tool_version()} on Python {sys.version.split()[0]}")
    for package in _NEEDED:
        found = library_version(package)
        missing = found == "not installed"
        yield Finding(package, not missing, found, "install cosyvoice-batch again with pip" if missing else "")


def named_or_pulled(environ: Mapping[str, str]) -> Finding:
    """The model that a run without --model takes. One that the environment names and that is no good ends it."""
    what, named = "CosyVoice model", environ.get(MODEL_VARIABLE)
    try:
        folder = find_model(None, environ)
    except EnvironmentFault as fault:
        return Finding(what, False, "none", str(fault))
    if folder is None:
        fix = "cosyvoice-batch models pull cosyvoice3; until then the embedded voice speaks and clones nobody"
        return Finding(what, False, "none", fix, needed=False)
    state = look(folder)
    complete = state.state == "complete"
    fix = "" if complete else f"{state.detail} Bring the files, or name another folder in {MODEL_VARIABLE}"
    return Finding(what, complete, str(folder), fix, needed=named is not None)


def _ffmpeg() -> Finding:
    from jobs.ffmpeg import ffmpeg_path

    try:
        return Finding("ffmpeg (M4A, AMR)", True, ffmpeg_path(), needed=False)
    except EnvironmentFault as fault:
        return Finding("ffmpeg (M4A, AMR)", False, "none", str(fault), needed=False)


def _segmenter() -> Finding:
    from jobs.words import default_model_folder, open_word_breaker

    words = open_word_breaker(default_model_folder())
    fix = "" if words.degraded is None else "cosyvoice-batch models pull pkuseg"
    return Finding("Chinese word boundaries", words.degraded is None, words.name, fix, needed=False)


def _torch() -> Iterator[Finding]:
    """torchaudio is tried in a child like torch: where their builds do not fit, its import fails."""
    found = find()
    cpu = found.devices[0]
    version = dict(cpu.versions).get("torch", "")
    blamed = next((str(t) for t in found.troubles if not t.kind), "the CosyVoice engines need it")
    yield Finding("torch", bool(version), version or "none", "" if version else blamed, needed=False)
    if version:
        yield _torchaudio()
    for device in found.devices[1:]:
        free = f"{device.free_bytes / 2**30:.1f} GiB free" if device.free_bytes is not None else "free memory unknown"
        told = f"{device.title}, {free}, {' '.join(device.number_formats)}"
        yield Finding(device.name, not device.fault, told if not device.fault else device.title, device.fault, False)
    for trouble in found.troubles:
        if trouble.kind:
            yield Finding(f"{trouble.subject} ({trouble.kind} devices)", False, trouble.what, trouble.fix, False)


def _torchaudio() -> Finding:
    """Asked without plug-ins, so that a broken one is not blamed on torchaudio."""
    script = "import torchaudio; print(torchaudio.__version__)"
    try:
        child = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **NO_AUTOLOAD}, capture_output=True, text=True,
            timeout=PROBE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Finding("torchaudio", False, f"import did not end in {PROBE_S:.0f} s", "install it again", False)
    last = (child.stderr.strip().splitlines() or ["no message"])[-1]
    fix = f"install torchaudio of the same build as torch: {last}" if child.returncode else ""
    return Finding("torchaudio", child.returncode == 0, child.stdout.strip() or "broken", fix, False)


def _machine() -> Iterator[Finding]:
    cpu = devices.cpu()
    yield Finding("CPU", True, f"{cpu.title}, {cpu.cores} cores for this process")
    scratch = Path(tempfile.gettempdir())
    free = shutil.disk_usage(scratch).free
    yield Finding(
        "temporary folder", free > 2**30, f"{free / 2**30:.1f} GiB free", "" if free > 2**30 else "free some room"
    )
