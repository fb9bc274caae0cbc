"""Speech ids to samples for many utterances: flow and vocoder in batches that fit the device.

Knows no language model; a batch too large for the memory is halved, and numbers that are not finite are rescued.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosyvoice.batches import buckets
from cosyvoice.engine import Utterance
from cosyvoice.flow import Flow, FlowRequest, change_speed
from cosyvoice.placement import is_out_of_memory
from cosyvoice.rescue import Rescue
from cosyvoice.vocoder import Vocoder
from cosyvoice.voice import VoicePrompt

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An utterance whose speech ids are there."""

    utterance: Utterance
    prompt: VoicePrompt
    ids: tuple[int, ...]
    flags: tuple[str, ...] = field(default=())

    def request(self) -> FlowRequest:
        """The flow's input."""
        return FlowRequest(
            tokens=torch.tensor(self.ids, dtype=torch.int64),
            prompt_tokens=torch.tensor(self.prompt.speech_ids, dtype=torch.int64),
            prompt_mel=self.prompt.mel,
            embedding=self.prompt.embedding,
        )


@dataclass(frozen=True, slots=True)
class Sound:
    """The samples [N] of one utterance, or why there are none."""

    spoken: Spoken
    samples: NDArray[np.float32] | None
    error: str | None = None


class Sounding:
    """Flow and vocoder of one model, both on its device unless one of them was moved to the CPU."""

    def __init__(self, *, flow: Flow, vocoder: Vocoder, rescue: Rescue, frames_per_id: int, most_frames: int) -> None:
        """`most_frames`: padded mel frames of one flow batch, reference included."""
        self.flow, self.vocoder, self.rescue = flow, vocoder, rescue
        self._frames_per_id = frames_per_id
        self.most_frames = most_frames
        self.flow_s = self.vocoder_s = 0.0
        self.notes: list[str] = []

    def weights(self, device: torch.device) -> Iterator[Tensor]:
        """The tensors of the networks that were built on a device, and so must lie there."""
        flow = (self.flow.front, self.flow.estimator) if self.flow.device == device else ()
        vocoder = (self.vocoder.net,) if self.vocoder.device == device else ()
        for module in (*flow, *vocoder):
            yield from module.parameters()

    def frames(self, spoken: Sequence[Spoken]) -> int:
        """Mel frames that the flow works on for these utterances."""
        return sum(self._frames_per_id * (len(entry.ids) + len(entry.prompt.speech_ids)) for entry in spoken)

    def sound(self, spoken: Sequence[Spoken]) -> Iterator[Sound]:
        """All of them, longest first."""
        queue = list(spoken)
        while queue:
            lengths = [self.frames([entry]) for entry in queue]
            group = set(buckets(lengths, self.most_frames)[0])
            batch = [entry for index, entry in enumerate(queue) if index in group]
            try:
                sounds = self._batch(batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) > 1:
                    self._make_do()
                    continue
                sounds = [Sound(batch[0], None, f"out of memory for {self.frames(batch)} mel frames alone: {error}")]
            yield from sounds
            queue = [entry for index, entry in enumerate(queue) if index not in group]

    def _make_do(self) -> None:
        self.most_frames = max(1, self.most_frames // 2)
        self.notes.append(f"out of memory: flow batches are limited to {self.most_frames} frames")
        log.warning("%s", self.notes[-1])

    def _batch(self, batch: list[Spoken]) -> list[Sound]:
        start = perf_counter()
        mels = self.flow.mel([entry.request() for entry in batch])
        mels = [self._finite(mel, entry) for mel, entry in zip(mels, batch, strict=True)]
        mels = [change_speed(mel, entry.utterance.speed) for mel, entry in zip(mels, batch, strict=True)]
        between = perf_counter()
        waves = self.vocoder.waveform(mels, [entry.utterance.seed for entry in batch])
        sounds = [
            Sound(entry, wave.cpu().numpy().astype(np.float32, copy=False))
            for entry, wave in zip(batch, waves, strict=True)
        ]
        self.flow_s += between - start
        self.vocoder_s += perf_counter() - between
        return sounds

    def _finite(self, mel: Tensor, entry: Spoken) -> Tensor:
        """The mel, or one from a safer flow; what stays not finite is found by the take's checks."""
        if bool(torch.isfinite(mel).all()):
            return mel
        rescued = self.rescue.mel(entry.request())
        return mel if rescued is None else rescued
