"""An engine that computes tones with torch on the device it was given, several at once: `torch_engine_for_tests:FACTS`.

Small stand-in for a model in tests of devices: it has weights, batches, a device's memory to run out of, and answers
that do not depend on batch, device or number of devices.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosyvoice.catalog import TONE
from cosyvoice.engine import DeviceFault, Speech, Utterance
from cosyvoice.tone import SAMPLE_RATE_HZ, UNIT, pitch_of

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)

FACTS = replace(
    TONE, title="test engine: tones by torch", factory="torch_engine_for_tests:load", accelerates=True,
    memory_bytes=2**20, revision="torch",
)  # fmt: skip
UNIT_S = 0.3
BATCH = 4


class TorchTones:
    """A phase table as weights; each utterance is a row of a batch."""

    appetite = 2 * BATCH
    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(self, device: str, threads: int) -> None:
        import torch

        from cosyvoice.placement import Placement, open_device

        torch.set_num_threads(threads)
        self._torch = torch
        self._device = open_device(device)
        placement = Placement(self._device)
        self._ramp = torch.arange(16 * SAMPLE_RATE_HZ, dtype=torch.float32).to(self._device)
        self._batch = BATCH
        self.description = {"model": "tones", "device": device, "placement": placement.prove([self._ramp])}

    @property
    def device_memory_bytes(self) -> int | None:
        from cosyvoice.placement import held_bytes

        return held_bytes(self._device)

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        waiting: list[Utterance] = []
        for utterance in utterances:
            if utterance is not None:
                waiting.append(utterance)
            while len(waiting) >= self._batch or (waiting and utterance is None):
                yield from self._speak_some(waiting)
        while waiting:
            yield from self._speak_some(waiting)

    def _speak_some(self, waiting: list[Utterance]) -> Iterator[Speech]:
        """The next batch; half of it if the device has no room for it, and never more again."""
        from cosyvoice.placement import is_device_lost, is_out_of_memory

        batch = waiting[: self._batch]
        if any("deadly" in utterance.text for utterance in batch):
            raise DeviceFault("the device is lost: simulated error 507015")
        try:
            rows = self._compute(batch)
        except Exception as error:
            if is_out_of_memory(error) and len(batch) > 1:
                self._batch = len(batch) // 2
                log.warning("%s has no room for %d utterances: %d from now on", self._device, len(batch), self._batch)
                return
            if is_out_of_memory(error) or is_device_lost(error) or isinstance(error, NotImplementedError):
                raise DeviceFault(str(error)) from error
            raise
        del waiting[: len(batch)]
        for utterance, samples in zip(batch, rows, strict=True):
            yield Speech(utterance.id, samples, SAMPLE_RATE_HZ)

    def _compute(self, batch: list[Utterance]) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
        torch = self._torch
        seconds = [UNIT_S * len(UNIT.findall(utterance.text)) / utterance.speed for utterance in batch]
        lengths = [round(s * SAMPLE_RATE_HZ) for s in seconds]
        pitches = torch.tensor([[pitch_of(u.voice.digest) * (1.0 + u.seed % 97 / 5000)] for u in batch])
        ramp = self._ramp[: max(lengths)]
        with torch.inference_mode():
            phase = pitches.to(self._device) * ramp * (2.0 * np.pi / SAMPLE_RATE_HZ)
            envelope = 0.5 - 0.5 * torch.cos(ramp * (2.0 * np.pi / (UNIT_S * SAMPLE_RATE_HZ)))
            waves = (0.3 * torch.sin(phase) * envelope).cpu().numpy()
        return [wave[:length].copy() for wave, length in zip(waves, lengths, strict=True)]


def load(
    *, model_folder: str | None, device: str, precision: str, threads: int, cpu_fallback: bool = True
) -> TorchTones:
    return TorchTones(device, threads)
