"""The parent's side of listening: takes in, judged takes out. How far a take is from its text (`--verify asr`) and from
its voice (`--timbre-threshold`) is found by processes beside the engine; what follows from it is decided here.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from jobs.crew import Child, Gone
from jobs.errors import EnvironmentFault
from jobs.listener import LEAST_SPEECH_S, Heard, ListenerSpec, ListenJob, work
from jobs.records import Take

__all__ = ["LEAST_SPEECH_S", "Ears", "Heard", "Limits", "ListenJob", "ListenerSpec", "judged"]

log = logging.getLogger(__name__)

SHORT_UNITS = 2
"""A text of at most so many words or syllables is suspected only where nothing of it was understood."""
AHEAD = 2
"""Takes a listener may have in hand, so that it need not wait for the next one."""
BACKLOG = 512
"""Takes that may wait for the listeners before the engines get nothing new; a batch of a fast device is a hundred."""
CALL_ANOTHER_AT = 4
"""Takes that wait for each listener before another one is started."""
DEATHS_ALLOWED = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What a take may be like at most, and what becomes of one that is not."""

    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Greatest error rate by profile."""
    policy: str = "flag"
    """`fail`: a take that is not understood is one that no item may have; `flag` only asks for another one."""
    likeness: float = 0.0
    """Least likeness to the voice's reference."""


def judged(take: Take, heard: Heard, limits: Limits, profile: str) -> Take:
    """The take with what was heard, and with the faults or suspicions that follow from it.

    One wrong word of a text of one or two is the recogniser's as often as the speaker's.
    """
    found: tuple[str, ...] = ()
    if heard.text is not None:
        short = heard.length <= SHORT_UNITS
        if heard.errors >= heard.length if short else heard.error_rate > limits.thresholds[profile]:
            found = ("misheard" if limits.policy == "flag" else "not_understood",)
        if heard.leak:
            found += ("leak_heard",)
        take = replace(take, heard=heard.text, error_rate=heard.error_rate)
    if heard.likeness is not None and heard.likeness < limits.likeness:
        found += ("timbre_drift",)
    return replace(take, likeness=heard.likeness, faults=(*take.faults, *found))


@dataclass(slots=True)
class _Listener:
    child: Child
    in_hand: dict[str, ListenJob] = field(default_factory=dict)


class Ears:
    """All listeners of a run. One is started at once, others only when takes wait; the answers are the same."""

    def __init__(self, spec: ListenerSpec, most: int, limits: Limits) -> None:
        self._spec, self._most, self._limits = spec, most, limits
        self._waiting: deque[ListenJob] = deque()
        self._deaths: dict[str, int] = {}
        self._listeners = [self._started()]
        self.notes: list[str] = []
        """What became of listeners, for the report."""

    def _started(self) -> _Listener:
        return _Listener(Child("listener", work, self._spec))

    @property
    def children(self) -> list[Child]:
        return [listener.child for listener in self._listeners]

    @property
    def full(self) -> bool:
        return len(self._waiting) >= BACKLOG

    def listen(self, job: ListenJob) -> None:
        self._waiting.append(job)
        self._feed()

    def answers(self) -> Iterator[tuple[str, Heard | str]]:
        """Keys with what was heard, or with the reason why nobody could listen.

        Raises EnvironmentFault where a model cannot be read.
        """
        for listener in self._listeners:
            try:
                messages = listener.child.messages()
            except Gone as gone:
                yield from self._replace(listener, str(gone))
                continue
            for message in messages:
                match message:
                    case ("heard" | "unheard", key, found):
                        listener.in_hand.pop(key, None)
                        yield key, found
                    case ("environment", text):
                        raise EnvironmentFault(text)
        self._feed()

    def judged(self, take: Take, heard: Heard | str, profile: str) -> Take:
        """The take with what was heard, or with a remark that nobody could listen."""
        if isinstance(heard, Heard):
            return judged(take, heard, self._limits, profile)
        why = heard.strip().splitlines()[-1]
        log.warning("a take was not heard: %s", heard)
        return replace(take, remarks=(*take.remarks, f"nobody could listen to it: {why}"))

    def end(self) -> None:
        for listener in self._listeners:
            listener.child.kill()

    def _feed(self) -> None:
        """Whoever has least in hand gets the next take; another listener is called where too many wait."""
        while self._waiting:
            listener = min(self._listeners, key=lambda listener: len(listener.in_hand))
            if len(listener.in_hand) >= AHEAD:
                break
            job = self._waiting.popleft()
            listener.in_hand[job.key] = job
            try:
                listener.child.send("listen", job)
            except Gone:
                return  # `answers` finds it dead, and what it had in hand
        here = len(self._listeners)
        if here < self._most and len(self._waiting) >= CALL_ANOTHER_AT * here:
            self._listeners.append(self._started())
            self._feed()

    def _replace(self, listener: _Listener, text: str) -> Iterator[tuple[str, str]]:
        held, listener.in_hand = list(listener.in_hand.values()), {}
        log.warning("%s; %d takes are heard again by a new one", text, len(held))
        self.notes.append(text)
        listener.child.kill()
        listener.child = self._started().child
        for job in reversed(held):
            deaths = self._deaths[job.key] = self._deaths.get(job.key, 0) + 1
            if deaths > DEATHS_ALLOWED:
                yield job.key, f"the listener died {deaths} times on it"
            else:
                self._waiting.appendleft(job)
