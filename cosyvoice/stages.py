"""The three stages of a model folder: how each is built on a device, and how it is tested there.

The CPU's numbers are computed in fp32 from the same checkpoint, memory-mapped, one stage at a time, and the network is
dropped at once. The whole network is used, not its first layers: an operator that is wrong for one shape or one range
of values would be missed otherwise. Of the text embedding, a quarter of the language model, only the first rows are
taken. What all this costs at full size is written in `docs/devices.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from cosyvoice.config import ModelConfig
from cosyvoice.expected_numbers import cache_folder, expected_numbers
from cosyvoice.flow import Flow
from cosyvoice.lm_network import LmNetwork
from cosyvoice.model_folder import ModelFiles
from cosyvoice.pipeline import Room
from cosyvoice.precision import Precision
from cosyvoice.self_test import (
    TEXT_IDS,
    TOLERANCES,
    VOCODER_TOLERANCES,
    Numbers,
    flow_numbers,
    lm_numbers,
    vocoder_numbers,
)
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.staging import Stage
from cosyvoice.vocoder import Vocoder
from cosyvoice.weights import read_checkpoint

_CPU = torch.device("cpu")
_TEXT_EMBEDDING = "llm.model.model.embed_tokens.weight"


def lm_stage(files: ModelFiles, config: ModelConfig, room_on: Callable[[torch.device], Room]) -> Stage[SpeechLm]:
    def build(device: torch.device, precision: Precision) -> SpeechLm:
        room = room_on(device)
        return SpeechLm(
            config.lm,
            read_checkpoint(files.llm),
            precision=precision,
            device=device,
            slots=room.slots,
            token_budget=room.lm_tokens,
            name="llm.pt",
        )

    return Stage(
        "language model",
        build,
        format=lambda precision: precision.lm,
        numbers=lambda lm, expected: lm_numbers(lm.network, expected),
        expected=lambda: _expected("language model", files.llm, config.lm, lambda: _lm_reference(files, config)),
        tolerances=TOLERANCES,
    )


def flow_stage(files: ModelFiles, config: ModelConfig) -> Stage[Flow]:
    def build(device: torch.device, precision: Precision) -> Flow:
        return Flow.build(config.flow, read_checkpoint(files.flow), device, precision.flow, int8=precision.flow_int8)

    def reference() -> dict[str, Tensor]:
        return flow_numbers(Flow.build(config.flow, read_checkpoint(files.flow), _CPU))

    return Stage(
        "flow",
        build,
        format=lambda precision: precision.flow,
        numbers=lambda flow, _: flow_numbers(flow),
        expected=lambda: _expected("flow", files.flow, config.flow, reference),
        tolerances=TOLERANCES,
    )


def vocoder_stage(files: ModelFiles, config: ModelConfig) -> Stage[Vocoder]:
    def build(device: torch.device, precision: Precision) -> Vocoder:
        return Vocoder.build(config.vocoder, read_checkpoint(files.hift), device)

    return Stage(
        "vocoder",
        build,
        format=lambda precision: precision.vocoder,
        numbers=lambda vocoder, _: vocoder_numbers(vocoder),
        expected=lambda: _expected(
            "vocoder",
            files.hift,
            config.vocoder,
            lambda: vocoder_numbers(Vocoder.build(config.vocoder, read_checkpoint(files.hift), _CPU)),
        ),
        tolerances=VOCODER_TOLERANCES,
    )


def _lm_reference(files: ModelFiles, config: ModelConfig) -> dict[str, Tensor]:
    state = read_checkpoint(files.llm)
    rows = min(TEXT_IDS, config.lm.qwen.text_vocabulary)
    if _TEXT_EMBEDDING in state:  # where it misses, the network says so
        state[_TEXT_EMBEDDING] = state[_TEXT_EMBEDDING][:rows]
    short = replace(config.lm, qwen=replace(config.lm.qwen, text_vocabulary=rows))
    fp32 = Precision(torch.float32, torch.float32)
    return lm_numbers(LmNetwork(short, state, precision=fp32, device=_CPU, name="llm.pt"))


def _expected(stage: str, checkpoint: Path, config: object, compute: Callable[[], dict[str, Tensor]]) -> Numbers:
    return expected_numbers(stage, checkpoint, config, compute, cache_folder())
