"""Subtitles of a finished run: the source's words at the times of the final audio, per item, chapter or book."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from cosyvoice.catalog import ENGINES
from jobs.assembly_record import NAME, Record, stands
from jobs.cues import Cue, cues_of
from jobs.errors import UserError
from jobs.files import make_folder, replacing
from jobs.finished_items import Finished, RunContent, SpokenSegment
from jobs.naming import collision_key
from jobs.source_map import SourceMap, map_source
from jobs.subtitle_formats import WRITERS

if TYPE_CHECKING:
    from jobs.word_times import Listener, Word

Per = Literal["item", "chapter", "book"]
SUFFIXES = {"srt": ".srt", "vtt": ".vtt", "lrc": ".lrc", "json": ".segments.json"}
"""An item may be called `report`, so JSON has a suffix of its own."""
KIND_OF = {"chapter": "chapters", "book": "m4b"}
"""Kind of file, in the words of `assemble`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One segment's words in one file."""

    item: str
    start_s: float
    """Where its speech starts, measured when the file was joined."""
    stop_s: float
    text: str
    """As written, markup left out, with its line breaks."""
    source_start: int
    """Offsets in characters of the row's text, end excluded."""
    source_stop: int
    language: str
    voice: str
    cues: tuple[Cue, ...]
    words: tuple[Word, ...] = ()
    """None where nobody listened, or where the sound could not be aligned."""

    def moved(self, offset_s: float) -> Line:
        return replace(
            self,
            start_s=self.start_s + offset_s,
            stop_s=self.stop_s + offset_s,
            cues=tuple(replace(c, start_s=c.start_s + offset_s, stop_s=c.stop_s + offset_s) for c in self.cues),
            words=tuple(word.moved(offset_s) for word in self.words),
        )


@dataclass(frozen=True, slots=True)
class Track:
    """The subtitles of one audio file."""

    audio: str
    """The file's name, `/` between parts."""
    title: str
    duration_s: float
    lines: tuple[Line, ...]

    def cues(self) -> Iterator[tuple[Line, Cue]]:
        for line in self.lines:
            for cue in line.cues:
                yield line, cue


def item_tracks(content: RunContent, listener: Listener | None = None) -> Iterator[Track]:
    """A track for each item; with times of words where somebody listens."""
    for item in content.items:
        yield Track(item.out, item.title or "", item.duration_s, lines_of(item, listener))


def book_tracks(
    content: RunContent, book_folder: Path, record: Record, per: Per, listener: Listener | None = None
) -> Iterator[Track]:
    """A track for each file of that kind in a folder of `assemble`.

    Raises UserError where there is none, or where the run made items anew since.
    """
    files = [file for file in record.files.values() if file["kind"] == KIND_OF[per]]
    if not files:
        raise UserError(
            f"{book_folder}: holds no {per} that `assemble` made; run `assemble` first, or name its folder with --book"
        )
    items = {item.id: item for item in content.items}
    for file in files:
        if not stands(book_folder, file):
            raise UserError(f"{book_folder / file['name']}: is gone or was changed; run `assemble` again")
        lines = [line for chapter in file["chapters"] for line in _chapter_lines(chapter, items, book_folder, listener)]
        titles = [chapter["title"] for chapter in file["chapters"]]
        yield Track(file["name"], titles[0] if len(titles) == 1 else "", file["duration_s"], tuple(lines))


def _chapter_lines(
    chapter: dict[str, Any], items: dict[str, Finished], folder: Path, listener: Listener | None
) -> Iterator[Line]:
    for placed in chapter["items"]:
        item = items.get(placed["id"])
        if item is None or item.digest != placed["digest"]:
            raise UserError(
                f"{folder / NAME}: item {placed['id']!r} is not the one that the book was made of; run `assemble` again"
            )
        for line in lines_of(item, listener):
            yield line.moved(placed["offset_s"])


def lines_of(item: Finished, listener: Listener | None = None) -> tuple[Line, ...]:
    """The item's segments with words in them, at the times of its own file."""
    cleaned = "".join(segment.written for segment in item.segments)
    tags = frozenset[str]().union(*(engine.tags for engine in ENGINES.values()))
    source = map_source(item.text, cleaned, tags)
    lines: list[Line] = []
    position = 0
    for segment in _whole(item.segments):
        start, position = position, position + len(segment.written)
        text = _text(source, start, position)
        if not any(char.isalnum() for char in text):
            continue
        first, last = source.span(start, position)
        cues = cues_of(text, segment.start_s, segment.stop_s)
        lines.append(
            Line(item.id, segment.start_s, segment.stop_s, text, first, last, segment.language, item.voice, tuple(cues))
        )
    return listener.listened(item, lines) if listener is not None else tuple(lines)


def _whole(segments: Sequence[SpokenSegment]) -> list[SpokenSegment]:
    """Pieces of a long number, which have no text of their own, belong to the segment before."""
    whole: list[SpokenSegment] = []
    for segment in segments:
        if whole and not segment.written:
            whole[-1] = replace(whole[-1], stop_s=segment.stop_s)
        else:
            whole.append(segment)
    return whole


def _text(source: SourceMap, start: int, stop: int) -> str:
    """The written characters of cleaned[start:stop] without marks; HTML entities as what they stand for."""
    pieces, position = [], start
    for mark_start, mark_stop in source.marks:
        if mark_stop <= start or mark_start >= stop:
            continue
        pieces.append(_slice(source, position, mark_start))
        position = min(stop, mark_stop)
    pieces.append(_slice(source, position, stop))
    return html.unescape(" ".join(filter(None, pieces)) if len(pieces) > 1 else pieces[0])


def _slice(source: SourceMap, start: int, stop: int) -> str:
    if stop <= start:
        return ""
    first, last = source.span(start, stop)
    return source.source[first:last]


class Writer:
    """Writes tracks into a folder, each beside its audio's place."""

    def __init__(self, folder: Path, formats: Sequence[str]) -> None:
        self._folder, self._formats = folder, formats
        self._taken: set[str] = set()

    def write(self, track: Track) -> list[str]:
        """One file for each format; their names: the audio's with another suffix, the one that players look for."""
        stem = str(PurePosixPath(track.audio).with_suffix(""))
        if collision_key(stem) in self._taken:  # a.wav and a.mp3
            stem = track.audio
        self._taken.add(collision_key(stem))
        names = []
        for form in self._formats:
            name = stem + SUFFIXES[form]
            make_folder((self._folder / name).parent, "-o")
            with replacing(self._folder / name, "-o") as stream:
                stream.write(WRITERS[form](track).encode("utf-8", "replace"))
            names.append(name)
        return names
