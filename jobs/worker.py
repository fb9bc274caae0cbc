"""One process on one device: load the engine once, speak what comes, write each take beside the journal.

Messages in: ("speak", Job) and ("end",). Messages out: ("ready", description, appetite),
("moved", what, cost) of a part that does not run where it should, ("beat",),
("take", job key, Take | None, error, seconds), ("memory", host bytes, device bytes), ("told", description, stages),
("fault", kind, message).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from cosyvoice.catalog import EngineFacts, load
from cosyvoice.engine import DeviceFault, Engine, EngineError, Speech, Utterance
from jobs.checks import ENGINE_FAULTS, FATAL, faults
from jobs.memory_watch import resident_bytes
from jobs.records import Take

log = logging.getLogger(__name__)

BEAT_S = 1.0


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What a worker is started with."""

    name: str
    engine: EngineFacts
    model_folder: str | None
    device: str
    """As the report names it: `cuda:1`."""
    precision: str
    threads: int
    cpu_fallback: bool = True
    """Whether a part of the engine that fails on the device may go on on the CPU."""
    own_device: str = ""
    """As the worker itself names it, with all others hidden: `cuda:0`; empty: the same name."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that are set in the worker's process before it starts."""


@dataclass(frozen=True, slots=True)
class SpeakJob:
    """One utterance to speak and where its take goes."""

    utterance: Utterance
    attempt: int
    path: str


def work(spec: WorkerSpec, connection: Connection) -> None:
    """The life of a worker, from loading the engine to the end of the work."""
    try:
        engine = load(
            spec.engine,
            model_folder=spec.model_folder,
            device=spec.own_device or spec.device,
            precision=spec.precision,
            threads=spec.threads,
            cpu_fallback=spec.cpu_fallback,
        )
    except EngineError as error:
        connection.send(("fault", "load", str(error)))
        return
    except Exception:  # whatever a vendor's library raises: the parent must learn it, in its words
        connection.send(("fault", "load", traceback.format_exc(limit=4)))
        return
    connection.send(("ready", engine.description, getattr(engine, "appetite", 2)))
    for what, cost in getattr(engine, "moved", {}).items():  # engines on accelerators know such things of themselves
        connection.send(("moved", what, cost))
    desk = _Desk(connection, engine)
    try:
        for speech in engine.speak(desk.utterances()):
            desk.deliver(speech)
    except DeviceFault as error:
        connection.send(("fault", "device", str(error)))
    except EngineError as error:
        connection.send(("fault", "engine", str(error)))
    except Exception:  # the same, in the work: the parent decides who goes on
        connection.send(("fault", "engine", traceback.format_exc(limit=6)))


class _Desk:
    """What lies between the pipe and the engine: jobs that wait, jobs in the engine's hands."""

    def __init__(self, connection: Connection, engine: Engine) -> None:
        self._connection = connection
        self._engine = engine
        self._inbox: queue.SimpleQueue[SpeakJob | None] = queue.SimpleQueue()
        self._in_hand: dict[str, SpeakJob] = {}
        self._last_beat = time.monotonic()
        self._last_end = time.monotonic()
        self._memory_told = self._stages_told = 0.0
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if message[0] == "end":
                    break
                self._inbox.put(message[1])
        except (EOFError, OSError):
            log.debug("the parent closed the pipe")  # `crew` ends a child whose parent died
        self._inbox.put(None)

    def utterances(self) -> Iterator[Utterance | None]:
        """What the engine pulls from; pulling is the heartbeat."""
        while True:
            now = time.monotonic()
            if now - self._last_beat >= BEAT_S:
                self._connection.send(("beat",))
                self._last_beat = now
            try:
                job = self._inbox.get_nowait() if self._in_hand else self._inbox.get(timeout=BEAT_S)
            except queue.Empty:
                yield None
                continue
            if job is None:
                return
            if not self._in_hand:
                self._last_end = time.monotonic()
            self._in_hand[job.utterance.id] = job
            yield job.utterance

    def deliver(self, speech: Speech) -> None:
        """Check one result, write its take, tell the parent."""
        job = self._in_hand.pop(speech.utterance_id)
        now = time.monotonic()
        seconds, self._last_end = now - self._last_end, now
        if speech.error is not None:
            self._connection.send(("take", speech.utterance_id, None, speech.error, seconds))
            return
        found, level_db = _judged(speech, job.utterance)
        try:
            _write(job.path, speech)
        except OSError as error:
            self._connection.send(("fault", "disk", (error.errno, error.strerror, job.path)))
            return
        take = Take(
            path=job.path,
            sample_rate_hz=speech.sample_rate_hz,
            samples=int(speech.samples.size),
            attempt=job.attempt,
            seed=job.utterance.seed,
            faults=(*found, *(flag for flag in speech.flags if flag in ENGINE_FAULTS)),
            remarks=tuple(flag for flag in speech.flags if flag not in ENGINE_FAULTS),
            level_db=level_db,
        )
        self._connection.send(("take", speech.utterance_id, take, None, seconds))
        if now - self._memory_told >= BEAT_S:
            self._memory_told = now
            held = getattr(self._engine, "device_memory_bytes", None)  # engines on accelerators know it
            self._connection.send(("memory", resident_bytes(), held))
        self._tell_stages(now)

    def _tell_stages(self, now: float) -> None:
        """Where the engine's time went, and what it noted of itself, from engines that keep such a tally."""
        times = getattr(self._engine, "times", None)
        if times is not None and (now - self._stages_told >= BEAT_S or not self._in_hand):
            self._stages_told = now
            self._connection.send(("told", self._engine.description, asdict(times)))


def _judged(speech: Speech, utterance: Utterance) -> tuple[tuple[str, ...], float | None]:
    """Faults and suspicions of a take, and the level of its speech."""
    from jobs.take_checks import speech_level_db, suspicions

    found = faults(speech.samples, speech.sample_rate_hz, utterance.text, utterance.speed)
    if FATAL & set(found):
        return found, None
    suspected = suspicions(speech.samples, speech.sample_rate_hz, utterance.text, utterance.speed)
    return (*found, *suspected), speech_level_db(speech.samples, speech.sample_rate_hz)


def _write(path: str, speech: Speech) -> None:
    """A take appears whole: written beside, then renamed. It needs no flush: its size is checked before it is used."""
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    part = final.with_suffix(".part")
    part.write_bytes(speech.samples.astype("<f4").tobytes())
    part.replace(final)
