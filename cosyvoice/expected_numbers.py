"""What the CPU makes of the self-test's input in fp32, kept in the user's cache: all workers and all nights pay once.

A result belongs to a checkpoint, its settings, the version of torch and that of the self-test. The checkpoint is known
by its size, its date and samples of its content: reading 2 GB for a checksum would take as long as the test itself.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cosyvoice.engine import EngineError
from cosyvoice.self_test import VERSION, Numbers

log = logging.getLogger(__name__)

_SAMPLES, _SAMPLE_BYTES = 32, 65_536
_KEPT_S = 90 * 24 * 3600.0
"""How long a result is kept: models come and go, and a fresh download is a new one each time."""
_LOCK_S = 300.0
"""How long one worker waits for another that computes the same; then it computes for itself."""


def cache_folder() -> Path:
    """Where results are kept for all runs and workers of this user."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("cosyvoice-batch")) / "self-test"


def expected_numbers(
    stage: str, checkpoint: Path, config: object, compute: Callable[[], dict[str, Tensor]], folder: Path
) -> Numbers:
    """The stage's numbers from `folder`, else from `compute`, then kept there. A damaged file is made anew and logged.

    `config`: settings whose text form names all that the numbers depend on beside the checkpoint. Raises EngineError
    if the numbers are not finite: then the checkpoint is damaged, whatever the device does.
    """
    path = folder / f"{stage.replace(' ', '-')}-{_key(stage, checkpoint, config)}.npz"
    known = _read(path)
    if known is not None:
        return known
    with ExitStack() as held:
        _lock(held, path)
        known = _read(path, level=logging.DEBUG)  # another worker may have computed it meanwhile
        if known is None:
            known = compute()
            for name, tensor in known.items():
                if not bool(torch.isfinite(tensor).all()):
                    raise EngineError(
                        f"{checkpoint} gives numbers that are not finite on the CPU in fp32 ({stage}, {name}): it is "
                        "damaged; run `cosyvoice-batch models verify`"
                    )
            _write(path, known)
    return known


def _key(stage: str, checkpoint: Path, config: object) -> str:
    state = hashlib.sha256(f"{VERSION} {stage} {torch.__version__} {config!r}".encode())
    facts = checkpoint.stat()
    state.update(f"{facts.st_size} {facts.st_mtime_ns}".encode())
    with checkpoint.open("rb") as file:
        for number in range(_SAMPLES):
            file.seek(max(0, facts.st_size - _SAMPLE_BYTES) * number // (_SAMPLES - 1))
            state.update(file.read(_SAMPLE_BYTES))
    return state.hexdigest()[:32]


def _lock(held: ExitStack, path: Path) -> None:
    """Let one worker of this user compute at a time; where that is not possible, each computes for itself."""
    from filelock import FileLock

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held.enter_context(FileLock(path.with_suffix(".lock"), timeout=_LOCK_S))
    except (OSError, NotImplementedError) as error:  # the second from filelock, on file systems without locks
        log.warning("the self-test's lock %s cannot be had (%s): this worker computes for itself", path.parent, error)


def _read(path: Path, level: int = logging.WARNING) -> Numbers | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            found = {name: torch.from_numpy(kept[name]) for name in kept.files}
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        log.log(level, "the self-test's expected result %s is damaged (%s) and is computed anew", path, error)
        return None
    return found


def _write(path: Path, numbers: Numbers) -> None:
    """Written beside, then renamed: a reader sees a whole file or none."""
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **{name: tensor.numpy() for name, tensor in numbers.items()})  # type: ignore[arg-type]
        unfinished.replace(path)
        _forget_old(path.parent)
    except OSError as error:
        log.warning("the self-test's expected result cannot be kept in %s: %s", path.parent, error)
        with suppress(OSError):  # what was refused above may be refused here too, and is told
            unfinished.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(OSError):  # another worker forgets the same
            if time.time() - path.stat().st_mtime > _KEPT_S:
                path.unlink(missing_ok=True)
