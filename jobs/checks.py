"""What a take must not be: empty, silent, not finite, clipped, far too short or far too long for its text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jobs.records import Take

# A take with one of these is worth nothing; the others leave something that may be kept.
FATAL = frozenset({"empty", "non_finite", "silent"})
_WEIGHT = {
    "empty": 100,
    "non_finite": 100,
    "silent": 100,
    "runaway": 8,
    "loop": 8,
    "leak": 8,
    "gap": 4,
    "too_long": 8,
    "too_short": 8,
    "clipped": 4,
}

# What an engine may notice that makes a take worth another try; its other flags are remarks.
ENGINE_FAULTS = frozenset({"runaway", "loop", "leak", "gap"})

SILENT_PEAK = 1e-3
"""-60 dBFS: below this a voice is not there."""
CLIPPED_SHARE = 1e-3
FULL_SCALE = 0.999


def expected_seconds(spoken: str, speed: float) -> float:
    """Rough duration of a spoken text, from its characters: 4.3 CJK characters or 14 other letters a second."""
    cjk = other = 0
    for char in spoken:
        if unicodedata.category(char)[0] not in "LN":
            continue
        if unicodedata.east_asian_width(char) in "WF":
            cjk += 1
        else:
            other += 1
    return (cjk / 4.3 + other / 14.0) / speed


def faults(samples: NDArray[np.float32], sample_rate_hz: int, spoken: str, speed: float) -> tuple[str, ...]:
    """Names of what is wrong with a take.

    The bounds on duration are wide: slow instructed speech and a breath at the end are no fault, ten seconds of babble
    after a five-word sentence are.
    """
    import numpy as np

    if samples.size == 0:
        return ("empty",)
    if not bool(np.isfinite(samples).all()):
        return ("non_finite",)
    level = np.abs(samples)
    if float(level.max()) < SILENT_PEAK:
        return ("silent",)
    found = []
    if float((level >= FULL_SCALE).mean()) > CLIPPED_SHARE:
        found.append("clipped")
    duration_s = samples.size / sample_rate_hz
    expected_s = expected_seconds(spoken, speed)
    if duration_s > 3.5 * expected_s + 3.0:
        found.append("too_long")
    if duration_s < 0.25 * expected_s - 0.1:
        found.append("too_short")
    return tuple(found)


def badness(take: Take) -> int:
    """How bad a take is; 0 is a good one."""
    return sum(_WEIGHT.get(fault, 1) for fault in take.faults)


def best(takes: Sequence[Take]) -> Take:
    """The take to keep: the least bad, the earliest of equals."""
    return min(takes, key=lambda take: (badness(take), take.attempt))
