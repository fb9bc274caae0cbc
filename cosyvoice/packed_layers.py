"""Packed weights (`packed.py`) for networks made of `nn.Linear`: layers are exchanged in place after loading, and their
activation runs inside the product.

The operators are private to torch, so they are tried before they are trusted; where they are missing or wrong the
layers stay ordinary `nn.Linear` in the wanted dtype, and the caller learns it from the count.
"""

from __future__ import annotations

import functools
import logging
import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.int8_layer import Int8Layer
from cosyvoice.packed import packing_fault

log = logging.getLogger(__name__)

Activation = Literal["none", "gelu", "gelu_tanh", "silu"]

# Our names -> the names and algorithms that the operator knows.
_FUSED: dict[Activation, tuple[str, str]] = {
    "none": ("none", ""),
    "gelu": ("gelu", "none"),
    "gelu_tanh": ("gelu", "tanh"),
    "silu": ("swish", ""),
}


class PackedLayer(nn.Module):
    """Stands where an `nn.Linear` stood. Holds the packed weight only, and cannot be moved or saved."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
        self.offset = None if bias is None else bias.clone()
        self.dtype = weight.dtype

    def forward(self, x: Tensor, activation: Activation = "none") -> Tensor:
        """[..., in] -> [..., out]; `x` has the weight's dtype."""
        name, algorithm = _FUSED[activation]
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.offset, name, [], algorithm)
        return y


def linear(layer: nn.Module, x: Tensor, activation: Activation = "none") -> Tensor:
    """activation(layer(x)), in one pass where the layer is packed. `layer` is an `nn.Linear` or what replaced it."""
    if isinstance(layer, PackedLayer):
        return layer(x, activation)  # type: ignore[no-any-return]
    return activate(layer(x), activation)


def activate(x: Tensor, activation: Activation) -> Tensor:
    match activation:
        case "none":
            return x
        case "gelu":
            return F.gelu(x)
        case "gelu_tanh":
            return gelu_tanh(x)
        case "silu":
            return F.silu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU in its tanh form (Hendrycks & Gimpel 2016), x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)): torch's own kernel
    takes twice as long on the CPU."""
    rate = 2 * math.sqrt(2 / math.pi)
    u = (x * x).mul_(0.044715 * rate).add_(rate).mul_(x)
    return u.sigmoid_().mul_(x)


@torch.no_grad()
def pack_linears(module: nn.Module, dtype: torch.dtype, *, int8: bool = False) -> int:
    """Replace every CPU `nn.Linear` below `module` by a packed one in `dtype`, one at a time, so that memory holds a
    single layer twice at most. With `int8` the weights are 8-bit numbers and only what comes out has that dtype.
    Returns how many were replaced; the rest are converted to `dtype` and stay as they are.
    """
    packed = 0
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if not isinstance(child, nn.Linear):
                continue
            weight, bias = child.weight.detach(), None if child.bias is None else child.bias.detach()
            if int8:
                setattr(parent, name, Int8Layer(weight, bias, dtype))
                packed += 1
            elif weight.device.type == "cpu" and packing_works(dtype):
                setattr(parent, name, PackedLayer(weight.to(dtype), None if bias is None else bias.to(dtype)))
                packed += 1
            else:
                child.to(dtype)
    return packed


@torch.no_grad()
def own_tensors(module: nn.Module) -> None:
    """Copy what still lies in a memory-mapped checkpoint: one small tensor would keep the whole file in memory."""
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.data = tensor.data.clone()


@functools.cache
def packing_works(dtype: torch.dtype) -> bool:
    """Whether this torch on this CPU packs weights of `dtype` and fuses every activation rightly."""
    fault = packing_fault(dtype)
    if fault is None:
        x, weight, bias = (t.to(dtype) for t in torch.linspace(-1, 1, 24 * 16 * 3).reshape(3, 24, 16))
        layer = PackedLayer(weight, bias[:, 0].contiguous())
        wanted = F.linear(x.float(), weight.float(), bias[:, 0].float())
        tolerance = 1e-4 if dtype == torch.float32 else 0.02 * float(wanted.abs().max())
        for name in _FUSED:
            difference = (layer(x, name).float() - activate(wanted, name)).abs().max()
            if not difference <= tolerance:
                fault = f"packed {dtype} weights fuse {name} wrongly here (off by {difference:.3g})"
    if fault is not None:
        log.warning("%s; using plain linear layers", fault)
    return fault is None


def linear_from(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A linear layer that takes over a weight [out, in] and a bias [out] as they are."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias, requires_grad=False)
    return layer


def dtype_of(layer: nn.Module) -> torch.dtype:
    """The dtype that a linear layer, or what replaced it, wants its input in."""
    if isinstance(layer, Int8Layer):
        return torch.float32
    return layer.weight.dtype if isinstance(layer, nn.Linear) else layer.dtype  # type: ignore[return-value]
