"""True peak after ITU-R BS.1770-4 annex 2: the highest value between samples, found by oversampling."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from jobs.blocks import Block

TAPS = 48
"""Samples that one interpolated value is made of; half of them lie ahead."""


@cache
def _interpolator(rate_hz: int) -> NDArray[np.float32]:
    """Filter [TAPS, phases] that gives the values between two samples; phase 0, the samples themselves, is left out.

    Four-fold at 44.1 kHz and above as the standard asks; eight-fold below, where speech reaches up to the band edge.
    """
    factor = 4 if rate_hz >= 40_000 else 8
    kernel = scipy.signal.firwin(TAPS * factor + 1, 1.0 / factor, window=("kaiser", 9.0)) * factor
    phases = np.stack([kernel[phase : phase + TAPS * factor : factor] for phase in range(1, factor)], axis=1)
    return np.ascontiguousarray(phases[::-1], np.float32)


@cache
def overshoot(rate_hz: int) -> float:
    """No interpolated value exceeds the highest sample around by more than this factor, the filter's L1 norm."""
    return max(1.0, float(np.abs(_interpolator(rate_hz)).sum(axis=0).max()))


def between(samples: Block, rate_hz: int) -> Block:
    """Highest absolute value at and around each sample: [N] -> [N], a value between two samples counts for both.

    The first and last TAPS/2 results see zeros outside.
    """
    half = TAPS // 2
    padded = np.concatenate([np.zeros(half - 1, np.float32), samples, np.zeros(half, np.float32)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, TAPS)
    after = np.empty(len(samples), np.float32)
    for start in range(0, len(samples), 1 << 14):
        values = windows[start : start + (1 << 14)] @ _interpolator(rate_hz)
        after[start : start + (1 << 14)] = np.maximum(values.max(axis=1), -values.min(axis=1))
    peak = np.maximum(np.abs(samples), after)
    peak[1:] = np.maximum(peak[1:], after[:-1])
    return peak


def highest(extended: Block, rate_hz: int, known: float) -> float:
    """The higher of `known` and the true peak of the middle of `extended` [TAPS + n + TAPS].

    Only stretches that can exceed `known` are interpolated; the result is the same as if all were.
    """
    step = 4 * TAPS
    middle = extended[TAPS:-TAPS]
    if len(middle) == 0:
        return known
    known = max(known, float(np.abs(middle).max()))
    loud = np.abs(extended)
    for start in _hot_starts(loud, step, known / overshoot(rate_hz)):
        if loud[start : start + step + 2 * TAPS].max(initial=0.0) * overshoot(rate_hz) <= known:
            continue
        piece = extended[start : start + step + 2 * TAPS]
        known = max(known, float(between(piece, rate_hz)[TAPS:-TAPS].max(initial=0.0)))
    return known


def _hot_starts(loud: Block, step: int, limit: float) -> list[int]:
    """Where stretches of `step` samples start whose surroundings reach above `limit`, the loudest first."""
    starts = np.arange(0, len(loud) - 2 * TAPS, step)
    padded = np.concatenate([loud, np.zeros(-len(loud) % step, np.float32)])
    peaks = padded.reshape(-1, step).max(axis=1)
    own = np.maximum(peaks[: len(starts)], np.append(peaks[1:], 0)[: len(starts)])
    hot = np.flatnonzero(own > limit)
    return [int(starts[index]) for index in hot[np.argsort(-own[hot], kind="stable")]]
