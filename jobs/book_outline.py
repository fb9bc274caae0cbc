"""Chapters from blocks: their titles, their kinds, and where a document without a table of contents is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from jobs.book_headings import heading_of
from jobs.book_records import CJK, Block, Chapter, one_line
from jobs.book_semantics import matter_of_title

_DIRECT_CHARS = 200
"""A part has less text than this of its own before its first chapter."""
_OPENING_CHARS = 1500
_NOT_LETTERS = re.compile(r"[\W_]+")
_COPYRIGHT = re.compile(
    r"ISBN|all rights reserved|©|\(c\) ?\d{4}|版权所有|版權所有|侵权必究|图书在版编目|著作権", re.IGNORECASE
)
_COPYRIGHT_CHARS = 6000
_COPYRIGHT_TITLED_CHARS = 600
"""Under a title, a single sign in a longer text may be a word of the story."""


def squeeze(text: str) -> str:
    """Letters and digits only, in one case: for comparing titles."""
    return _NOT_LETTERS.sub("", text).casefold()


def title_of(blocks: Sequence[Block]) -> str:
    """The headings that a chapter begins with, on one line."""
    lines: list[str] = []
    for block in blocks[:6]:
        if block.kind != "heading":
            if lines or block.kind != "scene":
                break
            continue
        lines += block.text.split("\n")
    title = ""
    for line in (one_line(line) for line in lines[:4]):
        if title and line:
            title += " " if CJK.search(title) or title[-1] in ".:!?—–-…" else ": "
        title += line
    return one_line(title)


def kind_of(title: str, blocks: Sequence[Block], named: str = "") -> str:
    """The kind of a chapter: as markup names it, else by its title, else by signs in its text."""
    by_title = matter_of_title(title) or next(
        (kind for block in blocks[:2] if block.kind == "heading" and (kind := matter_of_title(block.plain))), ""
    )
    if named and named not in ("chapter", "part"):
        return named
    if by_title:
        return by_title
    return named or ("copyright" if _is_copyright_page(title, blocks) else "chapter")


def _is_copyright_page(title: str, blocks: Sequence[Block]) -> bool:
    """A numbered chapter in which a site claims its rights, or somebody reads a book's ISBN, is a chapter."""
    chars = sum(len(block.text) for block in blocks)
    if chars >= _COPYRIGHT_CHARS:
        return False
    signs = {found[0].lower() for block in blocks for found in _COPYRIGHT.finditer(block.text)}
    if not signs or any(block.kind == "heading" and heading_of(block.plain) is not None for block in blocks):
        return False
    return not title or len(signs) > 1 or chars < _COPYRIGHT_TITLED_CHARS


def split_at_headings(blocks: Iterable[Block], depth: int | None, book_title: str = "") -> Iterator[Chapter]:
    """Cut one document into chapters at its headings, `depth` levels of them (None: judged by the document)."""
    held = list(blocks)
    cut = _cutting_levels(held, depth)
    chapter = Chapter("", "")
    for index, block in enumerate(held):
        starts = block.kind == "heading" and block.level in cut
        follows = index > 0 and held[index - 1].kind == "heading" and held[index - 1].level in cut
        # A second heading of the same level in a row is the subtitle of the first.
        if starts and not (follows and held[index - 1].level == block.level and heading_of(block.plain) is None):
            if chapter.blocks:
                yield _settled(chapter, book_title)
            chapter = Chapter("", "", level=block.level)
        chapter.blocks.append(block)
    if chapter.blocks:
        yield _settled(chapter, book_title)


def _settled(chapter: Chapter, book_title: str) -> Chapter:
    chapter.title = title_of(chapter.blocks)
    named = next((block.matter for block in chapter.blocks if block.matter), "")
    chapter.kind = kind_of(chapter.title, chapter.blocks, named)
    is_opening = squeeze(chapter.title) == squeeze(book_title) and chapter.chars < _OPENING_CHARS
    if chapter.kind == "chapter" and book_title and is_opening:
        chapter.kind = "titlepage"
    return chapter


def _cutting_levels(blocks: Sequence[Block], depth: int | None) -> frozenset[int]:
    headings = [block.level for block in blocks if block.kind == "heading"]
    levels = sorted(set(headings))
    if depth is not None:
        return frozenset(levels[:depth])
    chosen: set[int] = set()
    for level in levels:
        chosen.add(level)
        if headings.count(level) >= 2 and median(_direct_chars(blocks, level)) >= _DIRECT_CHARS:
            break
        # As many deeper headings as these, or fewer: they are subtitles, not chapters of parts.
        if headings.count(level) >= 2 and sum(deeper > level for deeper in headings) <= headings.count(level):
            break
    return frozenset(chosen)


def _direct_chars(blocks: Sequence[Block], level: int) -> list[int]:
    """For each heading of a level, the characters between it and the next heading of any level."""
    counts: list[int] = []
    counting = False
    for block in blocks:
        if block.kind == "heading":
            counting = block.level == level
            if counting:
                counts.append(0)
        elif counting:
            counts[-1] += len(block.text)
    return counts


def joined_forward(chapters: Iterable[Chapter]) -> Iterator[Chapter]:
    """A chapter of the body that is nothing but headings (`Part One`) is read at the start of the next one."""
    held: list[Block] = []
    for chapter in chapters:
        if chapter.kind in ("chapter", "part") and not any(
            block.kind != "heading" and block.speakable for block in chapter.blocks
        ):
            held += [block for block in chapter.blocks if block.kind == "heading"]
            continue
        if held and chapter.kind in ("chapter", "part", "prologue", "epilogue"):
            chapter.blocks[:0] = held
            held = []
        yield chapter
    if held:
        yield Chapter(title_of(held), "part", held)
