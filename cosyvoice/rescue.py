"""When a number is not finite: the same network in fp32 on its device, then in fp32 on the CPU.

Nothing here is loaded before it is needed, and what was needed is noted: an engine that lives on rescues is a
misconfigured one, and the report must show it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from cosyvoice.config import ModelConfig
from cosyvoice.flow import Flow, FlowRequest
from cosyvoice.lm_request import LmRequest, LmResult
from cosyvoice.model_folder import ModelFiles
from cosyvoice.precision import choose_precision
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.weights import read_checkpoint

log = logging.getLogger(__name__)

_ONE_SLOT_TOKENS = 8_192
_Network = TypeVar("_Network")


@dataclass(frozen=True, slots=True)
class Now:
    """Where a network is and what it computes in."""

    device: torch.device
    dtype: torch.dtype


@dataclass(slots=True)
class Rescue:
    """Safer versions of a model's networks, from the least change to the largest."""

    files: ModelFiles
    config: ModelConfig
    lm_now: Now
    flow_now: Now
    counts: dict[str, int] = field(default_factory=dict)
    """How often which step helped, for the engine's description."""
    _flows: dict[torch.device, Flow] = field(default_factory=dict)
    _lms: dict[torch.device, SpeechLm] = field(default_factory=dict)

    def ids(self, request: LmRequest) -> LmResult | None:
        """Speech ids from the first language model that gives finite scores; None if none does."""
        for device in _steps(self.lm_now):
            lm = self._lm(device)
            result = next(entry for entry in lm.generate(iter([request])) if entry is not None)
            if result.fault is None:
                self._note(f"language model in fp32 on {device}")
                return result
        return None

    def mel(self, request: FlowRequest) -> Tensor | None:
        """A mel [80, M] from the first flow that gives a finite one; None if none does."""
        for device in _steps(self.flow_now):
            mel = self._flow(device).mel([request])[0]
            if bool(torch.isfinite(mel).all()):
                self._note(f"flow in fp32 on {device}")
                return mel.to(self.flow_now.device)
        return None

    def _lm(self, device: torch.device) -> SpeechLm:
        return _once(
            self._lms,
            device,
            lambda: SpeechLm(
                self.config.lm,
                read_checkpoint(self.files.llm),
                precision=choose_precision(device, "fp32"),
                device=device,
                slots=1,
                token_budget=_ONE_SLOT_TOKENS * 4,
                name="llm.pt",
            ),
        )

    def _flow(self, device: torch.device) -> Flow:
        return _once(
            self._flows, device, lambda: Flow.build(self.config.flow, read_checkpoint(self.files.flow), device)
        )

    def _note(self, step: str) -> None:
        if step not in self.counts:
            log.warning("numbers that are not finite: the %s takes over for such utterances", step)
        self.counts[step] = self.counts.get(step, 0) + 1


def _steps(now: Now) -> list[torch.device]:
    steps = [] if now.dtype == torch.float32 else [now.device]
    return steps if now.device.type == "cpu" else [*steps, torch.device("cpu")]


def _once(kept: dict[torch.device, _Network], device: torch.device, make: Callable[[], _Network]) -> _Network:
    if device not in kept:
        kept[device] = make()
    return kept[device]
