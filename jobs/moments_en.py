"""Dates, times and ratios in English text."""

from __future__ import annotations

import re

from jobs.forms import (
    CLOCK,
    DASH,
    DATE,
    FREE,
    Date,
    DateOrder,
    parse_clock,
    parse_date,
)
from jobs.numbers_en import cardinal, ordinal, year
from jobs.readings_en import MONTHS, clock, date
from jobs.rules import Rule, RuleBook, after

_book = RuleBook()
_rule = _book.add

_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_MONTH_NAME = (
    r"(?P<mon>Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|"
    r"Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)


@_rule(r"(?<![0-9A-Za-z])(?P<s>[0-9]{4}-[0-9]{2}-[0-9]{2}T)(?=[0-9]{2}:)")
def _iso_day(match: re.Match[str], order: DateOrder) -> str | None:
    found = parse_date(match["s"][:-1])
    return f"{date(found)}, " if found else None


@_rule(DATE)
def _date(match: re.Match[str], order: DateOrder) -> str | None:
    found = parse_date(match[0], order)
    return date(found) if found else None


@_rule(
    rf"\b{_MONTH_NAME}\s(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:\s?{DASH}\s?(?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?)?(?:,?\s(?P<y>[12][0-9]{{3}}))?(?![0-9A-Za-z]|:[0-9])"
)
def _month_day(match: re.Match[str], order: DateOrder) -> str | None:
    if not 1 <= int(match["d"]) <= 31:
        return None
    month = _MONTH[match["mon"][:3].lower()]
    last = f" to {ordinal(match['d2'])}" if match["d2"] else ""
    return date(Date(None, month, int(match["d"]))) + last + (f", {year(match['y'])}" if match["y"] else "")


@_rule(
    rf"(?<![0-9A-Za-z.])(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH_NAME}(?![A-Za-z])(?:,?\s(?P<y>[12][0-9]{{3}}))?(?![0-9A-Za-z])"
)
def _day_month(match: re.Match[str], order: DateOrder) -> str | None:
    if not 1 <= int(match["d"]) <= 31 or (match["mon"] in ("Mar", "May", "Jun", "Sep") and not match["y"]):
        return None
    spoken = f"the {ordinal(match['d'])} of {MONTHS[_MONTH[match['mon'][:3].lower()] - 1]}"
    return spoken + (f", {year(match['y'])}" if match["y"] else "")


@_rule(rf"\b{_MONTH_NAME}(?P<gap>,?\s)(?P<y>[12][0-9]{{3}})(?![0-9A-Za-z])")
def _month_year(match: re.Match[str], order: DateOrder) -> str:
    return f"{MONTHS[_MONTH[match['mon'][:3].lower()] - 1]} {year(match['y'])}"


_CLOCK_2 = CLOCK.pattern.replace("([0", "(?:[0").replace("([A", "(?:[A")


@_rule(rf"{FREE}(?P<a>{CLOCK.pattern})(?:\s?{DASH}{{1,2}}\s?(?P<b>{_CLOCK_2}))?(?![0-9:])", needs="[0-9]:[0-9]")
def _clock(match: re.Match[str], order: DateOrder) -> str | None:
    first, second = parse_clock(match["a"]), parse_clock(match["b"]) if match["b"] else None
    if first is None or (match["b"] and second is None):
        return None
    tail = "." if match[0].endswith(".") and not after(match).strip() else ""
    return clock(first) + (f" to {clock(second)}" if second else "") + tail


@_rule(
    rf"{FREE}(?P<a>[0-9]{{1,2}})(?:\s?(?P<h1>[AaPp])\.?[Mm]\.?)?(?:\s?{DASH}\s?(?P<b>[0-9]{{1,2}}))?\s?(?P<h>[AaPp])(?:\.[Mm]\.|[Mm]\b)"
    rf"|{FREE}(?P<lone>[0-9]{{1,2}})\s?(?P<h2>[AaPp])(?:\.[Mm]\.|[Mm]\b)",
    needs="[mM]",
)
def _hour(match: re.Match[str], order: DateOrder) -> str | None:
    """9 am, 9-11 am, 9am-5pm."""
    if match["lone"]:
        return f"{cardinal(match['lone'])} {match['h2'].upper()} M" if int(match["lone"]) <= 12 else None
    if int(match["a"]) > 12 or (match["h1"] and not match["b"]):
        return None
    first = cardinal(match["a"]) + (f" {match['h1'].upper()} M" if match["h1"] else "")
    hours = f"{first} to {cardinal(match['b'])}" if match["b"] else first
    tail = "." if match[0].endswith(".") and not after(match).strip() else ""
    return f"{hours} {match['h'].upper()} M{tail}"


_DAY_NAME = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun|January|February|"
    r"March|April|June|July|August|September|October|November|December)"
)


@_rule(rf"\b{_DAY_NAME}(?P<s>\s?[-–—]\s?)(?={_DAY_NAME}\b)", needs="[-–—]")
def _days(match: re.Match[str], order: DateOrder) -> str:
    return " to "


@_rule(rf"{FREE}(?P<a>[0-9]{{1,4}}):(?P<b>[0-9]{{1,4}})(?![0-9:])", needs="[0-9]:[0-9]")
def _ratio(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])} to {cardinal(match['b'])}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
