"""What the networks hear of a reference audio: resampled signal, 24 kHz log-mel, Whisper log-mel, Kaldi filter bank.

Runs on the host in numpy, in float64 inside, float32 outside. Formulas: torchaudio (windowed-sinc resampling with its
defaults, Kaldi compliance), librosa (Slaney mel scale), openai/whisper and HiFi-GAN (log-mel).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cosyvoice.config import MelConfig

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

_SINC_ZEROS, _SINC_ROLLOFF = 6, 0.99
_OUTPUTS_AT_ONCE = 1 << 16
WHISPER_RATE_HZ = KALDI_RATE_HZ = 16_000
_WHISPER_FFT, _WHISPER_HOP, WHISPER_MELS = 400, 160, 128
_KALDI_WINDOW, _KALDI_HOP, _KALDI_FFT, KALDI_MELS = 400, 160, 512, 80
_KALDI_BOTTOM_HZ, _KALDI_PREEMPHASIS = 20.0, 0.97
_FLOAT32_EPSILON = float(np.finfo(np.float32).eps)


def resample(samples: Floats, from_hz: int, to_hz: int) -> Floats:
    """Resample [N] to [ceil(N * to_hz / from_hz)] with a Hann-windowed sinc of 6 zero crossings, rolled off at 0.99."""
    if from_hz == to_hz:
        return samples
    divisor = np.gcd(from_hz, to_hz)
    down, up = int(from_hz // divisor), int(to_hz // divisor)
    cutoff = min(down, up) * _SINC_ROLLOFF
    reach = int(np.ceil(_SINC_ZEROS * down / cutoff))
    outputs = -(-len(samples) * up // down)
    padded = np.concatenate((np.zeros(reach), samples, np.zeros(reach + down + 1))).astype(np.float64)
    offsets = np.arange(-reach, reach + 2)
    result = np.empty(outputs, dtype=np.float32)
    # Output m lies at input time m * down / up; only `up` different phases of the filter exist. torchaudio rounds
    # j / up to float32, which moves loud samples by 5e-6 and quiet mel bins by more, so it is rounded here as well.
    j = np.arange(min(up, outputs))
    nearest = (j * down // up)[:, None] + offsets
    phases = _sinc_window(
        (nearest / down - (j.astype(np.float32) / np.float32(up))[:, None].astype(np.float64)) * cutoff
    )
    phases *= cutoff / down
    for start in range(0, outputs, _OUTPUTS_AT_ONCE):
        index = np.arange(start, min(start + _OUTPUTS_AT_ONCE, outputs))
        taps = padded[(index * down // up)[:, None] + (offsets + reach)]
        result[index] = np.einsum("nk,nk->n", taps, phases[index % up])
    return result


def reference_mel(samples: Floats, config: MelConfig) -> Floats:
    """Return the log-mel [M, 80] that the flow continues, from a signal [N] at the config's rate."""
    edge = (config.n_fft - config.hop) // 2
    padded = np.pad(samples.astype(np.float64), edge, mode="reflect")
    spectrum = np.fft.rfft(_frames(padded, config.n_fft, config.hop) * _hann(config.window), axis=1)
    magnitude = np.sqrt(spectrum.real**2 + spectrum.imag**2 + 1e-9)
    top_hz = config.top_hz if config.top_hz is not None else config.sample_rate_hz / 2
    bank = _slaney_bank(config.sample_rate_hz, config.n_fft, config.mels, config.bottom_hz, top_hz)
    log_mel: Floats = np.log(np.maximum(magnitude @ bank.T, 1e-5)).astype(np.float32)
    return log_mel


def whisper_log_mel(samples: Floats) -> Floats:
    """Return Whisper's log-mel [128, frames] of a 16 kHz signal [N], without padding to 30 s."""
    padded = np.pad(samples.astype(np.float64), _WHISPER_FFT // 2, mode="reflect")
    frames = _frames(padded, _WHISPER_FFT, _WHISPER_HOP)[:-1]
    spectrum = np.fft.rfft(frames * _hann(_WHISPER_FFT), axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    bank = _slaney_bank(WHISPER_RATE_HZ, _WHISPER_FFT, WHISPER_MELS, 0.0, WHISPER_RATE_HZ / 2)
    decades = np.log10(np.maximum(power @ bank.T, 1e-10))
    scaled: Floats = ((np.maximum(decades, decades.max() - 8.0) + 4.0) / 4.0).T.astype(np.float32)
    return scaled


def kaldi_filter_bank(samples: Floats) -> Floats:
    """Return Kaldi's log filter bank [frames, 80] of a 16 kHz signal [N], no dither, its mean over time removed."""
    frames = _frames(samples.astype(np.float64), _KALDI_WINDOW, _KALDI_HOP)
    frames = frames - frames.mean(axis=1, keepdims=True)
    before = np.concatenate((frames[:, :1], frames[:, :-1]), axis=1)
    povey = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_KALDI_WINDOW) / (_KALDI_WINDOW - 1))) ** 0.85
    spectrum = np.fft.rfft((frames - _KALDI_PREEMPHASIS * before) * povey, n=_KALDI_FFT, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    log_energy = np.log(np.maximum(power @ _kaldi_bank().T, _FLOAT32_EPSILON))
    centred: Floats = (log_energy - log_energy.mean(axis=0)).astype(np.float32)
    return centred


def _sinc_window(t: Doubles) -> Doubles:
    """Return sinc(t) under a Hann window that ends at 6 zero crossings."""
    inside = np.clip(t, -_SINC_ZEROS, _SINC_ZEROS)
    windowed: Doubles = np.sinc(inside) * np.cos(inside * np.pi / _SINC_ZEROS / 2) ** 2
    return windowed


def _frames(samples: Doubles, length: int, hop: int) -> Doubles:
    """Return every whole frame, [frames, length], as a view."""
    return np.lib.stride_tricks.sliding_window_view(samples, length)[::hop]


def _hann(length: int) -> Doubles:
    """Return the periodic Hann window."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def _slaney_hz(mel: Doubles) -> Doubles:
    """Slaney's scale: linear below 1000 Hz (15 mel), logarithmic above."""
    return np.where(mel < 15.0, mel * 200.0 / 3.0, 1000.0 * np.exp((mel - 15.0) * np.log(6.4) / 27.0))


def _slaney_mel(hz: float) -> float:
    return hz * 3.0 / 200.0 if hz < 1000.0 else 15.0 + 27.0 * float(np.log(hz / 1000.0) / np.log(6.4))


@cache
def _slaney_bank(rate_hz: int, n_fft: int, mels: int, bottom_hz: float, top_hz: float) -> Doubles:
    """Return triangles of equal area on the Slaney scale, [mels, n_fft / 2 + 1], rounded to float32 as librosa does."""
    bins = np.linspace(0.0, rate_hz / 2, n_fft // 2 + 1)
    edges = _slaney_hz(np.linspace(_slaney_mel(bottom_hz), _slaney_mel(top_hz), mels + 2))
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.maximum(0.0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    scaled: Doubles = (triangles * 2.0 / (right - left)).astype(np.float32).astype(np.float64)
    return scaled


@cache
def _kaldi_bank() -> Doubles:
    """Return triangles on Kaldi's mel scale, [80, 257]; the bin at half the sample rate has no weight."""

    def mel(hz: Doubles | float) -> Doubles:
        return np.asarray(1127.0 * np.log(1.0 + np.asarray(hz) / 700.0))

    edges = np.linspace(mel(_KALDI_BOTTOM_HZ), mel(KALDI_RATE_HZ / 2), KALDI_MELS + 2)
    bins = mel(np.arange(_KALDI_FFT // 2) * KALDI_RATE_HZ / _KALDI_FFT)
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.maximum(0.0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    return np.pad(triangles, ((0, 0), (0, 1)))
