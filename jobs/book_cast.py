"""The cast of a book: which voice reads, which one speaks what nobody is named for, and who has one of his own."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.dialogue import Names
from jobs.errors import InvalidInput, Problem, UserError
from jobs.fields import FIELDS, suggestion

_KEYS = ("narrator", "dialogue", "speaker")
_SPEAKER_KEYS = ("name", "aliases", "voice", "instruction", "speed")
EXAMPLES_KEPT = 50


@dataclass(frozen=True, slots=True)
class Who:
    """A voice with the way it speaks: columns of a row."""

    name: str = ""
    """Of the speaker; empty for the narrator and for speech that nobody is named for."""
    voice: str | None = None
    instruction: str | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Cast:
    narrator: Who = Who()
    dialogue: Who | None = None
    """Who speaks what nobody of the cast is named for; None: the narrator."""
    speakers: dict[str, Who] = field(default_factory=dict)
    names: Names = field(default_factory=lambda: Names({}))

    @property
    def splits(self) -> bool:
        """Whether speech is told apart at all."""
        return self.dialogue is not None or bool(self.speakers)

    def speaker(self, name: str | None) -> Who:
        return self.speakers[name] if name is not None else self.dialogue or self.narrator


@dataclass(slots=True)
class Lines:
    """How much each speaker got."""

    of: Counter[str] = field(default_factory=Counter)
    """Quotations by speaker."""
    unattributed: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    """(chapter, beginning) of the first unattributed quotations."""

    def count(self, name: str | None, chapter: int, text: str) -> None:
        if name is not None:
            self.of[name] += 1
            return
        self.unattributed += 1
        if len(self.examples) < EXAMPLES_KEPT:
            self.examples.append((chapter, text[:60]))


def make_cast(voice: str | None, dialogue_voice: str | None, file: Path | None) -> Cast:
    """The cast of the options and of a cast file; options win. Raises UserError or InvalidInput."""
    cast = read_cast(file) if file is not None else Cast()
    narrator = Who(voice=voice) if voice else cast.narrator
    dialogue = Who(voice=dialogue_voice) if dialogue_voice else cast.dialogue
    return Cast(narrator, dialogue, cast.speakers, cast.names)


def read_cast(file: Path) -> Cast:
    """A TOML file: `narrator`, `dialogue`, and `[[speaker]]` with `name`, `voice`, `aliases` …"""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}; name another file with --cast") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: not valid TOML: {error}") from error
    reader = _Reader(str(file))
    cast = reader.cast(values)
    if reader.problems:
        raise InvalidInput(reader.problems)
    return cast


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[Problem] = []

    def cast(self, values: dict[str, Any]) -> Cast:
        self._unknown(values, _KEYS, "")
        narrator = Who(voice=self._parsed(values, "narrator", "voice", "narrator"))
        dialogue = self._parsed(values, "dialogue", "voice", "dialogue")
        speakers: dict[str, Who] = {}
        aliases: dict[str, str] = {}
        listed = values.get("speaker", [])
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            self._fault("speaker", "is no list of tables; write each speaker below a line [[speaker]]")
            listed = []
        for number, entry in enumerate(listed, 1):
            self._speaker(entry, f"speaker {number}", speakers, aliases)
        return Cast(narrator, Who(voice=dialogue) if dialogue else None, speakers, Names(aliases))

    def _speaker(self, entry: dict[str, Any], where: str, speakers: dict[str, Who], aliases: dict[str, str]) -> None:
        self._unknown(entry, _SPEAKER_KEYS, f"{where}: ")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            self._fault(where, 'has no name; write name = "…" as the book writes it')
            return
        where, name = f"speaker {name!r}", name.strip()
        voice = self._parsed(entry, "voice", "voice", where)
        if not voice:
            self._fault(where, 'has no voice; write voice = "…" (see `voices list`)')
        others = entry.get("aliases", [])
        if not isinstance(others, list) or not all(isinstance(alias, str) and alias.strip() for alias in others):
            self._fault(where, 'aliases is no list of texts; write aliases = ["…", "…"]')
            others = []
        for alias in dict.fromkeys([name, *(alias.strip() for alias in others)]):
            if alias in aliases:
                self._fault(where, f"{alias!r} is a name of {aliases[alias]!r} already; keep one of them")
            aliases.setdefault(alias, name)
        speed = self._parsed(entry, "speed", "speed", where)
        speakers[name] = Who(name, voice, self._parsed(entry, "instruction", "instruction", where), speed)

    def _parsed(self, values: dict[str, Any], key: str, field_name: str, where: str) -> Any:
        """A value read as the manifest's field of that name; None if it is absent or wrong."""
        if key not in values:
            return None
        try:
            return FIELDS[field_name].parse(values[key]) or None
        except ValueError as error:
            self._fault(where, f"{key}: {error}")
            return None

    def _unknown(self, values: dict[str, Any], known: tuple[str, ...], where: str) -> None:
        for key in values.keys() - set(known):
            self._fault(f"{where}{key}", f"no such key; {suggestion(key, known)}")

    def _fault(self, field_name: str, message: str) -> None:
        self.problems.append(Problem(self._file, 0, field_name, message))
