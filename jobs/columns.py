"""Column names of a CSV header, or keys of a JSON object -> fields; near misses are mistakes, the rest is kept."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from jobs.fields import ALIASES, FIELDS, shown

_KNOWN = {**{name: name for name in FIELDS}, **ALIASES}
_NEAR = {
    "pause": "pause_ms",
    "file": "text_file",
    "audio": "ref_audio",
    "rate": "speed",
    "speaking_rate": "speed",
    "speech_rate": "speed",
    "normalize": "text_normalize",
    "normalise": "text_normalize",
}
"""Names that are not spelt like the field they most likely mean."""
_CUTOFF = 0.8


@dataclass(frozen=True, slots=True)
class Columns:
    """How one set of columns is read."""

    fields: tuple[tuple[str, str, Callable[[object], object]], ...]
    """(column as written, field name, reader of its values), one per field."""
    extras: tuple[str, ...]
    """Columns that are no field of ours."""
    problems: tuple[tuple[str, str], ...]
    """(column, message): near misses, the same field twice, unusable names."""

    def has(self, field: str) -> bool:
        return any(name == field for _, name, _ in self.fields)


def simple(column: str) -> str:
    """A column name without the ways in which people write it differently: case, spaces, hyphens."""
    return "_".join(column.strip().lower().replace("-", " ").replace("_", " ").split())


def field_of(column: str) -> str | None:
    """The field that a column names, by its own name or an alias."""
    return _KNOWN.get(simple(column))


@lru_cache(maxsize=4096)
def near_field(column: str) -> str | None:
    """The field or alias that was probably meant by a column that is none."""
    name = simple(column)
    if name.startswith("x_") or len(name) < 3:
        return None
    if name in _NEAR:
        return _NEAR[name]
    close = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=_CUTOFF)
    if close:
        return close[0]
    letters = sorted(name)
    return next((known for known in _KNOWN if known[0] == name[0] and sorted(known) == letters), None)


def resolve(names: tuple[str, ...]) -> Columns:
    """Sort the columns of one file, or the keys of one object, into fields, extra columns and mistakes.

    A near miss is a mistake, yet it is read as the field that was probably meant, so that one misspelt column does not
    hide the other mistakes of the file behind a thousand rows without text.
    """
    fields: dict[str, str] = {}
    extras: list[str] = []
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for column in names:
        name = simple(column)
        if not name:  # a column without a name; `manifest` refuses cells under it
            continue
        if not column.isprintable():
            problems.append((shown(column), "the name of this column holds control characters; rename it"))
            continue
        field = _KNOWN.get(name)
        if field is None and (near := near_field(column)):
            field = _KNOWN[near]
            own = f"name it x_{name} if it is a column of your own"
            problems.append((column, f"no field is called this; did you mean {near!r}? ({own})"))
        if field is None:
            if name in seen:
                problems.append((column, f"the column {column!r} stands twice; rename or remove one of them"))
            seen.add(name)
            extras.append(column)
        elif field in fields:
            problems.append(
                (column, f"{column!r} and {fields[field]!r} both give the field {field!r}; keep one of them")
            )
        else:
            fields[field] = column
    return Columns(
        tuple((column, field, FIELDS[field].parse) for field, column in fields.items()), tuple(extras), tuple(problems)
    )
