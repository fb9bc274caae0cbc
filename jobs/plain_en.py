"""Other numbers in English text: ordinals, years, names of models, formulas, ranges, bare codes, plain numbers."""

from __future__ import annotations

import re

from jobs.amounts_en import MINUS, sign_word
from jobs.forms import (
    DASH,
    FREE,
    NUMBER,
    DateOrder,
)
from jobs.numbers_en import cardinal, decimal, digits, ordinal, year
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add


@_rule(rf"{FREE}(?P<n>[0-9]{{1,3}}(?:,[0-9]{{3}})*|[0-9]{{1,12}})(?:st|nd|rd|th)(?![0-9A-Za-z])")
def _ordinal(match: re.Match[str], order: DateOrder) -> str:
    return ordinal(match["n"])


@_rule(r"(?<![0-9A-Za-z])(?P<l>[A-Z]{2,5}(?:/[A-Z]{1,2})?) (?P<n>[0-9]{3,6}(?:-[0-9]{2,4})?)(?![0-9A-Za-z]|[-.,][0-9])")
def _standard(match: re.Match[str], order: DateOrder) -> str | None:
    """GB/T 7714-2015, ISO 9001, RTX 4090; IN 2024 is a shouted sentence."""
    if "-" not in match["n"] and match["l"] in (
        "IN",
        "OF",
        "TO",
        "BY",
        "AT",
        "OR",
        "AND",
        "THE",
        "FOR",
        "ONLY",
        "OVER",
        "FROM",
    ):
        return None
    return f"{match['l'].replace('/', ' ')} {', '.join(digits(group) for group in match['n'].split('-'))}"


@_rule(
    rf"(?<![0-9A-Za-z.])(?P<c>[Cc](?:a\.|irca)|c\.)\s?(?P<y>[1-9][0-9]{{2,3}}|[1-9][0-9]{{1,3}}(?=\s(?:BC|B\.C\.|AD|A\.D\.)))"
    rf"(?:\s?{DASH}\s?(?P<z>[1-9][0-9]{{1,3}}))?(?![0-9A-Za-z]|[.,:%][0-9])",
    needs="[Cc]",
)
def _circa(match: re.Match[str], order: DateOrder) -> str:
    """c. 1564."""
    circa = "Circa" if match["c"][0] == "C" else "circa"
    return f"{circa} {year(match['y'])}" + (f" to {year(match['z'])}" if match["z"] else "")


@_rule(rf"{FREE}(?P<a>[12][0-9]{{3}})\s?{DASH}{{1,2}}\s?(?P<b>[12][0-9]{{3}}|[0-9]{{2}})(?![0-9A-Za-z]|[.,:%-][0-9])")
def _years(match: re.Match[str], order: DateOrder) -> str | None:
    if len(match["b"]) == 4 and match["b"] <= match["a"]:
        return None
    return f"{year(match['a'])} to {year(match['b'])}"


@_rule(rf"{FREE}(?P<a>1[0-9]{{3}}|20[0-9]{{2}}){DASH}(?P<b>[0-9])(?![0-9A-Za-z]|[.,:%–-][0-9])")
def _years_in_short(match: re.Match[str], order: DateOrder) -> str | None:
    """The winter of 1842-3, as older books write it."""
    return f"{year(match['a'])} to {year(match['b'])}" if match["a"][-1] < match["b"] else None


@_rule(rf"{FREE}(?P<a>1[0-9]{{3}}|20[0-9]{{2}})/(?P<b>[0-9]{{2}})(?![0-9A-Za-z/]|[.,:%-][0-9])", needs="/")
def _season(match: re.Match[str], order: DateOrder) -> str | None:
    """The season of 1978/79."""
    following = str(int(match["a"]) + 1)
    said = year(following) if match["b"] == "00" else year(match["b"])
    return f"{year(match['a'])} {said}" if following.endswith(match["b"]) else None


@_rule(r"(?<=[\s(])(?P<s>c\.)(?=\s(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{3,})(?![0-9]))", needs=r"c\.")
def _about(match: re.Match[str], order: DateOrder) -> str:
    return "circa"


@_rule(r"(?<=[(,;])\s?(?P<s>(?P<w>[bd])\.\s(?P<y>1[0-9]{3}|20[0-2][0-9]))(?![0-9A-Za-z])", needs=r"[bd]\.")
def _born(match: re.Match[str], order: DateOrder) -> str:
    """(b. 1770, d. 1827)."""
    return f"{'born' if match['w'] == 'b' else 'died'} {year(match['y'])}"


@_rule(
    r"(?<![0-9A-Za-z.,])(?P<s>[1-9][0-9]{3})(?=\s(?:BCE?|B\.C\.|AD|A\.D\.|CE)(?![A-Za-z]))|(?:\bA\.D\.|\bAD)\s(?P<t>[1-9][0-9]{3})(?![0-9A-Za-z]|[.,][0-9])"
    r"|\b(?:[Pp]re|[Pp]ost|[Mm]id)-(?P<u>1[0-9]{3}|20[0-9]{2})(?![0-9A-Za-z])"
)
def _marked_year(match: re.Match[str], order: DateOrder) -> str:
    """1200 BC, A.D. 1066, pre-1914."""
    written = match["s"] or match["t"] or match["u"]
    return match[0][: -len(written)].replace("-", " ") + year(written)


_YEAR_1 = "1[0-9]{3}|20[0-9]{2}"
_NO_MORE = r"(?![0-9A-Za-z,.]?[0-9])"


@_rule(
    rf"\b[Bb]etween\s(?P<s>(?P<a>{_YEAR_1})\sand\s(?P<b>{_YEAR_1}){_NO_MORE})(?!\s(?:people|men|women|children|million|%"
    r"|(?!(?:was|is|has|his|its|this)\b)[a-z]+s\b))",
    needs="etween",
)
def _between_years(match: re.Match[str], order: DateOrder) -> str | None:
    return f"{year(match['a'])} and {year(match['b'])}" if match["a"] < match["b"] else None


_YEARLY = (
    "earthquake|election|elections|season|census|revolution|war|treaty|coup|constitution|edition|film|movie|novel|flood"
    "|fire|strike|conference|championships?|festival|budget|crash|crisis|epidemic|pandemic|uprising|rebellion|vintage"
    "|Olympics|Games|World Cup|World Series|Constitution|Revolution|Treaty|Act|Census|riots|famine|massacre|invasion"
)


@_rule(
    rf"\b(?:[Ii]t\s(?:is|was)|[Ii]t['’]s|[Tt]he year\s(?:is|was))\s(?:(?:now|then|still|already)\s)?(?P<s>{_YEAR_1})"
    r"(?=\s*$|[.,;:!?)—](?![0-9])|\s(?:(?:and|when|but|before)\b|[—–]))"
)
def _year_it_was(match: re.Match[str], order: DateOrder) -> str:
    """It was 1805."""
    return year(match["s"])


@_rule(
    r"(?:^|(?<=[.!?]\s)|(?<=[\"“”’]\s)|(?<=[\"“]))(?P<s>1[5-9][0-9]{2}|20[0-4][0-9])"
    r"(?=\s(?:was|is|saw|brought|had|will be|would be|marked|began|ended|came)\b)"
    rf"|\b(?i:the|this|that|an?|our|last)\s(?P<t>(?:{_YEAR_1}))(?=\s(?:[A-Z][a-z]+\s)?(?:{_YEARLY})\b)"
)
def _year_of(match: re.Match[str], order: DateOrder) -> str:
    """1984 was only a book; the 1906 earthquake."""
    return year(match["s"]) if match["s"] else match[0][:-4] + year(match["t"])


@_rule(
    r"\b(?i:in|since|from|by|until|till|before|after|during|year|years|of|early|late|mid|around|circa|spring|"
    r"summer|autumn|fall|winter|lord|to)[ -]"
    r"(?P<s>(?P<y>1[0-9]{3}|20[0-9]{2}))(?![0-9A-Za-z,.]?[0-9]|['’]?s\b)(?!\s?(?:%|percent|people|[a-z]+s\b|million|thousand))"
)
def _year(match: re.Match[str], order: DateOrder) -> str:
    return year(match["y"])


@_rule(
    r"(?<=\()(?P<s>(?:1[1-9]|20)[0-9]{2})(?=\))|(?<![0-9A-Za-z.,])(?:19|20)[0-9]{2}(?=['’]s\b)|(?<=©)\s?(?P<t>(?:19|20)[0-9]{2})(?![0-9])"
)
def _lone_year(match: re.Match[str], order: DateOrder) -> str:
    return year(match[0].strip())


@_rule(
    rf"{FREE}(?P<n>[0-9]{{1,2}})\s?[x×](?P<per>/(?:day|night|week|month|year)\b)?(?=(?P<often>\s(?:daily|weekly|monthly|yearly|per|an?|every|each)\b)?)",
    needs="[x×]",
)
def _times(match: re.Match[str], order: DateOrder) -> str | None:
    """3x/day, 2x daily."""
    if not match["per"] and not match["often"]:
        return None
    said = {"1": "once", "2": "twice"}.get(match["n"]) or f"{cardinal(match['n'])} times"
    return said + (f" per {match['per'][1:]}" if match["per"] else "")


@_rule(r"(?<![0-9A-Za-z.,])(?P<a>40[13]|457)\((?P<l>[a-z])\)(?![0-9A-Za-z])", needs="\\([a-z]\\)")
def _pension(match: re.Match[str], order: DateOrder) -> str:
    """401(k)."""
    rest = match["a"][1:]
    return f"four {'oh ' + cardinal(rest[1]) if rest[0] == '0' else cardinal(rest)} {match['l'].upper()}"


@_rule(rf"{FREE}(?P<a>[0-9]{{2,5}})\s?[x×X]\s?(?P<b>[0-9]{{2,5}})(?![0-9A-Za-z.])")
def _resolution(match: re.Match[str], order: DateOrder) -> str:
    return f"{cardinal(match['a'])} by {cardinal(match['b'])}"


_OPERATORS = {
    "+": "plus", "×": "times", "*": "times", "÷": "divided by", "=": "equals", "≈": "is about", "≠": "is not",
    "<": "is less than", ">": "is greater than", "≤": "is at most", "≥": "is at least", "±": "plus or minus",
    "x": "times",
}  # fmt: skip


@_rule(rf"{FREE}(?P<a>{NUMBER})(?P<s>\s?[-−]\s?)(?={NUMBER}\s?=)", needs="=")
def _subtraction(match: re.Match[str], order: DateOrder) -> str:
    return " minus "


@_rule(
    r"(?<=[0-9A-Za-z)\ue000])\s?(?P<op>[+×*÷=<>])\s?(?=[0-9A-Za-z(.\ue000-])|\s?(?P<t>[≈≠≤≥±])\s?|(?<=[0-9])(?P<x>x)(?=[0-9])",
    needs="[+×*÷=≈≠<>≤≥±x]",
)
def _operator(match: re.Match[str], order: DateOrder) -> str | None:
    sign = match["op"] or match["t"] or match["x"]
    sides = before(match, 1), after(match)[:1]
    if sign in "<>" and re.search("[A-Za-z]{2}$", before(match, 2)) and re.match("[A-Za-z]{2}", after(match)):
        return ", "  # Settings > Display
    if sign == "*" and not all(side.isdigit() for side in sides):
        return None
    spoken = _OPERATORS[sign]
    if re.search(r"\b(?:is|are|was|were|be)$", before(match, 6)):
        spoken = spoken.removeprefix("is ")
    return f" {spoken} "


@_rule(
    r"(?:\bN[Oo]s?\.\s?|(?i:(?<=room )|(?<=house )|(?<=item )|(?<=page )|(?<=line )|(?<=order ))nos?\.\s?|№\s?|#\s?)"
    r"(?P<n>[0-9]{1,9})(?![0-9A-Za-z])",
    needs="[oO#№]",
)
def _numero(match: re.Match[str], order: DateOrder) -> str:
    number = digits(match["n"]) if match["n"][0] == "0" or len(match["n"]) > 4 else cardinal(match["n"])
    name = "Number" if match[0][0] == "N" else "number"
    return f"{name}{'s' if match[0][:3].lower() == 'nos' else ''} {number}"


@_rule(
    r"(?<![0-9A-Za-z])(?<![0-9][.,])(?=[A-Za-z0-9-]{0,40}[A-Za-z])(?=[A-Za-z-]{0,40}[0-9])(?P<s>[A-Za-z0-9]+(?:[-–][A-Za-z0-9]+)*)(?![0-9A-Za-z]|\.[0-9])"
)
def _model_name(match: re.Match[str], order: DateOrder) -> str:
    """GPT-4o, COVID-19, B2B, MP3, 5G: letters as they are, up to two digits as a number, more of them one by one."""
    adjective = re.fullmatch("([0-9]{1,6})((?:-[A-Za-z]{2,})+)", match["s"])
    if adjective and not match["s"].isupper():
        return cardinal(adjective[1]) + adjective[2]
    parts = re.findall("[A-Za-z]+|[0-9]+", match["s"])
    return " ".join(_model_part(part, number, len(parts)) for number, part in enumerate(parts))


def _model_part(part: str, number: int, total: int) -> str:
    if not part.isdigit():
        return part
    if number == 0 and total > 1 and len(part) > 2 and part.endswith("00"):
        return cardinal(part)
    return cardinal(part) if len(part) <= 2 and part[0] != "0" else digits(part)


@_rule(r"\bBoeing (?P<s>7[0-9]7)(?![0-9A-Za-z-])", needs="Boeing")
def _boeing(match: re.Match[str], order: DateOrder) -> str:
    return f"seven {cardinal(match['s'][1:])}"


@_rule(r"(?<![0-9A-Za-z])[0-9]+(?:-[0-9]+){2,}(?![0-9A-Za-z]|\.[0-9])", needs="-[0-9]+-")
def _chain(match: re.Match[str], order: DateOrder) -> str:
    return ", ".join(digits(group) for group in match[0].split("-"))


@_rule(rf"(?P<neg>{MINUS})?{FREE}(?P<a>{NUMBER})\s?{DASH}{{1,2}}\s?(?P<b>{NUMBER})(?![0-9A-Za-z]|[-.:,][0-9])")
def _range(match: re.Match[str], order: DateOrder) -> str | None:
    if any(len(part) > 1 and part[0] == "0" and "." not in part for part in (match["a"], match["b"])):
        return None
    if before(match).endswith(("Boeing ", "a ")) and re.fullmatch("7[0-9]7-[0-9]{1,3}", match[0]):
        return f"seven {cardinal(match['a'][1:])} {cardinal(match['b'])}"
    return f"{'minus ' if match['neg'] else ''}{decimal(match['a'])} to {decimal(match['b'])}"


@_rule(r"(?<![0-9A-Za-z])[0-9]{2,}(?:-[0-9]{2,})+(?![0-9A-Za-z])")
def _grouped_code(match: re.Match[str], order: DateOrder) -> str:
    return ", ".join(digits(group) for group in match[0].split("-"))


@_rule(
    r"(?<![0-9A-Za-z.,])(?P<s>0[0-9]+)(?![0-9A-Za-z:]|\.[0-9]|,[0-9]{3})|(?<![0-9A-Za-z.,])(?P<t>[0-9]{10,})(?![0-9A-Za-z]|[.,][0-9])"
)
def _bare_code(match: re.Match[str], order: DateOrder) -> str:
    return digits(match[0])


@_rule(
    rf"(?P<neg>{MINUS}|(?<![0-9A-Za-z])[+±])?(?P<a>{FREE}{NUMBER}|(?<![0-9A-Za-z.])\.[0-9]+)(?P<plus>\+?)(?P<adj>-(?=[A-Za-z]))?"
)
def _plain_number(match: re.Match[str], order: DateOrder) -> str:
    tail = " plus" if match["plus"] else "-" if match["adj"] else ""
    return f"{sign_word(match['neg'])}{decimal(match['a'])}{tail}"


RULES: tuple[Rule, ...] = tuple(_book.rules)
