"""One spoken segment becomes cues that fit a screen: two lines at most, cut where a reader would pause."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jobs.measure import CLOSERS, NEVER_FIRST, OPENERS, is_cjk, within_grapheme

LINE_UNITS = 42.0
"""Width of a line: 42 Latin characters, or 18 CJK ones."""
CJK_UNITS = LINE_UNITS / 18
LINES = 2
_SENTENCE_END = re.compile(r"[。！？!?…][" + re.escape(CLOSERS) + r"\"']*\s*$|\.[" + re.escape(CLOSERS) + r"\"']*\s+$")
_CLAUSE_END = re.compile(r"[，、；：,;:—–][" + re.escape(CLOSERS) + r"\"']*\s*$")


@dataclass(frozen=True, slots=True)
class Cue:
    """What stands on the screen for a while."""

    start_s: float
    stop_s: float
    lines: tuple[str, ...]
    estimated: bool
    """Its times were shared out inside a segment by length; False: measured."""


def cues_of(text: str, start_s: float, stop_s: float) -> list[Cue]:
    """The cues of one segment; line breaks of the text stand for themselves and part it first."""
    pieces = [piece for piece in _screens(text) if piece]
    shares = [max(1, _spoken(" ".join(lines))) for lines in pieces]
    cues, before = [], 0
    for lines, share in zip(pieces, shares, strict=True):
        here, after = (start_s + (stop_s - start_s) * part / sum(shares) for part in (before, before + share))
        cues.append(Cue(here, after, lines, len(pieces) > 1))
        before += share
    return cues


def _spoken(text: str) -> int:
    """Characters that take time."""
    return sum(char.isalnum() for char in text)


def _screens(text: str) -> list[tuple[str, ...]]:
    """Lines in groups of two at most. The written lines stay where two of them fit, else each is cut by itself."""
    written = [" ".join(line.split()) for line in text.splitlines()]
    written = [line for line in written if line]
    if len(written) <= LINES and all(width(line) <= LINE_UNITS for line in written):
        return [tuple(written)]
    found: list[tuple[str, ...]] = []
    for line in written:
        found += [_wrapped(part) for part in _parts(line)]
    return found


def width(text: str) -> float:
    """In units of a Latin character; marks above and below letters have none."""
    units = 0.0
    for position, char in enumerate(text):
        if not within_grapheme(text, position) or char.isspace():
            units += CJK_UNITS if is_cjk(char) or "\u3000" <= char <= "\u303f" or "\uff00" <= char <= "\uffef" else 1.0
    return units


def _parts(line: str) -> list[str]:
    """Pieces of a line that each fit one screen, about as long as each other, cut at the best places."""
    if _fits(line):
        return [line]
    at = _best_cut(line)
    return [*_parts(line[:at].rstrip()), *_parts(line[at:].lstrip())]


def _fits(line: str) -> bool:
    whole = width(line)
    if whole <= LINE_UNITS:
        return True
    return whole <= LINES * LINE_UNITS and _line_cut(line) is not None


def _wrapped(part: str) -> tuple[str, ...]:
    at = None if width(part) <= LINE_UNITS else _line_cut(part)
    return (part,) if at is None else (part[:at].rstrip(), part[at:].lstrip())


def _line_cut(part: str) -> int | None:
    """Where two lines come of it that both fit; None if there is no such place."""
    fitting = [
        at
        for at in _places(part)
        if width(part[:at].rstrip()) <= LINE_UNITS and width(part[at:].lstrip()) <= LINE_UNITS
    ]
    return min(fitting, key=lambda at: _cost(part, at), default=None)


def _best_cut(line: str) -> int:
    """The best place to cut a line that does not fit: near a multiple of its parts, rather after a mark."""
    places = _places(line) or [at for at in range(1, len(line)) if not within_grapheme(line, at)]
    # One character that is wider than a screen cannot be; a run of joined ones may be, and is then cut anywhere.
    return min(places or [len(line) // 2], key=lambda at: _cost(line, at))


def _cost(text: str, at: int) -> float:
    """How far from the middle, less what a mark before the cut is worth."""
    off = abs(width(text[:at]) - width(text) / 2) / max(1.0, width(text))
    if _SENTENCE_END.search(text[:at]):
        return off - 0.3
    return off - 0.2 if _CLAUSE_END.search(text[:at]) else off


def _places(text: str) -> list[int]:
    """Where a line may end: after white space, and between CJK characters as their rules allow."""
    found = []
    for at in range(1, len(text)):
        before, after = text[at - 1], text[at]
        if after.isspace() or within_grapheme(text, at):
            continue
        if before.isspace() or (
            (is_cjk(before) or is_cjk(after) or before in NEVER_FIRST)
            and (after not in NEVER_FIRST and before not in OPENERS and not (before.isascii() and after.isascii()))
        ):
            found.append(at)
    if not any(width(word) > LINE_UNITS for word in text.split()) or found:
        return found
    return [at for at in range(1, len(text)) if not within_grapheme(text, at)]


def _joined(before: str, after: str) -> bool:
    """A number stays with its unit, a word of another script with its own letters."""
    return (before.isascii() and after.isascii()) or before.isdigit()


def on_one_line(lines: tuple[str, ...]) -> str:
    """The lines of a cue as one: a space between, but none between CJK characters."""
    whole = lines[0]
    for line in lines[1:]:
        wide = is_cjk(line[0]) or is_cjk(whole[-1]) or whole[-1] in "，。！？；：、”’」』）》…"
        whole += line if wide else f" {line}"
    return whole
