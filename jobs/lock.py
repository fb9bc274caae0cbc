"""One run at a time in a run folder. The operating system drops the lock when its holder dies, however it dies."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep

from filelock import FileLock, Timeout

from jobs.errors import Locked
from jobs.files import STATE_FOLDER, explain, make_folder

POLL_S = 0.2


@contextmanager
def hold(folder: Path, wait_s: float, check_stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the run folder's lock. Raises Locked, naming the holder, when another run keeps it longer than `wait_s`.

    `check_stop` is called while it waits, and raises where the wait is to end.
    """
    state = folder / STATE_FOLDER
    make_folder(state)
    lock = FileLock(state / "lock")
    deadline = monotonic() + wait_s
    try:
        while not _taken(lock):
            check_stop()
            if monotonic() >= deadline:
                raise Locked(f"{folder}: {_holder(state)}; wait for it, or use --wait SECONDS")
            sleep(POLL_S)
    except OSError as error:
        raise explain(error, state / "lock") from error
    try:
        _sign(state)
        yield
    finally:
        (state / "holder.json").unlink(missing_ok=True)
        lock.release()


def _taken(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def _sign(state: Path) -> None:
    """Say who holds the lock, for the message that another run prints. A hint only: the lock itself is the truth."""
    signature = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": " ".join(sys.argv[1:])[:300],
    }
    try:
        (state / "holder.json").write_text(json.dumps(signature), encoding="utf-8")
    except OSError as error:
        raise explain(error, state) from error


def _holder(state: Path) -> str:
    try:
        signature = json.loads((state / "holder.json").read_text(encoding="utf-8"))
        return (
            f"in use by process {signature['pid']} on {signature['host']} since {signature['since']} "
            f"(cosyvoice-batch {signature['command']})"
        )
    except (OSError, ValueError, KeyError):
        # Between taking the lock and signing, or on its way out: the holder is there but has no name at this moment.
        return "in use by another run"
