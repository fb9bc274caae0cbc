"""What a run folder holds ready: every finished item with its file, where speech lies in it, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.errors import UserError
from jobs.files import is_as_made
from jobs.fingerprint import digest
from jobs.journal import Built, Entry, Journal
from jobs.journal_file import journal_path
from jobs.records import Gap
from jobs.retry import asks_for_a_part

if TYPE_CHECKING:
    from presets.catalog import Profile

MISSING_SHOWN = 20


@dataclass(frozen=True, slots=True)
class SpokenSegment:
    """One segment as it lies in its item's file."""

    written: str
    """Its part of the item's cleaned text; empty where a long number was cut: it then belongs to the one before."""
    language: str
    start_s: float
    """Where its speech starts."""
    stop_s: float
    """Where its speech ends."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One item whose file stands."""

    id: str
    line: int
    out: str
    """Relative to the run folder."""
    path: Path
    text: str
    """As written in the manifest."""
    chapter: int | None
    title: str | None
    voice: str
    extra: Mapping[str, str]
    profile: Profile
    rate_hz: int
    samples: int
    gain_db: float
    """What finishing applied to this file alone."""
    segments: tuple[SpokenSegment, ...]
    """None in a file of silence."""
    lead_s: float
    """Silence that the text asks for before its first word."""
    rest_s: float
    """Silence that the text asks for after its last word."""
    pause_ms: int | None
    fingerprint: str
    """Changes with the file's content."""

    @property
    def digest(self) -> str:
        """The fingerprint in short."""
        return digest(self.fingerprint)

    @property
    def duration_s(self) -> float:
        return self.samples / self.rate_hz


@dataclass(frozen=True, slots=True)
class Missing:
    """One item that should have a file and has none."""

    id: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.id} (line {self.line}): {self.why}" if self.line else f"{self.id}: {self.why}"


@dataclass(frozen=True, slots=True)
class RunContent:
    """All items of a run folder's last run, in manifest order."""

    folder: Path
    items: tuple[Finished, ...]
    missing: tuple[Missing, ...]


def require_run_folder(folder: Path) -> None:
    """Raises UserError where no run has worked."""
    if not journal_path(folder).is_file():
        raise UserError(f"{folder}: no run folder; give the folder that `run` made (its --out)")


def read_run(folder: Path, profiles: Mapping[str, Profile]) -> RunContent:
    """The items of the last run. Raises UserError for a folder without one, or a profile that is not the run's."""
    require_run_folder(folder)
    journal = Journal(folder, readonly=True)
    items: list[Finished] = []
    missing: list[Missing] = []
    try:
        number = journal.last_run()
        if asks_for_a_part(journal.last_manifest()):
            why = "the last run made only what was to be made again; run the whole manifest"
            missing += [Missing(item_id or out, 0, why) for item_id, out in journal.removed(number)]
        for entry in journal.entries(number):
            if entry.state == "skipped":
                continue
            built = journal.built(entry.item.id)
            why = _why_missing(folder, entry, built)
            if why or built is None:
                missing.append(Missing(entry.item.id, entry.item.line, why or "not made"))
            else:
                items.append(_finished(folder, entry, built, profiles))
    finally:
        journal.close()
    return RunContent(folder, tuple(items), tuple(missing))


def refuse_missing(content: RunContent, partial: bool) -> None:
    """Raises UserError that lists what is missing, unless a part is enough; also if there is nothing at all."""
    if content.missing and not partial:
        shown = "".join(f"\n  {missing}" for missing in content.missing[:MISSING_SHOWN])
        more = len(content.missing) - MISSING_SHOWN
        raise UserError(
            f"{content.folder}: {len(content.missing)} items are missing; run the manifest again to make them, or go "
            f"on without them with --partial{shown}" + (f"\n  … and {more} more" if more > 0 else "")
        )
    if not content.items:
        raise UserError(f"{content.folder}: no item of the last run has a file; run the manifest first")


def _why_missing(folder: Path, entry: Entry, built: Built | None) -> str:
    if entry.state == "failed":
        return f"failed: {entry.reason}"
    if entry.state not in ("done", "unchanged"):
        return f"not made yet ({entry.reason})"
    if built is None or built.out is None or built.bytes is None or not built.result.get("measured"):
        return "not made yet"
    try:
        as_made = is_as_made(f"{folder}/{built.out}", built.bytes, built.result.get("marks", {}))
    except OSError:
        return f"its file {built.out} is gone"
    return "" if as_made else f"its file {built.out} was changed after the run"


def _finished(folder: Path, entry: Entry, built: Built, profiles: Mapping[str, Profile]) -> Finished:
    item, measured = entry.item, built.result["measured"]
    profile = profiles.get(item.profile)
    if profile is None or profile.digest != built.parts.get("profile"):
        state = "is not known here" if profile is None else "is not what it was in that run"
        raise UserError(
            f"{folder}: the profile {item.profile!r} of item {item.id!r} {state}; give its folder with "
            "--profiles-folder, or run the manifest again"
        )
    path = folder / str(built.out)
    rate_hz = measured["sample_rate_hz"]
    samples = round(measured["duration_s"] * rate_hz)
    gaps = [Gap(*segment["gap"]) for segment in built.result["segments"]]
    segments = _spans(built.result["segments"], gaps, measured, item.pause_ms, profile)
    first_s = segments[0].start_s if segments else 0.0
    stat = path.stat()
    return Finished(
        id=item.id,
        line=item.line,
        out=str(built.out),
        path=path,
        text=item.text,
        chapter=item.chapter,
        title=item.title,
        voice=built.result.get("voice") or item.voice or "",
        extra=item.extra,
        profile=profile,
        rate_hz=rate_hz,
        samples=samples,
        gain_db=measured["gain_db"],
        segments=segments,
        lead_s=_asked(first_s - profile.head_ms / 1000),
        rest_s=(gaps[-1].ms or 0) / 1000 if gaps else 0.0,
        pause_ms=item.pause_ms,
        fingerprint=f"{sorted(built.parts.items())} {stat.st_size} {stat.st_mtime_ns}",
    )


def _asked(lead_s: float) -> float:
    """A break mark asks for at least this much; less is the breath that finishing kept before the first word."""
    return lead_s if lead_s > 0.2 else 0.0


def _spans(
    told: list[dict[str, Any]], gaps: list[Gap], measured: dict[str, Any], pause_ms: int | None, profile: Profile
) -> tuple[SpokenSegment, ...]:
    """Starts as finishing measured them; a segment stops one pause before the next one starts, as it was joined."""
    from jobs.join import pause_after_ms

    starts = measured["segment_starts_s"]
    spans = []
    for number, (segment, gap, start_s) in enumerate(zip(told, gaps, starts, strict=True)):
        if number + 1 < len(starts):
            stop_s = starts[number + 1] - pause_after_ms(gap, pause_ms, profile) / 1000
        else:
            stop_s = measured["duration_s"] - ((gap.ms or 0) + profile.tail_ms) / 1000
        spans.append(SpokenSegment(segment["written"], segment["language"], start_s, max(start_s + 0.01, stop_s)))
    return tuple(spans)
