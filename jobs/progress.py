"""The hooks that a run calls. Nothing is printed here: `cli/output.py` turns them into bars, lines or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run has before it starts."""

    items: int
    """Items to make."""
    unchanged: int
    audio_s: float
    """Estimated duration of what will be made."""


@dataclass(frozen=True, slots=True)
class ItemEnd:
    """One item that came to its end."""

    id: str
    out: str
    state: str
    """`done`, `failed` or `skipped`."""
    reason: str
    """Why it was made, or why it failed."""
    audio_s: float
    wall_s: float
    """Seconds since its first segment was handed to a worker."""
    device: str
    retries: int


class Progress(Protocol):
    """What a display must understand."""

    def planned(self, totals: Totals) -> None: ...

    def note(self, message: str) -> None:
        """A line worth knowing: a device that is ready, a worker that was restarted."""
        ...

    def warn(self, message: str) -> None: ...

    def audio(self, seconds: float) -> None:
        """So much audio was synthesised since the last call."""
        ...

    def item(self, end: ItemEnd) -> None: ...

    def finished(self) -> None: ...
