"""Written forms that all languages share: addresses, dates, clock times, phone numbers, currencies. Shapes only; how
they are said is the business of readings_zh and readings_en."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from jobs.measure import word_set

DateOrder = Literal["mdy", "dmy"]

# A number with optional thousands separators and fraction.
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?)"
# Not in the middle of a word or of another number.
FREE = r"(?<![0-9A-Za-z])(?<![0-9][.,])"
DASH = r"[-–—~～]"

_TLD = (
    "com|net|org|edu|gov|mil|int|info|biz|app|dev|shop|site|online|store|tech|cloud|top|vip|xyz|club|wiki|"
    "io|ai|co|me|tv|cc"
)
_TLD += (
    "|cn|hk|tw|mo|jp|kr|sg|my|th|vn|in|au|nz|uk|us|ca|de|fr|it|es|pt|nl|be|ch|at|se|no|dk|fi|pl|cz|ru|eu|br|mx|ie|gov"
)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PATH = r"[A-Za-z0-9\-._~%!$&'()*+,;=:@/?#]"
_TAIL = rf"(?::[0-9]{{2,5}})?(?:[/?#]{_PATH}*[A-Za-z0-9/#=])?"
EMAIL = re.compile(
    rf"(?<![A-Za-z0-9._%+-])[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}}@(?:{_LABEL}\.){{1,8}}[A-Za-z]{{2,24}}(?![A-Za-z0-9])"
)
URL = re.compile(
    rf"(?<![A-Za-z0-9@.])(?:(?i:https?|ftp)://[A-Za-z0-9]{_PATH}*[A-Za-z0-9/#=]"
    rf"|(?i:www)\.(?:{_LABEL}\.){{1,8}}[A-Za-z]{{2,24}}(?![A-Za-z0-9]){_TAIL}"
    rf"|(?:{_LABEL}\.){{1,8}}(?:{_TLD})(?![A-Za-z0-9-]|\.[A-Za-z]){_TAIL})"
)
IP = re.compile(rf"{FREE}[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}(?![0-9A-Za-z]|\.[0-9])")
# The address of a network card.
MAC = re.compile(r"(?<![0-9A-Za-z:-])(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Za-z:-])")
VERSION = re.compile(rf"{FREE}[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{2,}}(?![0-9A-Za-z]|\.[0-9])")

# Groups of digits as phone numbers are written. Each alternative is anchored by a prefix or by its grouping.
PHONE = re.compile(
    r"(?<![0-9A-Za-z+.])(?<![0-9]-)(?<![0-9]{3} )(?:"
    r"\+[0-9]{1,3}(?:[ -]?\(?[0-9]{1,5}\)?){1,6}"
    r"|\(0[0-9]{2,3}\)[ -]?[0-9]{3,4}[ -]?[0-9]{4}"
    r"|(?:1[- ])?\([0-9]{2,4}\)[ -]?[0-9]{3,4}(?:[ -][0-9]{4})?"
    r"|(?:1-)?[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}"
    r"|(?:400|800)(?:[- ][0-9]{3}[- ][0-9]{4}|[- ][0-9]{4}[- ][0-9]{3}|[0-9]{7})"
    r"|0[0-9]{2,3}[- ][0-9]{7,8}(?:-[0-9]{2,6})?"
    r"|0[0-9]{1,4}[- ][0-9]{3,4}[- ][0-9]{3,4}(?:-[0-9]{2,6})?"
    r"|[2-9][0-9]{2}\.[0-9]{3}\.[0-9]{4}"
    r"|1[3-9][0-9](?:[0-9]{8}|[- ][0-9]{4}[- ][0-9]{4})"
    r")(?![0-9A-Za-z]|-[0-9]|\.[0-9])"
)
# A plus sign with fewer digits is a sign, not a country code.
FEWEST_INTERNATIONAL_DIGITS = 7
PHONE_TEXT = re.compile(r"\+?[0-9(][0-9 ()./-]*[0-9]")

_ISO = re.compile(r"([0-9]{4})\s*([-/.年])\s*([0-9]{1,2})\s*[-/.月]\s*([0-9]{1,2})[日号]?")
_DAY_FIRST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([12][0-9]{3})")
_COMPACT = re.compile(r"([12][0-9]{3})([0-9]{2})([0-9]{2})")
DATE = re.compile(
    rf"{FREE}(?:[12][0-9]{{3}}([-/.])[0-9]{{1,2}}\1[0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\2[12][0-9]{{3}})"
    r"(?![0-9A-SU-Za-z]|[-/.][0-9])"
)
CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:\s?([AaPp])\.?[Mm](?![0-9A-Za-z])\.?)?")

# What is keyed in on a telephone, with a key sign inside or at its end: *21#, *21*13800138000#, #0307#.
KEYED = (
    r"(?<![0-9A-Za-z*#])(?:\*{1,2}[0-9]{1,4}(?:(?:\*[0-9]{1,15}){0,3}#|(?:\*[0-9]{2,15}){1,3})|#[0-9]{2,8}#)"
    r"(?![0-9A-Za-z*#])"
)
CURRENCY_SIGNS = r"(?:US|HK|NT|JP|CN|A|C|S)?[$￥¥]|[€£₩₽₹฿]"
CURRENCY_CODES = "USD|CNY|RMB|EUR|GBP|JPY|HKD|TWD|KRW|AUD|CAD|SGD|CHF|RUB|INR|THB"


@dataclass(frozen=True, slots=True)
class Date:
    year: str | None
    month: int
    day: int


def parse_date(written: str, order: DateOrder = "mdy") -> Date | None:
    """2024-12-31, 2024/12/31, 2024年12月31日, 20241231, 12/31/2024; None if it is no date.

    Where day and month could be either, `order` decides.
    """
    found = _ISO.fullmatch(written) or _COMPACT.fullmatch(written)
    if found:
        year, month, day = found[1], found[found.re.groups - 1], found[found.re.groups]
        return _valid(year, int(month), int(day))
    found = _DAY_FIRST.fullmatch(written)
    if not found:
        return None
    first, second = int(found[1]), int(found[3])
    month, day = (second, first) if first > 12 or (order == "dmy" and second <= 12) else (first, second)
    return _valid(found[4], month, day)


def _valid(year: str, month: int, day: int) -> Date | None:
    longest = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return Date(year, month, day) if 1 <= month <= 12 and 1 <= day <= longest[month - 1] else None


@dataclass(frozen=True, slots=True)
class Clock:
    hour: int
    minute: int
    second: int | None
    half: str
    """`a`, `p` or empty."""


def parse_clock(written: str) -> Clock | None:
    """15:30, 9:05:30, 3:30 pm; None if it is no time of day."""
    found = CLOCK.fullmatch(written)
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[4] or "").lower()
    if hour > (12 if half else 24) or minute > 59 or (found[3] and int(found[3]) > 59):
        return None
    return Clock(hour, minute, int(found[3]) if found[3] else None, half)


def scaled(amount: str, factor: int) -> str:
    """1.2 times 1000 -> 1200, without a trailing fraction of zeros."""
    return plain(str(Decimal(amount.replace(",", "")) * factor))


def plain(amount: str) -> str:
    """Without thousands separators and without zeros at the end of the fraction: 3.50 -> 3.5."""
    amount = amount.replace(",", "")
    return amount.rstrip("0").rstrip(".") if "." in amount else amount


# Short labels of addresses that are words; other short ones, and those without a vowel, are spelled.
_WORDS = word_set(
    "com net org gov app dev top map web pay buy new hot get car art pub fun bar law red one two air sky the "
    "and for my me go to"
    " in on at is it we no so an be by do he job mail shop help fly bob tom ann sam joe max info you your "
    "big box day doc sun"
)
_SPELLED = word_set("html http https faq api ios aws ibm usa url vip ssl")
_PIECES = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]")
_VOWEL = re.compile("[aeiouyAEIOUY]")


def address_pieces(written: str) -> list[str]:
    """A URL or e-mail address in pieces: words, single letters, digit strings, signs. The scheme is left out."""
    written = re.sub(r"^(?i:https?|ftp)://", "", written).rstrip("/")
    pieces: list[str] = []
    for piece in _PIECES.findall(written):
        low = piece.lower()
        short = len(piece) <= 2 and low not in _WORDS
        if piece[0].isascii() and piece[0].isalpha() and (short or low in _SPELLED or not _VOWEL.search(piece)):
            pieces += piece
        else:
            pieces.append(piece)
    return pieces


def roman_value(written: str) -> int:
    """The value of a well-formed Roman numeral up to 3999; 0 for anything else."""
    if not re.fullmatch("M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", written) or not written:
        return 0
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    numbers = [values[char] for char in written]
    pairs = zip(numbers, [*numbers[1:], 0], strict=True)
    return sum(-now if now < following else now for now, following in pairs)


def is_phone(written: str) -> bool:
    """False for what only looks like one: +15, 2024-10-01."""
    digits = sum(char.isdigit() for char in written)
    return not (written[0] == "+" and digits < FEWEST_INTERNATIONAL_DIGITS) and parse_date(written) is None
