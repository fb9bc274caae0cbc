"""Items as rows of report.csv, which Excel reads and no spreadsheet runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, TextIO

from jobs.records import Measured
from jobs.report_rows import names_of, whole_text

_ITEM_COLUMNS = (
    *("line", "id", "state", "reason", "out", "chapter", "title", "language", "voice", "mode", "instruction"),
    *("speed", "seed", "profile", "segments", "retries", "device", "seconds"),
)
_MEASURED_COLUMNS = tuple(name for name in names_of(Measured) if name not in ("waveform", "segment_starts_s", "notes"))
_TEXT_COLUMNS = ("faults", "warnings", "notes", "written", "spoken", "heard", "error_rate")
CSV_COLUMNS = (*_ITEM_COLUMNS, *_MEASURED_COLUMNS, *_TEXT_COLUMNS)
"""The columns of every report; those of the manifest that are no fields of ours follow them."""

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""What a spreadsheet may take for a formula, and such a text that is already guarded."""
_SUSPECTS = frozenset("'=+-@\t\r\n＝＋－＠")
"""First characters of such texts: nearly no cell begins with one."""


class CsvRows:
    """Writes rows; learns on the way which other columns there are."""

    def __init__(self, file: TextIO, extra_names: Sequence[str] = ()) -> None:
        self._writer = csv.writer(file, lineterminator="\r\n")
        self._extra_names = dict.fromkeys(extra_names)
        self._narrowest: int | None = None

    @property
    def extra_names(self) -> tuple[str, ...]:
        return tuple(self._extra_names)

    @property
    def even(self) -> bool:
        """Whether every row has a cell for every column that is known by now."""
        return self._narrowest is None or self._narrowest == len(self._extra_names)

    def write(self, values: Mapping[str, Any]) -> None:
        """One item, its values as report.json has them."""
        self._extra_names.update(dict.fromkeys(values["extra"]))
        if self._narrowest is None:
            self._narrowest = len(self._extra_names)
        self._writer.writerow([_cell(value) for value in self._values(values)])

    def _values(self, values: Mapping[str, Any]) -> Iterator[Any]:
        measured = values["measured"] or {}
        yield from (values[name] for name in _ITEM_COLUMNS)
        yield from (measured.get(name) for name in _MEASURED_COLUMNS)
        yield "; ".join(f"segment {t['segment']}: {', '.join(t['faults'])}" for t in values["takes"] if t["faults"])
        yield "; ".join(values["warnings"])
        yield "; ".join(measured.get("notes", ()))
        yield from (values[name] for name in ("written", "spoken", "heard", "error_rate"))
        yield from map(values["extra"].get, self._extra_names)


def csv_head(extra_names: Sequence[str]) -> str:
    """The row of names."""
    head = StringIO(newline="")
    csv.writer(head, lineterminator="\r\n").writerow([*CSV_COLUMNS, *(whole_text(f"x_{name}") for name in extra_names)])
    return head.getvalue()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: text that could be a formula gets an apostrophe before it (docs/report.md)."""
    if isinstance(value, str) and value[:1] in _SUSPECTS and _FORMULA.match(value):
        return "'" + value
    return value
