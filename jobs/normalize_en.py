"""What numbers, codes, abbreviations and symbols mean in English text. Nothing is left to a library but the words of
whole numbers."""

from __future__ import annotations

import re

from jobs.forms import (
    CLOCK,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    DASH,
    DATE,
    FREE,
    NUMBER,
    PHONE,
    Date,
    DateOrder,
    parse_clock,
    parse_date,
)
from jobs.normalize_zh import roman_value
from jobs.numbers_en import cardinal, decade, decimal, digits, ordinal, year
from jobs.readings_en import MONTHS, SCALES, address, clock, code, currency_name, date, knows_currency, money, phone
from jobs.rules import Rule, RuleBook, address_rules, after, before, version_rule

_book = RuleBook()
_rule = _book.add

_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_MONTH_NAME = r"(?P<mon>Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
_CODE_WORDS = (
    "PINs?|OTP|passcode|password|access code|security code|verification code|confirmation code|area code|zip code|postal code|code"
    "|tracking number|confirmation number|reference number|phone number|flight number|room number|order number|account number"
    "|card number|serial number|invoice number|ticket number|case number|member number|number plate|ID number|ID"
)
_PLACE_WORDS = "room|suite|apartment|apt\\.?|unit|extension|ext\\.?|flight|gate|bus|route|highway|interstate|channel"
_NUMBERED_WORDS = (
    "order|account|card|case|ticket|reference|confirmation|invoice|tracking|member|booking|policy|claim|serial"
)
_LINK = r"(?:\s+(?:is|are|was|number|no\.|ending in|ends in|ending with|of|in)|\s*[:#=]|\s)*\s*[\"'“‘(]?"
_CODE = r"[A-Za-z]{0,3}-?[0-9](?:[0-9A-Z]|[- ](?=[0-9]{2})[0-9])*"
_QUANTITY = (
    r"\s?(?:digits?|minutes?|seconds?|hours?|days?|weeks?|months?|years?|times|characters?|people|percent|%|dollars|units?|items?|a\.?m|p\.?m)"
    r"|:[0-9]|\.[0-9]|,[0-9]{3}"
)
_MINUS = r"(?:(?<![0-9A-Za-z)%\]])[-−])"
_UNITS: dict[str, tuple[str, str]] = {
    "km/h": ("kilometer per hour", "kilometers per hour"), "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"), "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "m": ("meter", "meters"), "kg": ("kilogram", "kilograms"), "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"), "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"), "ft": ("foot", "feet"),
    "mi": ("mile", "miles"), "yd": ("yard", "yards"), "ml": ("milliliter", "milliliters"), "mL": ("milliliter", "milliliters"),
    "L": ("liter", "liters"), "l": ("liter", "liters"), "°C": ("degree Celsius", "degrees Celsius"),
    "℃": ("degree Celsius", "degrees Celsius"), "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "℉": ("degree Fahrenheit", "degrees Fahrenheit"), "°": ("degree", "degrees"), "kW": ("kilowatt", "kilowatts"),
    "kWh": ("kilowatt hour", "kilowatt hours"), "W": ("watt", "watts"), "V": ("volt", "volts"), "mAh": ("milliamp hour", "milliamp hours"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"),
    "dB": ("decibel", "decibels"), "KB": ("kilobyte", "kilobytes"), "MB": ("megabyte", "megabytes"), "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"), "Mbps": ("megabit per second", "megabits per second"), "hrs": ("hour", "hours"), "hr": ("hour", "hours"),
    "h": ("hour", "hours"), "min": ("minute", "minutes"), "mins": ("minute", "minutes"), "sec": ("second", "seconds"),
    "secs": ("second", "seconds"), "s": ("second", "seconds"), "ms": ("millisecond", "milliseconds"),
    "m²": ("square meter", "square meters"), "km²": ("square kilometer", "square kilometers"), "ft²": ("square foot", "square feet"),
    "m³": ("cubic meter", "cubic meters"), "mmHg": ("millimeter of mercury", "millimeters of mercury"), "kcal": ("kilocalorie", "kilocalories"),
    "kPa": ("kilopascal", "kilopascals"), "px": ("pixel", "pixels"), "rpm": ("R P M", "R P M"),
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_SCALE = "thousand|million|billion|trillion|hundred"


def _capital(match: re.Match[str]) -> bool:
    return match[0][:1].isupper()


@_rule(rf"\b(?i:{_CODE_WORDS}){_LINK}(?P<s>{_CODE})(?![0-9A-Za-z])")
def _code_in_context(match: re.Match[str], order: DateOrder) -> str | None:
    return _read_code(match, shortest=2)


@_rule(
    rf"\b(?i:{_PLACE_WORDS})\s?(?:(?:number|no\.|#|is|:)\s?){{0,2}}(?P<s>(?:[A-Z]{{1,2}}[ -]?)?{_CODE})(?![0-9A-Za-z])"
)
def _place(match: re.Match[str], order: DateOrder) -> str | None:
    return _read_code(match, shortest=3)


@_rule(rf"\b(?i:{_NUMBERED_WORDS})\s*(?i:(?:number|no\.|id|:|ending in|is)\s*){{1,3}}(?P<s>{_CODE})(?![0-9A-Za-z])")
def _numbered(match: re.Match[str], order: DateOrder) -> str | None:
    return _read_code(match, shortest=3)


@_rule(rf"\b(?i:{_NUMBERED_WORDS})\s?(?P<s>#\s?(?P<code>{_CODE}))(?![0-9A-Za-z])", needs="#")
def _hash_code(match: re.Match[str], order: DateOrder) -> str:
    return f"number {code(match['code'])}"


def _read_code(match: re.Match[str], shortest: int) -> str | None:
    """Digit by digit, unless it is too short for a code or counts something."""
    written = match["s"]
    numbers = re.sub("[^0-9]", "", written)
    short = len(numbers) < shortest and numbers == written and written[0] != "0"
    if short or re.match(_QUANTITY, after(match)) or (not written.isdigit() and parse_date(written)):
        return None
    if PHONE.fullmatch(written):
        return phone(written)
    groups = re.split("[- ]", written)
    separator = ", " if all(group.isdigit() for group in groups) else " "
    return separator.join(code(group) for group in groups)


@_rule(PHONE)
def _phone(match: re.Match[str], order: DateOrder) -> str | None:
    return None if parse_date(match[0], order) else phone(match[0])


@_rule(
    r"(?i:call|dial|phone|text|tel\.?|fax|at)(?: us)?(?: at| on)?:?\s(?P<s>[0-9]{3}-[0-9]{4}|911|999|112|411)(?![0-9A-Za-z-])"
)
def _local_phone(match: re.Match[str], order: DateOrder) -> str:
    return phone(match["s"])


@_rule(r"(?P<s>(?P<st>\b[A-Z]{2}) (?P<z>[0-9]{5}(?:-[0-9]{4})?))(?![0-9A-Za-z-])")
def _zip(match: re.Match[str], order: DateOrder) -> str:
    return f"{' '.join(match['st'])} {', '.join(digits(part) for part in match['z'].split('-'))}"


@_rule(
    r"(?<![0-9A-Za-z.])(?P<v>[Vv]|[Vv]ersion |[Vv]er\. ?|[Rr]elease |[Pp]ython )(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4})*)(?![0-9A-Za-z]|[.,][0-9])"
)
def _version(match: re.Match[str], order: DateOrder) -> str:
    named = {"V": "V", "v": "v"}.get(match["v"], match["v"].strip())
    return f"{named} {_dotted(match['n'])}"


def _dotted(written: str) -> str:
    return " point ".join(cardinal(part) for part in written.split("."))


_book.rules.append(version_rule(_dotted))


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
    if not 1 <= int(match["d"]) <= 31 or match["mon"] in ("Mar", "May", "Jun", "Sep") and not match["y"]:
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
    rf"{FREE}(?P<a>[0-9]{{1,2}})(?:\s?{DASH}\s?(?P<b>[0-9]{{1,2}}))?\s?(?P<h>[AaPp])(?:\.[Mm]\.|[Mm]\b)", needs="[mM]"
)
def _hour(match: re.Match[str], order: DateOrder) -> str | None:
    if int(match["a"]) > 12:
        return None
    hours = cardinal(match["a"]) + (f" to {cardinal(match['b'])}" if match["b"] else "")
    tail = "." if match[0].endswith(".") and not after(match).strip() else ""
    return f"{hours} {match['h'].upper()} M{tail}"


@_rule(rf"{FREE}(?P<a>[0-9]{{1,4}}):(?P<b>[0-9]{{1,4}})(?![0-9:])", needs="[0-9]:[0-9]")
def _ratio(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])} to {cardinal(match['b'])}"


_SIGN = rf"(?:{CURRENCY_SIGNS}|\b(?:{CURRENCY_CODES})\s?)"
_AMOUNT_SCALE = rf"(?:\s(?:{_SCALE})\b|(?:bn|[KkMBT])(?![A-Za-z0-9]))"


@_rule(
    rf"(?P<neg>{_MINUS})?(?P<cur>{_SIGN})\s?(?P<a>{NUMBER})(?:\s?{DASH}\s?(?:{_SIGN})?(?P<b>{NUMBER}))?(?P<scale>{_AMOUNT_SCALE})?(?P<adj>-(?=[a-z]))?(?P<per>/(?P<unit>[A-Za-z]+))?"
)
def _money(match: re.Match[str], order: DateOrder) -> str | None:
    currency, scale = match["cur"].strip(), (match["scale"] or "").strip()
    if not knows_currency(currency):
        return None
    spoken = money(currency, match["b"] or match["a"], scale)
    if match["b"]:
        first = decimal(match["a"]) if "." not in match["a"] else money(currency, match["a"])
        spoken = f"{first} to {spoken}"
    elif match["adj"]:
        spoken = re.sub(r"s$", "", spoken) + " "
    spoken += f" per {_per(match['unit'])}" if match["per"] else ""
    return ("minus " if match["neg"] else "") + spoken


def _per(unit: str) -> str:
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
    return short.get(unit) or (_UNITS[unit][0] if unit in _UNITS else unit)


@_rule(rf"{FREE}(?P<a>{NUMBER})(?P<scale>\s(?:{_SCALE}))?\s?(?P<cur>{CURRENCY_CODES}|[€£￥¥])(?![A-Za-z0-9])")
def _money_after(match: re.Match[str], order: DateOrder) -> str:
    return money(match["cur"], match["a"], (match["scale"] or "").strip())


@_rule(rf"{FREE}(?P<a>{NUMBER})\s?(?P<c>[¢])", needs="¢")
def _cents(match: re.Match[str], order: DateOrder) -> str:
    return f"{decimal(match['a'])} {'cent' if match['a'] == '1' else 'cents'}"


@_rule(
    rf"(?P<neg>{_MINUS}|(?<![0-9A-Za-z])[+±])?(?:{FREE}(?P<a>{NUMBER})%?\s?{DASH}{{1,2}}\s?)?(?<![0-9])(?P<b>{NUMBER}|\.[0-9]+)\s?(?P<p>[%‰])",
    needs="[%‰]",
)
def _percent(match: re.Match[str], order: DateOrder) -> str:
    name = "percent" if match["p"] == "%" else "per mille"
    first = f"{decimal(match['a'])} to " if match["a"] else ""
    return f"{_sign(match['neg'])}{first}{decimal(match['b'])} {name}"


def _sign(sign: str | None) -> str:
    return {"-": "minus ", "−": "minus ", "+": "plus ", "±": "plus or minus "}.get(sign or "", "")


@_rule(r"(?<![0-9A-Za-z])(?P<ft>[0-9]{1,2})['′](?P<in>[0-9]{1,2})[\"″]", needs="['′]")
def _height(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['ft'])} feet {cardinal(match['in'])} {'inch' if match['in'] == '1' else 'inches'}"


@_rule(
    rf"(?P<neg>{_MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})(?:\s?(?:{_UNIT})?\s?{DASH}\s?(?P<b>{NUMBER}))?(?P<gap>[\s-]?)"
    rf"(?P<u>{_UNIT})(?:/(?P<per>{_UNIT}|day|week|month|year|dL))?(?![A-Za-z0-9²³'’])"
)
def _measure(match: re.Match[str], order: DateOrder) -> str | None:
    if (
        match["u"] == "s"
        and not match["gap"]
        and re.fullmatch("[12]?[0-9]{0,2}0", match["a"])
        and len(match["a"]) in (2, 4)
    ):
        return None
    one, many = _UNITS[match["u"]]
    number = f"{decimal(match['a'])} to {decimal(match['b'])}" if match["b"] else decimal(match["a"])
    unit = one if (match["a"] == "1" and not match["b"]) or match["gap"] == "-" else many
    per = f" per {_per(match['per'])}" if match["per"] else ""
    return f"{_sign(match['neg'])}{number} {unit}{per}"


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


@_rule(r"(?<![0-9A-Za-z/.])(?P<a>24/7|9/11|50/50)(?![0-9/])")
def _idiom(match: re.Match[str], order: DateOrder) -> str:
    return " ".join(cardinal(part) for part in match[0].split("/"))


@_rule(
    r"(?<![0-9A-Za-z.,])(?:(?P<w>[0-9]{1,4})[ -])?(?P<a>[0-9]{1,3})/(?P<b>[1-9][0-9]{0,3})(?:th|ths)?(?![0-9/.A-Za-z])",
    needs="/",
)
def _fraction(match: re.Match[str], order: DateOrder) -> str:
    return (f"{cardinal(match['w'])} and " if match["w"] else "") + _fraction_words(
        match["a"], match["b"], bool(match["w"])
    )


def _fraction_words(top: str, bottom: str, after_whole: bool = False) -> str:
    many = int(top) != 1
    name = {"2": "halves" if many else "half", "4": "quarters" if many else "quarter"}.get(bottom)
    if name is None:
        name = ordinal(bottom) + ("s" if many else "")
    return f"{'a' if after_whole and not many else cardinal(top)} {name}"


@_rule(r"(?P<w>[0-9]+)?\s?(?P<f>[½⅓⅔¼¾⅛])", needs="[½⅓⅔¼¾⅛]")
def _vulgar(match: re.Match[str], order: DateOrder) -> str:
    top, bottom = {"½": "12", "⅓": "13", "⅔": "23", "¼": "14", "¾": "34", "⅛": "18"}[match["f"]]
    return (f"{cardinal(match['w'])} and " if match["w"] else "") + _fraction_words(top, bottom, bool(match["w"]))


@_rule(rf"{FREE}(?P<n>[0-9]{{1,3}}(?:,[0-9]{{3}})*|[0-9]{{1,12}})(?:st|nd|rd|th)(?![0-9A-Za-z])")
def _ordinal(match: re.Match[str], order: DateOrder) -> str:
    return ordinal(match["n"])


@_rule(r"(?<![0-9A-Za-z])(?P<l>[A-Z]{2,5}(?:/[A-Z]{1,2})?) (?P<n>[0-9]{3,6}(?:-[0-9]{2,4})?)(?![0-9A-Za-z]|[.,][0-9])")
def _standard(match: re.Match[str], order: DateOrder) -> str | None:
    """GB/T 7714-2015, ISO 9001, RTX 4090; IN 2024 is a shouted sentence."""
    if "-" not in match["n"] and match["l"] in (
        "IN",
        "OF",
        "TO",
        "BY",
        "AT",
        "OR",
        "AND",
        "THE",
        "FOR",
        "ONLY",
        "OVER",
        "FROM",
    ):
        return None
    return f"{match['l'].replace('/', ' ')} {', '.join(digits(group) for group in match['n'].split('-'))}"


@_rule(rf"{FREE}(?P<a>[12][0-9]{{3}})\s?{DASH}{{1,2}}\s?(?P<b>[12][0-9]{{3}}|[0-9]{{2}})(?![0-9A-Za-z]|[.,:%-][0-9])")
def _years(match: re.Match[str], order: DateOrder) -> str | None:
    if len(match["b"]) == 4 and match["b"] <= match["a"]:
        return None
    return f"{year(match['a'])} to {year(match['b'])}"


@_rule(
    r"\b(?i:in|since|from|by|until|till|before|after|during|year|years|of|early|late|mid|around|circa|spring|summer|autumn|fall|winter|to)[ -]"
    r"(?P<s>(?P<y>1[1-9][0-9]{2}|20[0-9]{2}))(?![0-9A-Za-z,.]?[0-9]|['’]?s\b)(?!\s?(?:%|percent|people|[a-z]+s\b|million|thousand))"
)
def _year(match: re.Match[str], order: DateOrder) -> str:
    return year(match["y"])


@_rule(r"(?<=\()(?P<s>(?:1[1-9]|20)[0-9]{2})(?=\))|(?<=©)\s?(?P<t>(?:19|20)[0-9]{2})(?![0-9])")
def _lone_year(match: re.Match[str], order: DateOrder) -> str:
    return year(match[0].strip())


@_rule(rf"{FREE}(?P<a>[0-9]{{2,5}})\s?[x×X]\s?(?P<b>[0-9]{{2,5}})(?![0-9A-Za-z.])")
def _resolution(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])} by {cardinal(match['b'])}"


_OPERATORS = {"+": "plus", "×": "times", "*": "times", "÷": "divided by", "=": "equals", "≈": "is about", "≠": "is not",
              "<": "is less than", ">": "is greater than", "≤": "is at most", "≥": "is at least", "±": "plus or minus",
              "x": "times"}  # fmt: skip


@_rule(rf"{FREE}(?P<a>{NUMBER})(?P<s>\s?[-−]\s?)(?={NUMBER}\s?=)", needs="=")
def _subtraction(match: re.Match[str], order: DateOrder) -> str:
    return " minus "


@_rule(
    r"(?<=[0-9A-Za-z)\ue000])\s?(?P<op>[+×*÷=<>])\s?(?=[0-9A-Za-z(.\ue000-])|\s?(?P<t>[≈≠≤≥±])\s?|(?<=[0-9])(?P<x>x)(?=[0-9])",
    needs="[+×*÷=≈≠<>≤≥±x]",
)
def _operator(match: re.Match[str], order: DateOrder) -> str | None:
    sign = match["op"] or match["t"] or match["x"]
    sides = before(match, 1), after(match)[:1]
    if sign == "*" and not all(side.isdigit() for side in sides):
        return None
    return f" {_OPERATORS[sign]} "


@_rule(r"(?i:(?<![A-Za-z])nos?\.\s?|№\s?|#\s?)(?P<n>[0-9]{1,9})(?![0-9A-Za-z])", needs="[oO#№]")
def _numero(match: re.Match[str], order: DateOrder) -> str:
    number = digits(match["n"]) if match["n"][0] == "0" or len(match["n"]) > 4 else cardinal(match["n"])
    return f"{'Number' if match[0][0] == 'N' else 'number'} {number}"


@_rule(
    r"(?<![0-9A-Za-z])(?=[A-Za-z0-9-]*[A-Za-z])(?=[A-Za-z-]*[0-9])(?P<s>[A-Za-z0-9]+(?:[-–][A-Za-z0-9]+)*)(?![0-9A-Za-z]|\.[0-9])"
)
def _model_name(match: re.Match[str], order: DateOrder) -> str:
    """GPT-4o, COVID-19, B2B, MP3, 5G: letters as they are, up to two digits as a number, more of them one by one."""
    adjective = re.fullmatch("([0-9]{1,6})((?:-[A-Za-z]{2,})+)", match["s"])
    if adjective and not match["s"].isupper():
        return cardinal(adjective[1]) + adjective[2]
    parts = re.findall("[A-Za-z]+|[0-9]+", match["s"])
    return " ".join(_model_part(part, number, len(parts)) for number, part in enumerate(parts))


def _model_part(part: str, number: int, total: int) -> str:
    if not part.isdigit():
        return part
    if number == 0 and total > 1 and len(part) > 2 and part.endswith("00"):
        return cardinal(part)
    return cardinal(part) if len(part) <= 2 and part[0] != "0" else digits(part)


@_rule(rf"(?P<neg>{_MINUS})?{FREE}(?P<a>{NUMBER})\s?{DASH}{{1,2}}\s?(?P<b>{NUMBER})(?![0-9A-Za-z]|[-.:,][0-9])")
def _range(match: re.Match[str], order: DateOrder) -> str | None:
    if any(len(part) > 1 and part[0] == "0" and "." not in part for part in (match["a"], match["b"])):
        return None
    return f"{'minus ' if match['neg'] else ''}{decimal(match['a'])} to {decimal(match['b'])}"


@_rule(r"(?<![0-9A-Za-z])[0-9]{2,}(?:-[0-9]{2,})+(?![0-9A-Za-z])")
def _grouped_code(match: re.Match[str], order: DateOrder) -> str:
    return ", ".join(digits(group) for group in match[0].split("-"))


@_rule(
    r"(?<![0-9A-Za-z.,])(?P<s>0[0-9]+)(?![0-9A-Za-z.:]|,[0-9]{3})|(?<![0-9A-Za-z.,])(?P<t>[0-9]{10,})(?![0-9A-Za-z]|[.,][0-9])"
)
def _bare_code(match: re.Match[str], order: DateOrder) -> str:
    return digits(match[0])


@_rule(
    rf"(?P<neg>{_MINUS}|(?<![0-9A-Za-z])[+±])?(?P<a>{FREE}{NUMBER}|(?<![0-9A-Za-z.])\.[0-9]+)(?P<plus>\+?)(?P<adj>-(?=[A-Za-z]))?"
)
def _plain_number(match: re.Match[str], order: DateOrder) -> str:
    tail = " plus" if match["plus"] else "-" if match["adj"] else ""
    return f"{_sign(match['neg'])}{decimal(match['a'])}{tail}"


# Regnal and serial numbers: only after words and names that take them, never a lone I.
_NAMES = "Henry|Louis|Elizabeth|Charles|George|Edward|William|James|Richard|John Paul|Pius|Benedict|Philip|Napoleon|Catherine|Peter|Nicholas|Alexander|Leo"


@_rule(rf"\b(?:{_NAMES}) (?P<s>X{{0,3}}(?:IX|IV|V?I{{1,3}}|V|X))\b", needs="[IVX]")
def _regnal(match: re.Match[str], order: DateOrder) -> str | None:
    value = roman_value(match["s"])
    return f"the {ordinal(str(value))}" if value else None


@_rule(
    r"\b(?i:chapter|part|volume|vol\.|book|act|scene|section|phase|type|stage|level|war|appendix|bowl|class|episode) (?P<s>X{0,3}(?:IX|IV|V?I{1,3}|V|X))\b(?!['’])",
    needs="[IVX]",
)
def _serial(match: re.Match[str], order: DateOrder) -> str | None:
    value = roman_value(match["s"])
    return cardinal(str(value)) if value else None


@_rule("[①-⑳]", needs="[①-⑳]")
def _circled(match: re.Match[str], order: DateOrder) -> str:
    return cardinal(str(ord(match[0]) - ord("①") + 1))


_ABBREVIATIONS = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Jr": "Junior", "Sr": "Senior", "vs": "versus", "etc": "et cetera",
    "approx": "approximately", "dept": "department", "Dept": "Department", "Ave": "Avenue", "Rd": "Road", "Blvd": "Boulevard", "Inc": "Incorporated",
    "Ltd": "Limited", "Corp": "Corporation", "Gov": "Governor", "Gen": "General", "Sgt": "Sergeant", "Capt": "Captain", "Lt": "Lieutenant",
    "Rev": "Reverend", "Hon": "Honorable", "Mt": "Mount", "Ft": "Fort", "est": "established", "vol": "volume", "Vol": "Volume", "ext": "extension",
    "Ext": "Extension", "apt": "apartment", "Apt": "Apartment", "Fig": "Figure", "fig": "figure", "pp": "pages", "ed": "edition", "min": "minutes",
    "hr": "hours", "tel": "telephone", "Tel": "Telephone",
}  # fmt: skip
_CAPITAL_ONLY = "Gov|Gen|Hon|Mt|Ft|Capt|Lt|Sgt|Rev"
_LOWER_NUMBER = "vol|Vol|ext|Ext|Fig|fig|pp|ed|min|hr|est"


@_rule(rf"\b(?P<a>{'|'.join(_ABBREVIATIONS)})\.(?P<next>\s*)", needs=r"[a-z]\.")
def _abbreviation(match: re.Match[str], order: DateOrder) -> str | None:
    following = after(match)
    name = match["a"]
    if name in _CAPITAL_ONLY.split("|") and not following[:1].isupper():
        return None
    if name in ("ed", "min", "hr", "est") and (not following or following[:1].isupper()):
        return None
    ends = not following or (
        name in ("Jr", "Sr", "etc", "Inc", "Ltd", "Corp", "Ave", "Rd", "Blvd", "dept", "Dept")
        and following[:1].isupper()
    )
    return _ABBREVIATIONS[name] + ("." if ends and (not following or match["next"]) else "") + match["next"]


@_rule(r"\b(?P<a>Dr|St)\.(?P<next>\s*)(?=(?P<word>\w?))", needs=r"(?:Dr|St)\.")
def _doctor_or_drive(match: re.Match[str], order: DateOrder) -> str:
    """Before a name it is a title; after one, or at an end, a street."""
    preceding = before(match, 40).rstrip()
    is_title = match["word"].isupper() and not re.search(r"\b[A-Z][a-z]+$", preceding)
    words = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street")}[match["a"]]
    stop = (
        "."
        if not is_title
        and (not match["word"] or match["word"].isupper())
        and not re.match(r"\s*[,;:]", match.string[match.end("a") + 1 :])
        else ""
    )
    return (words[0] if is_title else words[1] + stop) + match["next"]


@_rule(r"(?<![0-9A-Za-z*#])[*#](?![0-9A-Za-z*#])", needs="[*#]")
def _key(match: re.Match[str], order: DateOrder) -> str | None:
    """Press * or #."""
    around = f"{before(match, 40)} {after(match)}"
    if not re.search(r"(?i)\b(?:press|push|hit|dial|enter|key|button)", around):
        return None
    return "star" if match[0] == "*" else "pound"


@_rule(r"(?<![A-Za-z.])(?P<a>e\.g\.|i\.e\.|a\.k\.a\.|w/o(?![A-Za-z])|w/(?=\s))", needs=r"\.[gek]|w/")
def _latin(match: re.Match[str], order: DateOrder) -> str:
    return {"e.g.": "for example", "i.e.": "that is", "a.k.a.": "also known as", "w/o": "without", "w/": "with"}[
        match[0]
    ]


@_rule(r"(?<=[A-Za-z])\+\+|(?<=\bC)#|(?<=[A-Z])\+(?![A-Za-z0-9])", needs="[+#]")
def _plus_plus(match: re.Match[str], order: DateOrder) -> str:
    return {"++": " plus plus", "#": " sharp", "+": " plus"}[match[0]]


def _ip(written: str) -> str:
    return " dot ".join(digits(part) for part in written.split("."))


RULES: tuple[Rule, ...] = (*address_rules(address, _ip), *_book.rules)

_SWEEP = {
    "&": " and ", "@": " at ", "+": " plus ", "=": " equals ", "%": " percent ", "#": " ", "*": " ", "_": " ", "^": " ", "|": ", ", "\\": " ",
    "~": " ", "°": " degrees ", "→": " to ", "←": " ", "↑": " up ", "↓": " down ", "®": "", "™": "", "©": " copyright ", "$": " dollar ",
    "€": " euro ", "£": " pound ", "¥": " yuan ", "￥": " yuan ", "×": " times ", "÷": " divided by ", "<": " less than ", ">": " greater than ",
    "§": " section ", "`": "", "{": ", ", "}": ", ", "•": ", ", "‰": " per mille ", "/": " ",
}  # fmt: skip
_SWEEP_SIGNS = re.compile("[" + re.escape("".join(_SWEEP)) + "]")
assert set(SCALES)
assert currency_name("$")


def sweep(text: str) -> str:
    """Words for the signs that are left."""
    return _SWEEP_SIGNS.sub(lambda found: _SWEEP[found[0]], text)
