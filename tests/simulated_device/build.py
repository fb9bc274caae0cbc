"""Builds the simulated device once for a torch version and a state of its source; later calls find it in the cache."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

SOURCE = Path(__file__).resolve().parent / "source"
CXX = "g++"
FLAGS = ("-std=c++20", "-shared", "-fPIC", "-O1", "-w")
BUILD_S = 600.0
"""A build takes 12 s of one core; this is for machines that do ten other things."""


def library() -> Path:
    """The built extension. Raises RuntimeError with the compiler's words if it cannot be built."""
    folder = user_cache_path("cosyvoice-batch-tests", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / f"simulated-{_key()}.so"
    with FileLock(folder / "build.lock"):
        if not built.exists():
            _build(built)
    return built


def _key() -> str:
    state = hashlib.sha256(f"{importlib.metadata.version('torch')} {sys.version} {FLAGS}".encode())
    for path in sorted(SOURCE.iterdir()):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def _build(built: Path) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None, "torch is not installed"
    torch = Path(spec.origin).parent
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch:
        made = Path(scratch) / built.name
        command = [
            CXX, *FLAGS, f"-I{torch / 'include'}", f"-I{torch / 'include/torch/csrc/api/include'}",
            str(SOURCE / "simulated_device.cpp"), "-o", str(made),
            f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if done.returncode:
            raise RuntimeError(f"the simulated device cannot be built with torch {_key()}:\n{done.stderr[-4000:]}")
        made.replace(built)
