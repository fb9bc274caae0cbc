"""What the linter has to say about a voice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["refuse", "warn", "info"]
About = Literal["audio", "text", "instruction", "consent"]
_ORDER = {"refuse": 0, "warn": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding: what was found, with figures, and what to do."""

    severity: Severity
    """`refuse`: the voice would not work; `warn`: it will be worse for it; `info`: good to know."""
    about: About
    code: str
    """Stable name of the finding, for scripts."""
    message: str

    def __str__(self) -> str:
        return self.message


def in_order(remarks: list[Remark]) -> tuple[Remark, ...]:
    """The gravest first."""
    return tuple(sorted(remarks, key=lambda remark: _ORDER[remark.severity]))
