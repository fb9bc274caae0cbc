"""The Qwen2 transformer of the speech language model: prefill of whole prompts and decode of one position a row.

Formulas: Qwen2 (RMSNorm, rotary positions in halves, grouped query heads, SwiGLU). Portable on purpose: no complex
numbers, no float64, no GQA keyword. The residual stream and the norms are fp32; the linear layers and the attention run
in the policy's format. The tied output head over the text vocabulary is never computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from cosyvoice.config import QwenConfig
from cosyvoice.kv_cache import KvCache
from cosyvoice.packed import Linear, make_linear
from cosyvoice.precision import Precision


@dataclass(frozen=True, slots=True)
class _Layer:
    attention_norm: Tensor
    qkv: Linear
    out: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


def tensor_shapes(config: QwenConfig, prefix: str) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor of the transformer as checkpoints have them, without embedding and head."""
    width, inner, kv = config.width, config.feed_forward, config.kv_heads * config.head_width
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (width, width),
        "self_attn.q_proj.bias": (width,),
        "self_attn.k_proj.weight": (kv, width),
        "self_attn.k_proj.bias": (kv,),
        "self_attn.v_proj.weight": (kv, width),
        "self_attn.v_proj.bias": (kv,),
        "self_attn.o_proj.weight": (width, width),
        "mlp.gate_proj.weight": (inner, width),
        "mlp.up_proj.weight": (inner, width),
        "mlp.down_proj.weight": (width, inner),
        "input_layernorm.weight": (width,),
        "post_attention_layernorm.weight": (width,),
    }
    shapes = {
        f"{prefix}layers.{index}.{name}": shape for index in range(config.layers) for name, shape in layer.items()
    }
    return shapes | {f"{prefix}norm.weight": (width,)}


class Qwen2:
    """Takes embedded positions, returns the hidden state after the final norm, fp32."""

    def __init__(
        self, config: QwenConfig, state: Mapping[str, Tensor], prefix: str, precision: Precision, device: torch.device
    ) -> None:
        self._config, self._dtype, self._device = config, precision.lm, device
        self._packed = precision.packed
        self._layers = [self._layer(state, f"{prefix}layers.{index}.") for index in range(config.layers)]
        self._norm = self._vector(state[f"{prefix}norm.weight"])
        self._cos, self._sin = self._rotary_tables(256)

    def prefill(self, x: Tensor, lengths: Sequence[int], rows: Sequence[int], cache: KvCache) -> Tensor:
        """Run whole prompts, one after the other in x [sum of lengths, D], and leave their keys and values in `rows`.

        The prompts share the linear layers only; each attends to itself.
        """
        positions = torch.cat([torch.arange(length, device=self._device) for length in lengths])
        cos, sin = self._cos[positions], self._sin[positions]
        for index, layer in enumerate(self._layers):
            query, key, value = self._project(layer, x, cos, sin)
            attended = []
            start = 0
            for length, row in zip(lengths, rows, strict=True):
                span = slice(start, start + length)
                k, v = key[span].transpose(0, 1), value[span].transpose(0, 1)
                cache.keys[index][row, :, :length] = k
                cache.values[index][row, :, :length] = v
                attended.append(self._attend_causally(query[span].transpose(0, 1), k, v))
                start += length
            x = self._finish(layer, x, torch.cat(attended))
        return self._normed(x, self._norm)

    def decode(self, x: Tensor, positions: Tensor, rows: Tensor, cache: KvCache, columns: int) -> Tensor:
        """Run one position of each of the first B rows. x: [B, D]; positions, rows: [B], rows = 0..B-1 as a tensor.

        Attention looks at the first `columns` of the cache, which must hold every position. All shapes depend on B
        and `columns` alone, so the call can be captured as a graph.
        """
        batch, config = x.shape[0], self._config
        group = config.heads // config.kv_heads
        cos, sin = self._cos[positions], self._sin[positions]
        unseen = torch.arange(columns, device=self._device) > positions[:, None]
        mask = torch.zeros(batch, columns, dtype=self._dtype, device=self._device)
        mask = mask.masked_fill(unseen, float("-inf"))[:, None, None, :]
        for index, layer in enumerate(self._layers):
            query, key, value = self._project(layer, x, cos, sin)
            keys, values = cache.keys[index], cache.values[index]
            keys[rows, :, positions] = key
            values[rows, :, positions] = value
            # The query heads of a group stand where query positions would: no key or value is repeated.
            folded = query.view(batch, config.kv_heads, group, config.head_width)
            attended = functional.scaled_dot_product_attention(
                folded, keys[:batch, :, :columns], values[:batch, :, :columns], attn_mask=mask
            )
            x = self._finish(layer, x, attended.reshape(batch, config.width))
        return self._normed(x, self._norm)

    def reserve(self, positions: int) -> None:
        """Make the rotary tables reach so many positions; needed before the first prefill or decode that uses them."""
        if positions > self._cos.shape[0]:
            self._cos, self._sin = self._rotary_tables(max(positions, 2 * self._cos.shape[0]))

    def _layer(self, state: Mapping[str, Tensor], prefix: str) -> _Layer:
        attention = [state[f"{prefix}self_attn.{name}_proj.weight"] for name in "qkv"]
        biases = [state[f"{prefix}self_attn.{name}_proj.bias"] for name in "qkv"]
        gate_up = [state[f"{prefix}mlp.{name}_proj.weight"] for name in ("gate", "up")]
        return _Layer(
            attention_norm=self._vector(state[f"{prefix}input_layernorm.weight"]),
            qkv=self._linear(torch.cat(attention), torch.cat(biases)),
            out=self._linear(state[f"{prefix}self_attn.o_proj.weight"], None),
            mlp_norm=self._vector(state[f"{prefix}post_attention_layernorm.weight"]),
            gate_up=self._linear(torch.cat(gate_up), None),
            down=self._linear(state[f"{prefix}mlp.down_proj.weight"], None),
        )

    def _linear(self, weight: Tensor, bias: Tensor | None) -> Linear:
        return make_linear(weight, bias, dtype=self._dtype, device=self._device, packed=self._packed)

    def _vector(self, weight: Tensor) -> Tensor:
        return weight.detach().to(device=self._device, dtype=torch.float32, copy=True)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return functional.rms_norm(x, (self._config.width,), weight, self._config.norm_eps)

    def _project(self, layer: _Layer, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return query [T, H, d], key and value [T, kv, d] of positions x [T, D], query and key rotated."""
        config = self._config
        mixed = layer.qkv(self._normed(x, layer.attention_norm).to(self._dtype))
        mixed = mixed.view(x.shape[0], config.heads + 2 * config.kv_heads, config.head_width)
        rotated = config.heads + config.kv_heads
        first, second = mixed[:, :rotated].float().chunk(2, dim=-1)
        cos, sin = cos[:, None], sin[:, None]
        turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(self._dtype)
        return turned[:, : config.heads], turned[:, config.heads :], mixed[:, rotated:]

    def _attend_causally(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend within one prompt. query: [H, T, d]; key, value: [kv, T, d]; returns [T, D]."""
        group = self._config.heads // self._config.kv_heads
        key, value = (part.repeat_interleave(group, dim=0)[None] for part in (key, value))
        attended = functional.scaled_dot_product_attention(query[None], key, value, is_causal=True)
        return attended[0].transpose(0, 1).reshape(query.shape[1], self._config.width)

    def _finish(self, layer: _Layer, x: Tensor, attended: Tensor) -> Tensor:
        x = x + layer.out(attended)
        gate, up = layer.gate_up(self._normed(x, layer.mlp_norm).to(self._dtype)).chunk(2, dim=-1)
        return x + layer.down(functional.silu(gate) * up)

    def _rotary_tables(self, positions: int) -> tuple[Tensor, Tensor]:
        """Return cosine and sine [positions, d / 2], made on the host."""
        steps = torch.arange(0, self._config.head_width, 2, dtype=torch.float32) / self._config.head_width
        angles = torch.arange(positions, dtype=torch.float32)[:, None] * (1.0 / self._config.rope_theta**steps)
        return angles.cos().to(self._device), angles.sin().to(self._device)
