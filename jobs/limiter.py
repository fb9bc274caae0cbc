"""A look-ahead true-peak limiter: holds the ceiling between samples too, and touches nothing that lies below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d

from jobs.blocks import Block, with_context
from jobs.true_peak import TAPS, around, overshoot

LOOK_AHEAD_S = 0.0025
RELEASE_DB_PER_S = 120.0
STRETCH_SAMPLES = 1 << 12
"""Short enough that most stretches hold no peak and pass untouched."""


class Limiter:
    """Turns down before a peak arrives and comes back slowly after it.

    The gain in dB that each sample needs is held over the look-ahead on both sides, let go at a steady rate, and
    averaged over the same window. An average of values that all satisfy a sample satisfies it too, so no sample can
    pass the ceiling. Between samples a fast gain can lift a value by a few hundredths of a dB: the caller's margin.
    """

    def __init__(self, rate_hz: int, ceiling_dbtp: float) -> None:
        self.deepest_db = 0.0
        """The deepest reduction so far, as a positive number."""
        self._rate_hz = rate_hz
        self._ceiling_db = ceiling_dbtp
        self._reach = max(1, round(LOOK_AHEAD_S * rate_hz))
        self._release_db = RELEASE_DB_PER_S / rate_hz

    def limited(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The same number of samples, none above the ceiling."""
        reach, context = self._reach, 2 * self._reach + TAPS
        ceiling = 10 ** (self._ceiling_db / 20)
        quiet = ceiling / overshoot(self._rate_hz)
        reduction_db = 0.0  # what is still being let go, `reach` samples before the block
        for extended in with_context(blocks, context, STRETCH_SAMPLES):
            middle = extended[context:-context]
            if reduction_db == 0.0 and np.abs(extended).max() <= quiet:
                yield middle
                continue
            peaks = around(extended, self._rate_hz, ceiling)[TAPS:-TAPS]
            if reduction_db == 0.0 and peaks.max() <= ceiling:
                yield middle
                continue
            needed = np.minimum(0.0, self._ceiling_db - 20 * np.log10(np.maximum(peaks, ceiling).astype(np.float64)))
            held = minimum_filter1d(needed, 2 * reach + 1, mode="nearest")[reach:-reach]
            released = self._released(held, reduction_db)
            reduction_db = float(released[len(middle) - 1])
            gain_db = np.minimum(0.0, _averaged(_averaged(released, reach + 1), reach + 1))
            self.deepest_db = max(self.deepest_db, float(-gain_db.min()))
            yield (middle * 10 ** (gain_db / 20)).astype(np.float32)

    def _released(self, held: NDArray[np.float64], before_db: float) -> NDArray[np.float64]:
        """`held` [n + 2 reach] where each value may rise by the release rate at most over the one before it."""
        ramp = self._release_db * np.arange(1, len(held) + 1)
        lowest = np.minimum(np.minimum.accumulate(held - ramp), before_db)
        released: NDArray[np.float64] = np.minimum(0.0, lowest + ramp)
        return released


def _averaged(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Mean of each `size` neighbours [N] -> [N - size + 1]; twice makes a triangular window of twice the width."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: NDArray[np.float64] = (sums[size:] - sums[:-size]) / size
    return means
