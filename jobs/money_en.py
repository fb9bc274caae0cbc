"""Money in English text: signs and codes before and after the amount, shillings and pence, cents."""

from __future__ import annotations

import re

from jobs.amounts_en import MINUS, SCALE, per_unit
from jobs.attributive_en import counts_as_adjective
from jobs.forms import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    DASH,
    FREE,
    NUMBER,
    DateOrder,
)
from jobs.numbers_en import cardinal, decimal
from jobs.readings_en import knows_currency, money
from jobs.rules import Rule, RuleBook

_book = RuleBook()
_rule = _book.add

_SIGN = rf"(?:{CURRENCY_SIGNS}|\b(?:{CURRENCY_CODES})\s?)"
_AMOUNT_SCALE = rf"(?:\s(?:{SCALE})\b|(?:bn|[KkMmBT])(?![A-Za-z0-9]))"


@_rule(
    r"£(?P<l>[0-9]{1,6}) (?P<s1>[0-9]{1,2})s(?:\. (?P<d>[0-9]{1,2})d|,? (?P<d2>[0-9]{1,2})d)?(?![0-9A-Za-z])"
    r"(?:\.(?=\s[a-z]|[,;:)]))?",
    needs="£",
)
def _old_money(match: re.Match[str], order: DateOrder) -> str:
    """£3 4s. 6d."""
    pence = match["d"] or match["d2"]
    spoken = f"{money('£', match['l'])}{'' if pence else ' and'} {cardinal(match['s1'])}"
    spoken += f" shilling{'' if match['s1'] == '1' else 's'}"
    return spoken + (f" and {cardinal(pence)} {'penny' if pence == '1' else 'pence'}" if pence else "")


@_rule(
    rf"(?P<neg>{MINUS})?(?P<cur>{_SIGN})\s?(?P<below>[-−](?=[0-9]))?(?P<a>{NUMBER}|\.[0-9]{{2}}(?![0-9]))(?:\s?{DASH}\s?(?:{_SIGN})?(?P<b>{NUMBER}))?(?P<scale>{_AMOUNT_SCALE})?(?P<adj>-(?=[a-z]))?(?P<per>/(?P<unit>[A-Za-z]+)(?:\.(?=\s[a-z]|[,;:)]))?)?"
)
def _money(match: re.Match[str], order: DateOrder) -> str | None:
    """$5, -$35.20, $-35.20, $.99, $5-$10."""
    currency, scale = match["cur"].strip(), (match["scale"] or "").strip()
    if not knows_currency(currency):
        return None
    amount = match["a"] if match["a"][0] != "." else f"0{match['a']}"
    spoken = money(currency, match["b"] or amount, scale)
    if match["b"]:
        first = decimal(amount) if "." not in amount else money(currency, amount)
        spoken = f"{first} to {spoken}"
    elif match["adj"] or (not match["per"] and counts_as_adjective(match)):
        spoken = re.sub(r"s$|s(?= and )", "", spoken) + (" " if match["adj"] else "")
    spoken += f" per {per_unit(match['unit'])}" if match["per"] else ""
    return ("minus " if match["neg"] or match["below"] else "") + spoken


@_rule(rf"{FREE}(?P<a>{NUMBER})(?P<scale>\s(?:{SCALE}))?\s?(?P<cur>{CURRENCY_CODES}|[€£￥¥])(?![A-Za-z0-9])")
def _money_after(match: re.Match[str], order: DateOrder) -> str:
    return money(match["cur"], match["a"], (match["scale"] or "").strip())


@_rule(rf"{FREE}(?P<a>{NUMBER})\s?(?P<c>[¢])", needs="¢")
def _cents(match: re.Match[str], order: DateOrder) -> str:
    return f"{decimal(match['a'])} {'cent' if match['a'] == '1' else 'cents'}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
