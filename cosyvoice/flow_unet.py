"""The flow estimator of CosyVoice 2: a U-Net of one level, causal convolutions and full attention.

The structure is the decoder of Matcha-TTS (Mehta et al. 2024) with causal convolutions and layer norms. Everything runs
channels-last [B, M, D], so convolutions become one linear layer over neighbouring frames. Attribute names are the
tensor names of the official checkpoints until `prepare` fuses what is computed together.

Count at full size, per frame, step and row of the guidance pair: 56 attention blocks of 1.05 M multiply-adds and
2 x 512 x M for attention, 6.9 M in convolutions: 66 M + 57 k x M. 10 s of audio after 3 s of reference (M = 650) cost
10 steps x 2 rows x 650 frames x 103 M = 1.34 T multiply-adds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import UnetConfig
from cosyvoice.flow_attention import Frames, attend
from cosyvoice.packed_layers import dtype_of, linear, linear_from, pack_linears

_TIME_SCALE = 1000.0
_TIME_FACTOR = 4


class UnetEstimator(nn.Module):
    """Velocity of the flow at the times given to `prepare`."""

    def __init__(self, config: UnetConfig) -> None:
        super().__init__()
        (width,) = config.channels
        time_width = width * _TIME_FACTOR
        self.time_mlp = _TimeEmbedding(config.in_channels, time_width)
        self.down_blocks = nn.ModuleList([_Stage(config, config.in_channels, time_width, outer=True)])
        self.mid_blocks = nn.ModuleList(
            _Stage(config, width, time_width, outer=False) for _ in range(config.mid_blocks)
        )
        self.up_blocks = nn.ModuleList([_Stage(config, 2 * width, time_width, outer=True)])
        self.final_block = _ConvBlock(width, width)
        self.final_proj = CausalConv(width, config.out_channels, 1)

    @torch.no_grad()
    def prepare(self, times: Sequence[float], dtype: torch.dtype, *, int8: bool = False) -> None:
        """Compute once what depends on the time alone, fuse and pack the layers in `dtype`. Called once, after loading.

        The layers that embed the time are dropped: the estimator then knows these times only. `int8` keeps the
        weights of the attention blocks in 8 bits; the convolutions stay in `dtype`.
        """
        embedded = self.time_mlp(torch.tensor(times, device=self.final_proj.weight.device))
        for module in self.modules():
            if isinstance(module, _ResnetBlock):
                module.tabulate(embedded)
        del self.time_mlp
        for module in self.modules():
            if isinstance(module, CausalConv | _Attention):
                module.fuse()
        for module in self.modules():
            if isinstance(module, _AttentionBlock):
                pack_linears(module, dtype, int8=int8)
        pack_linears(self, dtype)

    def arrange(self, mu: Tensor, speakers: Tensor, reference: Tensor) -> Tensor:
        """mu, reference [B, M, 80], speakers [B, 80] -> the input [B, M, 4 x 80], the state (in front) still zero."""
        return torch.cat([torch.zeros_like(mu), mu, speakers[:, None].expand_as(mu), reference], dim=-1)

    def forward(self, inputs: Tensor, step: int, frames: Frames) -> Tensor:
        """inputs [B, M, 4 x 80] as from `arrange`; returns the velocity [B, M, 80] in fp32."""
        skip, x = self.down_blocks[0](inputs, step, frames)
        for stage in self.mid_blocks:
            x, _ = stage(x, step, frames)
        _, x = self.up_blocks[0](torch.cat([x, skip], dim=-1), step, frames)
        return self.final_proj(self.final_block(x))  # type: ignore[no-any-return]


class _Stage(nn.ModuleList):
    """A residual block, attention blocks and, in the outer stages, the convolution that stands where the rate could
    change (it does not)."""

    def __init__(self, config: UnetConfig, inputs: int, time_width: int, outer: bool) -> None:
        (width,) = config.channels
        blocks = nn.ModuleList(_AttentionBlock(width, config.heads, config.head_width) for _ in range(config.blocks))
        parts: list[nn.Module] = [_ResnetBlock(inputs, width, time_width), blocks]
        super().__init__([*parts, CausalConv(width, width, 3)] if outer else parts)

    def forward(self, x: Tensor, step: int, frames: Frames) -> tuple[Tensor, Tensor]:
        """Returns the stage's result before and after the convolution."""
        resnet, blocks, *convolution = self
        x = resnet(x, step)
        for block in blocks.children():
            x = block(x, frames)
        return x, convolution[0](x) if convolution else x


class _TimeEmbedding(nn.Module):
    def __init__(self, sinusoids: int, width: int) -> None:
        super().__init__()
        self.sinusoids = sinusoids
        self.linear_1 = nn.Linear(sinusoids, width)
        self.linear_2 = nn.Linear(width, width)

    def forward(self, times: Tensor) -> Tensor:
        x = time_sinusoids(times, self.sinusoids)
        return self.linear_2(F.silu(self.linear_1(x)))  # type: ignore[no-any-return]


def time_sinusoids(times: Tensor, width: int) -> Tensor:
    """[K] in 0..1 -> [K, width]: sines, then cosines, at rates from 1 down to 1/10000."""
    half = width // 2
    rates = torch.exp(torch.arange(half, device=times.device, dtype=torch.float32) * -(math.log(10000.0) / (half - 1)))
    angles = _TIME_SCALE * times[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def mish(x: Tensor) -> Tensor:
    """x tanh(softplus(x)), written with one exponential: torch's own kernel takes several times as long on the CPU.

    tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2), e = exp(x); past 20 the factor is 1 in fp32.
    """
    e = x.float().clamp(max=20.0).exp_()
    n = e.addcmul(e, e, value=0.5)  # Half of e^2 + 2 e.
    return (n / (n + 1)).mul_(x).to(x.dtype)


class CausalConv(nn.Module):
    """A convolution over time that looks back only, on [B, M, C]: a linear layer over the last `kernel` frames."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.taps: nn.Module

    def fuse(self) -> None:
        weight = self.weight.detach().transpose(1, 2).flatten(1)
        self.taps = linear_from(weight, self.bias.detach())
        del self.weight, self.bias

    def forward(self, x: Tensor) -> Tensor:
        """Returns fp32 whatever the layer computes in."""
        x = x.to(dtype_of(self.taps))
        if self.kernel > 1:
            padded = F.pad(x, (0, 0, self.kernel - 1, 0))
            x = torch.cat([padded[:, tap : tap + x.shape[1]] for tap in range(self.kernel)], dim=-1)
        return self.taps(x).float()  # type: ignore[no-any-return]


class _ConvBlock(nn.Module):
    """Convolution, layer norm over channels, Mish."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        # The places 1 and 3 hold transpositions in the reference.
        self.block = nn.ModuleDict({"0": CausalConv(inputs, outputs, 3), "2": nn.LayerNorm(outputs)})

    def forward(self, x: Tensor) -> Tensor:
        return mish(self.block["2"](self.block["0"](x)))


class _ResnetBlock(nn.Module):
    def __init__(self, inputs: int, width: int, time_width: int) -> None:
        super().__init__()
        self.mlp = nn.ModuleDict({"1": nn.Linear(time_width, width)})
        self.block1 = _ConvBlock(inputs, width)
        self.block2 = _ConvBlock(width, width)
        self.res_conv = CausalConv(inputs, width, 1)
        self.by_step: Tensor

    def tabulate(self, times: Tensor) -> None:
        self.register_buffer("by_step", self.mlp["1"](F.mish(times)), persistent=False)
        del self.mlp

    def forward(self, x: Tensor, step: int) -> Tensor:
        h = self.block2(self.block1(x) + self.by_step[step])
        return h + self.res_conv(x)  # type: ignore[no-any-return]


class _AttentionBlock(nn.Module):
    """Attention, then a GELU feed-forward layer, each around a residual that stays in fp32."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn1 = _Attention(width, heads, head_width)
        self.norm3 = nn.LayerNorm(width)
        self.ff = nn.ModuleDict({"net": nn.ModuleDict({"0": _Projection(width), "2": nn.Linear(4 * width, width)})})

    def forward(self, x: Tensor, frames: Frames) -> Tensor:
        x = x + self.attn1(self.norm1(x), frames)
        inner, outer = self.ff["net"]["0"].proj, self.ff["net"]["2"]  # type: ignore[index]
        normed = self.norm3(x).to(dtype_of(inner))
        return x.add_(outer(linear(inner, normed, "gelu")))


class _Projection(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Linear(width, 4 * width)


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, heads * head_width, bias=False)
        self.to_k = nn.Linear(width, heads * head_width, bias=False)
        self.to_v = nn.Linear(width, heads * head_width, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(heads * head_width, width)])
        self.to_qkv: nn.Module

    def fuse(self) -> None:
        parts = (self.to_q, self.to_k, self.to_v)
        self.to_qkv = linear_from(torch.cat([part.weight.detach() for part in parts]), None)
        del self.to_q, self.to_k, self.to_v

    def forward(self, x: Tensor, frames: Frames) -> Tensor:
        qkv = self.to_qkv(x.to(dtype_of(self.to_qkv)))
        q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).unbind(2)
        return self.to_out[0](attend(q, k, v, frames))  # type: ignore[no-any-return]
