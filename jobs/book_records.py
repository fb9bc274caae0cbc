"""A book as data: blocks, chapters, what is known about it, and what was left out on the way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

EMPHASIS, END_EMPHASIS = "\x02", "\x03"
"""Stand around emphasised words in a block's text; a book cannot hold them, control characters are taken out."""
LINE_BREAK = "\n"
"""Parts the lines of a verse or of a heading inside a block's text."""

BlockKind = Literal["heading", "paragraph", "verse", "scene"]

# What no text of a manifest may hold; the same characters as jobs/clean.py refuses.
_UNSPEAKABLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
SPEAKABLE = re.compile(r"[^\W_]")
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")

MATTER: Mapping[str, str] = {
    "cover": "front", "titlepage": "front", "copyright": "front", "contents": "front", "dedication": "front",
    "epigraph": "front", "foreword": "front", "preface": "front", "introduction": "front",
    "chapter": "body", "part": "body", "prologue": "body", "epilogue": "body",
    "afterword": "back", "acknowledgements": "back", "appendix": "back", "notes": "back", "glossary": "back",
    "bibliography": "back", "index": "back", "about": "back", "ads": "back", "licence": "back", "aside": "back",
}  # fmt: skip
"""Kind of a chapter -> front, body or back of the book."""
BOILERPLATE = frozenset(
    ("cover", "titlepage", "copyright", "contents", "notes", "bibliography", "index", "ads", "licence", "aside")
)
"""What nobody reads aloud: left out unless asked for."""


class BookFault(ValueError):
    """A book that cannot be read; the message says what was found and what to do, without the name of the file."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, verse or scene break; one line of text but for LINE_BREAKs."""

    kind: BlockKind
    text: str = ""
    level: int = 0
    """Of a heading, 1 to 6; of a verse 1 where a stanza begins, 0 for a further line of it."""
    ids: tuple[str, ...] = ()
    """Anchors at its start that someone asked for."""
    matter: str = ""
    """Kind of chapter that the markup around it names."""

    @property
    def plain(self) -> str:
        """The text on one line, without marks of emphasis."""
        return self.text.replace(EMPHASIS, "").replace(END_EMPHASIS, "").replace(LINE_BREAK, " ")

    @property
    def speakable(self) -> bool:
        return SPEAKABLE.search(self.text) is not None


@dataclass(slots=True)
class Chapter:
    """One chapter in reading order."""

    title: str
    kind: str
    """A key of MATTER."""
    blocks: list[Block] = field(default_factory=list)
    level: int = 1
    number: int = 0
    """1 for the first chapter that is not skipped; 0 for skipped ones."""

    @property
    def chars(self) -> int:
        return sum(len(block.text) for block in self.blocks)


@dataclass(frozen=True, slots=True)
class BookFacts:
    """What a book says about itself."""

    format: str
    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    """As written in the book."""
    publisher: str = ""
    identifier: str = ""
    date: str = ""
    description: str = ""
    encoding: str = ""
    """Of a text file."""
    narrator: str = ""
    """Only ever told by the person who makes the manifest."""


@dataclass(slots=True)
class Findings:
    """What was left out or done otherwise, for the person who made the manifest."""

    counts: Counter[str] = field(default_factory=Counter)
    remarks: dict[str, None] = field(default_factory=dict)

    def count(self, what: str, times: int = 1) -> None:
        """`what` stands before the number: `images left out`."""
        self.counts[what] += times

    def say(self, remark: str) -> None:
        self.remarks[remark] = None

    def lines(self) -> list[str]:
        return [*self.remarks, *(f"{what}: {times:,}" for what, times in self.counts.items())]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the text of a book is read into blocks and chapters."""

    notes: Literal["drop", "keep"] = "drop"
    """Bodies of footnotes; their markers are always left out."""
    ruby: Literal["base", "reading"] = "base"
    tables: Literal["read", "drop"] = "read"
    ads: Literal["drop", "keep"] = "drop"
    """What sites of web novels and their authors put between the lines of a Chinese story."""
    wrapped: Literal["auto", "yes", "no"] = "auto"
    """Whether the lines of a plain text are cut at a width."""
    depth: int | None = None
    """Levels of the table of contents, or of headings, that start a chapter; None: judged by the book."""
    heading: re.Pattern[str] | None = None
    """Lines of a plain text that start a chapter, besides those that are known."""


def spoken_characters(text: str) -> str:
    """Without characters that no text of a manifest may hold. Tabs, line ends and spaces stay."""
    return _UNSPEAKABLE.sub("", text)


def one_line(text: str, longest: int = 1000) -> str:
    """A title or a name: printable, single spaces, at most `longest` characters."""
    kept = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"
