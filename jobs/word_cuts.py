"""Where words start, as places to cut a clause that is too long, each with the price of cutting there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.measure import HAN, HIRAGANA, KATAKANA, word_set
from jobs.words import WordBreaker

GOOD, PLAIN, POOR, BAD = 3.0, 4.0, 5.0, 7.0
"""Before a conjunction or behind a particle; at any word; where two words lean on each other; where they cling."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a sentence may be cut, and what that costs."""

    position: int
    cost: float
    ends_sentence: bool = False


_HAN_RUN = re.compile(f"[{HAN}]+")
_LATIN_SPACE = re.compile(r"(?<=\S)\s+(?=\S)")
_SCRIPT_CHANGE = re.compile(
    rf"(?<=[{HAN}{KATAKANA}])(?=[^\W\d{HAN}{HIRAGANA}{KATAKANA}])|(?<=[a-zA-Z])(?=[{HAN}{KATAKANA}])"
)
_THAI_SYLLABLE = re.compile(r"(?<=[\u0e00-\u0eff])(?=[เแโใไເແໂໃໄ])")
_JAPANESE_CHANGE = re.compile(rf"(?<=[{HIRAGANA}])(?=[{HAN}{KATAKANA}A-Za-z])|(?<=[をはがへ])(?=[{HIRAGANA}])")

_HAN_STARTERS = re.compile(
    "然后|然後|因为|因為|但是|可是|所以|于是|於是|并且|並且|而且|如果|只是|不过|不過|虽然|雖然|即使|尽管|以及|或者|还是|還是|"
    "直到|当|當|从|從|在|对|對|为了|為了|由于|由於|通过|通過|根据|随着|关于|而|但|又|再|就|才|也|都|却|卻|并|與|与|和|跟|向|把|被|让|讓|比"
)
_HAN_ENDERS = ("的话", "的話", "时候", "時候", "之后", "之後", "以后", "以後", "之前", "以前", "了", "时", "時")
_HAN_CLITICS = frozenset("的地得了着著过過们們吗嗎呢吧啊呀嘛啦者性化式")
_HAN_LEANERS = frozenset("的把被在从從对對向和与與跟不没沒很最第每这這那各几幾某是有")

_EN_STARTERS = word_set(
    "and but or nor so yet because that which who whom whose when while where if unless until though although "
    "since as than before after in on at to for from with without by into onto upon over under between among "
    "through during against about around behind beyond across toward towards"
)
_EN_LEANERS = word_set(
    "a an the of to in on at for from with by into and or but my your his her its our their this that these those "
    "every each some any no very too so as than is are was were be been am will would can could should may might "
    "must not don't didn't one two three four five six seven eight nine ten eleven twelve twenty thirty forty "
    "fifty sixty seventy eighty ninety hundred thousand million billion point"
)
_EN_NUMBERED = word_set(
    "no number page pages chapter section part room gate flight line lane track platform floor extension ext option "
    "step table figure volume act scene verse route highway channel january february march april may june july august "
    "september october november december"
)
_JA_PARTICLE = re.compile(r".*(?:から|まで|より|ので|のに|けど|けれど|ながら|たら|れば|[をはがにでともへやてで])$")


def word_cuts(text: str, start: int, end: int, words: WordBreaker, language: str | None) -> Iterator[Cut]:
    """Starts of words in text[start:end]; positions may be ones that the caller's guards forbid."""
    yield from _at_spaces(text, start, end)
    yield from (Cut(match.start(), PLAIN) for match in _SCRIPT_CHANGE.finditer(text, start, end))
    yield from (Cut(match.start(), POOR) for match in _THAI_SYLLABLE.finditer(text, start, end))
    if is_japanese(text[start:end], language):
        yield from _in_japanese(text, start, end)
    else:
        yield from _in_han(text, start, end, words)


def is_japanese(text: str, language: str | None) -> bool:
    """By the row's language, else by its share of kana: a の in a Chinese brand name makes no Japanese."""
    if language is not None:
        return language.lower().startswith("ja")
    kana = len(re.findall(f"[{HIRAGANA}{KATAKANA}]", text))
    return kana > 0.1 * len(re.findall(f"[{HAN}]", text))


def _at_spaces(text: str, start: int, end: int) -> Iterator[Cut]:
    behind = start
    for match in _LATIN_SPACE.finditer(text, start, end):
        before = text[max(behind, match.start() - 24) : match.start()].lower()
        after = _word_at(text, match.end())
        behind = match.end()
        cost = GOOD if after in _EN_STARTERS else PLAIN
        if before in _EN_LEANERS:
            cost = BAD if cost == PLAIN else POOR
        if before.endswith(".") or (before in _EN_NUMBERED and text[match.end()].isdecimal()):
            # A dot inside a sentence is an abbreviation's: `No. 10`, `Dr. Smith`; `page 12` belongs together as well.
            cost = BAD
        yield Cut(match.end(), cost)


_WORD_AT = re.compile(r"[^\W\d_]{1,24}(?:['’][^\W\d_]{1,8})?")


def _word_at(text: str, position: int) -> str:
    match = _WORD_AT.match(text, position)
    return match.group().lower() if match else ""


def _in_han(text: str, start: int, end: int, words: WordBreaker) -> Iterator[Cut]:
    for run in _HAN_RUN.finditer(text, start, end):
        if len(run.group()) < 2:
            continue
        for offset in words.cuts(run.group()):
            yield Cut(run.start() + offset, _han_cost(text, run.start() + offset))


def _han_cost(text: str, position: int) -> float:
    if text[position] in _HAN_CLITICS:
        return BAD
    if text.endswith(_HAN_ENDERS, max(0, position - 2), position):
        return GOOD
    leans = text[position - 1] in _HAN_LEANERS
    if _HAN_STARTERS.match(text, position):
        return POOR if leans else GOOD
    return POOR if leans else PLAIN


def _in_japanese(text: str, start: int, end: int) -> Iterator[Cut]:
    """Behind particles and where kana turn to kanji; never inside a run of katakana or kanji."""
    for match in _JAPANESE_CHANGE.finditer(text, start, end):
        position = match.start()
        if _JA_PARTICLE.match(text, max(start, position - 4), position):
            yield Cut(position, GOOD)
        elif text[position - 1] == "の":
            yield Cut(position, POOR)
        else:
            # Often the okurigana of one word before the next kanji of the same: a poor place.
            yield Cut(position, BAD)
