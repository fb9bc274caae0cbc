"""Codes in Chinese text, read digit by digit: those that a word before or after them names, phone numbers, versions."""

from __future__ import annotations

import re

from jobs.forms import (
    FREE,
    KEYED,
    PHONE,
    DateOrder,
    is_phone,
    parse_date,
)
from jobs.numbers_zh import cardinal, digits
from jobs.readings_zh import YAO, code, phone
from jobs.rules import Rule, RuleBook, after, before, version_rule

_book = RuleBook()
_rule = _book.add

# Words after which a string of digits is a code. Those of the first list are said with 幺, as on the telephone.
_TELEPHONE_WORDS = (
    "电话号码|电话|手机号码?|手机|热线|座机|分机号码?|分机|内线|总机|房间号码?|房间|房号|门牌号?|客房|"
    "航班号?|车次|拨打|致电|拨|按键"
)
_CODE_WORDS = (
    "验证码|校验码|取件码|提货码|取货码|取餐码|取票码|兑换码|激活码|邀请码|授权码|动态码|确认码|识别码|序列号|密码|口令|密钥"
    "|订单号码?|订单编号|订单|单号|运单号?|快递单号|流水号|会员号|卡号|账号|帐号|账户|帐户|户号|工号|学号|编号|代码|邮编"
    "|邮政编码|身份证号码?|身份证|护照号?|尾号|车牌号?|QQ群号?|QQ号?|微信号?|群号|会议号|券码|优惠码|税号|端口号?|PIN码?|pin码|OTP|ID号?|合同号|工单号?|案件号|证件号码?|发票号码?"
)
_LINK = (
    r"(?:号码|号|是|为|：|:|「|『|“|\"|【|[(（]|\s|后[两三四五六]位|末[两三四五六]位|前[两三四五六]位|尾数|尾号|分别|改为|改成|设为|输入"
    r"|请按|即|就是|#){0,5}"
)
_QUANTITY = "位数?|个|次|分钟|秒|小时|天|年|月|日|元|点|人|条|份|张|笔|块|种|套|后|%|％|万|亿|名|:[0-9]|\\.[0-9]|,[0-9]"
# Groups of digits may stand apart (913 204), unless the second is a quantity of its own (1234 10分钟).
_CODE = (
    r"[A-Za-z]{0,6}(?:[-_]|(?<=[A-Z]) )?[0-9](?:[0-9A-Za-z]|[-_][0-9A-Za-z]"
    rf"|(?<=[0-9]) (?=[0-9]{{2,8}}(?![0-9A-Za-z]|\s?(?:{_QUANTITY}))))*"
)
_MORE = rf"\s*[、和或及与/]\s*{_CODE}(?![0-9A-Za-z]|\s?(?:{_QUANTITY}))"


@_rule(KEYED, needs="[*#][0-9]")
def _keyed(match: re.Match[str], order: DateOrder) -> str | None:
    """拨*21#, 门禁码#0307#: every sign is a key; #2024# without such a word is a topic."""
    if match[0][0] == "#" and not re.search("[码拨按入键打][^0-9，。]{0,2}$", before(match)):
        return None
    one = YAO if match[0][0] == "*" else "一"
    keys = {"*": "星号", "#": "井号"}
    return "".join(keys.get(key) or digits(key, one) for key in re.findall("[*#]|[0-9]+", match[0]))


@_rule(PHONE)
def _phone(match: re.Match[str], order: DateOrder) -> str | None:
    return phone(match[0]) if is_phone(match[0]) else None


@_rule(r"(?P<s>[*#])(?=\s?号?键)|(?:(?<=[按拨])|(?<=[按拨][0-9])|(?<=按[0-9]{2}))\s?(?P<t>[*#])", needs="[*#]")
def _key(match: re.Match[str], order: DateOrder) -> str:
    """按#键, 按*, 按1#."""
    sign = match["s"] or match["t"]
    named = after(match).lstrip().startswith("号")
    return ("星" if sign == "*" else "井") + ("" if named else "号")


@_rule(
    r"(?<![A-Za-z])N[Oo][.:：]\s?(?P<n>[A-Z]{0,4}-?[0-9]+(?:-[0-9A-Z]+)+|[A-Z]{0,4}-?[0-9]{7,})(?![0-9A-Za-z])",
    needs="N[Oo][.:：]",
)
def _numbered_code(match: re.Match[str], order: DateOrder) -> str:
    """No.20261130-0012."""
    groups = [code(group) for group in match["n"].split("-") if group]
    return "编号" + "，".join(groups)


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
    parts = re.split("([0-9A-Za-z_-]+)", re.sub("(?<=[0-9]) (?=[0-9])", "，", match["s"]))
    return "".join(_code(part, one) if number % 2 else part for number, part in enumerate(parts))


def _is_date(written: str) -> bool:
    """2024-08-15 after 单号 is a date; 3-2-1027 is a shelf, a layer and a number."""
    return re.match("[12][0-9]{3}[^0-9]", written) is not None and parse_date(written) is not None


def _code(written: str, one: str) -> str:
    """A code; its groups are kept apart, an underscore is named."""
    groups = [code(group, one) for group in written.replace("_", "-_-").split("-") if group != "_"]
    return ("下划线" if "_" in written else "，" if all(g.isdigit() for g in written.split("-")) else "").join(groups)


@_rule(r"(?<![0-9A-Za-z])(?P<s>(?:[A-Z]{2}|[0-9][A-Z]|[A-Z][0-9])[0-9]{3,4})(?![0-9A-Za-z-])", needs="[A-Z]")
def _flight_in_context(match: re.Match[str], order: DateOrder) -> str | None:
    """航班号3U8888，HO1256: each of them, as long as the sentence speaks of flights."""
    around = re.split("[。；！？]", before(match, 40))[-1] + re.split("[。；！？]", after(match, 12))[0]
    return code(match["s"], YAO) if "航班" in around else None


@_rule(
    r"(?<![0-9A-Za-z])(?P<s>(?:[A-Z][A-Z0-9] ?|[0-9][A-Z] ?|[GDCZTKYLS])[0-9]{1,4})"
    r"(?=(?:\s?[/、和及与]\s?[A-Z0-9][A-Z0-9]?[0-9]{1,4})*(?:次(?!数)|航班))"
)
def _flight(match: re.Match[str], order: DateOrder) -> str:
    written = match["s"].replace(" ", "")
    carrier = written.rstrip("0123456789")
    number = written.removeprefix(carrier)
    if len(number) < 3 and len(carrier) == 1:
        return f"{carrier}{cardinal(number)}"
    return code(written, YAO)


@_rule(
    r"(?<=[楼层栋座元])\s?(?P<s>[0-9]{3,4})(?=号|室|房)|(?:(?<=[栋座幢])|(?<=单元))(?P<t>[0-9]{3,4})(?![0-9.,]|[户人元个米平])"
)
def _room_of_a_floor(match: re.Match[str], order: DateOrder) -> str:
    return code(match[0], YAO)


@_rule(r"(?<![0-9A-Za-z.,-])(?P<s>(?P<a>[0-9]{1,4})[-–~～](?P<b>[0-9]{3,4}))(?=\s?(?:号?房(?!价)|室(?!友)))")
def _rooms(match: re.Match[str], order: DateOrder) -> str:
    """101-105室 are several rooms; 2-301室 is one, in building or staircase 2."""
    first = digits(match["a"], YAO) if len(match["a"]) > 2 else cardinal(match["a"])
    return f"{first}{'到' if len(match['a']) > 2 else '杠'}{digits(match['b'], YAO)}"


@_rule(r"(?<![0-9A-Za-z.,-])(?P<a>[0-9]{1,2})-(?P<b>[0-9]{3,4})(?=[，。；、,;）)\s]|$)")
def _room_in_an_address(match: re.Match[str], order: DateOrder) -> str | None:
    if not re.search("房号|号楼|[栋幢室]|单元|小区|[路街道弄巷里][0-9]+号", before(match, 30)):
        return None
    return f"{cardinal(match['a'])}杠{digits(match['b'], YAO)}"


@_rule(
    r"(?<![A-Za-z0-9])(?P<s>"
    r"(?P<p>[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-HJ-NP-Z])\s?[·•・ -]?"
    r"(?P<n>(?=[A-Z]{0,5}[0-9])[0-9A-Z]{4,6}))(?![0-9A-Za-z])"
)
def _number_plate(match: re.Match[str], order: DateOrder) -> str:
    return match["p"] + (" " if match["n"][0].isalpha() else "") + code(match["n"])


@_rule(
    r"(?<![0-9A-Za-z.,-])(?P<s>[A-Z]?-?[0-9]{3,5})(?=\s?(?:号?房间?(?!价)|号客房|室(?!友)|会议室|教室|病房|包厢|包间|诊室|分机))"
)
def _room(match: re.Match[str], order: DateOrder) -> str:
    return code(match["s"], YAO)


@_rule(
    r"(?<=[0-9)）\ue000])\s?转\s?(?P<s>[0-9]{1,6})(?![0-9])"
    r"|(?:^|(?<=[请可再需或，。：:；]))(?:[再直]接?|直接)?转(?:接|拨|至)?\s?(?P<t>[0-9]{3,5})(?=$|[，。；！？、,;!?.）)\s]|接|人工|即可|或|转)"
    r"|(?<=[按拨])\s?(?P<u>[0-9]{3,6})(?=转|接)"
)
def _extension(match: re.Match[str], order: DateOrder) -> str:
    if match["t"]:
        return match[0][: -len(match["t"])] + digits(match["t"], YAO)
    if match["u"]:
        return digits(match["u"], YAO)
    return digits(match["s"], YAO)


_HELP = "报警|匪警|急救|火警|交警|市民|政务|热线|客服|电话|平台|订票|投诉|举报"
# Numbers that nobody takes for a quantity.
_KNOWN = "10086|10010|12306|12315|12318|12329|12333|12348|12366|12369|1008611"


@_rule(
    r"(?:(?<=拨打)|(?<=[拨打])|(?<=致电)|(?<=呼叫)|(?<=热线)|(?<=电话))\s?(?P<s>[0-9]{3,8})(?![0-9A-Za-z.:,-])"
    rf"|(?<![0-9A-Za-z.,:-])(?P<t>110|119|120|122|12[0-9]{{3}}|1[01]0[0-9]{{2}}|95[0-9]{{3}})(?=\s?(?:{_HELP}))"
    r"|(?:(?<=监督|举报|投诉|咨询|客服|报修|热线)|(?<=监督[:：]|举报[:：]|投诉[:：]|咨询[:：]|客服[:：]|报修[:：]|热线[:：]|电话[:：]))"
    r"\s?(?P<v>1[0-2][0-9]{3}|9[56][0-9]{3})(?![0-9A-Za-z.:,-])"
    r"|(?<=报警|急救|火警|匪警|交警|银行|保险|证券)(?P<u>110|119|120|122|95[0-9]{3})(?![0-9A-Za-z.:,-])"
    r"|(?<![0-9A-Za-z.,-])(?P<area>0(?:10|2[0-9]|[3-9][0-9]{2})[- ](?:1[0-2][0-9]{3}|9[56][0-9]{3}))(?![0-9A-Za-z.,-])"
    rf"|(?<![0-9A-Za-z.,:-])(?P<k>{_KNOWN})(?![0-9A-Za-z:-]|[.,][0-9])"
)
def _hotline(match: re.Match[str], order: DateOrder) -> str | None:
    if not match["t"] and re.match(rf"\s?(?:{_QUANTITY}|折|分|户|家|亩|吨|米|公|千)", after(match)):
        return None
    return "，".join(digits(group, YAO) for group in re.split("[- ]", match[0].strip()))


@_rule(rf"{FREE}[0-9]{{17}}[0-9Xx](?![0-9A-Za-z])")
def _identity_card(match: re.Match[str], order: DateOrder) -> str:
    return code(match[0])


@_rule(
    r"(?<![0-9A-Za-z])(?P<v>[Vv]|[Vv]er\.?|(?<=版本)|(?<=版本号)|(?<=版本[:：是为 ]))"
    r"\s?(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4})+)(?![0-9])"
)
def _version(match: re.Match[str], order: DateOrder) -> str:
    spoken = _dotted(match["n"])
    return f"{match['v']} {spoken}" if match["v"] else spoken


def _dotted(written: str) -> str:
    return "点".join(cardinal(part) for part in written.split("."))


_book.rules.append(version_rule(_dotted))


RULES: tuple[Rule, ...] = tuple(_book.rules)
