"""How written forms are said in Chinese."""

from __future__ import annotations

import re

from jobs.forms import Clock, Date, address_pieces, plain, scaled
from jobs.numbers_zh import cardinal, decimal, digits

YAO = "幺"

_CURRENCY = {
    "￥": "元", "¥": "元", "CN¥": "元", "CN￥": "元", "CNY": "元", "RMB": "元", "$": "美元", "US$": "美元",
    "USD": "美元", "HK$": "港元", "HKD": "港元", "NT$": "新台币", "TWD": "新台币", "€": "欧元", "EUR": "欧元",
    "£": "英镑", "GBP": "英镑", "JP¥": "日元", "JPY": "日元", "₩": "韩元", "KRW": "韩元", "₽": "卢布",
    "RUB": "卢布", "₹": "卢比", "INR": "卢比", "฿": "泰铢", "THB": "泰铢", "A$": "澳元", "AUD": "澳元",
    "C$": "加元", "CAD": "加元", "S$": "新加坡元", "SGD": "新加坡元", "CHF": "瑞士法郎",
}  # fmt: skip
DEFAULT_CURRENCY: str | None = "¥"
SCALES = {"K": 1_000, "k": 1_000, "M": 1_000_000, "B": 1_000_000_000}
_SIGNS = {
    ".": "点", "@": "艾特", "/": "斜杠", "-": "杠", "_": "下划线", "?": "问号", "=": "等号", "&": "和",
    "#": "井号", ":": "冒号", "~": "波浪号", "%": "百分号", "+": "加号", "!": "叹号", "$": "美元符", "'": "撇号",
    "(": "左括号", ")": "右括号", "*": "星号", ",": "逗号", ";": "分号",
}  # fmt: skip


def code(written: str, one: str = "一") -> str:
    """Digit by digit, letters spelled: CA1234 -> C A 一二三四."""
    parts = re.findall("[0-9]+|[A-Za-z]", written)
    spoken = ""
    for part in parts:
        spoken += (
            digits(part, one) if part.isdigit() else (" " if spoken[-1:].isascii() and spoken else "") + part.upper()
        )
    return spoken


def phone(written: str, one: str = YAO) -> str:
    """Group by group as written; a mobile number without groups is said 3-4-4. 1 is 幺."""
    groups = re.findall("[0-9]+", written)
    if len(groups) == 1 and re.fullmatch("1[3-9][0-9]{9}", groups[0]):
        groups = [groups[0][:3], groups[0][3:7], groups[0][7:]]
    elif len(groups) == 1 and re.fullmatch("[48]00[0-9]{7}", groups[0]):
        groups = [groups[0][:3], groups[0][3:6], groups[0][6:]]
    return ("加" if written.startswith("+") else "") + "，".join(digits(group, one) for group in groups)


def letters(written: str) -> str:
    return " ".join(digits(char) if char.isdigit() else char.upper() for char in written if char.isalnum())


def knows_currency(sign: str) -> bool:
    return sign in _CURRENCY


def money(currency: str, amount: str, scale: str = "") -> str:
    """￥1,234.50 -> 一千二百三十四点五元. `scale`: 万, 亿 and the like, or a key of SCALES."""
    name = _CURRENCY[currency]
    if scale in SCALES:
        return decimal(scaled(amount, SCALES[scale]), liang=True) + name
    return decimal(plain(amount), liang=True) + scale + name


def date(when: Date) -> str:
    year = f"{digits(when.year)}年" if when.year else ""
    return f"{year}{cardinal(str(when.month))}月{cardinal(str(when.day))}日"


def clock(when: Clock) -> str:
    half = _half(when)
    spoken = f"{half}{cardinal(str(when.hour), liang=True)}点"
    if when.minute or when.second:
        spoken += _two(when.minute) + "分"
    if when.second:
        spoken += _two(when.second) + "秒"
    return spoken


def _half(when: Clock) -> str:
    """What Chinese calls that part of the day: 3 am is 凌晨, 8 pm 晚上."""
    if when.half == "a":
        return "凌晨" if when.hour == 12 or when.hour < 6 else "上午"
    if when.half == "p":
        return "中午" if when.hour == 12 else "下午" if when.hour < 7 else "晚上"
    return ""


def ordinal(written: str) -> str:
    return "第" + cardinal(written)


def number(written: str) -> str:
    """A quantity with an optional sign: -3.5 -> 负三点五."""
    return ("负" if written.startswith("-") else "") + decimal(written.lstrip("+-"))


def address(written: str) -> str:
    """help.example.cn/faq -> help点example点c n斜杠f a q."""
    spoken = ""
    for piece in address_pieces(written):
        said = digits(piece) if piece.isdigit() else _SIGNS.get(piece, piece)
        beside = said[0].isascii() and spoken[-1:].isascii() and spoken
        spoken += f" {said}" if beside else said
    return spoken


def _two(value: int) -> str:
    """Minutes and seconds: 5 -> 零五."""
    return ("零" if 0 < value < 10 else "") + cardinal(str(value))
