"""A finished run folder becomes a book: one file for each chapter, one M4B with marks, or both. Incremental."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Literal

from jobs.assembly_facts import Book
from jobs.assembly_plan import Chapter, Placed, chapters_of, place
from jobs.assembly_record import NAME, Record, read_record, stands, write_record
from jobs.assembly_remarks import remarks
from jobs.errors import UserError
from jobs.files import explain, file_digest, make_folder
from jobs.fingerprint import digest
from jobs.finished_items import Missing, RunContent, refuse_missing
from jobs.naming import safe_part

if TYPE_CHECKING:
    from jobs.assembly_signal import Gains
    from presets.catalog import Profile

log = logging.getLogger(__name__)

VERSION = "2"
"""A change that alters the files raises it."""
Kind = Literal["chapters", "m4b"]
WORK_FOLDER = ".assembling"
M4B_SUFFIX = ".m4b"
KEPT_GAIN_DB = 0.5
"""A changed item moves the book's level a little: the gain stays, and with it the chapters that did not change."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to make of a run's content."""

    content: RunContent
    book: Book
    out: Path
    shapes: dict[Kind, Profile]
    """The profile of each kind of file that is wanted."""
    partial: bool


@dataclass(slots=True)
class Outcome:
    """What was made, for the person who asked."""

    made: list[str]
    unchanged: list[str]
    removed: list[str]
    warnings: list[str]
    missing: tuple[Missing, ...]


def assemble(order: Order, tell: Callable[[str], None]) -> Outcome:
    """Make what does not stand yet. `tell` hears of each file before it is made.

    Raises UserError (missing items, files in the way), EnvironmentFault (disk, no ffmpeg), RuntimeError.
    """
    refuse_missing(order.content, order.partial)
    chapters = chapters_of(order.content.items)
    record = _own_record(order)
    outcome = Outcome([], [], [], remarks(order.content, order.book, order.shapes, chapters), order.content.missing)
    work = order.out / WORK_FOLDER
    try:
        make_folder(order.out, "-o")
        rmtree(work, ignore_errors=True)
        make_folder(work, "-o")
        for kind in order.shapes:
            _Assembly(order, kind, chapters, record, work, outcome, tell).make()
    except OSError as error:
        raise explain(error, order.out, "-o") from error
    finally:
        rmtree(work, ignore_errors=True)
    return outcome


def _own_record(order: Order) -> Record:
    record = read_record(order.out)
    source = _path_between(order.out.resolve(), order.content.folder.resolve())
    if record.run_folder and record.run_folder != source and record.files:
        raise UserError(
            f"{order.out}: holds the book of {record.run_folder}; give another folder with -o, or move its {NAME} away"
        )
    record.run_folder = source
    return record


def _path_between(out: Path, folder: Path) -> str:
    """The run folder as seen from the book's, so that both may be moved together."""
    try:
        return Path(os.path.relpath(folder, out)).as_posix()
    except ValueError:  # another drive
        return folder.as_posix()


class _Assembly:
    """One kind of file of a book."""

    def __init__(
        self,
        order: Order,
        kind: Kind,
        chapters: Sequence[Chapter],
        record: Record,
        work: Path,
        outcome: Outcome,
        tell: Callable[[str], None],
    ) -> None:
        self.kind, self.order, self.record, self.work, self.tell = kind, order, record, work, tell
        self.profile = order.shapes[kind]
        self.placed = [place(chapter, self.profile) for chapter in chapters]
        self.outcome = outcome
        self._names = self._chapter_names() if kind == "chapters" else [self._book_name()]

    def _chapter_names(self) -> list[str]:
        digits = max(2, len(str(len(self.placed))))
        room = 180 - len(self.profile.suffix)
        return [
            safe_part(f"{p.chapter.number:0{digits}d} - {p.chapter.title}", room) + self.profile.suffix
            for p in self.placed
        ]

    def _book_name(self) -> str:
        return safe_part(self.order.book.title, 180) + M4B_SUFFIX

    def make(self) -> None:
        """Everything of this kind that does not stand; then what no chapter asks for any more goes."""
        inputs = self._inputs()
        before = {name: file for name, file in self.record.files.items() if file["kind"] == self.kind}
        if self.record.inputs.get(self.kind) == inputs and all(
            name in before and stands(self.order.out, before[name]) for name in self._names
        ):
            self.outcome.unchanged += self._names
            return
        self._refuse_strangers(before)
        gains = self._gains()
        if self.kind == "chapters":
            for placed, name in zip(self.placed, self._names, strict=True):
                self._make_chapter(placed, name, gains)
        else:
            self._make_m4b(self._names[0], gains)
        for name in set(before) - set(self._names):
            (self.order.out / name).unlink(missing_ok=True)
            del self.record.files[name]
            self.outcome.removed.append(name)
        self.record.inputs[self.kind] = inputs
        write_record(self.order.out, self.record)

    def _inputs(self) -> str:
        return digest(
            VERSION,
            self.profile.digest,
            _facts(self.order.book),
            self._cover_digest(),
            [(p.chapter.title, [self._piece_facts(piece) for piece in p.pieces], p.tail) for p in self.placed],
        )

    def _cover_digest(self) -> str:
        cover = self.order.book.cover
        return file_digest(str(cover.path)) if cover is not None else ""

    @staticmethod
    def _piece_facts(piece: Any) -> tuple[Any, ...]:
        return piece.item.digest, piece.silence, piece.skipped, piece.samples

    def _refuse_strangers(self, before: dict[str, Any]) -> None:
        for name in self._names:
            if name not in before and (self.order.out / name).exists():
                raise UserError(
                    f"{self.order.out / name}: is there and was not made by `assemble`; move it, or give another "
                    "folder with -o"
                )

    def _gains(self) -> Gains:
        """This book's gains: those of last time where they still fit."""
        from jobs.assembly_signal import Gains, find_gains

        self.tell(f"measuring {len(self.placed)} chapters for {self.profile.name}")
        found = find_gains(self.placed, self.profile)
        last = self.record.gains.get(self.kind)
        if last and last["profile"] == self.profile.digest:
            kept = Gains(last["book_db"], last["voice_db"], last["held"], last["afresh"])
            near = abs(kept.book_db - found.book_db) <= KEPT_GAIN_DB and kept.voice_db.keys() == found.voice_db.keys()
            if near and all(abs(kept.voice_db[v] - found.voice_db[v]) <= KEPT_GAIN_DB for v in found.voice_db):
                found = kept
        if found.held:
            self.outcome.warnings.append(
                f"{self.profile.name}: the gain was held at {self.profile.max_gain_db:+.0f} dB: the book stays quieter"
            )
        self.record.gains[self.kind] = {"profile": self.profile.digest, **asdict(found)}
        return found

    def _tags(self, title: str, track: int, tracks: int) -> dict[str, str]:
        return {**self.order.book.tags(), "title": title, "track": f"{track}/{tracks}", "disc": "1/1"}

    def _make_chapter(self, placed: Placed, name: str, gains: Gains) -> None:
        from jobs.assembly_signal import chapter_signal, correction_db
        from jobs.cover_tag import add_cover
        from jobs.finish import finish_signal

        tags = self._tags(placed.chapter.title, placed.chapter.number, len(self.placed))
        pieces = [self._piece_facts(piece) for piece in placed.pieces]
        picture = self._cover_digest() if self.profile.tags else ""
        recipe = digest(VERSION, self.profile.digest, tags, picture, pieces, placed.tail, asdict(gains))
        known = self.record.files.get(name)
        if known is not None and known["recipe"] == recipe and stands(self.order.out, known):
            self.outcome.unchanged.append(name)
            return
        self.tell(f"making {name} ({placed.samples / self.profile.sample_rate_hz:.0f} s)")
        more_db = correction_db(placed, self.profile, gains)
        if more_db:
            self.outcome.warnings.append(
                f"{name}: {more_db:+.1f} dB beside the rest of the book, to stay in ACX's window for one file"
            )
        rate_hz = self.profile.sample_rate_hz
        ready = replace(self.profile, loudness="none", target_db=None)
        part = self.work / f"chapter{self.profile.suffix}"
        measured = finish_signal(
            lambda: chapter_signal(placed, rate_hz, gains, more_db), placed.samples, rate_hz, ready, tags, part
        )
        self.outcome.warnings += [f"{name}: {note}" for note in measured.notes]
        if picture and self.order.book.cover is not None:
            add_cover(part, self.profile.container, self.order.book.cover)
            measured = replace(measured, size_bytes=part.stat().st_size)
        facts = {key: value for key, value in asdict(measured).items() if key not in ("waveform", "segment_starts_s")}
        self._keep(part, name, recipe, facts, [(placed, 0)])

    def _make_m4b(self, name: str, gains: Gains) -> None:
        from jobs.assembly_m4b import bind
        from jobs.m4b import Mark

        starts = [sum(p.samples for p in self.placed[:number]) for number in range(len(self.placed))]
        total = starts[-1] + self.placed[-1].samples
        marks = [Mark(start, _mark_title(p.chapter)) for start, p in zip(starts, self.placed, strict=True)]
        self.tell(f"making {name} ({total / self.profile.sample_rate_hz:.0f} s, {len(marks)} chapters)")
        part = self.work / "book.m4b"
        tags = self._tags(self.order.book.title, 1, 1) | {"description": self.order.book.description}
        facts = bind(self.placed, marks, gains, self.profile, tags, self.order.book.cover, part)
        peak = facts["true_peak_dbtp"]
        if peak is not None and peak > self.profile.ceiling_dbtp:
            self.outcome.warnings.append(
                f"{name}: the encoder lifts peaks to {peak:.1f} dBTP, {self.profile.ceiling_dbtp:g} was asked for"
            )
        recipe = self._inputs()
        self._keep(part, name, recipe, facts, list(zip(self.placed, starts, strict=True)))

    def _keep(self, part: Path, name: str, recipe: str, facts: dict[str, Any], holds: list[tuple[Placed, int]]) -> None:
        """The file gets its name, then the record says so."""
        rate_hz = self.profile.sample_rate_hz
        total = sum(placed.samples for placed, _ in holds)
        chapters = [_chapter_record(placed, start, rate_hz) for placed, start in holds]
        part.replace(self.order.out / name)
        self.record.files[name] = {
            **{"name": name, "kind": self.kind, "profile": self.profile.name, "recipe": recipe},
            **{"bytes": (self.order.out / name).stat().st_size, "duration_s": total / rate_hz},
            "measured": facts,
            "chapters": chapters,
        }
        write_record(self.order.out, self.record)
        self.outcome.made.append(name)


def _facts(book: Book) -> dict[str, Any]:
    return {key: str(value) for key, value in asdict(book).items() if key != "cover"}


def _mark_title(chapter: Chapter) -> str:
    """Players show one line; control characters would end it."""
    return "".join(char for char in chapter.title if char.isprintable()).strip() or f"{chapter.number}"


def _chapter_record(placed: Placed, start: int, rate_hz: int) -> dict[str, Any]:
    offsets = placed.offsets()
    return {
        "number": placed.chapter.number,
        "title": placed.chapter.title,
        "kind": placed.chapter.kind,
        "start_s": start / rate_hz,
        "stop_s": (start + placed.samples) / rate_hz,
        "items": [
            {"id": piece.item.id, "digest": piece.item.digest, "offset_s": (start + offset) / rate_hz}
            for piece, offset in zip(placed.pieces, offsets, strict=True)
        ],
    }
