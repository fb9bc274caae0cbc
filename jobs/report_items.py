"""All items of a run, gone through once: their part of each report, and what the reports' heads say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jobs.files import open_fresh
from jobs.report_csv import CsvRows
from jobs.report_page import page_item
from jobs.report_rows import ItemRow, json_line, plain, whole_text
from jobs.retry import VoiceTally, to_retry

NAMES = ("report.json", "report.csv", "report.html")
PAGE_ITEMS = 50_000
"""More than this a browser does not hold well; a larger run shows the items that need a look, then the first others."""
REASONS = 50
"""Different reasons of failure that the page writes out above its table; the table has all failures."""
ITEMS_PER_REASON = 5

Rows = Callable[[], Iterator[ItemRow]]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the heads say of all items. Values are those that JSON has."""

    total: int
    held: int
    """Items that the page holds."""
    failures: list[dict[str, Any]]
    """By reason: `reason`, `count`, and `id`, `line` and `written` of the first `items`."""
    extra_names: list[str]
    """Columns of the manifest that are no fields of ours."""
    by_voice: list[dict[str, Any]]
    """Pass rates, the worst first."""
    to_retry: int
    """Items that `retry.jsonl` is to hold."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes of a file between which all items stand."""

    path: Path
    start: int
    stop: int


@contextmanager
def gathered(folder: Path, rows: Rows) -> Iterator[tuple[Survey, dict[str, Stretch]]]:
    """The items' part of each report, in files that are there only within this context.

    Items are streamed. `rows()` is asked again for a page that cannot hold all of them, or where a column of the
    manifest turns up after the first row: it must give the same items each time.
    """
    spools = {name: folder / f".{name}.items" for name in NAMES}
    try:
        with ExitStack() as files:
            opened = [files.enter_context(open_fresh(path, "utf-8")) for path in spools.values()]
            survey = _written(rows, *opened)
        yield survey, {name: Stretch(path, 0, path.stat().st_size) for name, path in spools.items()}
    finally:
        for path in spools.values():
            path.unlink(missing_ok=True)


def _written(rows: Rows, json_file: TextIO, csv_file: TextIO, page_file: TextIO) -> Survey:
    tally, table = _Tally(), CsvRows(csv_file)
    for row in rows():
        values = plain(row)
        json_file.write((",\n" if tally.total else "") + json_line(values))
        table.write(values)
        if tally.total < PAGE_ITEMS:
            page_file.write(("\n," if tally.total else "") + page_item(values))
        tally.hear(row)
    if tally.total > PAGE_ITEMS:
        _restart(page_file)
        for number, row in enumerate(_chosen(rows, tally.to_look_at)):
            page_file.write(("\n," if number else "") + page_item(plain(row)))
    if not table.even:
        _restart(csv_file)
        table = CsvRows(csv_file, table.extra_names)
        for row in rows():
            table.write(plain(row))
    return tally.survey(table.extra_names)


def _restart(file: TextIO) -> None:
    file.seek(0)
    file.truncate()


class _Tally:
    """Counts as the items go by."""

    def __init__(self) -> None:
        self.total = self.to_look_at = self._to_retry = 0
        self._failures: dict[str, list[ItemRow]] = {}
        self._failed: Counter[str] = Counter()
        self._voices: dict[str, VoiceTally] = {}

    def hear(self, row: ItemRow) -> None:
        self.total += 1
        self.to_look_at += _needs_a_look(row)
        self._to_retry += to_retry(row)
        if row.voice and row.state in ("done", "unchanged", "failed"):
            self._voices.setdefault(row.voice, VoiceTally(row.voice)).hear(row)
        if row.state == "failed" and (row.reason in self._failures or len(self._failures) < REASONS):
            self._failed[row.reason] += 1
            first = self._failures.setdefault(row.reason, [])
            if len(first) < ITEMS_PER_REASON:
                first.append(row)

    def survey(self, extra_names: tuple[str, ...]) -> Survey:
        voices = sorted((tally.as_row() for tally in self._voices.values()), key=lambda tally: tally["pass_rate"])
        failures = [
            {
                "reason": whole_text(reason),
                "count": self._failed[reason],
                "items": [
                    {"id": whole_text(row.id), "line": row.line, "written": whole_text(row.written)} for row in first
                ],
            }
            for reason, first in self._failures.items()
        ]
        return Survey(
            total=self.total,
            held=min(self.total, PAGE_ITEMS),
            failures=failures,
            extra_names=list(extra_names),
            by_voice=plain(voices),
            to_retry=self._to_retry,
        )


def _needs_a_look(row: ItemRow) -> bool:
    return row.state in ("failed", "pending") or bool(row.warnings) or row.retries > 0


def _chosen(rows: Rows, to_look_at: int) -> Iterator[ItemRow]:
    """The items that the page holds, in order: PAGE_ITEMS of them, those that need a look before others."""
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
