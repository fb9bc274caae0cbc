"""From settled readings to segments: where to cut, what each piece says, how long the silence after it is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.language import CJK, Zone
from jobs.markup import Mark
from jobs.normalize import HELD, Normalizer, Reading
from jobs.records import Boundary, Gap, Segment
from jobs.segment import Budget, split
from jobs.words import WordBreaker

_SPEAKABLE = re.compile(r"[^\W_]")
_TAG = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_NUMBER = re.compile(f"[0-9][0-9.,:/%]*[0-9%]|[0-9]+ ?[A-Za-z{CJK}]?")
_SENTENCE_END = re.compile(r"[。！？!?….][”’」』）)》\"'\s]*$")
_LATIN = re.compile(f"[^\\W_{CJK}]")
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Speaker:
    """A text with everything that is settled about it."""

    text: str
    plain: str
    """The same length as `text`; marks are HELD, breaks newlines."""
    marks: Sequence[Mark]
    readings: Sequence[Reading]
    """Sorted, not overlapping."""
    zones: Sequence[Zone]
    budget: Budget
    words: WordBreaker
    normalizer: Normalizer | None
    """None: nothing but the readings is changed."""


@dataclass(slots=True)
class _Part:
    """A segment in the making: text[start:end] in the cleaned text."""

    start: int
    end: int
    spoken: list[str]
    language: str
    boundary: Boundary
    break_ms: int | None = None


def speak_segments(speaker: Speaker) -> tuple[tuple[Segment, ...], int, list[str]]:
    """The segments, the silence before the first (ms), and warnings. No segments if there is nothing to speak."""
    builder = _Builder(speaker)
    breaks = [mark for mark in speaker.marks if mark.kind == "break"]
    position = 0
    for mark in breaks:
        builder.stretch(position, mark.start)
        builder.pause(mark)
        position = mark.end
    builder.stretch(position, len(speaker.text))
    return builder.segments(), builder.lead_ms, builder.warnings


class _Builder:
    def __init__(self, speaker: Speaker) -> None:
        self._of = speaker
        self._starts = [reading.start for reading in speaker.readings]
        self._zone_ends = [zone.end for zone in speaker.zones]
        self._protected = _protected(speaker)
        self._protected_starts = [start for start, _ in self._protected]
        self._parts: list[_Part] = []
        self.lead_ms = 0
        self.warnings: list[str] = []

    def pause(self, mark: Mark) -> None:
        if not self._parts:
            self.lead_ms += mark.ms
            return
        last = self._parts[-1]
        last.break_ms = (last.break_ms or 0) + mark.ms
        last.end = mark.end

    def stretch(self, start: int, end: int) -> None:
        """Speak a part of the text without breaks."""
        blank = end - start - len(self._of.text[start:end].lstrip())
        if blank and self._parts:
            self._append_silent(start, start + blank)
            start += blank
        if start == end:
            return
        if not self._speakable(start, end):
            self._append_silent(start, end)
            return
        self._pieces(start, end, self._of.budget, 0)

    def segments(self) -> tuple[Segment, ...]:
        """All parts as segments; text that says nothing belongs to its neighbour."""
        if not self._parts:
            return ()
        self._parts[0].start = 0
        self._parts[-1].end = len(self._of.text)
        self._parts[-1].boundary = "end"
        found: list[Segment] = []
        for part in self._parts:
            written = self._of.text[part.start : part.end]
            for number, spoken in enumerate(part.spoken):
                last = number == len(part.spoken) - 1
                gap = Gap(part.boundary, part.break_ms) if last else Gap("clause")
                found.append(Segment("" if number else written, spoken, part.language, gap))
        return tuple(found)

    def _pieces(self, start: int, end: int, budget: Budget, depth: int) -> None:
        pieces = split(
            self._of.text[start:end], self._protected_in(start, end), budget, self._of.words, self._language(start, end)
        )
        for piece in pieces:
            boundary = piece.boundary if piece.end < end - start else self._boundary(start, end)
            self._piece(start + piece.start, start + piece.end, boundary, len(pieces), depth)

    def _piece(self, start: int, end: int, boundary: Boundary, siblings: int, depth: int) -> None:
        spoken, warnings = self._speak(start, end)
        if not _SPEAKABLE.search(_TAG.sub("", spoken)) and not self._speakable(start, end):
            self._append_silent(start, end)
            return
        load = _load(spoken, self._of.budget)
        if load > 1 and depth < _DEEPEST and load > 1.05 * _load(self._of.text[start:end], self._of.budget):
            self._pieces(start, end, _smaller(self._of.budget, load), depth + 1)
            if self._parts:
                self._parts[-1].boundary = boundary
            return
        self.warnings += warnings
        language = self._language(start, end)
        said = (
            self._cut_spoken(spoken, language) if load > 1 and spoken != self._of.text[start:end].strip() else [spoken]
        )
        self._parts.append(_Part(start, end, said, language, boundary))

    def _append_silent(self, start: int, end: int) -> None:
        if self._parts:
            last = self._parts[-1]
            if "\n" in self._of.text[start:end]:
                last.boundary = "paragraph"
            last.end = end

    def _cut_spoken(self, spoken: str, language: str) -> list[str]:
        """Cut what is said, where the written form is one piece (a long number)."""
        tags = [found.span() for found in _TAG.finditer(spoken)]
        pieces = split(spoken, tags, self._of.budget, self._of.words, language)
        said = [spoken[piece.start : piece.end].strip() for piece in pieces]
        return [piece for piece in said if _SPEAKABLE.search(piece)] or [spoken]

    def _speakable(self, start: int, end: int) -> bool:
        if _SPEAKABLE.search(self._of.plain, start, end):
            return True
        return any(reading.asked for reading in self._readings_in(start, end))

    def _speak(self, start: int, end: int) -> tuple[str, list[str]]:
        """What text[start:end] says."""
        warnings: list[str] = []
        said = ""
        position = start
        for zone in self._zones_in(start, end):
            stop = min(end, zone.end)
            part, found = self._speak_zone(position, stop, zone.language)
            said += part
            warnings += found
            position = stop
        return _tidy(said), warnings

    def _speak_zone(self, start: int, end: int, language: str) -> tuple[str, list[str]]:
        readings = self._readings_in(start, end)
        pieces, position = [], start
        for reading in readings:
            pieces += [self._of.text[position : reading.start], HELD]
            position = reading.end
        text = "".join([*pieces, self._of.text[position:end]])
        warnings: list[str] = []
        if self._of.normalizer:
            text, warnings = self._of.normalizer.rest(text, language)
        return _put_back(text, [reading.spoken for reading in readings]), warnings

    def _readings_in(self, start: int, end: int) -> Sequence[Reading]:
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        return self._of.readings[first:last]

    def _zones_in(self, start: int, end: int) -> Sequence[Zone]:
        first = bisect_left(self._zone_ends, start + 1)
        last = first
        while last < len(self._of.zones) and self._of.zones[last].start < end:
            last += 1
        return self._of.zones[first:last]

    def _protected_in(self, start: int, end: int) -> list[tuple[int, int]]:
        first, last = bisect_left(self._protected_starts, start), bisect_left(self._protected_starts, end)
        return [(a - start, b - start) for a, b in self._protected[first:last] if b <= end]

    def _language(self, start: int, end: int) -> str:
        """The language that most of the characters are in."""
        best = max(self._zones_in(start, end), key=lambda zone: min(end, zone.end) - max(start, zone.start))
        return best.language

    def _boundary(self, start: int, end: int) -> Boundary:
        """What ends a stretch; its last piece only knows that the stretch is over."""
        tail = self._of.text[max(start, end - 40) : end]
        if tail.rstrip(" ").endswith("\n"):
            return "paragraph"
        return "sentence" if _SENTENCE_END.search(tail) else "clause"


def _load(text: str, budget: Budget) -> float:
    """How full a segment is: 1.0 is the budget."""
    return budget.share(_TAG.sub("", text))


def _smaller(budget: Budget, load: float) -> Budget:
    return Budget(max(4, int(budget.cjk_chars / load * 0.95)), max(2, int(budget.words / load * 0.95)))


def _protected(speaker: Speaker) -> list[tuple[int, int]]:
    """Spans that no cut may enter: settled readings, numbers with their unit, tags with their content if it fits."""
    spans = [(reading.start, reading.end) for reading in speaker.readings]
    spans += [found.span() for found in _NUMBER.finditer(speaker.plain)]
    spans += _tag_pairs(speaker)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _tag_pairs(speaker: Speaker) -> list[tuple[int, int]]:
    """`<strong>…</strong>` as one span where a segment can hold it."""
    pairs: list[tuple[int, int]] = []
    opened: list[Mark] = []
    for mark in speaker.marks:
        written = speaker.text[mark.start : mark.end]
        if mark.kind != "tag" or not written.startswith("<"):
            continue
        if not written.startswith("</"):
            opened.append(mark)
            continue
        while opened and speaker.text[opened[-1].start + 1 : opened[-1].end] != written[2:]:
            opened.pop()
        if opened:
            start = opened.pop().start
            if _load(speaker.plain[start : mark.end], speaker.budget) <= 1:
                pairs.append((start, mark.end))
    return pairs


def _put_back(text: str, spoken: Sequence[str]) -> str:
    """Replace the HELD characters by their readings, with a space where two Latin words would run together."""
    pieces = text.split(HELD)
    said = pieces[0]
    for reading, after in zip(spoken, pieces[1:], strict=True):
        is_tag = _TAG.fullmatch(reading) is not None
        said = said + reading if is_tag else _join(said, reading)
        said = said + after if is_tag else _join(said, after)
    return said


def _join(left: str, right: str) -> str:
    touching = left and right and _LATIN.match(left[-1]) and _LATIN.match(right[0])
    return f"{left} {right}" if touching else left + right


def _tidy(spoken: str) -> str:
    """One line with single spaces and none before punctuation."""
    spoken = re.sub(" *\n+ *", " ", spoken.strip())
    spoken = re.sub(" {2,}", " ", spoken)
    return re.sub(" +(?=[，。！？；：、])|(?<=[A-Za-z]) +(?=[,.;:!?]+(?:\\s|$))", "", spoken)
