"""The policy of number formats, and packed weights: same numbers, and a row that does not feel its company."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from cosyvoice.engine import EngineError
from cosyvoice.int8_layer import int8_fault
from cosyvoice.packed import MIN_ROWS, make_linear, packing_fault
from cosyvoice.precision import REQUESTS, choose_precision, policy

CPU = torch.device("cpu")


def test_the_cpu_policy_is_complete_and_never_picks_fp16() -> None:
    automatic = choose_precision(CPU)
    assert automatic.lm in (torch.bfloat16, torch.float32)
    assert automatic.vocoder == torch.float32
    full = choose_precision(CPU, "fp32")
    assert (full.lm, full.flow, full.name) == (torch.float32, torch.float32, "fp32/fp32/fp32")
    assert full.kv_bucket == 512 and full.prefill_tokens == 0
    assert full.packed == (packing_fault(torch.float32) is None) == (full.fallback is None)
    assert not choose_precision(CPU, "fp16").packed


@pytest.mark.parametrize(
    ("device_type", "with_bf16", "without"),
    [
        ("cuda", "bf16/bf16/fp32", "fp16/fp16/fp32"),
        ("npu", "bf16/fp32/fp32", "fp16/fp32/fp32"),
        ("mlu", "bf16/fp32/fp32", "fp16/fp32/fp32"),
        ("mps", "fp32/fp32/fp32", "fp32/fp32/fp32"),
        ("a_new_one", "fp32/fp32/fp32", "fp32/fp32/fp32"),
    ],
)
def test_other_devices_have_their_policy(device_type: str, with_bf16: str, without: str) -> None:
    assert policy(device_type, has_bf16=True).name == with_bf16
    assert policy(device_type, has_bf16=False).name == without
    assert not policy(device_type, has_bf16=True).packed


def test_a_format_that_the_device_lacks_is_refused() -> None:
    with pytest.raises(EngineError, match="does not compute in bf16"):
        choose_precision(torch.device("mps"), "bf16")


def test_unknown_requests_list_the_known_ones() -> None:
    with pytest.raises(EngineError, match="auto, fp32, bf16, fp16, int8"):
        choose_precision(CPU, "fp8")
    assert REQUESTS == ("auto", "fp32", "bf16", "fp16", "int8")


@pytest.mark.skipif(int8_fault() is not None, reason=f"{int8_fault()}")
def test_int8_is_for_the_flow_and_leaves_the_rest_as_it_is() -> None:
    automatic, eight = choose_precision(CPU), choose_precision(CPU, "int8")
    assert eight == replace(automatic, flow_int8=True)
    assert eight.name.split("/")[1] == "int8"


def test_int8_on_an_accelerator_is_refused_with_what_to_take_instead() -> None:
    with pytest.raises(EngineError, match="for the CPU only; use --precision auto, bf16 or fp32"):
        choose_precision(torch.device("mps"), "int8")


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize(("inner", "outer"), [(64, 192), (160, 64), (896, 1152), (4864, 896)])
def test_a_row_of_a_packed_layer_is_bitwise_the_same_in_any_batch(
    dtype: torch.dtype, tolerance: float, inner: int, outer: int
) -> None:
    torch.manual_seed(0)
    weight, bias, x = torch.randn(outer, inner) / inner**0.5, torch.randn(outer), torch.randn(33, inner)
    layer = make_linear(weight, bias, dtype=dtype, device=CPU, packed=packing_fault(dtype) is None)
    whole = layer(x.to(dtype))
    assert (whole.float() - functional.linear(x, weight, bias)).abs().max() < tolerance
    for rows in (MIN_ROWS, MIN_ROWS + 1, 8, 16, 32):
        assert torch.equal(layer(x[:rows].to(dtype)), whole[:rows])
        assert torch.equal(layer(x[-rows:].to(dtype)), whole[-rows:])
