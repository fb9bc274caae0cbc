"""Markdown -> blocks. The part of CommonMark that books use, with footnotes and tables; code is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from jobs.book_inline import joins_without_space
from jobs.book_markup import Tag, tokens, unescape
from jobs.book_records import (
    CJK,
    EMPHASIS,
    END_EMPHASIS,
    LINE_BREAK,
    Block,
    BookFacts,
    Findings,
    Reading,
    one_line,
    spoken_characters,
)

_ATX = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*")
_SETEXT = re.compile(r" {0,3}(=+|-+)\s*")
_RULE = re.compile(r" {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)")
_QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\n]{1,60}\]:")
_REFERENCE = re.compile(r" {0,3}\[[^\]^\n]{1,200}\]:\s*\S+.*")
_FACT = re.compile(r"(title|author|authors|creator|language|lang|publisher|date|description)\s*:\s*(.+)")

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_IMAGE = re.compile(r"!\[[^\]\n]{0,1000}\](?:\([^)\n]{0,2000}\)|\[[^\]\n]{0,200}\])")
_LINK = re.compile(r"\[([^\[\]\n]{1,1000})\](?:\([^()\n]{0,2000}\)|\[[^\]\n]{0,200}\])")
_NOTE_MARK = re.compile(r"\[\^[^\]\n]{1,60}\]")
_CODE = re.compile(r"(`+)(?!`)([^\n]{1,500}?)(?<!`)\1(?!`)")
_STRONG = re.compile(
    r"(?<![\w*])\*{1,3}(?=[^\s*])([^*]{1,500}?)(?<=[^\s*])\*{1,3}"
    r"|(?<![\w_])_{1,3}(?=[^\s_])([^_]{1,500}?)(?<=[^\s_])_{1,3}(?!\w)"
)
_HTML = re.compile(r"</?[A-Za-z!][^<>\n]{0,2000}>")
_HELD = {char: chr(0xE010 + at) for at, char in enumerate("*_`[]<>!\\#")}
"""Escaped signs wait as private characters, taken out of the source, until the markup has been read."""
_PRIVATE = re.compile("[\ue000-\ue01f]")
_MARKS_AWAY, _MARKS_BACK = str.maketrans("\x02\x03", "\ue002\ue003"), str.maketrans("\ue002\ue003", "\x02\x03")
_RELEASE = str.maketrans({held: char for char, held in _HELD.items()})


def markdown_facts(text: str, facts: BookFacts) -> tuple[str, BookFacts]:
    """The text without a `---` header, and what plain `key: value` lines in it say."""
    found = re.match(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", text[:20_000], re.DOTALL)
    if not found:
        return text, facts
    named = {
        fact[1].lower(): one_line(fact[2].strip().strip("\"'[]"))
        for line in found[1].splitlines()
        if (fact := _FACT.fullmatch(line.strip()))
    }
    author = named.get("author") or named.get("authors") or named.get("creator", "")
    known = {key: named[key] for key in ("title", "publisher", "date", "description") if key in named}
    language = named.get("language") or named.get("lang", "")
    return text[found.end() :], replace(facts, **known, authors=(author,) if author else (), language=language)


def markdown_blocks(text: str, reading: Reading, findings: Findings) -> Iterator[Block]:
    """The blocks of a document."""
    lines = [line.rstrip("\n") for line in _PRIVATE.sub("", spoken_characters(text)).expandtabs(4).split("\n")]
    return _Markdown(lines, reading, findings).blocks()


class _Markdown:
    def __init__(self, lines: list[str], reading: Reading, findings: Findings) -> None:
        self._lines, self._reading, self._findings = lines, reading, findings
        self._paragraph: list[str] = []
        self._prefix = ""
        self._note = False
        self._table = False

    def blocks(self) -> Iterator[Block]:
        fence = ""
        for line in [*self._lines, ""]:
            opened = _FENCE.match(line)
            if fence:
                fence = "" if opened and opened[1].startswith(fence) else fence
            elif opened:
                yield from self._flush()
                self._findings.count("blocks of code left out")
                fence = opened[1]
            else:
                yield from self._line(line)
        yield from self._flush()

    def _line(self, line: str) -> Iterator[Block]:
        plain = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
        heading, item = _ATX.fullmatch(plain), _ITEM.fullmatch(plain)
        if self._paragraph and (under := _SETEXT.fullmatch(line)) and not self._note:
            yield Block("heading", self._inline(" ".join(self._paragraph)), 1 if under[1][0] == "=" else 2)
            self._paragraph = []
        elif not plain.strip():
            yield from self._flush()
            self._table = False
            self._note = self._note and line.startswith("  ")
        elif _RULE.fullmatch(plain):
            yield from self._flush()
            yield Block("scene")
        elif heading:
            yield from self._flush()
            self._note = False
            yield Block("heading", self._inline(heading[2] or ""), len(heading[1]))
        elif _FOOTNOTE.match(plain):
            yield from self._flush()
            self._note, self._paragraph = True, [_FOOTNOTE.sub("", plain, count=1).strip()]
        elif _REFERENCE.fullmatch(plain) and not self._paragraph:
            return
        elif self._table or ("|" in plain and _TABLE_RULE.fullmatch(plain)):
            yield from self._row(plain)
        elif item:
            yield from self._flush()
            self._prefix, self._paragraph = item[1] or "", [item[2]]
        else:
            self._note = self._note and (bool(self._paragraph) or line.startswith("  "))
            self._paragraph.append(plain)

    def _row(self, line: str) -> Iterator[Block]:
        """A row of a table; its head is the paragraph that the rule stands under."""
        rows = [line]
        if not self._table:
            self._table, rows, self._paragraph = True, self._paragraph, []
            if self._reading.tables == "drop":
                self._findings.count("tables left out")
        for row in rows if self._reading.tables == "read" else ():
            cells = [self._inline(cell) for cell in row.strip().strip("|").split("|")]
            filled = [cell for cell in cells if cell]
            if filled:
                yield Block("paragraph", ("，" if CJK.search(row) else ", ").join(filled))

    def _flush(self) -> Iterator[Block]:
        lines, self._paragraph = self._paragraph, []
        prefix, self._prefix = self._prefix, ""
        if not lines:
            return
        if self._note and self._reading.notes == "drop":
            self._findings.count("footnotes left out")
            return
        broken = [line.endswith(("  ", "\\")) for line in lines[:-1]]
        if any(broken):
            parts = [self._inline(line.rstrip("\\")) for line in lines]
            yield Block("verse", LINE_BREAK.join(part for part in parts if part), 1)
            return
        text = lines[0].strip()
        for line in (line.strip() for line in lines[1:]):
            close = joins_without_space(f"{text}\n{line}", len(text), len(text) + 1)
            text += line if close else f" {line}"
        text = self._inline(text)
        if prefix and text:
            text = f"{prefix}{'、' if CJK.search(text) else '. '}{text}"
        if text:
            yield Block("paragraph", text)

    def _inline(self, text: str) -> str:
        """Text without markup, emphasis marked."""
        text = _ESCAPED.sub(lambda found: _HELD.get(found[1], found[1]), text)
        text = _CODE.sub(lambda found: "".join(_HELD.get(char, char) for char in found[2]), text)
        text, images = _IMAGE.subn("", text)
        text, marks = _NOTE_MARK.subn("", text)
        for what, times in (("images left out", images), ("footnote markers left out", marks)):
            if times:
                self._findings.count(what, times)
        text = _LINK.sub(r"\1", text)
        for _ in range(2):
            text = _STRONG.sub(lambda found: f"{EMPHASIS}{found[1] or found[2]}{END_EMPHASIS}", text)
        if _HTML.search(text):
            read = tokens(text.translate(_MARKS_AWAY))
            text = "".join(token for token in read if not isinstance(token, Tag)).translate(_MARKS_BACK)
        elif "&" in text:
            text = _unescape_kept(text)
        return " ".join(text.split()).translate(_RELEASE)


def _unescape_kept(text: str) -> str:
    """Character references decoded; our own control characters stay."""
    return re.sub(r"&[#A-Za-z0-9]{1,33};", lambda found: unescape(found[0]), text)
