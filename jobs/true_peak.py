"""True peak after ITU-R BS.1770-4 annex 2: the highest value between samples, found by oversampling."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from jobs.blocks import Block

TAPS = 48
"""Samples that one interpolated value is made of; half of them lie ahead."""
_STRETCH = 32
"""Samples that are interpolated together. At least TAPS / 2: what lies around a stretch is its neighbours."""
_AT_ONCE = 256
"""Stretches: their values stay in a core's cache."""


@cache
def _interpolator(rate_hz: int) -> NDArray[np.float32]:
    """Filters [phases, TAPS] that give the values between two samples; phase 0, the samples themselves, is left out.

    Four-fold at 44.1 kHz and above as the standard asks; eight-fold below, where speech reaches up to the band edge.
    """
    factor = 4 if rate_hz >= 40_000 else 8
    kernel = scipy.signal.firwin(TAPS * factor + 1, 1.0 / factor, window=("kaiser", 5.0)) * factor
    phases = np.stack([kernel[phase : phase + TAPS * factor : factor][::-1] for phase in range(1, factor)])
    return np.ascontiguousarray(phases, np.float32)


@cache
def _stretched(rate_hz: int) -> NDArray[np.float32]:
    """The filters as one matrix [_STRETCH + TAPS - 1, phases * _STRETCH]: a stretch of samples and what lies around it
    times this matrix gives all values between them, a phase after the other. Sixteen times less is copied than with a
    row of TAPS samples for each of them."""
    filters = _interpolator(rate_hz)
    matrix = np.zeros((_STRETCH + TAPS - 1, len(filters), _STRETCH), np.float32)
    for place in range(_STRETCH):
        matrix[place : place + TAPS, :, place] = filters.T
    return matrix.reshape(_STRETCH + TAPS - 1, -1)


@cache
def overshoot(rate_hz: int) -> float:
    """No interpolated value exceeds the highest sample around by more than this factor, the filter's L1 norm."""
    return max(1.0, float(np.abs(_interpolator(rate_hz)).sum(axis=1).max()))


def around(samples: Block, rate_hz: int, above: float) -> Block:
    """Highest absolute value at and beside each sample: [N] -> [N]; a value between two samples counts for both.

    Exact for every result above `above`; where none can be, the samples themselves stand. The first and the last
    TAPS/2 results see zeros outside.
    """
    size, half = len(samples), TAPS // 2
    stretches = -(-size // _STRETCH)
    padded = np.zeros(stretches * _STRETCH + TAPS - 1, np.float32)
    padded[half - 1 : half - 1 + size] = samples
    peak = np.abs(padded[half - 1 : half - 1 + stretches * _STRETCH])
    loudest = np.zeros(stretches + 2, np.float32)
    peak.reshape(stretches, _STRETCH).max(axis=1, out=loudest[1:-1])
    near = np.maximum(np.maximum(loudest[:-2], loudest[2:]), loudest[1:-1])
    hot = np.flatnonzero(near * overshoot(rate_hz) > above)
    if len(hot):
        between = _between(padded, stretches, hot, rate_hz).reshape(-1)
        np.maximum(peak, between, out=peak)
        np.maximum(peak[1:], between[:-1], out=peak[1:])
    result: Block = peak[:size]
    return result


def _between(padded: Block, stretches: int, hot: NDArray[np.intp], rate_hz: int) -> Block:
    """Highest absolute value between each sample and the next one [stretches, _STRETCH]; 0 in what is not `hot`."""
    # Overlapping views of `padded`, a stretch with its surroundings each; numpy checks that they lie within it.
    surroundings = np.ndarray((stretches, _STRETCH + TAPS - 1), np.float32, padded, 0, (4 * _STRETCH, 4))
    matrix = _stretched(rate_hz)
    highest_between = np.zeros((stretches, _STRETCH), np.float32)
    for start in range(0, len(hot), _AT_ONCE):
        some = hot[start : start + _AT_ONCE]
        values = surroundings[some] @ matrix
        highest_between[some] = np.abs(values, out=values).reshape(len(some), -1, _STRETCH).max(axis=1)
    return highest_between


def highest(extended: Block, rate_hz: int, known: float) -> float:
    """The higher of `known` and the true peak of the middle of `extended` [TAPS + n + TAPS]."""
    middle = slice(TAPS, len(extended) - TAPS)
    if len(extended) <= 2 * TAPS:
        return known
    known = max(known, float(np.abs(extended[middle]).max()))
    return max(known, float(around(extended, rate_hz, known)[middle].max()))
