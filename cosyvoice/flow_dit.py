"""The flow estimator of CosyVoice 3: a diffusion transformer.

The structure is that of F5-TTS (Chen et al. 2024; adaptive layer norms after Peebles & Xie 2023) with a causal
convolutional position embedding. Attribute names are the tensor names of the official checkpoints until `prepare` fuses
what is computed together.

The modulations depend on the time alone, and the solver's times are fixed: `prepare` computes them for all steps and
drops their layers, 138 M of the 332 M parameters of flow.pt.
Count at full size, per frame, step and row of the guidance pair: 22 blocks of 8.39 M multiply-adds and 2 x 1024 x M for
attention, 4.5 M around them: 189 M + 45 k x M. 10 s of audio after 3 s of reference (M = 650) cost
10 steps x 2 rows x 650 frames x 218 M = 2.84 T multiply-adds.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import DitConfig
from cosyvoice.flow_attention import Frames, attend
from cosyvoice.flow_unet import mish, time_sinusoids
from cosyvoice.packed_layers import dtype_of, linear, linear_from, pack_linears

_TIME_SINUSOIDS = 256
_POSITION_KERNEL, _POSITION_GROUPS = 31, 16
_NORM_EPS = 1e-6
_MODULATIONS = 6  # Shift, scale and gate of the attention, then of the feed-forward layer.


class DitEstimator(nn.Module):
    """Velocity of the flow at the times given to `prepare`."""

    def __init__(self, config: DitConfig) -> None:
        super().__init__()
        width = config.width
        inputs = 2 * config.mel_channels + config.mu_channels + config.speaker_channels
        self.time_embed = nn.ModuleDict({"time_mlp": nn.ModuleDict(_time_layers(width))})
        self.input_embed = _InputEmbedding(inputs, width)
        self.rotary_embed = _Rotary(config.head_width)
        self.transformer_blocks = nn.ModuleList(_Block(config) for _ in range(config.depth))
        self.norm_out = _TimeModulation(width, 2)
        self.proj_out = nn.Linear(width, config.out_channels)

    @torch.no_grad()
    def prepare(self, times: Sequence[float], dtype: torch.dtype, *, int8: bool = False) -> None:
        """Compute once what depends on the time alone, fuse and pack the layers in `dtype`. Called once, after loading.

        The layers that embed the time are dropped: the estimator then knows these times only. `int8` keeps the blocks'
        weights in 8 bits; the layers that read and write the mel stay in `dtype`.
        """
        first, second = self.time_embed["time_mlp"].values()  # type: ignore[operator]
        embedded = second(F.silu(first(time_sinusoids(torch.tensor(times).to(first.weight.device), _TIME_SINUSOIDS))))
        for module in self.modules():
            if isinstance(module, _TimeModulation):
                module.tabulate(embedded)
        del self.time_embed
        for module in list(self.modules()):
            if isinstance(module, _Attention):
                module.fuse()
                pack_linears(module, dtype, int8=int8)  # At once, so that fused fp32 weights never pile up.
        pack_linears(self.transformer_blocks, dtype, int8=int8)
        self.input_embed.conv_pos_embed.to(dtype)
        pack_linears(self, dtype)

    def arrange(self, mu: Tensor, speakers: Tensor, reference: Tensor) -> Tensor:
        """mu, reference [B, M, 80], speakers [B, 80] -> the input [B, M, 4 x 80], the state (in front) still zero."""
        return torch.cat([torch.zeros_like(mu), reference, mu, speakers[:, None].expand_as(mu)], dim=-1)

    def forward(self, inputs: Tensor, step: int, frames: Frames) -> Tensor:
        """inputs [B, M, 4 x 80] as from `arrange`; returns the velocity [B, M, 80] in fp32."""
        x = self.input_embed(inputs)
        rotation = self.rotary_embed(x.shape[1])
        for block in self.transformer_blocks:
            x = block(x, step, rotation, frames)
        scale, shift = self.norm_out.by_step[step]
        return self.proj_out(_modulate(x, shift, scale, dtype_of(self.proj_out))).float()  # type: ignore[no-any-return]


def _time_layers(width: int) -> dict[str, nn.Module]:
    return {"0": nn.Linear(_TIME_SINUSOIDS, width), "2": nn.Linear(width, width)}


def _modulate(x: Tensor, shift: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Layer norm whose affine part comes from the time. All rows share the step, so the kernel applies it itself."""
    return F.layer_norm(x, x.shape[-1:], 1 + scale, shift, _NORM_EPS).to(dtype)


class _TimeModulation(nn.Module):
    """Vectors that depend on the time: a layer in the checkpoint, a table [K, parts, D] after `tabulate`."""

    def __init__(self, width: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.linear = nn.Linear(width, parts * width)
        self.by_step: Tensor

    def tabulate(self, times: Tensor) -> None:
        table = self.linear(F.silu(times)).unflatten(-1, (self.parts, -1))
        self.register_buffer("by_step", table, persistent=False)
        del self.linear


class _InputEmbedding(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.proj = nn.Linear(inputs, width)
        self.conv_pos_embed = _PositionEmbedding(width)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.proj(inputs.to(dtype_of(self.proj)))
        return x.float() + self.conv_pos_embed(x)  # type: ignore[no-any-return]


class _PositionEmbedding(nn.Module):
    """Two grouped convolutions that look back over 31 frames each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(width, width, _POSITION_KERNEL, groups=_POSITION_GROUPS))
        self.conv2 = nn.Sequential(nn.Conv1d(width, width, _POSITION_KERNEL, groups=_POSITION_GROUPS))

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        for conv in (self.conv1, self.conv2):
            x = mish(conv(F.pad(x, (_POSITION_KERNEL - 1, 0))))
        return x.transpose(1, 2)


class _Rotary(nn.Module):
    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.inv_freq: Tensor
        self.register_buffer("inv_freq", torch.empty(head_width // 2))

    def forward(self, length: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines [length, head_width / 2] of every frame's rotation."""
        angles = torch.arange(length, device=self.inv_freq.device, dtype=torch.float32)[:, None] * self.inv_freq
        return angles.cos(), angles.sin()


def _rotate_first_head(qkv: Tensor, rotation: tuple[Tensor, Tensor]) -> None:
    """Rotate, in place, the neighbouring channel pairs of head 0 in q and k of [B, M, 3, H, d].

    The reference rotates before it splits the heads, so the others are never rotated, and the weights were trained so.
    """
    cos, sin = (part[None, :, None, :] for part in rotation)
    head = qkv[:, :, :2, 0]
    even, odd = head[..., 0::2].float(), head[..., 1::2].float()
    head.copy_(torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2))


class _Block(nn.Module):
    """Attention, then a GELU feed-forward layer, each gated by the time; the residual stays in fp32."""

    def __init__(self, config: DitConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.width * config.feed_forward_factor
        self.attn_norm = _TimeModulation(width, _MODULATIONS)
        self.attn = _Attention(width, config.heads, config.head_width)
        inner = nn.ModuleDict({"0": nn.Linear(width, hidden)})
        self.ff = nn.ModuleDict({"ff": nn.ModuleDict({"0": inner, "2": nn.Linear(hidden, width)})})

    def forward(self, x: Tensor, step: int, rotation: tuple[Tensor, Tensor], frames: Frames) -> Tensor:
        shift, scale, gate, ff_shift, ff_scale, ff_gate = self.attn_norm.by_step[step]
        dtype = self.attn.dtype
        x = x + gate * self.attn(_modulate(x, shift, scale, dtype), rotation, frames)
        inner, outer = self.ff["ff"]["0"]["0"], self.ff["ff"]["2"]  # type: ignore[index]
        hidden = linear(inner, _modulate(x, ff_shift, ff_scale, dtype), "gelu_tanh")
        return x.add_(ff_gate * outer(hidden))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, heads * head_width)
        self.to_k = nn.Linear(width, heads * head_width)
        self.to_v = nn.Linear(width, heads * head_width)
        self.to_out = nn.ModuleList([nn.Linear(heads * head_width, width)])
        self.to_qkv: nn.Module

    @property
    def dtype(self) -> torch.dtype:
        return dtype_of(self.to_qkv)

    def fuse(self) -> None:
        parts = (self.to_q, self.to_k, self.to_v)
        weight, bias = (torch.cat([getattr(part, kind).detach() for part in parts]) for kind in ("weight", "bias"))
        self.to_qkv = linear_from(weight, bias)
        del self.to_q, self.to_k, self.to_v

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], frames: Frames) -> Tensor:
        qkv = self.to_qkv(x).unflatten(-1, (3, self.heads, -1))
        _rotate_first_head(qkv, rotation)
        q, k, v = qkv.unbind(2)
        return self.to_out[0](attend(q, k, v, frames))  # type: ignore[no-any-return]
