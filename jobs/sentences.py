"""Where sentences end, in Chinese, English, Japanese and Korean prose with quotations, abbreviations and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from jobs.measure import (
    CLOSERS,
    HIRAGANA,
    HORIZONTAL_SPACE,
    LETTER,
    OPENERS,
    PAIRS,
    Budget,
    Guard,
    is_cjk,
    within_grapheme,
    word_set,
)

Kind = Literal["end", "inner", "pause"]


@dataclass(frozen=True, slots=True)
class Stop:
    """A place where reading stops."""

    position: int
    """Where the next sentence starts: behind closing marks and white space."""
    kind: Kind
    """`end`: a sentence ends; `inner`: one ends inside brackets that are still open; `pause`: it goes on in spite of
    the mark, as before `she asked`."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """An opening mark and its closing mark."""

    start: int
    end: int
    """Behind the closing mark."""
    fits: bool
    """All of it fits into one segment."""


_SURE_CLOSERS = re.escape(CLOSERS.replace("’", ""))
_STOP = re.compile(
    rf"(?P<mark>(?:[。｡！？!?…⋯‥．؟۔।॥‼⁇⁈⁉]|\.(?:[ \u00a0]\.)*+)++[~～]*+)"
    rf"(?P<closers>(?:[{_SURE_CLOSERS}\"'’]|[{HORIZONTAL_SPACE}]+[{_SURE_CLOSERS}]|</[A-Za-z]+>)*+)"
    rf"(?P<space>\s*+)"
)
_FIRM = frozenset("。｡！？؟۔।॥")
"""Marks that end a sentence without white space behind them."""
_GOES_ON = frozenset(",;:，、；：—–─-…⋯" + CLOSERS) - {"’"}
_TITLE_CLOSERS = frozenset("》〉")
_MARKER = re.compile(r"\s*[(（]?(?:\d{1,3}|[A-Za-z]|[IVXivx]{1,5})")
_LETTER_MARKER = re.compile(r"[a-z][.)]\s")
_WORD_BEFORE = re.compile(rf"{LETTER}(?:{LETTER}|\.(?={LETTER}))*$")
_WORD_AFTER = re.compile(r"[^\W\d_]+")

_TITLES = word_set(
    "mr mrs ms mx dr prof rev gen col capt cmdr lt sgt maj adm gov sen rep hon pres supt fr st mt ft messrs mme mlle"
)
"""Abbreviations that stand before a name, so never at an end; only with a capital: `one rep. Then another.`"""
_NEVER_END = word_set("e.g i.e cf viz approx vs")
_GO_ON_BEFORE_NUMBERS = word_set("no nos nr p pp fig figs vol vols ch sec art para eq eqs op tel ext")
_MAY_END = word_set(
    "etc inc ltd co corp bros jr sr esq ph.d m.d b.a m.a a.m p.m a.d b.c ave blvd rd est al ca v dept univ jan "
    "feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
_STARTERS = word_set(
    "the a an he she it they we i you this that these those there here his her its their our my your in on at by "
    "for from with without as if when while where what why who how which but and or so yet then now after before "
    "because although however once one two some many most all no not nobody nothing everyone everything let "
    "please did do does is are was were will would can could should may might must have has had"
)
_SPEECH_TAG = re.compile(
    # Chinese: a verb of saying that closes its clause.
    r"[^。！？!?…“”「」『』\"\n]{0,24}?(?<![没沒不])(?<!没有|沒有)(?:说|說|问|問|(?<!回)答|喊|叫|嚷|骂|罵|吼|叹|嘆|笑|哭|吩咐"
    r"|回答|解释|解釋|补充|補充|低语|嘀咕|喃喃|咕哝|嘟囔|叮嘱|提醒|追问|追問|反问|反問|劝|命令|建议|答应|答應"
    r"|(?<!了)想(?=[道着。：:])|(?<![知难味报道地街人])道)(?:道|着|了|過|过|完)?(?:一[声聲句])?[我你他她它]?(?:[，,。！：:；]|$)"
    # Japanese.
    rf"|(?:と|って|という|なんて|など)|[{HIRAGANA}一-鿿々ァ-ヶー、]{{1,16}}"
    r"(?:言っ|いっ|言い|云っ|聞い|尋ね|答え|叫ん|呟い|つぶやい|囁い|笑っ)"
    # Korean.
    r"|(?:이?라고|이?라는|이?라며|하고|하며|고)(?=[\s가-힣])"
    r"|[가-힣 ]{1,16}(?:말했|물었|대답했|외쳤|소리쳤|중얼거렸|속삭였)"
    # English, with the speaker's name first; `he said` starts with a small letter and goes on anyway.
    r"|(?:[\w'’-]+\.?[ ]){1,4}?(?:said|asked|replied|answered|cried|shouted|whispered|muttered|murmured|exclaimed|"
    r"added|called|yelled|sighed|laughed|continued|remarked|began|repeated|demanded|insisted|agreed)\b"
)
_CLINGS = re.compile("[的地之等]|时(?!间)|這?这?[句话話]|は|が|を|に|の|も|で")
"""What follows a quotation that is a part of its sentence."""


def brackets(text: str, start: int, end: int, budget: Budget) -> list[Bracket]:
    """Pairs of quotation marks and brackets in text[start:end], by start; marks without a partner are left out.

    Each kind of mark finds its partner by itself: one that was forgotten does not disturb the other kinds, and spoils
    its own kind only over the length that fits a segment.
    """
    events: list[int] = []
    pairs: list[tuple[int, int]] = []
    waiting: dict[str, list[int]] = {}
    for position, mark, opens in _bracket_marks(text, start, end, waiting):
        events.append(position)
        if opens:
            waiting.setdefault(mark, []).append(len(events) - 1)
        elif waiting.get(mark):
            pairs.append((waiting[mark].pop(), len(events) - 1))
    shares = [0.0]
    for here, there in pairwise(events):
        shares.append(shares[-1] + budget.share(text[here:there]))
    found = [Bracket(events[a], events[b] + 1, budget.holds(shares[b] - shares[a])) for a, b in pairs]
    return sorted(found, key=lambda bracket: bracket.start)


def stops(text: str, start: int, end: int, pairs: list[Bracket], guard: Guard) -> list[Stop]:
    """Every stop inside text[start:end], ascending; the paragraph's own end is not among them."""
    found: list[Stop] = []
    openers = {bracket.start for bracket in pairs}
    ends = [(bracket.start, bracket.end) for bracket in pairs if bracket.fits]
    next_pair, open_until, sentence_start = 0, start, start
    for match in _STOP.finditer(text, start, end):
        closers_end = _closers_end(text, match, openers)
        position = match.end() if closers_end == match.end("closers") else _skip_space(text, closers_end, end)
        if position >= end:
            break
        if guard.forbids(position) or guard.forbids(match.end("mark")) or within_grapheme(text, position):
            continue
        while next_pair < len(ends) and ends[next_pair][0] < match.start():
            open_until = max(open_until, ends[next_pair][1])
            next_pair += 1
        if not _ends_sentence(text, match, closers_end, position, sentence_start, end):
            if _is_heard(text, match, position):
                found.append(Stop(position, "pause"))
        elif open_until > closers_end:
            found.append(Stop(position, "inner"))
        else:
            found.append(Stop(position, "end"))
            sentence_start = position
    return found


def _bracket_marks(text: str, start: int, end: int, waiting: dict[str, list[int]]) -> Iterator[tuple[int, str, bool]]:
    """(position, opening mark of the kind, whether it opens); `waiting` tells which kinds are open at this moment."""
    for match in _BRACKET.finditer(text, start, end):
        position, mark = match.start(), match.group()
        before = text[position - 1] if position > start else " "
        after = text[position + 1] if position + 1 < end else " "
        if mark in OPENERS:
            yield position, mark, True
        elif mark == '"':
            may_open = not after.isspace() and after not in CLOSERS and after not in ",.;:!?，。；：！？、"
            may_close = not before.isspace() and before not in OPENERS
            if may_open or may_close:
                yield position, mark, may_open and not (may_close and waiting.get(mark))
        elif not (mark == "’" and before.isalpha() and after.isalpha() and not is_cjk(after)):
            yield position, PAIRS[mark], False


_BRACKET = re.compile(f'[{re.escape(OPENERS + CLOSERS)}"]')


def _closers_end(text: str, match: re.Match[str], openers: set[int]) -> int:
    """Where the closing marks end: a straight quote may open what follows, an apostrophe may belong to a word."""
    for position in range(*match.span("closers")):
        mark, after = text[position], text[position + 1 : position + 2]
        if mark == '"' and position in openers:
            return position
        if mark in "'’" and after.isalpha() and not is_cjk(after):
            return position
    return match.end("closers")


def _skip_space(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _is_heard(text: str, match: re.Match[str], position: int) -> bool:
    """A stop that does not end the sentence still makes a reader pause, unless it is a dot of `No. 5` or `a.b`."""
    if match.group("mark") in (".", "．"):
        return bool(match.group("closers")) and position > match.end("mark")
    return not _inside_token(text, match, position)


def _inside_token(text: str, match: re.Match[str], position: int) -> bool:
    before, after = text[match.start() - 1 : match.start()], text[position : position + 1]
    return position == match.end("mark") and before.isascii() and after.isascii() and not before.isspace()


def _ends_sentence(
    text: str, match: re.Match[str], closers_end: int, position: int, sentence_start: int, end: int
) -> bool:
    mark = match.group("mark")
    closers = text[match.end("mark") : closers_end]
    spaced = position > closers_end
    after = text[position]
    if after in _GOES_ON and not (spaced and after in "—–─-…"):
        return False
    if any(closer in _TITLE_CLOSERS for closer in closers) and not spaced:
        return False
    if closers and _goes_on_after_quotation(text, closers, position, end):
        return False
    is_dot = mark in (".", "．") and not closers
    if is_dot and not _dot_ends(text, match.start(), position, sentence_start):
        return False
    if any(character in _FIRM for character in mark):
        return True
    starts_small = after.islower() and not _LETTER_MARKER.match(text, position)
    if starts_small and not _is_script_change(text, match.start(), after):
        return False
    if spaced:
        return True
    return _ends_unspaced(text, match, bool(closers), after)


def _ends_unspaced(text: str, match: re.Match[str], closed: bool, after: str) -> bool:
    """ASCII marks and ellipses with no white space behind them."""
    before = text[match.start() - 1 : match.start()]
    mark = match.group("mark")
    if all(character in "…⋯‥" for character in mark):
        # In running Chinese text an ellipsis is a hesitation as often as an end: left to the length of the sentence.
        return closed
    if is_cjk(after):
        return True
    if after.isalnum():
        return (closed and after.isupper()) or (bool(before) and is_cjk(before))
    return after in OPENERS or after == '"' or not after.isascii()


def _is_script_change(text: str, mark_start: int, after: str) -> bool:
    return mark_start > 0 and is_cjk(text[mark_start - 1]) and not is_cjk(after)


def _goes_on_after_quotation(text: str, closers: str, position: int, end: int) -> bool:
    if not any(closer in "”’」』\"'»" for closer in closers):
        return False
    if _CLINGS.match(text, position, end) is not None:
        return True
    return _SPEECH_TAG.match(text, position, end) is not None


def _dot_ends(text: str, dot: int, position: int, sentence_start: int) -> bool:
    """Whether a single dot ends a sentence: not in numbers, list numbers, abbreviations, initials."""
    if dot - sentence_start <= 8 and _MARKER.fullmatch(text, sentence_start, dot):
        return False
    before, after = text[dot - 1 : dot], text[position]
    if position == dot + 1 and before.isalnum() and after.isalnum() and not (is_cjk(before) or is_cjk(after)):
        return False
    found = _WORD_BEFORE.search(text, max(sentence_start, dot - 16), dot)
    if found is None:
        return True
    word = found.group()
    known = word.lower()
    if known in _GO_ON_BEFORE_NUMBERS and after.isdecimal():
        return False
    if known in _NEVER_END or (known in _TITLES and word[0].isupper()):
        return False
    if all(len(part) == 1 for part in word.split(".")) and word.isupper():
        # Initials and `U.S.`; unspaced before Chinese it is a list letter.
        return (position > dot + 1 or not is_cjk(after)) and _starts_sentence(text, position)
    return known not in _MAY_END or _starts_sentence(text, position)


def _starts_sentence(text: str, position: int) -> bool:
    """After something that looks abbreviated: does a word follow that rarely stands capitalised inside a sentence?"""
    word = _WORD_AFTER.match(text, position)
    if word is None:
        return not text[position].isdecimal()
    if is_cjk(word.group()[0]):
        return True
    is_initial = len(word.group()) == 1 and text[word.end() : word.end() + 1] == "."
    return word.group().lower() in _STARTERS and not is_initial
