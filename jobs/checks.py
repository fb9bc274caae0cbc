"""What a take must not be: empty, silent, not finite, clipped, far too short or far too long for its text.

Faults fail an item once all its takes have one; suspicions (take_checks.py, verify.py) only ask for another take.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from jobs.speech_rate import expected_seconds

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
    "said_twice": 3,
    "cut_end": 3,
    "misheard": 3,
    "leak_heard": 3,
    "timbre_drift": 3,
    "not_understood": 6,
}

SUSPICIONS = {
    "long_pause": "pauses longer than 1.5 s",
    "level_jump": "changes its loudness suddenly",
    "cut_end": "ends within a word",
    "hiss_tail": "ends in noise",
    "edge_click": "has a click at its edge",
    "too_fast": "is short for its text",
    "too_slow": "is long for its text",
    "said_twice": "says something twice",
    "misheard": "was not understood as its text",
    "leak_heard": "begins with words of the reference or the instruction",
    "timbre_drift": "does not sound like its voice",
}
"""What makes a take worth another try but fails no item by itself, with the words for a person."""

# What an engine may notice that makes a take worth another try; its other flags are remarks.
ENGINE_FAULTS = frozenset({"runaway", "loop", "leak", "gap"})

SILENT_PEAK = 1e-3
"""-60 dBFS: below this a voice is not there."""
CLIPPED_SHARE = 1e-3
FULL_SCALE = 0.999


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


def only_suspected(take: Take) -> bool:
    """Whether nothing certain speaks against a take."""
    return SUSPICIONS.keys() >= set(take.faults)


def best(takes: Sequence[Take]) -> Take:
    """The take to keep: the least bad, of equals the best understood, then the most like its voice, the earliest."""
    return min(takes, key=lambda take: (badness(take), take.error_rate or 0.0, -(take.likeness or 0.0), take.attempt))


def told(take: Take) -> list[str]:
    """What a person should know of a take that is kept with these faults."""
    certain = [fault for fault in take.faults if fault not in SUSPICIONS]
    suspected = [SUSPICIONS[fault] for fault in take.faults if fault in SUSPICIONS]
    return [*(f"is kept though it is {fault}" for fault in certain), *(f"{words}: listen to it" for words in suspected)]


LEVEL_STEP_DB = 6.0
"""Good clips of one voice lie at most 4.9 dB apart if they are no shorter than 1.5 s (docs/quality.md)."""
LEVEL_STEP_SHORT_DB, LEVEL_SHORT_S = 9.0, 1.5
"""Of shorter ones, at most 8.5 dB: a word alone is its loudest vowel."""


def level_steps(kept: Sequence[Take]) -> list[str]:
    """Where the loudness jumps from one kept take to the next, in words. `kept` is in the order of the segments."""
    found = []
    for number, (before, after) in enumerate(pairwise(kept), start=1):
        if before.level_db is None or after.level_db is None:
            continue
        step_db = after.level_db - before.level_db
        short = min(before.samples / before.sample_rate_hz, after.samples / after.sample_rate_hz) < LEVEL_SHORT_S
        if abs(step_db) > (LEVEL_STEP_SHORT_DB if short else LEVEL_STEP_DB):
            loud = "louder" if step_db > 0 else "quieter"
            found.append(f"segment {number + 1} is {abs(step_db):.0f} dB {loud} than the one before: listen to it")
    return found


TIMBRE_STEP = 0.3
"""So far under its item a segment is another voice. CAM++ gives clean speech of one speaker 0.805 on average, of two
0.256, at 0.48 % equal errors (docs/quality.md): one speaker spreads by about 0.11; this is nearly three times that."""
TIMBRE_LEAST_SEGMENTS = 3


def timbre_steps(kept: Sequence[Take]) -> list[str]:
    """Which segments are less like their voice than the item's others, in words. `kept` as in `level_steps`.

    Segments that are unlike the voice altogether are suspected already (`timbre_drift`) and not named again.
    """
    likenesses = [take.likeness for take in kept if take.likeness is not None]
    if len(likenesses) < TIMBRE_LEAST_SEGMENTS:
        return []
    usual = median(likenesses)
    return [
        f"segment {number} sounds less like its voice than the others ({take.likeness:.2f}, they {usual:.2f}): "
        "listen to it"
        for number, take in enumerate(kept, start=1)
        if take.likeness is not None and take.likeness < usual - TIMBRE_STEP and "timbre_drift" not in take.faults
    ]
