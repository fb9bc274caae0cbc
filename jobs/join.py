"""Takes and pauses become one signal: edges trimmed and faded, silence of the asked length between speech."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jobs.blocks import BLOCK_SAMPLES, Block, resampled, sliced, zeros

if TYPE_CHECKING:
    from jobs.finish import Part
    from jobs.records import Gap
    from presets.catalog import Profile

FRAME_MS = 5
SPEECH_BELOW_LOUDEST_DB = 50
"""A frame counts as speech down to this far below the loudest 50 ms: fricative onsets lie up to 45 dB below."""
BREATH_BELOW_LOUDEST_DB = 38
CONSONANT_MS, BREATH_KEPT_MS = 250, 150
"""What stays under the breath level for longer than a consonant lasts is breath or hiss; only its end is kept."""
MARGIN_MS = 10
SILENT_POWER = 1e-8
LOUDEST_SAMPLE = 1000.0
MIN_MS = 10
READ_WHOLE_BYTES = 1 << 20
"""To map a short take costs ten times what reading it does."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Sample positions within a take: what is kept, and where speech starts and stops inside it."""

    start: int
    speech_start: int
    speech_stop: int
    stop: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A trimmed take and the silence before it, in samples of the layout's rate."""

    path: str
    take_rate_hz: int
    edges: Edges
    silence_samples: int
    samples: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything lies in the joined signal."""

    pieces: tuple[Piece, ...]
    tail_samples: int
    rate_hz: int
    fade_samples: int

    @property
    def samples(self) -> int:
        return sum(piece.silence_samples + piece.samples for piece in self.pieces) + self.tail_samples

    @property
    def starts_s(self) -> tuple[float, ...]:
        """Where each take's speech starts."""
        starts, position = [], 0
        for piece in self.pieces:
            position += piece.silence_samples
            margin_s = (piece.edges.speech_start - piece.edges.start) / piece.take_rate_hz
            starts.append(position / self.rate_hz + margin_s)
            position += piece.samples
        return tuple(starts)

    @property
    def speech_s(self) -> float:
        """All speech, pauses and margins left out."""
        return sum((piece.edges.speech_stop - piece.edges.speech_start) / piece.take_rate_hz for piece in self.pieces)


def lay_out(parts: Sequence[Part], lead_ms: int, pause_ms: int | None, profile: Profile) -> Layout:
    """Find every take's edges and the silences between; reads the takes once, keeps none."""
    rate_hz = max(part.sample_rate_hz for part in parts)
    pieces: list[Piece] = []
    due_ms: float = lead_ms + profile.head_ms
    for number, part in enumerate(parts):
        take = _opened(part.path)
        if len(take) != part.samples:
            raise ValueError(f"a take holds {len(take)} samples where its record says {part.samples}: make it again")
        edges = find_edges(take, part.sample_rate_hz)
        ms = 1000 / part.sample_rate_hz
        silence_ms = max(0.0, due_ms - (edges.speech_start - edges.start) * ms)
        samples = round((edges.stop - edges.start) * rate_hz / part.sample_rate_hz)
        pieces.append(Piece(part.path, part.sample_rate_hz, edges, round(silence_ms * rate_hz / 1000), samples))
        last = number == len(parts) - 1
        due_ms = (part.gap.ms or 0) + profile.tail_ms if last else pause_after_ms(part.gap, pause_ms, profile)
        due_ms -= (edges.stop - edges.speech_stop) * ms
    tail = round(max(0.0, due_ms) * rate_hz / 1000)
    layout = Layout(tuple(pieces), tail, rate_hz, round(profile.fade_ms * rate_hz / 1000))
    shortfall = round(MIN_MS * rate_hz / 1000) - layout.samples
    return layout if shortfall <= 0 else Layout(layout.pieces, tail + shortfall, rate_hz, layout.fade_samples)


def pause_after_ms(gap: Gap, pause_ms: int | None, profile: Profile) -> int:
    """Silence between a segment and the next one, from the end of speech to the start of speech."""
    if gap.ms is not None:
        return gap.ms
    if gap.boundary == "clause":
        return profile.clause_ms
    if gap.boundary == "paragraph":
        return profile.paragraph_ms
    return profile.sentence_ms if pause_ms is None else pause_ms


def joined(layout: Layout) -> Iterator[Block]:
    """The whole signal in blocks, at the layout's rate."""
    for piece in layout.pieces:
        yield from zeros(piece.silence_samples)
        take = _opened(piece.path)[piece.edges.start : piece.edges.stop]
        blocks = resampled(sliced(take), piece.take_rate_hz, layout.rate_hz)
        yield from _faded(blocks, piece.samples, min(layout.fade_samples, piece.samples // 2))
    yield from zeros(layout.tail_samples)


def _opened(path: str) -> Block:
    """A raw float32 file as an array [N]; of a long one the system reads in what is needed."""
    if Path(path).stat().st_size <= READ_WHOLE_BYTES:  # nor can a file of no bytes be mapped
        return np.fromfile(path, "<f4")
    return np.memmap(path, "<f4", "r")


def _faded(blocks: Iterator[Block], samples: int, fade: int) -> Iterator[Block]:
    """The blocks with a raised cosine over the first and the last `fade` of `samples`."""
    ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(fade) + 0.5) / max(1, fade))).astype(np.float32)
    position = 0
    for block in blocks:
        head, tail = fade - position, position + len(block) - (samples - fade)
        if head > 0 or tail > 0:
            block = block.copy()
        if head > 0:
            block[:head] *= ramp[position : position + len(block)]
        if tail > 0:
            start = max(0, len(block) - tail)
            first = position + start - (samples - fade)
            block[start:] *= ramp[::-1][first : first + len(block) - start]
        position += len(block)
        yield block


def find_edges(take: Block, rate_hz: int) -> Edges:
    """Where speech starts and stops. A take with no sound at all is kept whole and counts as speech.

    Raises ValueError for a take with samples that are not numbers, or 60 dB above full scale: it is no audio.
    """
    frame = max(1, rate_hz * FRAME_MS // 1000)
    power = _frame_powers(take, frame)
    window = min(len(power), 50 // FRAME_MS)
    loudest = float(np.convolve(power, np.ones(window) / window, "valid").max()) if window else 0.0
    if loudest < SILENT_POWER:
        return Edges(0, 0, len(take), len(take))
    heard = np.flatnonzero(power >= loudest / 10 ** (SPEECH_BELOW_LOUDEST_DB / 10))
    clear = np.flatnonzero(power >= loudest / 10 ** (BREATH_BELOW_LOUDEST_DB / 10))
    first, last = int(heard[0]), int(heard[-1])
    consonant, breath, margin = (ms // FRAME_MS for ms in (CONSONANT_MS, BREATH_KEPT_MS, MARGIN_MS))
    start, stop = first - margin, last + margin
    if clear[0] - first > consonant:
        near = heard[
            heard >= clear[0] - breath + margin
        ]  # of what was heard long before, nothing but silence may be near
        first, start = int(clear[0]), int(near[0]) - margin
    if last - clear[-1] > consonant:
        near = heard[heard <= clear[-1] + breath - margin]
        last, stop = int(clear[-1]), int(near[-1]) + margin
    end = len(take)
    return Edges(
        max(0, start) * frame, first * frame, min(end, (last + 1) * frame), min(end, max(last + 1, stop + 1) * frame)
    )


def _frame_powers(take: Block, frame: int) -> NDArray[np.float64]:
    """Mean square per frame around the take's own mean, so that a constant offset is not taken for sound."""
    sums, squares, loudest = [], [], 0.0
    step = BLOCK_SAMPLES // frame * frame
    for start in range(0, len(take), step):
        wide = np.asarray(take[start : start + step], np.float64)
        loudest = max(loudest, float(np.abs(wide).max()))
        filled = np.concatenate([wide, np.full(-len(wide) % frame, wide[-1])]).reshape(-1, frame)
        sums.append(filled.mean(axis=1))
        squares.append(np.einsum("ij,ij->i", filled, filled) / frame)
    if not sums:
        return np.zeros(0)
    means, powers = np.concatenate(sums), np.concatenate(squares)
    if not (np.isfinite(powers).all() and loudest <= LOUDEST_SAMPLE):
        raise ValueError("a take holds samples that are not numbers or lie 60 dB above full scale: make it again")
    offset = float(np.mean(means))
    centred: NDArray[np.float64] = np.maximum(0.0, powers - 2 * offset * means + offset * offset)
    return centred
