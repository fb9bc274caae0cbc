"""Whether a reference audio stops on its last word, and the silence that mends it.

A model that hears a voice break off in the middle of a sound goes on with that sound: the last syllables of the
reference come out before the text. The linter and the voice reader share this rule: what is told is
what is done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LISTENED_S = 0.12
"""The end that has to be quiet."""
PAD_S = 0.2
"""Silence put after a hot end: five speech ids."""
FRAME_S = 0.01
_QUIET_BELOW_SPEECH_DB = 26.0
_OVER_NOISE_DB = 8.0
_FADE_S = 0.005


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reference ends."""

    below_speech_db: float
    """How far its loudest 10 ms lie below the level of the speech (the loudest twentieth of the recording)."""
    missing_silence_s: float
    """Silence that it needs: 0 or PAD_S."""


def ending_of(samples: NDArray[np.float32], rate_hz: int) -> Ending:
    """Judge the last LISTENED_S of a mono recording [N]; noise, or a sound that never changes, is no speech."""
    levels = frame_levels_db(samples, rate_hz)
    if levels.size == 0:
        return Ending(0.0, 0.0)
    speech, noise = (float(level) for level in np.percentile(levels, [95, 5]))
    end = float(levels[-round(LISTENED_S / FRAME_S) :].max())
    allowed = max(speech - _QUIET_BELOW_SPEECH_DB, noise + _OVER_NOISE_DB)
    return Ending(speech - end, PAD_S if end > allowed else 0.0)


def with_quiet_end(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """Return [N] as it is, or with its last 5 ms faded out and silence after them."""
    silence = round(ending_of(samples, rate_hz).missing_silence_s * rate_hz)
    if silence == 0:
        return samples
    fade = min(len(samples), max(1, round(_FADE_S * rate_hz)))
    padded = np.concatenate((samples, np.zeros(silence, dtype=np.float32)))
    padded[len(samples) - fade : len(samples)] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return padded


def frame_levels_db(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float64]:
    """Return the level of each whole 10 ms of [N], counted from the end, in dB of full scale; -120 for silence."""
    size = max(1, round(FRAME_S * rate_hz))
    count = len(samples) // size
    if count == 0:
        return np.zeros(0)
    # Counted back from the end, so that no rest of a frame hides what the very last samples are.
    framed = samples[len(samples) - count * size :].astype(np.float64).reshape(count, size)
    return np.asarray(10.0 * np.log10(np.maximum(np.mean(framed * framed, axis=1), 1e-12)))
