"""All rules for Chinese text in their order, and words for the signs that are left."""

from __future__ import annotations

import re

from jobs import amounts_zh, circled_zh, codes_zh, moments_zh, plain_zh
from jobs.language import HAN
from jobs.numbers_zh import digits
from jobs.readings_zh import address, code
from jobs.rules import Rule, address_rules


def _ip(written: str) -> str:
    return "点".join(digits(part) for part in written.split("."))


def _mac(written: str) -> str:
    return "，".join(code(pair) for pair in re.split("[:-]", written))


SHARED_RULES: tuple[Rule, ...] = tuple(address_rules(address, _ip, _mac))
RULES: tuple[Rule, ...] = (
    *SHARED_RULES,
    *codes_zh.RULES,
    *moments_zh.RULES,
    *amounts_zh.RULES,
    *plain_zh.RULES,
    *circled_zh.RULES,
)

_SWEEP = {
    "&": "和", "@": "艾特", "+": "加", "=": "等于", "%": "百分号", "％": "百分号", "#": "", "*": "", "_": " ",
    "^": "", "|": "，", "\\": "，", "~": "～", "°": "度", "→": "到", "←": " ", "↑": "上升", "↓": "下降", "®": "",
    "™": "", "©": "版权所有 ", "$": "美元", "￥": "元", "¥": "元", "€": "欧元", "£": "英镑", "×": "乘",
    "÷": "除以", "<": "小于", ">": "大于", "§": "第", "`": "", "{": "，", "}": "，", "•": "，", "·": "·",
    "‰": "千分之",
}  # fmt: skip
_SWEEP_SIGNS = re.compile("[" + re.escape("".join(_SWEEP)) + "]")


def sweep(text: str) -> str:
    """Words for the signs that are left; a stroke between words is a short pause."""
    text = re.sub(r"(?<![A-Za-z])C#", "C sharp", text)
    text = re.sub(rf"(?<=[元角分块])/(?=[{HAN}])", "每", text)
    text = re.sub(r"\s?/\s?", "，", text)
    return _SWEEP_SIGNS.sub(lambda found: _SWEEP[found[0]], text)
