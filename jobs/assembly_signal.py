"""The sound of a book: items read, brought to one rate and level, cut to their place, with silence between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jobs.blocks import Block, resampled, scaled, zeros
from jobs.encode import read_back
from jobs.errors import EnvironmentFault
from jobs.loudness import Meter

if TYPE_CHECKING:
    from jobs.assembly_plan import Piece, Placed
    from jobs.finished_items import Finished
    from presets.catalog import Profile

FADE_S = 0.005
LOSSY_SLACK_S = 0.15
"""A lossy file may decode to a little less than was put in: that much silence may be filled up."""
WINDOW_DB = (-23.0, -18.0)
"""What ACX takes for the RMS of one file; see docs/profiles.md."""
WINDOW_MARGIN_DB = 0.3


@dataclass(frozen=True, slots=True)
class Gains:
    """How the book's items come to their level."""

    book_db: float
    """One gain for all of them, over the level that the engine gave."""
    voice_db: Mapping[str, float]
    """What brings each voice to the level of the one that speaks most."""
    held: bool = False
    """The book's gain stopped at the profile's greatest."""
    afresh: bool = True
    """False: every item keeps the level that the run gave it."""

    def of(self, piece: Piece) -> float:
        """The item's own gain is taken back: a whisper stays a whisper."""
        if not self.afresh:
            return 0.0
        return self.book_db + self.voice_db.get(piece.item.voice, 0.0) - piece.item.gain_db


def chapter_signal(placed: Placed, rate_hz: int, gains: Gains, more_db: float = 0.0) -> Iterator[Block]:
    """Exactly `placed.samples` samples."""
    for piece in placed.pieces:
        yield from zeros(piece.silence)
        yield from scaled(_cut(piece, rate_hz), gains.of(piece) + more_db)
    yield from zeros(placed.tail)


def book_signal(book: Sequence[Placed], rate_hz: int, gains: Gains) -> Iterator[Block]:
    for placed in book:
        yield from chapter_signal(placed, rate_hz, gains)


def _cut(piece: Piece, rate_hz: int) -> Iterator[Block]:
    """The piece's part of its file, with short fades, so that no edge clicks."""
    item = piece.item
    fade = min(round(FADE_S * rate_hz), piece.samples // 2)
    ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(fade) + 0.5) / max(1, fade))).astype(np.float32)
    window = np.concatenate([ramp, ramp[::-1]])
    done, to_skip = 0, piece.skipped
    for block in resampled(decoded(item), item.rate_hz, rate_hz):
        if to_skip >= len(block):
            to_skip -= len(block)
            continue
        part = block[to_skip : to_skip + piece.samples - done]
        to_skip = 0
        yield _faded(part, done, piece.samples, window)
        done += len(part)
        if done == piece.samples:
            return
    lossless = item.profile.container in ("wav", "raw", "flac")
    if piece.samples - done > (2 if lossless else LOSSY_SLACK_S * rate_hz):
        raise EnvironmentFault(f"{item.path}: shorter than the run made it; run the manifest again")
    yield from zeros(piece.samples - done)


def decoded(item: Finished) -> Iterator[Block]:
    """The first channel of the item's file. Raises EnvironmentFault with what to do."""
    try:
        yield from read_back(item.path, item.profile)
    except RuntimeError as error:
        raise EnvironmentFault(
            f"{item.path}: cannot be decoded ({error}); remove it and run the manifest again"
        ) from error


def _faded(part: Block, done: int, samples: int, window: Block) -> Block:
    fade = len(window) // 2
    if done >= fade and done + len(part) <= samples - fade:
        return part
    where = np.arange(done, done + len(part))
    factor = np.ones(len(part), np.float32)
    factor[where < fade] = window[where[where < fade]]
    late = where >= samples - fade
    factor[late] = window[where[late] - samples + 2 * fade]
    faded: Block = part * factor
    return faded


def measured(blocks: Iterable[Block], rate_hz: int, profile: Profile, method: str) -> Meter:
    """A signal's level by one method; the figures of a book of a day fit in 100 MB."""
    meter = Meter(rate_hz, profile.channels, loudness=method == "lufs", speech=method == "speech", true_peak=False)
    for block in blocks:
        meter.feed(block)
    return meter.finish()


def find_gains(book: Sequence[Placed], profile: Profile) -> Gains:
    """One gain for the whole book, measured over all of it; voices are made equally loud before.

    A profile without a level leaves everything as the run finished it.
    """
    if profile.loudness == "none" or profile.target_db is None:
        return Gains(0.0, {}, afresh=False)
    from jobs.level import level_db

    rate_hz = profile.sample_rate_hz
    balanced = Gains(0.0, _balance(book, profile))
    meter = measured(book_signal(book, rate_hz, balanced), rate_hz, profile, profile.loudness)
    level = level_db(meter, profile, speech_s=meter.samples / rate_hz)
    if level is None:
        return balanced
    wanted_db = profile.target_db - level
    return Gains(min(wanted_db, profile.max_gain_db), balanced.voice_db, wanted_db > profile.max_gain_db)


def _balance(book: Sequence[Placed], profile: Profile) -> dict[str, float]:
    """For each voice the gain that makes it as loud, by BS.1770, as the voice that speaks most."""
    pieces: dict[str, list[Piece]] = {}
    for placed in book:
        for piece in placed.pieces:
            pieces.setdefault(piece.item.voice, []).append(piece)
    if len(pieces) < 2:
        return {}
    rate_hz, raw = profile.sample_rate_hz, Gains(0.0, {})
    levels: dict[str, float] = {}
    for voice, own in pieces.items():
        signal = (block for piece in own for block in scaled(_cut(piece, rate_hz), raw.of(piece)))
        meter = measured(signal, rate_hz, profile, "lufs")
        level = meter.integrated_lufs()
        level = meter.ungated_lufs(meter.samples / rate_hz) if level is None else level
        if level is not None:
            levels[voice] = level
    if not levels:
        return {}
    main = max(levels, key=lambda voice: sum(piece.samples for piece in pieces[voice]))
    return {voice: levels[main] - level for voice, level in levels.items()}


def correction_db(placed: Placed, profile: Profile, gains: Gains) -> float:
    """The least that brings a chapter into ACX's window for one file, where the profile is made for it; else 0."""
    if profile.loudness != "rms":
        return 0.0
    rate_hz = profile.sample_rate_hz
    rms = measured(chapter_signal(placed, rate_hz, gains), rate_hz, profile, "rms").rms_db()
    if rms is None:
        return 0.0
    low, high = WINDOW_DB[0] + WINDOW_MARGIN_DB, WINDOW_DB[1] - WINDOW_MARGIN_DB
    return low - rms if rms < low else min(0.0, high - rms)
