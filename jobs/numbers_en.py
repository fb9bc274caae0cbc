"""Numbers in English words, from their written digits. No "and" inside whole numbers: it would join two amounts."""

from __future__ import annotations

from functools import lru_cache

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LONGEST_CARDINAL = 18
"""Digits above which a number is read digit by digit."""


def digits(written: str) -> str:
    """Digit by digit, a space between; letters are spelled as capitals, anything else is left out."""
    return " ".join(_DIGITS[int(c)] if c in "0123456789" else c.upper() for c in written if c.isalnum())


@lru_cache(4096)
def cardinal(written: str) -> str:
    written = written.replace(",", "").lstrip("0") or "0"
    if len(written) > LONGEST_CARDINAL:
        return digits(written)
    return _words(int(written), "cardinal")


@lru_cache(1024)
def ordinal(written: str) -> str:
    return _words(int(written.replace(",", "")), "ordinal")


def decimal(written: str) -> str:
    """3.14 -> three point one four; .5 -> point five."""
    whole, _, fraction = written.replace(",", "").partition(".")
    spoken = cardinal(whole) if whole else ""
    return f"{spoken} point {digits(fraction)}".strip() if fraction else spoken


def year(written: str) -> str:
    """1905 -> nineteen oh five; 2005 -> two thousand five; 2024 -> twenty twenty-four."""
    if len(written) != 4 or written[1:3] == "00" or written[0] == "0":
        return cardinal(written)
    century, rest = cardinal(written[:2]), written[2:]
    if rest == "00":
        return f"{century} hundred"
    return f"{century} oh {cardinal(rest)}" if rest[0] == "0" else f"{century} {cardinal(rest)}"


def decade(written: str) -> str:
    """The plural that names a decade: 1990 -> nineteen nineties, 90 -> nineties, 1900 -> nineteen hundreds."""
    spoken = year(written) if len(written) == 4 else cardinal(written)
    return f"{spoken[:-1]}ies" if spoken.endswith("y") else f"{spoken}s"


def _words(number: int, to: str) -> str:
    from num2words import num2words

    spoken: str = num2words(number, lang="en", to=to)
    return spoken.replace(",", "").replace(" and ", " ")
