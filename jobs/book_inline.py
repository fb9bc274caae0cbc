"""The text of the block that is being read, with the places where inline elements opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.book_markup import Tag
from jobs.book_records import CJK, EMPHASIS

_RAISED = str.maketrans("0123456789-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻")
_POWER = re.compile("[-−–]?[0-9]{1,3}")
# A short number, a variable, a unit of length, what something equals; after a longer number (a year) or a word it
# marks a footnote.
_EXPONENT_OF = re.compile(r"(?:(?<!\d)\d{1,3}|(?<![A-Za-z])(?:[A-Za-z]|[kcdm]m)|= ?[A-Za-z]{2,3})$")
_CLOSED_LINE = re.compile(r"[.!?。！？…;；:：][”’」』)）\"']*$")
_WIDE_PUNCTUATION = "，。！？；：、“”‘’（）《》「」『』…—"


@dataclass(frozen=True, slots=True)
class Span:
    """What stood inside an inline element, and before it in the block."""

    start: int
    text: str
    before: str
    link: str


class Inline:
    """The pieces of one block."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._open: dict[str, tuple[int, str]] = {}
        self._ruby = self._rt = -1
        self.length = 0
        """Characters added since the block began."""
        self.blank = True
        """Nothing but spaces was added."""

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)
        self.blank = self.blank and not text.strip()

    def take(self) -> str:
        """The text so far; a new block begins."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._open.clear()
        self._ruby = self._rt = -1
        self.length, self.blank = 0, True
        return text

    def opened(self, name: str, tag: Tag, emphasised: bool) -> None:
        if emphasised:
            self.add(EMPHASIS)
        if name in ("a", "sup"):
            self._open[name] = (len(self._pieces), tag.get("href"))
        elif name == "ruby":
            self._ruby = len(self._pieces)
        elif name == "rt":
            self._rt = len(self._pieces)

    def closed(self, name: str) -> Span | None:
        """The span of an `a` or `sup` that ends here; None if the block began inside it."""
        if name not in self._open:
            return None
        start, link = self._open.pop(name)
        outer = self._open.get("a")
        inner_text = "".join(self._pieces[start:])
        before = "".join(self._pieces[max(0, start - 8) : start])
        return Span(start, inner_text, before, link or (outer[1] if outer else ""))

    def cut(self, span: Span, replacement: str) -> None:
        """Put `replacement` where the span stood; emphasis that it opened or closed stays balanced by the renderer."""
        del self._pieces[span.start :]
        if replacement:
            self._pieces.append(replacement)

    def ruby(self, name: str) -> None:
        """At the end of `rt` its text replaces the base before it; only called where readings are read."""
        if name == "ruby":
            self._ruby = self._rt = -1
        elif 0 <= self._ruby <= self._rt:
            said = "".join(self._pieces[self._rt :])
            if said.strip():
                self._pieces[self._ruby :] = [said]
            self._ruby, self._rt = len(self._pieces), -1


def superscript(before: str, written: str) -> str:
    """The raised digits of an exponent (`10<sup>6</sup>`, `m<sup>2</sup>`); nothing where it is no exponent."""
    if _POWER.fullmatch(written) and _EXPONENT_OF.search(before.rstrip("\x02\x03")):
        return written.translate(_RAISED)
    return ""


def looks_like_verse(lines: Sequence[str]) -> bool:
    """Whether lines broken by hand are a poem or an address: short, and most of them no whole sentence."""
    longest = 24 if CJK.search(lines[0]) else 60
    short = all(len(line) <= longest for line in lines)
    whole = sum(_CLOSED_LINE.search(line) is not None for line in lines)
    return short and whole * 2 <= len(lines) + 1


def joins_without_space(text: str, start: int, end: int) -> bool:
    """Whether text[:start] and text[end:] belong together without a space: CJK on either side."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return bool(before and after) and _is_wide(before) and _is_wide(after)


def _is_wide(char: str) -> bool:
    return CJK.match(char) is not None or char in _WIDE_PUNCTUATION
