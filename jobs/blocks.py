"""Streams of mono audio blocks: read, resample, band-limit, scale, look around. Memory never grows with the length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
import scipy.signal
import soxr
from numpy.typing import NDArray

Block: TypeAlias = NDArray[np.float32]
"""Mono samples [N], nominally within -1..1."""

BLOCK_SAMPLES = 1 << 16


def sliced(samples: Block) -> Iterator[Block]:
    """The array (or memory map) [N] in blocks."""
    for start in range(0, len(samples), BLOCK_SAMPLES):
        yield np.asarray(samples[start : start + BLOCK_SAMPLES], np.float32)


def zeros(samples: int) -> Iterator[Block]:
    for start in range(0, samples, BLOCK_SAMPLES):
        yield np.zeros(min(BLOCK_SAMPLES, samples - start), np.float32)


def scaled(blocks: Iterable[Block], gain_db: float) -> Iterator[Block]:
    factor = np.float64(10) ** (gain_db / 20)
    for block in blocks:
        yield (block * factor).astype(np.float32)


def resampled(blocks: Iterable[Block], from_hz: int, to_hz: int) -> Iterator[Block]:
    """The same sound at another rate: round(N * to / from) samples, no delay."""
    if from_hz == to_hz:
        yield from blocks
        return
    stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="VHQ")
    for block in blocks:
        out = stream.resample_chunk(block)
        if len(out):
            yield out
    out = stream.resample_chunk(np.zeros(0, np.float32), last=True)
    if len(out):
        yield out


@cache
def butterworth(order: int, corner_hz: float, kind: str, rate_hz: int) -> NDArray[np.float64]:
    """Second-order sections [order / 2, 6], -3 dB at the corner."""
    sections: NDArray[np.float64] = scipy.signal.butter(order, corner_hz, kind, fs=rate_hz, output="sos")
    return sections


def band_limited(blocks: Iterable[Block], rate_hz: int, low_hz: float | None, high_hz: float | None) -> Iterator[Block]:
    """Butterworth high-pass (4th order) and low-pass (8th order), each -3 dB at its corner; None leaves that side."""
    sections = []
    if low_hz:
        sections.append(butterworth(4, low_hz, "highpass", rate_hz))
    if high_hz and high_hz < rate_hz / 2:
        sections.append(butterworth(8, high_hz, "lowpass", rate_hz))
    if not sections:
        yield from blocks
        return
    sos = np.concatenate(sections)
    state = np.zeros((len(sos), 2))
    for block in blocks:
        out, state = scipy.signal.sosfilt(sos, block.astype(np.float64), zi=state)
        yield out.astype(np.float32)


def gathered(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same samples in fewer blocks, BLOCK_SAMPLES long or more but for the last: each call costs something."""
    held: list[Block] = []
    samples = 0
    for block in blocks:
        held.append(block)
        samples += len(block)
        if samples >= BLOCK_SAMPLES:
            yield np.concatenate(held)
            held, samples = [], 0
    if samples:
        yield np.concatenate(held)


def with_context(blocks: Iterable[Block], context: int, size: int) -> Iterator[Block]:
    """Views [context + n + context], n <= size: each sample once in a middle, zeros past both ends."""
    held = np.zeros(context, np.float32)
    for block in blocks:
        held = np.concatenate([held, block])
        start = 0
        while len(held) - start >= size + 2 * context:
            yield held[start : start + size + 2 * context]
            start += size
        held = held[start:]
    held = np.concatenate([held, np.zeros(context, np.float32)])
    for start in range(0, len(held) - 2 * context, size):
        yield held[start : start + size + 2 * context]
