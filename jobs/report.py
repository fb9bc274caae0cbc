"""What a run leaves for people and for scripts: report.json, report.csv and report.html, made from its items.

Each file is a head, the items, and an end. Heads and ends tell of this run and are always written anew. Where no item
has changed since the reports that stand were written, their part with the items is taken over as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from jobs.files import open_fresh_bytes
from jobs.report_csv import CSV_COLUMNS, csv_head
from jobs.report_items import NAMES, Rows, Stretch, Survey, gathered
from jobs.report_page import page_frame
from jobs.report_rows import DeviceRow, ItemRow, RunFacts, State, TakeRow, json_line, plain
from jobs.retry import write_retry

__all__ = [
    "CSV_COLUMNS",
    "SCHEMA",
    "DeviceRow",
    "ItemRow",
    "RunFacts",
    "State",
    "TakeRow",
    "as_summary",
    "renew_reports",
    "write_reports",
]

SCHEMA = 1
"""Version of report.json; raised when a key changes its meaning or goes away, not when one is added."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """Reports as they were written: of which items, and where the items stand in each file."""

    items: str
    """A digest of all that the items are made of."""
    survey: Survey
    files: Mapping[str, tuple[int, int, int, int]]
    """Size in bytes, time of the last change in ns, first byte of the items and the one after them."""


def write_reports(folder: Path, facts: RunFacts, rows: Rows) -> tuple[Path, ...]:
    """Write report.json, report.csv and report.html into the run folder; return their paths in this order.

    `rows()` may be called several times and must give the same items each time; items are streamed, not held. Each file
    is written beside its place and the three are renamed only when all of them are on the disk, so a full disk
    (OSError) leaves the reports of the run before.
    """
    renew_reports(folder, facts, rows, "", None)
    return tuple(folder / name for name in NAMES)


def renew_reports(folder: Path, facts: RunFacts, rows: Rows, items: str, note: str | None) -> str:
    """As `write_reports`, and retry.jsonl beside them; returns the note to be given to the next run.

    `items` is a digest of all that the rows are made of. If the note of the run before tells the same digest, and the
    reports are the ones that it wrote, their items are taken over.
    """
    run = as_summary(facts)
    with _items_of(folder, rows, items, note) as (survey, stretches):
        frames = _frames(run, survey)
        placed: dict[str, tuple[int, int]] = {}
        with ExitStack() as on_error:
            parts: list[tuple[Path, Path]] = []
            for name, (head, end) in frames.items():
                start, stop = len(head), len(head) + stretches[name].stop - stretches[name].start
                placed[name] = start, stop
                if _stands(folder / name, stretches[name], head, end):
                    continue
                part = folder / f".{name}.part"
                on_error.callback(part.unlink, missing_ok=True)
                with open_fresh_bytes(part) as file:
                    file.write(head)
                    for piece in _pieces(stretches[name]):
                        file.write(piece)
                    file.write(end)
                    file.flush()
                    os.fsync(file.fileno())
                parts.append((part, folder / name))
            for part, path in parts:
                part.replace(path)
    if survey.to_retry:
        write_retry(folder, rows)
    else:
        (folder / "retry.jsonl").unlink(missing_ok=True)
    return json.dumps(asdict(_Standing(items, survey, {name: _place(folder / name, *placed[name]) for name in NAMES})))


def as_summary(facts: RunFacts) -> dict[str, Any]:
    """The run's facts as plain JSON values: the `run` object of report.json, and what `--json` prints."""
    summary: dict[str, Any] = plain(facts)
    return summary


def _items_of(
    folder: Path, rows: Rows, items: str, note: str | None
) -> AbstractContextManager[tuple[Survey, dict[str, Stretch]]]:
    """The items' part of each report: of the reports that stand if they tell of these very items, else written anew."""
    standing = _read(note, items) if note and items else None
    if standing is None:
        return gathered(folder, rows)
    stretches = {}
    for name, (size, changed_ns, start, stop) in standing.files.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or _place(path, start, stop)[:2] != (size, changed_ns):
            return gathered(folder, rows)
        stretches[name] = Stretch(path, start, stop)
    return nullcontext((standing.survey, stretches))


def _read(note: str, items: str) -> _Standing | None:
    """The note, if it tells of these items: their digest names the version, so that no other version's note is read."""
    values = json.loads(note)
    if values["items"] != items:
        return None
    files = {name: tuple(values["files"][name]) for name in NAMES}
    return _Standing(values["items"], Survey(**values["survey"]), files)


def _place(path: Path, start: int, stop: int) -> tuple[int, int, int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, start, stop


def _frames(run: dict[str, Any], survey: Survey) -> dict[str, tuple[bytes, bytes]]:
    """What stands before and after the items of each report."""
    line = "\n" if survey.total else ""
    json_head = (
        f'{{"schema": {SCHEMA},\n"run": {json_line(run)},\n"by_voice": {json_line(survey.by_voice)},\n"items": [{line}'
    )
    page_head, page_end = page_frame(run, survey)
    return {
        "report.json": (json_head.encode(), b"\n]}\n"),
        "report.csv": (csv_head(survey.extra_names).encode("utf-8-sig"), b""),
        "report.html": (page_head.encode(), page_end.encode()),
    }


def _stands(path: Path, items: Stretch, head: bytes, end: bytes) -> bool:
    """Whether the file already is what would be written."""
    if path != items.path or items.start != len(head):
        return False
    with path.open("rb") as file:
        same_head = file.read(len(head)) == head
        file.seek(items.stop)
        return same_head and file.read() == end


def _pieces(items: Stretch) -> Iterator[bytes]:
    with items.path.open("rb") as file:
        file.seek(items.start)
        yield from _read_up_to(file, items.stop - items.start)


def _read_up_to(file: BinaryIO, count: int) -> Iterator[bytes]:
    while count > 0 and (piece := file.read(min(count, 1 << 20))):
        count -= len(piece)
        yield piece
