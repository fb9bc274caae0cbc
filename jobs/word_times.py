"""When each written word is said: a recogniser aligns the text of finished segments with their sound.

No engine here tells times of words, so these are a model's, true to about a tenth of a second; starts and stops of
segments stay those that were measured, and every word lies within its segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from jobs.measure import CLOSERS, HAN, HIRAGANA, KATAKANA, OPENERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jobs.finished_items import Finished
    from jobs.recogniser import Recogniser
    from jobs.subtitles import Line

LONGEST_S = 28.0
"""Neighbouring segments up to this long together are aligned at once: the model always looks at 30 s."""
MARGIN_S = 0.15
SHORTEST_S = 0.02
_ALONE = HAN + HIRAGANA + KATAKANA
_WORD = re.compile(rf"[{_ALONE}]|(?:(?![{_ALONE}])[^\W_])+(?:['’.,:/-](?:(?![{_ALONE}])[^\W_])+)*")
_HIDDEN = re.compile(r"<[^<>]*>|\[[^\[\]]*:|&#?\w{1,32};")
"""Marks and entities of a row's text: no word of a segment is looked for in them."""
_BESIDE_WORDS = re.compile("[" + re.escape(OPENERS + CLOSERS) + "\"]|(?<!\\w)['’]|['’](?!\\w)")
"""Quotation marks and brackets make no sound, yet the model gives them time of the words beside them."""
_WITHOUT_SPACES = ("zh", "yue", "ja", "th", "lo", "my")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or one character of a script without spaces."""

    text: str
    start_s: float
    stop_s: float
    source_start: int | None
    """Offsets in characters of the row's text, end excluded; None where it is written otherwise there."""
    source_stop: int | None

    def moved(self, offset_s: float) -> Word:
        return replace(self, start_s=self.start_s + offset_s, stop_s=self.stop_s + offset_s)


class Listener:
    """Finds the words of items by ear."""

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser

    def listened(self, item: Finished, lines: Sequence[Line]) -> tuple[Line, ...]:
        """The item's lines with their words; without, where the sound and the text could not be aligned."""
        groups = list(_groups(lines))
        heard: list[Line] = []
        for group, samples in zip(groups, _windows(item, groups), strict=True):
            heard += self._aligned(item, group, samples)
        return tuple(heard)

    def _aligned(self, item: Finished, group: Sequence[Line], samples: NDArray[np.float32]) -> Iterator[Line]:
        language = group[0].language.split("-")[0].lower()
        joint = "" if language in _WITHOUT_SPACES else " "
        texts = [joint + _BESIDE_WORDS.sub("", " ".join(line.text.split())) for line in group]
        pieces = self._recogniser.align(samples, item.rate_hz, "".join(texts), language)
        begins_s = max(0.0, group[0].start_s - MARGIN_S)
        times = [begins_s + at for piece, start, stop in pieces for at in _shares(piece, start, stop)]
        times.append(begins_s + pieces[-1][2] if pieces else 0.0)
        first = 0
        for line, text in zip(group, texts, strict=True):
            yield with_words(line, tuple(_words(line, text, times[first:], item.text))) if pieces else line
            first += len(text)


def with_words(line: Line, words: tuple[Word, ...]) -> Line:
    """The line with its words; its cues start and stop with the words in them, not at shares of its length."""
    cues, at = [], 0
    for number, cue in enumerate(line.cues):
        first, letters = at, sum(char.isalnum() for part in cue.lines for char in part)
        while at < len(words) and letters > 0:
            letters -= sum(char.isalnum() for char in words[at].text)
            at += 1
        if at == first:
            return replace(line, words=words)
        starts_s = line.start_s if number == 0 else words[first].start_s
        cues.append(replace(cue, start_s=starts_s, stop_s=words[at - 1].stop_s))
    cues[-1:] = [replace(cue, stop_s=line.stop_s) for cue in cues[-1:]]
    return replace(line, words=words, cues=tuple(cues))


def _shares(piece: str, start_s: float, stop_s: float) -> list[float]:
    """When each character of a piece starts."""
    return [start_s + (stop_s - start_s) * number / len(piece) for number in range(len(piece))]


def _words(line: Line, text: str, starts_s: Sequence[float], source: str) -> Iterator[Word]:
    """`starts_s` has one time for each character of the text, and one more."""
    plain = _HIDDEN.sub(lambda found: " " * len(found[0]), source[: line.source_stop])
    at = line.source_start
    found = list(_WORD.finditer(text))
    for word, (start_s, stop_s) in zip(found, _spans_s(line, found, starts_s), strict=True):
        place = plain.find(word[0], at)
        at = at if place < 0 else place + len(word[0])
        yield Word(word[0], start_s, stop_s, *((None, None) if place < 0 else (place, at)))


def _spans_s(line: Line, words: Sequence[re.Match[str]], starts_s: Sequence[float]) -> list[tuple[float, float]]:
    """Start and stop of each word: in order, inside the segment, the first and the last where it starts and stops."""
    edges = [min(max(starts_s[at], line.start_s), line.stop_s) for word in words for at in word.span()]
    edges[:1], edges[-1:] = [line.start_s], [line.stop_s]
    edges = list(accumulate(edges, max))
    for number in range(1, len(edges) - 2, 2):
        if edges[number] - edges[number - 1] < SHORTEST_S:  # no time was found for it: it takes half of the next one's
            edges[number] = edges[number + 1] = (edges[number - 1] + edges[number + 2]) / 2
    return list(zip(edges[::2], edges[1::2], strict=True))


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Neighbours of one language that fit one look together; a line that is too long by itself is alone."""
    group: list[Line] = []
    for line in lines:
        fits = group and line.language == group[0].language and line.stop_s - group[0].start_s <= LONGEST_S
        if group and not fits:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _windows(item: Finished, groups: Sequence[Sequence[Line]]) -> Iterator[NDArray[np.float32]]:
    """The samples of each group, with a little before and after; the file is read once."""
    import numpy as np

    from jobs.assembly_signal import decoded

    blocks = decoded(item)
    held, begins = np.zeros(0, np.float32), 0
    for group in groups:
        start = max(0, round((group[0].start_s - MARGIN_S) * item.rate_hz))
        stop = round((group[-1].stop_s + MARGIN_S) * item.rate_hz)
        parts = [held]
        while begins + sum(map(len, parts)) < stop and (block := next(blocks, None)) is not None:
            parts.append(block)
        held = np.concatenate(parts)
        held, begins = held[max(0, start - begins) :], max(begins, start)
        yield held[: stop - start]
