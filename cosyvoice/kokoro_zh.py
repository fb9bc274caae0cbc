"""Han text -> the phonemes Kokoro was trained on: jieba's words, pypinyin's readings, misaki's IPA.

pypinyin reads a word that stands alone in the commonest way of the dictionary, which is wrong for a handful of everyday
characters (重 before a verb, 得 and 地 as particles); those are read by their neighbours here.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NUMERALS = frozenset("零一二两三四五六七八九十百千万亿几半每这那哪")
PRONOUNS = frozenset("我你您他她它们咱")
NON_SYLLABIC_MARK = "\u032f"
"""misaki writes it below the off-glide of a diphthong; the vocabulary has no such character."""


@dataclass(frozen=True, slots=True)
class HanPhonemes:
    """Phonemes of one run of Han characters, words separated by spaces, and the characters that have no reading."""

    phonemes: str
    unread: tuple[str, ...] = ()


class HanReader:
    """Reads runs of Han characters. Loading takes about a second, mostly jieba's dictionary."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # jieba's source has invalid escapes (SyntaxWarning) and asks pkg_resources for its dictionary.
            warnings.simplefilter("ignore")
            import jieba
            from misaki.zh import ZHG2P
            from pypinyin import Style, lazy_pinyin
        for name in ("jieba", "jieba._compat"):
            logging.getLogger(name).handlers.clear()  # it logs to stderr on its own
        # Filled by hand: jieba's own way keeps a marshal file in the shared temporary folder and trusts what it finds.
        self._words = jieba.Tokenizer()
        self._words.FREQ, self._words.total = self._words.gen_pfdict(self._words.get_dict_file())
        self._words.initialized = True
        self._to_ipa: Callable[[str], str] = ZHG2P.py2ipa
        self._lazy_pinyin = lazy_pinyin
        self._style = Style.TONE3

    def read(self, han: str) -> HanPhonemes:
        """Phonemes of `han`, which holds nothing but Han characters."""
        words = self._cut(han)
        unread: list[str] = []
        spoken: list[str] = []
        for index, word in enumerate(words):
            before = words[index - 1] if index else ""
            after = words[index + 1] if index + 1 < len(words) else ""
            syllables = [self._syllable(pinyin, unread) for pinyin in self._pinyin(word, before, after)]
            spoken.append("".join(syllables))
        return HanPhonemes(" ".join(filter(None, spoken)).replace(NON_SYLLABIC_MARK, ""), tuple(unread))

    def pinyin(self, han: str) -> list[str]:
        """The readings chosen for `han`, as pinyin with tone digits, neutral tone 5."""
        words = self._cut(han)
        padded = ["", *words, ""]
        return [pinyin for at, word in enumerate(words) for pinyin in self._pinyin(word, padded[at], padded[at + 2])]

    def _cut(self, han: str) -> list[str]:
        """jieba's words, less those that would hide one of SINGLE_CHARACTERS from its rule."""
        words: list[str] = []
        for word in self._words.lcut(han):
            made_up = word[0] in "地得" and word not in self._words.FREQ  # `高兴 地说`
            if word[1:] and (made_up or word[1] in HEADS.get(word[0], "")):
                words += [word[0], word[1:]]
            elif word[1:] and word[-1] == "只" and NUMERALS.issuperset(word[:-1]):
                words += [word[:-1], "只"]
            else:
                words.append(word)
        return words

    def _pinyin(self, word: str, before: str, after: str) -> Sequence[str]:
        if word in WORDS:
            return WORDS[word].split()
        rule = SINGLE_CHARACTERS.get(word)
        if rule is not None:
            return [rule(before, after)]
        return self._lazy_pinyin(word, style=self._style, neutral_tone_with_five=True)

    def _syllable(self, pinyin: str, unread: list[str]) -> str:
        try:
            return self._to_ipa(pinyin)
        except ValueError:  # pypinyin gives a character back unread, and a few dialect syllables have no IPA
            unread.append(pinyin.rstrip("12345"))
            return ""


def _de_of_degree(before: str, _after: str) -> str:
    return "dei3" if not before or before[-1] in PRONOUNS or before in MODAL_ADVERBS else "de5"


def _de_of_manner(before: str, after: str) -> str:
    return "de5" if len(before) > 1 and after else "di4"


def _chang(_before: str, after: str) -> str:
    return "zhang3" if after[:1] and after[0] in "得大高胖出着满成" else "chang2"


def _chong(_before: str, after: str) -> str:
    return "chong2" if after[:1] in HEADS["重"] and after else "zhong4"


def _huan(_before: str, after: str) -> str:
    return "huan2" if after[:1] in HEADS["还"] and after else "hai2"


def _wei(_before: str, after: str) -> str:
    toward = after[:1] and (after[0] in PRONOUNS or after[0] in "了何此大客避保方顾")
    return "wei4" if toward and after != "大" else "wei2"


def _zhi(before: str, _after: str) -> str:
    return "zhi1" if before and before[-1] in NUMERALS else "zhi3"


HEADS = {"重": frozenset("拨听发试做播写传走设选录输登打说问填"), "还": frozenset("款清贷钱书债")}
"""What follows 重 in the sense of `again`, and 还 in the sense of `give back`."""
MODAL_ADVERBS = frozenset({"就", "还", "必", "总", "都", "可", "又", "也", "只", "非", "不", "还是", "总是"})
SINGLE_CHARACTERS: dict[str, Callable[[str, str], str]] = {
    "得": _de_of_degree,
    "地": _de_of_manner,
    "长": _chang,
    "重": _chong,
    "为": _wei,
    "只": _zhi,
    "还": _huan,
    "谁": lambda _before, _after: "shei2",
    "嗯": lambda _before, _after: "en4",
    "〇": lambda _before, _after: "ling2",
}

WORDS = {"多长": "duo1 chang2", "多长时间": "duo1 chang2 shi2 jian1"}
"""Words that the dictionary reads wrongly."""
