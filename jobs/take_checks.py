"""What the ear would object to in a take, found from its samples alone: suspicions, with limits from real audio.

A suspicion asks for another take; it never fails an item by itself (`checks.py` holds what does). The limits were set
on clips of the embedded voice and on the same clips spoiled on purpose: docs/quality.md has precision and recall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from jobs.speech_rate import expected_seconds, units

Floats = NDArray[np.float32]

FRAME_MS = 10
SPEECH_BELOW_LOUD_DB = 35.0
"""A frame is speech down to this far below the take's loud frames (their 95th percentile)."""
LONGEST_PAUSE_S = 1.5

JUMP_DB = 12.0
JUMP_WINDOW_S = 1.0

END_FRAMES = 3
END_BELOW_LOUD_DB = 18.0

HISS_S = 0.4
HISS_BELOW_LOUD_DB = 50.0
HISS_STEADY_DB = 2.5
HISS_FLATNESS = 0.25

CLICK_EDGE_FRAMES = 2
CLICK_QUIET_FRAMES = 5
CLICK_BELOW_LOUD_DB = 30.0

RATE_SLOWEST, RATE_FASTEST = 2.2, 0.45
"""Length of the speech without its pauses, over the expected one."""
RATE_LEAST_S = 1.0
"""Shorter texts say too little about a rate."""

BANDS = 20
HOP_S, WINDOW_S = 0.025, 0.032
PRINT_HZ = 12_000
"""Fingerprints need no more of the spectrum than half of this."""
REPEAT_S, REPEAT_LONGEST_S, REPEAT_APART_S = 0.8, 6.0, 0.5
UNIT_REST_S = 0.12
"""What a comma may add to a repeated word."""
REPEAT_LIKENESS = 0.85
REPEAT_SAMENESS = 0.75
"""Likeness within the repeated part itself: above it the sound is one tone, and all of it is like all of it."""


@dataclass(frozen=True, slots=True)
class _Frames:
    """Level of each 10 ms of a take."""

    db: NDArray[np.float64]
    loud_db: float
    speech: NDArray[np.bool_]
    first: int
    last: int
    """First and last frame of speech."""


def suspicions(samples: Floats, sample_rate_hz: int, spoken: str, speed: float) -> tuple[str, ...]:
    """Names of what sounds wrong in a mono take [N] of the text `spoken`; `checks.faults` has let it through.

    `long_pause`, `level_jump`, `cut_end`, `hiss_tail`, `edge_click`, `too_fast`, `too_slow`, `said_twice`.
    """
    frames = _frames(samples, sample_rate_hz)
    if frames is None:
        return ()
    found = []
    if _longest_pause_s(frames) > LONGEST_PAUSE_S:
        found.append("long_pause")
    if _level_jump_db(frames) > JUMP_DB:
        found.append("level_jump")
    if _ends_loud(frames):
        found.append("cut_end")
    if _hisses(samples, sample_rate_hz, frames):
        found.append("hiss_tail")
    if _clicks(frames):
        found.append("edge_click")
    found += _rate(frames, spoken, speed)
    if not repeats_itself(spoken) and said_twice(samples, sample_rate_hz):
        found.append("said_twice")
    return tuple(found)


def speech_level_db(samples: Floats, sample_rate_hz: int) -> float | None:
    """Level of the speech in a take, pauses left out, in dB of full scale; None where there is none."""
    frames = _frames(samples, sample_rate_hz)
    if frames is None:
        return None
    return round(float(10 * np.log10(np.mean(10 ** (frames.db[frames.speech] / 10)))), 2)


def speech_seconds(samples: Floats, sample_rate_hz: int) -> float:
    """How long a take speaks, pauses left out."""
    frames = _frames(samples, sample_rate_hz)
    return 0.0 if frames is None else int(frames.speech.sum()) * FRAME_MS / 1000


def _frames(samples: Floats, rate_hz: int) -> _Frames | None:
    size = rate_hz * FRAME_MS // 1000
    whole = samples[: len(samples) // size * size].reshape(-1, size)
    if len(whole) < 10:
        return None
    db = 10 * np.log10(np.einsum("ij,ij->i", whole, whole, dtype=np.float64) / size + 1e-12)
    loud_db = float(np.percentile(db, 95))
    speech = db > loud_db - SPEECH_BELOW_LOUD_DB
    heard = np.flatnonzero(speech)
    return _Frames(db, loud_db, speech, int(heard[0]), int(heard[-1]))


def _pauses(frames: _Frames) -> NDArray[np.int64]:
    """Lengths of the silent stretches between speech, in frames."""
    gaps: NDArray[np.int64] = np.diff(np.flatnonzero(frames.speech)) - 1
    return gaps[gaps > 0]


def _longest_pause_s(frames: _Frames) -> float:
    return int(_pauses(frames).max(initial=0)) * FRAME_MS / 1000


def _level_jump_db(frames: _Frames) -> float:
    """The largest change of level from one second of speech to the next."""
    db = frames.db[frames.speech]
    width = round(JUMP_WINDOW_S * 1000 / FRAME_MS)
    if len(db) < 2 * width:
        return 0.0
    power = np.concatenate(([0.0], np.cumsum(10 ** (db / 10))))
    level = 10 * np.log10((power[width:] - power[:-width]) / width)
    return float(np.abs(level[width:] - level[:-width]).max())


def _ends_loud(frames: _Frames) -> bool:
    """Speech still sounds in the very last frames: a word is cut."""
    return bool(frames.db[-END_FRAMES:].min() > frames.loud_db - END_BELOW_LOUD_DB)


def _hisses(samples: Floats, rate_hz: int, frames: _Frames) -> bool:
    """The take ends in steady noise: longer than any fricative, of even level and flat spectrum."""
    many = round(HISS_S * 1000 / FRAME_MS)
    tail_db = frames.db[-many:]
    if len(frames.db) < 2 * many or tail_db.min() < frames.loud_db - HISS_BELOW_LOUD_DB:
        return False
    if float(tail_db.std()) > HISS_STEADY_DB:
        return False
    pieces = samples[-(len(samples[-round(HISS_S * rate_hz) :]) // 512 * 512) :].reshape(-1, 512)
    power = np.mean(np.abs(np.fft.rfft(pieces * np.hanning(512).astype(np.float32))) ** 2, axis=0)[4:-8] + 1e-20
    return bool(np.exp(np.mean(np.log(power))) / np.mean(power) > HISS_FLATNESS)


def _clicks(frames: _Frames) -> bool:
    """A burst in the first or last 20 ms with silence between it and the speech."""
    threshold = frames.loud_db - CLICK_BELOW_LOUD_DB
    for db in (frames.db, frames.db[::-1]):
        quiet = db[CLICK_EDGE_FRAMES : CLICK_EDGE_FRAMES + CLICK_QUIET_FRAMES]
        if db[:CLICK_EDGE_FRAMES].max() > threshold and quiet.max() < threshold - 10:
            return True
    return False


def _rate(frames: _Frames, spoken: str, speed: float) -> list[str]:
    expected_s = expected_seconds(spoken, speed)
    if expected_s < RATE_LEAST_S:
        return []
    pauses = _pauses(frames)
    spoken_frames = frames.last - frames.first + 1 - int(pauses[pauses > 15].sum())
    ratio = spoken_frames * FRAME_MS / 1000 / expected_s
    return ["too_slow"] if ratio > RATE_SLOWEST else ["too_fast"] if ratio < RATE_FASTEST else []


def repeats_itself(spoken: str) -> bool:
    """Whether the text itself says something twice in a row that is long enough to be found: `快跑，快跑`, `888888`,
    not `看看`."""
    said = units(spoken)
    return any(
        said[at : at + size] == said[at + size : at + 2 * size]
        and expected_seconds(" ".join(said[at : at + size]), 1.0) + UNIT_REST_S * size > REPEAT_S / 2
        for size in range(1, len(said) // 2 + 1)
        for at in range(len(said) - 2 * size + 1)
    )


def said_twice(samples: Floats, rate_hz: int) -> bool:
    """Whether the same 0.8 s or more sound twice with at most half a second between."""
    prints, active = _fingerprints(samples, rate_hz)
    count, shortest = len(prints), round(REPEAT_S / HOP_S)
    lags = np.arange(shortest, min(count - shortest, round(REPEAT_LONGEST_S / HOP_S)) + 1)
    if not len(lags):
        return False
    like = prints @ prints.T
    sheared = np.zeros((count, len(lags)), np.float32)
    for column, lag in enumerate(lags):
        sheared[: count - lag, column] = like.diagonal(lag)
    sums = np.concatenate([np.zeros((1, len(lags)), np.float32), np.cumsum(sheared, axis=0)])
    sounding = np.concatenate(([0.0], np.cumsum(active)))
    widths = np.maximum(shortest, lags - round(REPEAT_APART_S / HOP_S))
    starts = np.arange(count)[:, None]
    stops = starts + widths
    fits = stops + lags <= count
    ends = np.minimum(stops, count)
    total = np.take_along_axis(sums, ends, axis=0) - sums[:-1]
    voiced = sounding[ends] - sounding[starts]
    later = sounding[np.minimum(stops + lags, count)] - sounding[np.minimum(starts + lags, count)]
    score = np.where(fits & (voiced >= 0.6 * widths), total / np.maximum(1.0, (voiced + later) / 2), 0.0)
    start, best = divmod(int(score.argmax()), len(lags))
    if score[start, best] < REPEAT_LIKENESS:
        return False
    part = slice(start, start + int(widths[best]))
    pairs = np.outer(active[part], active[part]).sum() or 1.0
    return bool(like[part, part].sum() / pairs < REPEAT_SAMENESS)


def _fingerprints(samples: Floats, rate_hz: int) -> tuple[Floats, Floats]:
    """Shape of the spectrum [F, bands], unit vectors (zero where nothing sounds), and which frames sound [F]."""
    fewer = max(1, rate_hz // PRINT_HZ)
    whole = samples[: len(samples) // fewer * fewer]
    samples = sum((whole[first::fewer] for first in range(1, fewer)), start=whole[::fewer])
    rate_hz = rate_hz // fewer
    hop, window = round(HOP_S * rate_hz), round(WINDOW_S * rate_hz)
    if len(samples) < window:
        return np.zeros((0, BANDS), np.float32), np.zeros(0, np.float32)
    pieces = sliding_window_view(samples, window)[::hop] * np.hanning(window).astype(np.float32)
    spectrum = np.fft.rfft(pieces, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    edges = np.unique(np.geomspace(150, rate_hz / 2, BANDS + 1) * window / rate_hz).astype(int)
    bands = np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1)
    level = bands.sum(axis=1)
    active = (level > np.percentile(level, 95) * 10 ** (-SPEECH_BELOW_LOUD_DB / 10)).astype(np.float32)
    shape = np.log(bands + 1e-12 + level[:, None] * 1e-5)
    shape -= shape.mean(axis=1, keepdims=True)
    shape /= np.linalg.norm(shape, axis=1, keepdims=True) + 1e-9
    return shape * active[:, None], active
