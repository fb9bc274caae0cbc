"""The plan of a run without the run: counts, reasons, estimates. Writes nothing, holds no rows."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.errors import Problem
from jobs.gear import Gear, gather
from jobs.journal import Journal
from jobs.journal_file import journal_path
from jobs.plan import Memory, NoMemory, Planned
from jobs.problem_groups import Gathered, shared
from jobs.records import Item
from jobs.row_check import RowRules
from jobs.seats import plan_seats, require_fit
from jobs.settings import Settings

SHOWN = 50
"""Items to make that are listed; the rest are counted."""
ShowSpoken = Callable[[str, list[tuple[str, str, str]]], None]


@dataclass(slots=True)
class View:
    """What a run would do."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    to_make: list[Planned] = field(default_factory=list)
    audio_s: float = 0.0
    wall_s: float | None = None
    wall_from: str = ""
    removed: int = 0
    problems: Gathered = field(default_factory=Gathered)
    warnings: tuple[str, ...] = ()
    voices: list[str] = field(default_factory=list)
    """What the linter warns of in the voices, a line each."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "counts": dict(self.counts),
            "reasons": dict(self.reasons),
            "to_make": [
                {"id": p.item.id, "line": p.item.line, "out": p.item.out, "seconds": p.seconds, "reason": p.reason}
                for p in self.to_make
            ],
            "audio_s": round(self.audio_s, 1),
            "wall_s": self.wall_s,
            "wall_from": self.wall_from,
            "removed": self.removed,
            "problems": [str(problem) for problem in self.problems.problems],
            "problems_count": self.problems.total,
            "warnings": list(self.warnings),
            "voices": self.voices,
        }


def survey(
    settings: Settings,
    folder: Path,
    read: Callable[[RowRules], Iterator[Item | Problem]],
    source: str,
    spoken: ShowSpoken | None = None,
    shown: int = SHOWN,
) -> View:
    """Plan every row against the run folder's journal, if there is one.

    `spoken` is shown each item's segments; at most `shown` items to make are listed (0: all).
    """
    gear = gather(settings, folder)
    require_fit(settings, gear.engine)
    view = View(warnings=gear.warnings)
    journal = Journal(folder, readonly=True) if journal_path(folder).exists() else None
    try:
        memory: Memory = journal if journal is not None else NoMemory()
        with _Ids() as ids:
            for verdict in gear.planner.plan(read(gear.rules), source, memory):
                if isinstance(verdict, Problem):
                    view.problems.add(verdict)
                    continue
                _count(view, verdict, shown)
                ids.add(verdict.item.id)
                if spoken is not None:
                    spoken(verdict.item.id, _segments(gear, verdict.item))
            if journal is not None:
                view.removed = sum(1 for item_id in journal.built_ids() if item_id not in ids)
                _estimate(view, gear, settings, journal)
        remarks = [(whose, r.message) for whose, r in gear.casting.auditions.remarks() if r.severity != "info"]
        view.voices = shared(remarks, "voices")
    finally:
        if journal is not None:
            journal.close()
    return view


def _count(view: View, verdict: Planned, shown: int) -> None:
    view.counts[verdict.state] += 1
    if verdict.state != "pending":
        return
    view.reasons[verdict.reason] += 1
    view.audio_s += verdict.seconds
    if not shown or len(view.to_make) < shown:
        view.to_make.append(verdict)


def _segments(gear: Gear, item: Item) -> list[tuple[str, str, str]]:
    if not gear.planner.speakable(item):
        return []
    prepared = gear.planner.prepare(item)
    return [
        (s.written, s.spoken, f"{s.gap.ms} ms" if s.gap.ms is not None else s.gap.boundary) for s in prepared.segments
    ]


def _estimate(view: View, gear: Gear, settings: Settings, journal: Journal) -> None:
    """Wall time from what this run folder has seen: seconds of work per second of audio, shared by the workers."""
    pace = journal.pace(gear.planner.engine_part)
    if pace is not None:
        workers = len(plan_seats(settings, gear.engine).seats)
        view.wall_s = round(view.audio_s * pace / workers, 1)
        view.wall_from = f"{pace:.2f} s of work per second of audio in earlier runs, {workers} workers"


class _Ids:
    """The manifest's ids on the disk, so that a million of them cost no memory."""

    def __enter__(self) -> _Ids:
        self._folder = tempfile.TemporaryDirectory(prefix="cosyvoice-batch-")
        self._db = sqlite3.connect(Path(self._folder.name) / "ids.sqlite", isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE TABLE ids (id TEXT PRIMARY KEY)"
        )
        self._db.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._db):
            self._db.rollback()
        self._folder.cleanup()

    def add(self, item_id: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO ids VALUES (?)", (item_id,))

    def __contains__(self, item_id: str) -> bool:
        return self._db.execute("SELECT 1 FROM ids WHERE id = ?", (item_id,)).fetchone() is not None
