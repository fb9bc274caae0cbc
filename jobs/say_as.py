"""Reading a text as the kind that its author names: digits, phone, money, date, time, ordinal, flight, room, letters,
cardinal. Content that does not fit its kind is a fault."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType

from jobs import readings_en, readings_zh
from jobs.forms import CLOCK, CURRENCY_CODES, CURRENCY_SIGNS, NUMBER, PHONE_TEXT, DateOrder, parse_clock, parse_date
from jobs.markup import SAY_AS_KINDS
from jobs.readings_zh import YAO
from jobs.text_fault import TextFault

_READERS: dict[str, ModuleType] = {"zh": readings_zh, "en": readings_en}
_ONE = {"yao": YAO, YAO: YAO, "yi": "一", "一": "一"}
_OPTIONS = {
    "digits": {"one"},
    "phone": {"one"},
    "flight": {"one"},
    "room": {"one"},
    "date": {"format"},
    "money": {"currency"},
}
_DATE_FORMATS = ("ymd", "mdy", "dmy")

_MONEY = re.compile(
    rf"(?P<sign>-?)\s*(?P<before>{CURRENCY_SIGNS}|{CURRENCY_CODES})?\s*(?P<amount>{NUMBER})\s*"
    rf"(?P<after>{CURRENCY_CODES}|€|元|圆)?"
)
_SHAPES: dict[str, tuple[re.Pattern[str], str]] = {
    "digits": (re.compile(r"[0-9](?:[ .,/-]?[0-9])*"), "digits, such as 0307"),
    "phone": (PHONE_TEXT, "a phone number, such as 400-820-8820"),
    "money": (_MONEY, "an amount, such as ￥2,000 or $5.50"),
    "date": (re.compile(r"[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}[日号]?|"
     r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}|[0-9]{8}"),
             "a date, such as 2024-12-31"),
    "time": (CLOCK, "a time of day, such as 15:30"),
    "ordinal": (re.compile(r"[0-9]{1,15}(?:st|nd|rd|th)?"), "a whole number, such as 3"),
    "flight": (re.compile(r"(?:[A-Z][A-Z0-9]|[0-9][A-Z])[ -]?[0-9]{1,4}[A-Z]?|"
     r"[0-9]{1,4}"), "a flight number, such as CA1234"),
    "room": (re.compile(r"[A-Z]{0,2}-?[0-9]{1,6}[A-Z]?(?:-[0-9]{1,6})?"), "a room number, such as 1203"),
    "letters": (re.compile(r"[A-Za-z0-9](?:[ .-]?[A-Za-z0-9])*"), "letters and digits, such as LUCY"),
    "cardinal": (re.compile(rf"[-+]?{NUMBER}"), "a number, such as 1,000"),
}  # fmt: skip


def say_as(kind: str, content: str, language: str, options: Mapping[str, str], order: DateOrder = "mdy") -> str:
    """The words for `content` read as `kind`. Raises TextFault if it does not fit, or the language is not covered."""
    content = content.strip()
    if kind not in _SHAPES:
        raise TextFault(f"say-as kind {kind!r} is unknown: use one of {', '.join(SAY_AS_KINDS)}")
    reader = _READERS.get(language)
    if reader is None:
        raise TextFault(f"say-as is there for zh and en, not for {language}: write {content!r} in words")
    _check_options(kind, options)
    pattern, expected = _SHAPES[kind]
    upper = content.upper() if kind in ("flight", "room") else content
    found = pattern.fullmatch(upper)
    if found is None:
        raise TextFault(f"{content!r} cannot be read as {kind}: write {expected}, or choose another kind")
    return _read(kind, found, reader, options, order)


def places(kind: str, text: str) -> list[tuple[int, int]]:
    """Where a text holds something that fits `kind`: what the row's `say_as` applies to."""
    if kind not in _SHAPES:
        raise TextFault(f"say_as {kind!r} is unknown: use one of {', '.join(SAY_AS_KINDS)}")
    pattern, expected = _SHAPES[kind]
    bounded = re.compile(rf"(?<![0-9A-Za-z])(?:{pattern.pattern})(?![0-9A-Za-z])")
    found = [match.span() for match in bounded.finditer(text)]
    if not found:
        raise TextFault(f"say_as is {kind}, and the text holds nothing to be read so: write {expected}, or drop say_as")
    return found


def _check_options(kind: str, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        if name not in _OPTIONS.get(kind, ()):
            known = ", ".join(sorted(_OPTIONS.get(kind, ()))) or "none"
            raise TextFault(f"say-as {kind} has no attribute {name!r} (it has: {known}): remove it")
        if name == "one" and value not in _ONE:
            raise TextFault(f'say-as attribute one="{value}": write one="幺" or one="一"')
        if name == "format" and value not in _DATE_FORMATS:
            raise TextFault(f'say-as attribute format="{value}": write one of {", ".join(_DATE_FORMATS)}')
        if name == "currency" and not readings_en.knows_currency(value):
            raise TextFault(f'say-as attribute currency="{value}": write a sign or code such as ￥, $, EUR')


def _read(kind: str, found: re.Match[str], reader: ModuleType, options: Mapping[str, str], order: DateOrder) -> str:
    content = found[0]
    one = _ONE.get(options.get("one", ""), "一" if kind == "digits" else YAO)
    spoken: str
    if kind in ("digits", "flight", "room"):
        spoken = reader.code(content, one)
    elif kind == "phone":
        spoken = reader.phone(content, one)
    elif kind == "letters":
        spoken = reader.letters(content)
    elif kind == "ordinal":
        spoken = reader.ordinal(re.sub("[a-z]+$", "", content))
    elif kind == "cardinal":
        spoken = reader.number(content)
    elif kind == "money":
        spoken = _money(found, reader, options)
    else:
        spoken = _moment(kind, content, reader, options, order)
    return spoken


def _money(found: re.Match[str], reader: ModuleType, options: Mapping[str, str]) -> str:
    after = "¥" if found["after"] in ("元", "圆") else found["after"]
    currency = found["before"] or after or options.get("currency") or reader.DEFAULT_CURRENCY
    if not currency:
        raise TextFault(f'{found[0]!r} names no currency: write a sign before it, or say-as with currency="USD"')
    negative = "" if not found["sign"] else reader.number("-1").removesuffix(reader.number("1"))
    spoken: str = reader.money(currency, found["amount"])
    return negative + spoken


def _moment(kind: str, content: str, reader: ModuleType, options: Mapping[str, str], order: DateOrder) -> str:
    spoken: str
    if kind == "time":
        clock = parse_clock(content)
        if clock is None:
            raise TextFault(f"{content!r} is no time of day: write hours 0 to 24 and minutes 00 to 59")
        spoken = reader.clock(clock)
        return spoken
    wanted = options.get("format", order)
    date = parse_date(content, "dmy" if wanted == "dmy" else "mdy")
    if date is None:
        raise TextFault(f"{content!r} is no date: check the month and the day")
    spoken = reader.date(date)
    return spoken
