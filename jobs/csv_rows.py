"""CSV and TSV text -> rows of cells with the physical line where each starts; faults are told and reading goes on."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from jobs.columns import field_of
from jobs.encoding import LINE_LIMIT_CHARS

DELIMITERS = (",", ";", "\t", "|")
_EXCEL_HINT = re.compile(r"\ufeff?\"?sep=(.)\"?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cells:
    line: int
    """Physical line where the row starts, 1-based."""
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Fault:
    line: int
    message: str


def delimiter_of(header: str, otherwise: str = ",") -> str:
    """The delimiter that makes the most fields of `header`, else the one that makes the most cells."""

    def merit(delimiter: str) -> tuple[int, int, bool]:
        cells = next(csv.reader([header[:100_000]], delimiter=delimiter), [])
        return sum(field_of(cell) is not None for cell in cells), len(cells), delimiter == otherwise

    return max(DELIMITERS, key=merit)


def excel_hint(line: str) -> str | None:
    """The delimiter in the `sep=;` line that Excel understands in front of a header."""
    match = _EXCEL_HINT.fullmatch(line)
    return match[1] if match else None


def parse(stream: TextIO, delimiter: str | None, otherwise: str) -> Iterator[Cells | Fault]:
    """All rows, the header first, without those that are empty. `delimiter` None: found in the header.

    `stream` must be opened with `newline=""`.
    """
    lines = _Lines(stream)
    first = next(lines, "")
    if hint := excel_hint(first):
        delimiter = delimiter or hint
    else:
        lines.back([first])
    if delimiter is None:
        lines.skip_blank()
        header = next(lines, "")
        lines.back([header])
        delimiter = delimiter_of(header, otherwise)
    csv.field_size_limit(LINE_LIMIT_CHARS)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.start_row()
        line = lines.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield _explained(lines.row, line, delimiter, str(error))
            # One quote too many must not swallow the rows after it.
            lines.back(lines.row[1:])
            continue
        except _TooLong:
            yield Fault(lines.number + 1, f"holds a line of more than {LINE_LIMIT_CHARS:,} characters; split the text")
            return
        if any(cells):
            yield Cells(line, cells)


def _explained(row: Sequence[str], line: int, delimiter: str, error: str) -> Fault:
    """A fault of the csv module in words that say where to look."""
    opened = line + _last_quote_opened(row, delimiter)
    last = line + len(row) - 1
    if "unexpected end" in error or "field limit" in error:
        return Fault(opened, 'a quoted field opens here and is never closed; add the missing " or remove the stray one')
    if last > opened:
        what = f"a quoted field opens here, closes in line {last} and is followed by more text"
        return Fault(opened, f'{what}; a closing " is missing, or a " inside the field is not doubled')
    return Fault(last, 'more text follows a closing "; double every " inside a quoted field ("")')


def _last_quote_opened(row: Sequence[str], delimiter: str) -> int:
    """Index of the line in which the last quoted field of a broken row opens."""
    opened, state = 0, "start"
    for index, line in enumerate(row):
        for char in line:
            if state == "quoted":
                state = "closed" if char == '"' else "quoted"
            elif char == '"' and state in ("start", "closed"):
                opened = index if state == "start" else opened  # after "closed" it is a doubled quote
                state = "quoted"
            else:
                state = "start" if char == delimiter else "plain"
    return opened


class _TooLong(Exception):
    pass


class _Lines:
    """Physical lines of a stream, counted, with those of the current row kept so that they can be read again."""

    def __init__(self, stream: TextIO) -> None:
        self.number = 0
        self.row: list[str] = []
        self._stream = stream
        self._again: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._stream.readline(LINE_LIMIT_CHARS)
        if not line:
            raise StopIteration
        if len(line) >= LINE_LIMIT_CHARS:
            raise _TooLong
        if self.number == 0:
            line = line.removeprefix("\ufeff")
        self.number += 1
        self.row.append(line)
        return line

    def start_row(self) -> None:
        self.row = []

    def back(self, lines: Sequence[str]) -> None:
        """Give `lines`, the last ones read, once more."""
        self._again.extendleft(reversed([line for line in lines if line]))
        self.number -= sum(1 for line in lines if line)

    def skip_blank(self) -> None:
        for line in self:
            if line.strip():
                self.back([line])
                return
