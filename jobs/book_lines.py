"""Lines of a plain text -> paragraphs. Lines cut at a width are joined again, words cut at their ends mended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from jobs.book_inline import joins_without_space
from jobs.book_records import LINE_BREAK, Block

MAX_WIDTH = 110
"""Wider lines are no lines of a page: a column is a Latin letter, a CJK character is two."""
_FEWEST_PAIRS = 3
_ENDS_SENTENCE = re.compile(r"[.!?。！？…:：;；\-—][”’」』）)\"'*_]*$")
_CUT_WORD = re.compile(r"([^\W\d_]+)[-\u00ad]$")
_WORD_AHEAD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s")
_LONGEST_SCENE_CHARS = 80
CELL = "\x1f"
"""Parts the cells of a table's row in a block's text."""
_RULE = re.compile(r"\s*(?:\+[-=+:]{2,}\+|\|[-=+:|\s]*-[-=+:|\s]*\|)\s*")
_PIPED = re.compile(r"\s*\|(.*)\|\s*")
_GAP = re.compile(r" {2,}")
_LONGEST_CELL_CHARS = 30
_ELLIPSES = re.compile(r"…{3,}|(?:\. ?){6,}|。{3,}")
_SCENE = re.compile(
    r"[\s*＊⁂※◆◇★☆●○■□▲△~～#＃=＝_\-–—−•·・❦❧✻✽†+xX×。.…]*[*＊⁂※◆◇★☆●○■□▲△~～#＃=＝_\-–—−•·❦❧✻✽+][\s*＊⁂※◆◇★☆●○■□▲△~～#＃=＝_\-–—−•·・❦❧✻✽†+]*"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a text stand."""

    wrapped: bool
    width: int
    """Columns that full lines reach."""
    vocabulary: frozenset[str]
    """Words in lower case, for mending words at line ends; empty where none is cut."""


def is_scene(text: str) -> bool:
    """Whether a line is a break between scenes: `* * *`, `⁂`, `———`, `…………`."""
    if not 0 < len(text) <= _LONGEST_SCENE_CHARS:
        return False
    return _SCENE.fullmatch(text) is not None or _ELLIPSES.fullmatch(text) is not None


def columns(line: str) -> int:
    """Width of a line, where a CJK character counts two."""
    return (len(line.encode("utf-8", "replace")) + len(line)) // 2


def _indent(line: str) -> int:
    """Columns that a line stands in from the left."""
    return columns(line[: len(line) - len(line.lstrip())].replace("　", "  "))


def layout_of(lines: Sequence[str], asked: Literal["auto", "yes", "no"] = "auto") -> Layout:
    """Judge whether lines are cut at a width: they are about equally long and mostly end within a sentence."""
    full = [line.rstrip() for line in lines]
    widths = sorted(columns(line) for line in full if line)
    if not widths:
        return Layout(asked == "yes", 72, frozenset())
    width = widths[min(len(widths) - 1, len(widths) * 9 // 10)]
    pairs = pairwise(full)
    followed = [line for line, after in pairs if line and after and not _indent(after)]
    long_lines = sum(columns(line) >= 0.7 * width for line in followed)
    open_lines = sum(_ENDS_SENTENCE.search(line) is None for line in followed)
    wrapped = (
        width <= MAX_WIDTH
        and len(followed) >= max(_FEWEST_PAIRS, 0.25 * len(widths))
        and long_lines >= 0.6 * len(followed)
        and open_lines >= 0.5 * len(followed)
    )
    if asked != "auto":
        wrapped = asked == "yes"
    cut = wrapped and any(_CUT_WORD.search(line) for line in followed)
    return Layout(wrapped, width, _vocabulary(full) if cut else frozenset())


def _vocabulary(lines: Sequence[str]) -> frozenset[str]:
    """The words of a text in lower case, without the halves of words that line ends cut."""
    words: set[str] = set()
    cut = False
    for line in lines:
        found = _WORD.findall(line.lower())
        was_cut, cut = cut, _CUT_WORD.search(line) is not None
        words.update(found[1 if was_cut else 0 : -1 if cut else None])
    return frozenset(words)


def paragraphs(lines: Sequence[str], layout: Layout) -> Iterator[Block]:
    """Paragraphs, verses and scene breaks of lines that hold no headings."""
    group: list[str] = []
    for line in [*lines, ""]:
        stripped = line.strip()
        if stripped[:1] in ("+", "|") and _RULE.fullmatch(line):
            continue
        if stripped and not is_scene(stripped):
            group.append(line.rstrip())
            if layout.wrapped:
                continue
        if group:
            yield from _group(group, layout)
            group = []
        if is_scene(stripped):
            yield Block("scene")


def _group(lines: list[str], layout: Layout) -> Iterator[Block]:
    """The paragraphs of lines without an empty one between them."""
    rows = _table(lines)
    if rows:
        yield from (Block("paragraph", CELL.join(row)) for row in rows)
        return
    if not layout.wrapped or len(lines) == 1:
        for line in lines:
            yield Block("paragraph", line.strip())
        return
    if all(columns(line) < 0.75 * layout.width for line in lines[:-1]) and columns(lines[-1]) <= layout.width:
        items = sum(_ITEM.match(line) is not None for line in lines)
        if items < 2:
            yield Block("verse", LINE_BREAK.join(line.strip() for line in lines), 1)
            return
    yield from (Block("paragraph", join_lines(part, layout)) for part in _parted(lines))


def _table(lines: list[str]) -> list[list[str]]:
    """The cells of each line where the lines are rows of a table: between bars, or in columns apart; else nothing."""
    piped = [found[1].split("|") for line in lines if (found := _PIPED.fullmatch(line))]
    if len(piped) == len(lines):
        return [[cell.strip() for cell in row if cell.strip()] for row in piped]
    rows = [_GAP.split(line.strip()) for line in lines]
    short = all(len(cell) <= _LONGEST_CELL_CHARS for row in rows for cell in row)
    spaced = any(_ENDS_SENTENCE.search(cell) for row in rows for cell in row[:-1])  # two spaces after a full stop
    # Two columns may be a poem or a letter's head: there must be figures.
    figures = sum(any(char.isdigit() for char in row[-1]) for row in rows)
    same = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return rows if len(rows) > 1 and same and short and not spaced and 2 * figures >= len(rows) else []


def _parted(lines: list[str]) -> Iterator[list[str]]:
    """Cut a group where a line is indented more than most, or starts an item of a list."""
    indents = [_indent(line) for line in lines]
    least = min(indents)
    is_list = sum(_ITEM.match(line) is not None for line in lines) >= 2
    part: list[str] = []
    for line, indent in zip(lines, indents, strict=True):
        if part and (indent > least + 1 or (is_list and _ITEM.match(line))):
            yield part
            part = []
        part.append(line)
    yield part


def join_lines(lines: Sequence[str], layout: Layout) -> str:
    """One paragraph; no space between CJK characters, words that were cut at a line end whole again."""
    pieces = [lines[0].strip()]
    for line in lines[1:]:
        after = line.strip()
        before = pieces[-1]
        cut, rest = _CUT_WORD.search(before), _WORD_AHEAD.match(after)
        if cut and rest:
            pieces[-1] = before[: cut.end(1)] + _hyphen(before[cut.end(1)], cut[1], rest[0], layout.vocabulary)
            pieces.append(after)
        elif before.endswith(("—", "–", "--")) or joins_without_space(
            before + "\n" + after, len(before), len(before) + 1
        ):
            pieces.append(after)
        else:
            pieces += [" ", after]
    return "".join(pieces)


def _hyphen(sign: str, left: str, right: str, vocabulary: frozenset[str]) -> str:
    """Whether `well-` + `known` keeps its hyphen: as the rest of the book writes it, else by its parts."""
    if sign == "\u00ad":
        return ""
    left, right = left.lower(), right.lower()
    if left + right in vocabulary:
        return ""
    if f"{left}-{right}" in vocabulary:
        return "-"
    return "-" if left in vocabulary and right in vocabulary and len(left) > 2 and len(right) > 2 else ""
