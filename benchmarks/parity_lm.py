"""Our speech language model and its sampling against the reference's numbers, on small random models.

    python benchmarks/parity_lm.py FOLDER

FOLDER holds v2_llm.safetensors, v2_llm.json, v2_llm_case*.npz, the same for v3, ras.npz and silent_tokens.json.
Everything runs in fp32.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cosyvoice.config import LmConfig, QwenConfig, SamplingConfig
from cosyvoice.lm_request import LmRequest, greedy, length_limits
from cosyvoice.model_folder import Generation
from cosyvoice.precision import choose_precision
from cosyvoice.sampling import drop_long_silences, is_repeat, nucleus, without
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.weights import read_checkpoint

Row = tuple[str, float, float]
GENERATIONS: tuple[Generation, ...] = (2, 3)
_SCORES, _PROBABILITY = 1e-4, 2e-6


def check(data: Path) -> list[Row]:
    """(what, largest absolute difference or number of differing ids, tolerance) for everything in the folder."""
    rows = [*check_sampling(data), *check_silences(data)]
    for generation in GENERATIONS:
        for path in sorted(data.glob(f"v{generation}_llm_case*.npz")):
            rows += _check_case(data, generation, path)
        rows += _check_greedy(data, generation)
    return rows


def read_small_config(data: Path, generation: Generation) -> LmConfig:
    values = json.loads((data / f"v{generation}_llm.json").read_text(encoding="utf-8"))
    qwen = values["qwen_config"]
    return LmConfig(
        generation=generation,
        qwen=QwenConfig(
            width=qwen["hidden_size"],
            layers=qwen["num_hidden_layers"],
            heads=qwen["num_attention_heads"],
            kv_heads=qwen["num_key_value_heads"],
            feed_forward=qwen["intermediate_size"],
            text_vocabulary=qwen["vocab_size"],
            rope_theta=qwen["rope_theta"],
            norm_eps=qwen["rms_norm_eps"],
        ),
        speech_vocabulary=values["speech_token_size"],
    )


def load_lm(
    data: Path, config: LmConfig, *, precision: str = "fp32", slots: int = 4, token_budget: int = 65_536
) -> SpeechLm:
    """The small random language model with these settings, on the CPU."""
    device = torch.device("cpu")
    return SpeechLm(
        config,
        read_checkpoint(data / f"v{config.generation}_llm.safetensors"),
        precision=choose_precision(device, precision),
        device=device,
        slots=slots,
        token_budget=token_budget,
    )


def load_request(path: Path) -> LmRequest:
    """The request that a case file was made from; its id is the file's stem."""
    case = np.load(path)
    text, prompt_text, speech = (
        tuple(int(token) for token in case[key]) for key in ("text", "prompt_text", "prompt_speech_token")
    )
    return LmRequest(path.stem, text, prompt_text, speech)


def final_distribution(logits: Tensor, recent: Tensor, config: SamplingConfig) -> Tensor:
    """The exact distribution [B, V] of the id that `draw` returns, summed over both of its draws."""
    ids, probabilities = nucleus(logits, config)
    repeated = is_repeat(ids, recent, config)
    result = torch.zeros_like(logits).scatter_add(1, ids, probabilities.masked_fill(repeated, 0.0))
    for column in range(ids.shape[1]):
        weight = (probabilities * repeated)[:, column : column + 1]
        result += torch.where(weight > 0, weight * without(logits, ids[:, column]), 0.0)
    return result


def sampling_row(ras: dict[str, np.ndarray], row: int) -> tuple[Tensor, Tensor, SamplingConfig]:
    """Scores [1, V], recent ids [1, window] and settings of one row of ras.npz."""
    config = SamplingConfig(float(ras["top_p"]), int(ras["top_k"]), int(ras["win_size"]), float(ras["tau_r"]))
    history = [int(token) for token in ras["history"][row] if token >= 0]
    last = history[-config.window :]
    recent = [-1] * (config.window - len(last)) + last
    return torch.from_numpy(ras["logp"][row : row + 1, : ras["V"][row]]), torch.tensor([recent]), config


def _check_case(data: Path, generation: Generation, path: Path) -> Iterator[Row]:
    lm, case, request = load_lm(data, read_small_config(data, generation)), np.load(path), load_request(path)
    hidden, scores = lm.network.score(request, [int(token) for token in case["forced_tokens"]])
    limits = length_limits(len(request.text_ids), lm.config)
    yield f"{path.stem} input", _distance(lm.network.embed(request), case["lm_input"]), 1e-6
    yield f"{path.stem} hidden", _distance(hidden, case["prefill_hidden"]), _SCORES
    yield f"{path.stem} prefill scores", _distance(lm.network.logits(hidden), case["prefill_logits"]), _SCORES
    yield f"{path.stem} step scores", _distance(scores, case["step_logits"]), _SCORES
    yield f"{path.stem} length limits", float(limits != (int(case["min_len"]), int(case["max_len"]))), 0.0


def _check_greedy(data: Path, generation: Generation) -> Iterator[Row]:
    """All cases at once in one batch, so that prefill, decode and refill are all part of the comparison."""
    lm = load_lm(data, greedy(read_small_config(data, generation)))
    paths = {path.stem: path for path in sorted(data.glob(f"v{generation}_llm_case*.npz"))}
    for result in lm.generate([load_request(path) for path in paths.values()]):
        if result is not None:
            expected = np.load(paths[result.id])["greedy_tokens"].tolist()
            differing = sum(a != b for a, b in zip(result.tokens, expected, strict=False))
            differing += abs(len(result.tokens) - len(expected))
            yield f"{result.id} greedy ids ({len(expected)})", float(differing), 0.0


def check_sampling(data: Path) -> Iterator[Row]:
    ras = dict(np.load(data / "ras.npz"))
    worst, wrong_candidates, wrong_repeats = 0.0, 0, 0
    for row in range(len(ras["V"])):
        logits, recent, config = sampling_row(ras, row)
        ids, probabilities = nucleus(logits, config)
        count = int(ras["n_candidates"][row])
        expected = ras["candidate_ids"][row, :count]
        wrong_candidates += int((probabilities[0] > 0).sum()) != count or ids[0, :count].tolist() != expected.tolist()
        repeats = is_repeat(ids, recent, config)[0, :count].tolist()
        wrong_repeats += repeats != ras["repetition_fires"][row, :count].tolist()
        exact = ras["final_distribution_f32"][row, : ras["V"][row]]
        worst = max(worst, _distance(final_distribution(logits, recent, config)[0], exact))
    yield f"sampling candidates ({len(ras['V'])} rows)", float(wrong_candidates), 0.0
    yield "sampling repeats", float(wrong_repeats), 0.0
    yield "sampling final distribution", worst, _PROBABILITY


def check_silences(data: Path) -> Iterator[Row]:
    cases = json.loads((data / "silent_tokens.json").read_text(encoding="utf-8"))["cases"]
    wrong = 0
    for case in cases:
        tokens = case["tokens_in"]
        kept = list(drop_long_silences(tokens)) if case["version"] == 3 else tokens
        wrong += kept != case["tokens_out"]
    yield f"silent ids ({len(cases)} streams)", float(wrong), 0.0


def _distance(ours: Tensor, reference: np.ndarray) -> float:
    return float(np.abs(ours.numpy() - reference).max())


if __name__ == "__main__":
    from benchmarks.parity import report

    raise SystemExit(report(check(Path(sys.argv[1]))))
