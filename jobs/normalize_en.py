"""All rules for English text in their order, and words for the signs that are left. No library but the words of whole
numbers: wetext's English grammar refuses much and drops the one of 1,000."""

from __future__ import annotations

import re

from jobs import abbreviations_en, addresses_en, amounts_en, codes_en, fractions_en, moments_en, money_en, plain_en
from jobs.numbers_en import digits
from jobs.readings_en import address, code
from jobs.rules import Rule, address_rules


def _ip(written: str) -> str:
    return " dot ".join(digits(part) for part in written.split("."))


def _mac(written: str) -> str:
    return ", ".join(code(pair) for pair in re.split("[:-]", written))


RULES: tuple[Rule, ...] = (
    *address_rules(address, _ip, _mac),
    *addresses_en.RULES,
    *codes_en.RULES,
    *moments_en.RULES,
    *money_en.RULES,
    *fractions_en.RULES,
    *amounts_en.RULES,
    *plain_en.RULES,
    *abbreviations_en.RULES,
)

_SWEEP = {
    "&": " and ", "@": " at ", "+": " plus ", "=": " equals ", "%": " percent ", "#": " ", "*": " ", "_": " ",
    "^": " ", "|": ", ", "\\": " ", "~": " ", "°": " degrees ", "→": " to ", "←": " ", "↑": " up ", "↓": " down ",
    "®": "", "™": "", "©": " copyright ", "$": " dollar ", "€": " euro ", "£": " pound ", "¥": " yuan ",
    "￥": " yuan ", "×": " times ", "÷": " divided by ", "<": " less than ", ">": " greater than ",
    "§": " section ", "¶": " paragraph ", "`": "", "{": ", ", "}": ", ", "•": ", ", "‰": " per mille ", "/": " ",
}  # fmt: skip
_SWEEP_SIGNS = re.compile("[" + re.escape("".join(_SWEEP)) + "]")


def sweep(text: str) -> str:
    """Words for the signs that are left."""
    return _SWEEP_SIGNS.sub(lambda found: _SWEEP[found[0]], text)
