"""What a run leaves for people and for scripts: report.json, report.csv and report.html, made from the journal's rows."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

from jobs.records import Measured
from jobs.report_page import write_page

SCHEMA = 1
"""Version of report.json; raised when a key changes its meaning or goes away, not when one is added."""

State = Literal["done", "unchanged", "failed", "skipped", "pending", "removed"]
Rows = Callable[[], Iterator["ItemRow"]]


@dataclass(frozen=True, slots=True)
class TakeRow:
    """One attempt at one segment of an item."""

    segment: int
    """0 for the item's first segment."""
    attempt: int
    """0 for the first attempt."""
    seed: int
    faults: tuple[str, ...] = ()
    kept: bool = True
    """This take is in the finished file."""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of the report, in manifest order."""

    line: int
    id: str
    state: State
    reason: str
    """Why it was built (`new`, `text changed`, …), or why it failed or was left out."""
    out: str
    """Output file relative to the run folder, `/` between parts."""
    chapter: int | None
    title: str | None
    written: str
    spoken: str
    """What the engine was given, the segments joined."""
    segments: int
    language: str
    voice: str
    mode: str
    instruction: str | None
    speed: float
    seed: int
    profile: str
    measured: Measured | None
    """None where there is no finished file."""
    takes: tuple[TakeRow, ...] = ()
    retries: int = 0
    """Takes made after the first one of a segment."""
    device: str = ""
    seconds: float = 0.0
    """Wall time of the synthesis, in seconds."""
    warnings: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    """Columns of the manifest that are not fields of ours."""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """What one device did in the run."""

    name: str
    items: int
    audio_s: float
    busy_s: float
    rtf: float | None
    """busy_s / audio_s; None if it made no audio."""
    restarts: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Totals and circumstances of the run."""

    run_id: str
    started: str
    """ISO 8601 with zone."""
    ended: str | None
    wall_s: float
    manifest: str
    command: str
    version: str
    engine: Mapping[str, str]
    text_front_end: Mapping[str, str]
    devices: tuple[DeviceRow, ...]
    libraries: Mapping[str, str]
    counts: Mapping[str, int]
    """Items by state."""
    audio_s: float
    """Audio made by this run."""
    synthesis_s: float
    """Time that the devices spent on it, summed."""
    rtf: float | None
    """Wall time of the synthesis over the audio made: 0.1 is ten times faster than real time."""
    warnings: tuple[str, ...] = ()
    """What was replaced by something lesser; shown at the very top."""
    lexicon_unused: tuple[str, ...] = ()
    exit_code: int | None = None
    interrupted: bool = False
    resumed_from: str | None = None
    """Run that this one went on from."""


def write_reports(folder: Path, facts: RunFacts, rows: Rows) -> tuple[Path, ...]:
    """Write report.json, report.csv and report.html into the run folder; return their paths in this order.

    `rows()` is called several times and must give the same items each time; items are streamed, not held. Each file
    is written beside its place and the three are renamed only when all of them are on the disk, so a full disk
    (OSError) leaves the reports of the run before.
    """
    run = as_summary(facts)
    writers: dict[str, tuple[str, Callable[[TextIO], None]]] = {
        "report.json": ("utf-8", lambda file: _write_json(file, run, rows)),
        "report.csv": ("utf-8-sig", lambda file: _write_csv(file, rows)),
        "report.html": ("utf-8", lambda file: write_page(file, run, lambda: (plain(row) for row in rows()))),
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


def plain(value: Any) -> Any:
    """A record as JSON values: keys in the order of its fields, text that UTF-8 can hold, numbers that JSON can."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {whole_text(str(key)): plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    return [plain(item) for item in value]


def whole_text(text: str) -> str:
    """The text with every lone surrogate, which no UTF-8 file can hold, as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _write_json(file: TextIO, run: dict[str, Any], rows: Rows) -> None:
    """One JSON object; inside its `items` every item stands on a line of its own, for tools that read lines."""
    file.write(f'{{"schema": {SCHEMA},\n"run": {json.dumps(run, ensure_ascii=False)},\n"items": [')
    separator = "\n"
    for row in rows():
        file.write(separator + json.dumps(plain(row), ensure_ascii=False, allow_nan=False))
        separator = ",\n"
    file.write("\n]}\n")


_ITEM_COLUMNS = (
    *("line", "id", "state", "reason", "out", "chapter", "title", "language", "voice", "mode", "instruction"),
    *("speed", "seed", "profile", "segments", "retries", "device", "seconds"),
)
_MEASURED_COLUMNS = tuple(
    entry.name for entry in fields(Measured) if entry.name not in ("waveform", "segment_starts_s", "notes")
)
_TEXT_COLUMNS = ("faults", "warnings", "notes", "written", "spoken")
CSV_COLUMNS = (*_ITEM_COLUMNS, *_MEASURED_COLUMNS, *_TEXT_COLUMNS)

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""What a spreadsheet may take for a formula, and such a text that is already guarded."""


def _write_csv(file: TextIO, rows: Rows) -> None:
    extra_names = list(dict.fromkeys(name for row in rows() for name in row.extra))
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([*CSV_COLUMNS, *(whole_text(f"x_{name}") for name in extra_names)])
    for row in rows():
        writer.writerow([_cell(value) for value in _csv_values(row, extra_names)])


def _csv_values(row: ItemRow, extra_names: Iterable[str]) -> Iterator[Any]:
    measured = row.measured
    yield from (getattr(row, name) for name in _ITEM_COLUMNS)
    yield from (getattr(measured, name) if measured else None for name in _MEASURED_COLUMNS)
    yield "; ".join(f"segment {take.segment}: {', '.join(take.faults)}" for take in row.takes if take.faults)
    yield "; ".join(row.warnings)
    yield "; ".join(measured.notes) if measured else None
    yield row.written
    yield row.spoken
    yield from (row.extra.get(name) for name in extra_names)


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: text that could be a formula gets an apostrophe before it (docs/report.md)."""
    value = plain(value)
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value
