"""What is known of a book as a whole: from `book.json`, from the command line; and the tags that players read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.cover import Cover, read_cover
from jobs.errors import UserError
from jobs.tags import NOTICE

SIDECAR = "book.json"
GENRE = "Audiobook"
_KEYS = ("title", "author", "narrator", "language", "date", "description", "genre", "cover")
_OTHER_NAMES = {"authors": "author", "creator": "author", "year": "date", "narrators": "narrator"}
LONGEST_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Book:
    """Empty text: not known."""

    title: str
    author: str = ""
    narrator: str = ""
    language: str = ""
    date: str = ""
    description: str = ""
    genre: str = GENRE
    cover: Cover | None = None

    def tags(self) -> dict[str, str]:
        """Of the whole book. `composer` is where players look for the narrator."""
        return {
            "album": self.title,
            "artist": self.author,
            "album_artist": self.author,
            "composer": self.narrator,
            "genre": self.genre,
            "date": self.date,
            "language": self.language,
            "comment": NOTICE,
        }


def find_sidecar(run_folder: Path, named: Path | None) -> Path | None:
    """The file that was named, or book.json in the run folder, or the one that `book` puts beside the manifest."""
    if named is not None:
        return named
    whole = run_folder.resolve()
    name = whole.name.removesuffix("-out")
    places = (whole / SIDECAR, whole.with_name(f"{name}.{SIDECAR}"), whole.with_name(SIDECAR))
    return next((path for path in places if path.is_file()), None)


def read_book(
    sidecar: Path | None, given: Mapping[str, str], voices: Sequence[str], fallback: Mapping[str, str]
) -> Book:
    """Facts that were `given` go before those of the sidecar, and those before `fallback`, which has a title.

    Raises UserError for a file that cannot be read, or a cover that is no JPEG or PNG.
    """
    told = _read(sidecar) if sidecar is not None else {}
    facts = {**told, **{key: _line(value) for key, value in given.items() if value}}
    cover = Path(facts.pop("cover", ""))
    if sidecar is not None and not given.get("cover") and (sidecar.parent / cover).is_file():
        cover = sidecar.parent / cover
    narrator = facts.get("narrator") or ", ".join(voices)
    whole = {"genre": GENRE, **fallback, **facts, "narrator": narrator}
    return Book(**whole, cover=read_cover(cover) if cover.name else None)


def _read(path: Path) -> dict[str, str]:
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); make it anew with `book`, or name another --book"
        ) from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: is no JSON object; make it anew with `book`, or name another with --book")
    found: dict[str, str] = {}
    for key, value in values.items():
        name = _OTHER_NAMES.get(key, key)
        if name in _KEYS and (text := _text(value)):
            found.setdefault(name, text)
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return _line(str(value))
    return ""


def _line(text: str) -> str:
    """One printable line: what tags take."""
    kept = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return kept[:LONGEST_CHARS]
