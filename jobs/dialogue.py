"""Who speaks: the quoted speech of a paragraph, and the names that the words around it give.

Only what the text says plainly is used: `张三说：“…”`, `"…," said John.` A pronoun, a guess from who spoke before, or a
name in the middle of an action names nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jobs.book_records import CJK
from jobs.measure import word_set

_PAIRS = {"“": "”", "「": "」", "『": "』", "«": "»", "„": "“", "‘": "’", '"': '"', "'": "'", "＂": "＂"}
_DOUBLE = '“「『«„"＂'
_ENDS_SPEECH = re.compile(r"[.!?,;:。！？，；：…—–~～-]$")
_ENDS_NARRATION = re.compile(r"(?:^|[.!?:,;。！？：，；…—–])[\s\x02\x03)）]*$")
_VERB_WORDS = (
    "said says say asked asks answered replied replies cried cries exclaimed whispered shouted murmured muttered called"
    " continued added began returned observed remarked repeated yelled screamed sighed laughed growled declared"
    " demanded insisted inquired enquired agreed interrupted thought told announced groaned snapped hissed protested"
    " suggested responded explained grunted gasped stammered admitted"
)
_VERBS = word_set(_VERB_WORDS)
_SAYS_CJK = re.compile(
    "[说說道问問答喊叫笑骂罵嚷吼喝叹嘆曰云吟哼念讲講告诉訴言]|開口|开口|回应|言う|言った|聞いた|答えた|叫んだ|呟いた"
)
_SHORT_TITLE = r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Col|Gen|Lt|Sgt|Rev|Fr)\."
_CLAUSE_BEFORE = re.compile(rf"(?:{_SHORT_TITLE}|[^.!?。！？…；;”」』\"]){{0,60}}[:：,，]\s*$")
_CLAUSE_AFTER = re.compile(rf"\s*(?:{_SHORT_TITLE}|[^.!?。！？…；;“「『\"：:]){{0,80}}")
_LEADS_ON = re.compile(r"(?:^|[,，])[^,，]*[:：]\s*$")
_COMMAS = re.compile(r"[,，]")
_APOSTROPHE_AFTER = re.compile(r"[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a paragraph."""

    text: str
    """With its quotation marks."""
    speech: bool
    speaker: str | None = None
    """Name from the cast; None where the text names nobody of it."""


class Names:
    """Names and aliases of the cast, found in a clause."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        """`aliases`: every way of writing a name -> the name."""
        self._of = {alias.casefold(): name for alias, name in aliases.items()}
        ordered = sorted(aliases, key=len, reverse=True)
        pieces = [re.escape(alias) if CJK.search(alias) else rf"(?<!\w){re.escape(alias)}(?!\w)" for alias in ordered]
        self._pattern = re.compile("|".join(pieces), re.IGNORECASE) if pieces else None

    def find(self, clause: str) -> list[tuple[int, int, str]]:
        """(start, end, name) of each name in a clause."""
        if self._pattern is None:
            return []
        return [(found.start(), found.end(), self._of[found[0].casefold()]) for found in self._pattern.finditer(clause)]


def opening_marks(text: str) -> str:
    """The signs that open speech in this text: `‘` and `'` only where it hardly uses double ones."""
    double = sum(text.count(sign) for sign in _DOUBLE)
    curly, straight = text.count("‘"), len(re.findall(r"(?<!\w)'(?=\w)", text))
    if curly > 2 * double and curly >= 3:
        return "‘"
    if straight > 2 * double + curly and straight >= 3:
        return "'"
    return _DOUBLE


def spans(text: str, opening: str, names: Names, said_before: str | None = None) -> tuple[list[Span], str | None, bool]:
    """(spans that cover the paragraph, who speaks where it breaks off, whether it breaks off inside a quotation).

    `said_before`: who spoke in a quotation that the paragraph before left open.
    """
    quotes = [(start, end) for start, end in _quotes(text, opening) if _is_speech(text, start, end, names)]
    found: list[Span] = []
    position, last = 0, said_before if quotes and not text[: quotes[0][0]].strip() else None
    for at, (start, end) in enumerate(quotes):
        if start > position:
            found.append(Span(text[position:start], speech=False))
        after_end = quotes[at + 1][0] if at + 1 < len(quotes) else len(text)
        named = _named(text[position:start], text[end:after_end], names)
        # The same paragraph goes on with the same speaker unless it names another one.
        last = named or last
        found.append(Span(text[start:end], speech=True, speaker=last))
        position = end
    if position < len(text):
        found.append(Span(text[position:], speech=False))
    unclosed = bool(quotes) and quotes[-1][1] == len(text) and not _closed(text, quotes[-1][0])
    return found, last, unclosed


def _quotes(text: str, opening: str) -> list[tuple[int, int]]:
    """Outermost quotations; one that is never closed goes to the end of the paragraph."""
    found: list[tuple[int, int]] = []
    position = 0
    while position < len(text):
        if text[position] not in opening or not _opens(text, position):
            position += 1
            continue
        end = _close(text, position)
        found.append((position, end))
        position = end
    return found


def _opens(text: str, at: int) -> bool:
    if text[at] in "'‘":
        return (at == 0 or not text[at - 1].isalnum()) and at + 1 < len(text) and not text[at + 1].isspace()
    return True


def _close(text: str, start: int) -> int:
    """The position after the closing mark; the end of the text if there is none."""
    closing = _PAIRS[text[start]]
    at = text.find(closing, start + 1)
    while closing in "'’" and at >= 0 and _APOSTROPHE_AFTER.match(text[at + 1 : at + 2]):
        at = text.find(closing, at + 1)
    return at + 1 if at >= 0 else len(text)


def _closed(text: str, start: int) -> bool:
    return len(text) > start + 1 and text[-1] == _PAIRS[text[start]]


def _is_speech(text: str, start: int, end: int, names: Names) -> bool:
    """A quotation that stands as a sentence or is introduced; not a word in quotation marks."""
    inner = text[start + 1 : end].strip("”」』»“’'\"＂ \x02\x03")
    before, after = text[:start], text[end:]
    if not _ENDS_NARRATION.search(before[-20:]):
        return False
    if _ENDS_SPEECH.search(inner) or (not before.strip() and not after.strip("\x02\x03 ")):
        return True
    if before.rstrip()[-1:] in (":", "："):
        return True
    clause = _CLAUSE_AFTER.match(after)
    return bool(clause) and (before.strip() == "" or after[:1] in ",，") and _says(clause[0] if clause else "")


def _says(clause: str) -> bool:
    words = re.findall(r"[a-z]+", clause.lower())
    return any(word in _VERBS for word in words[:8]) or _SAYS_CJK.search(clause[:30]) is not None


def _named(before: str, after: str, names: Names) -> str | None:
    """The speaker by the clause after the quotation, else by the one that leads to it."""
    # `“…”张三笑了，李四说：“…”`: what ends with a colon belongs to the next quotation.
    follows = _CLAUSE_AFTER.match(_LEADS_ON.sub("", after))
    if follows and _says(follows[0]):
        return _subject(follows[0], names)
    leads = _CLAUSE_BEFORE.search(before)
    if leads is None:
        return None
    clause = leads[0].rstrip()
    if _says(clause):
        return _subject(clause, names)
    # `张三：“…”`, `张三一拍桌子：“…”`: the first name is who acts.
    found = names.find(clause) if clause[-1:] in ":：" else []
    return found[0][2] if found else None


def _subject(clause: str, names: Names) -> str | None:
    """The name that is the subject of the verb of saying: before it, or (`said John`) right after it."""
    verb = _verb(clause)
    if verb is None:
        return None
    start, end = verb
    # The part of the clause that holds the verb, then those before it: `李四走后，张三站起来，说`.
    edges = [0, *(found.end() for found in _COMMAS.finditer(clause, 0, start)), start]
    for left, right in reversed(list(pairwise(edges))):
        ahead = names.find(clause[left:right])
        if ahead:
            # `张三对李四说`: whom one speaks to stands between the subject and the verb.
            return ahead[0][2]
    if CJK.search(clause) or re.search(r"\w", clause[:start]):
        return None  # `he asked John`
    behind = names.find(clause[end:])
    return behind[0][2] if behind and not re.search(r"\bto\b", clause[end : end + behind[0][0]]) else None


def _verb(clause: str) -> tuple[int, int] | None:
    for word in re.finditer(r"[A-Za-z]+", clause):
        if word[0].lower() in _VERBS:
            return word.span()
    found = list(_SAYS_CJK.finditer(clause))
    return found[-1].span() if found else None


def merged(parts: Sequence[Span]) -> list[Span]:
    """Neighbours of the same speaker as one, and stretches without a word added to the one before them."""
    kept: list[Span] = []
    for part in parts:
        wordless = not re.search(r"[^\W_]", part.text)
        if kept and (wordless or (part.speech, part.speaker) == (kept[-1].speech, kept[-1].speaker)):
            kept[-1] = Span(kept[-1].text + part.text, kept[-1].speech, kept[-1].speaker)
        elif kept and not re.search(r"[^\W_]", kept[-1].text):
            kept[-1] = Span(kept[-1].text + part.text, part.speech, part.speaker)
        else:
            kept.append(part)
    return kept
