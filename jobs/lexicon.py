"""The pronunciation lexicon: written form -> reading, from a TSV or CSV file. A reading is final: it is neither matched
nor normalised again."""

from __future__ import annotations

import csv
import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.clean import clean
from jobs.errors import InvalidInput, Problem
from jobs.language import CJK
from jobs.text_fault import TextFault

_COLUMNS = {
    "written": "written", "word": "written", "from": "written", "text": "written",
    "reading": "reading", "spoken": "reading", "to": "reading", "say": "reading",
    "language": "language", "lang": "language", "case": "case",
}  # fmt: skip
_ORDER = ("written", "reading", "language", "case")
_CASES = ("", "any", "exact")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_WORD_CHAR = re.compile(f"[^\\W{CJK}]")


@dataclass(frozen=True, slots=True)
class Rule:
    """Say `reading` wherever `written` stands (in texts of `language`, if one is named)."""

    written: str
    reading: str
    language: str | None = None
    exact_case: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a rule fires: text[start:end]."""

    start: int
    end: int
    rule: Rule


class Lexicon:
    """All rules of one file, ready to be matched."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self._by_form: dict[str, list[Rule]] = {}
        lengths: dict[str, set[int]] = {}
        for rule in self.rules:
            form = _fold(rule.written)
            self._by_form.setdefault(form, []).append(rule)
            lengths.setdefault(form[0], set()).add(len(form))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        firsts = "".join(re.escape(first) for first in self._lengths)
        self._starts = re.compile(f"[{firsts}]") if firsts else re.compile("(?!)")

    @classmethod
    def read(cls, path: Path) -> Lexicon:
        """Read a file; raises InvalidInput with all its mistakes."""
        return cls(_read_rules(path))

    def touching(self, text: str) -> list[Rule]:
        """Rules whose written form stands in a cleaned text, whatever its language; also the shorter of two that
        overlap."""
        seen: dict[int, Rule] = {}
        for _, _, rules in self._matches(text):
            seen.update((id(rule), rule) for rule in rules)
        return list(seen.values())

    def digest_for(self, text: str) -> str:
        """Names the rules that touch a cleaned text; empty if none does. It changes when one of them changes."""
        rules = self.touching(text)
        if not rules:
            return ""
        lines = sorted(f"{r.written}\t{r.reading}\t{r.language}\t{r.exact_case}" for r in rules)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def find(self, text: str, language_at: Callable[[int], str], blocked: Sequence[tuple[int, int]] = ()) -> list[Hit]:
        """Where rules fire, left to right, the longest first, none inside a `blocked` span (sorted)."""
        hits: list[Hit] = []
        position, block = 0, 0
        for start, end, rules in self._matches(text):
            while block < len(blocked) and blocked[block][1] <= start:
                block += 1
            if start < position or (block < len(blocked) and blocked[block][0] < end):
                continue
            language = language_at(start)
            fitting = [rule for rule in rules if rule.language in (None, language)]
            if fitting:
                # The rule of a language beats the one for all, exact case beats any case.
                best = max(fitting, key=lambda rule: (rule.language is not None, rule.exact_case))
                hits.append(Hit(start, end, best))
                position = end
        return hits

    def _matches(self, text: str) -> Iterable[tuple[int, int, list[Rule]]]:
        folded = _fold(text)
        for found in self._starts.finditer(folded):
            start = found.start()
            for length in self._lengths[found[0]]:
                end = start + length
                rules = self._by_form.get(folded[start:end])
                if not rules or not _bounded(folded, start, end):
                    continue
                fitting = [rule for rule in rules if not rule.exact_case or rule.written == text[start:end]]
                if fitting:
                    yield start, end, fitting


def _fold(text: str) -> str:
    """Lower case without a change of length, so that offsets stay."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _bounded(text: str, start: int, end: int) -> bool:
    """True unless the match begins or ends inside a word of an alphabetic script."""
    if start and _WORD_CHAR.match(text[start]) and _WORD_CHAR.match(text[start - 1]):
        return False
    return not (end < len(text) and _WORD_CHAR.match(text[end - 1]) and _WORD_CHAR.match(text[end]))


def _read_rules(path: Path) -> list[Rule]:
    text = _decode(path)
    lines = ["\n" if line.startswith("#") else line for line in re.split("(?<=\n)", text.replace("\r\n", "\n"))]
    first = next((line for line in lines if line.strip()), "")
    tabbed = path.suffix.lower() in (".tsv", ".tab") or (path.suffix.lower() != ".csv" and "\t" in first)
    delimiter = "\t" if tabbed or ("\t" in first and "," not in first) else ";" if _semicolons(first) else ","
    reader = csv.reader(lines, delimiter=delimiter)
    rules: list[Rule] = []
    problems: list[Problem] = []
    columns: Sequence[str] | None = None
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if columns is None:
                columns, is_header = _header(cells, path, reader.line_num, problems)
                if is_header:
                    continue
            rule = _rule(cells, columns, path, reader.line_num, problems)
            if rule:
                rules.append(rule)
    except csv.Error as error:
        problems.append(Problem(str(path), reader.line_num, "", f"not readable as a table ({error}); check the quotes"))
    problems += _contradictions(rules, path)
    if problems:
        raise InvalidInput(sorted(problems))
    return list({(r.written, r.language, r.exact_case): r for r in rules}.values())


def _decode(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"lexicon cannot be read ({error.strerror}); check the path"
        raise InvalidInput([Problem(str(path), 0, "", message)]) from error
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidInput([Problem(str(path), line, "", "not UTF-8; save the lexicon as UTF-8")]) from error


def _semicolons(line: str) -> bool:
    return ";" in line and "," not in line and "\t" not in line


def _header(cells: list[str], path: Path, line: int, problems: list[Problem]) -> tuple[Sequence[str], bool]:
    """The columns of the file, and whether its first row names them."""
    names = [_COLUMNS.get(cell.lower(), "") for cell in cells]
    if "written" not in names or "reading" not in names:
        return _ORDER, False
    for cell, name in zip(cells, names, strict=True):
        if not name:
            near = difflib.get_close_matches(cell.lower(), _COLUMNS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"columns are {', '.join(_ORDER)}"
            problems.append(Problem(str(path), line, cell, f"unknown column; {hint}"))
    return names, True


def _rule(cells: list[str], columns: Sequence[str], path: Path, line: int, problems: list[Problem]) -> Rule | None:
    def problem(field: str, message: str) -> None:
        problems.append(Problem(str(path), line, field, message))

    if len(cells) > len(columns) and any(cells[len(columns) :]):
        problem(
            "", f"{len(cells)} columns where {len(columns)} are expected; put a cell that holds the delimiter in quotes"
        )
        return None
    values = dict(zip(columns, cells, strict=False))
    before = len(problems)
    written = _cleaned(values.get("written", ""), "written", problem)
    reading = _cleaned(values.get("reading", ""), "reading", problem)
    language, case = values.get("language", "").lower(), values.get("case", "").lower()
    if language and not _LANGUAGE.fullmatch(language):
        problem("language", f"found {language!r}; write an ISO 639-1 code such as zh or en, or leave it empty")
    if case not in _CASES:
        problem("case", f"found {case!r}; write `exact` or `any`, or leave it empty")
    if len(problems) > before:
        return None
    exact = case == "exact" or (case == "" and written != written.lower())
    return Rule(written, reading, language or None, exact, line)


def _cleaned(cell: str, field: str, problem: Callable[[str, str], None]) -> str:
    try:
        cleaned = clean(cell)
    except TextFault as fault:
        problem(field, str(fault))
        return ""
    if not cleaned:
        what = "is empty" if not cell else f"{cell!r} has nothing left after cleaning"
        problem(field, f"{what}; write the {field} form" if field == "written" else f"{what}; write what is to be said")
    return cleaned


def _contradictions(rules: list[Rule], path: Path) -> list[Problem]:
    first: dict[tuple[str, str | None, bool], Rule] = {}
    problems = []
    for rule in rules:
        key = (rule.written if rule.exact_case else rule.written.lower(), rule.language, rule.exact_case)
        other = first.setdefault(key, rule)
        if other.reading != rule.reading:
            message = (
                f"{rule.written!r} already has the reading {other.reading!r} in line {other.line}; keep one of them"
            )
            problems.append(Problem(str(path), rule.line, "written", message))
    return problems
