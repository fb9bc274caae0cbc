"""The speech language model: text and reference in, speech ids out, many utterances at once.

Prefill puts a prompt into a free slot; every decode step then moves all slots forward by one id, and a slot whose
utterance ended is refilled before the next step. An utterance's ids depend on its own prompt and seed alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn import functional

from cosyvoice.config import LmConfig
from cosyvoice.decode_state import DecodeState
from cosyvoice.graphs import StepGraphs
from cosyvoice.kv_cache import KvCache
from cosyvoice.packed import MIN_ROWS, make_linear
from cosyvoice.precision import Precision
from cosyvoice.qwen2 import Qwen2, tensor_shapes
from cosyvoice.sampling import draw, hold_back_stops, uniform_stream
from cosyvoice.weights import check_tensors

log = logging.getLogger(__name__)

_PREFIX = "llm.model.model."
_TIED_HEAD = "llm.model.lm_head.weight"


@dataclass(frozen=True, slots=True)
class LmRequest:
    """One utterance: ids of its text, of the reference text, and of the speech in the reference."""

    id: str
    text_ids: tuple[int, ...]
    prompt_text_ids: tuple[int, ...] = ()
    prompt_speech_ids: tuple[int, ...] = ()
    seed: int = 0
    """Starts the utterance's random stream, 0 to 2**63 - 1."""
    counted_ids: int | None = None
    """How many text ids are spoken and so set the length limits; None: all of `text_ids`."""


@dataclass(frozen=True, slots=True)
class LmResult:
    id: str
    tokens: tuple[int, ...]
    """Speech ids without the stop id."""
    ended: bool
    """A stop id was drawn. False: it ran into the maximum length, or `fault` says why there is no more."""
    steps: int
    fault: str | None = None


@dataclass(slots=True)
class _Live:
    request: LmRequest
    prompt_length: int
    minimum: int
    maximum: int
    tokens: list[int] = field(default_factory=list)

    @property
    def needs(self) -> int:
        return self.prompt_length + self.maximum


class SpeechLm:
    """Call `generate`, or drive it by hand: `admit` while it takes requests, `step` while `live` is not 0.

    slots: utterances in flight at once. token_budget: columns of all cache rows together, which bounds the memory.
    """

    def __init__(
        self,
        config: LmConfig,
        state: Mapping[str, Tensor],
        *,
        precision: Precision,
        device: torch.device,
        slots: int = 32,
        token_budget: int = 65_536,
        name: str = "llm",
    ) -> None:
        state = {key: value for key, value in state.items() if key != _TIED_HEAD}
        check_tensors(state, lm_tensor_shapes(config), name)
        self.config, self._precision, self._device = config, precision, device
        self._qwen = Qwen2(config.qwen, state, _PREFIX, precision, device)
        # Text embeddings are looked up on the host, where a memory-mapped checkpoint costs only the pages it touches.
        self._text_embedding = state[f"{_PREFIX}embed_tokens.weight"]
        self._speech_embedding = state["speech_embedding.weight"].detach().to(device, torch.float32)
        special = state.get("llm_embedding.weight", state["speech_embedding.weight"]).detach()
        self._start, self._task = (special[row].to(device, torch.float32) for row in (config.start_id, config.task_id))
        self._head = make_linear(
            state["llm_decoder.weight"],
            state.get("llm_decoder.bias"),
            dtype=torch.float32,
            device=device,
            packed=precision.packed,
        )
        self._slots = _round_up(slots, MIN_ROWS)
        self._budget = token_budget
        self._live: list[_Live | None] = [None] * self._slots
        self._done: list[LmResult] = []
        self._cache = KvCache(config.qwen, 0, 0, precision.lm, device)
        self._state = DecodeState(0, 0, config.sampling.window, device)
        self._graphs = StepGraphs(self._decode, device)

    @property
    def live(self) -> int:
        """How many utterances are in flight."""
        return sum(entry is not None for entry in self._live)

    def generate(self, requests: Iterable[LmRequest | None]) -> Iterator[LmResult | None]:
        """Yield results as utterances end, and None after every step in which none did.

        Pulls a request whenever a slot is free; None from `requests` means nothing is there at this moment.
        """
        source = iter(requests)
        waiting: list[LmRequest] = []
        ended = False
        while waiting or self.live or not ended:
            if not waiting and not ended:
                waiting, ended = _pull(source, self._slots - self.live)
            waiting = self.admit(waiting)
            results = self.step()
            yield from results
            if not results:
                yield None

    @torch.inference_mode()
    def admit(self, requests: Sequence[LmRequest]) -> list[LmRequest]:
        """Prefill as many requests as there is room for, in order; return those that must wait for a slot."""
        taken: list[tuple[int, _Live]] = []
        for index, request in enumerate(requests):
            entry = self._plan(request)
            if entry is None:
                continue
            row = self._make_room(entry)
            if row is None:
                self._start_rows(taken)
                return list(requests[index:])
            self._live[row] = entry
            taken.append((row, entry))
        self._start_rows(taken)
        return []

    @torch.inference_mode()
    def step(self) -> list[LmResult]:
        """Move every utterance in flight forward by one id; return those that ended since the last call."""
        self._close_holes()
        highest = max((row for row, entry in enumerate(self._live) if entry is not None), default=-1)
        if highest >= 0:
            rows = self._batch_rows(highest + 1)
            longest = max(entry.prompt_length + len(entry.tokens) for entry in self._live if entry is not None)
            columns = min(_round_up(longest, self._precision.kv_bucket), self._cache.capacity)
            drawn: list[int] = self._graphs.run(rows, columns).tolist()
            for row, token in enumerate(drawn):
                self._note(row, token)
        done, self._done = self._done, []
        return done

    @torch.inference_mode()
    def cancel(self) -> list[str]:
        """Drop everything in flight, for instance after an error; return the ids of the utterances dropped."""
        dropped = [entry.request.id for entry in self._live if entry is not None]
        for row, entry in enumerate(self._live):
            if entry is not None:
                self._live[row] = None
                self._state.release(row)
        self._done.clear()
        return dropped

    def embed(self, request: LmRequest) -> Tensor:
        """Return the model's input [T, D] fp32: start, reference text, text, task id, reference speech."""
        text = torch.tensor((*request.prompt_text_ids, *request.text_ids), dtype=torch.int64)
        speech = torch.tensor(request.prompt_speech_ids, dtype=torch.int64, device=self._device)
        embedded = functional.embedding(text, self._text_embedding).to(self._device, torch.float32)
        return torch.cat((self._start[None], embedded, self._task[None], self._speech_embedding[speech]))

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the scores [B, V] fp32 of hidden states [B, D]."""
        return self._head(hidden)

    @torch.inference_mode()
    def score(self, request: LmRequest, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Run one prompt and then given speech ids, apart from what is in flight.

        Returns the hidden states [T, D] of the prompt and the scores [S, V] from which each id would be drawn.
        """
        x = self.embed(request)
        capacity = _round_up(x.shape[0] + len(ids), self._precision.kv_bucket)
        cache = KvCache(self.config.qwen, MIN_ROWS, capacity, self._precision.lm, self._device)
        if capacity > self._cache.capacity:
            self._qwen.reserve(capacity)
            self._graphs.forget()
        hidden = self._qwen.prefill(x, [x.shape[0]], [0], cache)
        scores = [self.logits(hidden[-1:])]
        rows = torch.arange(MIN_ROWS, device=self._device)
        for step, token in enumerate(ids[:-1]):
            fed = self._speech_embedding[torch.full_like(rows, token)]
            positions = torch.full_like(rows, x.shape[0] + step)
            scores.append(self.logits(self._qwen.decode(fed, positions, rows, cache, capacity))[:1])
        return hidden, torch.cat(scores)

    def _plan(self, request: LmRequest) -> _Live | None:
        counted = len(request.text_ids) if request.counted_ids is None else request.counted_ids
        minimum, maximum = length_limits(counted, self.config)
        prompt_length = 2 + len(request.prompt_text_ids) + len(request.text_ids) + len(request.prompt_speech_ids)
        entry = _Live(request, prompt_length, minimum, maximum)
        fault = None
        if self._shape_for([entry])[0] < MIN_ROWS:
            fault = f"needs {entry.needs} positions, more than the token budget of {self._budget} allows"
        if fault or maximum == 0:
            self._done.append(LmResult(request.id, (), False, 0, fault))
            return None
        return entry

    def _make_room(self, entry: _Live) -> int | None:
        """Return a free row in a cache that is long enough, or None if the entry must wait."""
        in_flight = [other for other in self._live if other is not None]
        rows, capacity = self._shape_for([*in_flight, entry])
        if len(in_flight) >= rows:
            return None
        if capacity > self._cache.capacity or rows > self._cache.rows:
            self._close_holes(pack=True)
            log.debug("cache of the language model: %d rows of %d positions", rows, capacity)
            self._cache.resize(rows, capacity)
            self._state.resize(rows, capacity)
            self._qwen.reserve(capacity)
            self._graphs.forget()
        return next((row for row in range(self._cache.rows) if self._live[row] is None), None)

    def _shape_for(self, entries: Sequence[_Live]) -> tuple[int, int]:
        """Return rows and columns of a cache in which these entries run to their maximum within the budget."""
        needed = _round_up(max(entry.needs for entry in entries), self._precision.kv_bucket)
        usual = self._budget // self._slots // self._precision.kv_bucket * self._precision.kv_bucket
        capacity = max(needed, usual)
        return min(self._slots, self._budget // capacity // MIN_ROWS * MIN_ROWS), capacity

    def _start_rows(self, taken: Sequence[tuple[int, _Live]]) -> None:
        """Prefill new entries, in groups as large as the policy allows, and draw the first id of each."""
        group: list[tuple[int, _Live]] = []
        for index, (row, entry) in enumerate(taken):
            group.append((row, entry))
            size = sum(member.prompt_length for _, member in group)
            if index + 1 == len(taken) or size + taken[index + 1][1].prompt_length > self._precision.prefill_tokens:
                self._prefill(group)
                group = []

    def _prefill(self, group: Sequence[tuple[int, _Live]]) -> None:
        rows, lengths = [row for row, _ in group], [entry.prompt_length for _, entry in group]
        for row, entry in group:
            stream = uniform_stream(entry.request.seed, entry.maximum)
            self._state.admit(row, entry.prompt_length, entry.minimum, stream)
        x = torch.cat([self.embed(entry.request) for _, entry in group])
        hidden = self._qwen.prefill(x, lengths, rows, self._cache)
        last = torch.tensor(lengths, device=self._device).cumsum(0) - 1
        drawn = self._draw(hidden[last], torch.tensor(rows, device=self._device))
        for row, token in zip(rows, drawn.tolist(), strict=True):
            self._note(row, token)

    def _decode(self, batch: int, columns: int) -> Tensor:
        """Feed the last id of the first `batch` rows and draw the next ones, [batch]."""
        rows = torch.arange(batch, device=self._device)
        x = self._speech_embedding[self._state.token[:batch]]
        hidden = self._qwen.decode(x, self._state.position[:batch], rows, self._cache, columns)
        self._state.position[:batch] += self._state.active[:batch]
        return self._draw(hidden, rows)

    def _draw(self, hidden: Tensor, rows: Tensor) -> Tensor:
        state = self._state
        steps = state.step[rows]
        logits = hold_back_stops(self.logits(hidden), self.config.speech_vocabulary, steps < state.minimum[rows])
        drawn = draw(logits, state.recent[rows], state.uniforms[rows, steps], self.config.sampling)
        state.advance(rows, drawn)
        return drawn

    def _note(self, row: int, token: int) -> None:
        """Take down what was drawn for a row, and end its utterance if that was the end."""
        entry = self._live[row]
        if entry is None:
            return
        finite, stop = token >= 0, token >= self.config.speech_vocabulary
        if finite and not stop:
            entry.tokens.append(token)
        if not finite or stop or len(entry.tokens) >= entry.maximum:
            fault = None if finite else "scores that are not finite"
            steps = len(entry.tokens) + int(not finite or stop)
            self._done.append(LmResult(entry.request.id, tuple(entry.tokens), stop, steps, fault))
            self._live[row] = None
            self._state.release(row)

    def _close_holes(self, pack: bool = False) -> None:
        """Move the last rows into holes where that makes the batch smaller (or, to `pack`, always)."""
        while True:
            occupied = [row for row, entry in enumerate(self._live) if entry is not None]
            if not occupied or occupied[-1] + 1 == len(occupied):
                return
            if not pack and self._batch_rows(len(occupied)) == self._batch_rows(occupied[-1] + 1):
                return
            hole, last = self._live.index(None), occupied[-1]
            entry = self._live[last]
            assert entry is not None
            self._cache.move(last, hole, entry.prompt_length + len(entry.tokens))
            self._state.move(last, hole)
            self._live[hole], self._live[last] = entry, None

    def _batch_rows(self, live: int) -> int:
        """Round up to a batch size that is worth its own kernels and graphs: fours on the CPU, powers of two else."""
        rows = (
            _round_up(live, MIN_ROWS) if self._device.type == "cpu" else 1 << max(live - 1, MIN_ROWS - 1).bit_length()
        )
        return min(rows, self._cache.rows)


def _pull(source: Iterator[LmRequest | None], room: int) -> tuple[list[LmRequest], bool]:
    """Take up to `room` requests that are there at this moment; also say whether the source came to its end."""
    pulled: list[LmRequest] = []
    while len(pulled) < room:
        try:
            request = next(source)
        except StopIteration:
            return pulled, True
        if request is None:
            break
        pulled.append(request)
    return pulled, False


def lm_tensor_shapes(config: LmConfig) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor of llm.pt, except for the tied text head, which is not used."""
    width = config.qwen.width
    shapes: dict[str, tuple[int, ...]] = {f"{_PREFIX}embed_tokens.weight": (config.qwen.text_vocabulary, width)}
    shapes |= tensor_shapes(config.qwen, _PREFIX)
    shapes |= {"llm_decoder.weight": (config.head_rows, width), "speech_embedding.weight": (config.head_rows, width)}
    if config.generation == 2:
        shapes |= {"llm_embedding.weight": (2, width), "llm_decoder.bias": (config.head_rows,)}
    return shapes


def length_limits(text_ids: int, config: LmConfig) -> tuple[int, int]:
    """Return the least and the largest number of speech ids for so many text ids."""
    return int(text_ids * config.min_token_text_ratio), int(text_ids * config.max_token_text_ratio)


def greedy(config: LmConfig) -> LmConfig:
    """Return settings under which the most probable id is always taken, for checks."""
    return replace(config, sampling=replace(config.sampling, top_k=1, repeat_share=float("inf")))


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
