"""Which utterance is spoken next, and when an item has all its takes. Knows no process and no pipe.

Items are opened one by one as workers get hungry, so that memory follows what is in work, not the manifest.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from cosyvoice.engine import Utterance
from jobs.casting import Miscast, Role
from jobs.checks import FATAL, badness, best, only_suspected
from jobs.fingerprint import digest, seed_for
from jobs.journal import Journal
from jobs.plan import Planner, spoken_digest
from jobs.records import Item, Prepared, Take
from jobs.settings import Settings
from jobs.text import TextFault
from jobs.verify import LEAST_SPEECH_S, ListenJob
from jobs.worker import SpeakJob

log = logging.getLogger(__name__)

CRASHES_ALLOWED = 1
"""An utterance in whose company a worker died so often is tried again; once more, and it fails by itself."""
DEVICE_FAILURES_ALLOWED = 3
"""The same where the device failed. A device that is lost takes innocent utterances with it, so this counts only once
an utterance is alone and there is nobody else to try."""


@dataclass(slots=True)
class OpenItem:
    """An item in work."""

    item: Item
    reason: str
    parts: dict[str, str]
    prepared: Prepared
    role: Role | None
    takes_folder: Path
    started: float = field(default_factory=monotonic)
    takes: dict[int, list[Take]] = field(default_factory=dict)
    errors: dict[int, list[str]] = field(default_factory=dict)
    kept: dict[int, Take] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    seconds: float = 0.0
    resumed: int = 0
    """Takes that an earlier, interrupted run left."""
    failure: str | None = None

    @property
    def complete(self) -> bool:
        return len(self.kept) == len(self.prepared.segments)

    @property
    def retries(self) -> int:
        made = sum(len(takes) for takes in self.takes.values()) + sum(len(texts) for texts in self.errors.values())
        return max(0, made - len(self.takes.keys() | self.errors.keys()))


class Schedule:
    """Hands out utterances and gathers takes."""

    def __init__(
        self,
        *,
        items: Iterator[tuple[Item, str]],
        planner: Planner,
        journal: Journal,
        settings: Settings,
        takes_root: Path,
        heard: Callable[[Prepared], None],
    ) -> None:
        """`heard` is told every prepared text (its warnings and lexicon hits belong to the run's report)."""
        self._items = items
        self._planner = planner
        self._journal = journal
        self._settings = settings
        # An engine that draws nothing would only say the same again.
        self._attempts = settings.takes if planner.engine.seeded else 1
        self._takes_root = takes_root
        self._heard = heard
        self._ready: deque[SpeakJob] = deque()
        self._held_back: deque[SpeakJob] = deque()
        """In whose company devices failed more than once: they wait until nothing else is left to lose."""
        self._jobs: dict[str, tuple[OpenItem, int]] = {}
        self._crashes: dict[str, int] = {}
        self._device_failures: dict[str, int] = {}
        self._exhausted = False
        self.open: dict[str, OpenItem] = {}
        self.ended: deque[OpenItem] = deque()
        """Items with all their takes, or with a failure: to be finished or entered as failed."""

    @property
    def nothing_left(self) -> bool:
        """No item is in work and none will come."""
        return self._exhausted and not self.open and not self.ended

    def next_job(self, *, idle: bool) -> SpeakJob | None:
        """The next utterance to speak; None if there is none at this moment for a worker that is `idle` or not."""
        while not self._ready and not self._exhausted and len(self.ended) < 32:
            found = next(self._items, None)
            if found is None:
                self._exhausted = True
                break
            self._open(*found)
        while self._ready:
            job = self._ready.popleft()
            if job.utterance.id in self._jobs:
                return job
        while idle and self._exhausted and self._held_back:
            job = self._held_back.popleft()
            if job.utterance.id in self._jobs:
                return job
        return None

    def is_suspect(self, job: SpeakJob) -> bool:
        """Whether devices failed in its company more than once: it is spoken alone, to find out if it is to blame."""
        return self._device_failures.get(job.utterance.id, 0) > 1

    def took(self, key: str, take: Take | None, error: str | None, seconds: float, device: str) -> None:
        """A worker's answer to a job."""
        found = self._jobs.pop(key, None)
        if found is None:
            return  # its item has failed meanwhile
        opened, segment = found
        opened.devices.add(device)
        opened.seconds += seconds
        if take is not None:
            opened.takes.setdefault(segment, []).append(take)
            self._journal.add_take(opened.item.id, segment, self._utterance_digest(opened, segment), take)
        else:
            opened.errors.setdefault(segment, []).append(error or "no audio and no reason came back")
        self._judge(opened, segment)

    def profile_of(self, key: str) -> str | None:
        """Profile of the item that a job belongs to; None where the item has failed meanwhile."""
        return self._jobs[key][0].item.profile if key in self._jobs else None

    def to_hear(self, key: str, take: Take) -> ListenJob | None:
        """What a listener needs to know of a take; None for one that nobody need hear."""
        found = self._jobs.get(key)
        if found is None or FATAL & set(take.faults):
            return None
        if self._settings.verify == "none" and take.samples < LEAST_SPEECH_S * take.sample_rate_hz:
            return None
        opened, segment = found
        assert opened.role is not None
        piece, role = opened.prepared.segments[segment], opened.role
        others = tuple(text for text in (role.voice.text, role.instruction) if text)
        return ListenJob(key, take.path, take.sample_rate_hz, piece.spoken, piece.language, others, role.voice)

    def requeue(self, jobs: list[SpeakJob]) -> None:
        """Jobs of a worker that died come first; one that saw too many deaths fails by itself."""
        for job in reversed(jobs):
            found = self._jobs.get(job.utterance.id)
            if found is None:
                continue
            crashes = self._crashes[job.utterance.id] = self._crashes.get(job.utterance.id, 0) + 1
            if crashes > CRASHES_ALLOWED and len(jobs) == 1:
                self._fail(found[0], f"segment {found[1] + 1}: the worker died {crashes} times on this text")
            elif crashes > CRASHES_ALLOWED + 2:
                self._fail(found[0], f"segment {found[1] + 1}: the worker died {crashes} times with this text in hand")
            else:
                self._ready.appendleft(job)

    def requeue_from_failed_device(self, jobs: list[SpeakJob], *, last_resort: bool) -> None:
        """The same where a device failed: they come first once, then last. `last_resort`: no CPU waits to step in."""
        for job in reversed(jobs):
            found = self._jobs.get(job.utterance.id)
            if found is None:
                continue
            failures = self._device_failures[job.utterance.id] = self._device_failures.get(job.utterance.id, 0) + 1
            if failures > DEVICE_FAILURES_ALLOWED and len(jobs) == 1 and last_resort:
                self._fail(found[0], f"segment {found[1] + 1}: the device failed {failures} times on this text")
            elif failures > 1:
                self._held_back.append(job)
            else:
                self._ready.appendleft(job)

    def _open(self, item: Item, reason: str) -> None:
        parts = self._journal.parts_of(item.id)
        try:
            prepared, role = self._read(item)
        except (TextFault, Miscast) as fault:
            opened = OpenItem(item, reason, parts, Prepared(()), None, self._takes_root)
            opened.failure = str(fault)
            self.ended.append(opened)
            return
        self._heard(prepared)
        parts["spoken"] = spoken_digest(prepared)
        opened = OpenItem(item, reason, parts, prepared, role, self._takes_root / digest(item.id))
        self.open[item.id] = opened
        self._resume(opened)
        for segment in range(len(prepared.segments)):
            if segment not in opened.kept:
                self._judge(opened, segment)
        if opened.complete:
            self._end(opened)

    def _read(self, item: Item) -> tuple[Prepared, Role | None]:
        # `empty=silence`: planning let nothing else through that has nothing to speak.
        return self._planner.read(item) or (Prepared(()), None)

    def _resume(self, opened: OpenItem) -> None:
        """Take over what an interrupted run has spoken of this very text with this very voice."""
        for segment, utterance, take in self._journal.takes(opened.item.id):
            if segment >= len(opened.prepared.segments) or utterance != self._utterance_digest(opened, segment):
                continue
            if self._settings.verify != "none" and take.heard is None and not FATAL & set(take.faults):
                continue  # it was made while nobody listened
            path = Path(take.path)
            if path.is_file() and path.stat().st_size == take.samples * 4:
                opened.takes.setdefault(segment, []).append(take)
                opened.resumed += 1

    def _judge(self, opened: OpenItem, segment: int) -> None:
        """Keep a good take, ask for another one, or give up."""
        if opened.failure is not None:
            return
        takes, errors = opened.takes.get(segment, []), opened.errors.get(segment, [])
        good = next((take for take in takes if badness(take) == 0), None)
        if good is not None:
            self._keep(opened, segment, good)
        elif len(takes) + len(errors) < self._attempts:
            self._ask(opened, segment, len(takes) + len(errors))
        elif takes and self._may_keep(best(takes)):
            self._keep(opened, segment, best(takes))
        else:
            self._fail(opened, self._why_failed(opened, segment))

    def _may_keep(self, take: Take) -> bool:
        """Whether the best of bad takes goes into the file; the report flags it."""
        return only_suspected(take) or (self._settings.bad_takes == "keep" and not FATAL & set(take.faults))

    def _why_failed(self, opened: OpenItem, segment: int) -> str:
        attempts = len(opened.takes.get(segment, [])) + len(opened.errors.get(segment, []))
        where = f"segment {segment + 1} of {len(opened.prepared.segments)}, {attempts} attempts"
        if opened.errors.get(segment):
            return f"{where}: {opened.errors[segment][-1]}"
        takes = opened.takes[segment]
        heard = "; ".join(f"{', '.join(t.faults)} ({t.samples / t.sample_rate_hz:.1f} s)" for t in takes)
        spoken = opened.prepared.segments[segment].spoken
        return f"{where}: {heard}, for the text {spoken[:60]!r}"

    def _ask(self, opened: OpenItem, segment: int, attempt: int) -> None:
        assert opened.role is not None
        piece = opened.prepared.segments[segment]
        item = opened.item
        utterance = Utterance(
            id=f"{item.id}\n{segment}\n{attempt}",
            text=piece.spoken,
            voice=opened.role.voice,
            mode=opened.role.mode,
            language=piece.language,
            instruction=opened.role.instruction,
            speed=item.speed,
            seed=seed_for(item.seed, segment, attempt),
        )
        path = opened.takes_folder / f"{segment}-{attempt}.f32"
        self._jobs[utterance.id] = (opened, segment)
        self._ready.append(SpeakJob(utterance, attempt, str(path)))

    def _keep(self, opened: OpenItem, segment: int, take: Take) -> None:
        opened.kept[segment] = take
        if opened.complete:
            self._end(opened)

    def _fail(self, opened: OpenItem, reason: str) -> None:
        opened.failure = reason
        for key in [key for key, (owner, _) in self._jobs.items() if owner is opened]:
            del self._jobs[key]
        self._end(opened)

    def _end(self, opened: OpenItem) -> None:
        if self.open.pop(opened.item.id, None) is not None:
            self.ended.append(opened)

    def _utterance_digest(self, opened: OpenItem, segment: int) -> str:
        piece = opened.prepared.segments[segment]
        sound = ("voice", "instruction", "mode", "speed", "seed", "engine")
        return digest([opened.parts[name] for name in sound], segment, piece.spoken, piece.language)
