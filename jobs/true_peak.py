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
def overshoot(rate_hz: int) -> float:
    """No interpolated value exceeds the highest sample around by more than this factor, the filter's L1 norm."""
    return max(1.0, float(np.abs(_interpolator(rate_hz)).sum(axis=1).max()))


def around(samples: Block, rate_hz: int, above: float) -> Block:
    """Highest absolute value at and beside each sample: [N] -> [N]; a value between two samples counts for both.

    Exact for every result above `above`; where none can be, the samples themselves stand. The first and the last
    TAPS/2 results see zeros outside.
    """
    size = len(samples)
    filled = -size % _STRETCH
    half = TAPS // 2
    padded = np.concatenate([np.zeros(half - 1, np.float32), samples, np.zeros(half + filled, np.float32)])
    peak = np.abs(padded[half - 1 : len(padded) - half])
    blocks = np.pad(peak.reshape(-1, _STRETCH).max(axis=1), 1)
    near = np.maximum(np.maximum(blocks[:-2], blocks[2:]), blocks[1:-1])
    hot = np.flatnonzero(near * overshoot(rate_hz) > above)
    windows = np.lib.stride_tricks.sliding_window_view(padded, TAPS)
    after = np.zeros_like(peak)
    for some in np.array_split(hot, len(hot) // 256 + 1):
        rows = (some[:, None] * _STRETCH + np.arange(_STRETCH)).ravel()
        after[rows] = np.abs(_interpolator(rate_hz) @ windows[rows].T).max(axis=0, initial=0.0)
    np.maximum(peak, after, out=peak)
    np.maximum(peak[1:], after[:-1], out=peak[1:])
    result: Block = peak[:size]
    return result


def highest(extended: Block, rate_hz: int, known: float) -> float:
    """The higher of `known` and the true peak of the middle of `extended` [TAPS + n + TAPS]."""
    middle = slice(TAPS, len(extended) - TAPS)
    if len(extended) <= 2 * TAPS:
        return known
    known = max(known, float(np.abs(extended[middle]).max()))
    return max(known, float(around(extended, rate_hz, known)[middle].max()))
