"""Whether an amount in English text stands before the thing it describes: its unit is then said as of one."""

from __future__ import annotations

import re

from jobs.rules import after, before

_ARTICLES = "the|your|our|my|his|her|its|their|this|that|each|every|any|one|another|no"
_ADJECTIVES = (
    "additional|extra|new|remaining|initial|annual|monthly|weekly|daily|one-time|full|flat|standard|usual|minimum|maximum"
    "|small|optional|total|current|same|recent|last|first|late|service|processing|cancellation|application|activation"
    "|registration|security|gift|cash|overdraft|early|termination|refundable|non-?refundable|setup|delivery|shipping"
    "|booking|convenience|membership|welcome|hard|data|external|solid-state|memory|wide|flat-screen|touch"
)
_FEES = (
    "fees?|surcharges?|deposits?|fines?|vouchers?|coupons?|bonus(?:es)?|tablets?|capsules?|pills?|gift cards?|co-?pays?"
    "|late fees?"
)
_THINGS = (
    "charge|payment|bill|discount|credit|limit|penalty|tip|ticket|order|transfer|refund|premium|donation|loan|note|check"
    "|cheque|reward|plan|minimum|maximum|purchase|balance|price|budget|prize|package|bundle|drive|disk|disc|card|allowance"
    "|cap|model|version|bottle|can|bag|pack|box|tank|engine|motor|screen|monitor|display|cable|tower|radius|zone|battery"
    "|adapter|charger|bulb|race|run|walk|swim|dash|sprint|journey|climb|rope|ladder|pole|wall|fence|lens|gun|cannon|shell"
    "|pipe|tube|board|barrel|connection|phone|laptop|tablet|stick|window|notice|delay|wait|break|interval"
)


def counts_as_adjective(match: re.Match[str]) -> bool:
    """a $95 fee, your 10GB plan: one dollar, one gigabyte in form."""
    following = after(match, 60)
    if re.search(r"\b[Aa]n?\s$", before(match)):
        return re.match(r"\s[A-Za-z]", following) is not None
    if re.match(rf"\s(?:{_FEES})\b", following):
        return True
    return (
        re.match(rf"\s(?:(?:{_ADJECTIVES})\s){{0,2}}(?:{_FEES}|{_THINGS})\b", following) is not None
        and re.search(rf"(?i)\b(?:{_ARTICLES})\s(?:(?:{_ADJECTIVES})\s)?$", before(match, 40)) is not None
    )
