"""The network of the speech language model: embedded prompts in, scores of speech ids out. It holds no utterances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from cosyvoice.config import LmConfig
from cosyvoice.kv_cache import KvCache
from cosyvoice.lm_request import LmRequest
from cosyvoice.packed import MIN_ROWS, make_linear
from cosyvoice.precision import Precision
from cosyvoice.qwen2 import Qwen2, tensor_shapes
from cosyvoice.weights import check_tensors

_PREFIX = "llm.model.model."
_TIED_HEAD = "llm.model.lm_head.weight"


class LmNetwork:
    """Built from the tensors of llm.pt. Raises ModelMissing that names tensors at fault; `name` is for that message."""

    def __init__(
        self, config: LmConfig, state: Mapping[str, Tensor], *, precision: Precision, device: torch.device, name: str
    ) -> None:
        state = {key: value for key, value in state.items() if key != _TIED_HEAD}
        check_tensors(state, lm_tensor_shapes(config), name)
        self.config, self.precision, self.device = config, precision, device
        self.qwen = Qwen2(config.qwen, state, _PREFIX, precision, device)
        # A third of all weights, of which an utterance needs a few rows: it stays on the host. As everything here it is
        # copied, because one tensor that points into a memory-mapped file would keep the whole file mapped.
        self.text_embedding = state[f"{_PREFIX}embed_tokens.weight"].detach().to(precision.lm, copy=True)
        self.speech_embedding = self._full(state["speech_embedding.weight"])
        special = state.get("llm_embedding.weight", state["speech_embedding.weight"])
        self._start, self._task = self._full(special[config.start_id]), self._full(special[config.task_id])
        self.head = make_linear(
            state["llm_decoder.weight"],
            state.get("llm_decoder.bias"),
            dtype=torch.float32,
            device=device,
            packed=precision.packed,
        )

    def new_cache(self, rows: int, capacity: int) -> KvCache:
        return KvCache(self.config.qwen, rows, capacity, self.precision.lm, self.device)

    def embed(self, request: LmRequest) -> Tensor:
        """Return the model's input [T, D] fp32: start, reference text, text, task id, reference speech."""
        text = torch.tensor((*request.prompt_text_ids, *request.text_ids), dtype=torch.int64)
        speech = torch.tensor(request.prompt_speech_ids, dtype=torch.int64, device=self.device)
        embedded = functional.embedding(text, self.text_embedding).to(self.device, torch.float32)
        return torch.cat((self._start[None], embedded, self._task[None], self.speech_embedding[speech]))

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the scores [B, V] fp32 of hidden states [B, D]."""
        return self.head(hidden)

    def prefill(self, requests: Sequence[LmRequest], rows: Sequence[int], cache: KvCache) -> Tensor:
        """Put prompts into rows of the cache; return the scores [B, V] of the first id of each."""
        embedded = [self.embed(request) for request in requests]
        lengths = [x.shape[0] for x in embedded]
        hidden = self.qwen.prefill(torch.cat(embedded), lengths, rows, cache)
        last = torch.tensor(lengths, device=self.device).cumsum(0) - 1
        return self.logits(hidden[last])

    def decode(self, ids: Tensor, positions: Tensor, rows: Tensor, cache: KvCache, columns: int) -> Tensor:
        """Feed one id per row, [B] at [B]; return the scores [B, V] of the next."""
        return self.logits(self.qwen.decode(self.speech_embedding[ids], positions, rows, cache, columns))

    @torch.inference_mode()
    def score(self, request: LmRequest, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Run one prompt and then given speech ids in a cache of its own.

        Returns the hidden states [T, D] of the prompt and the scores [S, V] from which each id would be drawn.
        """
        x = self.embed(request)
        columns = round_up(x.shape[0] + len(ids), self.precision.kv_bucket)
        cache = self.new_cache(MIN_ROWS, columns)
        self.qwen.reserve(columns)
        hidden = self.qwen.prefill(x, [x.shape[0]], [0], cache)
        scores = [self.logits(hidden[-1:])]
        rows = torch.arange(MIN_ROWS, device=self.device)
        for step, token in enumerate(ids[:-1]):
            fed, positions = torch.full_like(rows, token), torch.full_like(rows, x.shape[0] + step)
            scores.append(self.decode(fed, positions, rows, cache, columns)[:1])
        return hidden, torch.cat(scores)

    def _full(self, weight: Tensor) -> Tensor:
        return weight.detach().to(self.device, torch.float32, copy=True)


def lm_tensor_shapes(config: LmConfig) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor of llm.pt, except for the tied text head, which is not used."""
    width = config.qwen.width
    shapes: dict[str, tuple[int, ...]] = {f"{_PREFIX}embed_tokens.weight": (config.qwen.text_vocabulary, width)}
    shapes |= tensor_shapes(config.qwen, _PREFIX)
    shapes |= {"llm_decoder.weight": (config.head_rows, width), "speech_embedding.weight": (config.head_rows, width)}
    if config.generation == 2:
        shapes |= {"llm_embedding.weight": (2, width), "llm_decoder.bias": (config.head_rows,)}
    return shapes


def round_up(value: int, step: int) -> int:
    return -(-value // step) * step
