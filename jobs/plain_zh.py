"""Other numbers in Chinese text: years, names of models, scores, ranges, bare codes, ordinals.

What is left after them (plain numbers, 年月日) goes to wetext."""

from __future__ import annotations

import re

from jobs.amounts_zh import MEASURE, MINUS, SCALE, UNIT
from jobs.forms import (
    DASH,
    FREE,
    NUMBER,
    DateOrder,
    roman_value,
)
from jobs.language import HAN
from jobs.numbers_zh import cardinal, decimal, digits
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add


@_rule(
    r"(?<=公元前)(?P<a>[0-9]{1,4})(?=年)|(?<=公元)(?P<b>[0-9]{1,4})(?=年)|(?<=[^元公目之以从先提])前(?P<s>[1-9][0-9]{1,3})(?=年)|(?<![0-9])(?P<c>[0-9]0|[0-9]5)(?=后(?!来|面|[0-9]|天|年|背|门|方|续|期|勤|台|果|悔|代))"
)
def _era(match: re.Match[str], order: DateOrder) -> str | None:
    if match["s"]:
        return digits(match["s"]) if "公元前" in before(match, 60) else None
    return digits(match[0])


@_rule(r"(?<=《)(?:1[0-9]{3}|20[0-9]{2})(?=》)", needs="《[0-9]")
def _title(match: re.Match[str], order: DateOrder) -> str:
    return digits(match[0])


@_rule(rf"{FREE}(?P<s>(?P<a>[12][0-9]{{3}})\s?{DASH}{{1,2}}\s?(?P<b>[12][0-9]{{3}}))(?![0-9A-Za-z.,]|{DASH})")
def _years(match: re.Match[str], order: DateOrder) -> str | None:
    preceding = before(match, 8)
    if re.search(r"[A-Z]{1,4}(?:/[A-Z])?\s?$", preceding) or int(match["a"]) > int(match["b"]):
        return None
    following = after(match, 1)
    if following and following in MEASURE and following != "年":
        return None
    return f"{digits(match['a'])}到{digits(match['b'])}"


@_rule(rf"{FREE}(?P<a>(?:19|20)[0-9]{{2}}){DASH}(?P<b>[0-9]{{2}})(?=年|赛季|学年)")
def _season(match: re.Match[str], order: DateOrder) -> str:
    return f"{digits(match['a'])}到{digits(match['b'])}"


@_rule(
    r"(?<![0-9A-Za-z])(?P<s>(?P<y>(?:19|20)[0-9]{2}))(?=\s?(?:年|届|级(?!别)|财年|赛季|款|版|春夏|秋冬|学年|世界杯|奥运会|全国)"
    r"|[〕\]］])"
)
def _year(match: re.Match[str], order: DateOrder) -> str | None:
    if match["y"] == "2000" and (
        re.search("(?:约|近|距今|已有|长达|历经|过去)$", before(match))
        or re.match("年(?:来|的?(?:历史|文明|岁月|光阴))", after(match))
    ):
        return "两千"  # so many years, not the year
    if after(match)[:1] in "〕]］" and before(match, 1) not in ("〔", "[", "［"):
        return None
    return digits(match["y"])


@_rule(
    r"(?<![0-9A-Za-z.])(?P<d>(?:985|211)(?=(?:[、/和]211)?(?:高校|大学|工程|院校|名校))|(?:996|007|965)(?=工作制|加班)"
    r"|(?:618|6\.18)(?=大促|购物|年中|活动|狂欢|促销|当天|期间|预售|红包|特惠|开门红)|(?:11\.11|12\.12)(?=大促|购物|狂欢|活动|促销))"
    r"|(?<![A-Za-z0-9])K?N(?P<mask>95)(?![0-9A-Za-z])|(?<![0-9.])(?P<feast>5\.1|6\.1|10\.1)(?=假期|小?长假|黄金周|劳动节|儿童节|国庆)"
    r"|(?<![0-9.·])(?P<day>[0-9]{1,2}[·•][0-9]{1,2})(?![0-9.·])"
)
def _by_name(match: re.Match[str], order: DateOrder) -> str:
    """985高校, N95, 5.1假期, 9·11: known by their digits."""
    if match["feast"]:
        return {"5.1": "五一", "6.1": "六一", "10.1": "十一"}[match["feast"]]
    return digits(re.sub("[.·•]", "", match[0]))


@_rule(
    r"(?<![0-9A-Za-z])(?P<s>(?P<l>[A-Z]{1,5}(?:/[A-Z]{1,2})?)\s(?P<n>[0-9]{3,6}(?:\.[0-9]+)?(?:-[0-9]{2,4})?))(?![0-9A-Za-z])"
)
def _standard(match: re.Match[str], order: DateOrder) -> str | None:
    """GB/T 7714-2015, ISO 9001, RTX 4090."""
    spoken = "，".join("点".join(digits(part) for part in group.split(".")) for group in match["n"].split("-"))
    return f"{match['l'].replace('/', ' ')} {spoken}"


@_rule(r"(?<![0-9A-Za-z])(?P<l>[A-Z])(?P<a>[0-9]{1,3})\s?[-–—~～]\s?(?P=l)(?P<b>[0-9]{1,3})(?![0-9A-Za-z])")
def _series(match: re.Match[str], order: DateOrder) -> str | None:
    """Q1-Q3, B1-B3层."""
    if int(match["a"]) >= int(match["b"]):
        return None
    return f"{match['l']}{_model_part(match['a'])}到{match['l']}{_model_part(match['b'])}"


@_rule(
    r"(?<![0-9A-Za-z])(?<![0-9][.,])(?=[A-Za-z0-9-]{0,40}[A-Za-z])(?=[A-Za-z-]{0,40}[0-9])(?P<s>[A-Za-z0-9]+(?:[-–][A-Za-z0-9]+)*)(?![0-9A-Za-z]|\.[0-9])"
)
def _model_name(match: re.Match[str], order: DateOrder) -> str | None:
    """GPT-4o, COVID-19, B2B, MP3, iPhone15, A380: letters as they are, up to two digits as a number, more "
    "one by one."""
    written = match["s"]
    if re.fullmatch(r"[BCDEFGMOPSV]2[BCDEFGMOPSTVX]", written):
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
    if not match["sc"] and not re.match(
        "的?(?:战|大?比分|获胜|领先|落后|取胜|战胜|击败|力克|险胜|大胜|完胜|惜败|不敌|逆转|胜|负)", match["after"]
    ):
        return None
    return f"{cardinal(match['a'])}比{cardinal(match['b'])}"


@_rule(
    r"(?<![0-9、第.,])(?P<s>(?P<a>[1-9])、(?P<b>[2-9]))"
    r"(?=岁|[个天次米里遍句斤杯口步把本块条件位名](?!月[份初底中])|分钟|小时|公里|公斤|[百千万]|年(?![级代])|个月)",
    needs="、",
)
def _about(match: re.Match[str], order: DateOrder) -> str | None:
    """2、3个, 4、5岁: about so many, without a pause."""
    if int(match["b"]) != int(match["a"]) + 1:
        return None
    return cardinal(match["a"], liang=True) + ("两" if match["b"] == "2" else cardinal(match["b"]))


@_rule(r"(?<![0-9A-Za-z])[0-9]+(?:-[0-9]+){2,}(?![0-9A-Za-z]|\.[0-9])", needs="-[0-9]+-")
def _chain(match: re.Match[str], order: DateOrder) -> str:
    return "，".join(digits(group) for group in match[0].split("-"))


@_rule(r"(?<=[图表式例])\s?(?P<s>(?P<a>[0-9]{1,3})-(?P<b>[0-9]{1,3}))(?![0-9A-Za-z.-])", needs="[图表式例]")
def _numbered_figure(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])}杠{cardinal(match['b'])}"


@_rule(r"(?<=满)(?P<s>(?P<a>[0-9]{1,6})-(?P<b>[0-9]{1,6}))(?![0-9A-Za-z.,-])", needs="满")
def _rebate(match: re.Match[str], order: DateOrder) -> str | None:
    return f"{cardinal(match['a'])}减{cardinal(match['b'])}" if int(match["a"]) > int(match["b"]) else None


@_rule(
    rf"(?<=[{HAN}])(?<![为是至到达约于低高得温度额值率数差跌降涨升减负亏])-(?P<n>[0-9]{{1,4}})(?![0-9.,]|\s?[{DASH[1:-1]}][0-9]|\s?(?:{UNIT})(?![A-Za-z])|\s?[度元分点级米%％‰万亿倍日月层楼]|\s?=)"
)
def _hyphen_in_a_name(match: re.Match[str], order: DateOrder) -> str:
    """东风-41, 歼-20, 附件-2: the stroke joins."""
    return _model_part(match["n"])


_MATCH = re.compile("NBA|CBA|[篮足排]球|季后赛|总决赛|比赛|联赛|主场|客场")


@_rule(
    rf"(?P<neg>{MINUS})?{FREE}(?P<a>{NUMBER})(?P<sa>{SCALE})?\s?{DASH}{{1,2}}\s?(?P<b>{NUMBER})(?![0-9A-Za-z]|[-.:,][0-9])(?=(?P<after>\s?[{HAN}]{{0,2}}))"
)
def _range(match: re.Match[str], order: DateOrder) -> str | None:
    if any(len(part) > 1 and part[0] == "0" and "." not in part for part in (match["a"], match["b"])):
        return None
    following = match["after"].strip()
    liang = following[:1] in MEASURE and following != "" and not re.match("[月日号点期级]|年级", following)
    ordinal = before(match, 1) == "第"
    may_fall = not (match["neg"] or match["sa"]) and "." not in match[0]
    falls = may_fall and (len(match["b"]) <= 2 or _MATCH.search(before(match, 40)) is not None)
    if falls and int(match["a"].replace(",", "")) > int(match["b"].replace(",", "")):
        # No range runs downwards: a score, or staircase 3 of house 12.
        word = "杠" if re.match("[号栋幢楼单室座]", following) else "比"
        return f"{cardinal(match['a'])}{word}{cardinal(match['b'])}"
    first, second = (decimal(part, liang=liang and not ordinal) for part in (match["a"], match["b"]))
    return f"{'负' if match['neg'] else ''}{first}{match['sa'] or ''}到{second}"


@_rule(
    r"(?<![0-9A-Za-z.,])(?P<s>0[0-9]+)(?![0-9A-Za-z:]|\.[0-9]|,[0-9]{3})|(?<![0-9A-Za-z.,])(?P<t>[0-9]{10,})(?![0-9A-Za-z.,元人个万亿次吨件块])"
)
def _bare_code(match: re.Match[str], order: DateOrder) -> str | None:
    """Leading zeros, and strings too long for a quantity, are codes."""
    if re.match("[月日点分秒号时]", after(match)) and len(match[0]) == 2:
        return cardinal(match[0])
    return digits(match[0])


@_rule(r"(?<![0-9A-Za-z])[0-9]{3,}(?:-[0-9]{2,})+(?![0-9A-Za-z]|\.[0-9])")
def _grouped_code(match: re.Match[str], order: DateOrder) -> str:
    return "，".join(digits(group) for group in match[0].split("-"))


@_rule(r"(?<=第)\s?(?P<s>[0-9]{1,15})(?![0-9.,])")
def _ordinal(match: re.Match[str], order: DateOrder) -> str:
    """A lottery's 第2024123期 starts with its year."""
    draw = len(match["s"]) >= 5 and after(match)[:1] == "期"
    return digits(match["s"]) if draw else cardinal(match["s"])


@_rule(
    r"(?:(?<![0-9A-Za-z])|(?<=第))(?P<s>X{0,3}(?:IX|IV|V?I{1,3}|V|X))(?=期|级|世|型|章|卷|部|类|度|册|篇|代)|(?<=第)(?P<t>[IVX]{1,6})",
    needs="[IVX]",
)
def _roman(match: re.Match[str], order: DateOrder) -> str | None:
    written = match["s"] or match["t"]
    value = roman_value(written)
    return cardinal(str(value)) if value else None


@_rule("[½⅓⅔¼¾⅛]", needs="[½⅓⅔¼¾⅛]")
def _vulgar(match: re.Match[str], order: DateOrder) -> str:
    spoken = {"½": "二分之一", "⅓": "三分之一", "⅔": "三分之二", "¼": "四分之一", "¾": "四分之三", "⅛": "八分之一"}[
        match[0]
    ]
    return ("又" if before(match, 1).isdigit() else "") + spoken


@_rule(r"(?<![0-9A-Za-z])(?P<n>[0-9]{1,4})#(?=汽油|柴油|油|楼|机|门|线|库|车|站|泵|炉|桥|口|厂|仓)", needs="#")
def _numbered_thing(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['n'])}号"


@_rule(r"(?i:(?<![A-Za-z])(?:No|Nos)\.\s?|№\s?|#\s?)(?P<n>[0-9]{1,6})(?![0-9])", needs="[oO#№]")
def _numero(match: re.Match[str], order: DateOrder) -> str | None:
    if match[0].startswith("#"):
        return f"{cardinal(match['n'])}号"
    return f"第{cardinal(match['n'])}"


@_rule(rf"(?P<neg>{MINUS})?{FREE}(?P<a>{NUMBER})(?P<plus>\+?)(?![0-9])")
def _plain_number(match: re.Match[str], order: DateOrder) -> str | None:
    """What wetext reads wrongly: separators, signs, 2次, 2点, numbers it takes for telephone numbers."""
    written, following = match["a"], after(match)
    if match["neg"] and before(match, 1) == "\ue000":
        return None  # a stroke after something already read is no minus
    telephone = re.fullmatch("1[012][0-9]|1[0-2][0-9]{3}|9[56][0-9]{3}|400[0-9]*", written) is not None
    two = (
        written == "2"
        and re.match(
            r"次|点(?!\d)|点(?=\d{1,2}分)|倍|题|份|年(?!级)|场|首|句|部|间|晚|夜|桌|盒|期限|种|门课", following
        )
        is not None
    )
    unit = written == "2" and re.match("单元|[日月号楼层级班期]", following) is not None
    if not (match["neg"] or match["plus"] or "," in written or "." in written or telephone or two or unit):
        return None
    liang = not unit and following[:1] != "" and (following[0] in MEASURE or two)
    return ("负" if match["neg"] else "") + decimal(written, liang=liang) + ("加" if match["plus"] else "")


RULES: tuple[Rule, ...] = tuple(_book.rules)
