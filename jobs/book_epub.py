"""EPUB -> chapters in reading order: the spine says what comes when, the table of contents where chapters begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from jobs.book_archive import Archive
from jobs.book_headings import heading_of
from jobs.book_html import HtmlReader
from jobs.book_markup import decode_markup, refuse_entities
from jobs.book_outline import kind_of, squeeze, title_of
from jobs.book_package import Entry, Package, Spine
from jobs.book_records import Block, Chapter, Findings, Reading

_FEWEST_ENTRIES = 2
_HEAD_BLOCKS = 4
_PART = re.compile(
    r"(?i:(?:part|book|volume|vol\.?)\b.*)|第[一二三四五六七八九十百零〇\d]+[部卷篇编編册冊集].*|[上中下][卷部篇].*|卷[一二三四五六七八九十].*"
)


def epub_chapters(archive: Archive, package: Package, reading: Reading, findings: Findings) -> Iterator[Chapter]:
    """The chapters, one after the other; only one is held in memory."""
    return _Epub(archive, package, reading, findings).chapters()


class _Epub:
    def __init__(self, archive: Archive, package: Package, reading: Reading, findings: Findings) -> None:
        self._archive, self._package, self._findings = archive, package, findings
        self._reader = HtmlReader(reading, findings)
        self._starts = chapter_entries(package, reading.depth)
        self._started = False
        in_spine = {spine.path for spine in package.spine}
        self._trusted = len({entry.path for entry in self._starts} & in_spine) >= min(_FEWEST_ENTRIES, len(in_spine))

    def chapters(self) -> Iterator[Chapter]:
        chapter: Chapter | None = None
        for spine in self._package.spine:
            for part in self._document(spine, chapter):
                if chapter is not None and part is not chapter:
                    yield self._settled(chapter)
                chapter = part
        if chapter is not None:
            yield self._settled(chapter)

    def _settled(self, chapter: Chapter) -> Chapter:
        """The chapter with a title and a kind, now that all of it is known."""
        from_contents = bool(chapter.title)
        chapter.title = _fuller(chapter.title, title_of(chapter.blocks))
        if not chapter.kind:
            named = next((block.matter for block in chapter.blocks if block.matter), "")
            chapter.kind = kind_of(chapter.title, chapter.blocks, named)
        if from_contents and chapter.kind in ("chapter", "part", "prologue", "epilogue"):
            _announce(chapter, self._findings)
        return chapter

    def _document(self, spine: Spine, current: Chapter | None) -> Iterator[Chapter]:
        """Chapters that this document continues or begins; blocks are added to the last one that was given."""
        entries = [entry for entry in self._starts if entry.path == spine.path]
        blocks = self._blocks(spine, frozenset(entry.fragment for entry in entries if entry.fragment))
        head = [block for _, block in zip(range(_HEAD_BLOCKS), blocks, strict=False)]
        whole = next((entry for entry in entries if not entry.fragment), None)
        self._started = self._started or bool(entries)
        if whole is not None or current is None or self._begins(spine, head, current):
            current = _chapter(whole, "" if spine.linear else "aside", spine.kind)
        yield current
        pending = {entry.fragment: entry for entry in entries if entry.fragment}
        for block in chain(head, blocks):
            for anchor in block.ids:
                if anchor in pending:
                    current = _chapter(pending.pop(anchor), "", "")
                    yield current
            current.blocks.append(block)
        for entry in pending.values():
            self._findings.say(
                f"the table of contents points at a place that is missing: {entry.path}#{entry.fragment}"
            )

    def _blocks(self, spine: Spine, wanted: frozenset[str]) -> Iterator[Block]:
        text, remark = decode_markup(self._archive.read(spine.path), spine.path, self._package.encoding)
        if remark:
            self._findings.say(remark)
        refuse_entities(text, spine.path)
        return self._reader.blocks(text, spine.path, wanted)

    def _begins(self, spine: Spine, head: list[Block], current: Chapter) -> bool:
        """Whether a document that no entry names starts a chapter of its own."""
        if spine.kind or not spine.linear or current.kind:
            return True
        if not head:
            return False
        if head[0].matter and head[0].matter != (current.blocks[-1].matter if current.blocks else ""):
            return True
        if self._starts and not self._started:
            return True
        shaped = heading_of(head[0].plain)
        is_heading = head[0].kind == "heading"
        if not self._trusted:
            return is_heading or (shaped is not None and shaped.sure)
        return is_heading and head[0].level <= 2 and shaped is not None


def _fuller(listed: str, headed: str) -> str:
    """`Chapter 1` of the table of contents becomes `Chapter 1: Down the Rabbit-Hole` of the page."""
    bare = heading_of(listed)
    grows = bare is not None and not bare.title and squeeze(headed).startswith(squeeze(listed))
    return headed if not listed or grows else listed


def _chapter(entry: Entry | None, kind: str, named: str) -> Chapter:
    return Chapter(entry.title if entry else "", kind or named, level=entry.depth if entry else 1)


def _announce(chapter: Chapter, findings: Findings) -> None:
    """Put the title of the table of contents before a text that does not begin with it, such as below a picture."""
    head = squeeze(" ".join(block.plain for block in chapter.blocks[:_HEAD_BLOCKS]))
    title = squeeze(chapter.title)
    if not title or not any(block.speakable for block in chapter.blocks):
        return
    if chapter.blocks[0].kind == "heading" or title in head[: len(title) + 80]:
        return
    chapter.blocks.insert(0, Block("heading", chapter.title, 2))
    findings.count("headings taken from the table of contents")


def chapter_entries(package: Package, depth: int | None) -> list[Entry]:
    """The entries that start a chapter: those down to `depth`, or by their own judgement.

    Judged: the outermost; those that start a file of their own; those in the same file as the entry above them if that
    one is a part or the whole book.
    """
    entries = package.entries
    found: dict[tuple[str, str], Entry] = {}
    outermost = sum(entry.depth == 1 for entry in entries)
    for entry in entries:
        above = entries[entry.parent] if entry.parent >= 0 else None
        if depth is not None:
            starts = entry.depth <= depth
        elif above is None or above.path != entry.path:
            starts = True
        else:
            starts = _PART.fullmatch(above.title) is not None or (above.depth == 1 and outermost == 1)
        if starts and entry.path:
            found.setdefault((entry.path, entry.fragment), entry)
    return list(found.values())
