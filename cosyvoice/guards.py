"""The model's known failures, recognised from speech ids and samples: loops, words of the reference, long gaps.

Each finding is a flag on the Speech; the schedule asks for another take with another seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAK_IDS = 8
"""0.32 s of speech equal to the reference's end, id by id, does not happen by chance in another text."""
LEAK_TAIL_IDS = 50
LEAK_HEAD_IDS = 25
LOOP_IDS = 100
"""4 s of a pattern that repeats itself exactly."""
LOOP_TIMES = 4
LONGEST_PERIOD = 50
GAP_S = 2.0
GAP_LEVEL = 1e-3


def token_flags(ids: Sequence[int], reference: Sequence[int], silent: frozenset[int]) -> tuple[str, ...]:
    """Flags from speech ids [S] and the reference's ids [P]; `silent` are ids that stand for silence."""
    flags = []
    if _loops(ids, silent):
        flags.append("loop")
    if _leaks(ids, reference, silent):
        flags.append("leak")
    return tuple(flags)


def sample_flags(samples: NDArray[np.float32], sample_rate_hz: int) -> tuple[str, ...]:
    """Flags from the waveform [N]: `gap` for more than two seconds of silence between spoken parts."""
    loud = np.flatnonzero(np.abs(samples) > GAP_LEVEL)
    if loud.size and int(np.diff(loud).max(initial=0)) > GAP_S * sample_rate_hz:
        return ("gap",)
    return ()


def _loops(ids: Sequence[int], silent: frozenset[int]) -> bool:
    """Whether somewhere a pattern of at most two seconds repeats itself exactly for four seconds and four times."""
    array = np.asarray(ids)
    for period in range(1, min(LONGEST_PERIOD, len(array) // LOOP_TIMES) + 1):
        same = np.concatenate(([False], array[period:] == array[:-period], [False]))
        edges = np.flatnonzero(~same)
        longest = int(np.diff(edges).max(initial=1)) - 1
        if longest >= max(LOOP_IDS, period * (LOOP_TIMES - 1)):
            start = int(edges[int(np.diff(edges).argmax())])
            if not set(array[start : start + period].tolist()) <= silent:
                return True
    return False


def _leaks(ids: Sequence[int], reference: Sequence[int], silent: frozenset[int]) -> bool:
    """Whether the utterance begins with the end of the reference: a common run within its first second."""
    head, tail = list(ids[:LEAK_HEAD_IDS]), list(reference[-LEAK_TAIL_IDS:])
    for start in range(len(head) - LEAK_IDS + 1):
        run = head[start : start + LEAK_IDS]
        if len(set(run) - silent) < LEAK_IDS // 2:
            continue
        if any(tail[at : at + LEAK_IDS] == run for at in range(len(tail) - LEAK_IDS + 1)):
            return True
    return False
