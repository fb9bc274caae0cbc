"""Numbers and symbols into words: rules of our own first (normalize_zh, normalize_en), then wetext for what Chinese and
Japanese text still holds, num2words for other languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jobs import codes_ja, normalize_en, normalize_zh, numbers_en, numbers_zh
from jobs.forms import NUMBER, DateOrder
from jobs.language import Zone
from jobs.measure import word_set
from jobs.rules import Rule
from jobs.text_fault import excerpt

HELD = "\ue000"
"""Stands in a text for a span whose reading is settled; cleaning removes it from what users write."""

_DIGIT = re.compile("[0-9]")
# wetext writes a backslash before these; it never sees them.
_ESCAPED = str.maketrans('"\\', "\ue001\ue002")
_RESTORED = str.maketrans("\ue001\ue002", '"\\')
_THOUSANDS = re.compile("(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_MOST_NUMBERS = 12
_CLAUSE = re.compile("[^，。！？；：、,;!?\n]+")
_NUMBER = re.compile(NUMBER)
_DIGIT_WORDS = {"ja": "零一二三四五六七八九", "ko": "영일이삼사오육칠팔구"}
# Languages that write the fraction after a comma and thousands with points or spaces.
_COMMA_FRACTION = word_set("de fr es it pt nl pl ru")
_EUROPEAN = re.compile(r"[0-9]{1,3}(?:[. ][0-9]{3})+(?:,[0-9]+)?(?![0-9])|[0-9]+(?:,[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Reading:
    """text[start:end] is said as `spoken`; nothing else is done to it."""

    start: int
    end: int
    spoken: str
    asked: bool = False
    """By the lexicon: it is spoken even where the text alone would say nothing, such as a lone `→`."""


def find_readings(text: str, zones: Sequence[Zone], order: DateOrder) -> list[Reading]:
    """Spans that our own rules read, sorted, not overlapping. Spans already settled are HELD characters in `text`."""
    readings: list[Reading] = []
    for zone in zones:
        rules = {"zh": normalize_zh.RULES, "yue": normalize_zh.RULES, "en": normalize_en.RULES}.get(zone.language)
        if rules is None:
            rules = (*normalize_zh.SHARED_RULES, *codes_ja.RULES) if zone.language == "ja" else ()
        for line in re.finditer("[^\n]+", text[zone.start : zone.end]):
            found = apply_rules(line[0], rules, order)
            offset = zone.start + line.start()
            readings += [Reading(offset + start, offset + end, spoken) for start, end, spoken in found]
    return readings


def apply_rules(line: str, rules: Sequence[Rule], order: DateOrder) -> list[tuple[int, int, str]]:
    """Run rules in their order over one line; a span that one has read is closed to the later ones."""
    found: list[tuple[int, int, str]] = []
    for rule in rules:
        if not rule.worth(line):
            continue
        hits = [hit for match in rule.matches(line) if (hit := rule.read(match, order))]
        if hits:
            found += hits
            line = hold(line, [(start, end) for start, end, _ in hits])
    return sorted(found)


def hold(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Close sorted spans to whatever reads the text next."""
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], HELD * (end - start)]
        position = end
    return "".join([*pieces, text[position:]])


class Normalizer:
    """What remains after the rules. Loads wetext and num2words only when first needed; collects its warnings."""

    def __init__(self) -> None:
        self._wetext: dict[str, Callable[[str], str]] = {}

    def rest(self, text: str, language: str) -> tuple[str, list[str]]:
        """Words for the digits and symbols left in a text; as many HELD come back as went in, in their order."""
        warnings: list[str] = []
        if _DIGIT.search(text):
            if language in ("zh", "yue", "ja"):
                text = _THOUSANDS.sub("", text)
                text = _CLAUSE.sub(lambda clause: self._asian(clause[0], language, warnings), text)
            elif language != "en":
                text = _other(text, language, warnings)
            else:
                text = _NUMBER.sub(lambda found: f" {numbers_en.decimal(found[0])} ", text)
        if language in ("zh", "yue"):
            text = normalize_zh.sweep(text)
        elif language == "en":
            text = normalize_en.sweep(text)
        return text, warnings

    def _asian(self, clause: str, language: str, warnings: list[str]) -> str:
        if not _DIGIT.search(clause):
            return clause
        grammar = "ja" if language == "ja" else "zh"
        if len(_NUMBER.findall(clause)) > _MOST_NUMBERS:
            # A table or a dump; wetext takes tens of milliseconds for one such clause.
            warnings.append(f"{_quoted(clause)}: numbers read by plain rules (more than {_MOST_NUMBERS} in one clause)")
            return _digits_to_words(clause, grammar)
        try:
            spoken = self._grammar(grammar)(clause.strip().translate(_ESCAPED)).translate(_RESTORED)
        except (AssertionError, ValueError, IndexError, KeyError, RuntimeError) as error:
            spoken, reason = "", f"{type(error).__name__}"
        else:
            reason = _damage(clause, spoken)
        if reason:
            spoken = _digits_to_words(clause, grammar)
            warnings.append(f"{_quoted(clause)}: numbers read by plain rules (wetext: {reason})")
            return spoken
        lead, tail = len(clause) - len(clause.lstrip()), len(clause) - len(clause.rstrip())
        return " " * lead + spoken + " " * tail

    def _grammar(self, language: str) -> Callable[[str], str]:
        if language not in self._wetext:
            from wetext import Normalizer as Wetext

            # Kept as written: interjections, erhua, punctuation, traditional characters are no faults of the text.
            grammar: Any = Wetext(
                lang=language, operator="tn", remove_interjections=False, remove_erhua=False, fix_contractions=False
            )
            self._wetext[language] = lru_cache(4096)(lambda clause: str(grammar.normalize(clause)))
        return self._wetext[language]


def _quoted(clause: str) -> str:
    text = clause.strip().replace(HELD, "…")
    return repr(excerpt(text, 0, len(text)))


def _damage(clause: str, spoken: str) -> str:
    """Why a result of wetext cannot be used; empty if it can: digits must be gone, everything else must still be there
    in its order."""
    if _DIGIT.search(spoken):
        return "digits left"
    if spoken.count(HELD) != clause.count(HELD):
        return "settled words lost"
    rest = iter(spoken)
    kept = (char for char in clause if not char.isdigit() and char not in " .-/:%+~～")
    return "" if all(char in rest for char in kept) else "letters lost"


def _digits_to_words(clause: str, language: str) -> str:
    if language == "ja":
        return _DIGIT.sub(lambda found: _DIGIT_WORDS["ja"][int(found[0])], clause)
    return _NUMBER.sub(lambda found: numbers_zh.decimal(found[0], liang=False), clause)


def _other(text: str, language: str, warnings: list[str]) -> str:
    """Cardinals by num2words; digits stay where it does not know the language."""
    from num2words import num2words

    def word(found: re.Match[str]) -> str:
        written = found[0]
        if language in _COMMA_FRACTION:
            written = re.sub("[. ]", "", written).replace(",", ".")
        written = written.replace(",", "")
        if (len(written) > 1 and written[0] == "0" and "." not in written) or len(written) > 15:
            return " ".join(str(num2words(int(digit), lang=language)) for digit in written if digit.isdigit())
        return str(num2words(float(written) if "." in written else int(written), lang=language))

    try:
        return (_EUROPEAN if language in _COMMA_FRACTION else _NUMBER).sub(word, text)
    # num2words says "no such language" with the first, and each language's table stumbles over what it lacks in its own
    # way; the warning tells the person, whichever it was.
    except (NotImplementedError, KeyError, ValueError, TypeError, IndexError, OverflowError):
        warnings.append(f"numbers in {language!r} text are left as digits; write them in words or use the lexicon")
        return text
