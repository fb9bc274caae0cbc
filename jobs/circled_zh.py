"""Circled numbers in Chinese text: marks of a list with their pauses (①请按1②请按2), or numbers (见图①)."""

from __future__ import annotations

import re
from functools import lru_cache

from jobs.forms import DateOrder
from jobs.language import HAN
from jobs.numbers_zh import cardinal
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add

_CIRCLES = frozenset(
    chr(code)
    for first, many in (("①", 20), ("❶", 10), ("➀", 10), ("㈠", 10), ("⑴", 10))
    for code in range(ord(first), ord(first) + many)
)


@_rule(r"[①-⑳❶-❿➀-➉㈠-㈩⑴-⑽]", needs="[①-⑳❶-❿➀-➉㈠-㈩⑴-⑽]")
def _circled(match: re.Match[str], order: DateOrder) -> str:
    value = _circled_value(match[0])
    if not value:
        return match[0]
    spoken = cardinal(str(value))
    preceding, following = before(match, 1), after(match, 1)
    if (
        not _is_list(match.string)
        or not re.match(rf"[{HAN}A-Za-z]", following)
        or following in _JOINING
        or preceding in _JOINED
    ):
        return spoken
    # ①请按1②请按2: marks of a list, each with its pauses.
    return ("，" if preceding and preceding not in "，。；：、,;: " else "") + spoken + "，"


_JOINING = tuple("和与及或到至、项步点条款种类者所之的是")
_JOINED = tuple("图表式例第步骤和与及或到至、见按选")


@lru_cache(4)
def _is_list(line: str) -> bool:
    """Several circled numbers that rise."""
    values = [_circled_value(char) for char in line if char in _CIRCLES]
    return len(values) > 1 and values == sorted(set(values))


def _circled_value(char: str) -> int:
    for first in "①❶➀㈠⑴":
        offset = ord(char) - ord(first)
        if 0 <= offset < (20 if first == "①" else 10):
            return offset + 1
    return 0


RULES: tuple[Rule, ...] = tuple(_book.rules)
