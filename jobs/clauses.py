"""Breaks a sentence that is over budget: at clauses as evenly as they allow, at words where a clause is too long."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.measure import (
    CJK,
    CLOSERS,
    HAN,
    HANGUL,
    HORIZONTAL_SPACE,
    LETTERS_A_WORD,
    NEVER_FIRST,
    OPENERS,
    Budget,
    Guard,
    is_letter,
    within_grapheme,
)
from jobs.sentences import Bracket, Stop
from jobs.word_cuts import Cut, word_cuts
from jobs.words import WordBreaker

SENTENCE, STRONG, COMMA, LIST, EDGE, SPACE, HARD = 0.0, 0.15, 0.3, 0.6, 0.6, 1.0, 12.0
"""What a cut of each kind costs, against the square of a piece's relative deviation from the even length."""
IN_BRACKETS = 0.5
TINY_SHARE = 0.12
TINY_COST, STUB_COST, OVERFULL_COST = 6.0, 20.0, 1_000.0

_CLAUSE = re.compile(
    rf"(?P<mark>[，、；：,;:…⋯‥—–─－]+|(?<=\s)-+(?=\s))"
    rf"(?P<closers>(?:[{re.escape(CLOSERS.replace('’', ''))}]|</[A-Za-z]+>)*)(?P<space>\s*)"
)
_PHRASE_SPACE = re.compile(rf"(?<=[^\s{HANGUL}\x00-\u0dff])[{HORIZONTAL_SPACE}]+(?=[^\s{HANGUL}\x00-\u0dff])")
_UNITS = (
    "mm|cm|dm|km|nm|m|ml|dl|l|mg|kg|g|t|lb|lbs|oz|ft|in|mi|mph|kph|km/h|s|ms|min|h|hr|hrs|Hz|kHz|MHz|GHz|V|mV|kV|A|mA|W|kW|MW|"
    "kWh|Wh|J|kJ|cal|kcal|Pa|kPa|hPa|MPa|bar|dB|K|C|F|B|KB|kB|MB|GB|TB|bps|kbps|Mbps|Gbps|px|pt|am|pm|a\\.m\\.|p\\.m\\.|AM|PM|"
    "percent|degrees|dollars|euros|pounds|yuan|USD|EUR|CNY|RMB"
)
_NUMERAL = "零〇○一二三四五六七八九十百千万亿兆两壹贰叁肆伍陆柒捌玖拾佰仟萬億兩"
_WHOLE = re.compile(
    r"</?[A-Za-z|][^<>\n]{0,80}>|\[/?[A-Za-z_][A-Za-z_ :.0-9-]{0,40}\]"
    r"|https?://[!-~]{1,400}|www\.[!-~]{1,400}"
    r"|(?<![A-Za-z0-9._+-])[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,8}"
    rf"|[$￥¥€£+-]?\d+(?:[.,:：/．·–-]\d+)*(?:[ \u00a0]?(?:[%％‰℃℉°]|(?:{_UNITS})(?![A-Za-z]))|[{CJK}])?"
    rf"|[{_NUMERAL}]+(?:点[{_NUMERAL}]+)?[{HAN}]?"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a paragraph that must be broken, with all that is known about it."""

    text: str
    start: int
    end: int
    stops: Sequence[Stop]
    """Of the whole paragraph."""
    brackets: Sequence[Bracket]
    """Of the whole paragraph, by start."""
    guard: Guard
    language: str | None


def break_up(passage: Passage, budget: Budget, words: WordBreaker) -> list[Cut]:
    """The cuts that break the passage into pieces within the budget; the last one is its end.

    Only what cannot be cut (a protected span, one character) stays over the budget. Time grows with the length of the
    passage times the number of words in a piece.
    """
    text, start, end = passage.text, passage.start, passage.end
    whole = Guard(
        match.span() for match in _WHOLE.finditer(text, start, end) if budget.holds(budget.share(match.group()))
    )
    guards = (passage.guard, whole)
    cuts = _admit(text, start, end, _with_brackets(_clause_cuts(passage), passage.brackets), guards)
    shares = _shares(text, start, end, cuts, budget)
    chosen = _choose(cuts, shares, budget)
    if _is_good(chosen, text, start, budget):
        return chosen
    cuts = _admit(text, start, end, [*cuts, *word_cuts(text, start, end, words, passage.language)], guards)
    shares = _shares(text, start, end, cuts, budget)
    if not all(map(budget.holds, shares)):
        cuts = _admit(text, start, end, [*cuts, *_hard_cuts(text, start, cuts, shares, budget, guards)], guards)
        shares = _shares(text, start, end, cuts, budget)
    return _choose(cuts, shares, budget)


def _clause_cuts(passage: Passage) -> list[Cut]:
    text, start, end = passage.text, passage.start, passage.end
    first = bisect_right(passage.stops, start, key=lambda stop: stop.position)
    last = bisect_left(passage.stops, end, key=lambda stop: stop.position)
    cuts = [
        Cut(stop.position, STRONG if stop.kind == "pause" else SENTENCE, stop.kind != "pause")
        for stop in passage.stops[first:last]
    ]
    for match in _CLAUSE.finditer(text, start, end):
        mark = match.group("mark")
        if mark.strip(",;:") or _ascii_mark_pauses(text, match):
            cost = min(STRONG if m in "；：;:…⋯‥—–─－-" else LIST if m == "、" else COMMA for m in mark)
            cuts.append(Cut(match.end(), cost))
    cuts.extend(Cut(match.end(), SPACE) for match in _PHRASE_SPACE.finditer(text, start, end))
    first = bisect_left(passage.brackets, start, key=lambda bracket: bracket.start)
    last = bisect_left(passage.brackets, end, key=lambda bracket: bracket.start)
    for bracket in passage.brackets[first:last]:
        behind = bracket.end
        while behind < end and text[behind].isspace():
            behind += 1
        cuts.extend((Cut(bracket.start, EDGE), Cut(behind, EDGE)))
    return cuts


def _ascii_mark_pauses(text: str, match: re.Match[str]) -> bool:
    """A comma or colon of ASCII is a pause before white space or beside CJK text, not in `1,000`, `12:30`, `a,b`."""
    if match.end() > match.end("mark"):
        return True
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return not around.isascii() and not any(character.isdecimal() for character in around)


def _with_brackets(cuts: list[Cut], brackets: Sequence[Bracket]) -> list[Cut]:
    """Make cuts inside brackets that fit one piece dearer."""
    spans = [(bracket.start, bracket.end) for bracket in brackets if bracket.fits]
    dearer: list[Cut] = []
    open_until, next_span = 0, 0
    for cut in sorted(cuts, key=lambda cut: cut.position):
        while next_span < len(spans) and spans[next_span][0] < cut.position:
            open_until = max(open_until, spans[next_span][1])
            next_span += 1
        extra = IN_BRACKETS if cut.position < open_until else 0.0
        dearer.append(Cut(cut.position, cut.cost + extra, cut.ends_sentence))
    return dearer


def _admit(text: str, start: int, end: int, cuts: Iterable[Cut], guards: Sequence[Guard]) -> list[Cut]:
    """The cuts that are allowed, the cheapest at each position, ascending, closed by the passage's end."""
    best: dict[int, Cut] = {}
    for cut in cuts:
        known = best.get(cut.position)
        if known is not None:
            if cut.cost < known.cost:
                best[cut.position] = cut
        elif start < cut.position < end and may_cut(text, cut.position, guards):
            best[cut.position] = cut
    return [*sorted(best.values(), key=lambda cut: cut.position), Cut(end, 0.0)]


def may_cut(text: str, position: int, guards: Sequence[Guard]) -> bool:
    """Whether a piece may start at `position`."""
    after = text[position]
    if after.isspace() or after in NEVER_FIRST or within_grapheme(text, position):
        return False
    if text[position - 1] in OPENERS or (after == "’" and text[position - 1].isalpha()):
        return False
    return not any(guard.forbids(position) for guard in guards)


def _shares(text: str, start: int, end: int, cuts: list[Cut], budget: Budget) -> list[float]:
    """The share of the text before each cut, back to the cut before; drops cuts with nothing to speak before them.

    Without such cuts the number of cuts in a piece is bounded, and with it the time.
    """
    kept: list[Cut] = []
    shares: list[float] = []
    position = start
    for cut in cuts:
        share = budget.share(text[position : cut.position])
        if share == 0.0 and kept:
            # Marks alone belong to what stands before them.
            kept[-1] = Cut(cut.position, min(cut.cost, kept[-1].cost), cut.ends_sentence or kept[-1].ends_sentence)
        elif share > 0.0 or cut.position == end:
            kept.append(cut)
            shares.append(share)
        else:
            continue
        position = cut.position
    cuts[:] = kept
    return shares


def _choose(cuts: Sequence[Cut], shares: Sequence[float], budget: Budget) -> list[Cut]:
    """The cheapest way through the cuts: dynamic programming over even length and the price of each cut."""
    total = math.fsum(shares)
    even = total / max(1, math.ceil(total - 1e-9)) or 1.0
    stub = max(2 / budget.cjk_chars, 1 / budget.words) + 1e-9
    least = [0.0]
    come_from = [0]
    for here, cut in enumerate(cuts):
        best, best_from = math.inf, here
        piece = 0.0
        for before in range(here, -1, -1):
            piece += shares[before]
            if piece > 1.0 + 1e-9:
                if before == here:
                    best, best_from = least[before] + OVERFULL_COST, before
                break
            cost = least[before] + ((piece - even) / even) ** 2
            if piece < TINY_SHARE:
                cost += STUB_COST if piece <= stub else TINY_COST
            if cost < best:
                best, best_from = cost, before
        least.append(best + cut.cost)
        come_from.append(best_from)
    chosen: list[Cut] = []
    index = len(cuts)
    while index > 0:
        chosen.append(cuts[index - 1])
        index = come_from[index]
    return chosen[::-1]


def _is_good(chosen: Sequence[Cut], text: str, start: int, budget: Budget) -> bool:
    position = start
    for cut in chosen:
        share = budget.share(text[position : cut.position])
        if not budget.holds(share) or share < TINY_SHARE:
            return False
        position = cut.position
    return True


def _hard_cuts(
    text: str, start: int, cuts: Sequence[Cut], shares: Sequence[float], budget: Budget, guards: Sequence[Guard]
) -> list[Cut]:
    """Cuts inside what has no better place, such as 500 letters without a space: even parts of whole characters."""
    hard: list[Cut] = []
    position = start
    for cut, share in zip(cuts, shares, strict=True):
        if not budget.holds(share):
            hard.extend(_even_parts(text, position, cut.position, share, budget, guards))
        position = cut.position
    return hard


def _even_parts(text: str, start: int, end: int, share: float, budget: Budget, guards: Sequence[Guard]) -> list[Cut]:
    target = share / math.ceil(share - 1e-9)
    parts: list[Cut] = []
    part_start = position = start
    filled, letters = 0.0, 0
    while position < end:
        following = position + 1
        while following < end and not may_cut(text, following, guards):
            following += 1
        unit = text[position:following]
        added = _added_share(unit, letters, budget)
        if filled + added > target + 1e-9 and position > part_start:
            parts.append(Cut(position, HARD))
            part_start, filled, letters = position, 0.0, 0
            added = _added_share(unit, letters, budget)
        filled += added
        letters = letters + 1 if is_letter(unit[-1]) else 0
        position = following
    return parts


def _added_share(unit: str, letters: int, budget: Budget) -> float:
    """What one whole character adds behind `letters` letters of the same word, of which the first ten share a price."""
    if letters == 0 or not is_letter(unit[0]):
        return budget.share(unit)
    beyond = budget.share(unit) - 1 / budget.words
    return beyond + (1 / LETTERS_A_WORD / budget.words if letters >= LETTERS_A_WORD else 0.0)
