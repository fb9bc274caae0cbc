"""The speech language model: the reference's numbers, and ids that do not depend on company, order or slots."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.parity_lm import GENERATIONS, check, load_lm, load_request, read_small_config
from cosyvoice.config import LmConfig, QwenConfig
from cosyvoice.engine import ModelMissing
from cosyvoice.lm_network import lm_tensor_shapes
from cosyvoice.lm_request import LmRequest, LmResult, greedy, length_limits
from cosyvoice.model_folder import Generation
from cosyvoice.precision import choose_precision
from cosyvoice.sampling import draw, hold_back_stops, uniform_stream
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.weights import read_checkpoint

DATA = Path(__file__).parent / "data" / "parity"
FORMATS = ["fp32"] + (["bf16"] if choose_precision(torch.device("cpu")).lm == torch.bfloat16 else [])


def requests(config: LmConfig, count: int, *, longest: int = 12) -> list[LmRequest]:
    """Prompts of many lengths with their own seeds."""
    rng = random.Random(count)

    def ids(most: int, top: int) -> tuple[int, ...]:
        return tuple(rng.randrange(top) for _ in range(rng.randint(1, most)))

    return [
        LmRequest(
            id=f"u{index}",
            text_ids=ids(longest, 500),
            prompt_text_ids=ids(10, 500) if index % 3 else (),
            prompt_speech_ids=ids(60, config.speech_vocabulary) if index % 3 else (),
            seed=index * 7919,
        )
        for index in range(count)
    ]


def run(lm: SpeechLm, wanted: list[LmRequest]) -> dict[str, LmResult]:
    found = {result.id: result for result in lm.generate(wanted) if result is not None}
    assert len(found) == len(wanted)
    assert lm.live == 0
    return found


def test_every_number_equals_the_references() -> None:
    rows = check(DATA)
    assert len(rows) == 4 + (3 + 2) * (5 + 1)  # Three cases of generation 2, two of generation 3.
    assert [row for row in rows if not row[1] <= row[2]] == []


@pytest.mark.parametrize("generation", GENERATIONS)
def test_full_size_tensors_are_those_of_the_official_file(generation: Generation) -> None:
    qwen = QwenConfig(896, 24, 14, 2, 4864, 151_936, 1e6, 1e-6)
    expected = lm_tensor_shapes(LmConfig(generation, qwen, 6561))
    with (DATA / f"cosyvoice{generation}_llm_shapes.tsv").open(encoding="utf-8") as file:
        official = {name: tuple(int(n) for n in shape.split("x")) for name, shape in csv.reader(file, delimiter="\t")}
    # The file also holds the tied head over the text vocabulary, which is never used.
    assert official.pop("llm.model.lm_head.weight") == official["llm.model.model.embed_tokens.weight"]
    assert expected == official


@pytest.mark.parametrize("generation", GENERATIONS)
def test_limits_and_special_ids_follow_the_references_rules(generation: Generation) -> None:
    rules = json.loads((DATA / f"v{generation}_llm_rules.json").read_text(encoding="utf-8"))
    values = json.loads((DATA / f"v{generation}_llm.json").read_text(encoding="utf-8"))
    config = read_small_config(DATA, generation)
    assert (config.start_id, config.task_id, config.head_rows) == (
        values["sos"],
        values["task_id"],
        values["head_size"],
    )
    assert list(range(config.speech_vocabulary, config.head_rows)) == values["stop_token_ids"]
    for case in rules["fractional_ratio_cases"]:
        ratios = replace(
            config,
            min_token_text_ratio=case["min_token_text_ratio"],
            max_token_text_ratio=case["max_token_text_ratio"],
        )
        assert length_limits(case["text_len"], ratios) == (case["steps_with_mask"], case["tokens_produced"])
    for case in rules["stop_cases"]:
        assert (case["sampled_id"] >= config.speech_vocabulary) == case["stopped"]


def with_preferred_id(lm: SpeechLm, wanted: int) -> SpeechLm:
    """Raise one id's score beyond all others, whatever the prompt."""
    original = lm.network.head

    def biased(hidden: torch.Tensor) -> torch.Tensor:
        scores = original(hidden).clone()
        scores[:, wanted] += 1000.0
        return scores

    lm.network.head = biased
    return lm


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_no_stop_id_ends_an_utterance_before_its_minimum(generation: Generation, offset: int) -> None:
    config = read_small_config(DATA, generation)
    lm = with_preferred_id(load_lm(DATA, config), config.speech_vocabulary + offset)
    for request in requests(config, 5):
        result = run(lm, [request])[request.id]
        least = 2 * len(request.text_ids)
        assert (len(result.tokens), result.ended, result.steps) == (least, True, least + 1)
        assert max(result.tokens) < config.speech_vocabulary


def test_an_utterance_that_never_stops_is_cut_at_its_maximum_and_says_so() -> None:
    config = replace(greedy(read_small_config(DATA, 2)), max_token_text_ratio=3.5)
    lm = with_preferred_id(load_lm(DATA, config), 5)
    result = run(lm, [LmRequest("a", (1, 2, 3))])["a"]
    assert (result.tokens, result.ended, result.steps, result.fault) == ((5,) * 10, False, 10, None)
    counted = run(lm, [LmRequest("b", (1, 2, 3), counted_ids=1)])["b"]
    assert len(counted.tokens) == 3


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("precision", FORMATS)
@pytest.mark.parametrize("sampled", [True, False])
def test_company_order_and_slots_never_change_an_utterance(
    generation: Generation, precision: str, sampled: bool
) -> None:
    config = read_small_config(DATA, generation)
    config = replace(config if sampled else greedy(config), max_token_text_ratio=8.0)
    wanted = requests(config, 11, longest=6)
    crowd = load_lm(DATA, config, precision=precision, slots=8)
    together = run(crowd, wanted)
    alone = load_lm(DATA, config, precision=precision, slots=4)
    assert {request.id: run(alone, [request])[request.id] for request in wanted} == together
    shuffled = random.Random(1).sample(wanted, len(wanted))
    assert run(load_lm(DATA, config, precision=precision, slots=4), shuffled) == together
    assert run(crowd, list(reversed(wanted))) == together
    assert len({result.tokens for result in together.values()}) > 8


def test_prompts_prefilled_together_give_the_same_ids() -> None:
    """As on accelerators, where several prompts share the linear layers of one prefill."""
    config = replace(greedy(read_small_config(DATA, 2)), max_token_text_ratio=6.0)
    device = torch.device("cpu")
    precision = replace(choose_precision(device, "fp32"), prefill_tokens=150, packed=False)
    state = read_checkpoint(DATA / "v2_llm.safetensors")
    grouped = SpeechLm(config, state, precision=precision, device=device, slots=8)
    wanted = requests(config, 9, longest=8)
    assert run(grouped, wanted) == run(load_lm(DATA, config, slots=8), wanted)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_sampled_ids_follow_scores_history_and_stream_step_by_step(generation: Generation) -> None:
    """The batch loop against the same steps written out for one utterance."""
    config = replace(read_small_config(DATA, generation), max_token_text_ratio=9.0)
    lm = load_lm(DATA, config)
    for request in requests(config, 4):
        result = run(lm, [request])[request.id]
        _, scores = lm.network.score(request, [*result.tokens, 0])
        stream = uniform_stream(request.seed, result.steps)
        minimum, _ = length_limits(len(request.text_ids), config)
        for step in range(result.steps):
            logits = hold_back_stops(scores[step : step + 1], config.speech_vocabulary, torch.tensor([step < minimum]))
            history = ([-1] * 10 + list(result.tokens[:step]))[-10:]
            drawn = int(draw(logits, torch.tensor([history]), stream[step : step + 1], config.sampling))
            if step < len(result.tokens):
                assert drawn == result.tokens[step]
            else:
                assert drawn >= config.speech_vocabulary and result.ended


def test_the_seed_alone_decides_between_equal_prompts() -> None:
    config = read_small_config(DATA, 3)
    lm = load_lm(DATA, config, slots=4)
    base = requests(config, 2)[1]
    twins = [replace(base, id=f"t{index}", seed=seed) for index, seed in enumerate((5, 5, 6))]
    found = run(lm, twins)
    assert found["t0"].tokens == found["t1"].tokens != found["t2"].tokens


def test_slots_are_refilled_at_once_and_pauses_of_the_source_are_borne() -> None:
    config = read_small_config(DATA, 2)
    lm = load_lm(DATA, config, slots=4)
    wanted = requests(config, 12, longest=6)
    most = 0

    def source() -> Iterator[LmRequest | None]:
        nonlocal most
        yield None
        for index, request in enumerate(wanted):
            most = max(most, lm.live)
            yield request
            if index % 5 == 4:
                yield None
        yield None

    found = {result.id: result for result in lm.generate(source()) if result is not None}
    assert found == run(load_lm(DATA, config, slots=4), wanted)
    # Pulled while other utterances were in flight, not after they had all ended.
    assert most == 3


def test_a_small_budget_makes_utterances_wait_but_changes_nothing() -> None:
    config = read_small_config(DATA, 2)
    wanted = requests(config, 10, longest=6)
    # One long utterance needs two blocks of 512 columns, so only 4 of the 8 rows fit beside it.
    wanted.insert(4, LmRequest("long", tuple(range(40)), seed=3))
    small = load_lm(DATA, config, slots=8, token_budget=8 * 512)
    assert run(small, wanted) == run(load_lm(DATA, config, slots=8), wanted)
    assert small._cache.rows * small._cache.capacity <= 8 * 512


def test_a_cache_that_grows_between_two_prompts_of_one_call_loses_neither() -> None:
    config = read_small_config(DATA, 2)
    wanted = requests(config, 6, longest=6)
    expected = run(load_lm(DATA, config, slots=8), [*wanted, LmRequest("long", tuple(range(40)), seed=3)])
    lm = load_lm(DATA, config, slots=8, token_budget=8 * 512)
    found: dict[str, LmResult] = {}
    assert lm.admit(wanted[:4]) == []
    while lm.live > 2:  # leave holes in the rows before the next call
        found |= {result.id: result for result in lm.step()}
    waiting = lm.admit([wanted[4], LmRequest("long", tuple(range(40)), seed=3), wanted[5]])
    while lm.live or waiting:
        found |= {result.id: result for result in lm.step()}
        waiting = lm.admit(waiting)
    found |= {result.id: result for result in lm.step()}
    assert found == expected


def test_what_cannot_be_spoken_fails_alone() -> None:
    config = read_small_config(DATA, 2)
    lm = load_lm(DATA, config, slots=4, token_budget=4 * 512)
    ordinary = requests(config, 1)[0]
    found = run(lm, [LmRequest("huge", (1,) * 300), LmRequest("empty", ()), ordinary])
    assert found["huge"].fault is not None and "token budget" in found["huge"].fault
    assert (found["empty"].tokens, found["empty"].ended, found["empty"].fault) == ((), False, None)
    assert found[ordinary.id] == run(load_lm(DATA, config), [ordinary])[ordinary.id]


def test_scores_that_are_not_finite_end_one_utterance_only() -> None:
    config = read_small_config(DATA, 2)
    clean = requests(config, 4, longest=6)
    expected = run(load_lm(DATA, config), clean)
    lm = load_lm(DATA, config)
    lm.network.text_embedding = lm.network.text_embedding.clone()
    lm.network.text_embedding[511] = float("nan")
    found = run(lm, [*clean[:2], LmRequest("poisoned", (511, 3)), *clean[2:]])
    assert found["poisoned"].fault == "scores that are not finite" and not found["poisoned"].ended
    assert {name: found[name] for name in expected} == expected
    # The slot that held it serves others without a trace.
    assert run(lm, clean) == expected


def test_idle_rows_stand_still_however_long_the_others_run() -> None:
    config = replace(greedy(read_small_config(DATA, 2)), max_token_text_ratio=10.0)
    lm = load_lm(DATA, config, slots=4, token_budget=4 * 512)
    steps = 0
    # One at a time, so three rows of the padded batch are idle for longer than the cache has columns.
    while steps < 600:
        for request in requests(config, 8):
            steps += run(lm, [request])[request.id].steps
    assert lm._cache.capacity == 512


def test_what_is_in_flight_can_be_dropped() -> None:
    config = read_small_config(DATA, 3)
    lm = load_lm(DATA, config)
    wanted = requests(config, 3)
    assert lm.admit(wanted) == []
    lm.step()
    assert sorted(lm.cancel()) == ["u0", "u1", "u2"]
    assert lm.live == 0 and lm.step() == []
    assert run(lm, wanted) == run(load_lm(DATA, config), wanted)


def test_global_random_state_is_neither_used_nor_moved() -> None:
    config = read_small_config(DATA, 2)
    wanted = requests(config, 3, longest=4)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = run(load_lm(DATA, config), wanted)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert run(load_lm(DATA, config), wanted) == first


def test_weights_that_do_not_fit_are_named() -> None:
    config = read_small_config(DATA, 2)
    state = read_checkpoint(DATA / "v2_llm.safetensors")
    state["llm_decoder.bias"] = torch.zeros(9)
    del state["llm.model.model.norm.weight"]
    with pytest.raises(ModelMissing, match=r"missing: llm\.model\.model\.norm\.weight.*llm_decoder\.bias is 9, .* 203"):
        SpeechLm(config, state, precision=choose_precision(torch.device("cpu")), device=torch.device("cpu"))


@pytest.mark.skipif("bf16" not in FORMATS, reason="this CPU has no bf16 instructions; fp32 is tested above")
def test_bf16_stays_close_to_fp32() -> None:
    config = read_small_config(DATA, 2)
    request = load_request(DATA / "v2_llm_case2.npz")
    ids = [3, 99, 150, 7, 21, 21, 180]
    _, exact = load_lm(DATA, config, precision="fp32").network.score(request, ids)
    _, rounded = load_lm(DATA, config, precision="bf16").network.score(request, ids)
    assert (exact - rounded).abs().max() < 0.03 * exact.std()
