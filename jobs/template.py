"""Mail merge: texts with `{placeholders}` and a table of values -> one manifest row for each row of the table.

`{{` and `}}` stand for the braces themselves. Values are put in as they are and never read as placeholders. Every
mistake is told with its line: a placeholder that is no column, an empty value where one is needed, an id made twice.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.columns import field_of
from jobs.csv_rows import Fault
from jobs.csv_rows import parse as csv_rows
from jobs.errors import InvalidInput, Problem
from jobs.json_rows import parse as json_rows
from jobs.source import Source

MAX_PROBLEMS = 1000
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Slots:
    """A text cut at its placeholders."""

    pieces: tuple[tuple[str, str | None], ...]
    """(literal, name of the placeholder that follows it or None)."""

    @classmethod
    def parse(cls, text: str) -> Slots:
        """Raises ValueError with what is wrong with the braces."""
        pieces: list[tuple[str, str | None]] = []
        literal, at = "", 0
        for found in _PIECE.finditer(text):
            literal += text[at : found.start()]
            at = found.end()
            if found[0] in ("{{", "}}"):
                literal += found[0][0]
            elif found[1] is None:
                around = text[max(0, found.start() - 10) : found.end() + 10]
                raise ValueError(f"a lone {found[0]!r} near {around!r}; write {found[0] * 2} for the brace itself")
            elif not found[1].strip():
                raise ValueError("{} names no column; write {name}, or {{}} for the braces themselves")
            else:
                pieces.append((literal, found[1].strip()))
                literal = ""
        return cls((*pieces, (literal + text[at:], None)))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.pieces if name is not None)

    def filled(self, values: Mapping[str, str]) -> str:
        return "".join(literal + (values[name] if name is not None else "") for literal, name in self.pieces)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One row of the template: each row of the table makes one item of it."""

    line: int
    fields: Mapping[str, Slots | Any]
    """Texts as Slots, any other JSON value as it is."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A row of the values."""

    line: int
    number: int
    """1 for the first."""
    values: Mapping[str, str]


def read_template(source: Source, as_text: bool, id_text: str | None) -> list[Pattern]:
    """The template's rows: one with the whole file as `text`, or those of a manifest. Raises InvalidInput.

    `id_text` is the template of the ids, where the template has none of its own.
    """
    problems: list[Problem] = []
    rows: list[tuple[int, Mapping[str, object]]] = []
    if as_text:
        with source.open() as stream:
            rows = [(1, {"text": stream.read().removeprefix("\ufeff").strip()})]
    else:
        rows = [(line, values) for line, values in _rows(source, problems)]
    patterns = []
    for line, values in rows:
        cells: dict[str, object] = {**({"id": id_text} if id_text is not None else {}), **values}
        fields: dict[str, Slots | Any] = {}
        for name, value in cells.items():
            try:
                if value not in ("", None):
                    fields[name] = Slots.parse(value) if isinstance(value, str) else value
            except ValueError as error:
                problems.append(Problem(source.path, line, name, str(error)))
        if not {"text", "text_file"} & {field_of(name) for name in fields}:
            problems.append(Problem(source.path, line, "text", "is missing or empty; write the text with its {names}"))
        patterns.append(Pattern(line, fields))
    if not rows and not problems:
        problems.append(Problem(source.path, 0, "", "is empty; write the text with its {names}"))
    if problems:
        raise InvalidInput(problems)
    return patterns


def merge(patterns: Sequence[Pattern], template: str, values: Source) -> Iterator[dict[str, Any]]:
    """Manifest rows, in the table's order. Raises InvalidInput with all mistakes after the last good row.

    Columns of the table that are fields of a manifest (voice, language, out ...) go along where the template does not
    set them itself.
    """
    problems: list[Problem] = []
    made: dict[str, int] = {}
    number = total = 0
    for line, cells in _rows(values, problems):
        number += 1
        row = Filled(line, number, {name.strip(): _text(value) for name, value in cells.items()})
        for pattern in patterns:
            item, faults = _item(pattern, row, template, values.path)
            item_id = str(item.get("id", ""))
            if not faults and item_id in made:
                what = f"the id {item_id!r} is made by line {made[item_id]} too; put a column that differs into the id"
                faults = [Problem(values.path, line, "id", what)]
            made.setdefault(item_id, line)
            total += len(faults)
            problems += faults[: max(0, MAX_PROBLEMS - len(problems))]
            if not faults:
                yield item
    if not number and not problems:
        problems.append(Problem(values.path, 0, "", "holds no rows; write a header and one row for each item"))
    if problems:
        raise InvalidInput(list(dict.fromkeys(problems)), max(total, len(set(problems))))


def _item(pattern: Pattern, row: Filled, template: str, table: str) -> tuple[dict[str, Any], list[Problem]]:
    """One manifest row, or what is wrong with it."""
    faults: list[Problem] = []
    item: dict[str, Any] = {}
    for field, slots in pattern.fields.items():
        if not isinstance(slots, Slots):
            item[field] = slots
            continue
        for name in slots.names:
            if name not in row.values:
                faults.append(Problem(template, pattern.line, field, _unknown(name, row, table)))
            elif not row.values[name].strip():
                what = f"is empty, but {field!r} of the template needs it; fill it in or leave the row out"
                faults.append(Problem(table, row.line, name, what))
        if not faults:
            item[field] = slots.filled(row.values)
    own = {field_of(field) for field in pattern.fields}
    for name, value in row.values.items():
        field_name = field_of(name)
        if field_name is not None and field_name not in own and field_name not in ("text", "text_file") and value:
            item[name] = value
            own.add(field_name)
    if "id" not in own:
        item["id"] = str(row.number)
    return {"id": item.pop("id", ""), **item} if "id" in item else item, faults


def _unknown(name: str, row: Filled, table: str) -> str:
    near = difflib.get_close_matches(name, row.values, n=1)
    hint = f"did you mean {{{near[0]}}}?" if near else f"its columns are {', '.join(row.values)}"
    return f"{{{name}}} is no column of {table}; {hint}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return str(value)


def _rows(source: Source, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Line and values of each row of a table or of JSON lines; what cannot be taken apart joins `problems`."""
    with source.open() as stream:
        if source.kind == "jsonl":
            for record in json_rows(stream):
                if isinstance(record, Fault):
                    problems.append(Problem(source.path, record.line, "", record.message))
                else:
                    yield record.line, record.values
            return
        header: list[str] | None = None
        for cells in csv_rows(stream, None, "\t" if source.kind == "tsv" else ","):
            if isinstance(cells, Fault):
                problems.append(Problem(source.path, cells.line, "", cells.message))
                if header is None:
                    return
            elif header is None:
                header = [cell.strip() for cell in cells.cells]
                if twice := next((name for name in header if name and header.count(name) > 1), None):
                    problems.append(Problem(source.path, cells.line, twice, "two columns have this name; rename one"))
                    return
            elif len(cells.cells) > len(header):
                what = f"holds {len(cells.cells)} cells, but the header has {len(header)} columns; put texts in quotes"
                problems.append(Problem(source.path, cells.line, "", what))
            else:
                filled = [*cells.cells, *[""] * (len(header) - len(cells.cells))]
                yield cells.line, {name: cell for name, cell in zip(header, filled, strict=True) if name}
