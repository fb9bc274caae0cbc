"""Codes in English text, read digit by digit: those that a word before them names, phone numbers, versions."""

from __future__ import annotations

import re

from jobs.forms import (
    KEYED,
    PHONE,
    DateOrder,
    is_phone,
    parse_date,
)
from jobs.numbers_en import cardinal, digits
from jobs.readings_en import code, phone
from jobs.rules import Rule, RuleBook, after, before, version_rule

_book = RuleBook()
_rule = _book.add

_CODE_WORDS = (
    "PINs?|OTP|passcode|password|access code|security code|verification code|confirmation code|area code|zip "
    "code|postal code|code"
    "|tracking number|confirmation number|reference number|phone number|flight number|room number|order "
    "number|account number"
    "|Rx|S/N|prescription number|card number"
    "|serial number|invoice number|ticket number|case number|member number|number plate|ID number|ID"
)
_PLACE_WORDS = "room|suite|apartment|apt\\.?|unit|extension|ext\\.?|flight|gate|bus|route|highway|interstate|channel"
_NUMBERED_WORDS = (
    "order|account|card|case|ticket|reference|confirmation|invoice|tracking|member|booking|policy|claim|serial"
)
_LINK = r"(?:\s+(?:is|are|was|number|no\.|ending in|ends in|ending with|of|in)|\s*[:#=]|\s)*\s*[\"'“‘(]?"
_CODE = (
    r"(?:[0-9]{1,8}(?:-[0-9]{1,8}){2,6}(?![0-9A-Za-z-])"  # 100-2003-4
    r"|(?:[A-Z]{1,8}|[a-z]{1,3})?-?[0-9](?:[0-9A-Z]|[- ](?=[0-9]{2})[0-9])*)"
)
_QUANTITY = (
    r"\s?(?:digits?|minutes?|seconds?|hours?|days?|weeks?|months?|years?|times|characters?|people|percent|%|dollars|units?|items?|a\.?m|p\.?m)"
    r"|:[0-9]|\.[0-9]|,[0-9]{3}"
)


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


@_rule(
    r"\b(?:Order|Case|Ticket|Account|Invoice|Claim|Booking|Reservation|Policy) (?P<s>[0-9]{4,})"
    r"(?=\s(?:has|is|was|will|ships|shipped|contains|cannot|could)\b|\s*$|[.;!?](?:\s|$))"
)
def _named_number(match: re.Match[str], order: DateOrder) -> str:
    """Order 12345 has shipped."""
    return code(match["s"])


@_rule(r"\bFlights (?P<s>[0-9]{2,4}(?:(?:,| &| and|, and) [0-9]{2,4})+)(?![0-9A-Za-z,.]?[0-9])", needs="Flights")
def _flights(match: re.Match[str], order: DateOrder) -> str:
    """Flights 101, 202 & 303."""
    said = re.sub("[0-9]+", lambda number: digits(number[0]) if len(number[0]) > 2 else cardinal(number[0]), match["s"])
    return said.replace("&", "and")


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


@_rule(KEYED, needs="[*#][0-9]")
def _keyed(match: re.Match[str], order: DateOrder) -> str | None:
    """Dial *21*5550199#: every sign is a key; #2024# without such a word is a topic."""
    if match[0][0] == "#" and not re.search(r"(?i)\b(?:code|dial|enter|press|call|is)\b[^0-9.,]{0,3}$", before(match)):
        return None
    keys = {"*": "star", "#": "pound"}
    return ", ".join(keys.get(key) or digits(key) for key in re.findall("[*#]|[0-9]+", match[0]))


@_rule(PHONE)
def _phone(match: re.Match[str], order: DateOrder) -> str | None:
    return phone(match[0]) if is_phone(match[0]) else None


@_rule(
    r"(?i:call|dial|phone|text|tel\.?|fax|at)(?: us)?(?: at| on)?:?\s(?P<s>[0-9]{3}-[0-9]{4}|[2-9]11|999|112|988)"
    r"(?![0-9A-Za-z-])"
)
def _local_phone(match: re.Match[str], order: DateOrder) -> str:
    return phone(match["s"])


@_rule(
    r"(?<![0-9A-Za-z-])(?P<s>[0-9]{3}-[0-9]{4})(?=,?\s?(?:x|ext\.?|extension)\s?[0-9])"
    r"|\b(?i:dial|call|phone)\s(?P<t>[0-9]{2,4}(?:\s[0-9]{1,5}){2,6})(?![0-9A-Za-z])"
)
def _phone_in_context(match: re.Match[str], order: DateOrder) -> str:
    """555-0199 x204; dial 011 44 20 7946 0958."""
    return phone(match["s"]) if match["s"] else match[0][: match.start("t") - match.start()] + phone(match["t"])


@_rule(
    r"(?<=\ue000),?\sx\.?\s?(?P<n>[0-9]{2,6})(?![0-9A-Za-z])|\b(?i:at|dial|call)\s(?P<s>x(?P<m>[0-9]{3,5}))(?![0-9A-Za-z])"
)
def _extension(match: re.Match[str], order: DateOrder) -> str:
    return f"extension {digits(match['m'])}" if match["m"] else f", extension {digits(match['n'])}"


@_rule(r"\b(?i:text(?:ing)?\s(?:the word\s)?[\"“']?[a-z]+[\"”']?\sto\s)(?P<s>[0-9]{4,6})(?![0-9A-Za-z-]|[.,][0-9])")
def _short_code(match: re.Match[str], order: DateOrder) -> str:
    """Text HELP to 72345."""
    return digits(match["s"])


@_rule(r"\bor (?P<s>[2-9]11|988)(?![0-9A-Za-z-])", needs="11|988")
def _other_local_phone(match: re.Match[str], order: DateOrder) -> str | None:
    """Dial 911 in an emergency, or 311."""
    return phone(match["s"]) if re.search(r"(?i)\b(?:dial|call|text)\b", before(match, 60)) else None


@_rule(r"(?i:\bP\.?\s?O\.?\s?)?\bBox (?P<s>[0-9]{3,6})(?![0-9A-Za-z])", needs="Box")
def _box(match: re.Match[str], order: DateOrder) -> str:
    return digits(match["s"])


@_rule(r"\b[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?(?![0-9A-Za-z])")
def _iban(match: re.Match[str], order: DateOrder) -> str:
    return ", ".join(code(group) for group in match[0].split(" "))


@_rule(r"(?P<s>(?P<st>\b[A-Z]{2}) (?P<z>[0-9]{5}(?:-[0-9]{4})?))(?![0-9A-Za-z-])")
def _zip(match: re.Match[str], order: DateOrder) -> str:
    return f"{' '.join(match['st'])} {', '.join(digits(part) for part in match['z'].split('-'))}"


@_rule(
    r"(?<![0-9A-Za-z.])(?P<v>[Vv]|[Vv]ersion |[Vv]er\. ?|[Rr]elease |[Pp]ython )"
    r"(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4})*)(?![0-9A-Za-z]|[.,][0-9])"
)
def _version(match: re.Match[str], order: DateOrder) -> str:
    named = {"V": "V", "v": "v"}.get(match["v"], match["v"].strip())
    return f"{named} {_dotted(match['n'])}"


def _dotted(written: str) -> str:
    return " point ".join(cardinal(part) for part in written.split("."))


_book.rules.append(version_rule(_dotted))


RULES: tuple[Rule, ...] = tuple(_book.rules)
