"""Looks over the machine for `doctor`: each finding says what was found and what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs import devices
from jobs.errors import EnvironmentFault
from jobs.version import library_version, tool_version

_NEEDED = ("numpy", "scipy", "soundfile", "soxr", "wetext", "onnxruntime", "misaki", "hibari-tts", "tokenizers")
_TORCH_PROBE = (
    "import torch; print(torch.__version__, 'CUDA' if torch.cuda.is_available() else 'CPU only', end=''); "
    "import torchaudio; print(', torchaudio', torchaudio.__version__)"
)
PROBE_S = 120.0


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
    return [*_libraries(), _ffmpeg(), _segmenter(), *_torch(), *_machine()]


def _libraries() -> Iterator[Finding]:
    yield Finding("cosyvoice-batch", True, f"{tool_version()} on Python {sys.version.split()[0]}")
    for package in _NEEDED:
        found = library_version(package)
        missing = found == "not installed"
        yield Finding(package, not missing, found, "install cosyvoice-batch again with pip" if missing else "")


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
    """Asked in a child: a broken vendor plug-in makes `import torch` itself fail, and must not take us along."""
    try:
        child = subprocess.run([sys.executable, "-c", _TORCH_PROBE], capture_output=True, text=True, timeout=PROBE_S)
    except subprocess.TimeoutExpired:
        yield Finding("torch", False, f"import did not end in {PROBE_S:.0f} s", "look at the vendor's driver", False)
        return
    fix = ""
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        fix = f"the CosyVoice engines need torch and torchaudio of matching builds: {last}"
    yield Finding("torch and torchaudio", child.returncode == 0, child.stdout.strip() or "broken", fix, False)


def _machine() -> Iterator[Finding]:
    cpu = devices.cpu()
    yield Finding("CPU", True, f"{cpu.title}, {cpu.cores} cores for this process")
    scratch = Path(tempfile.gettempdir())
    free = shutil.disk_usage(scratch).free
    yield Finding(
        "temporary folder", free > 2**30, f"{free / 2**30:.1f} GiB free", "" if free > 2**30 else "free some room"
    )
