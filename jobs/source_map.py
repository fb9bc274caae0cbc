"""Where each character of a cleaned text stands in the text as it was written, and which spans of it are marks."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from jobs.clean import clean_escaped, restore
from jobs.markup import Mark, parse
from jobs.text_fault import TextFault

ADDED_COST = 4
REACH = 64
"""How far ahead a difference is looked through: longer than an emoji sequence or most drawn lines."""
SURE = ((6, 2), (16, 3), (REACH, 4))
"""A difference of up to so many characters ends with so many equal ones; with one, where that is nowhere found."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


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
    old, origins = _unfolded(source)
    new = "".join(_fold(char)[:1] or char for char in cleaned)
    origins.append(len(source))
    places: list[int] = []
    at = 0
    while len(places) < len(new):
        here = len(places)
        if at < len(old) and old[at] == new[here]:
            places.append(origins[at])
            at += 1
            continue
        skipped, added = _next_match(old, new, at, here)
        places += [origins[min(at + number, at + skipped, len(old))] for number in range(added)]
        at = min(len(old), at + skipped)
    places.append(len(source))
    return places


def _next_match(old: str, new: str, at: int, here: int) -> tuple[int, int]:
    """(characters of old, of new) to pass so that both go on alike. Cleaning takes away more than it adds."""
    for short in (False, True):
        for cost in range(1, REACH):
            sure = 1 if short else next(sure for limit, sure in SURE if cost <= limit)
            for added in range(cost // ADDED_COST + 1):
                skipped = cost - ADDED_COST * added
                end = new[here + added : here + added + sure]
                if end and old.startswith(end, at + skipped):
                    return skipped, added
    return (1 if at < len(old) else 0), 1


def _unfolded(source: str) -> tuple[str, list[int]]:
    """The source as cleaning begins to read it (entities, forms, white space), and where each character comes from."""
    pieces: list[str] = []
    origins: list[int] = []
    position = 0
    while position < len(source):
        entity = _ENTITY.match(source, position) if source[position] == "&" else None
        stop = entity.end() if entity else position + 1
        folded = "".join(map(_fold, html.unescape(source[position:stop]))) if entity else _fold(source[position])
        if folded == " " and (not pieces or pieces[-1] == " "):  # cleaning leaves one, and none at the start
            folded = ""
        pieces += [folded] if folded else []
        origins += [position] * len(folded)
        position = stop
    return "".join(pieces), origins


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    """What cleaning makes of one character alone; empty for an emoji or an invisible one."""
    if char.isspace():
        return " "
    if char.isascii():
        return char
    try:
        return restore(clean_escaped(char))
    except TextFault:
        return char
