"""One manifest row -> an Item, or everything that is wrong with it. How fields bear on each other stands here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from json import dumps
from pathlib import Path
from typing import Any

from jobs import inputs
from jobs.columns import Columns, resolve, simple
from jobs.errors import UserError
from jobs.fields import shown, suggestion
from jobs.naming import ANY_NAME, Name, NameRule, Template, name_from_out, name_from_template
from jobs.records import EmptyPolicy, Item


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it was read: column or key as written -> cell (a string) or JSON value."""

    line: int
    """Physical line where the row starts, 1-based."""
    number: int
    """1 for the first row of data; a row without `id` is called by it."""
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RowRules:
    """What the run knows and rows are checked against, and what a row that says nothing gets."""

    profile: str
    suffix_of: Mapping[str, str]
    """Profile name -> suffix of its files, with the dot."""
    naming_of: Mapping[str, str]
    """Profile name -> naming template."""
    voices: frozenset[str] | None = None
    """Known voice names; None: any."""
    language: str | None = None
    seed: int = 0
    speed: float = 1.0
    text_normalize: bool = True
    empty: EmptyPolicy = "error"
    max_text_chars: int = 1_000_000
    name_rule_of: Mapping[str, NameRule] = field(default_factory=dict)
    """Profile name -> what its players ask of file names, where they ask for something."""


@dataclass(slots=True)
class Checked:
    """What became of one row."""

    line: int
    item: Item | None = None
    id: str | None = None
    """Set as soon as the row's id is sound, so that a bad row still takes part in the search for duplicates."""
    own_out: bool = False
    """The row names its output itself."""
    enabled: bool = True
    problems: list[tuple[str, str]] = field(default_factory=list)
    """(column, message)."""
    notes: list[tuple[str, str]] = field(default_factory=list)


class RowChecker:
    """Checks the rows of one manifest; remembers how each set of columns is read and each naming template."""

    def __init__(self, rules: RowRules, folder: Path, *, header: Columns | None = None) -> None:
        """`header`: the columns of all rows where the file has them once, with mistakes reported already."""
        self._rules = rules
        self._folder = folder
        self._header = header
        # A million rows may name the same recording.
        self._reference_audio = lru_cache(maxsize=4096)(partial(inputs.reference_audio, folder))
        self._columns: dict[tuple[str, ...], Columns] = {}
        self._templates: dict[str, Template] = {}
        for name, naming in rules.naming_of.items():
            try:
                self._templates[name] = Template.parse(naming)
            except ValueError as error:
                raise UserError(f"profile {name}: {error}") from error

    def check(self, row: Row) -> Checked:
        checked = Checked(row.line)
        columns = self._header or self._columns_of(row)
        values: dict[str, Any] = {}
        cells = row.values
        for column, name, parse in columns.fields:
            raw = cells.get(column)
            if raw is None or raw == "":
                continue
            try:
                value = parse(raw)
            except ValueError as error:
                checked.problems.append((column, str(error)))
                values[name] = None
                continue
            if value != "":
                values[name] = value
        if values.get("enabled") is False:
            return Checked(row.line, enabled=False)
        if self._header is None and columns.problems:
            checked.problems += columns.problems
        checked.id = values.get("id", str(row.number))
        checked.own_out = "out" in values
        item = self._item(row, columns, values, checked)
        checked.item = None if checked.problems else item
        return checked

    def _columns_of(self, row: Row) -> Columns:
        names = tuple(row.values)
        columns = self._columns.get(names)
        if columns is None:
            columns = resolve(names)
            if len(self._columns) < 256:
                self._columns[names] = columns
        return columns

    def _item(self, row: Row, columns: Columns, values: dict[str, Any], checked: Checked) -> Item | None:
        """The item that the row describes; None or a useless one where `checked` has problems."""
        rules = self._rules
        profile = values.get("profile") or rules.profile
        if profile not in rules.suffix_of:
            checked.problems.append(("profile", f"no profile {shown(profile)}; {suggestion(profile, rules.suffix_of)}"))
        text = self._text(values, checked)
        self._voice(values, checked)
        mode = _mode(values, checked)
        extra = _extra(row, columns)
        name = self._name(row, profile, values, extra, checked)
        if checked.problems or name is None:
            return None
        if name.changed:
            checked.notes.append(
                ("out", f"the file is called {name.path!r}: not every system takes the name as it was given")
            )
        return Item(
            line=row.line,
            id=checked.id or "",
            text=text,
            out=name.path,
            profile=profile,
            voice=values.get("voice"),
            ref_audio=values.get("ref_audio"),
            ref_text=values.get("ref_text"),
            instruction=values.get("instruction"),
            mode=mode,
            language=values.get("language") or rules.language,
            speed=values.get("speed", rules.speed),
            seed=values.get("seed", rules.seed),
            pause_ms=values.get("pause_ms"),
            chapter=values.get("chapter"),
            title=values.get("title"),
            text_normalize=values.get("text_normalize", rules.text_normalize),
            say_as=values.get("say_as"),
            empty=values.get("empty", rules.empty),
            extra=extra,
        )

    def _text(self, values: dict[str, Any], checked: Checked) -> str:
        rules = self._rules
        if "text" in values and "text_file" in values:
            checked.problems.append(("text", "both text and text_file are given; keep one of them"))
            return ""
        if "text" not in values and "text_file" not in values:
            if values.get("empty", rules.empty) == "error":
                what = "no text; fill in text or text_file, or set empty to skip or silence"
                checked.problems.append(("text", what))
            return ""
        text: str | None = values.get("text")
        if (written := values.get("text_file")) is not None:
            try:
                text, guessed = inputs.text_file(self._folder, written, rules.max_text_chars)
            except ValueError as error:
                checked.problems.append(("text_file", str(error)))
                return ""
            if guessed:
                checked.notes.append(("text_file", f"{written!r} was read as {guessed}"))
            if "\x00" in text:
                checked.problems.append(("text_file", f"{written!r} holds a NUL character; remove it"))
        if text is None:
            return ""
        if len(text) > rules.max_text_chars:
            message = f"has {len(text):,} characters, at most {rules.max_text_chars:,} are allowed; split it into rows"
            checked.problems.append(("text", message))
        if "\ufffd" in text:
            message = "holds U+FFFD, the mark of characters that were lost before; compare it with its source"
            checked.notes.append(("text", message))
        return text

    def _voice(self, values: dict[str, Any], checked: Checked) -> None:
        voice, audio = values.get("voice"), values.get("ref_audio")
        known = self._rules.voices
        if voice is not None and known is not None and voice not in known:
            checked.problems.append(("voice", f"no voice {shown(voice)}; {suggestion(voice, known)}"))
        if voice is not None and audio is not None:
            checked.problems.append(("ref_audio", "both voice and ref_audio are given; keep one of them"))
        if "ref_text" in values and "ref_audio" not in values:
            hint = (
                "a voice brings its own reference text; remove ref_text" if voice else "name the recording in ref_audio"
            )
            checked.problems.append(("ref_text", f"is given without ref_audio; {hint}"))
        if audio is not None:
            path, fault = self._reference_audio(audio)
            if path is None:
                checked.problems.append(("ref_audio", fault))
            values["ref_audio"] = path

    def _name(
        self, row: Row, profile: str, values: dict[str, Any], extra: Mapping[str, str], checked: Checked
    ) -> Name | None:
        suffix = self._rules.suffix_of.get(profile)
        if suffix is None or checked.id is None or ("out" in values and values["out"] is None):
            return None
        rule = self._rules.name_rule_of.get(profile, ANY_NAME)
        try:
            if "out" in values:
                return name_from_out(values["out"], suffix, rule)
            values |= {"id": checked.id, "profile": profile, "line": row.line, "number": row.number}
            values.setdefault("language", self._rules.language)
            if extra:
                values = {**{simple(column): value for column, value in extra.items()}, **extra, **values}
            return name_from_template(self._templates[profile], values, suffix, rule)
        except ValueError as error:
            checked.problems.append(("out", str(error)))
            return None


def _mode(values: Mapping[str, Any], checked: Checked) -> Any:
    """The mode as asked, checked against what the row brings; or the one that fits what it brings."""
    asked = values.get("mode")
    audio, text, instruction = ("ref_audio" in values, "ref_text" in values, "instruction" in values)
    if asked is None:
        return "instruct" if instruction else "speaker" if not audio else "zero_shot" if text else "cross_lingual"
    if asked == "instruct" and not instruction:
        checked.problems.append(("mode", "instruct needs an instruction; fill it in or choose another mode"))
    if asked != "instruct" and instruction:
        checked.problems.append(("mode", f"{asked} would ignore the instruction; remove it or set mode to instruct"))
    if asked == "zero_shot" and audio and not text:
        message = "zero_shot needs ref_text, what is said in ref_audio; fill it in or use cross_lingual"
        checked.problems.append(("mode", message))
    if asked == "speaker" and audio:
        checked.problems.append(("mode", "speaker is for stored voices and would ignore ref_audio; remove one of them"))
    return asked


def _extra(row: Row, columns: Columns) -> dict[str, str]:
    extra: dict[str, str] = {}
    for column in columns.extras:
        value = row.values.get(column)
        if value is None or value == "":
            continue
        extra[column] = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return extra
