"""Child processes that are asked things through a pipe and may die at any time. Knows nothing of what they do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any

_SPAWN = multiprocessing.get_context("spawn")


class Gone(Exception):
    """The child is dead; the message says how it went."""


class Child:
    """One child process with its pipe. Messages both ways are tuples whose first element is a word."""

    def __init__(
        self, name: str, target: Callable[..., None], spec: object, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a child that runs `target(spec, connection)`; `environment` is set for it alone."""
        self.name = name
        self.heard = time.monotonic()
        self._ready = False
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_enter, args=(target, spec, theirs), name=name, daemon=True)
        before = {key: os.environ.get(key) for key in environment or {}}
        os.environ.update(environment or {})
        try:
            self._process.start()
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value
        theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def send(self, *message: Any) -> None:
        """Raises Gone if the child is dead."""
        try:
            self._connection.send(message)
        except (BrokenPipeError, OSError) as error:
            raise Gone(self._obituary()) from error

    def messages(self) -> list[tuple[Any, ...]]:
        """All that has arrived since the last `listen`, without waiting.

        Raises Gone once the child is dead and nothing is left to read.
        """
        arrived: list[tuple[Any, ...]] = []
        if not self._ready:
            return (
                arrived  # asking the system costs as much as an answer, and most children are silent most of the time
            )
        self._ready = False
        try:
            while self._connection.poll():
                arrived.append(self._connection.recv())
        except (EOFError, OSError) as error:
            if not arrived:
                raise Gone(self._obituary()) from error
        if arrived:
            self.heard = time.monotonic()
        return arrived

    def kill(self) -> None:
        self._process.kill()
        self._process.join(5.0)
        self._connection.close()

    def _obituary(self) -> str:
        self._process.join(5.0)
        code = self._process.exitcode
        if code is None:
            return f"{self.name} closed its pipe"
        if code < 0:
            return f"{self.name} was killed by signal {signal.Signals(-code).name}"
        return f"{self.name} ended with code {code}"


def listen(children: Iterable[Child], timeout_s: float) -> None:
    """Wait until one of the children has something to say (or dies), at most `timeout_s`."""
    by_connection = {child._connection: child for child in children}
    if by_connection:
        for connection in wait(list(by_connection), timeout_s):
            by_connection[connection]._ready = True  # type: ignore[index]
    else:
        time.sleep(timeout_s)


def _enter(target: Callable[..., None], spec: object, connection: Connection) -> None:
    """The child's first step: interrupts are the parent's business, and a dead parent ends the child at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        target(spec, connection)
    except (BrokenPipeError, EOFError, ConnectionResetError):
        os._exit(1)  # the parent is gone; nobody is left to tell


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
