"""What shops and phone systems measure, measured on a finished file from anywhere, in memory that does not grow.

Definitions beside those of `jobs/loudness.py`
- Sample peak: the highest sample; true peak: also between samples.
- Head and tail silence: up to the first and after the last 5 ms frame that counts as sound: no more than 50 dB below
  the loudest 50 ms, and 10 dB above the quietest tenth of a second, so that room tone is no sound.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jobs.audio_file import Facts, Unreadable, Wide, open_audio
from jobs.blocks import Block
from jobs.loudness import Meter, together

if TYPE_CHECKING:
    from presets.catalog import Profile

METER_RATE_HZ = 24_000
"""Below 22 kHz K-weighting is not true, so such files are metered at this rate, as the finisher does."""
FRAME_MS = 5
SOUND_BELOW_LOUDEST_DB = 50
SOUND_ABOVE_QUIETEST_DB = 10
SOUND_SURELY_DB = 30
"""What lies no more than this below the loudest is sound, however high the quietest stretch is."""
MAX_CHANNELS = 8


@dataclass(frozen=True, slots=True)
class Inspected:
    """One file's figures; a level is None for digital silence or where the file is too short for it."""

    path: str
    facts: Facts
    duration_s: float
    samples: int
    loudness_lufs: float | None
    rms_db: float | None
    speech_db: float | None
    """Active-speech level, see `jobs/loudness.py`."""
    sample_peak_dbfs: float | None
    true_peak_dbtp: float | None
    noise_floor_db: float | None
    head_silence_s: float
    tail_silence_s: float
    bitrate_kbps: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def inspect_file(path: Path, profile: Profile | None = None) -> Inspected:
    """Measure one file; a headerless one with the profile's suffix is taken for what the profile makes.

    Raises OSError, EnvironmentFault (ffmpeg is needed and missing), Unreadable.
    """
    is_raw = profile is not None and profile.container == "raw" and path.suffix.lower() == profile.suffix
    audio = open_audio(path, (profile.encoding, profile.sample_rate_hz) if profile is not None and is_raw else None)
    facts = audio.facts
    if not 1 <= facts.channels <= MAX_CHANNELS:
        raise Unreadable(f"{facts.channels} channels; 1 to {MAX_CHANNELS} can be measured")
    meters = [_Channel(facts.sample_rate_hz) for _ in range(facts.channels)]
    edges, samples = _Edges(facts.sample_rate_hz), 0
    for block in audio.blocks():
        if not np.isfinite(block).all():
            raise Unreadable("holds samples that are not numbers")
        samples += len(block)
        edges.feed(block)
        for number, meter in enumerate(meters):
            meter.feed(np.ascontiguousarray(block[:, number]))
    if samples == 0:
        raise Unreadable("holds no audio")
    whole = together([meter.finish() for meter in meters])
    duration_s = samples / facts.sample_rate_hz
    head_s, tail_s = edges.silences_s(duration_s)
    peak = max(meter.peak for meter in meters)
    kbps = facts.bitrate_kbps if facts.bitrate_kbps is not None else facts.size_bytes / duration_s / 125
    return Inspected(
        path=str(path),
        facts=facts,
        duration_s=duration_s,
        samples=samples,
        loudness_lufs=whole.integrated_lufs(),
        rms_db=whole.rms_db(),
        speech_db=whole.speech_db(),
        sample_peak_dbfs=20 * math.log10(peak) if peak > 0 else None,
        true_peak_dbtp=whole.true_peak_dbtp(),
        noise_floor_db=whole.noise_floor_db(),
        head_silence_s=head_s,
        tail_silence_s=tail_s,
        bitrate_kbps=kbps,
    )


class _Channel:
    """A meter at the rate where it is true, fed at the file's rate, and the highest sample on the way."""

    def __init__(self, rate_hz: int) -> None:
        import soxr

        self.peak = 0.0
        meter_hz = rate_hz if rate_hz >= 22_050 else METER_RATE_HZ
        self._meter = Meter(meter_hz, speech=True)
        self._stream = (
            soxr.ResampleStream(rate_hz, meter_hz, 1, dtype="float32", quality="VHQ") if meter_hz != rate_hz else None
        )

    def feed(self, samples: Block) -> None:
        self.peak = max(self.peak, float(np.abs(samples).max(initial=0.0)))
        self._meter.feed(samples if self._stream is None else self._stream.resample_chunk(samples))

    def finish(self) -> Meter:
        if self._stream is not None:
            self._meter.feed(self._stream.resample_chunk(np.zeros(0, np.float32), last=True))
        return self._meter.finish()


class _Edges:
    """Mean square per 5 ms over all channels, kept as one number a frame."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._frame = max(1, rate_hz * FRAME_MS // 1000)
        self._powers: list[NDArray[np.float32]] = []
        self._pending: Wide | None = None

    def feed(self, block: Wide) -> None:
        rest = block if self._pending is None else np.concatenate([self._pending, block])
        whole = len(rest) // self._frame * self._frame
        self._keep(rest[:whole])
        self._pending = rest[whole:]

    def _keep(self, samples: Wide) -> None:
        frames = samples.reshape(-1, self._frame * samples.shape[1])
        self._powers.append(np.einsum("ij,ij->i", frames, frames) / frames.shape[1])

    def silences_s(self, duration_s: float) -> tuple[float, float]:
        """At the head and at the tail; a file without sound is all head."""
        if self._pending is not None and len(self._pending):
            missing = self._frame - len(self._pending)
            self._keep(np.pad(self._pending, ((0, missing), (0, 0))))
        power = np.concatenate(self._powers).astype(np.float64)
        window, quiet = min(len(power), 10), min(len(power), 20)
        loudest = float(np.convolve(power, np.ones(window) / window, "valid").max())
        if loudest <= 1e-10:
            return duration_s, 0.0
        quietest = float(np.convolve(power, np.ones(quiet) / quiet, "valid").min())
        floor = max(loudest / 10 ** (SOUND_BELOW_LOUDEST_DB / 10), quietest * 10 ** (SOUND_ABOVE_QUIETEST_DB / 10))
        sound = np.flatnonzero(power >= min(floor, loudest / 10 ** (SOUND_SURELY_DB / 10)))
        frame_s = self._frame / self._rate_hz
        return float(sound[0] * frame_s), max(0.0, duration_s - float((sound[-1] + 1) * frame_s))
