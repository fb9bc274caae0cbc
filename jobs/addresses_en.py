"""House numbers in English text, said in pairs: 1805 Main Street, 350 5th Ave."""

from __future__ import annotations

import re

from jobs.forms import DateOrder
from jobs.numbers_en import cardinal, digits, year
from jobs.rules import Rule, RuleBook

_book = RuleBook()
_rule = _book.add

_STREET = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Drive|Dr|Lane|Ln|Court|Ct|Place|Pl|Way|Terrace|Parkway|Pkwy|Square|Sq"
    "|Circle|Crescent|Highway|Hwy|Row|Quay|Close|Gardens|Alley|Plaza|Mews"
)
_SIDES = {"N": "North", "S": "South", "E": "East", "W": "West"}


_SHORT = {
    "Ln": "Lane", "Ct": "Court", "Pl": "Place", "Pkwy": "Parkway", "Hwy": "Highway", "Sq": "Square", "Rd": "Road",
    "Ave": "Avenue", "Blvd": "Boulevard", "St": "Street", "Dr": "Drive",
}  # fmt: skip


@_rule(
    r"(?<![0-9A-Za-z])[1-9][0-9]{0,4}[A-D]?\s(?:[NSEW]\.?\s)?(?:[A-Z][a-z'’]+\s){1,3}(?P<s>(?:Ln|Ct|Pl|Pkwy|Hwy|Sq)\b"
    r"(?:\.(?=\s*[,;a-z0-9]))?|(?:Rd|Ave|Blvd|St|Dr)\b(?!\.))",
    needs="(?:Ln|Ct|Pl|Pkwy|Hwy|Sq|Rd|Ave|Blvd|St|Dr)\\b",
)
def _street(match: re.Match[str], order: DateOrder) -> str:
    return _SHORT[match["s"].rstrip(".")]


@_rule(
    r"(?<![0-9A-Za-z.,:/$£€#-])(?P<s>(?P<n>[1-9][0-9]{0,4})(?P<l>[A-D])?(?:\s(?P<side>[NSEW])\b\.?)?)"
    r"(?=\s(?:(?:[A-Z][a-z'’]+\.?|[0-9]{1,3}(?:st|nd|rd|th))\s){1,3}"
    rf"(?:(?:{_STREET})\b|\ue000))",
    needs=f"(?:{_STREET})\\b|\ue000",
)
def _house(match: re.Match[str], order: DateOrder) -> str | None:
    if len(match["n"]) < 3 and not match["l"] and not match["side"]:
        return None  # said as any number, and it may be the day of a month
    side = f" {_SIDES[match['side']]}" if match["side"] else ""
    return house_number(match["n"]) + (f" {match['l']}" if match["l"] else "") + side


def house_number(written: str) -> str:
    """742 -> seven forty-two; 105 -> one oh five; 1805 -> eighteen oh five; 10250 digit by digit."""
    if len(written) < 3 or written.endswith("000") or (len(written) == 3 and written.endswith("00")):
        return cardinal(written)
    if len(written) == 3:
        return f"{cardinal(written[0])} {'oh ' if written[1] == '0' else ''}{cardinal(written[1:])}"
    return year(written) if len(written) == 4 else digits(written)


RULES: tuple[Rule, ...] = tuple(_book.rules)
