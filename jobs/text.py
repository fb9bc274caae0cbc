"""The text front end: from the text of a row to segments that an engine can speak."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.assemble import Speaker, speak_segments
from jobs.clean import clean_escaped, restore
from jobs.forms import DateOrder
from jobs.language import Zone, size, zones
from jobs.lexicon import Lexicon
from jobs.markup import MAX_BREAK_MS, Mark, parse
from jobs.normalize import HELD, Normalizer, Reading, find_readings, hold
from jobs.records import Prepared
from jobs.say_as import places, say_as
from jobs.segment import Budget
from jobs.text_fault import TextFault, raise_if
from jobs.words import WordBreaker

__all__ = ["VERSION", "FrontEnd", "TextFacts", "TextFault", "TextSettings"]

VERSION = "4"
"""Changes whenever the same text may be spoken otherwise than before."""

_SPEAKABLE = re.compile(r"[^\W_]")
_DIGIT = re.compile("[0-9]")
_HAS_MARK = re.compile(r"[<\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSettings:
    """Everything that decides how a text is spoken."""

    budget: Budget
    language: str | None = None
    """ISO 639-1 code; None: by script."""
    normalize: bool = True
    """False: cleaning, markup and lexicon only."""
    say_as: str | None = None
    """Kind that every fitting place of the text is read as."""
    tags: frozenset[str] = frozenset()
    """Control tags that the engine understands."""
    date_order: DateOrder = "mdy"
    """How 12/05/2024 is read; 2024-12-05 and 31/12/2024 need no order."""


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What can be said about a text without normalising it."""

    cleaned: str
    """With its markup, as the segments' `written` will join to it."""
    speakable: bool
    cjk_chars: int
    """Digits of a text with CJK characters are counted among them."""
    words: int
    """Words of other scripts; digits of a text without CJK characters count one each."""
    languages: tuple[str, ...]
    break_ms: int
    """Sum of the break marks."""
    lexicon_digest: str
    """Names the lexicon rules that touch the text; empty if none does."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    text: str
    """Cleaned."""
    marks: list[Mark]
    plain: str
    """The same length: marks without their say-as content are HELD, breaks are newlines."""


class FrontEnd:
    """Cleans, reads and splits texts. One per process; not for several threads at once."""

    def __init__(self, lexicon: Lexicon | None, words: WordBreaker) -> None:
        self._lexicon = lexicon or Lexicon(())
        self._words = words
        self._normalizer = Normalizer()
        self._checked_readings: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}

    def look(self, text: str, settings: TextSettings) -> TextFacts:
        """A fast look without normalising; raises TextFault for a text that `prepare` could not read."""
        parsed = _parse(text, settings)
        language = _language(settings)
        found = zones(parsed.plain, language)
        if parsed.marks or settings.say_as:
            _said(parsed, found, settings)
        touching = self._lexicon.touching(parsed.text) if self._lexicon.rules else []
        self._check_readings([(rule.written, rule.reading) for rule in touching], settings.tags)
        cjk, words = size(parsed.plain)
        digits = len(_DIGIT.findall(parsed.plain))
        return TextFacts(
            cleaned=parsed.text,
            speakable=bool(touching) or _SPEAKABLE.search(parsed.plain) is not None,
            cjk_chars=cjk + (digits if cjk else 0),
            words=words + (0 if cjk else digits),
            languages=tuple(dict.fromkeys(zone.language for zone in found)),
            break_ms=sum(mark.ms for mark in parsed.marks),
            lexicon_digest=self._lexicon.digest_for(parsed.text) if touching else "",
        )

    def prepare(self, text: str, settings: TextSettings) -> Prepared:
        """The segments of a text. Raises TextFault, also if there is nothing to speak."""
        parsed = _parse(text, settings)
        found = zones(parsed.plain, _language(settings))
        held = [
            Reading(mark.start, mark.end, parsed.text[mark.start : mark.end])
            for mark in parsed.marks
            if mark.kind == "tag"
        ]
        held += _said(parsed, found, settings)
        hits = self._lexicon.find(parsed.plain, _LanguageAt(found), _spans(held))
        self._check_readings([(hit.rule.written, hit.rule.reading) for hit in hits], settings.tags)
        readings = held + [Reading(hit.start, hit.end, hit.rule.reading, asked=True) for hit in hits]
        if settings.normalize:
            readings += find_readings(hold(parsed.plain, _spans(readings)), found, settings.date_order)
        speaker = Speaker(
            parsed.text, parsed.plain, parsed.marks, sorted(readings, key=lambda r: r.start), found, settings.budget,
            self._words, self._normalizer if settings.normalize else None,
        )  # fmt: skip
        segments, lead_ms, warnings = speak_segments(speaker)
        if not segments:
            raise TextFault("nothing to speak: the text has no letter and no digit")
        fired = tuple(dict.fromkeys(hit.rule.written for hit in hits))
        return Prepared(segments, lead_ms, tuple(dict.fromkeys(warnings)), fired)

    def _check_readings(self, rules: Sequence[tuple[str, str]], tags: frozenset[str]) -> None:
        """A reading may hold control tags of the engine, and no other marks."""
        faults: list[str] = []
        for written, reading in rules:
            if not _HAS_MARK.search(reading):
                continue
            key = (reading, tags)
            if key not in self._checked_readings:
                self._checked_readings[key] = _reading_faults(written, reading, tags)
            faults += self._checked_readings[key]
        raise_if(faults)


class _LanguageAt:
    """The language of the zone that holds an offset."""

    def __init__(self, found: Sequence[Zone]) -> None:
        self._zones = found
        self._starts = [zone.start for zone in found]

    def __call__(self, offset: int) -> str:
        return self._zones[bisect_right(self._starts, offset) - 1].language


def _language(settings: TextSettings) -> str | None:
    return settings.language.split("-")[0].lower() if settings.language else None


def _parse(text: str, settings: TextSettings) -> _Parsed:
    escaped = clean_escaped(text)
    marks = parse(escaped, settings.tags)
    cleaned = restore(escaped)
    if not marks:
        return _Parsed(cleaned, marks, cleaned)
    pieces, position = [], 0
    for mark in marks:
        pieces.append(cleaned[position : mark.start])
        if mark.kind == "break":
            pieces.append("\n" * (mark.end - mark.start))
        elif mark.kind == "tag":
            pieces.append(HELD * (mark.end - mark.start))
        else:
            inner, outer = mark.inner
            pieces += [HELD * (inner - mark.start), cleaned[inner:outer], HELD * (mark.end - outer)]
        position = mark.end
    plain = "".join([*pieces, cleaned[position:]])
    _check_breaks(plain, marks)
    return _Parsed(cleaned, marks, plain)


def _check_breaks(plain: str, marks: Sequence[Mark]) -> None:
    """Breaks with nothing to speak between them are one silence."""
    total, position = 0, 0
    for mark in marks:
        if mark.kind != "break":
            continue
        if _SPEAKABLE.search(plain, position, mark.start):
            total = 0
        total, position = total + mark.ms, mark.end
        if total > MAX_BREAK_MS:
            raise TextFault(
                f"breaks in one place add up to {total / 1000:g} s: at most {MAX_BREAK_MS // 1000} s, shorten them"
            )


def _said(parsed: _Parsed, found: Sequence[Zone], settings: TextSettings) -> list[Reading]:
    """Readings of the say-as spans, and of the places that the row's say_as names."""
    language_at = _LanguageAt(found)
    faults: list[str] = []
    readings: list[Reading] = []
    wanted = [
        (mark.say_as, mark.start, mark.end, mark.inner, mark.options) for mark in parsed.marks if mark.kind == "say-as"
    ]
    if settings.say_as:
        kind = settings.say_as
        taken = hold(parsed.plain, [(mark.start, mark.end) for mark in parsed.marks if mark.kind == "say-as"])
        wanted += [(kind, start, end, (start, end), {}) for start, end in places(kind, taken)]
    for kind, start, end, (inner, outer), options in wanted:
        try:
            spoken = say_as(kind, parsed.text[inner:outer], language_at(start), options, settings.date_order)
        except TextFault as fault:
            faults += fault.faults
        else:
            readings.append(Reading(start, end, spoken))
    raise_if(faults)
    return readings


def _spans(readings: Sequence[Reading]) -> list[tuple[int, int]]:
    return sorted((reading.start, reading.end) for reading in readings)


def _reading_faults(written: str, reading: str, tags: frozenset[str]) -> tuple[str, ...]:
    try:
        marks = parse(reading, tags)
    except TextFault as fault:
        return tuple(f"lexicon reading of {written!r}: {message}" for message in fault.faults)
    if any(mark.kind != "tag" for mark in marks):
        return (
            f"lexicon reading of {written!r} holds a break or say-as: only control tags of the engine may stand there",
        )
    return ()
