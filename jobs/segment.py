"""Cuts a text into pieces that the model speaks well: sentences, clauses where one is too long, words if need be.

Nothing is lost or doubled: the pieces, joined, are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jobs.clauses import Passage, break_up
from jobs.measure import CLOSERS, Budget, Guard, within_grapheme
from jobs.records import Boundary
from jobs.sentences import brackets, stops
from jobs.words import WordBreaker

__all__ = ["Budget", "Piece", "split"]

SHORT_SHARE = 1 / 3
"""A sentence below this share of the budget is joined with a neighbour: models babble on very short input."""

_NEWLINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]\s*")
_NO_PARAGRAPH_START = frozenset(CLOSERS) - {"’"}


@dataclass(frozen=True, slots=True)
class Piece:
    """text[start:end] and what comes after it. White space belongs to the piece before it."""

    start: int
    end: int
    boundary: Boundary


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    share: float
    boundary: Boundary


def split(
    text: str,
    protected: Sequence[tuple[int, int]],
    budget: Budget,
    words: WordBreaker,
    language: str | None = None,
) -> list[Piece]:
    """Pieces that cover `text` without gap or overlap; none is cut inside a protected span.

    A line break ends a paragraph. Within one, short sentences are joined as long as the sum stays within the budget.
    A piece is over the budget only where it cannot be cut: a protected span, or one character. A paragraph with nothing
    to speak (`* * *`) is a piece of its own. `language` only decides between Chinese and Japanese word rules; None: by
    script. Time and memory are linear in the length of the text.
    """
    guard = Guard(protected)
    pieces = [
        Piece(part.start, part.end, part.boundary)
        for start, end in _paragraphs(text, guard)
        for part in _split_paragraph(text, start, end, guard, budget, words, language)
    ]
    if pieces:
        pieces[-1] = replace(pieces[-1], boundary="end")
    return pieces


def _paragraphs(text: str, guard: Guard) -> Iterator[tuple[int, int]]:
    """Spans of paragraphs with the white space behind them; white space at the very start goes to the first."""
    start = len(text) - len(text.lstrip())
    begin = 0
    for match in _NEWLINE.finditer(text, start):
        end = match.end()
        if end == len(text):
            break
        if text[end] not in _NO_PARAGRAPH_START and not (guard.forbids(end) or within_grapheme(text, end)):
            yield begin, end
            begin = end
    if begin < len(text):
        yield begin, len(text)


def _split_paragraph(
    text: str, start: int, end: int, guard: Guard, budget: Budget, words: WordBreaker, language: str | None
) -> list[_Part]:
    pairs = brackets(text, start, end, budget)
    found = stops(text, start, end, pairs, guard)
    passage = Passage(text, start, end, found, pairs, guard, language)
    parts: list[_Part] = []
    for sentence_end in [*(stop.position for stop in found if stop.kind == "end"), end]:
        share = budget.share(text[start:sentence_end])
        if budget.holds(share):
            parts.append(_Part(start, sentence_end, share, "sentence"))
        else:
            parts.extend(_broken(replace(passage, start=start, end=sentence_end), budget, words))
        start = sentence_end
    parts = _without_stubs(_join_short(parts, budget), passage, budget, words)
    parts[-1] = replace(parts[-1], boundary="paragraph")
    return parts


def _broken(passage: Passage, budget: Budget, words: WordBreaker) -> list[_Part]:
    parts: list[_Part] = []
    start = passage.start
    for cut in break_up(passage, budget, words):
        at_sentence = cut.ends_sentence or cut.position == passage.end
        share = budget.share(passage.text[start : cut.position])
        parts.append(_Part(start, cut.position, share, "sentence" if at_sentence else "clause"))
        start = cut.position
    return parts


def _join(first: _Part, second: _Part) -> _Part:
    return _Part(first.start, second.end, first.share + second.share, second.boundary)


def _join_short(parts: Sequence[_Part], budget: Budget) -> list[_Part]:
    """Join each short part with the shorter of its neighbours that leaves the sum within the budget."""
    joined: list[_Part] = []
    for part in parts:
        if joined and joined[-1].share < SHORT_SHARE:
            short = joined.pop()
            with_next = short.share + part.share
            with_previous = joined[-1].share + short.share if joined else float("inf")
            if budget.holds(with_next) and with_next <= with_previous:
                joined.append(_join(short, part))
                continue
            if budget.holds(with_previous) or (short.share == 0.0 and joined):
                joined[-1] = _join(joined[-1], short)
            else:
                joined.append(short)
        joined.append(part)
    while len(joined) > 1 and joined[-1].share < SHORT_SHARE:
        both = _join(joined[-2], joined[-1])
        if not budget.holds(both.share) and joined[-1].share > 0.0:
            break
        joined[-2:] = [both]
    return joined


def _without_stubs(parts: list[_Part], passage: Passage, budget: Budget, words: WordBreaker) -> list[_Part]:
    """Break a part of one or two characters anew together with a full neighbour, so that both get a fair share."""
    stub = max(2 / budget.cjk_chars, 1 / budget.words) + 1e-9
    rest: list[_Part] = []
    for part in parts:
        if rest and (rest[-1].share <= stub or part.share <= stub):
            both = replace(passage, start=rest[-1].start, end=part.end)
            anew = _broken(both, budget, words)
            if len(anew) == 2 and all(budget.holds(each.share) and each.share > stub for each in anew):
                rest[-1:] = [anew[0], replace(anew[1], boundary=part.boundary)]
                continue
        rest.append(part)
    return rest
