"""Dates and times in Chinese text."""

from __future__ import annotations

import re
from dataclasses import replace

from jobs import scores_zh
from jobs.forms import (
    CLOCK,
    DASH,
    DATE,
    FREE,
    Clock,
    DateOrder,
    parse_clock,
    parse_date,
)
from jobs.numbers_zh import cardinal, digits
from jobs.readings_zh import clock, date
from jobs.rules import Rule, RuleBook, before

_book = RuleBook()
_rule = _book.add


@_rule(
    rf"(?<=[（(])(?P<a>[1-9][0-9]{{2,3}})(?P<y>年?)\s?{DASH}{{1,2}}\s?(?P<b>[1-9][0-9]{{2,3}})(?=年?[）)])"
    rf"|(?<=公元前)(?P<c>[1-9][0-9]{{0,3}})年?\s?{DASH}{{1,2}}\s?(?P<before>公元前|前)(?P<d>[1-9][0-9]{{0,3}})(?=年)"
)
def _life(match: re.Match[str], order: DateOrder) -> str | None:
    """李白（701年—762年）, 公元前551-前479年."""
    if match["c"]:
        return f"{digits(match['c'])}到{match['before']}{digits(match['d'])}"
    return f"{digits(match['a'])}{match['y']}到{digits(match['b'])}" if int(match["a"]) < int(match["b"]) else None


@_rule(rf"{FREE}(?P<y>[12][0-9]{{3}})-(?P<m>[01][0-9])-(?P<d>[0-3][0-9])T(?=[0-9]{{2}}:)")
def _iso_day(match: re.Match[str], order: DateOrder) -> str | None:
    found = parse_date(match[0][:-1])
    return date(found) if found else None


@_rule(
    r"(?<![0-9A-Za-z/.])(?P<y>[0-9]{2})/(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12][0-9]|3[01])(?![0-9A-Za-z/])", needs="/"
)
def _short_date(match: re.Match[str], order: DateOrder) -> str:
    return f"{digits(match['y'])}年{cardinal(match['m'])}月{cardinal(match['d'])}日"


@_rule(
    r"(?:(?<=[已将请定拟须应]于)|(?<=截至)|(?<=截止)|(?<=[日时][期间][:：为是]))(?P<s>(?P<m>1[0-2]|0?[1-9])/(?P<d>3[01]|[12][0-9]|0?[1-9]))(?![0-9A-Za-z/])"
    r"|(?<![0-9A-Za-z/.])(?P<t>(?P<m2>1[0-2]|0?[1-9])/(?P<d2>3[01]|[12][0-9]|0?[1-9]))(?=到期|截止|发货|前送达|上午|下午|晚上|[（(](?:周|星期))",
    needs="/",
)
def _month_and_day(match: re.Match[str], order: DateOrder) -> str:
    month, day = match[0].split("/")
    return f"{cardinal(month)}月{cardinal(day)}日"


@_rule(
    rf"(?:时间|日期|活动|期间|档期|假期|有效期|展期)[^0-9，。；]{{0,6}}(?P<s>(?P<a>(?:1[0-2]|0?[1-9])\.(?:3[01]|[12][0-9]|0?[1-9]))\s?{DASH}{{1,2}}\s?"
    r"(?P<b>(?:1[0-2]|0?[1-9])\.(?:3[01]|[12][0-9]|0?[1-9])))(?![0-9A-Za-z.%％])",
    needs=r"[0-9]\.[0-9]",
)
def _dotted_days(match: re.Match[str], order: DateOrder) -> str:
    """活动时间：12.1-12.12."""
    days = [day.split(".") for day in (match["a"], match["b"])]
    return "到".join(f"{cardinal(month)}月{cardinal(day)}日" for month, day in days)


@_rule(
    r"(?<![0-9A-Za-z.-])(?P<s>(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12][0-9]|3[01]))(?=\s?(?:[01][0-9]|2[0-3]):[0-5][0-9](?![0-9]))",
    needs="-[0-9]{2}\\s?[0-9]{2}:",
)
def _day_and_time(match: re.Match[str], order: DateOrder) -> str:
    """11-30 08:15."""
    return f"{cardinal(match['m'])}月{cardinal(match['d'])}日"


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


_HALF = "上午|下午|晚上|早上|清晨|早晨|凌晨|中午|傍晚|夜里|半夜|今晚|当晚"


@_rule(r"(?<![A-Za-z])(?P<half>[AP])\.?M\.?\s?(?P<t>[0-9]{1,2}:[0-9]{2})(?![0-9:])", needs="M")
def _half_first(match: re.Match[str], order: DateOrder) -> str | None:
    """PM 3:30."""
    found = parse_clock(f"{match['t']} {match['half']}m")
    return clock(found) if found else None


@_rule(
    rf"(?P<h>{_HALF})?{FREE}(?P<s>(?P<a>{CLOCK.pattern})"
    rf"(?:\s?{DASH}{{1,2}}\s?(?P<b>{CLOCK.pattern.replace('([0', '(?:[0').replace('([A', '(?:[A')}))?)"
    r"(?![0-9:])"
)
def _clock(match: re.Match[str], order: DateOrder) -> str | None:
    first, second = parse_clock(match["a"]), parse_clock(match["b"]) if match["b"] else None
    if first is None or (match["b"] and second is None):
        return None
    if first.second is not None and re.search("(?:用时|耗时|历时|时长|成绩|净计时)[^0-9，。]{0,3}$", before(match)):
        hours = cardinal(str(first.hour), liang=True)
        return f"{hours}小时{_padded(first.minute)}分{_padded(first.second)}秒"
    if match["h"]:
        first = replace(first, half="")  # 早上8:30am is said once
    return clock(first) + (f"到{clock(second)}" if second else "")


@_rule(
    rf"(?P<h>{_HALF})?{FREE}(?P<s>(?P<a>1[0-2]|0?[1-9])(?:\s?(?P<h1>[AaPp])\.?[Mm]\.?)?"
    rf"(?:\s?(?:{DASH}|[到至])\s?(?P<b>1[0-2]|0?[1-9]))?\s?(?P<h2>[AaPp])\.?[Mm](?![0-9A-Za-z])\.?)",
    needs="[mM]",
)
def _hour(match: re.Match[str], order: DateOrder) -> str | None:
    """9am, 9am-5pm, 上午9am."""
    halves = [half.lower() if half else "" for half in (match["h1"], match["h2"])]
    if not match["b"]:
        return None if match["h1"] else clock(Clock(int(match["a"]), 0, None, "" if match["h"] else halves[1]))
    first = clock(Clock(int(match["a"]), 0, None, "" if match["h"] else halves[0] or halves[1]))
    last = clock(Clock(int(match["b"]), 0, None, halves[1] if halves[0] != halves[1] and halves[0] else ""))
    return f"{first}到{last}"


def _padded(value: int) -> str:
    return ("零" if value < 10 else "") + cardinal(str(value)) if value else "零"


@_rule(r"(?<=[0-9]秒)(?P<s>[0-9]{2})(?![0-9.秒])", needs="秒")
def _hundredths(match: re.Match[str], order: DateOrder) -> str:
    return digits(match["s"])


RULES: tuple[Rule, ...] = (*scores_zh.RULES, *_book.rules)
