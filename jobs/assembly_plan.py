"""Chapters of a book: which items they are made of, and where each of them lies, counted in samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.errors import UserError
from jobs.finished_items import Finished

if TYPE_CHECKING:
    from presets.catalog import Profile

KEPT_S = 0.16
"""What stays of an item before its first and after its last word: finishing keeps up to 150 ms of breath there."""
PAUSE_COLUMN, BOUNDARY_COLUMN = "gap_ms", "boundary"
"""Columns that `book` writes: the silence between an item and the next one of its chapter, in ms or by its kind."""
LONGEST_PAUSE_MS = 60_000
CREDITS_COLUMN, CREDITS = "credits", ("opening", "closing")
"""The column that `book --credits` writes, and what may stand in it: the first and the last file of a book."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """One file of the book, or one mark in it."""

    number: int
    """Its place in the book, from 1."""
    title: str
    items: tuple[Finished, ...]
    kind: str = "chapter"
    """`opening` and `closing` are credits."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An item in a chapter, in samples of the book's rate."""

    item: Finished
    silence: int
    """Before it."""
    skipped: int
    """Of the item's start."""
    samples: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A chapter laid out: silence and pieces, then the tail."""

    chapter: Chapter
    pieces: tuple[Piece, ...]
    tail: int

    @property
    def samples(self) -> int:
        return sum(piece.silence + piece.samples for piece in self.pieces) + self.tail

    def offsets(self) -> tuple[int, ...]:
        """Where sample 0 of each item would lie, counted from the chapter's start; may be negative."""
        found, position = [], 0
        for piece in self.pieces:
            position += piece.silence
            found.append(position - piece.skipped)
            position += piece.samples
        return tuple(found)


def chapters_of(items: Sequence[Finished]) -> tuple[Chapter, ...]:
    """Rows that follow each other with one chapter number are one chapter; a row without a number is its own.

    Rows of opening or closing credits are one too, the first and the last. Raises UserError where the rows of a chapter
    do not stand together or credits stand elsewhere.
    """
    groups: list[tuple[str | int | None, list[Finished]]] = []
    first_line: dict[str | int, int] = {}
    for item in items:
        key = _credits(item) or item.chapter
        if groups and key is not None and key == groups[-1][0]:
            groups[-1][1].append(item)
            continue
        if key is not None:
            if key in first_line:
                name = f"chapter {key}" if isinstance(key, int) else f"the {key} credits"
                raise UserError(
                    f"{name} starts in line {first_line[key]} and again in line {item.line}; put the rows of a chapter "
                    "together, or give them different numbers"
                )
            first_line[key] = item.line
        groups.append((key, [item]))
    for number, (key, group) in enumerate(groups):
        if (key == "opening" and number) or (key == "closing" and number + 1 < len(groups)):
            place = "first" if key == "opening" else "last"
            raise UserError(
                f"item {group[0].id!r} (line {group[0].line}): {key} credits are not the {place} row; move it"
            )
    return tuple(
        Chapter(number, _title(key, group), tuple(group), key if isinstance(key, str) else "chapter")
        for number, (key, group) in enumerate(groups, 1)
    )


def _credits(item: Finished) -> str:
    """`opening`, `closing` or nothing, as the row says."""
    said = item.extra.get(CREDITS_COLUMN, "").strip().lower()
    where = f"item {item.id!r} (line {item.line}): {CREDITS_COLUMN}"
    if said and said not in CREDITS:
        raise UserError(f"{where}: found {said[:40]!r}; write opening or closing, or leave it out")
    if said and item.chapter is not None:
        raise UserError(f"{where}: credits are no part of chapter {item.chapter}; leave one of the two out")
    return said


def _title(key: str | int | None, group: list[Finished]) -> str:
    titled = next((item.title for item in group if item.title and item.title.strip()), None)
    if titled is not None:
        return " ".join(titled.split())
    if isinstance(key, str):
        return f"{key.capitalize()} credits"
    return group[0].id if key is None else f"Chapter {key}"


def place(chapter: Chapter, profile: Profile) -> Placed:
    """The chapter at the profile's rate, with its head, tail and pauses, speech counted from end to start."""
    rate_hz = profile.sample_rate_hz
    pieces = []
    due_s = profile.head_ms / 1000
    for number, item in enumerate(chapter.items):
        whole = round(item.samples * rate_hz / item.rate_hz)
        before_s, after_s, kept_from_s, kept_to_s = _kept(item)
        start = round(kept_from_s * rate_hz)
        stop = max(start + 1, min(whole, round(kept_to_s * rate_hz)))
        silence = round(max(0.0, due_s + item.lead_s - before_s) * rate_hz)
        pieces.append(Piece(item, silence, start, stop - start))
        last = number == len(chapter.items) - 1
        due_s = item.rest_s - after_s + (profile.tail_ms / 1000 if last else _pause_s(item, profile))
    return Placed(chapter, tuple(pieces), round(max(0.0, due_s) * rate_hz))


def _kept(item: Finished) -> tuple[float, float, float, float]:
    """(kept before speech, kept after it, start, stop) in seconds of the item's file."""
    if not item.segments:  # asked for silence: it counts as it is
        return 0.0, 0.0, 0.0, item.duration_s
    start_s, stop_s = item.segments[0].start_s, min(item.segments[-1].stop_s, item.duration_s)
    before_s, after_s = min(KEPT_S, start_s), min(KEPT_S, item.duration_s - stop_s)
    return before_s, after_s, start_s - before_s, stop_s + after_s


def _pause_s(item: Finished, profile: Profile) -> float:
    asked = item.extra.get(PAUSE_COLUMN, "").strip()
    if not asked:
        kind = item.extra.get(BOUNDARY_COLUMN, "").strip()
        by_kind = {"clause": profile.clause_ms, "sentence": profile.sentence_ms}
        return by_kind.get(kind, profile.paragraph_ms) / 1000
    if not (asked.isascii() and asked.isdigit() and int(asked) <= LONGEST_PAUSE_MS):
        raise UserError(
            f"item {item.id!r} (line {item.line}): {PAUSE_COLUMN}: found {asked[:40]!r}; write milliseconds, a whole "
            f"number from 0 to {LONGEST_PAUSE_MS}"
        )
    return int(asked) / 1000
