"""The error for a text that cannot be spoken as it stands."""

from __future__ import annotations

from collections.abc import Sequence


class TextFault(ValueError):
    """A text with one or more mistakes; each fault says what was found and what to do."""

    def __init__(self, *faults: str) -> None:
        self.faults: tuple[str, ...] = faults
        super().__init__("; ".join(faults))


def raise_if(faults: Sequence[str]) -> None:
    """Raise one TextFault for all faults found, each once; nothing if there are none."""
    if faults:
        raise TextFault(*dict.fromkeys(faults))


def excerpt(text: str, start: int, end: int, longest: int = 40) -> str:
    """The part of a text that a message quotes, shortened in the middle."""
    found = text[start:end]
    return found if len(found) <= longest else f"{found[: longest - 12]}…{found[-10:]}"
