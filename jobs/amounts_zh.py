"""Amounts in Chinese text: money, percent, units, powers, formulas, fractions."""

from __future__ import annotations

import re

from jobs.forms import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    DASH,
    FREE,
    NUMBER,
    DateOrder,
)
from jobs.language import HAN
from jobs.numbers_zh import cardinal, decimal, digits
from jobs.readings_zh import knows_currency, money
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add

MEASURE = (
    "个位名只条张件套种次遍回天周年小分秒元块角家本台辆部段句杯碗瓶盒包斤公千克吨米倍份场首篇步岁双对根片"
    "棵头座间批轮项类群代人字页口颗粒滴束匹艘架栋幢排桶袋箱卷册枚支扇毫厘平立升磅英兆摄处笔顿趟番道成"
)
"""Measure words, by their first character: before them 2 is 两."""
UNITS = {
    "km/h": "公里每小时", "m/s": "米每秒", "km": "公里", "cm": "厘米", "mm": "毫米", "μm": "微米", "nm": "纳米",
    "m": "米", "kg": "公斤", "mg": "毫克", "μg": "微克", "g": "克", "t": "吨", "L": "升", "l": "升", "mL": "毫升",
    "ml": "毫升", "ML": "毫升", "℃": "摄氏度", "°C": "摄氏度", "℉": "华氏度", "°F": "华氏度", "°": "度",
    "m²": "平方米", "㎡": "平方米", "m2": "平方米", "cm²": "平方厘米", "km²": "平方公里", "m³": "立方米",
    "m3": "立方米", "cm³": "立方厘米", "㎏": "公斤", "㎝": "厘米", "㎜": "毫米", "㎞": "公里", "㎎": "毫克",
    "㏄": "毫升", "mmHg": "毫米汞柱", "kWh": "千瓦时", "kW": "千瓦", "kw": "千瓦", "MW": "兆瓦", "W": "瓦",
    "V": "伏", "kV": "千伏", "mA": "毫安", "mAh": "毫安时", "Hz": "赫兹", "kHz": "千赫", "MHz": "兆赫",
    "GHz": "吉赫", "dB": "分贝", "Mbps": "兆比特每秒", "kbps": "千比特每秒", "h": "小时", "min": "分钟", "s": "秒",
    "ms": "毫秒", "kcal": "千卡", "kJ": "千焦", "Pa": "帕", "kPa": "千帕", "MPa": "兆帕", "hPa": "百帕",
    "px": "像素", "ft": "英尺", "lb": "磅", "lbs": "磅", "oz": "盎司", "mmol": "毫摩尔", "mol": "摩尔",
    "mph": "英里每小时", "rpm": "转每分钟", "bpm": "次每分钟", "ha": "公顷", "dL": "分升", "cc": "毫升",
    "CM": "厘米", "KG": "公斤", "KM": "公里",
}  # fmt: skip
UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
MINUS = r"(?:(?<![0-9A-Za-z)）%\]])[-−])"
SCALE = "万亿|千万|百万|十万|万|亿|千|百"


_SIGN = rf"(?:{CURRENCY_SIGNS}|(?<![A-Za-z])(?:{CURRENCY_CODES})\s?)"


@_rule(
    rf"(?P<neg>{MINUS})?(?P<cur>{_SIGN})\s?(?P<below>[-−](?=[0-9]))?(?P<a>{NUMBER})\s?(?P<sa>{SCALE}|[KkMB](?![A-Za-z]))?"
    rf"(?:\s?{DASH}{{1,2}}\s?(?:{_SIGN})?(?P<b>{NUMBER})\s?(?P<sb>{SCALE}|[KkMB](?![A-Za-z]))?)?(?P<unit>\s?(?:元|圆|块钱|块|人民币|美元|欧元|英镑|港币|港元|日元))?"
)
def _money(match: re.Match[str], order: DateOrder) -> str | None:
    currency = match["cur"].strip()
    if not knows_currency(currency):
        return None
    spoken = money(currency, match["a"], match["sa"] or "")
    if match["b"]:
        first = decimal(match["a"], liang=True) if match["sa"] in (None, match["sb"]) else spoken
        spoken = f"{first}到{money(currency, match['b'], match['sb'] or '')}"
    return ("负" if match["neg"] or match["below"] else "") + spoken


@_rule(
    rf"(?P<neg>{MINUS})?{FREE}(?P<a>{NUMBER})\s?(?:(?P<scale>{SCALE})\s?)?(?P<cur>{CURRENCY_CODES}|[€￥¥$£])(?![A-Za-z0-9])"
)
def _money_after(match: re.Match[str], order: DateOrder) -> str:
    return ("负" if match["neg"] else "") + money(match["cur"], match["a"], match["scale"] or "")


@_rule(rf"(?P<neg>{MINUS})?{FREE}(?P<a>{NUMBER})(?=元|块钱?|角|美元|欧元|英镑|港元|港币|日元|万元|亿元)")
def _yuan(match: re.Match[str], order: DateOrder) -> str | None:
    if "." not in match["a"] and "," not in match["a"] and not match["neg"]:
        return None
    from jobs.forms import plain

    return ("负" if match["neg"] else "") + decimal(plain(match["a"]), liang=True)


@_rule(
    rf"(?P<neg>[-+±]?)(?P<a>{NUMBER})[%％]?\s?{DASH}{{1,2}}\s?(?P<n2>-?)(?P<b>{NUMBER})\s?(?P<p>[%％‰])", needs="[%％‰]"
)
def _percent_range(match: re.Match[str], order: DateOrder) -> str:
    return f"{_percent(match['neg'], match['a'], match['p'])}到{_percent(match['n2'], match['b'], match['p'])}"


@_rule(rf"(?P<neg>{MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})\s?(?P<p>[%％‰])", needs="[%％‰]")
def _percentage(match: re.Match[str], order: DateOrder) -> str:
    return _percent(match["neg"] or "", match["a"], match["p"])


def _percent(sign: str, number: str, mark: str) -> str:
    spoken = {"-": "负", "−": "负", "+": "正", "±": "正负", "": ""}[sign]
    return f"{spoken}{'千分之' if mark == '‰' else '百分之'}{'百' if number == '100' else decimal(number)}"


_TIMED = re.compile("(?:在|每|约|第|前|后|剩|剩余|等待|超过|不足|仅|隔|持续|倒计时|用时|时长|最后)[^0-9，。]{0,2}$")


@_rule(rf"{FREE}(?P<s>(?P<y>[12][0-9]{{3}}|[0-9]0)'?s)(?![0-9A-Za-z])")
def _decade(match: re.Match[str], order: DateOrder) -> str:
    if len(match["y"]) == 4:
        return digits(match["y"]) + "年代"
    seconds = (
        match["y"] < "50" or re.match("[内后前左右钟倒的之以]|最快", after(match)) or _TIMED.search(before(match, 10))
    )
    return cardinal(match["y"]) + ("秒" if seconds else "年代")


@_rule(r"(?<![0-9A-Za-z.])(?P<d>[0-9]{1,3})°(?P<m>[0-9]{1,2})[′'](?:(?P<s2>[0-9]{1,2})[″\"])?", needs="°")
def _angle(match: re.Match[str], order: DateOrder) -> str:
    seconds = f"{cardinal(match['s2'])}秒" if match["s2"] else ""
    return f"{cardinal(match['d'])}度{cardinal(match['m'])}分{seconds}"


@_rule(
    rf"{FREE}(?P<h>[0-9]{{1,3}})\s?h\s?(?P<m>[0-9]{{1,2}})\s?(?:min|m)(?![A-Za-z0-9])"
    rf"|{FREE}(?P<m2>[0-9]{{1,3}})\s?min\s?(?P<s2>[0-9]{{1,2}})\s?s(?![A-Za-z0-9])",
    needs="[0-9]\\s?(?:h|min)",
)
def _time_taken(match: re.Match[str], order: DateOrder) -> str:
    """1h45min, 3min20s."""
    if match["h"]:
        return f"{cardinal(match['h'], liang=True)}小时{cardinal(match['m'], liang=True)}分钟"
    return f"{cardinal(match['m2'], liang=True)}分{cardinal(match['s2'])}秒"


@_rule(r"(?<=血压)[^0-9，。]{0,4}(?P<s>(?P<a>[0-9]{2,3})/(?P<b>[0-9]{2,3}))(?![0-9/A-Za-z])", needs="血压")
def _blood_pressure(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])}，{cardinal(match['b'])}"


@_rule(rf"(?<=[{HAN}）)])(?<![温度幅率值差数为是比])\s?\+\s?(?=[0-9])", needs=r"\+")
def _and(match: re.Match[str], order: DateOrder) -> str:
    """20GB流量+300分钟通话."""
    return "加"


@_rule(
    rf"(?P<neg>{MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})(?P<sc>[万亿]|百万|千万)?(?:\s?(?P<ua>{UNIT})?\s?[-–—~～至到]\s?(?P<n2>[-−]?)(?P<b>{NUMBER}))?"
    rf"\s?(?P<u>{UNIT})(?:/(?P<per>{UNIT}|[天日次人月年]))?(?![A-Za-z0-9²³])"
)
def _measure(match: re.Match[str], order: DateOrder) -> str | None:
    unit = UNITS[match["u"]]
    cold = unit == "摄氏度"
    minus = "零下" if cold else "负"
    signs = {"-": minus, "−": minus, "+": "正", "±": "正负", "": "", None: ""}
    spoken = signs[match["neg"]] + decimal(match["a"], liang=True)
    spoken += match["sc"] or ""
    if match["b"]:
        # -5~3℃: without the unit after the first number, 零下 would be heard before both.
        rises = cold and match["neg"] and not match["n2"] and match["b"].strip("0.")
        spoken += f"{unit if rises else ''}到{signs[match['n2']]}{decimal(match['b'], liang=True)}"
    per = match["per"]
    return spoken + unit + (f"每{UNITS.get(per, per)}" if per else "")


_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


@_rule(r"(?:\^(?P<n>[-−]?[0-9]{1,4})|(?P<up>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]+))", needs="[\\^⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]")
def _power(match: re.Match[str], order: DateOrder) -> str:
    written = match["n"] or match["up"].translate(_POWERS)
    preceding = before(match, 1)
    if written in ("2", "3") and not preceding.isdigit():
        return "平方" if written == "2" else "立方"
    sign = "负" if written[0] in "-−" else ""
    number = written.lstrip("-−+")
    return f"的{sign}{cardinal(number) if number.isdigit() else number}次方"


@_rule("[₀₁₂₃₄₅₆₇₈₉]+", needs="[₀-₉]")
def _subscript(match: re.Match[str], order: DateOrder) -> str:
    return digits(match[0].translate(_SUBSCRIPTS))


@_rule(rf"{FREE}(?P<a>{NUMBER})[eE](?P<n>[-+]?[0-9]{{1,3}})(?![0-9A-Za-z])")
def _scientific(match: re.Match[str], order: DateOrder) -> str:
    sign = "负" if match["n"].startswith("-") else ""
    return f"{decimal(match['a'])}乘十的{sign}{cardinal(match['n'].lstrip('+-'))}次方"


@_rule(rf"{FREE}(?P<a>[0-9]{{3,5}})\s?[x×X*]\s?(?P<b>[0-9]{{3,5}})(?![0-9A-Za-z.])")
def _resolution(match: re.Match[str], order: DateOrder) -> str:
    return f"{digits(match['a'])}乘{digits(match['b'])}"


_OPERATORS = {
    "+": "加", "-": "减", "−": "减", "×": "乘", "*": "乘", "x": "乘", "÷": "除以", "=": "等于", "≈": "约等于",
    "≠": "不等于", "<": "小于", ">": "大于", "≤": "小于等于", "≥": "大于等于", "±": "正负", "/": "除以",
}  # fmt: skip


@_rule(rf"{FREE}(?P<a>[0-9]{{1,4}})(?P<s>[-−])(?=[0-9]{{1,6}}\s?[=＝])", needs="=")
def _minus(match: re.Match[str], order: DateOrder) -> str:
    return "减"


@_rule(
    r"(?<=[0-9A-Za-z)）\ue000])\s?(?P<op>[+×*÷=≈≠<>≤≥±])\s?(?=[0-9A-Za-z(（\ue000-])|(?P<t>[≈≠≤≥±])|(?<=[0-9])(?P<x>x)(?=[0-9])",
    needs="[+×*÷=≈≠<>≤≥±x]",
)
def _operator(match: re.Match[str], order: DateOrder) -> str | None:
    sign = match["op"] or match["t"] or match["x"]
    between_numbers = before(match, 1).isdigit() or after(match)[:1].isdigit()
    if sign == "*" and not between_numbers:
        return None
    return _OPERATORS[sign]


@_rule(r"(?<![0-9/.])(?P<a>24)/(?P<b>7)(?![0-9/])")
def _always(match: re.Match[str], order: DateOrder) -> str:
    return "二十四七"


@_rule(rf"{FREE}(?:(?P<w>[0-9]{{1,4}})又)?(?P<a>[0-9]{{1,4}})/(?P<b>[1-9][0-9]{{0,3}})(?![0-9/.])")
def _fraction(match: re.Match[str], order: DateOrder) -> str:
    whole = f"{cardinal(match['w'])}又" if match["w"] else ""
    return f"{whole}{cardinal(match['b'])}分之{cardinal(match['a'])}"


_PER = (
    "晚|夜|月|年|季度?|周|天|日|小时|分钟?|秒|次|人|位|台|件|个|份|张|床|间|套"
    "|公里|公斤|千克|斤|吨|平方米|平米|平|米|升|亩|度|GB|MB|KB|TB|L|㎡|m²"
)


@_rule(
    rf"(?:(?<=[元角分块次片粒颗包瓶袋支台只个份张件位间床辆笔条ml克升转\ue000])|(?<=[KMGT][Bb]))\s?/\s?(?P<per>{_PER}|min|kg|km|s|h)(?![A-Za-z0-9])",
    needs="/",
)
def _per_unit(match: re.Match[str], order: DateOrder) -> str:
    """￥688/晚, 72次/分, 8GB/s."""
    unit = {"分": "分钟", "平": "平方米", "季": "季度"}.get(match["per"], match["per"])
    return f"每{UNITS.get(unit, unit)}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
