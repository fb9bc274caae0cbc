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


@dataclass(frozen=True, slots=True)
class Chapter:
    """One file of the book, or one mark in it."""

    number: int
    """Its place in the book, from 1."""
    title: str
    items: tuple[Finished, ...]


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

    Raises UserError where a chapter's rows do not stand together.
    """
    groups: list[list[Finished]] = []
    first_line: dict[int, int] = {}
    for item in items:
        if groups and item.chapter is not None and item.chapter == groups[-1][0].chapter:
            groups[-1].append(item)
            continue
        if item.chapter is not None:
            if item.chapter in first_line:
                raise UserError(
                    f"chapter {item.chapter} starts in line {first_line[item.chapter]} and again in line "
                    f"{item.line}; put the rows of a chapter together, or give them different numbers"
                )
            first_line[item.chapter] = item.line
        groups.append([item])
    return tuple(Chapter(number, _title(group), tuple(group)) for number, group in enumerate(groups, 1))


def _title(group: list[Finished]) -> str:
    titled = next((item.title for item in group if item.title and item.title.strip()), None)
    if titled is not None:
        return " ".join(titled.split())
    return group[0].id if group[0].chapter is None else f"Chapter {group[0].chapter}"


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
