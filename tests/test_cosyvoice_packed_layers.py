"""Packed linear layers stand in for ordinary ones: same numbers, and a row does not feel its batch mates."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cosyvoice.packed_layers import Activation, PackedLayer, activate, linear, pack_linears, packing_works


def small_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(96, 64), nn.Sequential(nn.Linear(64, 40, bias=False)), nn.LayerNorm(40)).eval()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_replaces_every_linear_and_keeps_the_result(dtype: torch.dtype, tolerance: float) -> None:
    model, x = small_model(), torch.randn(3, 5, 96)
    with torch.inference_mode():
        wanted = model[1](model[0](x))
        packed = pack_linears(model, dtype)
        assert packed == (2 if packing_works(dtype) else 0)
        got = model[1](model[0](x.to(dtype)))
    assert got.dtype == dtype
    assert (got.float() - wanted).abs().max() < tolerance


@pytest.mark.parametrize("activation", ["none", "gelu", "gelu_tanh", "silu"])
def test_fused_activation_equals_the_separate_one(activation: Activation) -> None:
    torch.manual_seed(1)
    plain = nn.Linear(32, 24)
    holder = nn.Sequential(nn.Linear(32, 24))
    holder.load_state_dict({f"0.{name}": tensor for name, tensor in plain.state_dict().items()})
    x = torch.randn(7, 32)
    with torch.inference_mode():
        pack_linears(holder, torch.float32)
        torch.testing.assert_close(linear(holder[0], x, activation), activate(plain(x), activation), rtol=0, atol=1e-5)
        torch.testing.assert_close(linear(plain, x, activation), activate(plain(x), activation))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_alone_equals_the_row_in_a_batch_bit_for_bit(dtype: torch.dtype) -> None:
    if not packing_works(dtype):
        pytest.skip(f"no packed {dtype} on this CPU")
    torch.manual_seed(2)
    layer = PackedLayer(torch.randn(896, 256).to(dtype), torch.randn(896).to(dtype))
    x = torch.randn(700, 256).to(dtype)
    with torch.inference_mode():
        together = layer(x)
        for first, last in ((0, 1), (3, 11), (100, 350)):
            assert torch.equal(layer(x[first:last]), together[first:last])
