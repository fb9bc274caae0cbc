"""The shape of a normalisation rule: a pattern, and what to say for a match. Rules of a language run in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from jobs.forms import EMAIL, IP, MAC, URL, VERSION, DateOrder, parse_date

_compiled = lru_cache(maxsize=None)(re.compile)

Say = Callable[[re.Match[str], DateOrder], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`say` gets a match and gives the words for its group `s` (else for all of it), or None to leave it alone."""

    pattern: str | re.Pattern[str]
    """Compiled when a line first needs it: most runs need few of them."""
    say: Say
    needs: re.Pattern[str] | None
    """A line without this cannot match; spares most lines most rules."""

    def matches(self, line: str) -> Iterator[re.Match[str]]:
        return _compiled(self.pattern).finditer(line)

    def worth(self, line: str) -> bool:
        return self.needs is None or self.needs.search(line) is not None

    def read(self, match: re.Match[str], order: DateOrder) -> tuple[int, int, str] | None:
        spoken = self.say(match, order)
        if spoken is None:
            return None
        narrowed = "s" in match.re.groupindex and match["s"] is not None
        start, end = match.span("s") if narrowed else match.span()
        return start, end, spoken


def before(match: re.Match[str], chars: int = 8) -> str:
    """The text just before a match; bounded, so that long lines stay linear."""
    return match.string[max(0, match.start() - chars) : match.start()]


def after(match: re.Match[str], chars: int = 16) -> str:
    """The text just after a match."""
    return match.string[match.end() : match.end() + chars]


class RuleBook:
    """Collects rules in the order in which they are written."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def add(self, pattern: str | re.Pattern[str], needs: str | None = "[0-9]") -> Callable[[Say], Say]:
        def register(say: Say) -> Say:
            self.rules.append(Rule(pattern, say, _compiled(needs) if needs else None))
            return say

        return register


def address_rules(address: Callable[[str], str], ip: Callable[[str], str], mac: Callable[[str], str]) -> list[Rule]:
    """URLs, e-mail addresses, IP addresses, and addresses of network cards."""
    return [
        Rule(EMAIL, lambda match, order: address(match[0]), re.compile("@")),
        Rule(URL, lambda match, order: address(match[0]), re.compile(r"[A-Za-z0-9]\.[A-Za-z]|://")),
        Rule(IP, lambda match, order: ip(match[0]) if _is_ip(match[0]) else None, re.compile("[0-9]")),
        Rule(MAC, lambda match, order: mac(match[0]), re.compile("[:-]")),
    ]


def version_rule(say: Callable[[str], str]) -> Rule:
    """2.10.3, unless it is a date such as 2024.12.31 or 31.12.2024."""

    def read(match: re.Match[str], order: DateOrder) -> str | None:
        return None if parse_date(match[0], order) else say(match[0])

    return Rule(VERSION, read, re.compile(r"[0-9]\.[0-9]"))


def _is_ip(written: str) -> bool:
    return all(int(part) <= 255 for part in written.split("."))
