"""How far what was heard is from what was asked: both sides brought to one spelling, errors counted.

Figures become words, traditional characters simplified ones, punctuation goes. Chinese is compared by toneless pinyin,
because a recogniser picks among homophones by taste; languages with spaces by words; others by characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice, product
from typing import Any

from jobs.language import Zone
from jobs.normalize import Normalizer, find_readings
from jobs.speech_rate import units

CHINESE = frozenset({"zh", "yue"})
MOST_READINGS = 512
_FIGURES = re.compile(r"\d[\d,.:-]*\d(?!\w)|\d[\d,.:-]*\d(?=[\u4e00-\u9fff])|\d+(?!st|nd|rd|th|\d)")
_DIGITS = "零一二三四五六七八九"
_TAGS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")

LEAST_LEAK = 2
"""Words or syllables of the reference's end that are no accident at the head of another text; a single one counts where
all the rest is as asked."""
LEAST_LEAK_ANYWHERE = 4
"""The same for a run from anywhere in the reference or the instruction."""


def errors(text: str, heard: str, language: str) -> tuple[int, int]:
    """Errors (substituted, lost, added) in what was heard of a spoken text, and the text's length, in its language's
    unit; under the kindest way to say the figures that the recogniser wrote."""
    text = _TAGS.sub(" ", text)
    if language in CHINESE:
        count, length = chinese_pinyin_error(text, heard)
    elif language == "en":
        count, length = english_wer(text, heard)
    else:
        expected = _tokens(text, language)
        count, length = _fewest(expected, heard, lambda run: _other_numbers(run, language), units), len(expected)
    if count and re.search(r"\d", heard):
        count = min(count, _edits(_tokens(text, language), _tokens(_read_by_us(heard, language), language)))
    return count, length


def leaks(text: str, heard: str, language: str, others: Sequence[str]) -> str:
    """Words at the head of what was heard that come from the other texts (reference, instruction); empty for none."""
    said, asked = _tokens(heard, language), _tokens(_TAGS.sub(" ", text), language)
    whole = _edits(asked, said)
    for other in others:
        source = _tokens(other, language)
        for size in range(min(len(source), len(said)), 0, -1):
            if said[:size] == asked[:size]:
                continue
            rest = _edits(asked, said[size:])
            known = said[:size] == source[-size:] and (size >= LEAST_LEAK or rest == 0)
            known = known or (size >= LEAST_LEAK_ANYWHERE and _holds(source, said[:size]))
            if known and whole - rest >= max(1, size - 1):
                return " ".join(said[:size])
    return ""


def respelled(heard: str, text: str, language: str) -> str:
    """What was heard in the characters of the text: simplified ones where the text has no traditional ones."""
    if language not in CHINESE or _simplifier().convert(text) != text:
        return heard
    simplified: str = _simplifier().convert(heard)
    return simplified


def english_wer(reference: str, heard: str) -> tuple[int, int]:
    """Word errors (substituted, lost, added) and the number of reference words."""
    expected = _english_words(_tidy_english(reference))
    return _fewest(expected, _tidy_english(heard), _english_numbers, _english_words), len(expected)


def chinese_pinyin_error(reference: str, heard: str) -> tuple[int, int]:
    """Syllable errors by toneless pinyin and the number of reference syllables; Latin letters count one each."""
    expected = _chinese_syllables(_tidy_chinese(reference))
    return _fewest(expected, _tidy_chinese(heard), _chinese_numbers, _chinese_syllables), len(expected)


def _tokens(text: str, language: str) -> list[str]:
    if language in CHINESE:
        return _chinese_syllables(_tidy_chinese(text))
    if language == "en":
        return _english_words(_tidy_english(text))
    return units(unicodedata.normalize("NFKC", text))


def _holds(source: Sequence[str], run: Sequence[str]) -> bool:
    return any(source[at : at + len(run)] == run for at in range(len(source) - len(run) + 1))


def _read_by_us(heard: str, language: str) -> str:
    """The recogniser's text as our own front end would say it."""
    pieces, end = [], 0
    for reading in find_readings(heard, [Zone(0, len(heard), language)], "mdy"):
        pieces += [heard[end : reading.start], f" {reading.spoken} "]
        end = reading.end
    return _normalizer().rest("".join([*pieces, heard[end:]]), language)[0]


@cache
def _normalizer() -> Normalizer:
    return Normalizer()


def _fewest(
    expected: Sequence[str], heard: str, readings: Callable[[str], list[str]], split: Callable[[str], list[str]]
) -> int:
    """Errors under the kindest reading of the figures that the recogniser wrote: how it writes a number it heard
    (307295 or three zero seven …, 1250 or twelve fifty) is no error of speech."""
    runs = list(_FIGURES.finditer(heard))
    choices = [readings(run[0]) for run in runs]
    best = len(expected) + len(heard)
    for chosen in islice(product(*choices), MOST_READINGS):
        pieces, end = [], 0
        for run, reading in zip(runs, chosen, strict=True):
            pieces += [heard[end : run.start()], f" {reading} "]
            end = run.end()
        best = min(best, _edits(expected, split("".join([*pieces, heard[end:]]))))
    return best


def _english_numbers(figures: str) -> list[str]:
    """As a number, as a year or clock, digit by digit."""
    from num2words import num2words

    plain = re.sub(r"\D", "", figures)
    clock = " ".join(str(num2words(int(part))) for part in re.split(r"\D", figures) if part)
    year = str(num2words(int(plain), to="year")) if len(plain) == 4 else clock
    digits = " ".join(str(num2words(int(digit))) for digit in plain)
    number = str(num2words(int(plain))) if re.fullmatch(r"[\d,]+", figures) else clock
    return list(dict.fromkeys((number, year, clock, digits)))


def _chinese_numbers(figures: str) -> list[str]:
    """As a number, digit by digit, as a clock, and as a code with a number of two digits written behind it."""
    import cn2an

    plain = re.sub(r"\D", "", figures)
    digits = "".join(_DIGITS[int(digit)] for digit in plain)
    found = [digits]
    if re.fullmatch(r"\d+(\.\d+)?", figures.replace(",", "")):
        found.insert(0, cn2an.an2cn(figures.replace(",", "")))
    if re.fullmatch(r"\d{1,2}[:.]\d\d", figures):
        found.append("点".join(cn2an.an2cn(str(int(part))) for part in re.split("[:.]", figures)))
    if len(plain) > 4:
        found.append(digits[:-2] + cn2an.an2cn(plain[-2:]))
    return list(dict.fromkeys(found))


def _other_numbers(figures: str, language: str) -> list[str]:
    """As a number of the language, and digit by digit; as it stands where nobody knows the language's numbers."""
    from num2words import num2words

    plain = re.sub(r"\D", "", figures)
    try:
        return [
            str(num2words(int(plain), lang=language)),
            " ".join(str(num2words(int(d), lang=language)) for d in plain),
        ]
    except (NotImplementedError, OverflowError):  # num2words: no such language, no word for so large a number
        return [figures]  # compared as it was written


def _tidy_english(text: str) -> str:
    """Signs around figures as words."""
    from num2words import num2words

    text = text.lower().replace("’", "'").replace("dr.", "doctor ").replace("mr.", "mister ").replace("%", " percent ")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"\$(\d+)\.(\d\d)\b", r" \1 dollars \2 cents ", text)
    text = re.sub(r"\$(\d+)", r" \1 dollars ", text)
    text = re.sub(r"(?<=\d)\s*(a\.?m\.?|p\.?m\.?)(?![a-z])", lambda half: f" {half[1][0]} m ", text)
    text = re.sub(r"\b(\d{1,2}):00\b", r" \1 ", text)
    return re.sub(r"\d+(?:st|nd|rd|th)\b", lambda number: f" {num2words(int(number[0][:-2]), to='ordinal')} ", text)


def _english_words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z']+", text) if word != "and"]


def _tidy_chinese(text: str) -> str:
    return re.sub(r"(\d+(?:\.\d+)?)%", r"百分之\1", _simplifier().convert(text))


@cache
def _simplifier() -> Any:
    from opencc import OpenCC

    return OpenCC("t2s")


def _chinese_syllables(text: str) -> list[str]:
    from pypinyin import lazy_pinyin

    text = text.replace("两", "二").replace("幺", "一")
    kept = "".join(re.findall(r"[\u4e00-\u9fff]|[A-Za-z]", text))
    return [
        syllable.lower() for word in re.findall(r"[A-Za-z]|[\u4e00-\u9fff]+", kept) for syllable in lazy_pinyin(word)
    ]


def _edits(expected: Sequence[str], found: Sequence[str]) -> int:
    """Levenshtein distance in whole words."""
    row = list(range(len(found) + 1))
    for line, word in enumerate(expected, start=1):
        diagonal, row[0] = row[0], line
        for column, other in enumerate(found, start=1):
            diagonal, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, diagonal + (word != other))
    return row[-1]
