"""What splitting must know of characters: which are counted, which marks open or close, what must stay whole."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"
BOPOMOFO = "\u3105-\u312f\u31a0-\u31bf"
CJK = HAN + HIRAGANA + KATAKANA + HANGUL + BOPOMOFO
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer: letters, but no spaces between words."""
MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
LETTER = f"(?:[^\\W\\d_{CJK}{UNSPACED}]|[{MARKS}])"

OPENERS = "“‘「『（【《〈〔［｛([{«‹〝"
CLOSERS = "”’」』）】》〉〕］｝)]}»›〞〟"
PAIRS = dict(zip("”’」』）】》〉〕］｝)]}»›〞", OPENERS, strict=True)) | {"〟": "〝"}
HORIZONTAL_SPACE = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
NEVER_FIRST = frozenset("”」』）】》〉〕］｝)]}»›〞〟，。！？；：、．｡､,.;:!?…⋯‥・·％%‰℃°～~ー々゛゜ゝゞヽヾ")
"""Marks with which no piece may start."""

LETTERS_A_WORD = 10
"""A longer word counts for as many words as it has letters over this."""
UNSPACED_LETTERS_A_WORD = 4

_CJK_CHAR = re.compile(f"[{CJK}\\d]")
_CJK_RUNS = re.compile(f"[{CJK}\\d]+")
_UNSPACED_RUNS = re.compile(f"[{UNSPACED}]+")
_WORDS = re.compile(f"{LETTER}+(?:['’]{LETTER}+)*")
_LETTER = re.compile(LETTER)


@dataclass(frozen=True, slots=True)
class Budget:
    """The longest segment. Mixed text adds the two as fractions; punctuation and white space are free."""

    cjk_chars: int
    """In CJK characters; a digit counts as one, it is spoken as at least one syllable."""
    words: int
    """In words, where words are spaced."""

    def __post_init__(self) -> None:
        if self.cjk_chars < 1 or self.words < 1:
            raise ValueError(f"a budget below one character or one word: {self}")

    def share(self, text: str) -> float:
        """How much of the budget `text` takes: 1.0 is exactly full, 0.0 has nothing to speak."""
        cjk_chars = sum(map(len, _CJK_RUNS.findall(text)))
        if cjk_chars == len(text):
            return cjk_chars / self.cjk_chars
        words = 0.0
        for word in _WORDS.findall(text):
            words += max(1.0, len(word) / LETTERS_A_WORD)
        for run in _UNSPACED_RUNS.findall(text):
            words += len(run) / UNSPACED_LETTERS_A_WORD
        return cjk_chars / self.cjk_chars + words / self.words

    def holds(self, share: float) -> bool:
        return share <= 1.0 + 1e-9


class Guard:
    """Spans inside which no cut may fall. Spans may come unsorted and overlapping."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted((start, end) for start, end in spans if end - start > 1):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def forbids(self, position: int) -> bool:
        """True where a cut before the character at `position` would fall inside a span."""
        nearest = bisect_right(self._starts, position - 1) - 1
        return nearest >= 0 and position < self._ends[nearest]


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def is_cjk(character: str) -> bool:
    return _CJK_CHAR.match(character) is not None and not character.isdecimal()


def is_letter(character: str) -> bool:
    """A letter of a script that puts spaces between words."""
    return _LETTER.match(character) is not None


def within_grapheme(text: str, position: int) -> bool:
    """True where a cut at `position` would tear what a reader sees as one character.

    A close reading of UAX 29 from character properties of the standard library: marks, joiners, variation selectors,
    emoji modifiers and tags, flags, Hangul jamo, Indic conjuncts, CR LF.
    """
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if after < "\u0300" and before < "\u0300":
        return before == "\r" and after == "\n"
    if unicodedata.category(before) in ("Cc", "Zl", "Zp"):
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or after in "\u200c\u200d\u0e33\u0eb3\uff9e\uff9f":
        return True
    if before == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if unicodedata.combining(before) == 9:
        return after.isalpha()
    if _is_flag_letter(before) and _is_flag_letter(after):
        start = position
        while start > 0 and position - start < 64 and _is_flag_letter(text[start - 1]):
            start -= 1
        return (position - start) % 2 == 1
    return _jamo_joined(before, after)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _jamo_joined(before: str, after: str) -> bool:
    """Conjoining jamo after a jamo or a syllable: vowels and finals never start a syllable of their own."""
    leading = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    syllable_like = leading or "\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7fb"
    if leading and ("\u1100" <= after <= "\u115f" or "\uac00" <= after <= "\ud7a3"):
        return True
    return syllable_like and ("\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb")
