"""Opening and closing credits: a template with what is known of the book, spoken as the first and the last row.

`--credits` uses the sentences of `book_credit_words.py`, which say that the voice is synthetic; `--opening` and
`--closing` bring one's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.book_credit_words import COMMA, LAST_JOINT, SENTENCES, SYNTHETIC_VOICE, TITLES
from jobs.book_records import BookFacts, Findings, one_line
from jobs.book_rows import Rows
from jobs.book_speech import is_mostly_cjk, rendered, speakable
from jobs.errors import UserError
from jobs.fields import suggestion
from jobs.template import Slots
from jobs.text_fault import TextFault
from jobs.word_cuts import is_japanese

KINDS = ("opening", "closing")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_AROUND_TITLE = re.compile(r"[《『「〈](.+)[》』」〉]")
_SECOND_STOP = re.compile(r"(?<=[.!?…])\.$|(?<=[.!?…][”\"'’])\.$", re.MULTILINE)
"""After a title or a name that ends with a mark of its own."""
_OPTIONS = {name: f"--{name}" for name in ("title", "author", "narrator", "publisher", "year")}


@dataclass(frozen=True, slots=True)
class Credits:
    """What is asked for; empty: none."""

    built_in: bool = False
    """Our own sentences where there is no template."""
    opening: str = ""
    closing: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Placeholders of one's own."""

    @property
    def wanted(self) -> bool:
        return self.built_in or bool(self.opening or self.closing)


def own_facts(written: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` pairs. Raises UserError for one that is none."""
    found: dict[str, str] = {}
    for pair in written:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip().isidentifier() or not value.strip():
            raise UserError(f"--fact: {pair!r} is no NAME=VALUE; write for example --fact translator='Ann Other'")
        if name.strip() in _OPTIONS:
            raise UserError(f"--fact: {name.strip()} has an option of its own, {_OPTIONS[name.strip()]}")
        found[name.strip()] = one_line(value)
    return found


def credit_rows(
    wanted: Credits, facts: BookFacts, rows: Rows, sample: str, findings: Findings
) -> dict[str, dict[str, Any]]:
    """The rows by their kind, `opening` and `closing`; none that was not asked for.

    `sample` is a stretch of the book's text, by which the language is told where the book does not name it. Raises
    UserError for a placeholder that is not known or has no value.
    """
    language = rows.language or _guessed(sample)
    if wanted.built_in and rows.language is None and not (wanted.opening and wanted.closing):
        findings.say(f"credits are in {language!r}, by the book's script; --language names another one")
    made = {}
    for number, kind in enumerate(KINDS):
        template: str = getattr(wanted, kind)
        option = f"--{kind}" if template else "--credits"
        if not template and not wanted.built_in:
            continue
        values = {**_values(facts, language), **wanted.facts}
        if not template:
            template = _built_in(number, language, values)
        title = TITLES.get(language, TITLES["en"])[number]
        made[kind] = _row(kind, title, _filled(template, values, option, findings), rows)
    return made


def _row(kind: str, title: str, text: str, rows: Rows) -> dict[str, Any]:
    who = rows.cast.narrator
    row: dict[str, Any] = {
        "id": kind,
        "credits": kind,
        "title": title,
        "text": text,
        "voice": who.voice,
        "language": rows.language,
    }
    row |= {"instruction": who.instruction, "speed": who.speed, **rows.columns}
    return {key: value for key, value in row.items() if value is not None and value != ""}


def _built_in(number: int, language: str, values: dict[str, str]) -> str:
    """Our template; the narrator in `values` becomes one that says what it is."""
    if language not in SENTENCES:
        raise UserError(
            f"--credits: there are no sentences for {language!r}, only for {', '.join(SENTENCES)}; write your own with "
            "--opening and --closing"
        )
    unnamed, named = SYNTHETIC_VOICE[language]
    values["narrator"] = named.format(values["narrator"]) if values["narrator"] else unnamed
    return SENTENCES[language][number]


def _values(facts: BookFacts, language: str) -> dict[str, str]:
    year = _YEAR.search(facts.date)
    title = _AROUND_TITLE.fullmatch(facts.title)
    return {
        "title": title[1] if title else facts.title,
        "author": _listed(facts.authors, language),
        "narrator": facts.narrator,
        "publisher": facts.publisher,
        "year": year[0] if year else "",
    }


def _listed(names: tuple[str, ...], language: str) -> str:
    comma = COMMA.get(language, ", ")
    last = LAST_JOINT.get(language, comma)
    return comma.join(names[:-1]) + last + names[-1] if len(names) > 1 else "".join(names)


def _filled(template: str, values: Mapping[str, str], option: str, findings: Findings) -> str:
    try:
        slots = Slots.parse(template.strip())
    except ValueError as error:
        raise UserError(f"{option}: {error}") from error
    for name in slots.names:
        if name not in values:
            raise UserError(
                f"{option}: {{{name}}} is not known; give it with --fact {name}=VALUE; "
                f"{suggestion(name, tuple(values))}"
            )
        if not values[name].strip():
            own = "" if option != "--credits" else ", or write credits of your own with --opening and --closing"
            raise UserError(f"{option}: {{{name}}}: the book does not say it; give it with {_OPTIONS[name]}{own}")
    text = slots.filled({name: rendered(value, frozenset(), findings) for name, value in values.items()})
    text = "\n".join(line.strip() for line in text.splitlines())
    if option == "--credits":
        text = _SECOND_STOP.sub("", text)
    try:
        says_something = speakable(text)
    except TextFault as error:
        raise UserError(f"{option}: {error}") from error
    if not says_something:
        raise UserError(f"{option}: there is nothing to speak in it; write a sentence, or leave the option out")
    return text


def _guessed(sample: str) -> str:
    if not is_mostly_cjk(sample):
        return "en"
    return "ja" if is_japanese(sample, None) else "zh"
