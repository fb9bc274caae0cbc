"""What a run leaves for people and for scripts: report.json, report.csv and report.html, made from its items."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jobs.records import Measured
from jobs.report_page import write_page
from jobs.report_rows import DeviceRow, ItemRow, RunFacts, State, TakeRow, json_line, names_of, plain, whole_text
from jobs.retry import VoiceTally

__all__ = [
    "CSV_COLUMNS",
    "SCHEMA",
    "DeviceRow",
    "ItemRow",
    "RunFacts",
    "State",
    "TakeRow",
    "as_summary",
    "write_reports",
]

SCHEMA = 1
"""Version of report.json; raised when a key changes its meaning or goes away, not when one is added."""

PAGE_ITEMS = 50_000
"""More than this a browser does not hold well; a larger run shows the items that need a look, then the first others."""
REASONS = 50
"""Different reasons of failure that the page writes out above its table; the table has all failures."""
ITEMS_PER_REASON = 5

Rows = Callable[[], Iterator[ItemRow]]


def write_reports(folder: Path, facts: RunFacts, rows: Rows) -> tuple[Path, ...]:
    """Write report.json, report.csv and report.html into the run folder; return their paths in this order.

    `rows()` is called several times and must give the same items each time; items are streamed, not held. Each file
    is written beside its place and the three are renamed only when all of them are on the disk, so a full disk
    (OSError) leaves the reports of the run before.
    """
    run = as_summary(facts)
    survey = _survey(rows)
    writers: dict[str, tuple[str, Callable[[TextIO], None]]] = {
        "report.json": ("utf-8", lambda file: _write_json(file, run, rows, survey)),
        "report.csv": ("utf-8-sig", lambda file: _write_csv(file, rows, survey.extra_names)),
        "report.html": ("utf-8", lambda file: _write_html(file, run, rows, survey)),
    }
    finished: list[tuple[Path, Path]] = []
    with ExitStack() as on_error:
        for name, (encoding, write) in writers.items():
            part = folder / f".{name}.part"
            on_error.callback(part.unlink, missing_ok=True)
            with part.open("w", encoding=encoding, newline="") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            finished.append((part, folder / name))
        for part, path in finished:
            part.replace(path)
    return tuple(path for _, path in finished)


def as_summary(facts: RunFacts) -> dict[str, Any]:
    """The run's facts as plain JSON values: the `run` object of report.json, and what `--json` prints."""
    summary: dict[str, Any] = plain(facts)
    return summary


@dataclass(frozen=True, slots=True)
class _Survey:
    """What must be known of all items before the first of them is written."""

    total: int
    to_look_at: int
    failures: dict[str, list[ItemRow]]
    """The first items that failed, by reason."""
    failed: Counter[str]
    """How many failed for each of these reasons."""
    extra_names: tuple[str, ...]
    by_voice: list[dict[str, Any]]
    """Pass rates, the worst first."""


def _survey(rows: Rows) -> _Survey:
    total = to_look_at = 0
    failures: dict[str, list[ItemRow]] = {}
    failed: Counter[str] = Counter()
    names: dict[str, None] = {}
    voices: dict[str, VoiceTally] = {}
    for row in rows():
        if row.voice and row.state in ("done", "unchanged", "failed"):
            voices.setdefault(row.voice, VoiceTally(row.voice)).hear(row)
        total += 1
        to_look_at += _needs_a_look(row)
        names.update(dict.fromkeys(row.extra))
        if row.state == "failed" and (row.reason in failures or len(failures) < REASONS):
            failed[row.reason] += 1
            first = failures.setdefault(row.reason, [])
            if len(first) < ITEMS_PER_REASON:
                first.append(row)
    tallies = sorted((tally.as_row() for tally in voices.values()), key=lambda tally: tally["pass_rate"])
    return _Survey(total, to_look_at, failures, failed, tuple(names), plain(tallies))


def _needs_a_look(row: ItemRow) -> bool:
    return row.state in ("failed", "pending") or bool(row.warnings) or row.retries > 0


def _write_json(file: TextIO, run: dict[str, Any], rows: Rows, survey: _Survey) -> None:
    """One JSON object; inside its `items` every item stands on a line of its own, for tools that read lines."""
    file.write(
        f'{{"schema": {SCHEMA},\n"run": {json_line(run)},\n"by_voice": {json_line(survey.by_voice)},\n"items": ['
    )
    separator = "\n"
    for row in rows():
        file.write(separator + json_line(plain(row)))
        separator = ",\n"
    file.write("\n]}\n")


_ITEM_COLUMNS = (
    *("line", "id", "state", "reason", "out", "chapter", "title", "language", "voice", "mode", "instruction"),
    *("speed", "seed", "profile", "segments", "retries", "device", "seconds"),
)
_MEASURED_COLUMNS = tuple(name for name in names_of(Measured) if name not in ("waveform", "segment_starts_s", "notes"))
_TEXT_COLUMNS = ("faults", "warnings", "notes", "written", "spoken", "heard", "error_rate")
CSV_COLUMNS = (*_ITEM_COLUMNS, *_MEASURED_COLUMNS, *_TEXT_COLUMNS)

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""What a spreadsheet may take for a formula, and such a text that is already guarded."""


def _write_csv(file: TextIO, rows: Rows, extra_names: Sequence[str]) -> None:
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([*CSV_COLUMNS, *(whole_text(f"x_{name}") for name in extra_names)])
    for row in rows():
        writer.writerow([_cell(value) for value in _csv_values(row, extra_names)])


def _csv_values(row: ItemRow, extra_names: Sequence[str]) -> Iterator[Any]:
    measured = row.measured
    yield from (getattr(row, name) for name in _ITEM_COLUMNS)
    yield from (getattr(measured, name) if measured else None for name in _MEASURED_COLUMNS)
    yield "; ".join(f"segment {take.segment}: {', '.join(take.faults)}" for take in row.takes if take.faults)
    yield "; ".join(row.warnings)
    yield "; ".join(measured.notes) if measured else None
    yield row.written
    yield row.spoken
    yield row.heard
    yield row.error_rate
    yield from (row.extra.get(name) for name in extra_names)


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: text that could be a formula gets an apostrophe before it (docs/report.md)."""
    value = plain(value)
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def _write_html(file: TextIO, run: dict[str, Any], rows: Rows, survey: _Survey) -> None:
    write_page(
        file,
        run,
        items=(plain(row) for row in _chosen(rows, survey.to_look_at)),
        failures=[
            {"reason": whole_text(reason), "count": survey.failed[reason], "items": plain(first)}
            for reason, first in survey.failures.items()
        ],
        by_voice=survey.by_voice,
        total=survey.total,
        held=min(survey.total, PAGE_ITEMS),
    )


def _chosen(rows: Rows, to_look_at: int) -> Iterator[ItemRow]:
    """The items that the page holds, in order: all, or PAGE_ITEMS of them, those that need a look before others."""
    looks = min(to_look_at, PAGE_ITEMS)
    others = PAGE_ITEMS - looks
    for row in rows():
        if _needs_a_look(row):
            looks -= 1
            if looks >= 0:
                yield row
        elif others > 0:
            others -= 1
            yield row
