"""Plain text -> chapters: hard-wrapped lines joined, Project Gutenberg's frame left out, headings found."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from jobs.book_contents import Found, find_headings
from jobs.book_lines import CELL, Layout, columns, layout_of, paragraphs
from jobs.book_outline import kind_of, title_of
from jobs.book_records import (
    CJK,
    EMPHASIS,
    END_EMPHASIS,
    LINE_BREAK,
    Block,
    BookFacts,
    Chapter,
    Findings,
    Reading,
    one_line,
    spoken_characters,
)

_OPENING_CHARS = 1500
_GUTENBERG_START = re.compile(
    r"\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG|\*END\*? ?THE SMALL PRINT", re.IGNORECASE
)
_GUTENBERG_END = re.compile(
    r"\*{3} ?END OF (?:THE|THIS) PROJECT GUTENBERG|^End of (?:the )?Project Gutenberg", re.IGNORECASE
)
_HEADER_LINES = 400
_CREDIT = re.compile(r"(?:Produced|E-?text prepared|Transcribed) (?:by|from)\b|This file was produced", re.IGNORECASE)
_FACT = re.compile(
    r"(Title|Author|Language|Release date|书名|書名|作者|标题|標題)\s*[:：]\s*(\S.{0,200})", re.IGNORECASE
)
_BOOK_NAME = re.compile(r"《([^《》]{1,60})》(?:\s*(?:作者|文|by)\s*[:：]?\s*(\S.{0,40}))?")
_FACT_LINES = 40
_PAGE_LINE = re.compile(
    r"\s*(?:[-–—~]\s*\d{1,4}\s*[-–—~]|[\[{(]?(?:Pg|Page|p\.)\s*\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?[\]})]?|\{\d{1,4}\}"
    r"|第\s*\d{1,4}\s*[页頁](?:\s*[/／共]\s*共?\s*\d{1,4}\s*[页頁]?)?)\s*",
    re.IGNORECASE,
)
_PAGE_MARK = re.compile(r"\s?(?:[\[{]Pg\.? ?\d{1,4}[\]}]|\{\d{1,4}\})")
_OPEN_END = re.compile(r"[^.!?。！？…”’」』\"':：*]$")
_ILLUSTRATION = re.compile(r"\[(?:Illustration|Image|Picture|插图|圖|图)[^\]]*\]", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[Footnote[^\]]*\]?|\[\d{1,3}\].+|[〔［]\d{1,3}[〕］].*", re.IGNORECASE | re.DOTALL)
_ITALIC = re.compile(
    r"(?<![\w_])_(?=\S)([^_]{1,300}?)(?<=\S)_(?![\w_])|(?<![\w*])\*(?=\S)([^*]{1,200}?)(?<=\S)\*(?![\w*])"
)
_DASHES = re.compile(r"(?<!-)--(?!-)")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x85\u2028\u2029]")


def text_facts(text: str, facts: BookFacts) -> BookFacts:
    """What a header of Project Gutenberg, or the first lines of a novel, say about the book."""
    end = _GUTENBERG_START.search(text, 0, 60_000)
    lines = text[: end.start() if end else 6000].splitlines()
    named: dict[str, str] = {}
    for line in lines if end else lines[:_FACT_LINES]:
        if found := _FACT.fullmatch(line.strip()):
            named.setdefault(found[1].lower(), one_line(found[2], 300))
        elif (found := _BOOK_NAME.match(line.strip())) and not end:
            named.setdefault("title", found[1])
            if found[2]:
                named.setdefault("author", one_line(found[2], 100))
    title = next((named[key] for key in ("title", "书名", "書名", "标题", "標題") if key in named), "")
    author = named.get("author") or named.get("作者", "")
    return replace(
        facts, title=title.strip("《》"), authors=(author,) if author else (), language=named.get("language", ""),
        date=named.get("release date", "")[:40],
    )  # fmt: skip


def text_chapters(text: str, reading: Reading, findings: Findings) -> Iterator[Chapter]:
    """The chapters of a plain text, one after the other."""
    text = _LINE_ENDS.sub("\n", text).replace("\x0c", "\n\n")
    lines = _without_frame(spoken_characters(text).expandtabs(4).split("\n"), findings)
    lines = _without_pages(lines, findings)
    layout = layout_of(lines, reading.wrapped)
    if layout.wrapped:
        findings.say(
            f"lines are cut at about {layout.width} columns and were joined into paragraphs (--wrapped no keeps them)"
        )
    headings = find_headings(lines, reading)
    book = _Lines(lines, headings, layout, reading, findings)
    starts = [place for place in headings if place.starts_chapter]
    if not starts:
        findings.say("no chapter headings were recognised: the text is one chapter (--heading names their form)")
    bounds = [*(place.start for place in starts), len(lines)]
    if bounds[0] > 0:
        opening = Chapter("", "", book.blocks(0, bounds[0]))
        if opening.blocks:
            short = bool(starts) and opening.chars < _OPENING_CHARS
            opening.kind = "titlepage" if short else "chapter"
            yield opening
    for place, end in zip(starts, bounds[1:], strict=True):
        blocks = book.blocks(place.start, end)
        title = title_of(blocks)
        if blocks:
            yield Chapter(title, place.kind or kind_of(title, blocks), blocks, level=place.level)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a book with all that was judged about them."""

    lines: Sequence[str]
    headings: Sequence[Found]
    layout: Layout
    reading: Reading
    findings: Findings

    def blocks(self, start: int, end: int) -> list[Block]:
        blocks: list[Block] = []
        position = start
        first = bisect_left(self.headings, start, key=lambda place: place.start)
        for place in takewhile(lambda place: place.start < end, self.headings[first:]):
            blocks += self._prose(position, place.start)
            if place.lines:
                blocks.append(Block("heading", LINE_BREAK.join(place.lines), min(6, place.level)))
            position = place.end
        return [*blocks, *self._prose(position, end)]

    def _prose(self, start: int, end: int) -> Iterator[Block]:
        for block in paragraphs(self.lines[start:end], self.layout):
            text = block.text
            if "[" in text or "〔" in text or "［" in text:
                if _FOOTNOTE.fullmatch(text) and self.reading.notes == "drop":
                    self.findings.count("footnotes left out")
                    continue
                text, pictures = _ILLUSTRATION.subn("", text)
                if pictures:
                    self.findings.count("images left out", pictures)
            if CELL in text:
                if self.reading.tables == "drop":
                    self.findings.count("rows of tables left out")
                    continue
                text = text.replace(CELL, "，" if CJK.search(text) else ", ")
            text = _DASHES.sub("—", _ITALIC.sub(_emphasised, text)).strip()
            if text or block.kind == "scene":
                yield replace(block, text=text)


def _emphasised(found: re.Match[str]) -> str:
    return f"{EMPHASIS}{found[1] or found[2]}{END_EMPHASIS}"


def _without_frame(lines: list[str], findings: Findings) -> list[str]:
    """Without what Project Gutenberg puts before and after a book."""
    start = next((at + 1 for at, line in enumerate(lines[:_HEADER_LINES]) if _GUTENBERG_START.search(line)), 0)
    end = next(
        (at for at in range(start, len(lines)) if "G" in lines[at] and _GUTENBERG_END.search(lines[at])), len(lines)
    )
    if start == 0 and end == len(lines):
        return lines
    findings.say("the header and licence of Project Gutenberg are left out")
    kept = lines[start:end]
    first = next((at for at, line in enumerate(kept) if line.strip()), 0)
    if kept and _CREDIT.match(kept[first].strip()):
        last = next((at for at in range(first, len(kept)) if not kept[at].strip()), len(kept))
        del kept[:last]
    return kept


def _without_pages(lines: list[str], findings: Findings) -> list[str]:
    """Without numbers of pages; a paragraph that one of them cut in two is whole again."""
    kept: list[str] = []
    joining = False
    for line in lines:
        if line and len(line) < 60 and _PAGE_LINE.fullmatch(line):
            findings.count("page numbers left out")
            while kept and not kept[-1].strip():
                kept.pop()
            joining = bool(kept) and _OPEN_END.search(kept[-1].rstrip()) is not None and columns(kept[-1]) > 30
            if not joining:
                kept.append("")
            continue
        if joining and not line.strip():
            continue
        joining = False
        marks = 0
        if "{" in line or "Pg" in line:
            line, marks = _PAGE_MARK.subn("", line)
        if marks:
            findings.count("page numbers left out", marks)
        kept.append(line)
    return kept
