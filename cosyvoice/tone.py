"""An engine that beeps instead of speaking: to try a pipeline, a profile or a schedule without any model.

One beep for each CJK character or word, a rest for each mark, at the pace of speech. The voice sets the pitch, the seed
detunes it a little, so two takes differ and equal takes are equal byte for byte. A few hundred microseconds a sentence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosyvoice.engine import EngineError, Speech, Utterance

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE_RATE_HZ = 24_000
CJK_CHARS_PER_S = 4.5
WORDS_PER_S = 2.8
REST_S = 0.15
GAP_SHARE = 0.25
"""Silent part of a beep's slot."""
RAMP_S = 0.01
AMPLITUDE = 0.25
LOWEST_HZ, SEMITONES = 147.0, 24
DETUNE_SHARE = 0.02
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
UNIT = re.compile(rf"(?P<char>[{CJK}])|(?P<word>[^\W_{CJK}](?:[^\W_{CJK}]|['’\-](?=\w))*)|(?P<rest>[^\w\s])")


def load(*, model_folder: str | None, device: str, precision: str, threads: int) -> ToneEngine:
    """Load the tone engine; it has no model and no use for a folder or for threads.

    Raises EngineError if asked for a device or precision it does not have.
    """
    if device.split(":")[0] not in ("cpu", "auto"):
        raise EngineError(f"the tone engine runs on the CPU only, not on {device!r}; ask for device cpu")
    if precision not in ("fp32", "auto"):
        raise EngineError(f"the tone engine is fp32 only, not {precision!r}; leave the precision at auto")
    return ToneEngine()


class ToneEngine:
    """Beeps; the samples depend on text, voice digest, speed and seed only."""

    @property
    def sample_rate_hz(self) -> int:
        return SAMPLE_RATE_HZ

    @property
    def description(self) -> dict[str, str]:
        return {"engine": "tone", "model": "none", "precision": "fp32", "device": "cpu", "numpy": np.__version__}

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """See `engine.Engine.speak`."""
        for utterance in utterances:
            if utterance is not None:
                yield self._beep(utterance)

    def _beep(self, utterance: Utterance) -> Speech:
        kinds = [match.lastgroup for match in UNIT.finditer(utterance.text)]
        if not any(kind in ("char", "word") for kind in kinds):
            message = "nothing in this text can be spoken; give it words, or leave the row out"
            return Speech(utterance.id, np.zeros(0, np.float32), SAMPLE_RATE_HZ, error=message)
        detune = np.random.default_rng(utterance.seed).uniform(-DETUNE_SHARE, DETUNE_SHARE)
        pitch_hz = pitch_of(utterance.voice.digest) * (1.0 + detune)
        beeps = {
            "char": beep(pitch_hz, 1.0 / (CJK_CHARS_PER_S * utterance.speed)),
            "word": beep(pitch_hz, 1.0 / (WORDS_PER_S * utterance.speed)),
            "rest": np.zeros(round(REST_S / utterance.speed * SAMPLE_RATE_HZ), np.float32),
        }
        samples = np.concatenate([beeps[kind] for kind in kinds if kind is not None])
        return Speech(utterance.id, samples, SAMPLE_RATE_HZ)


@lru_cache(maxsize=256)
def pitch_of(digest: str) -> float:
    """Pitch in Hz of a voice: a semitone of two octaves chosen by its digest."""
    number = int.from_bytes(hashlib.blake2s(digest.encode()).digest()[:4], "big")
    return float(LOWEST_HZ * 2.0 ** ((number % SEMITONES) / 12.0))


def beep(pitch_hz: float, slot_s: float) -> NDArray[np.float32]:
    """One beep with soft edges, followed by a gap; [N] samples that fill `slot_s`."""
    slot = np.zeros(round(slot_s * SAMPLE_RATE_HZ), np.float32)
    sounding = len(slot) - round(len(slot) * GAP_SHARE)
    seconds = np.arange(sounding, dtype=np.float32) / np.float32(SAMPLE_RATE_HZ)
    edge = np.minimum(seconds, seconds[::-1]) / np.float32(RAMP_S)
    slot[:sounding] = AMPLITUDE * np.minimum(edge, 1.0) * np.sin(np.float32(2.0 * np.pi * pitch_hz) * seconds)
    return slot
