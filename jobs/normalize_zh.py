"""What numbers, codes and symbols mean in Chinese text. Plain numbers, years and dates with 年月日 are left to wetext."""

from __future__ import annotations

import re

from jobs.forms import (
    CLOCK,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    DASH,
    DATE,
    FREE,
    NUMBER,
    PHONE,
    DateOrder,
    parse_clock,
    parse_date,
)
from jobs.language import HAN
from jobs.numbers_zh import cardinal, decimal, digits
from jobs.readings_zh import SCALES, YAO, address, clock, code, date, knows_currency, letters, money, phone
from jobs.rules import Rule, RuleBook, address_rules, after, before, version_rule

_book = RuleBook()
_rule = _book.add

# Words after which a string of digits is a code. Those of the first list are said with 幺, as on the telephone.
_TELEPHONE_WORDS = "电话号码|电话|手机号码?|手机|热线|座机|分机号码?|分机|房间号码?|房间|房号|门牌号|客房|航班号?|车次|拨打|致电|拨|按键"
_CODE_WORDS = (
    "验证码|校验码|取件码|提货码|取货码|取餐码|取票码|兑换码|激活码|邀请码|授权码|动态码|确认码|识别码|序列号|密码|口令|密钥"
    "|订单号码?|订单编号|订单|单号|运单号?|快递单号|流水号|会员号|卡号|账号|帐号|账户|帐户|户号|工号|学号|编号|代码|邮编"
    "|邮政编码|身份证号码?|身份证|护照号?|尾号|车牌号?|QQ号?|微信号?|PIN码?|pin码|OTP|ID号?|合同号|工单号?|案件号|证件号码?|发票号码?"
)
_LINK = (
    r"(?:号码|号|是|为|：|:|「|『|“|\"|【|[(（]|\s|后[两三四五六]位|末[两三四五六]位|前[两三四五六]位|尾数|尾号|分别|改为|改成|设为|输入"
    r"|请按|即|就是|#){0,5}"
)
_CODE = r"[A-Za-z]{0,6}[-_]?[0-9](?:[0-9A-Za-z]|[-_][0-9A-Za-z])*"
_QUANTITY = "位数?|个|次|分钟|秒|小时|天|年|月|日|元|点|人|条|份|张|笔|块|种|套|后|%|％|万|亿|名|:[0-9]|\\.[0-9]|,[0-9]"
_MEASURE = "个位名只条张件套种次遍回天周年小分秒元块角家本台辆部段句杯碗瓶盒包斤公千克吨米倍份场首篇步岁双对根片棵头座间批轮项类群代"
_MEASURE += "人字页口颗粒滴束匹艘架栋幢排桶袋箱卷册枚支扇毫厘平立升磅英兆摄处笔顿趟番道成"
_UNITS = {
    "km/h": "公里每小时", "m/s": "米每秒", "km": "公里", "cm": "厘米", "mm": "毫米", "μm": "微米", "nm": "纳米", "m": "米",
    "kg": "公斤", "mg": "毫克", "μg": "微克", "g": "克", "t": "吨", "L": "升", "l": "升", "mL": "毫升", "ml": "毫升",
    "ML": "毫升", "℃": "摄氏度", "°C": "摄氏度", "℉": "华氏度", "°F": "华氏度", "°": "度", "m²": "平方米", "㎡": "平方米",
    "m2": "平方米", "cm²": "平方厘米", "km²": "平方公里", "m³": "立方米", "m3": "立方米", "cm³": "立方厘米", "㎏": "公斤",
    "㎝": "厘米", "㎜": "毫米", "㎞": "公里", "㎎": "毫克", "㏄": "毫升", "mmHg": "毫米汞柱", "kWh": "千瓦时", "kW": "千瓦",
    "kw": "千瓦", "MW": "兆瓦", "W": "瓦", "V": "伏", "kV": "千伏", "mA": "毫安", "mAh": "毫安时", "Hz": "赫兹", "kHz": "千赫",
    "MHz": "兆赫", "GHz": "吉赫", "dB": "分贝", "Mbps": "兆比特每秒", "kbps": "千比特每秒", "h": "小时", "min": "分钟", "s": "秒",
    "ms": "毫秒", "kcal": "千卡", "kJ": "千焦", "Pa": "帕", "kPa": "千帕", "MPa": "兆帕", "hPa": "百帕", "px": "像素",
    "ft": "英尺", "lb": "磅", "lbs": "磅", "oz": "盎司", "mmol": "毫摩尔", "mol": "摩尔", "mph": "英里每小时", "rpm": "转每分钟",
    "ha": "公顷", "dL": "分升", "cc": "毫升",
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_MINUS = r"(?:(?<![0-9A-Za-z)）%\]])[-−])"
_SCALE = "万亿|千万|百万|十万|万|亿|千|百"
_MORE = rf"\s*[、和或及与/]\s*{_CODE}(?![0-9A-Za-z]|\s?(?:{_QUANTITY}))"


@_rule(r"(?P<s>[*#])(?=\s?号?键)|(?<=[按拨])\s?(?P<t>[*#])", needs="[*#]")
def _key(match: re.Match[str], order: DateOrder) -> str:
    sign = match["s"] or match["t"]
    named = after(match).lstrip().startswith("号")
    return ("星" if sign == "*" else "井") + ("" if named else "号")


@_rule(rf"(?<![A-Za-z])(?i:{_TELEPHONE_WORDS}|{_CODE_WORDS}){_LINK}(?P<s>(?:{_CODE})(?:{_MORE})*)(?![0-9A-Za-z])")
def _code_in_context(match: re.Match[str], order: DateOrder) -> str | None:
    word = re.match(f"(?i:{_TELEPHONE_WORDS})", match[0])
    one = YAO if word else "一"
    following = after(match)
    if re.match(rf"\s?(?:{_QUANTITY})", following) or re.fullmatch("[0-9]", match["s"]) or _is_date(match["s"]):
        return None
    if word and PHONE.fullmatch(match["s"]):
        return phone(match["s"])
    if re.fullmatch(r"(?:\S*[A-Za-z])?[0-9]{1,2}", match["s"]) and word and word[0] in ("手机", "按键", "房间", "客房"):
        return None
    parts = re.split("([0-9A-Za-z_-]+)", match["s"])
    return "".join(_code(part, one) if number % 2 else part for number, part in enumerate(parts))


def _is_date(written: str) -> bool:
    return not written.isdigit() and parse_date(written) is not None


def _code(written: str, one: str) -> str:
    """A code; its groups are kept apart, an underscore is named."""
    groups = [code(group, one) for group in written.replace("_", "-_-").split("-") if group != "_"]
    return ("下划线" if "_" in written else "，" if all(g.isdigit() for g in written.split("-")) else "").join(groups)


@_rule(r"(?<![0-9A-Za-z])(?P<s>(?:[A-Z][A-Z0-9] ?|[0-9][A-Z] ?|[GDCZTKYLS])[0-9]{1,4})(?=次(?!数)|航班|次列车)")
def _flight(match: re.Match[str], order: DateOrder) -> str:
    written = match["s"].replace(" ", "")
    number = re.search("[0-9]+$", written)
    assert number is not None
    if len(number[0]) < 3 and len(written) - len(number[0]) == 1:
        return f"{written[0]}{cardinal(number[0])}"
    return code(written, YAO)


@_rule(r"(?<![0-9A-Za-z.,-])(?P<s>[A-Z]?-?[0-9]{3,5})(?=\s?(?:号?房间?(?!价)|号客房|室(?!友)|分机))")
def _room(match: re.Match[str], order: DateOrder) -> str:
    return code(match["s"], YAO)


@_rule(PHONE)
def _phone(match: re.Match[str], order: DateOrder) -> str | None:
    return None if parse_date(match[0], order) else phone(match[0])


@_rule(r"(?<=[0-9)）\ue000])\s?转\s?(?P<s>[0-9]{1,6})(?![0-9])")
def _extension(match: re.Match[str], order: DateOrder) -> str:
    return digits(match["s"], YAO)


@_rule(
    r"(?:(?<=拨打)|(?<=[拨打])|(?<=致电)|(?<=呼叫)|(?<=热线)|(?<=电话))\s?(?P<s>[0-9]{3,8})(?![0-9A-Za-z.:,-])"
    r"|(?<![0-9A-Za-z.,:-])(?P<t>110|119|120|122|12[0-9]{3}|1[01]0[0-9]{2}|95[0-9]{3})(?=\s?(?:报警|急救|热线|客服|电话|平台))"
)
def _hotline(match: re.Match[str], order: DateOrder) -> str | None:
    if match["s"] and re.match(rf"\s?(?:{_QUANTITY}|折|分)", after(match)):
        return None
    return match[0].replace(match["s"] or match["t"], digits(match["s"] or match["t"], YAO)).strip()


@_rule(rf"{FREE}[0-9]{{17}}[0-9Xx](?![0-9A-Za-z])")
def _identity_card(match: re.Match[str], order: DateOrder) -> str:
    return code(match[0])


@_rule(
    r"(?<![0-9A-Za-z])(?P<v>[Vv]|[Vv]er\.?|(?<=版本)|(?<=版本号)|(?<=版本[:：是为 ]))\s?(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4})+)(?![0-9])"
)
def _version(match: re.Match[str], order: DateOrder) -> str:
    spoken = _dotted(match["n"])
    return f"{match['v']} {spoken}" if match["v"] else spoken


def _dotted(written: str) -> str:
    return "点".join(cardinal(part) for part in written.split("."))


_book.rules.append(version_rule(_dotted))


@_rule(rf"{FREE}(?P<y>[12][0-9]{{3}})-(?P<m>[01][0-9])-(?P<d>[0-3][0-9])T(?=[0-9]{{2}}:)")
def _iso_day(match: re.Match[str], order: DateOrder) -> str | None:
    found = parse_date(match[0][:-1])
    return date(found) if found else None


@_rule(DATE)
def _date(match: re.Match[str], order: DateOrder) -> str | None:
    found = parse_date(match[0], order)
    return date(found) if found else None


@_rule(
    rf"(?P<a>年|月|日|号|(?<=[0-9])季度?|周[一二三四五六日]|[时点分]|[0-9])\s?(?P<s>{DASH}{{1,2}})\s?(?=[0-9]{{1,4}}(?:年|月|日|号))",
    needs="[年月日号]",
)
def _date_range(match: re.Match[str], order: DateOrder) -> str | None:
    """2024年1月1日-5日, 3月-5月. Between bare numbers (2019-2023年) see the ranges below."""
    return None if match["a"].isdigit() else "到"


@_rule(r"(?<=[年月日号周一二三四五六日])\s?(?P<s>[-–—~～])\s?(?=[周星][期一二三四五六日])", needs="[周星]")
def _week_range(match: re.Match[str], order: DateOrder) -> str:
    return "到"


@_rule(
    rf"(?P<ratio>(?:比分|比例|配比|比率|赔率|比值|以|大比分|宽高比|画幅|长宽比)[^0-9，。]{{0,4}})?{FREE}"
    rf"(?<!:)(?P<s>(?P<a>[0-9]{{1,4}}):(?P<b>[0-9]{{1,4}}))(?![0-9:])(?P<after>[^0-9，。]{{0,3}})"
)
def _ratio(match: re.Match[str], order: DateOrder) -> str | None:
    is_time = len(match["b"]) == 2 and int(match["a"]) <= 24 and int(match["b"]) < 60 and match["b"] != "00"
    is_time = is_time or (match["b"] == "00" and int(match["a"]) <= 24)
    said = match["ratio"] or re.match("的?(?:战|大?比分|比例|获胜|领先|落后|取胜|胜|负|平)", match["after"])
    known = (match["a"], match["b"]) in (("16", "10"), ("21", "10"))
    if is_time and not said and not known:
        return None
    return f"{cardinal(match['a'])}比{cardinal(match['b'])}"


@_rule(
    rf"(?P<h>上午|下午|晚上|早上|凌晨|中午)?{FREE}(?P<s>(?P<a>{CLOCK.pattern})(?:\s?{DASH}{{1,2}}\s?(?P<b>{CLOCK.pattern.replace('([0', '(?:[0').replace('([A', '(?:[A')}))?)"
    r"(?![0-9:])"
)
def _clock(match: re.Match[str], order: DateOrder) -> str | None:
    first, second = parse_clock(match["a"]), parse_clock(match["b"]) if match["b"] else None
    if first is None or (match["b"] and second is None):
        return None
    return clock(first) + (f"到{clock(second)}" if second else "")


_SIGN = rf"(?:{CURRENCY_SIGNS}|(?<![A-Za-z])(?:{CURRENCY_CODES})\s?)"


@_rule(
    rf"(?P<neg>{_MINUS})?(?P<cur>{_SIGN})\s?(?P<a>{NUMBER})\s?(?P<sa>{_SCALE}|[KkMB](?![A-Za-z]))?"
    rf"(?:\s?{DASH}{{1,2}}\s?(?:{_SIGN})?(?P<b>{NUMBER})\s?(?P<sb>{_SCALE}|[KkMB](?![A-Za-z]))?)?(?P<unit>\s?(?:元|圆|块钱|块|人民币|美元|欧元|英镑|港币|港元|日元))?"
)
def _money(match: re.Match[str], order: DateOrder) -> str | None:
    currency = match["cur"].strip()
    if not knows_currency(currency):
        return None
    spoken = money(currency, match["a"], match["sa"] or "")
    if match["b"]:
        first = decimal(match["a"], liang=True) if match["sa"] in (None, match["sb"]) else spoken
        spoken = f"{first}到{money(currency, match['b'], match['sb'] or '')}"
    return ("负" if match["neg"] else "") + spoken


@_rule(
    rf"(?P<neg>{_MINUS})?{FREE}(?P<a>{NUMBER})\s?(?:(?P<scale>{_SCALE})\s?)?(?P<cur>{CURRENCY_CODES}|[€￥¥$£])(?![A-Za-z0-9])"
)
def _money_after(match: re.Match[str], order: DateOrder) -> str:
    return ("负" if match["neg"] else "") + money(match["cur"], match["a"], match["scale"] or "")


@_rule(rf"(?P<neg>{_MINUS})?{FREE}(?P<a>{NUMBER})(?=元|块钱?|角|美元|欧元|英镑|港元|港币|日元|万元|亿元)")
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


@_rule(rf"(?P<neg>{_MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})\s?(?P<p>[%％‰])", needs="[%％‰]")
def _percentage(match: re.Match[str], order: DateOrder) -> str:
    return _percent(match["neg"] or "", match["a"], match["p"])


def _percent(sign: str, number: str, mark: str) -> str:
    spoken = {"-": "负", "−": "负", "+": "正", "±": "正负", "": ""}[sign]
    return f"{spoken}{'千分之' if mark == '‰' else '百分之'}{decimal(number)}"


@_rule(rf"{FREE}(?P<s>(?P<y>[12][0-9]{{3}}|[0-9]0)'?s)(?![0-9A-Za-z])")
def _decade(match: re.Match[str], order: DateOrder) -> str:
    return digits(match["y"]) + "年代" if len(match["y"]) == 4 else cardinal(match["y"]) + "年代"


@_rule(
    rf"(?P<neg>{_MINUS}|(?<![0-9A-Za-z])[+±])?{FREE}(?P<a>{NUMBER})(?:\s?(?P<ua>{_UNIT})?\s?[-–—~～至到]\s?(?P<n2>[-−]?)(?P<b>{NUMBER}))?"
    rf"\s?(?P<u>{_UNIT})(?:/(?P<per>{_UNIT}|[天日次人月年]))?(?![A-Za-z0-9²³])"
)
def _measure(match: re.Match[str], order: DateOrder) -> str | None:
    unit = _UNITS[match["u"]]
    cold = unit == "摄氏度"
    minus = "零下" if cold else "负"
    signs = {"-": minus, "−": minus, "+": "正", "±": "正负", "": "", None: ""}
    spoken = signs[match["neg"]] + decimal(match["a"], liang=True)
    if match["b"]:
        spoken += f"到{signs[match['n2']]}{decimal(match['b'], liang=True)}"
    per = match["per"]
    return spoken + unit + (f"每{_UNITS.get(per, per)}" if per else "")


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


_OPERATORS = {"+": "加", "-": "减", "−": "减", "×": "乘", "*": "乘", "x": "乘", "÷": "除以", "=": "等于", "≈": "约等于",
              "≠": "不等于", "<": "小于", ">": "大于", "≤": "小于等于", "≥": "大于等于", "±": "正负", "/": "除以"}  # fmt: skip


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


@_rule(
    r"(?<=公元前)(?P<a>[0-9]{1,4})(?=年)|(?<=公元)(?P<b>[0-9]{1,4})(?=年)|(?<![0-9])(?P<c>[0-9]0|[0-9]5)(?=后(?!来|面|[0-9]|天|年|背|门|方|续|期|勤|台|果|悔|代))"
)
def _era(match: re.Match[str], order: DateOrder) -> str:
    return digits(match[0])


@_rule(rf"{FREE}(?P<s>(?P<a>[12][0-9]{{3}})\s?{DASH}{{1,2}}\s?(?P<b>[12][0-9]{{3}}))(?![0-9A-Za-z.,]|{DASH})")
def _years(match: re.Match[str], order: DateOrder) -> str | None:
    preceding = before(match, 8)
    if re.search(r"[A-Z]{1,4}(?:/[A-Z])?\s?$", preceding) or int(match["a"]) > int(match["b"]):
        return None
    following = after(match, 1)
    if following and following in _MEASURE and following != "年":
        return None
    return f"{digits(match['a'])}到{digits(match['b'])}"


@_rule(
    r"(?<![0-9A-Za-z])(?P<s>(?P<y>(?:19|20)[0-9]{2}))(?=\s?(?:年|届|级(?!别)|财年|赛季|款|版|春夏|秋冬|学年|世界杯|奥运会|全国))"
)
def _year(match: re.Match[str], order: DateOrder) -> str:
    return digits(match["y"])


@_rule(
    r"(?<![0-9A-Za-z])(?P<s>(?P<l>[A-Z]{1,5}(?:/[A-Z]{1,2})?)\s(?P<n>[0-9]{3,6}(?:\.[0-9]+)?(?:-[0-9]{2,4})?))(?![0-9A-Za-z])"
)
def _standard(match: re.Match[str], order: DateOrder) -> str | None:
    """GB/T 7714-2015, ISO 9001, RTX 4090."""
    spoken = "，".join("点".join(digits(part) for part in group.split(".")) for group in match["n"].split("-"))
    return f"{match['l'].replace('/', ' ')} {spoken}"


@_rule(
    r"(?<![0-9A-Za-z])(?=[A-Za-z0-9-]*[A-Za-z])(?=[A-Za-z-]*[0-9])(?P<s>[A-Za-z0-9]+(?:[-–][A-Za-z0-9]+)*)(?![0-9A-Za-z]|\.[0-9])"
)
def _model_name(match: re.Match[str], order: DateOrder) -> str | None:
    """GPT-4o, COVID-19, B2B, MP3, iPhone15, A380: letters as they are, up to two digits as a number, more one by one."""
    written = match["s"]
    if re.fullmatch(r"[A-Z]2[A-Z]", written):
        return f"{written[0]} to {written[2]}"
    parts = re.findall("[A-Za-z]+|[0-9]+", written)
    leading = parts[0].isdigit() and len(parts) == 2 and len(parts[0]) > 2
    said = [_model_part(part) if not leading else decimal(part) if part.isdigit() else part for part in parts]
    return "".join(said)


def _model_part(part: str) -> str:
    if not part.isdigit():
        return part
    return cardinal(part) if len(part) <= 2 and part[0] != "0" else digits(part)


@_rule(
    rf"(?<![0-9A-Za-z.])(?P<sc>(?:比分|大比分|以|总分)[^0-9，。]{{0,4}})?(?P<s>(?P<a>[0-9]{{1,3}}){DASH}(?P<b>[0-9]{{1,3}}))(?![0-9A-Za-z.,:-])(?P<after>[^0-9，。]{{0,3}})"
)
def _score(match: re.Match[str], order: DateOrder) -> str | None:
    if not match["sc"] and not re.match("的?(?:战|大?比分|获胜|领先|落后|取胜|战胜|击败|力克)", match["after"]):
        return None
    return f"{cardinal(match['a'])}比{cardinal(match['b'])}"


@_rule(
    rf"(?P<neg>{_MINUS})?{FREE}(?P<a>{NUMBER})(?P<sa>{_SCALE})?\s?{DASH}{{1,2}}\s?(?P<b>{NUMBER})(?![0-9A-Za-z]|[-.:,][0-9])(?=(?P<after>\s?[{HAN}]?))"
)
def _range(match: re.Match[str], order: DateOrder) -> str | None:
    if any(len(part) > 1 and part[0] == "0" and "." not in part for part in (match["a"], match["b"])):
        return None
    liang = match["after"].strip() in _MEASURE and bool(match["after"].strip())
    if re.match("[月日号点期级]", match["after"].strip()):
        liang = False
    ordinal = before(match, 1) == "第"
    first, second = (decimal(part, liang=liang and not ordinal) for part in (match["a"], match["b"]))
    return f"{'负' if match['neg'] else ''}{first}{match['sa'] or ''}到{second}"


@_rule(
    r"(?<![0-9A-Za-z.,])(?P<s>0[0-9]+)(?![0-9A-Za-z.:]|,[0-9]{3})|(?<![0-9A-Za-z.,])(?P<t>[0-9]{10,})(?![0-9A-Za-z.,元人个万亿次吨件块])"
)
def _bare_code(match: re.Match[str], order: DateOrder) -> str | None:
    """Leading zeros, and strings too long for a quantity, are codes."""
    if re.match("[月日点分秒号时]", after(match)) and len(match[0]) == 2:
        return cardinal(match[0])
    return digits(match[0])


@_rule(r"(?<![0-9A-Za-z])(?P<a>[0-9]{3,}(?:-[0-9]{2,}){1,})(?![0-9A-Za-z])")
def _grouped_code(match: re.Match[str], order: DateOrder) -> str:
    return "，".join(digits(group) for group in match[0].split("-"))


@_rule(r"(?<=第)\s?(?P<s>[0-9]{1,15})(?![0-9.,])")
def _ordinal(match: re.Match[str], order: DateOrder) -> str:
    return cardinal(match["s"])


@_rule(
    r"(?:(?<![0-9A-Za-z])|(?<=第))(?P<s>X{0,3}(?:IX|IV|V?I{1,3}|V|X))(?=期|级|世|型|章|卷|部|类|度|册|篇|代)|(?<=第)(?P<t>[IVX]{1,6})",
    needs="[IVX]",
)
def _roman(match: re.Match[str], order: DateOrder) -> str | None:
    written = match["s"] or match["t"]
    value = roman_value(written)
    return cardinal(str(value)) if value else None


def roman_value(written: str) -> int:
    """The value of a well-formed Roman numeral up to 39; 0 for anything else."""
    if not re.fullmatch("X{0,3}(?:IX|IV|V?I{0,3})", written) or not written:
        return 0
    values = {"I": 1, "V": 5, "X": 10}
    numbers = [values[char] for char in written]
    pairs = zip(numbers, [*numbers[1:], 0], strict=True)
    return sum(-now if now < following else now for now, following in pairs)


@_rule(r"[①-⑳❶-❿➀-➉㈠-㈩⑴-⑽]", needs="[①-⑳❶-❿➀-➉㈠-㈩⑴-⑽]")
def _circled(match: re.Match[str], order: DateOrder) -> str:
    for first in "①❶➀㈠⑴":
        offset = ord(match[0]) - ord(first)
        if 0 <= offset < (20 if first == "①" else 10):
            return cardinal(str(offset + 1))
    return match[0]


@_rule("[½⅓⅔¼¾⅛]", needs="[½⅓⅔¼¾⅛]")
def _vulgar(match: re.Match[str], order: DateOrder) -> str:
    spoken = {"½": "二分之一", "⅓": "三分之一", "⅔": "三分之二", "¼": "四分之一", "¾": "四分之三", "⅛": "八分之一"}[
        match[0]
    ]
    return ("又" if before(match, 1).isdigit() else "") + spoken


@_rule(r"(?i:(?<![A-Za-z])(?:No|Nos)\.\s?|№\s?|#\s?)(?P<n>[0-9]{1,6})(?![0-9])", needs="[oO#№]")
def _numero(match: re.Match[str], order: DateOrder) -> str | None:
    if match[0].startswith("#"):
        return f"{cardinal(match['n'])}号"
    return f"第{cardinal(match['n'])}"


@_rule(rf"(?P<neg>{_MINUS})?{FREE}(?P<a>{NUMBER})(?P<plus>\+?)(?![0-9A-Za-z])")
def _plain_number(match: re.Match[str], order: DateOrder) -> str | None:
    """What wetext reads wrongly: separators, signs, 2次, 2点, numbers it takes for telephone numbers."""
    written, following = match["a"], after(match)
    telephone = re.fullmatch("1[012][0-9]|1[0-2][0-9]{3}|9[56][0-9]{3}|400[0-9]*", written) is not None
    two = written == "2" and re.match(r"次|点(?!\d)|倍|题", following) is not None
    unit = written == "2" and following.startswith("单元")
    if not (match["neg"] or match["plus"] or "," in written or "." in written or telephone or two or unit):
        return None
    liang = not unit and following[:1] != "" and (following[0] in _MEASURE or two)
    return ("负" if match["neg"] else "") + decimal(written, liang=liang) + ("加" if match["plus"] else "")


def _ip(written: str) -> str:
    return "点".join(digits(part) for part in written.split("."))


_spelled_letters = Rule(re.compile(r"(?<=字母)\s?[A-Z]{2,6}(?![A-Za-z])"), lambda match, order: letters(match[0]), None)
SHARED_RULES: tuple[Rule, ...] = tuple(address_rules(address, _ip))
RULES: tuple[Rule, ...] = (*SHARED_RULES, *_book.rules)

_SWEEP = {
    "&": "和", "@": "艾特", "+": "加", "=": "等于", "%": "百分号", "％": "百分号", "#": "", "*": "", "_": " ", "^": "",
    "|": "，", "\\": "，", "~": "～", "°": "度", "→": "到", "←": " ", "↑": "上升", "↓": "下降", "®": "", "™": "", "©": "版权所有 ",
    "$": "美元", "￥": "元", "¥": "元", "€": "欧元", "£": "英镑", "×": "乘", "÷": "除以", "<": "小于", ">": "大于", "§": "第",
    "`": "", "{": "，", "}": "，", "•": "，", "·": "·", "‰": "千分之",
}  # fmt: skip
_SWEEP_SIGNS = re.compile("[" + re.escape("".join(_SWEEP)) + "]")


def sweep(text: str) -> str:
    """Words for the signs that are left; a stroke between words is a short pause."""
    text = re.sub(rf"(?<=[元角分块])/(?=[{HAN}])", "每", text)
    text = re.sub(r"\s?/\s?", "，", text)
    return _SWEEP_SIGNS.sub(lambda found: _SWEEP[found[0]], text)
