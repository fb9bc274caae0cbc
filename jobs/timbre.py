"""Whether a take sounds like its voice: its speaker embedding against that of the voice's own reference.

The comparison knows nothing of other takes, so it comes out the same in any order and company; `checks.timbre_steps`
compares the segments of an item once all of them are there.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cosyvoice.engine import Voice
from cosyvoice.reference_file import BadReference, decode, read_bytes
from cosyvoice.timbre import SpeakerEncoder, likeness
from jobs.listener import LEAST_SPEECH_S
from jobs.take_checks import speech_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_S = 6.0
"""Of a longer take the middle is compared: more of it costs time and tells nothing new."""
VOICES_KEPT = 256


class VoiceJudge:
    """Compares takes with the references of their voices; each reference is read and embedded once."""

    def __init__(self, encoder: Path, stored_speakers: Path | None, threads: int) -> None:
        """Raises ModelMissing where the encoder cannot be loaded."""
        self._encoder = SpeakerEncoder(encoder, threads)
        self._stored_speakers = stored_speakers
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def likeness(self, samples: NDArray[np.float32], rate_hz: int, voice: Voice) -> float | None:
        """Cosine between a mono take [N] and its voice's reference; None for a take with too little speech.

        Raises BadReference, ModelMissing.
        """
        if speech_seconds(samples, rate_hz) < LEAST_SPEECH_S:
            return None
        extra = max(0, len(samples) - round(MOST_S * rate_hz)) // 2
        take = self._encoder.embed(samples[extra : len(samples) - extra], rate_hz)
        return round(likeness(take, self._reference(voice)), 3)

    def _reference(self, voice: Voice) -> NDArray[np.float32]:
        if voice.digest in self._known:
            self._known.move_to_end(voice.digest)
        else:
            self._known[voice.digest] = self._embedded(voice)
            if len(self._known) > VOICES_KEPT:
                self._known.popitem(last=False)
        return self._known[voice.digest]

    def _embedded(self, voice: Voice) -> NDArray[np.float32]:
        if voice.audio is not None:
            path = Path(voice.audio)
            return self._encoder.embed(*decode(path, read_bytes(path)))
        # Speakers of the model folder carry their embedding; only here is torch needed to read it.
        from cosyvoice.voice import read_stored_speakers, stored_embedding

        speakers = read_stored_speakers(self._stored_speakers)
        if voice.speaker is None or voice.speaker not in speakers:
            raise BadReference(f"the voice {voice.name!r} has neither reference audio nor a stored speaker")
        embedding: NDArray[np.float32] = stored_embedding(voice.speaker, speakers[voice.speaker]).numpy()
        return embedding
