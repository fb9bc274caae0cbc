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
from jobs.numbers_en import cardinal, decimal, ordinal, year
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


@_rule(r"(?<![0-9A-Za-z/.])[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}(?![0-9A-Za-z/])", needs="/")
def _short_date(match: re.Match[str], order: DateOrder) -> str | None:
    first, second, last = match[0].split("/")
    found = parse_date(f"{first}/{second}/{'19' if last > '40' else '20'}{last}", order)
    return date(found) if found else None


_DAY_OF_A_YEAR = r"(?:1[0-2]|0?[1-9]|[12][0-9]|3[01])/(?:3[01]|[12][0-9]|0?[1-9])"
_NO_FRACTION = (
    r"(?![0-9A-Za-z/]|\.[0-9]|\s(?:of|an?|the|cups?|inch|inches|miles?|hours?|teaspoons?|tablespoons?|full|time|beat"
    r"|rhythm|scale|majority)\b)"
)


@_rule(
    rf"(?<![0-9A-Za-z/.])(?P<a>{_DAY_OF_A_YEAR})(?P<to>\s?(?:to|through|thru|until|and|{DASH})\s?)(?P<b>{_DAY_OF_A_YEAR}){_NO_FRACTION}",
    needs="/",
)
def _days_of_a_year(match: re.Match[str], order: DateOrder) -> str | None:
    """12/1 to 12/15; 1/2 to 3/4 are fractions."""
    first, second = _day_of_a_year(match["a"], order), _day_of_a_year(match["b"], order)
    if first is None or second is None or not (_is_day(match["a"]) or _is_day(match["b"])):
        return None
    word = match["to"].strip()
    return f"{date(first)} {word if word.isalpha() else 'to'} {date(second)}"


@_rule(
    r"\b(?P<strong>(?i:on|until|till|as of|due|dated|expir(?:es|ing)|starting|ends|Mon(?:day)?|Tue(?:s|sday)?"
    r"|Wed(?:nesday)?|Thu(?:rs|rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)|(?i:by|before|after|since|from|through|thru))[.,]{0,2}\s"
    rf"(?P<s>{_DAY_OF_A_YEAR}){_NO_FRACTION}",
    needs="/",
)
def _month_and_day(match: re.Match[str], order: DateOrder) -> str | None:
    """on 12/31, until 5/30; by 1/3 is a fraction, and so may be on 1/2."""
    weak = re.fullmatch("(?i:by|before|after|since|from|through|thru)", match["strong"]) is not None
    if match["s"] in ("9/11", "1/2", "1/3", "1/4") or (weak and not _is_day(match["s"])):
        return None
    found = _day_of_a_year(match["s"], order)
    return date(found) if found else None


def _day_of_a_year(written: str, order: DateOrder) -> Date | None:
    found = parse_date(f"{written}/2000", order)
    return Date(None, found.month, found.day) if found else None


def _is_day(written: str) -> bool:
    """Whether nobody would take it for a fraction."""
    top, bottom = (int(part) for part in written.split("/"))
    return max(top, bottom) > 12 and bottom not in (16, 20, 24, 25, 30)


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
    rf"(?<![0-9A-Za-z.])(?P<the>[Tt]he )?(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH_NAME}(?![A-Za-z])"
    r"(?:,?\s(?P<y>[12][0-9]{3}))?(?![0-9A-Za-z])"
)
def _day_month(match: re.Match[str], order: DateOrder) -> str | None:
    if not 1 <= int(match["d"]) <= 31 or (match["mon"] in ("Mar", "May", "Jun", "Sep") and not match["y"]):
        return None
    article = match["the"] or "the "
    spoken = f"{article}{ordinal(match['d'])} of {MONTHS[_MONTH[match['mon'][:3].lower()] - 1]}"
    return spoken + (f", {year(match['y'])}" if match["y"] else _stop(match))


@_rule(rf"\b{_MONTH_NAME}(?P<gap>,?\s)(?P<y>[12][0-9]{{3}})(?![0-9A-Za-z])")
def _month_year(match: re.Match[str], order: DateOrder) -> str:
    return f"{MONTHS[_MONTH[match['mon'][:3].lower()] - 1]} {year(match['y'])}"


def _stop(match: re.Match[str]) -> str:
    """The dot of `5 p.m.` or `Feb.` that ends a sentence as well."""
    following = after(match)
    ends = not following.strip() or (_NEXT_SENTENCE.match(following) and not _SAME_TIME.match(following))
    return "." if match[0].endswith(".") and ends else ""


_NEXT_SENTENCE = re.compile(r"[\"'”’)]*\s+[\"'“‘(]*[A-Z](?:[a-z'’]|\s)")
_SAME_TIME = re.compile(
    rf"\s(?:{'|'.join(name[:3] for name in MONTHS)}|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
    r"|Eastern|Pacific|Central|Mountain|Greenwich)"
)


_BOOKS = {
    "Gen": "Genesis", "Ex": "Exodus", "Exod": "Exodus", "Lev": "Leviticus", "Num": "Numbers", "Deut": "Deuteronomy",
    "Ps": "Psalm", "Prov": "Proverbs", "Eccl": "Ecclesiastes", "Isa": "Isaiah", "Jer": "Jeremiah", "Ezek": "Ezekiel",
    "Dan": "Daniel", "Matt": "Matthew", "Rom": "Romans", "Cor": "Corinthians", "Gal": "Galatians",
    "Eph": "Ephesians", "Phil": "Philippians", "Col": "Colossians", "Thess": "Thessalonians", "Tim": "Timothy",
    "Heb": "Hebrews", "Jas": "James", "Pet": "Peter", "Rev": "Revelation",
}  # fmt: skip
_MORE_BOOKS = (
    "Genesis|Exodus|Leviticus|Numbers|Deuteronomy|Joshua|Judges|Ruth|Samuel|Kings|Chronicles|Ezra|Nehemiah|Esther|Job"
    "|Psalms?|Proverbs|Ecclesiastes|Isaiah|Jeremiah|Lamentations|Ezekiel|Daniel|Hosea|Joel|Amos|Jonah|Micah|Habakkuk"
    "|Zechariah|Malachi|Matthew|Mark|Luke|John|Acts|Romans|Corinthians|Galatians|Ephesians|Philippians|Colossians"
    "|Thessalonians|Timothy|Titus|Hebrews|James|Peter|Jude|Revelation"
)


@_rule(
    rf"\b(?:(?P<short>{'|'.join(_BOOKS)})\.|(?P<book>{_MORE_BOOKS}))\s(?P<c>[0-9]{{1,3}}):(?P<v>[0-9]{{1,3}})"
    rf"(?:\s?{DASH}\s?(?P<w>[0-9]{{1,3}}))?(?![0-9:]|\s?[AaPp]\.?[Mm])",
    needs="[0-9]:[0-9]",
)
def _verse(match: re.Match[str], order: DateOrder) -> str:
    """Psalm 23:4, Gen. 1:1-3: chapter and verse, neither a ratio nor a time."""
    last = f" to {cardinal(match['w'])}" if match["w"] else ""
    verse = f"oh {cardinal(match['v'])}" if match["v"][0] == "0" else cardinal(match["v"])
    return f"{match['book'] or _BOOKS[match['short']]} {cardinal(match['c'])} {verse}{last}"


@_rule(r"(?<![0-9A-Za-z:.])(?P<h>[01]?[0-9]|2[0-3]):?(?P<m>[0-5][0-9])\s?(?:hrs\b\.?|hours\b)", needs="h(?:rs|ours)")
def _hundred_hours(match: re.Match[str], order: DateOrder) -> str | None:
    if ":" not in match[0] and len(match["h"]) < 2:
        return None  # 500 hours is how long
    if ":" not in match[0] and not match["h"].startswith("0") and match["m"] == "00" and "hours" in match[0]:
        return None
    hour = f"{'zero ' if len(match['h']) == 2 and match['h'][0] == '0' else ''}{cardinal(match['h'])}"
    minute = "hundred" if match["m"] == "00" else f"{'oh ' if match['m'][0] == '0' else ''}{cardinal(match['m'])}"
    return f"{hour} {minute} hours{_stop(match)}"


_CLOCK_2 = CLOCK.pattern.replace("([0", "(?:[0").replace("([A", "(?:[A")


@_rule(rf"{FREE}(?P<a>{CLOCK.pattern})(?:\s?{DASH}{{1,2}}\s?(?P<b>{_CLOCK_2}))?(?![0-9:])", needs="[0-9]:[0-9]")
def _clock(match: re.Match[str], order: DateOrder) -> str | None:
    first, second = parse_clock(match["a"]), parse_clock(match["b"]) if match["b"] else None
    if first is None or (match["b"] and second is None):
        return None
    tail = _stop(match)
    return clock(first) + (f" to {clock(second)}" if second else "") + tail


@_rule(
    rf"{FREE}(?P<a>[0-9]{{1,2}})(?:\s?(?P<h1>[AaPp])\.?[Mm]\.?)?(?:\s?{DASH}\s?(?P<b>[0-9]{{1,2}}))?\s?(?P<h>[AaPp])(?:\.[Mm]\.|[Mm]\b)"
    rf"|{FREE}(?P<lone>[0-9]{{1,2}})\s?(?P<h2>[AaPp])(?:\.[Mm]\.|[Mm]\b)",
    needs="[mM]",
)
def _hour(match: re.Match[str], order: DateOrder) -> str | None:
    """9 am, 9-11 am, 9am-5pm."""
    if match["lone"]:
        return f"{cardinal(match['lone'])} {match['h2'].upper()} M{_stop(match)}" if int(match["lone"]) <= 12 else None
    if int(match["a"]) > 12 or (match["h1"] and not match["b"]):
        return None
    first = cardinal(match["a"]) + (f" {match['h1'].upper()} M" if match["h1"] else "")
    hours = f"{first} to {cardinal(match['b'])}" if match["b"] else first
    tail = _stop(match)
    return f"{hours} {match['h'].upper()} M{tail}"


@_rule(rf"{FREE}(?P<h>1[0-2]|[1-9])\.(?P<m>[0-5][0-9])\s?(?P<half>[AaPp])(?:\.[Mm]\.|[Mm]\b)", needs="[mM]")
def _dotted_clock(match: re.Match[str], order: DateOrder) -> str | None:
    """6.30 p.m."""
    found = parse_clock(f"{match['h']}:{match['m']} {match['half']}m")
    return clock(found) + _stop(match) if found else None


_DAY_NAME = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun|January|February|"
    r"March|April|June|July|August|September|October|November|December)"
)


_SHORT_DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday",
    "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_SHORT_DAY = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"


@_rule(rf"\b(?P<a>{_SHORT_DAY})\.?(?P<gap>\s?{DASH}\s?)(?P<b>{_SHORT_DAY})(?![A-Za-z])(?:\.(?=\s[0-9]))?", needs=DASH)
def _opening_days(match: re.Match[str], order: DateOrder) -> str:
    return f"{_SHORT_DAYS[match['a']]} to {_SHORT_DAYS[match['b']]}"


@_rule(
    rf"\b(?P<a>{_SHORT_DAY})\.?(?=,? (?:[0-9]{{1,2}}(?:[:.][0-9]{{2}}|\s?{DASH}|\s?[ap]\.?m)|\ue000))",
    needs="[0-9\\ue000]",
)
def _opening_day(match: re.Match[str], order: DateOrder) -> str:
    return _SHORT_DAYS[match["a"]]


@_rule(r"\b(?:Sat|Sun)\.(?=\s*(?:[,;&)]|and\b|$))", needs="S")
def _weekend(match: re.Match[str], order: DateOrder) -> str:
    return _SHORT_DAYS[match[0][:3]] + ("" if after(match).strip() else ".")


@_rule(rf"\b{_DAY_NAME}(?P<s>\s?[-–—]\s?)(?={_DAY_NAME}\b)", needs="[-–—]")
def _days(match: re.Match[str], order: DateOrder) -> str:
    return " to "


@_rule(
    rf"{FREE}(?P<a>[0-9]{{1,4}}(?:\.[0-9]{{1,6}})?):(?P<b>[0-9]{{1,4}}(?:\.[0-9]{{1,6}})?)(?![0-9:])",
    needs="[0-9]:[0-9]",
)
def _ratio(match: re.Match[str], order: DateOrder) -> str:
    """16:9, 1:7.1."""
    return f"{decimal(match['a'])} to {decimal(match['b'])}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
