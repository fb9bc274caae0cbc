"""Linear layers with weights stored once in the form that the device multiplies fastest.

On the CPU that is oneDNN's packed layout: 1.3 to 3 times F.linear, and a row's result does not depend on how many rows
are in the batch (F.linear picks other kernels below 4 rows). The packing operators are private to torch, so they are
tried first; where they fail, plain F.linear takes over and the reason is told to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

Linear = Callable[[Tensor], Tensor]

MIN_ROWS = 4
"""With at least so many rows, a row's result is the same in every batch (measured: fp32 and bf16, 2 and 1 threads)."""


class PlainLinear:
    """x [..., D_in] -> [..., D_out]"""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self._weight, self._bias)


class PackedLinear:
    """The same on a weight in oneDNN's own layout; the original weight is not kept."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
        self._bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, "none", [], "")
        return result


def make_linear(
    weight: Tensor, bias: Tensor | None, *, dtype: torch.dtype, device: torch.device, packed: bool
) -> Linear:
    """Build a linear layer from a weight [D_out, D_in] and a bias [D_out]; `packed` as the precision policy says."""
    # Copies (packing makes one itself): a tensor that points into a memory-mapped file keeps the whole file mapped.
    weight = weight.detach().to(device=device, dtype=dtype, copy=not packed)
    bias = None if bias is None else bias.detach().to(device=device, dtype=dtype, copy=True)
    return PackedLinear(weight, bias) if packed else PlainLinear(weight, bias)


@cache
def packing_fault(dtype: torch.dtype) -> str | None:
    """Try packed weights of this dtype on the CPU once; None if they work, else what went wrong."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(96, 64, generator=generator).to(dtype)
    bias = torch.randn(96, generator=generator).to(dtype)
    x = torch.randn(8, 64, generator=generator).to(dtype)
    try:
        found = PackedLinear(weight, bias)(x)
    except (RuntimeError, AttributeError, TypeError) as error:  # private operators fail in all these ways
        return f"packed {dtype} weights do not work here: {str(error).splitlines()[0]}"
    expected = functional.linear(x.float(), weight.float(), bias.float())
    difference = (found.float() - expected).abs().max().item()
    if not difference < (1e-3 if dtype == torch.float32 else 0.5):
        return f"packed {dtype} weights give wrong results here (off by {difference:.3g})"
    return None
