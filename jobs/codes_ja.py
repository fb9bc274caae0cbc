"""Codes in Japanese text, read digit by digit; other numbers are wetext's business."""

from __future__ import annotations

import re

from jobs.forms import DateOrder
from jobs.rules import Rule, RuleBook

_book = RuleBook()
_rule = _book.add

_DIGITS = str.maketrans("0123456789", "〇一二三四五六七八九")
_CODE_WORDS = (
    "確認コード|認証コード|認証番号|確認番号|暗証番号|予約番号|注文番号|会員番号|受付番号|お客様番号"
    "|口座番号|電話番号|内線|コード|パスワード"
)


@_rule(
    rf"(?:{_CODE_WORDS})(?:は|:|：|「|を|、|\s){{0,3}}(?P<s>[0-9]{{3,}})(?![0-9.,-]|\s?(?:桁|円|分|時|回|個|名|件|人|日|月|年))"
    r"|(?<![0-9A-Za-z.,-])(?P<t>0[0-9]{2,})(?![0-9.,-])"
)
def _code(match: re.Match[str], order: DateOrder) -> str:
    """確認コードは0451です."""
    return (match["s"] or match["t"]).translate(_DIGITS).replace("〇", "ゼロ")


RULES: tuple[Rule, ...] = tuple(_book.rules)
