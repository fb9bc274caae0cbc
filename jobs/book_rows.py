"""Chapters -> rows of a manifest: one a chapter, or consecutive parts where voices differ or a text is too long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from cosyvoice.catalog import ENGINES
from jobs.book_cast import Cast, Lines, Who
from jobs.book_headings import in_figures
from jobs.book_lines import is_scene
from jobs.book_records import LINE_BREAK, Block, Chapter, Findings, one_line
from jobs.book_speech import halves, rendered, speakable
from jobs.dialogue import merged, opening_marks, spans
from jobs.errors import UserError
from jobs.fields import suggestion
from jobs.records import Boundary

ID_DIGITS, PART_DIGITS = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """How rows are made."""

    cast: Cast = field(default_factory=Cast)
    per: Literal["chapter", "paragraph"] = "chapter"
    language: str | None = None
    tags: frozenset[str] = frozenset()
    """Control tags of the engine that the book is for."""
    heading_ms: int = 1200
    scene_ms: int = 2500
    verse_ms: int = 400
    max_chars: int = 900_000
    columns: dict[str, str] = field(default_factory=dict)
    """Columns of one's own that every row carries."""


@dataclass(slots=True)
class _Piece:
    """A text of one voice and the silence after it."""

    who: Who
    text: str
    boundary: Boundary = "paragraph"
    ms: int | None = None
    """Length of the silence; None: as the profile says for the boundary."""


def engine_tags(engine: str) -> frozenset[str]:
    """Control tags of an engine. Raises UserError for one that is not there."""
    if engine not in ENGINES:
        raise UserError(f"--engine: no engine is called {engine!r}; {suggestion(engine, ENGINES)}")
    return ENGINES[engine].tags


def rows_of(chapter: Chapter, rows: Rows, findings: Findings, lines: Lines) -> list[dict[str, Any]]:
    """The rows of one chapter, in order; none if there is nothing to speak."""
    parts = list(_parts(_pieces(chapter, rows, findings, lines), rows))
    name = f"ch{chapter.number:0{ID_DIGITS}d}"
    made: list[dict[str, Any]] = []
    for number, (who, text, last) in enumerate(parts, 1):
        row: dict[str, Any] = {"id": name, "chapter": chapter.number, "title": chapter.title or None, "text": text}
        row |= {"voice": who.voice, "language": rows.language, "instruction": who.instruction, "speed": who.speed}
        if len(parts) > 1:
            ends = number == len(parts)
            row["id"] = f"{name}-{number:0{PART_DIGITS}d}"
            row |= {"part": number, "boundary": "end" if ends else last.boundary, "gap_ms": None if ends else last.ms}
        row |= {"said_by": who.name or None, **rows.columns}
        made.append({key: value for key, value in row.items() if value is not None and value != ""})
    return made


def _parts(pieces: Iterator[_Piece], rows: Rows) -> Iterator[tuple[Who, str, _Piece]]:
    """(voice, text, last piece) of each row: neighbours of one voice joined, up to the longest text."""
    text, last = "", None
    for piece in pieces:
        if last is not None:
            joined = text + _joint(last) + piece.text
            if piece.who == last.who and rows.per == "chapter" and len(joined) <= rows.max_chars:
                text, last = joined, piece
                continue
            yield last.who, text, last
        text, last = piece.text, piece
    if last is not None:
        yield last.who, text, last


def _joint(before: _Piece) -> str:
    """What stands between two pieces in one text."""
    mark = f' <break time="{before.ms}ms"/>' if before.ms is not None else ""
    return mark + ("\n" if before.boundary == "paragraph" or mark else " ")


def _pieces(chapter: Chapter, rows: Rows, findings: Findings, lines: Lines) -> Iterator[_Piece]:
    """The pieces of a chapter; the silence after one is settled when the next one is known."""
    speech = _Speech(chapter, rows, lines)
    held: _Piece | None = None
    after_heading = False
    for block in chapter.blocks:
        if block.kind == "scene" or is_scene(block.plain.strip()):
            if held is not None:
                held.boundary, held.ms = "paragraph", max(held.ms or 0, rows.scene_ms)
                after_heading = False
            continue
        for piece in _said(block, speech, rows, findings):
            if held is not None:
                # A heading below a heading follows it like a paragraph.
                if after_heading and block.kind == "heading":
                    held.ms = None
                elif block.kind == "verse" and block.level == 0:
                    held.ms = rows.verse_ms
                yield held
            held, after_heading = piece, block.kind == "heading"
    if held is not None:
        yield held


def _said(block: Block, speech: _Speech, rows: Rows, findings: Findings) -> Iterator[_Piece]:
    """What one block says, cut where the voice changes and where it is too long."""
    ready: list[_Piece] = []
    for raw in speech.of(block):
        waiting = [raw]
        while waiting:
            piece = waiting.pop(0)
            piece_text = rendered(piece.text, rows.tags, findings)
            if len(piece_text) > rows.max_chars and len(piece.text) > 1:
                first, second = halves(piece.text)
                waiting[:0] = [
                    _Piece(piece.who, first, "sentence"),
                    _Piece(piece.who, second, piece.boundary, piece.ms),
                ]
            elif piece_text and speakable(piece_text):
                ready.append(_Piece(piece.who, piece_text, piece.boundary, piece.ms))
            elif ready:
                ready[-1].boundary, ready[-1].ms = piece.boundary, piece.ms
    yield from ready


class _Speech:
    """Blocks of one chapter by voice; remembers speech that goes on in the next paragraph."""

    def __init__(self, chapter: Chapter, rows: Rows, lines: Lines) -> None:
        self._rows, self._lines, self._chapter = rows, lines, chapter.number
        self._marks = opening_marks("\n".join(block.text for block in chapter.blocks)) if rows.cast.splits else ""
        self._going_on: str | None = None

    def of(self, block: Block) -> Iterator[_Piece]:
        rows, narrator = self._rows, self._rows.cast.narrator
        if block.kind in ("heading", "verse") or not self._marks:
            pause = rows.heading_ms if block.kind == "heading" else None
            texts = block.text.split(LINE_BREAK)
            if block.kind == "heading":
                texts = [in_figures(text) for text in texts]
            for text in texts[:-1]:
                yield _Piece(narrator, text, "paragraph", rows.verse_ms if block.kind == "verse" else None)
            yield _Piece(narrator, texts[-1], "paragraph", pause)
            return
        found, last, unclosed = spans(block.text, self._marks, rows.cast.names, self._going_on)
        self._going_on = last if unclosed else None
        for span in found:
            if span.speech:
                self._lines.count(span.speaker, self._chapter, one_line(span.text, 60))
        parts = merged(found)
        for at, span in enumerate(parts):
            who = rows.cast.speaker(span.speaker) if span.speech else narrator
            ends_clause = span.text.rstrip(" ”’」』\"'")[-1:] in ",，、:："
            boundary: Boundary = "paragraph" if at + 1 == len(parts) else "clause" if ends_clause else "sentence"
            yield _Piece(who, span.text, boundary)
