"""Strict reading of a TOML table: every mistake collected with its key and the way out, unknown keys refused."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class PresetError(ValueError):
    """One or more preset files are wrong; `problems` holds each mistake as `file: key: what was found, what to do`."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Table:
    """One table of a file: keys are taken one by one, what is left over at the end is unknown."""

    def __init__(self, values: Mapping[str, Any], file: str, problems: list[str], prefix: str = "") -> None:
        self._values = dict(values)
        self._file = file
        self._problems = problems
        self._prefix = prefix
        self._known: list[str] = []

    def refuse(self, key: str, message: str) -> None:
        self._problems.append(f"{self._file}: {self._prefix}{key}: {message}")

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._values.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str | None:
        value = self._take(key, None)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, f"found {value!r}, write a text in quotes")
            return default
        return value

    def required_text(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            self.refuse(key, "is missing, write a text in quotes")
        return value or ""

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value = self._take(key, default)
        if value not in choices:
            near = difflib.get_close_matches(str(value), choices, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            self.refuse(key, f"found {value!r}, write one of {', '.join(choices)}{hint}")
            return default
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"found {value!r}, write true or false")
            return default
        return value

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.refuse(key, f"found {value!r}, write a whole number from {low} to {high}")
            return default
        return value

    def number(self, key: str, low: float, high: float, default: float | None) -> float | None:
        value = self._take(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            self.refuse(key, f"found {value!r}, write a number from {low:g} to {high:g}")
            return default
        return float(value)

    def table(self, key: str) -> Table:
        value = self._take(key, {})
        if not isinstance(value, dict):
            self.refuse(key, f"found {value!r}, write a table [{key}]")
            value = {}
        return Table(value, self._file, self._problems, f"{self._prefix}{key}.")

    def end(self) -> None:
        """Refuse what nobody took."""
        for key in self._values:
            near = difflib.get_close_matches(key, self._known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here are {', '.join(sorted(self._known))}"
            self.refuse(key, f"is not a key of this table, {hint}")


def read_toml(data: bytes, file: str | Path) -> dict[str, Any]:
    """The file's values. Raises PresetError where it is not TOML in UTF-8."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PresetError([f"{file}: byte {error.start} is not UTF-8, save the file as UTF-8"]) from error
    except tomllib.TOMLDecodeError as error:
        raise PresetError([f"{file}: not valid TOML: {error}"]) from error
