"""The workers of a run: started, fed, watched, restarted, retired. Speaks to `worker.py` through `crew.py`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from jobs.crew import Child, Gone
from jobs.errors import EnvironmentFault
from jobs.files import explain
from jobs.progress import Progress
from jobs.records import Take
from jobs.worker import SpeakJob, WorkerSpec, work

log = logging.getLogger(__name__)

RESTARTS_ALLOWED = 2
"""Deaths in a row, without one take between them, after which a worker is not started again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One take, or the reason why there is none."""

    key: str
    take: Take | None
    error: str | None
    seconds: float
    device: str


@dataclass(slots=True)
class Tally:
    """What a worker did, for the report."""

    items: set[str] = field(default_factory=set)
    takes: int = 0
    audio_s: float = 0.0
    busy_s: float = 0.0
    restarts: int = 0
    notes: list[str] = field(default_factory=list)


class Worker:
    """One seat in the roster: the process in it may change."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self.tally = Tally()
        self.child: Child | None = Child(spec.name, work, spec)
        self.in_hand: dict[str, SpeakJob] = {}
        self.appetite = 0
        self.deaths = 0
        self.description: dict[str, str] = {}

    def restart(self) -> None:
        self.tally.restarts += 1
        self.appetite = 0
        self.child = Child(self.spec.name, work, self.spec)


class Roster:
    """All workers of a run."""

    def __init__(
        self,
        specs: list[WorkerSpec],
        *,
        heartbeat_s: float,
        progress: Progress,
        requeue: Callable[[list[SpeakJob]], None],
    ) -> None:
        self.workers = [Worker(spec) for spec in specs]
        self._heartbeat_s = heartbeat_s
        self._progress = progress
        self._requeue = requeue
        self._last_fault = ""

    @property
    def children(self) -> list[Child]:
        return [worker.child for worker in self.workers if worker.child is not None]

    @property
    def last_fault(self) -> str:
        """What the last retired worker said."""
        return self._last_fault

    def feed(self, next_job: Callable[[], SpeakJob | None]) -> None:
        """Give every hungry worker what it wants, evenly."""
        hungry = True
        while hungry:
            hungry = False
            for worker in self.workers:
                if worker.child is None or len(worker.in_hand) >= worker.appetite:
                    continue
                job = next_job()
                if job is None:
                    return
                worker.in_hand[job.utterance.id] = job
                try:
                    worker.child.send("speak", job)
                except Gone as gone:
                    self._bury(worker, str(gone))
                hungry = True

    def answers(self) -> Iterator[Answer]:
        """All that the workers have said since the last call; deaths and silences are dealt with on the way.

        Raises EnvironmentFault when the disk refuses a take.
        """
        for worker in self.workers:
            if worker.child is None:
                continue
            try:
                messages = worker.child.messages()
            except Gone as gone:
                self._bury(worker, str(gone))
                continue
            for message in messages:
                yield from self._hear(worker, message)
            if worker.child is not None and monotonic() - worker.child.heard > self._heartbeat_s:
                self._bury(worker, f"{worker.spec.name} made no progress for {self._heartbeat_s:.0f} s")

    def end(self) -> None:
        """Stop every process; what they hold is lost and will be asked for again."""
        for child in self.children:
            child.kill()
        for worker in self.workers:
            worker.child = None

    def _hear(self, worker: Worker, message: tuple[Any, ...]) -> Iterator[Answer]:
        match message:
            case ("ready", description, appetite):
                worker.description, worker.appetite = description, appetite
                self._progress.note(f"{worker.spec.name} ready: {description.get('model', worker.spec.engine.title)}")
            case ("take", key, take, error, seconds):
                worker.in_hand.pop(key, None)
                worker.deaths = 0
                self._count(worker, key, take, seconds)
                yield Answer(key, take, error, seconds, worker.spec.device)
            case ("fault", "disk", (number, text, path)):
                raise explain(OSError(number, text), path)
            case ("fault", "load", text):
                self._retire(worker, text)
            case ("fault", _, text):
                self._bury(worker, text)
            case ("beat",):
                pass

    def _count(self, worker: Worker, key: str, take: Take | None, seconds: float) -> None:
        worker.tally.takes += 1
        worker.tally.busy_s += seconds
        worker.tally.items.add(key.partition("\n")[0])
        if take is not None:
            worker.tally.audio_s += take.samples / take.sample_rate_hz
            self._progress.audio(take.samples / take.sample_rate_hz)

    def _bury(self, worker: Worker, text: str) -> None:
        """A worker died or must die: its jobs go back, a new process takes its seat if it deserves one."""
        held = list(worker.in_hand.values())
        worker.in_hand.clear()
        worker.deaths += 1
        worker.tally.notes.append(text.strip().splitlines()[-1])
        if worker.child is not None:
            worker.child.kill()
        self._requeue(held)
        if worker.deaths > RESTARTS_ALLOWED:
            self._retire(worker, text)
            return
        self._progress.warn(f"{text.strip()}; {len(held)} utterances go back to the queue, the worker is restarted")
        worker.restart()

    def _retire(self, worker: Worker, text: str) -> None:
        if worker.child is not None:
            worker.child.kill()
        worker.child = None
        self._last_fault = text.strip()
        worker.tally.notes.append(f"retired: {self._last_fault.splitlines()[-1]}")
        self._progress.warn(f"{worker.spec.name} is out of work: {self._last_fault}")

    def require_someone(self) -> None:
        """Raises EnvironmentFault when no worker is left."""
        if not self.children:
            raise EnvironmentFault(f"no worker is left to speak: {self._last_fault}")
