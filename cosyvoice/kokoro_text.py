"""Spoken text -> Kokoro's phoneme ids: characters sorted, split by script, each script read by its own reader."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cosyvoice.engine import ModelMissing

if TYPE_CHECKING:
    from cosyvoice.kokoro_en import LatinReader
    from cosyvoice.kokoro_zh import HanReader

MAX_IDS = 508
"""Phoneme ids of one call, without the two pads."""

MARKS = {
    **dict.fromkeys("，、,", ","),
    **dict.fromkeys("。．｡.", "."),
    **dict.fromkeys("！!", "!"),
    **dict.fromkeys("？?", "?"),
    **dict.fromkeys("：:", ":"),
    **dict.fromkeys("；;", ";"),
    **dict.fromkeys("…⋯", "…"),
    **dict.fromkeys("—―–─", "—"),
    **dict.fromkeys("“《「『【〈«〝", "“"),
    **dict.fromkeys("”》」』】〉»〞", "”"),
    **dict.fromkeys("（([〔［{", "("),
    **dict.fromkeys("）)]〕］}", ")"),
    '"': '"',
    **dict.fromkeys("‘’＇´`", "'"),
    **dict.fromkeys("·・‧~～_|\\", " "),
    **dict.fromkeys("-‐‑－", "-"),
    **dict.fromkeys("/／⁄∕", "/"),
}
"""Marks of the world -> marks that the vocabulary or the English reader knows."""

READ_IN_ENGLISH = frozenset("%&+@=$£€#*'-/")
"""Kept beside Latin letters and digits, where the English reader speaks them."""

MARKS_ALONE = {"-": " ", "'": "", "/": ","}
"""What they are without a Latin word beside them."""

FOLDED = {
    **{"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th", "ŋ": "ng", "Ŋ": "Ng"},
    **{"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "Ħ": "H", "ı": "i"},
}
"""Letters that Unicode does not take apart; those that it does lose the accent where the English reader lacks them."""
ACCENTED_IN_ENGLISH = frozenset("àáâãäåçèéêëìíîïñòóôõöùúûüýÿ")
HAN = "〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUN = re.compile(rf"[{HAN}]+|[^\W_{HAN}](?:[^{HAN}]*(?:[^\W_{HAN}]|['%)”.!?…,;:]))?|[^\w{HAN}]+")
"""Han; Latin words and digits with the marks between and behind them; other marks."""
NUMBER = re.compile(r"\d+(?:\.\d+)*")
SPACING = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"\s+(?=[,.!?:;…)”])"), ""),
    (re.compile(r"(?<=[(“])\s+"), ""),
    (re.compile(r"([,.!?:;…—])(?:\s*[,.:;])+|([,.!?:;…—])(?:\s*\2)+"), r"\1\2"),
    (re.compile(r"(?<=[,.!?:;…—)”])(?=[^\s,.!?:;…—)”])|(?<=[^\s(“])(?=[—(“])"), " "),
)
IN_CHINESE = str.maketrans("0123456789.", "零一二三四五六七八九点")


class UnspeakableText(Exception):
    """The text cannot be spoken by this engine; the message says why and what can."""


@dataclass(frozen=True, slots=True)
class Phonemes:
    """What the model is given for one text."""

    ids: tuple[int, ...]
    """Without the pads; 1 to MAX_IDS of them in each call, see `in_calls`."""
    dropped: tuple[str, ...] = ()
    """Characters or words that have no reading, in the order of the text."""


class Phonemizer:
    """Text to phoneme ids. The readers load when their script first occurs."""

    def __init__(self) -> None:
        for module, package in (("misaki", "misaki==0.9.4"), ("jieba", "jieba"), ("hibari", "hibari-tts==0.2.1")):
            if find_spec(module) is None:
                raise ModelMissing(f"the embedded voice needs {module}; install it: pip install {package}")
        vocabulary = (files("hibari") / "assets" / "vocab.json").read_text(encoding="utf-8")
        self._ids: dict[str, int] = json.loads(vocabulary)

    @cached_property
    def _han(self) -> HanReader:
        from cosyvoice.kokoro_zh import HanReader

        return HanReader()

    @cached_property
    def _latin(self) -> LatinReader:
        from cosyvoice.kokoro_en import LatinReader

        return LatinReader()

    def phonemize(self, text: str, language: str) -> tuple[str, tuple[str, ...]]:
        """Phonemes of `text`, and what had to be dropped.

        Raises UnspeakableText for letters of other scripts and for text without anything to speak.
        """
        clean, dropped = sort_characters(text)
        among_han = language == "zh"
        if among_han:  # digits that the text front end was told to leave: one by one
            clean = NUMBER.sub(lambda number: number[0].translate(IN_CHINESE), clean)
        parts: list[str] = []
        for run in RUN.findall(clean):
            phonemes, unread = self._read(run, among_han)
            parts.append(phonemes)
            dropped += unread
        phonemes = _tidy(" ".join(filter(None, parts)))
        unknown = [character for character in phonemes if character not in self._ids]
        phonemes = "".join(character for character in phonemes if character in self._ids)
        if not any(character.isalpha() for character in phonemes):
            raise UnspeakableText("nothing in this text can be spoken; give it words, or leave the row out")
        return phonemes, tuple(dropped + unknown)

    def __call__(self, text: str, language: str) -> Phonemes:
        """As `phonemize`, with ids in place of phonemes."""
        phonemes, dropped = self.phonemize(text, language)
        return Phonemes(tuple(self._ids[character] for character in phonemes), dropped)

    def _read(self, run: str, among_han: bool) -> tuple[str, list[str]]:
        if re.match(f"[{HAN}]", run):
            han = self._han.read(run)
            return han.phonemes, list(han.unread)
        if run[0].isalnum():
            latin = self._latin.read(run, among_han)
            return latin.phonemes, list(latin.unread)
        symbols = [symbol for symbol in run if symbol in "%&+@=$£€#*"]
        return "".join(MARKS_ALONE.get(mark, mark) for mark in run if mark not in symbols), symbols

    def in_calls(self, ids: tuple[int, ...]) -> list[tuple[int, ...]]:
        """`ids` in pieces of at most MAX_IDS, cut after a mark if the second half has one, else at a space."""
        marks = {self._ids[mark] for mark in ",.!?:;…—"}
        space = self._ids[" "]
        calls: list[tuple[int, ...]] = []
        while len(ids) > MAX_IDS:
            second_half = range(MAX_IDS - 1, MAX_IDS // 2, -1)
            cut = next((at + 1 for at in second_half if ids[at] in marks), 0)
            cut = cut or next((at + 1 for at in second_half if ids[at] == space), MAX_IDS)
            calls.append(ids[:cut])
            ids = ids[cut:]
        return [*calls, ids]


def sort_characters(text: str) -> tuple[str, list[str]]:
    """`text` in Han, Latin letters, digits, spaces and known marks; and the characters that are none of these.

    Raises UnspeakableText at the first letter of another script.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for character in unicodedata.normalize("NFC", text):
        if re.match(f"[{HAN}]", character):
            kept.append(character)
            continue
        mark = MARKS.get(character)
        for plain in (mark,) if mark else FOLDED.get(character) or unicodedata.normalize("NFKC", character):
            kept.append(_sort_one(plain, dropped))
    return "".join(kept), dropped


def _sort_one(character: str, dropped: list[str]) -> str:
    category = unicodedata.category(character)
    if character in MARKS or character in READ_IN_ENGLISH or (character.isascii() and character.isalnum()):
        return MARKS.get(character, character)
    if category[0] == "Z" or category == "Cc":
        return " "
    if category[0] == "L":
        name = unicodedata.name(character, "")
        if not name.startswith("LATIN"):
            script = name.split(" ")[0].capitalize() or "unknown"
            raise UnspeakableText(
                f"{script} letters ({character!r}) are beyond the embedded voice, which speaks Chinese and English; "
                "use engine cosyvoice2 or cosyvoice3 for this row"
            )
        base = character if character.lower() in ACCENTED_IN_ENGLISH else unicodedata.normalize("NFD", character)[0]
        if base.isascii() or base.lower() in ACCENTED_IN_ENGLISH:
            return base
    if category[0] == "M" or category == "Cf":
        return ""  # joiners, variation selectors, directions: they make no sound anywhere
    dropped.append(character)
    return " "


def _tidy(phonemes: str) -> str:
    """Single spaces, no mark twice, no mark at the start, and an end that lets the voice fall."""
    for pattern, replacement in SPACING:
        phonemes = pattern.sub(replacement, phonemes)
    phonemes = phonemes.lstrip(" ,.!?:;…—)”").rstrip()
    return phonemes if phonemes[-1:] in tuple(',.!?:;…—"”)') else phonemes + "."
