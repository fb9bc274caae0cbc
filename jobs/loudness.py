"""How loud audio is: integrated loudness, RMS, active-speech level, noise floor, peaks, taken from a stream of blocks.

Definitions
- Integrated loudness: ITU-R BS.1770-4, K-weighting, 400 ms blocks every 100 ms, gates at -70 LUFS and 10 LU below.
- RMS: over every sample, pauses included (what ACX measures), in dB where a full-scale square wave is 0.
- Active-speech level: RMS of the 20 ms frames that lie less than 15.9 dB below that level itself (the margin of ITU-T
  P.56), after a 300 Hz high-pass, pauses left out (RFC 7874, section 4).
- Noise floor: RMS of the quietest half second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cache

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from jobs.blocks import BLOCK_SAMPLES, Block, butterworth
from jobs.true_peak import TAPS, highest

FRAMES_PER_S = 50
GATE_LUFS = -70.0
SPEECH_MARGIN_DB = 15.9
SPEECH_HIGHPASS_HZ = 300


@cache
def k_weighting(rate_hz: int) -> NDArray[np.float64]:
    """Second-order sections [2, 6] of BS.1770-4: the head's high shelf and the low cut, designed for this rate.

    The analogue corner, Q and gain behind the standard's 48 kHz table are those that De Man published (2014); at 48 kHz
    they give the table's coefficients.
    """
    shelf_hz, shelf_q, shelf_db = 1681.974450955533, 0.7071752369554196, 3.999843853973347
    cut_hz, cut_q = 38.13547087602444, 0.5003270373238773
    k, top = math.tan(math.pi * shelf_hz / rate_hz), 10 ** (shelf_db / 20)
    bend = top**0.4996667741545416
    a0 = 1 + k / shelf_q + k * k
    shelf = [
        (top + bend * k / shelf_q + k * k) / a0,
        2 * (k * k - top) / a0,
        (top - bend * k / shelf_q + k * k) / a0,
        1,
        2 * (k * k - 1) / a0,
        (1 - k / shelf_q + k * k) / a0,
    ]
    k = math.tan(math.pi * cut_hz / rate_hz)
    a0 = 1 + k / cut_q + k * k
    return np.array([shelf, [1, -2, 1, 1, 2 * (k * k - 1) / a0, (1 - k / cut_q + k * k) / a0]])


def decibels(power: float) -> float | None:
    """10 log10; None for silence."""
    return 10 * math.log10(power) if power > 0 else None


class _Filtered:
    """Energies per frame of a signal after a filter."""

    def __init__(self, sections: NDArray[np.float64], frame: int) -> None:
        self.energies: list[NDArray[np.float64]] = []
        self._sections = sections
        self._state = np.zeros((len(sections), 2))
        self._frame = frame

    def feed(self, samples: NDArray[np.float64]) -> None:
        out, self._state = scipy.signal.sosfilt(self._sections, samples, zi=self._state)
        self.energies.append(_energies(out, self._frame))

    def scaled(self, power: NDArray[np.float64]) -> _Filtered:
        other = copy(self)
        other.energies = [_joined(self.energies) * power]
        return other


class Meter:
    """Fed with mono blocks, asked afterwards. Keeps a few numbers per 20 ms frame and no audio.

    `channels` says in how many channels the mono signal will be heard: two of the same are 3 LU louder.
    `loudness`, `speech` and `true_peak` say what is wanted beside RMS and noise floor: each costs time.
    """

    def __init__(
        self, rate_hz: int, channels: int = 1, *, loudness: bool = True, speech: bool = False, true_peak: bool = True
    ) -> None:
        self.rate_hz = rate_hz
        self.samples = 0
        self._channels = channels
        self._frame = round(rate_hz / FRAMES_PER_S)
        self._pending = np.zeros(0, np.float32)
        self._plain: list[NDArray[np.float64]] = []
        self._loudness = _Filtered(k_weighting(rate_hz), self._frame) if loudness else None
        self._speech = (
            _Filtered(butterworth(4, SPEECH_HIGHPASS_HZ, "highpass", rate_hz), self._frame) if speech else None
        )
        self._wants_true_peak = true_peak
        self._peaks: list[Block] = []
        self._around = np.zeros(TAPS, np.float32)
        self._true_peak = 0.0

    def feed(self, block: Block) -> None:
        """Take the next samples [N]."""
        self._pending = np.concatenate([self._pending, block]) if len(self._pending) else block
        if len(self._pending) >= BLOCK_SAMPLES:
            whole = len(self._pending) // self._frame * self._frame
            self._measure(self._pending[:whole])
            self._pending = self._pending[whole:]

    def finish(self) -> Meter:
        """No more will come: measure the rest, its last frame filled up with zeros."""
        samples = self.samples + len(self._pending)
        rest = np.concatenate([self._pending, np.zeros(-len(self._pending) % self._frame, np.float32)])
        if len(rest):
            self._measure(rest, last=True)
        elif self._wants_true_peak:
            self._find_peak(self._around, last=True)
        self.samples, self._pending = samples, self._pending[:0]
        return self

    def _measure(self, samples: Block, last: bool = False) -> None:
        self.samples += len(samples)
        wide = samples.astype(np.float64)
        self._plain.append(_energies(wide, self._frame))
        for filtered in (self._loudness, self._speech):
            if filtered is not None:
                filtered.feed(wide)
        self._peaks.append(np.abs(samples).reshape(-1, self._frame).max(axis=1))
        if self._wants_true_peak:
            self._find_peak(np.concatenate([self._around, samples]), last)

    def _find_peak(self, samples: Block, last: bool) -> None:
        """The true peak of all but the last TAPS samples, whose neighbours are to come, unless these are the last."""
        known = np.append(samples, np.zeros(TAPS, np.float32)) if last else samples
        self._true_peak = highest(known, self.rate_hz, self._true_peak)
        self._around = samples[-2 * TAPS :]

    def _energies_of(self, filtered: _Filtered | None) -> NDArray[np.float64]:
        if filtered is None:
            raise ValueError("this meter was not asked for that when it was made")
        return _joined(filtered.energies)

    def integrated_lufs(self) -> float | None:
        """Gated loudness of the whole; None if nothing lies above the gates or there is less than one 400 ms block."""
        hops = _grouped(self._energies_of(self._loudness), 5)[: int(self.samples // (5 * self._frame))]
        if len(hops) < 4:
            return None
        power = np.convolve(hops, np.ones(4), "valid") * self._channels / (20 * self._frame)
        loud = power[power > 10 ** ((GATE_LUFS + 0.691) / 10)]
        if len(loud) == 0:
            return None
        loud = loud[loud > loud.mean() / 10]
        return float(-0.691 + 10 * np.log10(loud.mean()))

    def ungated_lufs(self, speech_s: float) -> float | None:
        """K-weighted loudness as if the signal were one block of `speech_s`; None below -70 LUFS."""
        power = float(self._energies_of(self._loudness).sum()) * self._channels / max(1.0, speech_s * self.rate_hz)
        level = decibels(power)
        return None if level is None or level - 0.691 < GATE_LUFS else level - 0.691

    def rms_db(self) -> float | None:
        return decibels(float(_joined(self._plain).sum()) / max(1, self.samples))

    def speech_db(self) -> float | None:
        """Active-speech level; None if no frame lies above -70 dB. Needs `speech=True`."""
        power = self._energies_of(self._speech) / self._frame
        active = power[power > 1e-7]
        while len(active):
            kept = active[active > active.mean() / 10 ** (SPEECH_MARGIN_DB / 10)]
            if len(kept) == len(active):
                return decibels(float(active.mean()))
            active = kept
        return None

    def noise_floor_db(self) -> float | None:
        """RMS of the quietest half second; of everything if there is less."""
        energies = _joined(self._plain)[: max(1, self.samples // self._frame)]
        window = min(len(energies), FRAMES_PER_S // 2)
        if window == 0:
            return None
        quietest = float(np.convolve(energies, np.ones(window), "valid").min())
        return decibels(max(0.0, quietest) / (window * self._frame))

    def limited(self, gain_db: float, limit_dbtp: float, release_db_per_s: float) -> Meter:
        """What this meter would show, nearly, after a gain and a limiter that turns each frame down by its excess."""
        frame_db = release_db_per_s / FRAMES_PER_S
        peaks_db = 20 * np.log10(np.maximum(_joined(self._peaks), 1e-9))
        ramp = frame_db * np.arange(len(peaks_db))
        over = np.minimum(0.0, limit_dbtp - gain_db - peaks_db)
        turned_db = np.minimum(0.0, np.minimum.accumulate(over - ramp) + ramp)
        power = 10 ** ((gain_db + turned_db) / 10)
        other = copy(self)
        other._plain = [_joined(self._plain) * power]
        other._loudness = self._loudness and self._loudness.scaled(power)
        other._speech = self._speech and self._speech.scaled(power)
        return other

    def true_peak_dbtp(self) -> float | None:
        return 20 * math.log10(self._true_peak) if self._true_peak > 0 else None

    def waveform(self, slices: int = 160) -> tuple[int, ...]:
        """Peak per slice, 0..100 of full scale."""
        peaks = _joined(self._peaks)
        if len(peaks) == 0:
            return ()
        starts = np.linspace(0, len(peaks), min(slices, len(peaks)), endpoint=False).astype(int)
        return tuple(int(peak) for peak in np.clip(np.rint(np.maximum.reduceat(peaks, starts) * 100), 0, 100))


def together(meters: Sequence[Meter]) -> Meter:
    """One finished meter for the finished meters of a file's channels.

    Loudness adds up over channels (BS.1770-4, weight 1), RMS and noise floor are their mean power, peaks the highest.
    """
    whole = copy(meters[0])
    whole._plain = [np.mean([_joined(meter._plain) for meter in meters], axis=0)]
    whole._peaks = [np.max([_joined(meter._peaks) for meter in meters], axis=0).astype(np.float32)]
    for name in ("_loudness", "_speech"):
        if (filtered := getattr(whole, name)) is not None:
            combine = np.sum if name == "_loudness" else np.mean
            other = copy(filtered)
            other.energies = [combine([_joined(getattr(meter, name).energies) for meter in meters], axis=0)]
            setattr(whole, name, other)
    whole._true_peak = max(meter._true_peak for meter in meters)
    return whole


def _energies(samples: NDArray[np.float64], frame: int) -> NDArray[np.float64]:
    frames = samples.reshape(-1, frame)
    energies: NDArray[np.float64] = np.einsum("ij,ij->i", frames, frames)
    return energies


def _joined(parts: list[NDArray[np.float64]] | list[Block]) -> NDArray[np.float64]:
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _grouped(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    whole = len(values) // size * size
    grouped: NDArray[np.float64] = values[:whole].reshape(-1, size).sum(axis=1)
    return grouped
