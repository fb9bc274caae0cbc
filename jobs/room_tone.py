"""Very quiet, steady, low noise instead of digital silence: what an audiobook's pauses sound like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np

from jobs.blocks import Block

CORNER_HZ = 400.0
LOOP_SAMPLES = 1 << 19
"""About 12 s at 44.1 kHz; it joins its own start without a seam."""
SEED = 20_260_101


@cache
def _loop(rate_hz: int) -> Block:
    """Noise [LOOP_SAMPLES] of RMS 1 that falls 6 dB an octave above 400 Hz; the same on every run."""
    random = np.random.Generator(np.random.PCG64(SEED))
    frequency_hz = np.fft.rfftfreq(LOOP_SAMPLES, 1 / rate_hz)
    phase = np.exp(2j * np.pi * random.random(len(frequency_hz)))
    spectrum = phase / np.sqrt(1 + (frequency_hz / CORNER_HZ) ** 2)
    spectrum[0] = 0.0
    noise = np.fft.irfft(spectrum, LOOP_SAMPLES)
    loop: Block = (noise / np.sqrt(np.mean(noise**2))).astype(np.float32)
    return loop


def with_room_tone(blocks: Iterable[Block], rate_hz: int, level_db: float | None) -> Iterator[Block]:
    """Each block plus noise of `level_db` RMS; None: as it is."""
    if level_db is None:
        yield from blocks
        return
    loop = _loop(rate_hz) * np.float32(10 ** (level_db / 20))
    position = 0
    for block in blocks:
        where = np.arange(position, position + len(block)) % LOOP_SAMPLES
        yield block + loop[where]
        position += len(block)
