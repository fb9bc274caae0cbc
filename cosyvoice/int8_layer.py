"""A linear layer in 8-bit whole numbers for the CPU: half the memory and twice the arithmetic rate of bf16.

Every weight row has one scale, found once; every input row (a frame) has one, found on the way in, so a frame's result
depends on no other frame (the products of whole numbers are exact, in any batch and on any number of threads). Both are
symmetric. The relative error of a layer is near 0.8 %, three times that of bf16.

The product is oneDNN's, through an operator that is private to torch, so it is tried before it is trusted. It wants
unsigned inputs: they are shifted by 128 and the shift is taken back inside.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

_LARGEST = 127
_SHIFT = 128
_SMALLEST_SCALE = 1e-30
"""Of a row of zeros; it keeps the scale's reciprocal finite."""


class Int8Layer(nn.Module):
    """Stands where an `nn.Linear` stood. Holds the packed weight only, and cannot be moved or saved."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        """weight [out, in], bias [out], in any float format; `dtype` is what the layer returns."""
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.returns = dtype
        weight = weight.float()
        self._scales = weight.abs().amax(1).div_(_LARGEST).clamp_(min=_SMALLEST_SCALE)
        self._packed = torch.ops.onednn.qlinear_prepack((weight / self._scales[:, None]).round_().to(torch.int8), None)
        self._zeros = torch.zeros(self.out_features, dtype=torch.int64)
        self._bias = torch.zeros(self.out_features, dtype=dtype) if bias is None else bias.to(dtype, copy=True)

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] in fp32 or bf16 -> [..., out]. What is not finite in a row makes the row's result not finite."""
        # The scale is rounded to the result's format before it is used, so that its rounding cancels out.
        scales = x.abs().amax(-1, keepdim=True).float().div_(_LARGEST).clamp_(min=_SMALLEST_SCALE).to(self.returns)
        whole = (x * scales.float().reciprocal()).round_().to(torch.int8)
        shifted = whole.view(torch.uint8).bitwise_xor_(_SHIFT)  # Adds 128 to a signed number's bits.
        y = torch.ops.onednn.qlinear_pointwise(
            shifted, 1.0, _SHIFT, self._packed, self._scales, self._zeros, None, 1.0, 0, self.returns, "none", [], ""
        )
        return torch.addcmul(self._bias, y, scales)


@cache
def int8_fault() -> str | None:
    """Try the layer on this CPU once; None if it works and pays, else what is missing or wrong."""
    if not torch.cpu._is_vnni_supported():
        return "this CPU has no 8-bit dot products (AVX-512 VNNI)"
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(96, 256, generator=generator), torch.randn(96, generator=generator)
    x = torch.randn(5, 256, generator=generator)
    wanted = functional.linear(x, weight, bias)
    for dtype in (torch.float32, torch.bfloat16):
        try:
            found = Int8Layer(weight, bias, dtype)(x).float()
        except (RuntimeError, AttributeError, TypeError) as error:  # private operators fail in all these ways
            return f"this torch has no 8-bit linear layers for the CPU: {str(error).splitlines()[0]}"
        difference = ((found - wanted).norm() / wanted.norm()).item()
        if not difference < 0.03:
            return f"8-bit linear layers give wrong results here (off by {difference:.1%})"
    return None
