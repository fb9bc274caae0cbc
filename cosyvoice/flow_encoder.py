"""What turns speech tokens into the flow's condition: a look-ahead layer (CosyVoice 2 and 3) and, in CosyVoice 2, a
conformer that doubles the rate from tokens to frames.

Attention with relative positions: Dai et al. 2019 (Transformer-XL), in the form of ESPnet's conformer.
Attribute names are the tensor names of the official checkpoints.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import EncoderConfig
from cosyvoice.flow_attention import Frames
from cosyvoice.packed_layers import linear

_BLOCK_NORM_EPS = 1e-12  # Inside the blocks only; the other norms of the encoder use 1e-5.


class LookaheadLayer(nn.Module):
    """Two convolutions around a residual; the first sees `lookahead` tokens to the right, the second none."""

    def __init__(self, width: int, hidden: int, lookahead: int) -> None:
        super().__init__()
        self.lookahead = lookahead
        self.conv1 = nn.Conv1d(width, hidden, lookahead + 1)
        self.conv2 = nn.Conv1d(hidden, width, 3)

    def forward(self, x: Tensor, frames: Frames) -> Tensor:
        """[B, S, D] -> the same; tokens past a row's end count as zero, as if the row stood alone."""
        if frames.mask is not None:
            x = x * frames.mask[:, :, None]
        y = F.leaky_relu(self.conv1(F.pad(x.transpose(1, 2), (0, self.lookahead))))
        y = self.conv2(F.pad(y, (2, 0)))
        return x + y.transpose(1, 2)  # type: ignore[no-any-return]


class UpsamplingEncoder(nn.Module):
    """The encoder of CosyVoice 2: tokens [B, S, D] -> frames [B, 2 S, D]."""

    def __init__(self, config: EncoderConfig, token_width: int, lookahead: int) -> None:
        super().__init__()
        width = config.width
        self.embed = _Embed(token_width, width)
        self.pre_lookahead_layer = LookaheadLayer(width, width, lookahead)
        self.encoders = nn.ModuleList(_Block(config) for _ in range(config.blocks))
        self.up_layer = _Upsample(width, config.up_stride)
        self.up_embed = _Embed(width, width)
        self.up_encoders = nn.ModuleList(_Block(config) for _ in range(config.up_blocks))
        self.after_norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor, frames: Frames, final: bool = True) -> Tensor:
        """Encode embedded tokens. Without `final` the last tokens serve as look-ahead only and give no frames."""
        x = self.pre_lookahead_layer(self.embed(tokens), frames)
        if not final:
            kept = self.pre_lookahead_layer.lookahead
            x = x[:, :-kept]
            frames = Frames.of([length - kept for length in frames.lengths], x.device)
        x = _run(self.encoders, x, frames)
        stride = self.up_layer.stride
        upsampled = Frames.of([length * stride for length in frames.lengths], x.device)
        x = _run(self.up_encoders, self.up_embed(self.up_layer(x)), upsampled)
        return self.after_norm(x)  # type: ignore[no-any-return]


def _run(blocks: nn.ModuleList, x: Tensor, frames: Frames) -> Tensor:
    positions = relative_positions(x.shape[1], x.shape[2]).to(x)
    for block in blocks:
        x = block(x, positions, frames)
    return x


def relative_positions(length: int, width: int) -> Tensor:
    """Sinusoids of the distances length-1 .. -(length-1), [2 length - 1, width]."""
    distances = torch.arange(length - 1, -length, -1, dtype=torch.float32)[:, None]
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * -(math.log(10000.0) / width))
    angles = distances * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class _Embed(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.out = nn.Sequential(nn.Linear(inputs, width), nn.LayerNorm(width))
        self.scale = math.sqrt(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x) * self.scale  # type: ignore[no-any-return]


class _Upsample(nn.Module):
    """Each token becomes `stride` frames, smoothed by a convolution that looks back."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv1d(width, width, 2 * stride + 1)

    def forward(self, x: Tensor) -> Tensor:
        repeated = x.repeat_interleave(self.stride, dim=1).transpose(1, 2)
        return self.conv(F.pad(repeated, (2 * self.stride, 0))).transpose(1, 2)  # type: ignore[no-any-return]


class _Block(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.self_attn = _RelativeAttention(config.width, config.heads)
        self.feed_forward = _FeedForward(config.width, config.feed_forward)
        self.norm_mha = nn.LayerNorm(config.width, eps=_BLOCK_NORM_EPS)
        self.norm_ff = nn.LayerNorm(config.width, eps=_BLOCK_NORM_EPS)

    def forward(self, x: Tensor, positions: Tensor, frames: Frames) -> Tensor:
        x = x + self.self_attn(self.norm_mha(x), positions, frames)
        return x + self.feed_forward(self.norm_ff(x))  # type: ignore[no-any-return]


class _FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(width, hidden)
        self.w_2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(linear(self.w_1, x, "silu"))  # type: ignore[no-any-return]


class _RelativeAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.linear_q = nn.Linear(width, width)
        self.linear_k = nn.Linear(width, width)
        self.linear_v = nn.Linear(width, width)
        self.linear_out = nn.Linear(width, width)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = nn.Parameter(torch.empty(heads, self.head_width))
        self.pos_bias_v = nn.Parameter(torch.empty(heads, self.head_width))

    def forward(self, x: Tensor, positions: Tensor, frames: Frames) -> Tensor:
        batch, length, _ = x.shape
        q, k, v, p = (
            part.view(-1, part.shape[-2], self.heads, self.head_width)
            for part in (self.linear_q(x), self.linear_k(x), self.linear_v(x), self.linear_pos(positions[None]))
        )
        by_distance = torch.matmul((q + self.pos_bias_v).transpose(1, 2), p.permute(0, 2, 3, 1))
        bias = _distance_to_key(by_distance) * self.head_width**-0.5
        if frames.mask is not None:
            bias = bias.masked_fill(~frames.mask[:, None, None, :], float("-inf"))
        content = (q + self.pos_bias_u).transpose(1, 2)
        out = F.scaled_dot_product_attention(content, k.transpose(1, 2), v.transpose(1, 2), attn_mask=bias)
        return self.linear_out(out.transpose(1, 2).reshape(batch, length, -1))  # type: ignore[no-any-return]


def _distance_to_key(scores: Tensor) -> Tensor:
    """[B, H, L, 2 L - 1], columns by distance L-1 .. -(L-1) -> [B, H, L, L], columns by key.

    Key j of query i stands at column L - 1 - i + j: with one more column per row, the flattened table read in rows of
    2 L - 1 puts the wanted window at the front of every row.
    """
    batch, heads, length, columns = scores.shape
    flat = F.pad(scores, (0, 1)).reshape(batch, heads, length * (columns + 1))
    shifted = flat[:, :, length - 1 : length - 1 + length * columns]
    return shifted.reshape(batch, heads, length, columns)[..., :length]
