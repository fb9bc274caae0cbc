"""Numbers in Chinese words, from their written digits."""

from __future__ import annotations

import re

DIGITS = "零一二三四五六七八九"
_BIG = ("", "万", "亿", "万亿")
_SPOKEN = str.maketrans("0123456789", DIGITS)
LONGEST_CARDINAL = 16
"""Digits above which a number is read digit by digit."""


def digits(written: str, one: str = "一") -> str:
    """Digit by digit; `one` is how 1 is said (一, or 幺 on the telephone). Other characters stay."""
    return written.translate(_SPOKEN).replace("一", one)


def cardinal(written: str, *, liang: bool = False) -> str:
    """A whole number as a quantity: 1203 -> 一千二百零三. `liang`: a lone 2 is 两 (before measure words)."""
    written = written.lstrip("0") or "0"
    if len(written) > LONGEST_CARDINAL:
        return digits(written)
    if written == "2" and liang:
        return "两"
    groups = [written[max(0, end - 4) : end] for end in range(len(written), 0, -4)][::-1]
    spoken, gap = "", False
    for place, group in zip(range(len(groups) - 1, -1, -1), groups, strict=True):
        if int(group) == 0:
            gap = bool(spoken)
            continue
        needs_zero = bool(spoken) and (gap or group[0] == "0")
        spoken += ("零" if needs_zero else "") + _group(group.lstrip("0"), place > 0) + _BIG[place]
        gap = False
    return _liang(re.sub("^一十", "十", spoken)) if spoken else "零"


def decimal(written: str, *, liang: bool = False) -> str:
    """A number with an optional fraction: 2.50 -> 二点五零. Thousands separators are dropped."""
    whole, _, fraction = written.replace(",", "").partition(".")
    spoken = cardinal(whole or "0", liang=liang and not fraction)
    return f"{spoken}点{digits(fraction)}" if fraction else spoken


def year(written: str) -> str:
    return digits(written)


def _group(group: str, before_unit: bool) -> str:
    """Up to four digits without leading zeros."""
    spoken, zero = "", False
    for place, digit in zip(range(len(group) - 1, -1, -1), group, strict=True):
        if digit == "0":
            zero = True
            continue
        spoken += ("零" if zero and spoken else "") + DIGITS[int(digit)] + ("", "十", "百", "千")[place]
        zero = False
    return "两" if before_unit and group == "2" else spoken


def _liang(spoken: str) -> str:
    """两百, 两千 at the start of a number; inside it 二 stays (一万二千)."""
    return "两" + spoken[1:] if re.match("二[百千]", spoken) else spoken
