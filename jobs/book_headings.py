"""Lines of a plain text that are headings: `第十二章 …`, `Chapter One`, `Prologue`, a Roman numeral on its own.

Shapes of single lines only; which of them really start a chapter is judged by the whole book (book_contents.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jobs.book_semantics import matter_of_title

MAX_HEADING_CHARS = 90
_CN = "零〇一二三四五六七八九十百千万两兩廿卅壹贰叁肆伍陆柒捌玖拾0-9０-９"
_SEPARATOR = r"[\s　:：、.．·・—–\-─|]"
_HAN_UNIT = r"章|回|节|節|卷|部|篇|集|幕|折|话|話|編|编|册|冊|夜|场"
_CHINESE = re.compile(
    rf"(?:正文{_SEPARATOR}*)?(?:[【\[(（]?)第\s?([{_CN}]{{1,9}})\s?({_HAN_UNIT})(?:[】\])）]?)(.*)", re.DOTALL
)
_VOLUME = re.compile(
    rf"(卷)([{_CN}]{{1,5}})(?:{_SEPARATOR}+(.{{0,40}}))?|([上中下][卷部篇册])(?:{_SEPARATOR}+(.{{0,40}}))?"
)
_CHINESE_NAMED = re.compile(
    rf"(?:楔子|引子|序章|序幕|序言|序曲|序|前言|自序|代序|总序|引言|导言|导读|后记|後記|尾声|尾聲|终章|終章|尾章|番外篇?|外传|外傳"
    rf"|附录|附錄|跋|致谢|目录|目錄|目次|内容简介|作品简介|简介|版权信息|完本感言|プロローグ|エピローグ|あとがき|まえがき)"
    rf"(?:[{_CN}]{{0,4}})(?:{_SEPARATOR}+(.{{1,30}})|[（(].{{1,20}}[)）])?"
)
# What follows 第二章 directly in prose: 第二章里他说, 第三回的故事, 第一集是.
_PROSE_AFTER = re.compile(
    "[里裡中内內上下是的了和与與在到讲講说說写寫，,。．；;！!？?、」”’也都就还還有没沒以开開结結完才被把将將让讓我你他她它]"
)
_PROSE_IN_TITLE = re.compile("[。；;：:“”「」]|[，,].*[，,].*[，,]")
_WORDS = re.findall(
    "[a-z]+",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen",
)
_TENS = re.findall("[a-z]+", "twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = re.findall(
    "[a-z]+",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth",
)
_NUMBER_WORDS = {word: value for value, word in enumerate(_WORDS, 1)}
_NUMBER_WORDS |= {ten: 10 * value for value, ten in enumerate(_TENS, 2)}
_NUMBER_WORDS |= {
    f"{ten}{dash}{one}": 10 * tens + ones
    for tens, ten in enumerate(_TENS, 2) for ones, one in enumerate(_WORDS[:9], 1) for dash in "- "
}  # fmt: skip
_NUMBER_WORDS |= {word: value for value, word in enumerate(_ORDINALS, 1)}
_NUMBER_WORDS |= {f"the {word}": value for value, word in enumerate(_ORDINALS, 1)} | {"the last": 99, "last": 99}
_ENGLISH = re.compile(
    r"((?i:chapter|book|part|volume|vol\.|section|act|scene|letter|canto|stave|episode))"
    r"(?:\s+|\.\s*)(?:(?i:no\.\s*|the\s+)?)((?i:"
    + "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
    + r")|[0-9]{1,4}|[IVXLCivxlc]{1,9})\b"
    r"(?:\s*[.:—–-]+\s*|\s+|$)(.*)"
)
_ENGLISH_NAMED = re.compile(
    r"(?i:prologue|epilogue|preface|foreword|introduction|afterword|appendix(?: [A-Z0-9])?|interlude|conclusion"
    r"|postscript|(?:table of )?contents|dedication|acknowledge?ments|about the author|author['’]s note|glossary"
    r"|bibliography|index|(?:foot|end)?notes|(?:list of )?illustrations|copyright|transcriber['’]s notes?)"
    r"(?:\s*[.:—–-]+\s*(.{1,70}))?[.:]?"
)
_NUMERAL = re.compile(
    r"(?:[\[(（【—–-]\s*)?([IVXLC]{1,9}|[0-9]{1,4}|[一二三四五六七八九十百零〇]{1,5})(?:\s*[\])）】—–-]|[.、．])?"
)
_NUMERAL_TITLE = re.compile(r"([IVXLC]{1,9}|[0-9]{1,3})\s*[.:—–]\s+(\S.{1,70})")
_INITIAL = re.compile(r"\.\s[A-Z]\.")
# `1、雨夜`, `一．雨夜`, `001 雨夜`: short, in Han, no sentence.
_HAN_NUMERAL_TITLE = re.compile(
    r"(?:([0-9]{1,4}|[一二三四五六七八九十百零〇]{1,6})\s?[、.．:：]\s?|([0-9]{1,4})[\s　]+)"
    r"((?=.*[㐀-鿿])[^\s，,。．！!？?；;：:“”「」『』…][^，,。！!？?；;：:“”「」『』…]{0,24})"
)
_ORNAMENT = re.compile(r"^[☆★◆◇●○■□▲△▼▽※]+[\s　]*[、.．]?[\s　]*")
_ROMAN = re.compile("M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CN_DIGITS = {
    char: value
    for value, chars in enumerate(("零〇", "一壹", "二两兩贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖"))
    for char in chars
}
_CN_TENS = {"十": 10, "拾": 10, "百": 100, "千": 1000}
_LEVELS = {"卷": 1, "部": 1, "篇": 1, "集": 1, "編": 1, "编": 1, "册": 1, "冊": 1, "节": 3, "節": 3, "场": 3}
_LEVELS |= {"book": 1, "part": 1, "volume": 1, "vol.": 1, "act": 1, "section": 3, "scene": 3}


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that has the shape of a heading."""

    text: str
    unit: str
    """`章`, `chapter`, `roman`, `number`, `named` …"""
    number: int | None
    title: str
    """What follows the number."""
    level: int
    """1 parts, 2 chapters, 3 sections."""
    sure: bool
    """False for a bare numeral, which counts only as one of a series."""

    @property
    def key(self) -> tuple[str, object]:
        """Equal for the same heading in the table of contents and in the text."""
        return (self.unit, self.number) if self.number is not None else (self.unit, _letters(self.text))


def heading_of(line: str) -> Heading | None:
    """The heading that a line has the shape of; None for prose."""
    text = _ORNAMENT.sub("", " ".join(line.split()).strip("　*=#_ "))
    if not text or len(text) > MAX_HEADING_CHARS:
        return None
    return _chinese(text) or _english(text) or _named(text) or _numeral(text)


def _chinese(text: str) -> Heading | None:
    found = _CHINESE.fullmatch(text)
    if not found:
        volume = _VOLUME.fullmatch(text)
        if volume is None or len(text) > 30:
            return None
        return Heading(text, "卷", chinese_number(volume[2] or ""), volume[3] or volume[5] or "", 1, True)
    rest = found[3]
    title = rest.lstrip(" 　:：、.．·・—–-─|】])）")
    apart = not rest or rest != rest.lstrip(" 　:：、.．·・—–-─|")
    if title[-1:] in ("。", "”", "」", "，", ",", "；", "："):
        return None
    if apart:
        # 第三回 宴桃园豪杰三结义，斩黄巾英雄首立功: long titles in two halves, no sentences.
        prose = len(title) > 40 or _PROSE_IN_TITLE.search(title) is not None
    else:
        prose = (
            found[2] in "场夜集部节節"
            or len(title) > 20
            or bool(_PROSE_AFTER.match(title))
            or re.search("[，。；：“”]", title) is not None
        )
    if prose:
        return None
    return Heading(text, found[2], chinese_number(found[1]), title, _LEVELS.get(found[2], 2), True)


def _english(text: str) -> Heading | None:
    found = _ENGLISH.fullmatch(text)
    if not found or not found[1][0].isupper():
        return None
    number, title = _english_number(found[2]), found[3].strip()
    if number is None:
        return None
    if title:
        # `Part two was the best` and `Chapter 3 of my life` are prose; `CHAPTER I. Down the Rabbit-Hole` is not.
        parted = re.search(r"[.:—–-]\s*$", text[: found.start(3)]) is not None
        if title[0].islower() and not (parted and _title_like(title)):
            return None
        if title[-1] in ",;" or (not parted and not _title_like(title)):
            return None
        if re.search(r"[.!?]\s+[A-Z]\w+.*[.!?]$", title):
            return None
    unit = found[1].lower()
    return Heading(text, unit, number, title, _LEVELS.get(unit, 2), True)


def _named(text: str) -> Heading | None:
    chinese = _CHINESE_NAMED.fullmatch(text)
    english = None if chinese else _ENGLISH_NAMED.fullmatch(text)
    found = chinese or english
    if not found or (english and not text[0].isupper()) or text[-1] in "。，,":
        return None
    title = found[1] or ""
    if english and title and not _title_like(title):
        return None
    if chinese and title and _PROSE_IN_TITLE.search(title):
        return None
    return Heading(text, "named", None, title, 2, True)


def _numeral(text: str) -> Heading | None:
    if han := _HAN_NUMERAL_TITLE.fullmatch(text):
        written = han[1] or han[2]
        number = int(written) if written.isdigit() else chinese_number(written) or -1
        unit = "number with title" if written.isdigit() else "han with title"
        return Heading(text, unit, number, han[3], 2, False) if number > 0 else None
    bare = _NUMERAL.fullmatch(text)
    found = bare or _NUMERAL_TITLE.fullmatch(text)
    if not found:
        return None
    title = "" if bare else found[2].strip()
    if title and (not _title_like(title) or title[-1] in ",;"):
        return None
    written = found[1]
    if written[0].isdigit():
        unit, number = "number", int(written)
    elif written[0] in "IVXLC":
        unit, number = "roman", roman_number(written) or -1
    else:
        unit, number = "han", chinese_number(written) or -1
    unit += " with title" if title else ""
    return Heading(text, unit, number, title, 2, False) if number > 0 else None


def in_figures(line: str) -> str:
    """A line of a heading with a Roman numeral in figures, for the ear: `IV` is `4`, `II. The Hen` is `2. The Hen`."""
    found = _NUMERAL.fullmatch(line) or _NUMERAL_TITLE.fullmatch(line)
    number = roman_number(found[1]) if found else None
    # `C. Auguste Dupin` and `I. M. Pei` are names.
    if found is None or number is None or found[1] in ("L", "C") or _INITIAL.match(line, found.end(1)):
        return line
    return f"{line[: found.start(1)]}{number}{line[found.end(1) :]}"


def is_contents_heading(line: str) -> bool:
    return matter_of_title(line) == "contents"


def _title_like(title: str) -> bool:
    """Capitals at the start of its long words, or nothing but capitals."""
    if title.isupper():
        return True
    long_words = [word for word in re.findall(r"[^\W\d_][\w'’]*", title) if len(word) > 3]
    capital = sum(word[0].isupper() for word in long_words)
    return capital * 2 >= len(long_words) and (title[0].isupper() or not title[0].isalpha())


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _english_number(written: str) -> int | None:
    low = " ".join(written.lower().split())
    if low.isdigit():
        return int(low)
    if low in _NUMBER_WORDS:
        return _NUMBER_WORDS[low]
    # `Chapter i` is a heading, `Part mix` and `Part civil` are not.
    return roman_number(written.upper()) if written.isupper() or len(written) <= 4 else None


def roman_number(written: str) -> int | None:
    """The value of a well-formed Roman numeral; None for anything else."""
    if not written or not _ROMAN.fullmatch(written):
        return None
    values = [_ROMAN_VALUES[char] for char in written]
    return sum(-now if now < following else now for now, following in zip(values, [*values[1:], 0], strict=True))


def chinese_number(written: str) -> int | None:
    """第N章: 十二, 一百零三, 二〇, １２ -> a whole number; None where it is none."""
    digits = "".join(str(_CN_DIGITS[char]) if char in _CN_DIGITS else char for char in written)
    if digits and all(char.isdecimal() for char in digits):
        return int(digits)
    total, section, digit = 0, 0, 0
    for char in written.replace("廿", "二十").replace("卅", "三十"):
        if char in _CN_DIGITS:
            digit = _CN_DIGITS[char]
        elif char in _CN_TENS:
            section, digit = section + (digit or 1) * _CN_TENS[char], 0
        elif char == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        else:
            return None
    return total + section + digit if written else None
