"""Amounts in English text: percent, units, powers."""

from __future__ import annotations

import re
from functools import lru_cache

from jobs.attributive_en import counts_as_adjective
from jobs.forms import (
    DASH,
    FREE,
    NUMBER,
    DateOrder,
)
from jobs.numbers_en import cardinal, decade, decimal, digits
from jobs.readings_en import SCALES
from jobs.rules import Rule, RuleBook, after

_book = RuleBook()
_rule = _book.add

MINUS = r"(?:(?<![0-9A-Za-z)%\]])[-−])"
UNITS: dict[str, tuple[str, str]] = {
    "km/h": ("kilometer per hour", "kilometers per hour"), "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"), "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"), "mm": ("millimeter", "millimeters"), "m": ("meter", "meters"),
    "kg": ("kilogram", "kilograms"), "mg": ("milligram", "milligrams"), "g": ("gram", "grams"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"), "ft": ("foot", "feet"),
    "mi": ("mile", "miles"), "yd": ("yard", "yards"), "yds": ("yard", "yards"),
    "ozs": ("ounce", "ounces"), "cwt": ("hundredweight", "hundredweight"), "ml": ("milliliter", "milliliters"),
    "mL": ("milliliter", "milliliters"), "L": ("liter", "liters"), "l": ("liter", "liters"),
    "°C": ("degree Celsius", "degrees Celsius"), "℃": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"), "℉": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"), "kW": ("kilowatt", "kilowatts"), "kWh": ("kilowatt hour", "kilowatt hours"),
    "W": ("watt", "watts"), "V": ("volt", "volts"), "mAh": ("milliamp hour", "milliamp hours"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"), "dB": ("decibel", "decibels"), "KB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"), "GB": ("gigabyte", "gigabytes"), "TB": ("terabyte", "terabytes"),
    "Mbps": ("megabit per second", "megabits per second"), "hrs": ("hour", "hours"), "hr": ("hour", "hours"),
    "h": ("hour", "hours"), "min": ("minute", "minutes"), "mins": ("minute", "minutes"),
    "sec": ("second", "seconds"), "secs": ("second", "seconds"), "s": ("second", "seconds"),
    "ms": ("millisecond", "milliseconds"), "m²": ("square meter", "square meters"),
    "km²": ("square kilometer", "square kilometers"), "ft²": ("square foot", "square feet"),
    "m³": ("cubic meter", "cubic meters"), "mmHg": ("millimeter of mercury", "millimeters of mercury"),
    "kcal": ("kilocalorie", "kilocalories"), "kPa": ("kilopascal", "kilopascals"), "px": ("pixel", "pixels"),
    "yr": ("year", "years"), "yrs": ("year", "years"), "wk": ("week", "weeks"), "wks": ("week", "weeks"),
    "mos": ("month", "months"), "pts": ("point", "points"),
    "° C": ("degree Celsius", "degrees Celsius"), "° F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "rpm": ("R P M", "R P M"), "bpm": ("beat per minute", "beats per minute"),
}  # fmt: skip
UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
SCALE = "thousand|million|billion|trillion|hundred"


def per_unit(unit: str) -> str:
    short = {
        "mo": "month",
        "yr": "year",
        "hr": "hour",
        "wk": "week",
        "pp": "person",
        "ea": "each",
        "day": "day",
        "month": "month",
    }
    return short.get(unit) or (UNITS[unit][0] if unit in UNITS else unit)


@_rule(
    rf"(?P<neg>{MINUS}|(?<![0-9A-Za-z])[+±])?(?:{FREE}(?P<a>{NUMBER})%?\s?{DASH}{{1,2}}\s?)?(?<![0-9])(?P<b>{NUMBER}|\.[0-9]+)\s?(?P<p>[%‰])"
    r"(?:/(?P<per>day|wk|week|mo|month|yr|year|night|hr|hour)\b(?:\.(?=\s[a-z]|[,;:)]))?)?",
    needs="[%‰]",
)
def _percent(match: re.Match[str], order: DateOrder) -> str:
    name = "percent" if match["p"] == "%" else "per mille"
    first = f"{decimal(match['a'])} to " if match["a"] else ""
    per = f" per {per_unit(match['per'])}" if match["per"] else ""
    return f"{sign_word(match['neg'])}{first}{decimal(match['b'])} {name}{per}"


def sign_word(sign: str | None) -> str:
    return {"-": "minus ", "−": "minus ", "+": "plus ", "±": "plus or minus "}.get(sign or "", "")


_WINDS = {"N": "north", "S": "south", "E": "east", "W": "west"}


@_rule(
    r"(?<![0-9A-Za-z.])(?P<d>[0-9]{1,3}(?:\.[0-9]+)?)°\s?(?:(?P<m>[0-9]{1,2})['′’]\s?(?:(?P<s1>[0-9]{1,2})[\"″”]\s?)?)?"
    r"(?P<w>[NSEW])\b(?:\.(?=\s[a-z]|[,;:)]))?",
    needs="°",
)
def _position(match: re.Match[str], order: DateOrder) -> str:
    """12° 30' N."""
    parts = [f"{decimal(match['d'])} {'degree' if match['d'] == '1' else 'degrees'}"]
    for name, unit in (("m", "minute"), ("s1", "second")):
        if match[name]:
            parts.append(f"{cardinal(match[name])} {unit}{'' if int(match[name]) == 1 else 's'}")
    return f"{' '.join(parts)} {_WINDS[match['w']]}"


@_rule(r"(?<![0-9A-Za-z])(?P<ft>[0-9]{1,2})['′](?P<in>[0-9]{1,2})[\"″]", needs="['′]")
def _height(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['ft'])} feet {cardinal(match['in'])} {'inch' if match['in'] == '1' else 'inches'}"


_INCHES = r"[0-9]{1,3}(?:\.[0-9]{1,3})?"


@_rule(
    rf"{FREE}(?P<a>{_INCHES})[\"″]?\s?[x×]\s?(?P<b>{_INCHES})[\"″](?:\s?[x×]\s?(?P<c>{_INCHES})[\"″])?", needs='["″]'
)
def _dimensions(match: re.Match[str], order: DateOrder) -> str:
    sides = [decimal(side) for side in (match["a"], match["b"], match["c"]) if side]
    return " by ".join(sides) + " inches"


@_rule(
    rf"(?:(?<=ft )|(?<=ft\. ))(?P<s>(?P<n>{_INCHES})\s?in\b\.?)(?!\s(?:the|a|an)\b)"
    rf"|{FREE}(?P<t>(?P<m>[0-9]{{1,3}}\.[0-9]{{1,3}})\s?in\.)"
)
def _inches(match: re.Match[str], order: DateOrder) -> str:
    number = match["n"] or match["m"]
    ends = match[0].endswith(".") and re.match(r"\s*$|\s+[A-Z]", after(match))
    return f"{decimal(number)} {'inch' if number == '1' else 'inches'}{'.' if ends else ''}"


_MEASURED = (
    "wide|long|tall|high|deep|thick|across|in|of|by|to|from|and|or|on|at|is|was|for|with|apart|away|above|below|square"
)


@lru_cache(4)
def _inch_marks(line: str) -> frozenset[int]:
    """Where straight marks stand that close no quotation and follow a digit."""
    marks, is_open = set(), False
    for found in re.finditer('["“”]', line):
        if found[0] == '"' and not is_open and line[found.start() - 1 : found.start()].isdigit():
            marks.add(found.start())
        else:
            is_open = found[0] == "“" or (found[0] == '"' and not is_open)
    return frozenset(marks)


@_rule(rf'{FREE}(?P<n>{_INCHES})["″](?![0-9A-Za-z"])', needs='["″]')
def _inch_mark(match: re.Match[str], order: DateOrder) -> str | None:
    """a 6" sub, 27" wide; not the end of a quotation that was opened before."""
    if match[0][-1] == '"' and match.end() - 1 not in _inch_marks(match.string):
        return None
    adjective = re.match(rf"\s(?!(?:{_MEASURED})\b)[A-Za-z]", after(match))
    return f"{decimal(match['n'])} {'inch' if match['n'] == '1' or adjective else 'inches'}"


@_rule(
    rf"{FREE}(?P<h>[0-9]{{1,3}})\s?(?:h|hrs?)\.?\s?(?P<m>[0-9]{{1,2}})\s?(?:mins?|m)(?![A-Za-z0-9])(?:\.(?=\s[a-z]|[,;:)]))?"
    rf"|{FREE}(?P<m2>[0-9]{{1,3}})\s?mins?\.?\s?(?P<s2>[0-9]{{1,2}})\s?(?:secs?|s)(?![A-Za-z0-9])(?:\.(?=\s[a-z]|[,;:)]))?",
    needs="[0-9]\\s?[hm]",
)
def _time_taken(match: re.Match[str], order: DateOrder) -> str:
    """1h45m, 2 hr. 5 min."""
    big, small = (match["h"], match["m"]) if match["h"] else (match["m2"], match["s2"])
    names = ("hour", "minute") if match["h"] else ("minute", "second")
    parts = [f"{cardinal(n)} {name}{'' if int(n) == 1 else 's'}" for n, name in zip((big, small), names, strict=True)]
    return " ".join(parts)


_COUNTED = (
    "people|men|women|children|soldiers|troops|users|customers|clients|followers|subscribers|viewers|readers|listeners"
    "|visitors|tourists|passengers|members|voters|votes|workers|employees|jobs|residents|citizens|inhabitants|refugees"
    "|immigrants|migrants|deaths|dead|casualties|cases|patients|pupils|students|teachers|families|households|homes|copies"
    "|downloads|views|clicks|likes|streams|players|fans|tickets|cars|vehicles|barrels|tonnes|tons|dollars|pounds|euros"
    "|yuan|yen|rupees|years|acres|hectares|books|words|records|accounts|items|orders|calls|emails|messages|requests"
    "|shares|Americans|Britons|Germans|Russians|Africans|Europeans|Indians|Chinese|Japanese|Jews|Muslims|Christians"
)


@_rule(
    rf"{FREE}(?P<s>(?P<a>{NUMBER})\s?(?P<scale>m|M|bn|B|k|K))"
    rf"(?=\s(?:(?!(?:of|from|to|and|or|in|the|high|wide|long|deep|tall|apart|for|per|by|away)\b)[A-Za-z-]+\s)?(?:{_COUNTED})\b)",
    needs="[0-9]\\s?[mMbBkK]",
)
def _many(match: re.Match[str], order: DateOrder) -> str:
    """1.3m soldiers, 10k followers: no metres."""
    return f"{decimal(match['a'])} {SCALES[match['scale']]}"


_SIDE = r"[0-9]{1,4}(?:\.[0-9]{1,3})?"
_LENGTH = "cm|mm|m|km|ft|in|yd|inch|inches|feet|meters|metres|px"


@_rule(
    rf"{FREE}(?P<s>(?P<a>{_SIDE})\s?[x×]\s?(?:(?P<b>{_SIDE})\s?[x×]\s?(?={_SIDE}(?:\s?(?:{_LENGTH}))?(?![0-9A-Za-z]))"
    rf"|(?={_SIDE}\s?(?:{_LENGTH})(?![0-9A-Za-z]))))",
    needs="[x×]",
)
def _sides(match: re.Match[str], order: DateOrder) -> str:
    """30 x 20 x 15 cm, 20x30cm; the last side has its unit. Not 2 x 500 mg, which is two times so much."""
    return "".join(f"{decimal(side)} by " for side in (match["a"], match["b"]) if side)


@_rule(
    rf"(?P<neg>{MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})(?:\s?(?:{UNIT})?\s?{DASH}\s?(?P<b>{NUMBER}))?(?P<gap>[\s-]?)"
    rf"(?P<u>{UNIT})(?:/(?P<per>{UNIT}|day|week|month|year|dL))?(?![A-Za-z0-9²³'’])(?:\.(?=\s[a-z]|[,;:)])|(?<=ft)\.(?=\s\ue000|\s[0-9]{{1,2}}\s?in))?"
)
def _measure(match: re.Match[str], order: DateOrder) -> str | None:
    if (
        match["u"] == "s"
        and not match["gap"]
        and re.fullmatch("[12]?[0-9]{0,2}0", match["a"])
        and len(match["a"]) in (2, 4)
    ):
        return None
    one, many = UNITS[match["u"]]
    number = f"{decimal(match['a'])} to {decimal(match['b'])}" if match["b"] else decimal(match["a"])
    unit = one if (match["a"] == "1" and not match["b"]) or match["gap"] == "-" or counts_as_adjective(match) else many
    per = f" per {per_unit(match['per'])}" if match["per"] else ""
    return f"{sign_word(match['neg'])}{number} {unit}{per}"


@_rule(r"(?<=\ue000)\s?[x×]\s?(?=\ue000)", needs="[x×]")
def _between_sides(match: re.Match[str], order: DateOrder) -> str:
    """30cm x 20cm."""
    return " by "


@_rule(r"(?<![0-9A-Za-z])(?P<s>['’]?(?P<y>[12][0-9]{2}0|[2-9]0)['’]?s)(?![0-9A-Za-z])")
def _decade(match: re.Match[str], order: DateOrder) -> str:
    return decade(match["y"])


_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@_rule(r"(?:\^(?P<n>[-−]?[0-9]{1,4})|(?P<up>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))", needs="[\\^⁰¹²³⁴⁵⁶⁷⁸⁹]")
def _power(match: re.Match[str], order: DateOrder) -> str:
    written = match["n"] or match["up"].translate(_POWERS)
    if written in ("2", "3"):
        return " squared " if written == "2" else " cubed "
    sign = "minus " if written[0] in "-−" else ""
    return f" to the power of {sign}{cardinal(written.lstrip('-−'))} "


@_rule("[₀₁₂₃₄₅₆₇₈₉]+", needs="[₀-₉]")
def _subscript(match: re.Match[str], order: DateOrder) -> str:
    return f" {digits(match[0].translate(str.maketrans('₀₁₂₃₄₅₆₇₈₉', '0123456789')))} "


@_rule(rf"{FREE}(?P<a>{NUMBER})[eE](?P<n>[-+]?[0-9]{{1,3}})(?![0-9A-Za-z])")
def _scientific(match: re.Match[str], order: DateOrder) -> str:
    sign = "minus " if match["n"].startswith("-") else ""
    return f"{decimal(match['a'])} times ten to the power of {sign}{cardinal(match['n'].lstrip('+-'))}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
