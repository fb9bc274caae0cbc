"""The loop of a run: workers speak, finishers finish, the journal learns each end. Returns when nothing is left."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from jobs.crew import Child, Gone, listen
from jobs.errors import EnvironmentFault
from jobs.files import explain, leads_out, make_folder, marks_of
from jobs.finisher import ENVIRONMENT, FinishJob, work
from jobs.item_result import result_of
from jobs.journal import Journal
from jobs.progress import ItemEnd, Progress
from jobs.records import Measured
from jobs.roster import Answer, Roster
from jobs.schedule import OpenItem, Schedule
from jobs.verify import Ears

if TYPE_CHECKING:
    from presets.catalog import Profile

log = logging.getLogger(__name__)

TICK_S = 0.2
"""How long the loop sleeps at most: a signal is answered within this time."""
FINISH_AHEAD = 2
"""Items a finisher may have in hand, so that it need not wait for the next one."""
FINISH_BACKLOG = 128
"""Items that may wait for a finisher before the engines get nothing new: their takes lie on the disk."""
FINISH_DEATHS_ALLOWED = 2


class TooManyFailures(Exception):
    """`--max-failures` is reached."""


class Production:
    """One run's loop with its two kinds of children."""

    def __init__(
        self,
        *,
        folder: Path,
        temporary: Path,
        schedule: Schedule,
        roster: Roster,
        finishers: int,
        journal: Journal,
        profiles: Mapping[str, Profile],
        progress: Progress,
        max_failures: int | None,
        check_stop: Callable[[], None],
        ears: Ears | None = None,
    ) -> None:
        """At most `finishers` work; `check_stop` raises when the run was told to stop; `ears` hear every take."""
        self._folder = folder
        self._temporary = temporary
        self._schedule = schedule
        self._roster = roster
        self._profiles = profiles
        self._most_finishers = finishers
        self._finishers: list[Child] = []
        self._in_hand: list[dict[str, OpenItem]] = []
        self._add_finisher()  # it gets ready while the engine is loaded
        self._deaths: dict[str, int] = {}
        self._to_finish: deque[OpenItem] = deque()
        self._journal = journal
        self._progress = progress
        self._max_failures = max_failures
        self._failures = 0
        self._serial = 0
        self._check_stop = check_stop
        self._ears = ears
        self._unheard: dict[str, Answer] = {}

    def run(self) -> None:
        """Work until nothing is left.

        Raises EnvironmentFault (no worker left, disk full), TooManyFailures, or what `check_stop` raises; the children
        are ended in any case.
        """
        try:
            while True:
                self._check_stop()
                if len(self._to_finish) < FINISH_BACKLOG and not (self._ears and self._ears.full):
                    self._roster.feed()
                self._collect_ended()
                self._feed_finishers()
                if self._schedule.nothing_left and not self._to_finish and not any(self._in_hand):
                    return
                if not self._to_finish and not any(self._in_hand) and not self._unheard:
                    self._roster.require_someone()
                ears = self._ears.children if self._ears else []
                listen([*self._roster.children, *self._finishers, *ears], TICK_S)
                for answer in self._roster.answers():
                    self._take(answer)
                self._hear_takes()
                self._hear_finishers()
        finally:
            self._roster.end()
            if self._ears is not None:
                self._ears.end()
            for child in self._finishers:
                child.kill()

    def _take(self, answer: Answer) -> None:
        """A worker's answer goes to the schedule, by way of the listeners where there are any."""
        job = self._schedule.to_hear(answer.key, answer.take) if self._ears and answer.take else None
        if self._ears is not None and job is not None:
            self._unheard[answer.key] = answer
            self._ears.listen(job)
        else:
            self._schedule.took(answer.key, answer.take, answer.error, answer.seconds, answer.device)

    def _hear_takes(self) -> None:
        for key, heard in self._ears.answers() if self._ears else ():
            answer = self._unheard.pop(key)
            assert self._ears is not None
            assert answer.take is not None
            profile = self._schedule.profile_of(key)
            if profile is None:
                continue  # its item has failed meanwhile
            take = self._ears.judged(answer.take, heard, profile)
            self._schedule.took(key, take, None, answer.seconds, answer.device)

    def _collect_ended(self) -> None:
        while self._schedule.ended:
            opened = self._schedule.ended.popleft()
            if opened.failure is not None:
                self._enter_failure(opened, opened.failure)
            else:
                self._to_finish.append(opened)

    def _feed_finishers(self) -> None:
        """Another finisher is started only where those at work fall behind: each costs a second of a core and 60 MB."""
        for number in range(self._most_finishers):
            if number == len(self._finishers):
                if not (self._to_finish and self._newest_at_work):
                    return
                self._add_finisher()
            while self._to_finish and len(self._in_hand[number]) < FINISH_AHEAD:
                opened = self._to_finish.popleft()
                self._in_hand[number][opened.item.id] = opened
                try:
                    self._finishers[number].send("finish", self._job(opened))
                except Gone as gone:
                    self._replace_finisher(number, str(gone))
                    return

    def _job(self, opened: OpenItem) -> FinishJob:
        from jobs.finish import Part

        item, profile = opened.item, self._profiles[opened.item.profile]
        self._serial += 1
        parts = tuple(
            Part(take.path, take.sample_rate_hz, take.samples, segment.gap)
            for take, segment in zip(
                (opened.kept[number] for number in range(len(opened.kept))), opened.prepared.segments, strict=True
            )
        )
        tags = {"title": item.title or item.id}
        if item.chapter is not None:
            tags["track"] = str(item.chapter)
        return FinishJob(
            item_id=item.id,
            parts=parts,
            lead_ms=opened.prepared.lead_ms if parts else (item.pause_ms or 500),
            pause_ms=item.pause_ms,
            profile=item.profile,
            tags=tags,
            temporary=str(self._temporary / f"{self._serial}{profile.suffix}"),
        )

    def _hear_finishers(self) -> None:
        for number, child in enumerate(self._finishers):
            try:
                messages = child.messages()
            except Gone as gone:
                self._replace_finisher(number, str(gone))
                continue
            self._newest_at_work |= bool(messages) and child is self._finishers[-1]
            for message in messages:
                match message:
                    case ("finished", item_id, temporary, measured):
                        self._enter_done(self._in_hand[number].pop(item_id), Path(temporary), measured)
                    case ("failed", item_id, reason):
                        self._enter_failure(self._in_hand[number].pop(item_id), reason)
                    case ("disk", (code, text, path)):
                        raise explain(OSError(code, text), path)
                    case ("environment", text):
                        raise EnvironmentFault(text)

    def _replace_finisher(self, number: int, text: str) -> None:
        held = list(self._in_hand[number].values())
        self._in_hand[number] = {}
        self._progress.warn(f"{text}; {len(held)} items are finished again by a new one")
        for opened in held:
            deaths = self._deaths[opened.item.id] = self._deaths.get(opened.item.id, 0) + 1
            if deaths > FINISH_DEATHS_ALLOWED:
                self._enter_failure(opened, f"finishing failed: {text}")
            else:
                self._to_finish.append(opened)
        self._finishers[number].kill()
        self._finishers[number] = self._finisher(number)

    def _add_finisher(self) -> None:
        self._finishers.append(self._finisher(len(self._finishers)))
        self._in_hand.append({})
        self._newest_at_work = False

    def _finisher(self, number: int) -> Child:
        return Child(f"finisher {number + 1}", work, dict(self._profiles), ENVIRONMENT)

    def _enter_done(self, opened: OpenItem, temporary: Path, measured: Measured) -> None:
        """The file gets its name, then the journal says so: dying between the two costs one item's work, no more."""
        final = self._folder / opened.item.out
        if leads_out(final, self._folder):
            where = opened.item.out.rpartition("/")[0]
            self._enter_failure(opened, f"the folder {where} lies behind a link out of the run folder; remove the link")
            return
        make_folder(final.parent)
        try:
            temporary.replace(final)
        except IsADirectoryError:
            self._enter_failure(opened, f"a folder stands where {opened.item.out} belongs; move it away")
            return
        except OSError as error:
            raise explain(error, final) from error
        result = {**result_of(opened, measured), "marks": marks_of(final)}
        self._journal.done(opened.item, opened.parts, measured.size_bytes, result)
        self._sweep(opened)
        self._progress.item(self._end_of(opened, "done", opened.reason, measured.duration_s))

    def _enter_failure(self, opened: OpenItem, reason: str) -> None:
        self._journal.failed(opened.item.id, reason, result_of(opened, None))
        self._sweep(opened)
        self._progress.item(self._end_of(opened, "failed", reason, 0.0))
        self._failures += 1
        if self._max_failures is not None and self._failures >= self._max_failures:
            raise TooManyFailures(f"stopped after {self._failures} failed items, as --max-failures asks")

    def _sweep(self, opened: OpenItem) -> None:
        for takes in opened.takes.values():
            for take in takes:
                Path(take.path).unlink(missing_ok=True)
        if opened.prepared.segments:
            with suppress(OSError):  # it was never made, or holds something that is not ours
                opened.takes_folder.rmdir()

    def _end_of(self, opened: OpenItem, state: str, reason: str, audio_s: float) -> ItemEnd:
        return ItemEnd(
            id=opened.item.id,
            out=opened.item.out,
            state=state,
            reason=reason,
            audio_s=audio_s,
            wall_s=monotonic() - opened.started,
            device=", ".join(sorted(opened.devices)),
            retries=opened.retries,
        )
