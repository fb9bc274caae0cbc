"""How written forms are said in English."""

from __future__ import annotations

import re

from jobs.forms import Clock, Date, address_pieces, plain
from jobs.numbers_en import cardinal, decimal, digits, year
from jobs.numbers_en import ordinal as ordinal_word

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
# One and many of the unit, then of its hundredth part where it is counted.
_CURRENCY: dict[str, tuple[str, ...]] = {
    "$": ("dollar", "dollars", "cent", "cents"), "US$": ("US dollar", "US dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"), "£": ("pound", "pounds", "penny", "pence"), "¥": ("yuan", "yuan"),
    "HK$": ("Hong Kong dollar", "Hong Kong dollars", "cent", "cents"), "JP¥": ("yen", "yen"),
    "NT$": ("New Taiwan dollar", "New Taiwan dollars"),
    "A$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "C$": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "S$": ("Singapore dollar", "Singapore dollars", "cent", "cents"), "CHF": ("Swiss franc", "Swiss francs"),
    "₩": ("won", "won"), "₽": ("ruble", "rubles"), "₹": ("rupee", "rupees"), "฿": ("baht", "baht"),
}  # fmt: skip
_SAME = {
    "￥": "¥", "CN¥": "¥", "CN￥": "¥", "CNY": "¥", "RMB": "¥", "USD": "US$", "EUR": "€", "GBP": "£", "JPY": "JP¥",
    "HKD": "HK$", "TWD": "NT$", "KRW": "₩", "AUD": "A$", "CAD": "C$", "SGD": "S$", "RUB": "₽", "INR": "₹",
    "THB": "฿",
}  # fmt: skip
DEFAULT_CURRENCY: str | None = None
SCALES = {
    "K": "thousand",
    "k": "thousand",
    "M": "million",
    "m": "million",
    "B": "billion",
    "bn": "billion",
    "T": "trillion",
}
_SIGNS = {
    ".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals",
    "&": "and", "#": "hash", ":": "colon", "~": "tilde", "%": "percent", "+": "plus", "!": "exclamation mark",
    "$": "dollar", "'": "apostrophe", "(": "open bracket", ")": "close bracket", "*": "star", ",": "comma",
    ";": "semicolon",
}  # fmt: skip


def code(written: str, one: str = "") -> str:
    """Digit by digit, letters spelled: CA1234 -> C A one two three four."""
    return digits(written)


def phone(written: str, one: str = "") -> str:
    """Group by group as written, with a pause between groups."""
    groups = re.findall("[0-9]+", written)
    if len(groups) == 1 and len(groups[0]) == 10:
        groups = [groups[0][:3], groups[0][3:6], groups[0][6:]]
    return ("plus " if written.startswith("+") else "") + ", ".join(digits(group) for group in groups)


def letters(written: str) -> str:
    return digits(written)


def knows_currency(sign: str) -> bool:
    return sign in _CURRENCY or sign in _SAME


def money(currency: str, amount: str, scale: str = "") -> str:
    """$1,299.99 -> one thousand two hundred ninety-nine dollars and ninety-nine cents; $3.5 million as it stands."""
    names = _CURRENCY[_SAME.get(currency, currency)]
    amount = amount.replace(",", "")
    if scale:
        return f"{decimal(plain(amount))} {SCALES.get(scale, scale.lower())} {names[1]}"
    whole, _, fraction = amount.partition(".")
    if len(names) < 4 or len(fraction) > 2:
        return f"{decimal(plain(amount))} {names[0] if plain(amount) == '1' else names[1]}"
    cents = int(fraction.ljust(2, "0") or "0")
    big = f"{cardinal(whole)} {names[0] if int(whole) == 1 else names[1]}"
    small = f"{cardinal(str(cents))} {names[2] if cents == 1 else names[3]}"
    if not cents:
        return big
    return f"{big} and {small}" if int(whole) else small


def date(when: Date) -> str:
    """2024-05-12 -> May twelfth, twenty twenty-four."""
    spoken = f"{MONTHS[when.month - 1]} {ordinal(str(when.day))}"
    return f"{spoken}, {year(when.year)}" if when.year else spoken


def clock(when: Clock) -> str:
    """3:30 pm -> three thirty P M; 9:00 -> nine o'clock; 17:00 -> five P M; 00:30 -> zero thirty."""
    half = {"a": " A M", "p": " P M", "": ""}[when.half]
    minute, second = when.minute, when.second or 0
    if minute == 0 and not second and not half:
        return _full_hour(when.hour)
    spoken = cardinal(str(when.hour))
    if minute or second:
        spoken += f" {'oh ' if minute < 10 else ''}{cardinal(str(minute))}"
    if second:
        spoken += f" and {cardinal(str(second))} second{'s' if second > 1 else ''}"
    return spoken + half


def _full_hour(hour: int) -> str:
    if hour in (0, 24):
        return "midnight"
    return f"{cardinal(str(hour))} o'clock" if hour <= 12 else f"{cardinal(str(hour - 12))} P M"


def ordinal(written: str) -> str:
    return ordinal_word(written)


def number(written: str) -> str:
    """A quantity with an optional sign: -3.5 -> minus three point five."""
    return ("minus " if written.startswith("-") else "") + decimal(written.lstrip("+-"))


def address(written: str) -> str:
    """www.example.com -> w w w dot example dot com."""
    return " ".join(digits(piece) if piece.isdigit() else _SIGNS.get(piece, piece) for piece in address_pieces(written))
