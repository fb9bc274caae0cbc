"""The flow: the reference's numbers, exact batches, its names and sizes, and what it refuses."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.flow import full_size
from benchmarks.parity_data import load_state
from benchmarks.parity_flow import check, load_flow, read_small_config
from cosyvoice.batches import buckets
from cosyvoice.flow import Flow, FlowNet, FlowRequest, change_speed
from cosyvoice.flow_attention import Frames, attend
from cosyvoice.flow_unet import mish
from cosyvoice.int8_layer import int8_fault

DATA = Path(__file__).parent / "data" / "parity"
needs_int8 = pytest.mark.skipif(int8_fault() is not None, reason=f"{int8_fault()}")


@pytest.fixture(scope="module", params=[2, 3], ids=["v2", "v3"])
def flow(request: pytest.FixtureRequest) -> Flow:
    return load_flow(DATA, request.param)


def random_request(tokens: int, prompt: int, seed: int = 0) -> FlowRequest:
    generator = torch.Generator().manual_seed(seed)
    return FlowRequest(
        tokens=torch.randint(200, (tokens,), generator=generator),
        prompt_tokens=torch.randint(200, (prompt,), generator=generator),
        prompt_mel=torch.randn(2 * prompt, 80, generator=generator),
        embedding=torch.randn(192, generator=generator),
    )


def test_equals_the_reference() -> None:
    rows = check(DATA)
    assert len([row for row in rows if row[0].startswith("v2") and row[0].endswith("mel")]) == 4
    assert len([row for row in rows if row[0].startswith("v3") and row[0].endswith("mel")]) == 4
    assert [row for row in rows if not row[1] <= row[2]] == []


@pytest.mark.parametrize("generation", [2, 3])
def test_names_and_shapes_are_those_of_the_official_checkpoint(generation: int) -> None:
    with gzip.open(DATA / f"cosyvoice{generation}_flow_keys.tsv.gz", "rt") as lines:
        official = dict(line.rstrip("\n").split("\t") for line in lines)
    with torch.device("meta"):
        net = FlowNet(full_size(generation))
    ours = {name: "x".join(map(str, tensor.shape)) for name, tensor in net.state_dict().items()}
    assert ours == official


def test_a_request_in_a_padded_batch_equals_itself_alone(flow: Flow) -> None:
    requests = [random_request(*sizes, seed) for seed, sizes in enumerate([(1, 0), (30, 7), (7, 40), (55, 55)])]
    alone = flow.mel(requests)
    together = flow.mel_padded(requests)
    for request, first, second in zip(requests, alone, together, strict=True):
        assert first.shape == (80, 2 * len(request.tokens))
        assert (first - second).abs().max() < 1e-4


def test_company_and_order_do_not_change_a_bit_on_the_cpu(flow: Flow) -> None:
    first, second = random_request(12, 5, 1), random_request(31, 9, 2)
    assert torch.equal(flow.mel([first, second])[0], flow.mel([second, first])[1])


@pytest.mark.parametrize("int8", [False, pytest.param(True, marks=needs_int8)], ids=["bf16", "int8"])
@pytest.mark.parametrize("generation", [2, 3])
def test_coarse_formats_stay_close_to_fp32(generation: int, int8: bool) -> None:
    requests = [random_request(40, 20, 3), random_request(9, 0, 4)]
    exact = load_flow(DATA, generation).mel(requests)
    coarse_flow = load_flow(DATA, generation, torch.bfloat16, int8=int8)
    for coarse in (coarse_flow.mel(requests), coarse_flow.mel_padded(requests)):
        for wanted, found in zip(exact, coarse, strict=True):
            assert found.dtype == torch.float32
            assert (found - wanted).abs().mean() < (0.02 if int8 else 0.01)
            assert (found - wanted).abs().max() < (0.2 if int8 else 0.1)


@needs_int8
@pytest.mark.parametrize("generation", [2, 3])
def test_in_int8_too_company_does_not_change_a_bit(generation: int) -> None:
    eight = load_flow(DATA, generation, torch.bfloat16, int8=True)
    first, second = random_request(12, 5, 1), random_request(31, 9, 2)
    together = eight.mel([second, first])
    assert torch.equal(eight.mel([first])[0], together[1])
    assert not torch.equal(together[1], load_flow(DATA, generation, torch.bfloat16).mel([first])[0])


def test_no_global_random_state_is_touched() -> None:
    before = torch.get_rng_state()
    load_flow(DATA, 3).mel([random_request(3, 0)])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": torch.zeros(0, dtype=torch.long)}, "at least one speech token"),
        ({"tokens": torch.tensor([3, 200])}, "speech token 200 does not exist, the last is 199"),
        ({"tokens": torch.tensor([3, -1])}, "speech token -1 does not exist"),
        ({"prompt_mel": torch.zeros(5, 80)}, "reference mel has 5 frames"),
        ({"tokens": torch.zeros(7600, dtype=torch.long)}, "at most 15000"),
    ],
)
def test_refuses_what_it_cannot_speak(flow: Flow, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flow.mel([dataclasses.replace(random_request(4, 3), **change)])


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.sampled_from([torch.float32, torch.bfloat16]))
def test_attention_sees_real_frames_only(lengths: list[int], dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(len(lengths))
    q, k, v = torch.randn(3, len(lengths), max(lengths), 3, 8, generator=generator)
    found = attend(q.to(dtype), k.to(dtype), v.to(dtype), Frames.of(lengths, torch.device("cpu"))).float()
    assert found.isfinite().all()
    for row, length in enumerate(lengths):
        parts = (part[row, :length].transpose(0, 1) for part in (q, k, v))
        wanted = F.scaled_dot_product_attention(*parts).transpose(0, 1).flatten(1)
        tolerance = 1e-5 if dtype == torch.float32 else 0.1
        assert (found[row, :length] - wanted).abs().max() < tolerance


def test_speed_one_changes_nothing_and_no_mel_vanishes() -> None:
    mel = torch.randn(80, 3)
    assert change_speed(mel, 1.0) is mel
    assert change_speed(mel[:, :1], 2.0).shape == (80, 1)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 300), max_size=12), st.integers(1, 900))
def test_buckets_hold_everything_once_within_the_budget(lengths: list[int], budget: int) -> None:
    groups = buckets(lengths, budget)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[index] for index in group) <= budget


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(9, 30))
def test_buckets_are_few_and_pad_little(lengths: list[int], budget: int) -> None:
    def cost(groups: list[list[int]]) -> tuple[int, int]:
        return len(groups), sum(max(lengths[i] for i in group) * len(group) for group in groups) - sum(lengths)

    def partitions(indices: list[int]) -> list[list[list[int]]]:
        if not indices:
            return [[]]
        first, *rest = indices
        found = []
        for partition in partitions(rest):
            found.append([[first], *partition])
            found += [[*partition[:n], [first, *group], *partition[n + 1 :]] for n, group in enumerate(partition)]
        return found

    def fits(groups: list[list[int]]) -> bool:
        return all(len(group) * max(lengths[i] for i in group) <= budget for group in groups)

    best = min(cost(groups) for groups in partitions(list(range(len(lengths)))) if fits(groups))
    assert cost(buckets(lengths, budget)) == best


def test_what_the_flow_remembers_does_not_change_a_bit(flow: Flow) -> None:
    request, same_length = random_request(17, 4, 7), random_request(10, 11, 8)
    fresh = flow.mel([request])[0]
    flow.mel([same_length])
    assert torch.equal(flow.mel([request])[0], fresh)


def test_mish_equals_its_definition() -> None:
    x = torch.tensor([-200.0, -30.0, -1.5, -1e-4, 0.0, 0.3, 19.0, 21.0, 90.0])
    torch.testing.assert_close(mish(x), F.mish(x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("generation", [2, 3])
def test_nothing_of_a_mapped_checkpoint_is_kept(generation: int) -> None:
    state = load_state(DATA, f"v{generation}_flow")[0]
    file = torch.cat([tensor.flatten() for tensor in state.values()])
    parts = torch.split(file, [tensor.numel() for tensor in state.values()])
    mapped = {name: part.view_as(tensor) for (name, tensor), part in zip(state.items(), parts, strict=True)}
    flow = Flow.build(read_small_config(DATA, generation), mapped, torch.device("cpu"))
    wanted = load_flow(DATA, generation).mel([random_request(5, 2)])[0]
    file.fill_(float("nan"))
    assert torch.equal(flow.mel([random_request(5, 2)])[0], wanted)
