"""The workers of a run: started, fed, watched, restarted, retired. Speaks to `worker.py` through `crew.py`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from jobs.crew import Child, Gone
from jobs.errors import EnvironmentFault
from jobs.files import explain
from jobs.memory_watch import MemoryWatch
from jobs.progress import Progress
from jobs.records import Take
from jobs.worker import SpeakJob, WorkerSpec, work

log = logging.getLogger(__name__)

RESTARTS_ALLOWED = 2
"""Deaths in a row, without one take between them, after which a worker is not started again."""
FORGIVEN_AFTER_TAKES = 200
"""A device that failed gets a fresh process once; if it fails again within so many takes, with other utterances, it is
retired."""


class Queue(Protocol):
    """Where jobs come from and go back to; `Schedule` is one."""

    def next_job(self, *, idle: bool) -> SpeakJob | None: ...

    def is_suspect(self, job: SpeakJob) -> bool: ...

    def requeue(self, jobs: list[SpeakJob]) -> None: ...

    def requeue_from_failed_device(self, jobs: list[SpeakJob], *, last_resort: bool) -> None: ...


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
    retries: int = 0
    audio_s: float = 0.0
    busy_s: float = 0.0
    restarts: int = 0
    host_peak_bytes: int = 0
    device_peak_bytes: int = 0
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds of each stage inside the engine and what came out, as its present process tells."""
    notes: list[str] = field(default_factory=list)


class Worker:
    """One seat in the roster: the process in it may change."""

    def __init__(self, spec: WorkerSpec, recycle_bytes: int | None) -> None:
        self.spec = spec
        self.tally = Tally()
        self.in_hand: dict[str, SpeakJob] = {}
        self.appetite = 0
        self.deaths = 0
        self.failed_at: int | None = None
        """Takes that were made when its device failed last."""
        self.failed_with: frozenset[str] = frozenset()
        """What it had in hand then."""
        self.leaving = ""
        """Why it gets nothing new and is replaced once its hands are empty."""
        self.description: dict[str, str] = {}
        self._recycle_bytes = recycle_bytes
        self.child: Child | None = None
        self.start()

    def start(self) -> None:
        """Put a new process into the seat."""
        self.appetite, self.leaving = 0, ""
        self.takes_before = self.tally.takes
        self.memory = MemoryWatch(self._recycle_bytes)
        self.child = Child(self.spec.name, work, self.spec, dict(self.spec.environment))

    def remember_memory(self, host_bytes: int | None, device_bytes: int | None) -> None:
        """Hear what the process holds; it may have to leave."""
        reason = self.memory.hear(self.tally.takes - self.takes_before, host_bytes, device_bytes)
        self.leaving = self.leaving or reason
        self.tally.host_peak_bytes = max(self.tally.host_peak_bytes, self.memory.host_peak_bytes)
        self.tally.device_peak_bytes = max(self.tally.device_peak_bytes, self.memory.device_peak_bytes)

    def device_failed_again(self, held: frozenset[str]) -> bool:
        """Take note of a failure of the device; whether the one before was not long ago.

        Where an utterance was in hand both times, it may be to blame: the device gets another chance without it.
        """
        before, self.failed_at = self.failed_at, self.tally.takes
        suspects, self.failed_with = self.failed_with & held, held
        return before is not None and self.tally.takes - before < FORGIVEN_AFTER_TAKES and not suspects

    def wants_more(self, is_suspect: Callable[[SpeakJob], bool]) -> bool:
        """Whether it is given another utterance now."""
        if self.child is None or self.leaving or len(self.in_hand) >= self.appetite:
            return False
        return not any(is_suspect(job) for job in self.in_hand.values())


class Roster:
    """All workers of a run."""

    def __init__(
        self,
        specs: Sequence[WorkerSpec],
        *,
        heartbeat_s: float,
        progress: Progress,
        queue: Queue,
        reserve: Sequence[WorkerSpec] = (),
        recycle_bytes: int | None = None,
    ) -> None:
        """`reserve` are CPU workers that start when every worker of `specs` is out of work."""
        self.workers = [Worker(spec, recycle_bytes) for spec in specs]
        self.warnings: list[str] = []
        """What belongs at the top of the report."""
        self._reserve = list(reserve)
        self._recycle_bytes = recycle_bytes
        self._heartbeat_s = heartbeat_s
        self._progress = progress
        self._queue = queue
        self._last_fault = ""
        self._moved: set[tuple[str, str]] = set()

    @property
    def children(self) -> list[Child]:
        return [worker.child for worker in self.workers if worker.child is not None]

    def feed(self) -> None:
        """Give every hungry worker what it wants, evenly."""
        hungry = True
        while hungry:
            hungry = False
            for worker in self.workers:
                if worker.child is None or not worker.wants_more(self._queue.is_suspect):
                    continue
                job = self._queue.next_job(idle=not worker.in_hand)
                if job is None:
                    continue
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
        for worker in list(self.workers):
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
            if worker.leaving and not worker.in_hand:
                self._recycle(worker)

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
            case ("moved", what, cost):
                self._tell_moved(worker, what, cost)
            case ("take", key, take, error, seconds):
                worker.in_hand.pop(key, None)
                worker.deaths = 0
                self._count(worker, key, take, seconds)
                yield Answer(key, take, error, seconds, worker.spec.device)
            case ("fault", "disk", (number, text, path)):
                raise explain(OSError(number, text), path)
            case ("fault", "load", text):
                self._retire(worker, text)
            case ("told", description, stages):
                worker.description = description
                worker.tally.stages = stages
            case ("memory", host_bytes, device_bytes):
                worker.remember_memory(host_bytes, device_bytes)
            case ("fault", kind, text):
                self._bury(worker, text, device_failed=kind == "device")
            case ("beat",):
                pass

    def _tell_moved(self, worker: Worker, what: str, cost: str) -> None:
        """A part of an engine does not run where it should: told once for a device, whichever worker says it again."""
        known = (worker.spec.device, what)
        if known in self._moved:
            return
        self._moved.add(known)
        worker.tally.notes.append(f"{what}; {cost}")
        self.warnings.append(f"{worker.spec.device}: {what}; {cost}")
        self._progress.warn(self.warnings[-1])

    def _count(self, worker: Worker, key: str, take: Take | None, seconds: float) -> None:
        worker.tally.takes += 1
        worker.tally.retries += not key.endswith("\n0")  # the key ends with the attempt
        worker.tally.busy_s += seconds
        worker.tally.items.add(key.partition("\n")[0])
        if take is not None:
            worker.tally.audio_s += take.samples / take.sample_rate_hz
            self._progress.audio(take.samples / take.sample_rate_hz)

    def _recycle(self, worker: Worker) -> None:
        message = f"a fresh process takes over: {worker.leaving}"
        worker.tally.notes.append(message)
        self._progress.note(f"{worker.spec.name}: {message}")
        if worker.child is not None:
            worker.child.kill()
        worker.start()

    def _bury(self, worker: Worker, text: str, *, device_failed: bool = False) -> None:
        """A worker died or must die: its jobs go back, a new process takes its seat if it deserves one."""
        held = list(worker.in_hand.values())
        worker.in_hand.clear()
        worker.deaths += 1
        worker.tally.notes.append(text.strip().splitlines()[-1])
        if worker.child is not None:
            worker.child.kill()
        if device_failed:
            self._queue.requeue_from_failed_device(held, last_resort=not self._reserve)
        else:
            self._queue.requeue(held)
        whose = "" if text.startswith(worker.spec.name) else f"{worker.spec.name}: "
        told = f"{whose}{text.strip()}; {len(held)} utterances go back to the queue"
        keys = frozenset(job.utterance.id for job in held)
        if (device_failed and worker.device_failed_again(keys)) or worker.deaths > RESTARTS_ALLOWED:
            self._progress.warn(told)
            self._retire(worker, text)
            return
        self._progress.warn(f"{told}, the worker is restarted")
        worker.tally.restarts += 1
        worker.start()

    def _retire(self, worker: Worker, text: str) -> None:
        if worker.child is not None:
            worker.child.kill()
        worker.child = None
        self._last_fault = text.strip()
        worker.tally.notes.append(f"retired: {self._last_fault.splitlines()[-1]}")
        message = f"{worker.spec.name} is out of work: {self._last_fault}"
        self.warnings.append(message)
        self._progress.warn(message)
        if not self.children and self._reserve:
            self._call_reserve()

    def _call_reserve(self) -> None:
        message = f"no accelerator is left: the CPU goes on with {len(self._reserve)} workers, which is slower"
        self.warnings.append(message)
        self._progress.warn(message)
        self.workers += [Worker(spec, self._recycle_bytes) for spec in self._reserve]
        self._reserve = []

    def require_someone(self) -> None:
        """Raises EnvironmentFault when no worker is left."""
        if not self.children:
            raise EnvironmentFault(f"no worker is left to speak: {self._last_fault}")
