"""Which language a text is in, by script and sentence. It tells no Latin-script languages apart: rows name theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass

HAN = "々〇㐀-䶿一-鿿豈-龎\U00020000-\U0003fffd"
KANA = "ぁ-ゖゝゞァ-ヺーヽヾㇰ-ㇿ"
HANGUL = "가-힣ᄀ-ᇿㄱ-ㆎ"
CJK = HAN + KANA + HANGUL

_HAN_RUN = re.compile(f"[{HAN}]+")
_KANA_RUN = re.compile(f"[{KANA}]+")
_HANGUL_RUN = re.compile(f"[{HANGUL}]+")
_CYRILLIC_RUN = re.compile("[Ѐ-ӿ]+")
_CJK_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(f"[^\\W_{CJK}]+(?:['’][^\\W\\d_{CJK}]+)?")
_LATIN_WORD = re.compile("[A-Za-zÀ-ɏ]{2,}")
# Signs such as ①, ², ½ are word characters for a regular expression, and tell no language.
_LETTER = re.compile("(?![²³¹¼-¾⁰-₟⅐-↏①-⓿❶-➓㈠-㏿])[^\\W\\d_]")

# Where the language may change: after sentence punctuation with its closers, and at paragraph ends.
_SENTENCE = re.compile(
    r"(?:[^。！？!?\n.]|[.!?](?=[A-Za-z0-9./]))*(?:[。！？\n]+|[.!?]+(?![A-Za-z0-9]))?[”’」』）)》\"']*", re.DOTALL
)


def fallback(text: str) -> str:
    """The language of a text that holds no letter at all, such as `¥99`, in a row that names none."""
    return "en" if "$" in text or "£" in text else "zh"


_NATIVE = {"zh": _HAN_RUN, "ja": re.compile(f"[{HAN}{KANA}]+"), "ko": _HANGUL_RUN, "ru": _CYRILLIC_RUN}
_NATIVE["yue"] = _HAN_RUN
# Little words that only a sentence of English holds, not a Chinese one with English names.
_FUNCTION_WORD = re.compile(
    r"\b(?:I|[Tt]he|an?|to|of|is|are|was|you|your|we|and|in|for|on|at|with|has|have|it|[Tt]his|that|my|by|from|will)\b"
)
_ENGLISH_WORDS = 3
_JAPANESE_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Zone:
    """A sentence or a run of sentences in one language: text[start:end]."""

    start: int
    end: int
    language: str


def size(text: str) -> tuple[int, int]:
    """How many CJK characters and how many words of other scripts (numbers count as words) a text has."""
    return sum(map(len, _CJK_RUN.findall(text))), len(_WORD.findall(text))


def zones(text: str, language: str | None) -> list[Zone]:
    """Cut a text into zones that cover it; neighbours differ in language.

    `language` wins, except for sentences that are plainly English in a row of another script, and for sentences in
    another script altogether. Sentences without letters take the language of the one before them.
    """
    found: list[Zone] = []
    spans = [(match.start(), match.end()) for match in _SENTENCE.finditer(text) if match.end() > match.start()]
    japanese = _is_japanese(text)
    pending = 0  # start of sentences that have no language of their own yet
    for start, end in spans:
        own = sentence_language(text[start:end], language, japanese)
        if own is None:
            continue
        if found and (found[-1].language == own):
            found[-1] = Zone(found[-1].start, end, own)
        else:
            if found and found[-1].end < start:
                found[-1] = Zone(found[-1].start, start, found[-1].language)
            found.append(Zone(start if found else pending, end, own))
    if not found:
        return [Zone(0, len(text), language or fallback(text))] if text else []
    found[-1] = Zone(found[-1].start, len(text), found[-1].language)
    return found


def sentence_language(sentence: str, language: str | None, japanese: bool = False) -> str | None:
    """The language that a sentence is read in; None if it has no letter and the row names no language."""
    if language in _NATIVE:
        if _NATIVE[language].search(sentence) or not _is_english(sentence):
            return language
        return "en"
    if language is not None:
        return _by_script(sentence, japanese, language) if _CJK_RUN.search(sentence) else language
    return _by_script(sentence, japanese, "en") if _LETTER.search(sentence) else None


def _is_english(sentence: str) -> bool:
    return len(_LATIN_WORD.findall(sentence)) >= _ENGLISH_WORDS


def _by_script(sentence: str, japanese: bool, latin: str) -> str:
    """The script with the most to say decides; a word counts like half a character, a little word like one more."""
    words = len(_LATIN_WORD.findall(sentence))
    han, kana, hangul = (sum(map(len, run.findall(sentence))) for run in (_HAN_RUN, _KANA_RUN, _HANGUL_RUN))
    cyrillic = len(_CYRILLIC_RUN.findall(sentence))
    if han + kana + hangul == 0:
        return "ru" if cyrillic > words else latin
    if words + 2 * len(_FUNCTION_WORD.findall(sentence)) > 2 * (han + kana + hangul):
        return latin
    if hangul > han + kana:
        return "ko"
    return "ja" if japanese or _is_japanese(sentence) else "zh"


def _is_japanese(text: str) -> bool:
    """Kana makes the Han around it Japanese; の alone, as in names of Chinese shops, does not."""
    runs = _KANA_RUN.findall(text)
    if not set("".join(runs)) - {"の"}:
        return False
    kana = sum(map(len, runs))
    han = sum(map(len, _HAN_RUN.findall(text)))
    return kana >= _JAPANESE_SHARE * (kana + han)
