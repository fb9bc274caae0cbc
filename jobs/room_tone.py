"""Very quiet, steady, low noise instead of digital silence: what an audiobook's pauses sound like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import scipy.signal

from jobs.blocks import Block

CORNER_HZ = 400.0
SEED = 20_260_101


def with_room_tone(blocks: Iterable[Block], rate_hz: int, level_db: float | None) -> Iterator[Block]:
    """Each block plus noise of `level_db` RMS, falling 6 dB an octave above 400 Hz; the same noise on every run."""
    if level_db is None:
        yield from blocks
        return
    random = np.random.Generator(np.random.PCG64(SEED))
    pole = float(np.exp(-2 * np.pi * CORNER_HZ / rate_hz))
    # White noise of RMS 1 leaves this one-pole filter with RMS sqrt((1 - p) / (1 + p)).
    scale = 10 ** (level_db / 20) * np.sqrt((1 + pole) / (1 - pole))
    state = np.zeros(1)
    for block in blocks:
        white = random.standard_normal(len(block), np.float32)
        noise, state = scipy.signal.lfilter([1 - pole], [1, -pole], white, zi=state)
        yield (block + scale * noise).astype(np.float32)
