"""A speaker encoder in CAM++'s place: a real ONNX file with its face that tells a few voices apart by their spectrum.

It takes how much each of the 80 bands moves, in log, the change from band to band (which level and equalisation leave
alone), less what the known voices have in common. No learned weights: enough to try what is built around an encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.model_parts import _model, _node, _tensor, _value
from cosyvoice.features import KALDI_RATE_HZ, kaldi_filter_bank, resample

BANDS, WIDTH = 80, 192


def write_encoder(path: Path, voices: Iterable[tuple[NDArray[np.float32], int]]) -> Path:
    """Write the file; `voices` are mono samples [N] with their rate, one or more of each voice."""
    slopes = [_slope(samples, rate_hz) for samples, rate_hz in voices]
    steps = np.zeros((BANDS, WIDTH), np.float32)
    steps[:, : BANDS - 1] = np.eye(BANDS, BANDS - 1, k=-1) - np.eye(BANDS, BANDS - 1)
    common = np.zeros(WIDTH, np.float32)
    common[: BANDS - 1] = np.mean(slopes, axis=0)
    nodes = [
        _node("Abs", ["input"], ["size"]),
        _node("ReduceMean", ["size"], ["mean"], axes=[1], keepdims=0),
        _node("Log", ["mean"], ["level"]),
        _node("MatMul", ["level", "steps"], ["slope"]),
        _node("Sub", ["slope", "common"], ["output"]),
    ]
    constants = [_tensor("steps", steps), _tensor("common", common)]
    inputs, outputs = [_value("input", 1, (1, "T", BANDS))], [_value("output", 1, (1, WIDTH))]
    path.write_bytes(_model(nodes, constants, inputs, outputs))
    return path


def _slope(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float64]:
    bank = kaldi_filter_bank(resample(samples, rate_hz, KALDI_RATE_HZ)).astype(np.float64)
    return np.diff(np.log(np.abs(bank).mean(axis=0)))
