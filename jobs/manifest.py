"""A manifest: CSV, TSV or JSON lines -> items, or every mistake in it, as a stream.

Memory does not grow with rows. Nothing here knows how an item is spoken or where its run folder is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from jobs import csv_rows, json_rows
from jobs.columns import Columns, resolve
from jobs.csv_rows import Fault
from jobs.errors import Problem
from jobs.fields import shown
from jobs.naming import NameRule, collision_key
from jobs.records import Item
from jobs.row_check import Checked, Row, RowChecker, RowRules
from jobs.source import Kind, Source, open_source
from jobs.uniqueness import Seen

__all__ = ["Kind", "NameRule", "Note", "Row", "RowRules", "Source", "Tally", "open_source", "read", "rows"]

_BATCH_ROWS = 4096
_BATCH_CHARS = 4_000_000
MAX_NOTES = 1000


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is no mistake, but that the person should see."""

    line: int
    id: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line} ({self.id}): {self.field}: {self.message}"


@dataclass(slots=True)
class Tally:
    """What `read` counted so far."""

    rows: int = 0
    """Rows of data, good, bad and disabled."""
    items: int = 0
    disabled: int = 0
    bad_rows: int = 0
    """Rows that gave no item though they are enabled; all of them below a header with mistakes."""
    problems: int = 0
    """At least one for each bad row, and those of the header."""
    notes: list[Note] = field(default_factory=list)
    """The first thousand."""
    notes_total: int = 0

    def note(self, note: Note) -> None:
        self.notes_total += 1
        if len(self.notes) < MAX_NOTES:
            self.notes.append(note)


def rows(source: Source) -> Iterator[Row | Problem]:
    """Every row as it stands; a Problem for each that cannot be taken apart, and for a header that cannot be used."""
    for part in _parts(source):
        if not isinstance(part, Columns):
            yield part.problem if isinstance(part, _BrokenRow) else part


def read(source: Source, rules: RowRules, tally: Tally | None = None) -> Iterator[Item | Problem]:
    """The items of a manifest, and every mistake in it, in the order of its lines.

    A row with mistakes gives all of them and no item; one that is not enabled gives nothing. A mistake in the header
    of a table concerns every row: then there are no items at all. `tally` counts along and keeps notes.
    Raises UserError for a naming template that cannot be used.
    """
    tally = Tally() if tally is None else tally
    with Seen() as seen:
        batch: list[Checked | Problem] = []
        batch_chars = 0
        for part in _checked(source, rules, tally):
            batch.append(part)
            if isinstance(part, Checked) and part.item is not None:
                batch_chars += len(part.item.text)
            if len(batch) >= _BATCH_ROWS or batch_chars >= _BATCH_CHARS:
                yield from _settled(batch, seen, source.path, tally)
                batch, batch_chars = [], 0
        yield from _settled(batch, seen, source.path, tally)


@dataclass(frozen=True, slots=True)
class _BrokenRow:
    """A row of data that cannot be taken apart."""

    problem: Problem


def _parts(source: Source) -> Iterator[Columns | Row | _BrokenRow | Problem]:
    """The columns of a table (once, before its rows), rows, and what is wrong with the file."""
    with source.open() as stream:
        any_part = False
        for part in _objects(source, stream) if source.kind == "jsonl" else _table(source, stream):
            any_part = True
            yield part
    if not any_part:
        yield Problem(source.path, 0, "", "is empty; write one row for each file to make")


def _objects(source: Source, stream: TextIO) -> Iterator[Row | _BrokenRow]:
    for number, record in enumerate(json_rows.parse(stream), start=1):
        if isinstance(record, Fault):
            yield _BrokenRow(Problem(source.path, record.line, "", record.message))
        else:
            yield Row(record.line, number, record.values)


def _table(source: Source, stream: TextIO) -> Iterator[Columns | Row | _BrokenRow | Problem]:
    """Rows below a header; nothing more than the reason where the header cannot be used."""
    parsed = csv_rows.parse(stream, None, "\t" if source.kind == "tsv" else ",")
    first = next(parsed, None)
    if first is None:
        return
    if isinstance(first, Fault):
        yield Problem(source.path, first.line, "", f"the header cannot be read: {first.message}")
        return
    header = [cell.strip() for cell in first.cells]
    columns = resolve(tuple(header))
    if refusal := _header_refusal(header, columns):
        yield Problem(source.path, first.line, "", refusal)
        return
    yield columns
    yield from (Problem(source.path, first.line, column, message) for column, message in columns.problems)
    nameless = [index for index, name in enumerate(header) if not name]
    for number, row in enumerate(parsed, start=1):
        if isinstance(row, Fault):
            yield _BrokenRow(Problem(source.path, row.line, "", row.message))
        elif fault := _misfit(row.cells, header, nameless):
            yield _BrokenRow(Problem(source.path, row.line, "", fault))
        else:
            yield Row(row.line, number, dict(zip(header, row.cells, strict=False)))


def _header_refusal(header: Sequence[str], columns: Columns) -> str | None:
    """Why no row can be read below this header."""
    if not columns.fields:
        if any("，" in cell for cell in header):
            return "the header is parted by full-width commas (，); use plain ones"
        return "the first line does not look like a header: no column is called text or id; add one like id,text,voice"
    if not columns.has("text") and not columns.has("text_file"):
        return "no column is called text or text_file; one of them must say what to speak"
    return None


def _misfit(cells: Sequence[str], header: Sequence[str], nameless: Sequence[int]) -> str | None:
    """Why cells cannot be matched with columns."""
    if len(cells) > len(header):
        return (
            f"holds {len(cells)} cells, but the header has {len(header)} columns; put a text that holds the delimiter"
            ' in quotes (no space before the first ")'
        )
    for index in nameless:
        if index < len(cells) and cells[index]:
            return f"cell {index + 1} is in a column without a name; name the column or empty the cell"
    return None


def _checked(source: Source, rules: RowRules, tally: Tally) -> Iterator[Checked | Problem]:
    checker = RowChecker(rules, source.folder)
    header_is_sound = True
    for part in _parts(source):
        if isinstance(part, Columns):
            checker = RowChecker(rules, source.folder, header=part)
            header_is_sound = not part.problems
        elif isinstance(part, Problem):
            tally.problems += 1
            yield part
        elif isinstance(part, _BrokenRow):
            tally.rows += 1
            tally.bad_rows += 1
            tally.problems += 1
            yield part.problem
        else:
            tally.rows += 1
            checked = checker.check(part)
            if not checked.enabled:
                tally.disabled += 1
                continue
            if not header_is_sound:
                checked.item = None
            yield checked


def _settled(batch: list[Checked | Problem], seen: Seen, file: str, tally: Tally) -> Iterator[Item | Problem]:
    """What a batch of rows comes to once ids and output names are compared with all rows before."""
    names: list[tuple[str, int]] = []
    for part in batch:
        if isinstance(part, Checked):
            if part.id is not None:
                names.append(("i" + part.id, part.line))
            if part.item is not None:
                names.append(("o" + collision_key(part.item.out), part.line))
    repeated = seen.add(names)
    # A quote that is never closed is told at the line where it opens, which may lie behind the next row.
    batch.sort(key=lambda part: part.line)
    for part in batch:
        if isinstance(part, Problem):
            yield part
            continue
        if repeated:
            _compare(part, repeated)
        if part.item is None or part.problems:
            tally.bad_rows += 1
            tally.problems += len(part.problems)
            yield from (Problem(file, part.line, column, message) for column, message in part.problems)
        else:
            tally.items += 1
            for column, message in part.notes:
                tally.note(Note(part.line, part.item.id, column, message))
            yield part.item


def _compare(checked: Checked, repeated: Mapping[tuple[str, int], int]) -> None:
    """Add what is wrong with a row because of an earlier one."""
    first = repeated.get((f"i{checked.id}", checked.line))
    if first is not None:
        checked.problems.append(
            ("id", f"{shown(checked.id)} is the id of line {first} already; give one of them another id")
        )
    if checked.item is None or (first is not None and not checked.own_out):
        return  # the same id makes the same name: one mistake, told once
    out = checked.item.out
    first = repeated.get(("o" + collision_key(out), checked.line))
    if first is not None:
        message = (
            f"{shown(out)} is the output of line {first} already (case does not count); give one of them another name"
        )
        checked.problems.append(("out", message))
