"""The rows and facts that a report is made of, and how they become plain JSON values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from jobs.records import Measured

State = Literal["done", "unchanged", "failed", "skipped", "pending", "removed"]


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
    heard: str | None = None
    """What the recogniser of `--verify` heard; None: nobody listened."""
    error_rate: float | None = None
    likeness: float | None = None
    """Cosine between its speaker embedding and that of its voice's reference; None: not compared."""


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
    heard: str | None = None
    """What the recogniser heard in its kept takes, joined; None: nobody listened."""
    error_rate: float | None = None
    """Wrong, lost and added words (syllables in Chinese) over those of the spoken text."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What else its row says, as manifest fields: with id, text and a seed it is a row again. Empty: it has no row."""


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
    workers: int = 1
    busy_share: float | None = None
    """Part of the run's wall time in which its workers had work, 0 to 1; None: not measured."""
    takes: int = 0
    retries: int = 0
    """Takes after the first one of their segment."""
    host_peak_bytes: int = 0
    """Most host memory that one worker held; 0: not measured."""
    device_peak_bytes: int = 0
    """The same of the device's own memory."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each stage inside the engine, added up over the workers, and the speech ids and audio that came out;
    empty for engines that keep no tally."""


@dataclass(frozen=True, slots=True)
class VoiceRow:
    """One named voice that the run's items are spoken with."""

    name: str
    language: str
    source: str
    """File name of its recording, or the engine and its speaker."""
    licence: str | None
    consent: str | None
    """Who agreed to its use."""
    warnings: tuple[str, ...] = ()
    """What the linter said of it."""


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
    ready_s: float = 0.0
    """Duration of all files of the manifest's items that stand, whenever they were made."""
    voices: tuple[VoiceRow, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    """What takes are checked by besides their samples: limits in force and where each comes from."""


def names_of(record: type) -> tuple[str, ...]:
    """A record's fields, in their order."""
    return tuple(entry.name for entry in fields(record))


_FIELDS = {record: names_of(record) for record in (ItemRow, TakeRow, DeviceRow, VoiceRow, RunFacts, Measured)}


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
    if type(value) in _FIELDS:
        return {name: plain(getattr(value, name)) for name in _FIELDS[type(value)]}
    if set(map(type, value)) == {int}:  # a thumbnail: 160 numbers, and most of the values of a report
        return list(value)
    return [plain(item) for item in value]


def whole_text(text: str) -> str:
    """The text with every lone surrogate, which no UTF-8 file can hold, as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def json_line(value: Any) -> str:
    """Plain values as JSON without any character that some reader takes for the end of a line."""
    text = _JSON.encode(value)
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
