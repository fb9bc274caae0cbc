"""A good recording, and copies of it with one fault each."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile
import soxr

DATA = Path(__file__).parent / "data" / "parity"
GOOD = DATA / "zero_shot_prompt.wav"
GOOD_TEXT = "希望你以后能够做的比我还好呦。"
LONGER = DATA / "cross_lingual_prompt.flac"
RATE_HZ = 24_000
LAST_SOUND_S = 3.1


@lru_cache(maxsize=1)
def good() -> np.ndarray:
    """[83520] at 24 kHz, 2.8 s of speech."""
    samples, rate_hz = soundfile.read(GOOD, dtype="float64")
    assert rate_hz == RATE_HZ
    samples.setflags(write=False)
    return samples


@lru_cache(maxsize=1)
def longer() -> np.ndarray:
    """13.7 s at 24 kHz with five pauses."""
    samples, rate_hz = soundfile.read(LONGER, dtype="float64")
    moved = soxr.resample(samples, rate_hz, RATE_HZ)
    moved.setflags(write=False)
    return moved


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE_HZ))


def noise(seconds: float, level_db: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(round(seconds * RATE_HZ)) * 10 ** (level_db / 20)


def write(path: Path, samples: np.ndarray, rate_hz: int = RATE_HZ, subtype: str = "PCM_24") -> Path:
    soundfile.write(path, samples, rate_hz, subtype=subtype)
    return path


def hot(samples: np.ndarray) -> np.ndarray:
    """Cut off in the loud middle of its last word."""
    size = RATE_HZ // 100
    levels = np.square(samples[: len(samples) // size * size]).reshape(-1, size).mean(axis=1)
    loud = np.flatnonzero(levels > np.percentile(levels, 80))
    return samples[: (int(loud[-1]) + 1) * size]


def without_pauses(samples: np.ndarray) -> np.ndarray:
    """What a tool leaves that cuts out every quiet 10 ms."""
    size = RATE_HZ // 100
    framed = samples[: len(samples) // size * size].reshape(-1, size)
    levels = 10 * np.log10(np.square(framed).mean(axis=1) + 1e-12)
    return framed[levels > np.percentile(levels, 95) - 34].ravel()
