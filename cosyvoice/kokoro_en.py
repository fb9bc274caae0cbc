"""Latin text -> the phonemes Kokoro was trained on (misaki's American English), through hibari's reader."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase

UNKNOWN = "\ufffd"
LETTER_ROW = re.compile(r"(?<![\w'-])[A-Z](?:[ ,]+[A-Z])+(?![\w'-])")
"""Two or more single capitals: `A B C`, `A, B, C`."""
LAST_A = re.compile(r"(?<![\w'-])[Aa](?=\s*(?:[,.;:!?…—)”](?!\w)|$))")
"""An article is followed by its noun, so this one is the letter."""
SHORT_CAPITALS = re.compile(r"(?<![\w'-])[A-Z]{1,5}(?![\w'-])")
LETTER_NAMES = (
    "ei→ pi↘ sei→ ti↘ i↘ ai↗fu↗ ʨi↘ ei↗ʨʰi ai↘ ꭧei↘ kʰei↘ ai↗lou ai↗mu "
    "ə→n ou→ pʰi→ kʰjou→ a↗ɚ ai↗sɨ tʰi↘ jou→ vi→ ta↗pu↘lju ai↗kʰɤsɨ wai↘ ʦei↘"
)
"""A to Z as Chinese speakers say them. A recogniser understands ATM, APP, PIN and GPS from the Chinese voices in this
way; given the English names it hears ADN, ABB, BIN and GBS."""
MANDARIN_LETTERS = dict(zip(ascii_uppercase, LETTER_NAMES.split(), strict=True))
MANDARIN_WIFI = "[WiFi](/wai→fai→/)"
WIFI = re.compile(r"(?<![\w-])wi-?fi(?![\w-])", re.IGNORECASE)
SPELLED_UP_TO = 3
"""Letters of a name in capitals that Chinese speakers spell even where English reads a word (APP, SIM)."""


@dataclass(frozen=True, slots=True)
class LatinPhonemes:
    """Phonemes of one run of Latin text and the words that could not be read."""

    phonemes: str
    unread: tuple[str, ...] = ()


class LatinReader:
    """Reads runs of Latin text. Loading takes about a second."""

    def __init__(self) -> None:
        from hibari.g2p import G2P, normalize

        self._g2p = G2P(unk=UNKNOWN)
        self._normalize = normalize

    def read(self, text: str, among_han: bool) -> LatinPhonemes:
        """Phonemes of `text`: words, digits and the marks `;:,.!?—…"()“” `; no brackets.

        `among_han`: the run stands inside Chinese, where short names in capitals are spelled and no article occurs.
        """
        marked = self._mark_letters(self._normalize(text), among_han)
        tokens = self._g2p.phonemize_tokens(self._g2p.tokenize(marked))
        unread = tuple(token.text for token in tokens if token.phonemes is None or UNKNOWN in token.phonemes)
        phonemes = "".join((token.phonemes or "") + (" " if token.whitespace else "") for token in tokens)
        return LatinPhonemes(phonemes.replace(UNKNOWN, "").strip(), unread)

    def _mark_letters(self, text: str, among_han: bool) -> str:
        """Give letters that are names of letters their phonemes, in hibari's `[written](/phonemes/)` notation."""
        if among_han:
            return SHORT_CAPITALS.sub(self._spell_or_read, WIFI.sub(MANDARIN_WIFI, text))
        text = WIFI.sub("Wi-Fi", text)
        text = LETTER_ROW.sub(lambda row: re.sub("[A-Z]", lambda letter: self._letter(letter[0]), row[0]), text)
        return LAST_A.sub(lambda letter: self._letter(letter[0]), text)

    def _spell_or_read(self, capitals: re.Match[str]) -> str:
        name = capitals[0]
        if len(name) > SPELLED_UP_TO and name in self._g2p.lexicon.golds:
            return name
        return " ".join(f"[{letter}](/{MANDARIN_LETTERS[letter]}/)" for letter in name)

    def _letter(self, letter: str) -> str:
        phonemes, _rating = self._g2p.lexicon.get_NNP(letter)
        return f"[{letter}](/{phonemes}/)"
