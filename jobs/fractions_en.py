"""Numbers with a stroke between them in English text: fractions, marks, odds, blood pressure, so much a day."""

from __future__ import annotations

import re

from jobs.amounts_en import UNIT, UNITS, per_unit
from jobs.forms import FREE, NUMBER, DateOrder
from jobs.numbers_en import cardinal, decimal, digits, ordinal
from jobs.rules import Rule, RuleBook, before

_book = RuleBook()
_rule = _book.add


@_rule(rf"{FREE}(?P<a>[0-9]{{2,3}})/(?P<b>[0-9]{{2,3}})(?:\s?(?P<u>mmHg|mm Hg))?(?![0-9/A-Za-z])", needs="/")
def _blood_pressure(match: re.Match[str], order: DateOrder) -> str | None:
    if not match["u"] and not re.search(r"(?i)(?:blood pressure|\bBP)[^0-9.]{0,12}$", before(match, 30)):
        return None
    unit = " millimeters of mercury" if match["u"] else ""
    return f"{cardinal(match['a'])} over {cardinal(match['b'])}{unit}"


@_rule(r"(?<![0-9A-Za-z/.])(?P<s>(?P<a>0[0-9])/(?P<b>[0-9]{2}))(?![0-9/])", needs="0[0-9]/")
def _month_of_a_card(match: re.Match[str], order: DateOrder) -> str:
    """exp. 09/27: no fraction starts with a zero."""
    return f"{digits(match['a'])}, {cardinal(match['b']) if match['b'][0] != '0' else digits(match['b'])}"


@_rule(r"(?<![0-9/.])(?P<s>(?P<a>[2-9]|12)/(?P<b>2|4|8|16))(?=\s(?:time|beat|rhythm)\b)", needs="/")
def _metre(match: re.Match[str], order: DateOrder) -> str:
    """A waltz in 3/4 time."""
    return f"{cardinal(match['a'])} {cardinal(match['b'])}"


@_rule(rf"{FREE}(?P<a>{NUMBER})/(?P<b>[0-9]{{1,3}})(?![0-9/A-Za-z]|\.[0-9])", needs="/")
def _marks(match: re.Match[str], order: DateOrder) -> str | None:
    """9.5/10 and 10/10 are marks out of ten."""
    if "." not in match["a"] and (match["a"] != match["b"] or match["a"] == "50"):
        return None
    return f"{decimal(match['a'])} out of {cardinal(match['b'])}"


@_rule(
    r"\b(?i:odds(?: are| of| at|:)?) (?P<s>(?P<a>[0-9]{1,3})/(?P<b>[0-9]{1,3}))(?![0-9/])"
    r"|(?<![0-9/.])(?P<t>50[-–/]50)(?![0-9/-])"
)
def _odds(match: re.Match[str], order: DateOrder) -> str:
    return "fifty fifty" if match["t"] else f"{cardinal(match['a'])} to {cardinal(match['b'])}"


@_rule(
    rf"{FREE}(?P<a>{NUMBER})/(?P<per>day|night|week|month|mo|year|yr|hour|hr|min|person|dose|item|page)\b", needs="/"
)
def _per_day(match: re.Match[str], order: DateOrder) -> str:
    """max 8/day."""
    return f"{decimal(match['a'])} per {per_unit(match['per'])}"


@_rule(
    r"(?<![0-9A-Za-z.,])(?:(?P<w>[0-9]{1,4})[ -])?(?P<a>[0-9]{1,3})/(?P<b>[1-9][0-9]{0,3})(?:th|ths)?(?![0-9/.A-Za-z])"
    rf"(?:\s(?P<u>{UNIT})(?![A-Za-z0-9])(?:\.(?=\s[a-z]|[,;:)]))?)?",
    needs="/",
)
def _fraction(match: re.Match[str], order: DateOrder) -> str | None:
    if match[0] in ("24/7", "9/11"):
        return None
    spoken = _fraction_words(match["a"], match["b"], bool(match["w"]))
    return _measured(match, f"{cardinal(match['w'])} and {spoken}" if match["w"] else spoken)


def _measured(match: re.Match[str], spoken: str) -> str:
    """With its unit: two and a half pounds, one half of an ounce."""
    if not match["u"]:
        return spoken
    one, many = UNITS[match["u"]]
    return f"{spoken} {many}" if match["w"] else f"{spoken} of {'an' if one[0] in 'aeiou' else 'a'} {one}"


@_rule(r"(?<![0-9A-Za-z/.])(?P<a>24/7|9/11)(?![0-9/])")
def _idiom(match: re.Match[str], order: DateOrder) -> str:
    return " ".join(cardinal(part) for part in match[0].split("/"))


def _fraction_words(top: str, bottom: str, after_whole: bool = False) -> str:
    many = int(top) != 1
    name = {"2": "halves" if many else "half", "4": "quarters" if many else "quarter"}.get(bottom)
    if name is None:
        name = ordinal(bottom) + ("s" if many else "")
    return f"{'a' if after_whole and not many else cardinal(top)} {name}"


@_rule(
    rf"(?P<w>[0-9]+)?\s?(?P<f>[½⅓⅔¼¾⅛])(?:\s?(?P<u>{UNIT})(?![A-Za-z0-9])(?:\.(?=\s[a-z]|[,;:)]))?)?",
    needs="[½⅓⅔¼¾⅛]",
)
def _vulgar(match: re.Match[str], order: DateOrder) -> str:
    top, bottom = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅛": (1, 8)}[match["f"]]
    spoken = _fraction_words(str(top), str(bottom), bool(match["w"]))
    return _measured(match, f"{cardinal(match['w'])} and {spoken}" if match["w"] else spoken)


RULES: tuple[Rule, ...] = tuple(_book.rules)
