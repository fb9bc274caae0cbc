"""The listener of `--verify asr`: a process beside the engine that hears takes and says how far they are from the text.

Messages in: ("listen", ListenJob) and ("end",). Messages out: ("ready",), ("heard", key, Heard), ("unheard", key, why),
("environment", text). The engine is not held up; takes wait on the disk.
"""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from jobs.crew import Child, Gone
from jobs.errors import EnvironmentFault
from jobs.records import Take

log = logging.getLogger(__name__)

SHORT_UNITS = 2
"""A text of at most so many words or syllables is suspected only where nothing of it was understood."""
AHEAD = 2
"""Takes the listener may have in hand, so that it need not wait for the next one."""
BACKLOG = 64
"""Takes that may wait for the listener before the engine gets nothing new."""
DEATHS_ALLOWED = 2


@dataclass(frozen=True, slots=True)
class ListenJob:
    """One take and what it should say."""

    key: str
    path: str
    sample_rate_hz: int
    text: str
    language: str
    others: tuple[str, ...]
    """Texts that must not be heard: the reference text, the instruction."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the recogniser made of a take."""

    text: str
    errors: int
    length: int
    """Words, or syllables in Chinese, of the text."""
    leak: str = ""
    """Words at its head that come from the reference or the instruction."""

    @property
    def error_rate(self) -> float:
        return round(self.errors / max(1, self.length), 4)


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """What a listener is started with."""

    model: str
    threads: int


def judged(take: Take, heard: Heard, threshold: float, policy: str) -> Take:
    """The take with what was heard, and with the fault or suspicion that follows from it.

    One wrong word of a text of one or two is the recogniser's as often as the speaker's. `policy`: `fail` makes a take
    that is not understood one that no item may have; `flag` only asks for another one.
    """
    found: tuple[str, ...] = ()
    short = heard.length <= SHORT_UNITS
    if heard.errors >= heard.length if short else heard.error_rate > threshold:
        found = ("misheard" if policy == "flag" else "not_understood",)
    if heard.leak:
        found += ("leak_heard",)
    return replace(take, heard=heard.text, error_rate=heard.error_rate, faults=(*take.faults, *found))


class Ear:
    """The parent's side of the listener: takes in, judged takes out, in the order in which they are ready."""

    def __init__(self, model: Path, threads: int, threshold: float, policy: str) -> None:
        self._spec = ListenerSpec(str(model), threads)
        self._threshold, self._policy = threshold, policy
        self._child = Child("listener", work, self._spec)
        self._waiting: deque[ListenJob] = deque()
        self._in_hand: dict[str, ListenJob] = {}
        self._deaths: dict[str, int] = {}
        self.notes: list[str] = []
        """What became of listeners, for the report."""

    @property
    def child(self) -> Child:
        return self._child

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._in_hand)

    @property
    def full(self) -> bool:
        return len(self._waiting) >= BACKLOG

    def listen(self, job: ListenJob) -> None:
        self._waiting.append(job)
        self._feed()

    def answers(self) -> Iterator[tuple[str, Heard | str]]:
        """Keys with what was heard, or with the reason why nobody could listen.

        Raises EnvironmentFault where the model cannot be read.
        """
        try:
            messages = self._child.messages()
        except Gone as gone:
            yield from self._replace(str(gone))
            return
        for message in messages:
            match message:
                case ("heard" | "unheard", key, found):
                    self._in_hand.pop(key, None)
                    yield key, found
                case ("environment", text):
                    raise EnvironmentFault(text)
        self._feed()

    def judged(self, take: Take, heard: Heard | str) -> Take:
        """The take with what was heard, or with a remark that nobody could listen."""
        if isinstance(heard, Heard):
            return judged(take, heard, self._threshold, self._policy)
        why = heard.strip().splitlines()[-1]
        log.warning("a take was not heard: %s", heard)
        return replace(take, remarks=(*take.remarks, f"nobody could listen to it: {why}"))

    def end(self) -> None:
        self._child.kill()

    def _feed(self) -> None:
        while self._waiting and len(self._in_hand) < AHEAD:
            job = self._waiting.popleft()
            self._in_hand[job.key] = job
            try:
                self._child.send("listen", job)
            except Gone:
                return  # `answers` finds it dead, and what it had in hand

    def _replace(self, text: str) -> Iterator[tuple[str, str]]:
        held, self._in_hand = list(self._in_hand.values()), {}
        log.warning("%s; %d takes are heard again by a new one", text, len(held))
        self.notes.append(text)
        self._child.kill()
        self._child = Child("listener", work, self._spec)
        for job in reversed(held):
            deaths = self._deaths[job.key] = self._deaths.get(job.key, 0) + 1
            if deaths > DEATHS_ALLOWED:
                yield job.key, f"the listener died {deaths} times on it"
            else:
                self._waiting.appendleft(job)
        self._feed()


def work(spec: ListenerSpec, connection: Connection) -> None:
    """The life of a listener."""
    from jobs.recogniser import Recogniser

    try:
        recogniser = Recogniser(Path(spec.model), spec.threads)
    except EnvironmentFault as error:
        connection.send(("environment", str(error)))
        return
    while True:
        message = connection.recv()
        if message[0] == "end":
            return
        job: ListenJob = message[1]
        try:
            connection.send(("heard", job.key, _listened(recogniser, job)))
        except Exception:
            connection.send(("unheard", job.key, traceback.format_exc(limit=3)))


def _listened(recogniser: object, job: ListenJob) -> Heard:
    import numpy as np

    from jobs.hearing import errors, leaks, respelled
    from jobs.recogniser import Recogniser

    assert isinstance(recogniser, Recogniser)
    samples = np.fromfile(job.path, "<f4")
    text = respelled(recogniser.transcribe(samples, job.sample_rate_hz, job.language), job.text, job.language)
    count, length = errors(job.text, text, job.language)
    return Heard(text, count, length, leaks(job.text, text, job.language, job.others))
