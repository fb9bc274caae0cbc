"""Say-sets: the words that a phone system joins to numbers, dates, times, amounts, under the names it looks for.

Generated from the languages' own rules. Names: Asterisk `main/say.c` (`ast_say_number_full_en`, `_zh`,
`ast_say_date_with_format_en`, `ast_say_character_str`); FreeSWITCH `mod_say_en.c`, `mod_say_zh.c`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from jobs import numbers_en, numbers_zh
from jobs.readings_en import MONTHS

Kind = Literal["digits", "numbers", "letters", "dates", "times", "money"]
Platform = Literal["asterisk", "freeswitch"]
KINDS: tuple[Kind, ...] = ("digits", "numbers", "letters", "dates", "times", "money")
PLATFORMS: tuple[Platform, ...] = ("asterisk", "freeswitch")
PROFILES = {"asterisk": "prompt-pieces", "freeswitch": "freeswitch-pieces"}
WEEKDAYS_EN = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
WEEKDAYS_ZH = "日一二三四五六"
_TENS = range(20, 100, 10)
_ROUND_ZH = (10, 100, 1000, 10_000, 100_000_000)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SIGNS = {
    " ": ("space", "space", "空格"), "!": ("exclaimation-point", "exclamation point", "感叹号"),
    "@": ("at", "at", "艾特"), "$": ("dollar", "dollar", "美元符"), "-": ("dash", "dash", "杠"),
    ".": ("dot", "dot", "点"),
    "=": ("equals", "equals", "等于"), "+": ("plus", "plus", "加"), "/": ("slash", "slash", "斜杠"),
}  # fmt: skip
"""Sign -> Asterisk's name (its spelling), and how it is said."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One sound file."""

    name: str
    """Path below the language's folder, without suffix."""
    text: str


def pieces(language: str, kind: Kind, platform: Platform) -> list[Piece]:
    """All files of a say-set, each once, in a fixed order. Raises ValueError for a language without rules."""
    if language not in _SETS:
        raise ValueError(f"no say-set rules for {language!r}; there are some for {', '.join(_SETS)}")
    return list({piece.name: piece for piece in _SETS[language](kind, platform == "freeswitch")}.values())


def _english(kind: Kind, freeswitch: bool) -> Iterator[Piece]:
    if kind == "letters":
        yield from _letters(freeswitch, 1)
        return
    yield from (Piece(f"digits/{n}", numbers_en.cardinal(str(n))) for n in range(10))
    if kind == "digits":
        yield from (Piece("digits/star", "star"), Piece("digits/pound", "pound"))
        return
    yield from (Piece(f"digits/{n}", numbers_en.cardinal(str(n))) for n in (*range(10, 20), *_TENS))
    yield from (Piece(f"digits/{word}", word) for word in ("hundred", "thousand", "million"))
    if kind == "numbers":
        yield from _english_numbers(freeswitch)
    elif kind == "dates":
        yield from _english_dates(freeswitch)
    elif kind == "times":
        yield from _english_times(freeswitch)
    else:
        yield from _english_money(freeswitch)


def _english_numbers(freeswitch: bool) -> Iterator[Piece]:
    yield from (Piece(f"digits/h-{n}", numbers_en.ordinal(str(n))) for n in (*range(1, 20), *_TENS))
    yield from (Piece(f"digits/h-{word}", f"{word}th") for word in ("hundred", "thousand", "million"))
    if freeswitch:
        yield from (Piece("currency/negative", "negative"), Piece("digits/dot", "dot"), Piece("digits/point", "point"))
    else:
        yield from (Piece("digits/minus", "minus"), Piece("digits/and", "and"), Piece("letters/dot", "point"))


def _english_dates(freeswitch: bool) -> Iterator[Piece]:
    folder = "time" if freeswitch else "digits"
    yield from (Piece(f"digits/h-{n}", numbers_en.ordinal(str(n))) for n in (*range(1, 20), 20, 30))
    yield from (Piece(f"{folder}/day-{n}", day) for n, day in enumerate(WEEKDAYS_EN))
    yield from (Piece(f"{folder}/mon-{n}", month) for n, month in enumerate(MONTHS))
    yield from (Piece(f"{folder}/{word}", word) for word in ("today", "yesterday", "tomorrow", "oh"))


def _english_times(freeswitch: bool) -> Iterator[Piece]:
    folder = "time" if freeswitch else "digits"
    words = {"a-m": "A M", "p-m": "P M", "oclock": "o'clock", "oh": "oh", "at": "at"}
    yield from (Piece(f"{folder}/{name}", word) for name, word in words.items())
    where = "time/" if freeswitch else ""
    for unit in ("hour", "minute", "second"):
        yield from (Piece(f"{where}{unit}", unit), Piece(f"{where}{unit}s", f"{unit}s"))


def _english_money(freeswitch: bool) -> Iterator[Piece]:
    if freeswitch:
        yield from (
            Piece(f"currency/{word}", word) for word in ("dollar", "dollars", "cent", "cents", "and", "negative")
        )
    else:
        yield Piece("letters/dollar", "dollar")
        yield from (Piece(word, word) for word in ("dollars", "cent", "cents", "and"))


def _chinese(kind: Kind, freeswitch: bool) -> Iterator[Piece]:
    if kind == "letters":
        yield from _letters(freeswitch, 2)
        return
    yield from (Piece(f"digits/{n}", numbers_zh.cardinal(str(n))) for n in range(10))
    if kind == "digits":
        yield from (Piece("digits/star", "星号"), Piece("digits/pound", "井号"))
        return
    yield from _chinese_rounds(freeswitch)
    if kind == "numbers":
        if freeswitch:
            yield from (Piece("digits/ordinal", "第"), Piece("currency/negative", "负"), Piece("digits/dot", "点"))
        else:
            yield from (Piece("digits/minus", "负"), Piece("letters/dot", "点"))
    elif kind == "dates":
        yield from _chinese_dates(freeswitch)
    elif kind == "times":
        yield from _chinese_times(freeswitch)
    elif freeswitch:
        words = {"dollar": "元", "cent": "分", "yuan": "元", "jiao": "角", "fen": "分", "li": "厘", "negative": "负"}
        yield from (Piece(f"currency/{name}", said) for name, said in words.items())
    else:
        yield from (Piece("dollars", "元"), Piece("letters/dollar", "元"), Piece("cents", "分"), Piece("cent", "分"))


def _chinese_rounds(freeswitch: bool) -> Iterator[Piece]:
    """What digits are multiplied with: FreeSWITCH names them by value, Asterisk by words, and it has 20 … 90 whole."""
    if freeswitch:
        for value in _ROUND_ZH:
            yield Piece(f"digits/{value}", _unit(value))
        return
    yield from (Piece(f"digits/{n}", numbers_zh.cardinal(str(n))) for n in (10, *_TENS))
    names = ("hundred", "thousand", "wan", "yi")
    yield from (Piece(f"digits/{name}", _unit(value)) for name, value in zip(names, _ROUND_ZH[1:], strict=True))


def _unit(value: int) -> str:
    """The word for a power of ten without the "one" before it: 100 -> 百."""
    return numbers_zh.cardinal(str(value)).removeprefix("一")


def _chinese_dates(freeswitch: bool) -> Iterator[Piece]:
    folder = "time" if freeswitch else "digits"
    yield from (Piece(f"{folder}/day-{n}", f"星期{day}") for n, day in enumerate(WEEKDAYS_ZH))
    yield from (Piece(f"{folder}/{name}", said) for name, said in (("year", "年"), ("month", "月"), ("day", "日")))
    if not freeswitch:
        yield from (Piece(f"digits/mon-{n}", f"{numbers_zh.cardinal(str(n + 1))}月") for n in range(12))
    words = (("today", "今天"), ("yesterday", "昨天"), ("tomorrow", "明天"))
    yield from (Piece(f"{folder}/{name}", said) for name, said in words)


def _chinese_times(freeswitch: bool) -> Iterator[Piece]:
    if freeswitch:
        words = {"morning": "凌晨", "am": "上午", "pm": "下午", "evening": "晚上", "2s": "两"}
        words |= {"hour": "点", "hours": "小时", "minute": "分", "second": "秒", "seconds": "秒"}
        yield from (Piece(f"time/{name}", said) for name, said in words.items())
        return
    words = {"a-m": "上午", "p-m": "下午", "oclock": "点", "hour": "点", "minute": "分", "second": "秒"}
    yield from (Piece(f"digits/{name}", said) for name, said in words.items())


def _letters(freeswitch: bool, said: int) -> Iterator[Piece]:
    """Letters and signs; FreeSWITCH names them by their ASCII code."""
    for letter in _ALPHABET:
        yield Piece(f"ascii/{ord(letter)}" if freeswitch else f"letters/{letter}", letter.upper())
    for sign, names in _SIGNS.items():
        yield Piece(f"ascii/{ord(sign)}" if freeswitch else f"letters/{names[0]}", names[said])


_SETS: dict[str, Callable[[Kind, bool], Iterator[Piece]]] = {"en": _english, "zh": _chinese}
LANGUAGES = tuple(_SETS)
