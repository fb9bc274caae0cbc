"""The self-test of each stage: what passes for rounding, what does not, and what is kept of the CPU's numbers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.config import ModelConfig
from cosyvoice.engine import EngineError
from cosyvoice.expected_numbers import expected_numbers
from cosyvoice.flow import Flow
from cosyvoice.lm_network import LmNetwork
from cosyvoice.model_folder import Generation, find_files
from cosyvoice.precision import Precision
from cosyvoice.read_config import read_config
from cosyvoice.self_test import (
    TOLERANCES,
    VOCODER_TOLERANCES,
    fault_of,
    flow_numbers,
    lm_numbers,
    vocoder_numbers,
)
from cosyvoice.vocoder import Vocoder
from cosyvoice.weights import read_checkpoint

CPU = torch.device("cpu")
HALF = TOLERANCES[torch.bfloat16]
State = dict[str, Tensor]


@pytest.fixture(scope="module", params=[2, 3])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelConfig, Path]:
    generation: Generation = request.param
    folder = make_checkpoint(tmp_path_factory.mktemp(f"model{generation}"), generation, "tiny")
    return read_config(find_files(folder)), folder


def lm(model: tuple[ModelConfig, Path], state: State, dtype: torch.dtype = torch.float32) -> LmNetwork:
    return LmNetwork(model[0].lm, state, precision=Precision(dtype, dtype), device=CPU, name="llm.pt")


def changed(state: State, ending: str, change: Callable[[Tensor], Tensor]) -> State:
    """The state with the first tensor of that name changed."""
    name = next(name for name in state if name.endswith(ending))
    return {**state, name: change(state[name])}


def shuffled(weight: Tensor) -> Tensor:
    return weight.roll(1, 0)


def test_the_language_model_passes_in_half_precision_and_fails_with_other_weights(
    model: tuple[ModelConfig, Path],
) -> None:
    state = read_checkpoint(model[1] / "llm.pt")
    expected = lm_numbers(lm(model, state))
    assert len(set(expected["draws"].tolist())) > 5, "the draws depend on the scores"
    for dtype in (torch.bfloat16, torch.float16):
        error, fault = fault_of(expected, lm_numbers(lm(model, state, dtype), expected), TOLERANCES[dtype])
        assert 0 < error < TOLERANCES[dtype] / 5 and not fault
    for ending, change in (
        ("layers.1.self_attn.o_proj.weight", shuffled),
        ("layers.2.mlp.down_proj.weight", lambda weight: 1.5 * weight),
        ("llm_decoder.weight", lambda weight: 1.25 * weight),
    ):
        error, fault = fault_of(expected, lm_numbers(lm(model, changed(state, ending, change)), expected), HALF)
        assert error > HALF and "other numbers than the CPU" in fault, ending
    broken = lm(model, changed(state, "layers.0.mlp.up_proj.weight", lambda weight: weight * float("nan")))
    assert "not finite" in fault_of(expected, lm_numbers(broken, expected), HALF)[1]


def test_a_device_that_draws_other_ids_from_the_same_scores_fails(
    model: tuple[ModelConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault is injected into torch's own running sums of probabilities."""
    network = lm(model, read_checkpoint(model[1] / "llm.pt"))
    expected, cumsum = lm_numbers(network), Tensor.cumsum

    def backwards(self: Tensor, *words: Any, **more: Any) -> Tensor:
        return cumsum(self.flip(-1) if self.is_floating_point() else self, *words, **more)

    assert fault_of(expected, lm_numbers(network, expected), 0.05) == (0.0, "")
    monkeypatch.setattr(Tensor, "cumsum", backwards)
    assert "draws other speech ids" in fault_of(expected, lm_numbers(network, expected), 0.05)[1]


def test_the_flow_passes_in_half_precision_and_padded_and_fails_with_other_weights(
    model: tuple[ModelConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = read_checkpoint(model[1] / "flow.pt")
    flow = Flow.build(model[0].flow, state, CPU)
    expected = flow_numbers(flow)
    for dtype in (torch.bfloat16, torch.float16):
        error, fault = fault_of(expected, flow_numbers(Flow.build(model[0].flow, state, CPU, dtype)), TOLERANCES[dtype])
        assert 0 < error < TOLERANCES[dtype] / 5 and not fault
    monkeypatch.setattr(flow, "mel", flow.mel_padded)  # as a device takes them: in one batch
    error, fault = fault_of(expected, flow_numbers(flow), TOLERANCES[torch.float32])
    assert error < 1e-4 and not fault
    ending = "proj_out.weight" if model[0].generation == 3 else "final_proj.weight"
    for change in (shuffled, lambda weight: 1.5 * weight):
        error, fault = fault_of(
            expected, flow_numbers(Flow.build(model[0].flow, changed(state, ending, change), CPU)), HALF
        )
        assert error > HALF and "other numbers" in fault


def test_the_vocoder_passes_padded_and_fails_with_other_weights(
    model: tuple[ModelConfig, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = read_checkpoint(model[1] / "hift.pt")
    vocoder = Vocoder.build(model[0].vocoder, state, CPU)
    expected, tolerance = vocoder_numbers(vocoder), VOCODER_TOLERANCES[torch.float32]
    assert fault_of(expected, vocoder_numbers(vocoder), tolerance) == (0.0, "")
    for ending, change in (
        ("conv_pre.parametrizations.weight.original1", shuffled),
        ("f0_predictor.classifier.weight", lambda weight: 1.5 * weight),
        ("m_source.l_linear.weight", lambda weight: -weight),
    ):
        other = Vocoder.build(model[0].vocoder, changed(state, ending, change), CPU)
        error, fault = fault_of(expected, vocoder_numbers(other), tolerance)
        assert error > tolerance and "other numbers" in fault, ending


def test_results_of_another_shape_are_no_rounding() -> None:
    wanted = {"mel 1": torch.zeros(80, 10)}
    assert "shape" in fault_of(wanted, {"mel 1": torch.zeros(80, 9)}, 1.0)[1]


def test_the_cpus_numbers_are_kept_and_made_anew_when_damaged_or_of_another_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint, folder, calls = tmp_path / "flow.pt", tmp_path / "cache", [0]
    checkpoint.write_bytes(bytes(range(256)) * 4096)

    def compute() -> State:
        calls[0] += 1
        return {"mel": torch.full((2, 3), float(calls[0])), "ids": torch.arange(4)}

    def made(config: object = "settings") -> float:
        return float(expected_numbers("flow", checkpoint, config, compute, folder)["mel"][0, 0])

    assert [made(), made(), made("other settings"), made()] == [1, 1, 2, 1]
    kept = sorted(folder.glob("*.npz"))
    assert len(kept) == 2 and not list(folder.glob("*.tmp"))
    for path in kept:
        path.write_bytes(path.read_bytes()[:-200])
    with caplog.at_level(logging.WARNING):
        assert made() == 3 and "damaged" in caplog.text
    assert made() == 3
    content = bytearray(checkpoint.read_bytes())
    content[100] ^= 1
    checkpoint.write_bytes(content)
    os.utime(kept[0], (0, 0))
    assert made() == 4, "another checkpoint of the same size"
    assert not kept[0].exists() and kept[1].exists(), "what is old is forgotten when something new is kept"
    caplog.clear()
    (tmp_path / "file").write_text("no folder")
    for _ in range(2):
        assert expected_numbers("flow", checkpoint, "", compute, tmp_path / "file")["ids"].tolist() == [0, 1, 2, 3]
    assert calls == [6] and "computes for itself" in caplog.text and "cannot be kept" in caplog.text


def test_a_checkpoint_that_is_not_finite_on_the_cpu_is_not_blamed_on_the_device(tmp_path: Path) -> None:
    checkpoint = tmp_path / "hift.pt"
    checkpoint.write_bytes(b"x")
    with pytest.raises(EngineError, match=r"hift\.pt.*models verify"):
        expected_numbers("vocoder", checkpoint, "", lambda: {"wave": torch.tensor([float("nan")])}, tmp_path)
    assert not list(tmp_path.glob("*.npz"))
