"""HTML -> blocks: paragraphs, headings, verses and scene breaks as a reader aloud would take them.

Footnote markers, page numbers, images, scripts and hidden parts go; what goes is counted in the findings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace

from jobs.book_element import HEADINGS, Judge, Open, note_address
from jobs.book_inline import Inline, joins_without_space, looks_like_verse, superscript
from jobs.book_markup import Tag, tokens
from jobs.book_records import CJK, EMPHASIS, END_EMPHASIS, LINE_BREAK, Block, Findings, Reading
from jobs.book_semantics import class_says
from jobs.measure import word_set

_BLOCKS = word_set(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form"
    " header html legend li main nav ol p pre section summary table tbody tfoot thead tr ul"
)
_VOID = word_set("area base br col embed hr img input link meta param source track wbr")
_CELL, _BREAK = "\x1f", "\x1e"
_SPACES = re.compile(r"\s+")
_LONG_CELL_CHARS = 400
_MARKER = re.compile(
    r"[\[(（〔【]?\s*(?:\d{1,4}|[*†‡§¶]{1,4}|[ivxl]{1,6}|[a-z]|[①-⓿❶-➓]|[注註]\s?\d{0,3})\s*[\])）〕】]?"
)
_DROPPED_CAP = re.compile(r"[“‘\"']?[^\W\d_]")
"""What stands for a picture of a paragraph's first letter."""
_NUMBER_START = re.compile(r"[\d一二三四五六七八九十(（①-⑳•]")


class HtmlReader:
    """Reads the documents of one book, in order: a link in one document may point at a footnote in a later one."""

    def __init__(self, reading: Reading, findings: Findings) -> None:
        self.reading = reading
        self.findings = findings
        self.note_targets: set[str] = set()
        """`document#id` of what footnote markers point at."""

    def blocks(self, text: str, document: str = "", wanted: Set[str] = frozenset()) -> Iterator[Block]:
        """The blocks of one document; those at a `wanted` id carry it."""
        return _Document(self, document.rpartition("/")[2], wanted).read(text)


class _Document:
    def __init__(self, reader: HtmlReader, name: str, wanted: Set[str]) -> None:
        self._of, self._name, self._wanted = reader, name, wanted
        self._stack: list[Open] = [Open("")]
        self._names: Counter[str] = Counter()
        self._inline = Inline()
        self._ids: list[str] = []
        self._lists: list[int | None] = []
        self._judge = Judge(reader.reading, reader.findings, name, reader.note_targets)
        self._prefix = ""
        self._note_block = self._in_stanza = False

    def read(self, text: str) -> Iterator[Block]:
        for token in tokens(text):
            if isinstance(token, str):
                if not self._stack[-1].skip:
                    self._inline.add(token.replace("\n", _BREAK) if self._stack[-1].pre else token)
            elif token.closing:
                yield from self._close(token.name)
            else:
                yield from self._open(token)
        yield from self._flush()

    # Elements

    def _open(self, tag: Tag) -> Iterator[Block]:
        name, above = tag.name, self._stack[-1]
        if above.skip:
            if name not in _VOID and not tag.empty:
                self._push(replace(above, name=name))
            return
        starts_block = name in _BLOCKS or name in HEADINGS
        if starts_block:
            yield from self._boundary(name)
        self._anchor(tag, starts_block)
        if name in _VOID:
            yield from self._void(name, tag)
            return
        here = self._judge.inside(tag, above)
        if tag.empty:
            return
        self._push(here)
        if here.skip:
            return
        if class_says(tag, "verse"):
            self._in_stanza = False
        if name in ("ol", "ul"):
            self._lists.append(_start(tag) if name == "ol" else None)
        elif name == "li":
            self._number()
        elif name in ("td", "th"):
            self._inline.add(_CELL)
        else:
            self._inline.opened(name, tag, here.emphasis and not above.emphasis)

    def _push(self, here: Open) -> None:
        self._stack.append(here)
        self._names[here.name] += 1

    def _close(self, name: str) -> Iterator[Block]:
        if not self._names[name]:
            return
        if not self._stack[-1].skip and (name in _BLOCKS or name in HEADINGS):
            yield from self._boundary(name)
        while True:
            closed = self._stack.pop()
            self._names[closed.name] -= 1
            if closed.name in ("ol", "ul") and not closed.skip and self._lists:
                self._lists.pop()
            if not closed.skip:
                self._closed(closed)
            if closed.name == name:
                return

    def _closed(self, closed: Open) -> None:
        """What is known only at the end of an inline element: whether it was a marker of a footnote."""
        if closed.emphasis and not self._stack[-1].emphasis:
            self._inline.add(END_EMPHASIS)
        if closed.name == "ruby" or closed.name == "rt":
            self._inline.ruby(closed.name)
            return
        if closed.name not in ("a", "sup"):
            return
        span = self._inline.closed(closed.name)
        if span is None:
            return
        written = span.text.replace(EMPHASIS, "").replace(END_EMPHASIS, "").strip()
        if closed.name == "sup" and not span.link and (raised := superscript(span.before, written)):
            self._inline.cut(span, raised)
        elif _MARKER.fullmatch(written) and self._marks_note(closed.name, span.before, span.link, written):
            self._inline.cut(span, "")
            if span.link and span.before.strip():
                self._of.findings.count("footnote markers left out")
                self._of.note_targets.add(note_address(span.link, self._name))
            elif not span.link:
                self._of.findings.count("footnote markers left out")

    def _marks_note(self, name: str, before: str, link: str, written: str) -> bool:
        """A raised number, or a linked one that touches the word before it or stands in brackets."""
        if not before.strip():
            # At the start of a block it leads back from a footnote to its marker.
            return bool(link) and (self._stack[-1].note or self._note_block)
        if name == "sup" or "sup" in (element.name for element in self._stack[-3:]):
            return True
        touches = not before[-1:].isspace() and "#" in link
        return "#" in link and (touches or not written.isalnum())

    def _anchor(self, tag: Tag, starts_block: bool) -> None:
        anchor = tag.get("id") or (tag.get("name") if tag.name == "a" else "")
        if not anchor:
            return
        if anchor in self._wanted:
            self._ids.append(anchor)
        if not starts_block and f"{self._name}#{anchor}" in self._of.note_targets and self._inline.blank:
            self._note_block = True

    def _void(self, name: str, tag: Tag) -> Iterator[Block]:
        if name == "br":
            self._inline.add(_BREAK)
        elif name == "hr":
            yield from self._flush()
            yield Block("scene")
        elif name == "img" and self._inline.blank and _DROPPED_CAP.fullmatch(tag.get("alt").strip()):
            self._inline.add(tag.get("alt").strip())
        elif name == "img":
            self._of.findings.count("images left out")
        elif name == "wbr":
            self._inline.add("\u200b")

    def _number(self) -> None:
        if self._lists and self._lists[-1] is not None:
            self._prefix = str(self._lists[-1])
            self._lists[-1] += 1

    # Blocks

    def _boundary(self, name: str) -> Iterator[Block]:
        """The edge of a block; inside a row of a table short cells stay on one line."""
        if self._stack[-1].row and name != "tr" and self._inline.length < _LONG_CELL_CHARS:
            self._inline.add(" ")
            return
        yield from self._flush()

    def _flush(self) -> Iterator[Block]:
        text = self._inline.take()
        here, note, prefix = self._stack[-1], self._note_block, self._prefix
        self._note_block = False
        if not text.strip():
            return
        self._prefix = ""
        if note and self._of.reading.notes == "drop" and not here.heading:
            self._of.findings.count("footnotes left out")
            return
        ids, self._ids = tuple(self._ids), []
        lines = [line for line in (_line(line) for line in text.split(_BREAK)) if line]
        if not lines:
            return
        if prefix and not _NUMBER_START.match(lines[0]):
            lines[0] = f"{prefix}{'、' if CJK.search(lines[0]) else '. '}{lines[0]}"
        blocks = list(_as_blocks(lines, here, ids))
        if blocks[0].kind == "verse" and self._in_stanza and len(lines) == 1:
            blocks[0] = replace(blocks[0], level=0)
        self._in_stanza = blocks[-1].kind == "verse"
        yield from blocks


def _as_blocks(lines: list[str], here: Open, ids: tuple[str, ...]) -> Iterator[Block]:
    joined = LINE_BREAK.join(lines)
    if here.heading:
        plain = joined.replace(EMPHASIS, "").replace(END_EMPHASIS, "")
        yield Block("heading", plain, here.heading, ids, here.matter)
    elif here.verse or here.pre or (len(lines) > 1 and looks_like_verse(lines)):
        yield Block("verse", joined, 1, ids, here.matter)
    else:
        for line in lines:
            yield Block("paragraph", line, 0, ids, here.matter)
            ids = ()


def _line(text: str) -> str:
    """One line with single spaces, cells parted by commas; a line end between CJK characters is no space."""
    cells = [_SPACES.sub(_space, cell.strip()) for cell in text.split(_CELL)]
    filled = [cell for cell in cells if cell]
    return ("，" if CJK.search(text) else ", ").join(filled)


def _space(found: re.Match[str]) -> str:
    return "" if "\n" in found[0] and joins_without_space(found.string, found.start(), found.end()) else " "


def _start(tag: Tag) -> int | None:
    """The first number of an ordered list; None where its numbers are not shown."""
    if "none" in tag.get("style") or class_says(tag, "unnumbered") or tag.get("type").lower() in ("a", "i"):
        return None
    written = tag.get("start")
    return int(written) if written.isascii() and written.isdigit() and len(written) < 6 else 1
