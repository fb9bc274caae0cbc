"""Layers in 8-bit numbers: near the exact ones, rows apart from their company, and nothing not finite is hidden."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from cosyvoice.int8_layer import Int8Layer, int8_fault

pytestmark = pytest.mark.skipif(int8_fault() is not None, reason=f"{int8_fault()}")
FORMATS = [torch.float32, torch.bfloat16]


def layer(dtype: torch.dtype, inner: int = 256, outer: int = 320) -> tuple[Int8Layer, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(outer, inner, generator=generator) / inner**0.5
    bias = torch.randn(outer, generator=generator)
    return Int8Layer(weight, bias, dtype), weight, bias


def rows(count: int, inner: int = 256) -> torch.Tensor:
    """Rows of very different loudness, as frames of a network are."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, inner, generator=generator) * torch.logspace(-3, 3, count)[:, None]


@pytest.mark.parametrize("returns", FORMATS)
@pytest.mark.parametrize("given", FORMATS)
def test_every_row_is_near_the_exact_one(given: torch.dtype, returns: torch.dtype) -> None:
    eight, weight, bias = layer(returns)
    x = rows(50).to(given)
    found, wanted = eight(x), functional.linear(x.float(), weight, bias)
    assert found.dtype == returns
    errors = (found.float() - wanted).norm(dim=1) / wanted.norm(dim=1)
    assert errors.max() < 0.015


@pytest.mark.parametrize("returns", FORMATS)
def test_a_row_alone_equals_the_row_in_a_batch_bit_for_bit(returns: torch.dtype) -> None:
    eight, x = layer(returns)[0], rows(300)
    together = eight(x)
    for first, last in ((0, 1), (7, 12), (100, 300)):
        assert torch.equal(eight(x[first:last]), together[first:last])


def test_threads_do_not_change_a_bit() -> None:
    eight, x = layer(torch.bfloat16)[0], rows(300)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = eight(x)
        torch.set_num_threads(2)
        assert torch.equal(eight(x), alone)
    finally:
        torch.set_num_threads(before)


def test_silence_gives_the_bias_and_what_is_not_finite_stays_so() -> None:
    eight, _, bias = layer(torch.float32)
    x = rows(5)
    x[1], x[2, 3], x[3, 4] = 0.0, float("nan"), float("inf")
    y = eight(x)
    assert torch.equal(y[1], bias)
    assert not y[2].isfinite().any() and not y[3].isfinite().any()
    assert y[0].isfinite().all() and y[4].isfinite().all()


def test_a_layer_without_bias_and_with_dead_outputs() -> None:
    weight = torch.randn(96, 64, generator=torch.Generator().manual_seed(2))
    weight[5] = 0
    y = Int8Layer(weight, None, torch.float32)(rows(4, 64))
    assert torch.equal(y[:, 5], torch.zeros(4))
    assert y.isfinite().all()
