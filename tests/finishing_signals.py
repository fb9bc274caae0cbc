"""Speech-like signals for tests and benchmarks: syllables with formants, fricatives between, silence around."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from jobs.ffmpeg import ffmpeg_path
from jobs.finish import Part
from jobs.records import Gap
from presets.catalog import Profile

Block: TypeAlias = NDArray[np.float32]
FORMANTS_HZ = ((550, 1.0), (1250, 0.5), (2550, 0.25), (3600, 0.12))
"""Centre and weight."""


def speech(
    duration_s: float,
    rate_hz: int = 24000,
    seed: int = 0,
    peak: float = 0.3,
    edge_s: float = 0.2,
    noise_db: float = -90,
) -> Block:
    """[N] with `duration_s` of syllables (3.7 a second, pitch gliding) between two stretches of silence."""
    random = np.random.default_rng(seed)
    n = round(duration_s * rate_hz)
    t = np.arange(n) / rate_hz
    mean_hz = random.uniform(95, 210)
    phase = 2 * np.pi * np.cumsum(mean_hz * (1 + 0.15 * np.sin(2 * np.pi * 0.5 * t + random.uniform(0, 6)))) / rate_hz
    harmonics = np.arange(1, int(0.4 * rate_hz / mean_hz))
    loudness = sum(weight / (1 + ((harmonics * mean_hz - f) / 200) ** 2) for f, weight in FORMANTS_HZ) + 0.02
    voice = np.zeros(n)
    for harmonic, amplitude in zip(harmonics, loudness, strict=True):
        voice += amplitude * np.sin(harmonic * phase + random.uniform(0, 6))
    rhythm = np.sin(2 * np.pi * 3.7 * t + 0.3)
    stress = 0.55 + 0.45 * np.sin(2 * np.pi * 0.7 * t + random.uniform(0, 6))
    hiss = np.diff(random.normal(0, 1, n + 1)) * np.clip(-rhythm, 0, 1) ** 2 * (np.sin(2 * np.pi * 1.1 * t) > 0)
    sound = voice / max(1e-9, float(np.abs(voice).max(initial=0))) * np.clip(rhythm, 0, 1) ** 0.6 * stress + 0.02 * hiss
    sound *= peak / max(1e-9, float(np.abs(sound).max(initial=0)))
    edge = np.zeros(round(edge_s * rate_hz))
    whole = np.concatenate([edge, sound, edge])
    return (whole + 10 ** (noise_db / 20) * random.normal(0, 1, len(whole))).astype(np.float32)


def part(folder: Path, samples: Block, gap: Gap, rate_hz: int = 24000) -> Part:
    """The samples as a raw take in `folder`."""
    path = folder / f"take-{len(list(folder.glob('take-*')))}.f32"
    samples.astype("<f4").tofile(path)
    return Part(str(path), rate_hz, len(samples), gap)


def source_of(path: Path, profile: Profile) -> list[str]:
    """ffmpeg's input words for a finished file; a headerless one has to be described."""
    if profile.container != "raw":
        return ["-i", str(path)]
    if profile.encoding in ("gsm", "g722"):
        return ["-f", profile.encoding, "-i", str(path)]
    form = {"pcm16": "s16le", "ulaw": "mulaw", "alaw": "alaw"}[profile.encoding]
    return ["-f", form, "-ar", str(profile.sample_rate_hz), "-ac", str(profile.channels), "-i", str(path)]


def ebur128(source: Sequence[str]) -> tuple[float, float]:
    """Integrated LUFS and true peak in dBTP of an ffmpeg source, as ffmpeg's own meter shows them at 48 kHz."""
    command = [ffmpeg_path(), "-nostdin", "-hide_banner", *source, "-af", "aresample=48000,ebur128=peak=true"]
    words = subprocess.run([*command, "-f", "null", "-"], capture_output=True, text=True, check=True).stderr
    summary = words[words.rindex("Summary:") :]
    loudness, peak = re.search(r"I:\s+(\S+) LUFS", summary), re.search(r"Peak:\s+(\S+) dBFS", summary)
    assert loudness is not None and peak is not None, words
    return float(loudness[1]), float(peak[1])
