"""Which lines of a plain text start a chapter: not its table of contents, not page numbers, not a lone numeral."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jobs.book_headings import Heading, heading_of, is_contents_heading
from jobs.book_records import Reading

_CHARS_PER_ENTRY = 100
_FEWEST_ENTRIES = 3
_LINES_ABOVE_ENTRIES = 3
"""`CHAP. PAGE` may stand above the entries."""
_SUBTITLE_CHARS = 60
_LEADERS = re.compile(r"(?:[.…·\s　]{3,}|\t| {2,})[\divxl]+\s*$")
_MID_SENTENCE = re.compile(r"[^.!?。！？…”’」』\"')）:：]$")
_SENTENCE_MARK = re.compile(r"[.!?,;。！？，；：、…”」\"]")
_CHINESE_UNIT = re.compile("[㐀-鿿]")


@dataclass(frozen=True, slots=True)
class Found:
    """A heading in place: lines[start:end] are it, with its subtitle."""

    start: int
    end: int
    lines: tuple[str, ...]
    level: int
    starts_chapter: bool
    kind: str = ""


def find_headings(lines: Sequence[str], reading: Reading) -> list[Found]:
    """The headings of a text, in order."""
    candidates = _candidates(lines, reading)
    start, end, within = _contents(lines, candidates)
    outside = [(at, heading) for at, heading in candidates if not start <= at < end]
    outside = _without_page_numbers(lines, outside)
    outside = _in_series(outside)
    levels = _levels([heading for _, heading in outside], reading.depth)
    found = [_placed(lines, at, heading, heading.level in levels) for at, heading in outside]
    found = _once(lines, found)
    if end > start:
        label = lines[start].strip() if within else ""
        found.append(Found(start, start + within, (label or "Contents",), 2, True, "contents"))
        found += [Found(end, end, (), 2, True)] if not any(place.start == end for place in found) else []
    return sorted(found, key=lambda place: place.start)


def _once(lines: Sequence[str], found: list[Found]) -> list[Found]:
    """A heading that stands twice in a row, as many sites export it, is one."""
    kept: list[Found] = []
    for place in found:
        if (
            kept
            and kept[-1].lines == place.lines
            and not any(line.strip() for line in lines[kept[-1].end : place.start])
        ):
            kept[-1] = replace(kept[-1], end=place.end)
        else:
            kept.append(place)
    return kept


def _candidates(lines: Sequence[str], reading: Reading) -> list[tuple[int, Heading]]:
    found: list[tuple[int, Heading]] = []
    for at, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        if reading.heading is not None and reading.heading.search(text):
            found.append((at, heading_of(text) or Heading(text, "asked", None, "", 2, True)))
            continue
        heading = heading_of(_LEADERS.sub("", line).strip())
        if heading is not None and _stands_alone(lines, at, heading, bool(found) and found[-1][0] == at - 1):
            found.append((at, heading))
    return found


def _stands_alone(lines: Sequence[str], at: int, heading: Heading, after_heading: bool) -> bool:
    """Empty lines around a heading; Chinese novels often have none, and their headings are plain without."""
    if heading.sure and _CHINESE_UNIT.match(heading.unit):
        return True
    if heading.unit == "named" and _CHINESE_UNIT.match(heading.text):
        return True
    before = at == 0 or not lines[at - 1].strip() or after_heading
    after = at + 1 >= len(lines) or not lines[at + 1].strip()
    return (before and (after or heading.sure)) or _stands_out(lines, at)


def _stands_out(lines: Sequence[str], at: int) -> bool:
    """A line at the margin before an indented one: how Chinese novels without empty lines set their headings."""
    return not lines[at][:1].isspace() and at + 1 < len(lines) and lines[at + 1][:2] in ("\u3000\u3000", "  ")


def _contents(lines: Sequence[str], candidates: Sequence[tuple[int, Heading]]) -> tuple[int, int, int]:
    """lines[start:end] of the table of contents, and how many of them are its heading; (0, 0, 0) for none."""
    for first, (at, heading) in enumerate(candidates[:12]):
        if is_contents_heading(heading.text):
            continue
        repeat = next((other for other, again in candidates[first + 1 :] if again.key == heading.key), 0)
        if not repeat:
            continue
        named = next((line for line in range(at - 1, max(-1, at - 8), -1) if is_contents_heading(lines[line])), -1)
        entries = sum(at <= other < repeat for other, _ in candidates)
        chars = sum(len(line.strip()) for line in lines[at:repeat])
        if entries >= (1 if named >= 0 else _FEWEST_ENTRIES) and chars <= _CHARS_PER_ENTRY * max(entries, 3):
            end = _contents_end(lines, candidates, at, repeat)
            return (named, end, 1) if named >= 0 else (at, end, 0)
    return next(_numbered_contents(lines, candidates), (0, 0, 0))


def _numbered_contents(
    lines: Sequence[str], candidates: Sequence[tuple[int, Heading]]
) -> Iterator[tuple[int, int, int]]:
    """Entries that name chapters otherwise than the text does (`I. The Storm` for `CHAPTER I.`): numbers of pages tell.

    They end with the last paragraph that has one, before a paragraph without.
    """
    for named, heading in candidates[:12]:
        if not is_contents_heading(heading.text):
            continue
        end, paged, without = named + 1, 0, 0
        for start, stop in _groups(lines, named + 1):
            pages = sum(_LEADERS.search(line) is not None for line in lines[start:stop])
            without += stop - start if not pages else 0
            if not pages and (paged or without > _LINES_ABOVE_ENTRIES):
                break
            if pages:
                end, paged = stop, paged + pages
        if paged >= _FEWEST_ENTRIES and any(named < at < end for at, _ in candidates):
            yield named, end, 1


def _groups(lines: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Runs of lines without an empty one among them, as (first, after the last)."""
    for at in range(start, len(lines)):
        if not lines[at].strip():
            if start < at:
                yield start, at
            start = at + 1
    if start < len(lines):
        yield start, len(lines)


def _contents_end(lines: Sequence[str], candidates: Sequence[tuple[int, Heading]], start: int, repeat: int) -> int:
    """The line after the last entry: a prologue may stand between it and the first chapter."""
    later = {heading.key for at, heading in candidates if at >= repeat}
    end = 1 + max(at for at, heading in candidates if start <= at < repeat and heading.key in later)
    while end < repeat and lines[end].strip():
        end += 1
    return end


def _without_page_numbers(lines: Sequence[str], found: list[tuple[int, Heading]]) -> list[tuple[int, Heading]]:
    """Bare numbers of which many stand inside a sentence are numbers of pages."""
    bare = [at for at, heading in found if heading.unit == "number"]
    inside = sum(_MID_SENTENCE.search(_before(lines, at)) is not None for at in bare)
    if len(bare) >= 3 and inside * 3 >= len(bare):
        return [(at, heading) for at, heading in found if heading.unit != "number"]
    return found


def _before(lines: Sequence[str], at: int) -> str:
    return next((lines[line].strip() for line in range(at - 1, max(-1, at - 6), -1) if lines[line].strip()), ".")


def _in_series(found: list[tuple[int, Heading]]) -> list[tuple[int, Heading]]:
    """Bare numerals only where they count 1, 2, 3 …; they may begin again."""
    kept: set[int] = set()
    for unit in {heading.unit for _, heading in found if not heading.sure}:
        run: list[int] = []
        numbers: list[int] = []
        for at, heading in [*((a, h) for a, h in found if h.unit == unit), (-1, None)]:
            number = heading.number if heading else None
            if heading is None or number == 1 or not numbers or number != numbers[-1] + 1:
                if len(run) >= 2:
                    kept.update(run)
                run, numbers = ([at], [1]) if number == 1 else ([], [])
            else:
                run.append(at)
                numbers.append(number or 0)
    return [(at, heading) for at, heading in found if heading.sure or at in kept]


def _levels(headings: Sequence[Heading], depth: int | None) -> frozenset[int]:
    """Levels that start a chapter: parts and chapters; sections and bare numerals only where there are no chapters."""
    headings = [replace(heading, level=_level(heading, headings)) for heading in headings]
    present = sorted({heading.level for heading in headings})
    if depth is not None:
        return frozenset(present[:depth])
    counted = [heading for heading in headings if heading.unit != "named"]
    chapters = [heading.level for heading in counted if heading.level == 2]
    sections = [heading.level for heading in counted if heading.level == 3]
    return frozenset((1, 2)) if chapters or not sections else frozenset((1, 2, 3))


def _level(heading: Heading, headings: Sequence[Heading]) -> int:
    """Bare numerals below chapters that have a name or a title are sections."""
    if heading.sure or heading.unit == "named":
        return heading.level
    titled = any(other.unit.endswith("with title") for other in headings)
    chaptered = any(other.sure and other.level == 2 and other.unit != "named" for other in headings)
    return 3 if chaptered or (titled and not heading.unit.endswith("with title")) else 2


def _placed(lines: Sequence[str], at: int, heading: Heading, starts: bool) -> Found:
    """The heading with the subtitle on the lines below it."""
    texts, end = [heading.text], at + 1
    while (
        end < len(lines)
        and end < at + 3
        and lines[end].strip()
        and _subtitle(lines[end])
        and heading_of(lines[end]) is None
    ):
        if _CHINESE_UNIT.match(heading.unit) and (heading.title or len(lines[end].strip()) > 20):
            break
        texts.append(lines[end].strip())
        end += 1
    if end < len(lines) and lines[end].strip() and len(texts) > 1 and not _CHINESE_UNIT.match(heading.unit):
        texts, end = [heading.text], at + 1  # what looked like a subtitle goes on as prose
    if len(texts) == 1 and not heading.title and heading.unit != "named":
        below = next((line for line in range(end, min(end + 3, len(lines))) if lines[line].strip()), -1)
        alone = below > at + 1 and (below + 1 >= len(lines) or not lines[below + 1].strip())
        if alone and _subtitle(lines[below]) and heading_of(lines[below]) is None and _title_like(lines[below].strip()):
            texts.append(lines[below].strip())
            end = below + 1
    return Found(at, end, tuple(texts), heading.level, starts)


def _subtitle(line: str) -> bool:
    text = line.strip()
    return len(text) <= _SUBTITLE_CHARS and (text.isupper() or _SENTENCE_MARK.search(text.rstrip(".")) is None)


def _title_like(text: str) -> bool:
    words = [word for word in text.split() if len(word) > 3]
    return text.isupper() or all(word[:1].isupper() or not word[:1].isalpha() for word in words)
