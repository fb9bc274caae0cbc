"""Scores and ratios in Chinese text that are written as clock times are: 比赛结果21:19, 以3:2（25:20、19:25）险胜."""

from __future__ import annotations

import re

from jobs.forms import FREE, DateOrder, parse_clock
from jobs.numbers_zh import cardinal, decimal
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add

# Words after which a score stands; what lies between may name a team.
_BEFORE = re.compile(
    r"(?:比赛结果|赛果|战果|[大总]?比分|局分|盘分|总分|战成|[打战扳追改踢]成|战平|改写[为成]|锁定[为在]|定格[为在]|"
    r"比例|配比|比率|赔率|比值|宽高比|画幅|长宽比|对阵结果|交锋[^0-9]{0,4}|(?<![可所难予加得何借赖])以"
    r"|第?[一二三四五六七首末0-9][局盘]|[上下]半[场时]|加时赛?|决胜[局盘]|点球大战|抢七)"
    r"[^0-9，。；！？时间点开始于在上下午前后便及]{0,6}$"
)
_AFTER = re.compile(
    r"\s?的?(?:战(?![斗争士友役机火况备])|大?比分|比例|获胜|领先|落后|取胜|胜出|胜(?![利地])|负(?![责担重])|平(?![台时均安息静稳常凡整])|险胜|大胜|完胜|惜败|不敌|逆转|击败|力克|淘汰"
    r"|击退|横扫|拿下|直落|夺冠|夺魁|告负|小胜|轻取|速胜)"
)
_STARTS = re.compile(
    r"\s?(?:开[始球打赛播场]|举行|结束|直播|播出|进行|之?[前后](?!来)|左右|[到至起]|为[准界止始期]|[计算])"
)
_PAIR = r"[0-9]{1,4}:[0-9]{1,4}"


_SHARE = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"


@_rule(rf"{FREE}(?<!:)(?P<s>(?P<a>{_SHARE}):(?P<b>{_SHARE}))(?![0-9:.])", needs=r"\.[0-9]*:|:[0-9]+\.")
def _ratio(match: re.Match[str], order: DateOrder) -> str | None:
    """汇率为1:7.1042: no time has a point before its minutes end."""
    return f"{decimal(match['a'])}比{decimal(match['b'])}" if "." in match["s"] else None


@_rule(rf"{FREE}(?<!:)(?P<s>{_PAIR}(?:\s?[、，,]\s?{_PAIR}){{1,8}})(?![0-9:])(?!\s?[AaPp]\.?[Mm])", needs="[0-9]:[0-9]")
def _scores(match: re.Match[str], order: DateOrder) -> str | None:
    """Several in a row are all scores if one of them is no time of day, or a word says so."""
    pairs = re.findall(_PAIR, match["s"])
    if not (any(parse_clock(pair) is None for pair in pairs) or _is_said(match)):
        return None
    return re.sub(_PAIR, lambda pair: _read(pair[0]), match["s"])


@_rule(rf"{FREE}(?<!:)(?P<s>{_PAIR})(?![0-9:]|\s?[-–—~～])", needs="[0-9]:[0-9]")
def _score(match: re.Match[str], order: DateOrder) -> str | None:
    if match["s"].endswith(":00"):
        return None
    known = match["s"] in ("16:10", "21:10")
    is_time = parse_clock(match["s"]) is not None and len(match["s"].split(":")[1]) == 2
    return None if is_time and not known and not _is_said(match) else _read(match["s"])


def _is_said(match: re.Match[str]) -> bool:
    preceding = re.split("[。；！？]", before(match, 24))[-1].rstrip(" （(:：")
    following = after(match)
    if re.search("(?:于|在|时间|[今昨明当前][天晚日夜]|[上下]午|凌晨|傍晚|晚上|早上)$", preceding) or _STARTS.match(
        following
    ):
        return False
    return _BEFORE.search(preceding) is not None or _AFTER.match(following) is not None


def _read(pair: str) -> str:
    first, second = pair.split(":")
    return f"{cardinal(first)}比{cardinal(second)}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
