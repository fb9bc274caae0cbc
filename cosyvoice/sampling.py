"""Drawing speech ids: repetition-aware sampling for a whole batch at once, in fp32, without any global random state.

The rule (CosyVoice, `ras_sampling`): draw from the nucleus; if the drawn id is among the last `window` ids, forbid it
and draw again from all the others. Each utterance brings its own uniform numbers, two a step, so a draw depends on the
utterance's seed and step alone, never on its neighbours or the device.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from cosyvoice.config import SamplingConfig

# topk orders equal values as it likes; a few more are taken so that the lower id can be put first.
_SPARE_FOR_TIES = 39
SILENT_IDS = frozenset({1, 2, 28, 29, 55, 248, 494, 2241, 2242, 2322, 2323})
MAX_SILENT_RUN = 5


def uniform_stream(seed: int, steps: int) -> Tensor:
    """Return the uniform numbers of one utterance, [steps, 2] fp32 in [0, 1), from a counter-based generator (Philox).

    Made on the host as raw bits, so they are the same on every device; a longer stream begins with the shorter one.
    The numbers are multiples of 2**-23: times the total of a distribution they stay below it in fp32.
    """
    bits = np.random.Philox(key=seed).random_raw(2 * steps)
    return torch.from_numpy((bits >> np.uint64(41)).astype(np.float32) * np.float32(2.0**-23)).view(steps, 2)


def hold_back_stops(logits: Tensor, first_stop: int, held_back: Tensor) -> Tensor:
    """Forbid every id from `first_stop` on in the rows where `held_back` [B] is true. logits: [B, V]."""
    is_stop = torch.arange(logits.shape[1], device=logits.device) >= first_stop
    return logits.masked_fill(held_back[:, None] & is_stop, float("-inf"))


def nucleus(logits: Tensor, config: SamplingConfig) -> tuple[Tensor, Tensor]:
    """Return the candidates of each row: ids [B, K], most probable first, and their probabilities [B, K], sum 1.

    A candidate counts while the mass before it is below top_p; those past that have probability 0. logits: [B, V].
    """
    probabilities = logits.softmax(dim=-1)
    top, ids = probabilities.topk(min(config.top_k + _SPARE_FOR_TIES, logits.shape[1]), dim=-1)
    ids, by_id = ids.sort(dim=-1)
    top, by_mass = top.gather(1, by_id).sort(dim=-1, descending=True, stable=True)
    top, ids = top[:, : config.top_k], ids.gather(1, by_mass)[:, : config.top_k]
    before = top.cumsum(dim=-1) - top
    kept = top.masked_fill(before >= config.top_p, 0.0)
    return ids, kept / kept.sum(dim=-1, keepdim=True)


def without(logits: Tensor, ids: Tensor) -> Tensor:
    """Return the distribution [B, V] over all ids but one per row. logits: [B, V]; ids: [B]."""
    return logits.scatter(1, ids[:, None], float("-inf")).softmax(dim=-1)


def is_repeat(ids: Tensor, recent: Tensor, config: SamplingConfig) -> Tensor:
    """Say which ids [B, K] occur too often among the recent ones [B, window] (-1: none)."""
    occurrences = (recent[:, None, :] == ids[:, :, None]).sum(dim=-1)
    return occurrences >= config.window * config.repeat_share


def draw(logits: Tensor, recent: Tensor, uniforms: Tensor, config: SamplingConfig) -> Tensor:
    """Draw one id per row, [B]. logits: [B, V] fp32; recent: [B, window]; uniforms: [B, 2]. -1: logits not finite."""
    ids, probabilities = nucleus(logits, config)
    first = ids.gather(1, _invert(probabilities, uniforms[:, :1]))
    second = _invert(without(logits, first[:, 0]), uniforms[:, 1:])
    drawn = torch.where(is_repeat(first, recent, config), second, first)[:, 0]
    # NaN and +inf both reach the maximum; forbidden ids (-inf) do not.
    return torch.where(torch.isfinite(logits.amax(dim=-1)), drawn, -1)


def _invert(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Return the first index [B, 1] at which the cumulated probability exceeds the uniform number's share of it."""
    cumulated = probabilities.cumsum(dim=-1)
    index = (cumulated <= uniforms * cumulated[:, -1:]).sum(dim=-1, keepdim=True)
    return index.clamp(max=probabilities.shape[1] - 1)


def drop_long_silences(
    ids: Iterable[int], silent_ids: frozenset[int] = SILENT_IDS, max_run: int = MAX_SILENT_RUN
) -> tuple[int, ...]:
    """CosyVoice 3's rule: of a run of silent ids only the first `max_run` are spoken.

    Applies to what goes on to the flow; the sampling history keeps the dropped ids.
    """
    kept: list[int] = []
    run = 0
    for token in ids:
        run = run + 1 if token in silent_ids else 0
        if run <= max_run:
            kept.append(token)
    return tuple(kept)
