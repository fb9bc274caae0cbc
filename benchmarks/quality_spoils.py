"""Good clips spoiled on purpose, one fault each. A spoiler gives None for a clip that it cannot spoil."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality_clips import RATE_HZ, Clip
from jobs.speech_rate import expected_seconds
from jobs.take_checks import FRAME_MS, _Frames, _frames

Samples = NDArray[np.float32]
Spoiler = Callable[[Samples, Clip, np.random.Generator], Samples | None]
FRAME = RATE_HZ * FRAME_MS // 1000


def _looked_at(samples: Samples) -> _Frames:
    frames = _frames(samples, RATE_HZ)
    assert frames is not None
    return frames


def _cut_where(samples: Samples, random: np.random.Generator, fits: Callable[[_Frames, int], bool]) -> Samples | None:
    frames = _looked_at(samples)
    places = [place for place in range(frames.first + 15, frames.last - 15) if fits(frames, place)]
    return samples[: int(random.choice(places)) * FRAME] if places else None


def cut_loud(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """Ends within a loud part of a word."""
    return _cut_where(samples, random, lambda f, at: bool(f.db[at - 3 : at].min() > f.loud_db - 12))


def cut_anywhere(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """Ends anywhere in the speech."""
    return _cut_where(samples, random, lambda f, at: bool(f.speech[at - 3 : at].all()))


def looped(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """0.8 s to 2.5 s sound again, at another level, with noise, up to 0.3 s later."""
    frames = _looked_at(samples)
    many = frames.last - frames.first
    if many < 100:
        return None
    length = int(random.uniform(80, min(250, many)))
    start = frames.first + int(random.integers(0, many - length + 1))
    if frames.speech[start : start + length].mean() < 0.6:
        return None
    part = samples[start * FRAME : (start + length) * FRAME]
    again = (part + random.normal(0, 1e-3, len(part))) * random.uniform(0.7, 1.1)
    rest = np.zeros(int(random.uniform(0, 0.3) * RATE_HZ))
    end = (start + length) * FRAME
    return np.concatenate([samples[:end], rest, again, samples[end:]]).astype(np.float32)


def hole(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """1.6 s to 3 s of silence in the middle."""
    frames = _looked_at(samples)
    middle = (frames.first + frames.last) // 2 * FRAME
    rest = np.zeros(int(random.uniform(1.6, 3) * RATE_HZ), np.float32)
    return np.concatenate([samples[:middle], rest, samples[middle:]])


def uneven(samples: Samples, clip: Clip, random: np.random.Generator, by_db: float = 16) -> Samples | None:
    """One half of the speech is so much quieter."""
    frames = _looked_at(samples)
    if frames.speech.sum() < 220:
        return None
    spoken = np.flatnonzero(frames.speech)
    middle = int(spoken[len(spoken) // 2]) * FRAME
    spoiled = samples.copy()
    half = slice(middle, None) if random.random() < 0.5 else slice(None, middle)
    spoiled[half] *= np.float32(10 ** (-by_db / 20))
    return spoiled


def hissing(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """0.5 s to 1 s of noise at the end, 20 to 42 dB under the loud parts."""
    level = 10 ** ((_looked_at(samples).loud_db - random.uniform(20, 42)) / 20)
    noise = random.normal(0, level, int(random.uniform(0.5, 1) * RATE_HZ))
    return np.concatenate([samples, noise]).astype(np.float32)


def clicking(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """A burst of 0.3 ms to 3 ms in the first or last 15 ms."""
    away, length = int(random.uniform(2, 15) * 24), int(random.uniform(0.3, 3) * 24)
    burst = random.normal(0, 1, length) * np.abs(samples).max() * random.uniform(0.2, 1)
    spoiled = samples.copy()
    start = away if random.random() < 0.5 else len(samples) - away - length
    spoiled[start : start + length][: len(burst)] += burst[: len(spoiled[start : start + length])].astype(np.float32)
    return spoiled


def two_thirds_lost(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """Only the first third of the speech, with silence after it."""
    if expected_seconds(clip.text, clip.speed) < 1.5:
        return None
    frames = _looked_at(samples)
    end = (frames.first + (frames.last - frames.first) // 3) * FRAME
    return np.concatenate([samples[:end], np.zeros(RATE_HZ // 8, np.float32)])


def silenced(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """Nothing but a noise floor."""
    return random.normal(0, 1e-4, len(samples)).astype(np.float32)


def clipped(samples: Samples, clip: Clip, random: np.random.Generator) -> Samples | None:
    """Driven 12 to 24 dB over full scale."""
    gain = 10 ** (random.uniform(12, 24) / 20) / np.abs(samples).max()
    return np.clip(samples * np.float32(gain), -1, 1)


SPOILERS: Mapping[str, tuple[str, Spoiler]] = {
    "cut within a loud part of a word": ("cut_end", cut_loud),
    "cut anywhere in the speech": ("cut_end", cut_anywhere),
    "0.8 s to 2.5 s sound again": ("said_twice", looped),
    "1.6 s to 3 s of silence in the middle": ("long_pause", hole),
    "one half 20 dB quieter": ("level_jump", lambda s, c, r: uneven(s, c, r, 20)),
    "one half 16 dB quieter": ("level_jump", uneven),
    "0.5 s to 1 s of noise at the end": ("hiss_tail", hissing),
    "a click at an edge": ("edge_click", clicking),
    "two thirds of the speech lost": ("too_fast", two_thirds_lost),
    "silenced": ("silent", silenced),
    "clipped": ("clipped", clipped),
}
"""What was done, the check that should find it, and how it is done."""
