"""Where each character of a cleaned text stands in the text as it was written, and which spans of it are marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.clean import clean_escaped, restore
from jobs.markup import Mark, parse
from jobs.text_fault import TextFault

REACH = 48
"""How far ahead a difference is looked through: longer than an entity, an emoji sequence or a drawn line."""
SURE = 4
"""So many equal characters in a row end a difference."""


@dataclass(frozen=True, slots=True)
class SourceMap:
    """The written text, and for each position of the cleaned one its place in it [len(cleaned) + 1]."""

    source: str
    cleaned: str
    places: Sequence[int]
    marks: tuple[tuple[int, int], ...]
    """Spans of the cleaned text that are markup; the content of a say-as span is none."""

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """cleaned[start:stop] in the source, white space at both ends left out."""
        first, last = self.places[start], self.places[stop]
        while first < last and self.source[first].isspace():
            first += 1
        while last > first and self.source[last - 1].isspace():
            last -= 1
        return first, last


def map_source(source: str, cleaned: str, tags: frozenset[str]) -> SourceMap:
    """`cleaned` as a run's segments join to it; `tags` are the control tags of its engine."""
    try:
        escaped = clean_escaped(source)
        marks = parse(escaped, tags) if restore(escaped) == cleaned else parse(cleaned, tags)
    except TextFault:  # the row was changed after its file was made, and its new text cannot be read
        marks = []
    places = range(len(source) + 1) if source == cleaned else _aligned(source, cleaned)
    return SourceMap(source, cleaned, places, tuple(span for mark in marks for span in _spans(mark)))


def _spans(mark: Mark) -> list[tuple[int, int]]:
    if mark.kind != "say-as":
        return [(mark.start, mark.end)]
    inner, outer = mark.inner
    return [(mark.start, inner), (outer, mark.end)]


def _aligned(source: str, cleaned: str) -> list[int]:
    """For each character of `cleaned` the place of its like in `source`; cleaning never moves a character."""
    old, new = _folded(source), _folded(cleaned)
    places: list[int] = []
    at = 0
    while len(places) < len(new):
        here = len(places)
        if at < len(old) and old[at] == new[here]:
            places.append(at)
            at += 1
            continue
        skipped, added = _next_match(old, new, at, here)
        places += [min(at + number, at + skipped) for number in range(added)]
        at += skipped
    places.append(len(source))
    return places


def _next_match(old: str, new: str, at: int, here: int) -> tuple[int, int]:
    """(characters of old, of new) to pass so that both go on alike; the least of both together."""
    for total in range(1, 2 * REACH):
        for added in range(max(0, total - REACH), min(total, REACH) + 1):
            skipped = total - added
            end = new[here + added : here + added + SURE]
            if end and old.startswith(end, at + skipped):
                return skipped, added
    return (1 if at < len(old) else 0), 1


def _folded(text: str) -> str:
    """Character for character: width, compatibility forms and white space do not count."""
    return "".join(_fold(char) for char in text) if not text.isascii() else text.translate(_SPACES)


_SPACES = str.maketrans("\t\r\n\v\f", "     ")


def _fold(char: str) -> str:
    if char.isspace():
        return " "
    if char.isascii():
        return char
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char
