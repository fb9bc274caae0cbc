"""Ctrl-C and SIGTERM become a wish to stop that the run asks for at safe points."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Catches the signals while it is entered; a second Ctrl-C is the default one, for a person in a hurry."""

    def __init__(self) -> None:
        self._signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._signal = number
        signal.signal(number, signal.SIG_DFL)

    def check(self) -> None:
        """Raises Interrupted once a signal has come."""
        if self._signal:
            from jobs.run import Interrupted

            raise Interrupted(self._signal)
