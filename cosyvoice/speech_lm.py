"""The speech language model at work: many utterances at once, in slots that are refilled as soon as one ends.

Prefill puts a prompt into a free slot; every decode step then moves all slots forward by one id. An utterance's ids
depend on its own prompt and seed alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cosyvoice.config import LmConfig
from cosyvoice.decode_state import DecodeState
from cosyvoice.graphs import StepGraphs
from cosyvoice.lm_network import LmNetwork, round_up
from cosyvoice.lm_request import NOT_FINITE, LmRequest, LmResult, length_limits
from cosyvoice.packed import MIN_ROWS
from cosyvoice.precision import Precision
from cosyvoice.sampling import draw, hold_back_stops, uniform_stream

log = logging.getLogger(__name__)


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
        name: str = "llm.pt",
    ) -> None:
        self.config, self._precision, self._device = config, precision, device
        self.network = LmNetwork(config, state, precision=precision, device=device, name=name)
        self._reset(slots, token_budget)

    def _reset(self, slots: int, token_budget: int) -> None:
        self._slots = round_up(slots, MIN_ROWS)
        self._budget = token_budget
        self._live: list[_Live | None] = [None] * self._slots
        self._pending: list[tuple[int, _Live]] = []
        self._done: list[LmResult] = []
        self._cache = self.network.new_cache(0, 0)
        self._planned = 0
        """Columns to which the cache may grow."""
        self._state = DecodeState(0, 0, self.config.sampling.window, self._device)
        self._graphs = StepGraphs(self._decode, self._device)

    def shrink(self) -> bool:
        """Drop everything in flight and hold half as much from now on, for a device that is short of memory.

        False if it holds as little as it can already; then too, nothing is in flight any more.
        """
        smaller = self._slots > MIN_ROWS
        self._reset(self._slots // 2 if smaller else self._slots, self._budget // 2 if smaller else self._budget)
        return smaller

    @property
    def slots(self) -> int:
        """How many utterances may be in flight."""
        return self._slots

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
        for index, request in enumerate(requests):
            entry = self._plan(request)
            if entry is None:
                continue
            row = self._make_room(entry)
            if row is None:
                self._start_pending()
                return list(requests[index:])
            self._live[row] = entry
            self._pending.append((row, entry))
        self._start_pending()
        return []

    @torch.inference_mode()
    def step(self) -> list[LmResult]:
        """Move every utterance in flight forward by one id; return those that ended since the last call."""
        self._close_holes()
        highest = max((row for row, entry in enumerate(self._live) if entry is not None), default=-1)
        if highest >= 0:
            rows = self._batch_rows(highest + 1)
            longest = max(entry.prompt_length + len(entry.tokens) for entry in self._live if entry is not None)
            self._reach(longest)
            columns = min(round_up(longest, self._precision.kv_bucket), self._cache.capacity)
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

    def _plan(self, request: LmRequest) -> _Live | None:
        counted = len(request.text_ids) if request.counted_ids is None else request.counted_ids
        minimum, maximum = length_limits(counted, self.config)
        entry = _Live(request, request.positions, minimum, maximum)
        fault = None
        if self._shape_for([entry])[0] < MIN_ROWS:
            fault = f"needs {entry.needs} positions, more than the token budget of {self._budget} allows"
        if fault or maximum == 0:
            self._done.append(LmResult(request.id, (), False, 0, fault))
            return None
        return entry

    def _make_room(self, entry: _Live) -> int | None:
        """Return a free row of a cache that may grow long enough, or None if the entry must wait."""
        in_flight = [other for other in self._live if other is not None]
        rows, capacity = self._shape_for([*in_flight, entry])
        if len(in_flight) >= rows:
            return None
        if capacity > self._planned or rows > self._cache.rows:
            self._start_pending()
            self._close_holes(pack=True)
            self._planned = capacity
            self._resize(rows, min(capacity, max(self._cache.capacity, self._precision.kv_bucket)))
            self._state = self._state.resized(rows, capacity)
            self.network.qwen.reserve(capacity)
        self._reach(entry.prompt_length)
        return next((row for row in range(self._cache.rows) if self._live[row] is None), None)

    def _reach(self, columns: int) -> None:
        """Make the cache reach so many columns. It doubles, so it follows what is really spoken, not what may be."""
        if columns > self._cache.capacity:
            wanted = max(round_up(columns, self._precision.kv_bucket), 2 * self._cache.capacity)
            self._resize(self._cache.rows, min(wanted, self._planned))

    def _resize(self, rows: int, capacity: int) -> None:
        log.debug("cache of the language model: %d rows of %d positions", rows, capacity)
        self._cache.resize(rows, capacity)
        self._graphs.forget()

    def _shape_for(self, entries: Sequence[_Live]) -> tuple[int, int]:
        """Return rows and columns of a cache in which these entries run to their maximum within the budget."""
        needed = round_up(max(entry.needs for entry in entries), self._precision.kv_bucket)
        usual = self._budget // self._slots // self._precision.kv_bucket * self._precision.kv_bucket
        capacity = max(needed, usual)
        return min(self._slots, self._budget // capacity // MIN_ROWS * MIN_ROWS), capacity

    def _start_pending(self) -> None:
        """Prefill the entries that got a row, in groups as large as the policy allows, and draw their first ids."""
        group: list[tuple[int, _Live]] = []
        tokens = 0
        for row, entry in self._pending:
            tokens += entry.prompt_length
            if group and tokens > self._precision.prefill_tokens:
                self._prefill(group)
                group, tokens = [], entry.prompt_length
            group.append((row, entry))
        self._pending.clear()
        if group:
            self._prefill(group)

    def _prefill(self, group: Sequence[tuple[int, _Live]]) -> None:
        for row, entry in group:
            stream = uniform_stream(entry.request.seed, entry.maximum)
            self._state.admit(row, entry.prompt_length, entry.minimum, stream)
        rows = [row for row, _ in group]
        logits = self.network.prefill([entry.request for _, entry in group], rows, self._cache)
        drawn = self._draw(logits, torch.tensor(rows, device=self._device))
        for row, token in zip(rows, drawn.tolist(), strict=True):
            self._note(row, token)

    def _decode(self, batch: int, columns: int) -> Tensor:
        """Feed the last id of the first `batch` rows and draw the next ones, [batch]."""
        rows, state = torch.arange(batch, device=self._device), self._state
        logits = self.network.decode(state.token[:batch], state.position[:batch], rows, self._cache, columns)
        state.position[:batch] += state.active[:batch]
        return self._draw(logits, rows)

    def _draw(self, logits: Tensor, rows: Tensor) -> Tensor:
        state = self._state
        steps = state.step[rows]
        logits = hold_back_stops(logits, self.config.speech_vocabulary, steps < state.minimum[rows])
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
            fault = None if finite else NOT_FINITE
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
        rows = round_up(live, MIN_ROWS) if self._device.type == "cpu" else 1 << max(live - 1, MIN_ROWS - 1).bit_length()
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
