"""The records that travel down the road: item, segment, take, outcome. Data only; every field is described here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cosyvoice.engine import Mode

EmptyPolicy = Literal["error", "skip", "silence"]
Boundary = Literal["clause", "sentence", "paragraph", "end"]


@dataclass(frozen=True, slots=True)
class Item:
    """One manifest row, checked: one output file."""

    line: int
    """Line in the manifest, 1-based; 0 where there is none (`say`)."""
    id: str
    text: str
    """As written: not yet cleaned, markup still in it."""
    out: str
    """Output file relative to the run folder, `/` between parts, safe on every file system, with its suffix."""
    profile: str
    voice: str | None = None
    """Name of a voice; None if the row brings its own reference audio or leaves the choice to the run."""
    ref_audio: str | None = None
    """Absolute path."""
    ref_text: str | None = None
    instruction: str | None = None
    mode: Mode = "speaker"
    language: str | None = None
    """ISO 639-1 code; None: by script."""
    speed: float = 1.0
    seed: int = 0
    pause_ms: int | None = None
    """Silence between sentences; None: as the profile says."""
    chapter: int | None = None
    title: str | None = None
    text_normalize: bool = True
    say_as: str | None = None
    empty: EmptyPolicy = "error"
    extra: Mapping[str, str] = field(default_factory=dict)
    """Columns of the manifest that are not fields of ours; they travel into the report."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The silence after a segment: its kind, and its length where the text asks for one."""

    boundary: Boundary
    ms: int | None = None
    """Asked for by a break mark in the text; None: the profile decides by `boundary`."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an item's text short enough for the model."""

    written: str
    """The cleaned text it came from; the segments' `written`, joined, are the item's cleaned text."""
    spoken: str
    """What the engine is given."""
    language: str
    gap: Gap


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item's text after the text front end."""

    segments: tuple[Segment, ...]
    lead_ms: int = 0
    """Silence before the first segment, asked for by a break mark."""
    warnings: tuple[str, ...] = ()
    lexicon_hits: tuple[str, ...] = ()
    """Written forms of the lexicon rules that fired."""


@dataclass(frozen=True, slots=True)
class Take:
    """One attempt at one segment, written to the takes folder as raw float32."""

    path: str
    sample_rate_hz: int
    samples: int
    attempt: int
    """0 for the first."""
    seed: int
    faults: tuple[str, ...] = ()
    """What makes it worth another try: `silent`, `clipped`, `too_long`, `runaway` …, see checks.py."""
    remarks: tuple[str, ...] = ()
    """What the engine noticed besides, such as characters that it could not speak."""
    level_db: float | None = None
    """Level of its speech, pauses left out; None: not measured."""
    heard: str | None = None
    """What the recogniser of `--verify` heard; None: nobody listened."""
    error_rate: float | None = None
    """Wrong, lost and added words (syllables in Chinese) over those of the text."""
    likeness: float | None = None
    """Cosine between its speaker embedding and that of its voice's reference; None: not compared."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on a finished file."""

    duration_s: float
    sample_rate_hz: int
    channels: int
    loudness_lufs: float | None
    """Integrated loudness; None for a file with nothing above the gate."""
    rms_db: float | None
    true_peak_dbtp: float | None
    gain_db: float
    """Gain that was applied to reach the target."""
    limited_db: float
    """Deepest reduction by the limiter, 0 if it never acted."""
    size_bytes: int
    waveform: tuple[int, ...]
    """Peak per slice, 0..100, at most 160 slices: the report's thumbnail."""
    segment_starts_s: tuple[float, ...] = ()
    """Where each segment starts in the file."""
    notes: tuple[str, ...] = ()
    """What finishing did that a person may want to know, such as `gain held at +12 dB`."""
