"""A book file -> a manifest: chapters in reading order, without what nobody reads aloud, one row a chapter.

`make` is the one function; `outline` shows the chapters first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from jobs.book_cast import Lines
from jobs.book_credits import Credits, credit_rows
from jobs.book_open import Book, open_book
from jobs.book_records import BOILERPLATE, MATTER, BookFacts, Chapter, Findings, Reading
from jobs.book_rows import Rows, rows_of
from jobs.book_speech import is_mostly_cjk
from jobs.errors import UserError
from jobs.files import replacing

_SAMPLE_CHARS = 2000
_CJK_LANGUAGES = ("zh", "yue", "ja")


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOrder:
    """What to make of a book."""

    file: Path
    out: Path
    reading: Reading = field(default_factory=Reading)
    rows: Rows = field(default_factory=Rows)
    skip: frozenset[str] = BOILERPLATE
    """Kinds of chapters that are left out."""
    chosen: Sequence[tuple[int, int]] = ()
    """Ranges of chapter numbers, both ends included; none: all."""
    cover: Path | None = None
    """Where to write the cover image."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Fields of BookFacts that go before what the book says; `authors` has one."""
    credits: Credits = field(default_factory=Credits)
    encoding: str | None = None
    force: bool = False
    """Replace a manifest that is there."""


@dataclass(slots=True)
class Listed:
    """One chapter in the list of a book."""

    number: int
    """0 for one that is left out."""
    title: str
    kind: str
    chars: int
    rows: list[str] = field(default_factory=list)
    """Ids of its rows."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a book."""

    facts: BookFacts
    chapters: list[Listed]
    rows: int
    lines: Lines
    findings: list[str]
    sidecar: Path | None = None
    cover: Path | None = None
    credits: Mapping[str, str] = field(default_factory=dict)
    """Texts of the rows `opening` and `closing`."""


def make(order: BookOrder) -> Made:
    """Write the manifest, the sidecar beside it, and the cover if one is asked for: whole or not at all.

    Raises UserError for a book that cannot be read, chapters that are not there, files that are.
    """
    if order.out.exists() and not order.force:
        raise UserError(f"{order.out}: is there already; name another file with --output or replace it with --force")
    lines = Lines()
    listed: list[Listed] = []
    spoken: dict[str, dict[str, Any]] = {}
    with open_book(order.file, order.reading, order.encoding, want_cover=order.cover is not None) as book:
        facts = _named(book.facts, order)
        if order.cover is not None:
            _write_cover(order.cover, book)
        rows = replace(order.rows, columns={**_columns(facts), **order.rows.columns})
        with replacing(order.out, "--output") as stream:
            for chapter in _numbered(book.chapters, order):
                entry = Listed(chapter.number, chapter.title, chapter.kind, chapter.chars)
                if chapter.number and _is_chosen(chapter.number, order.chosen):
                    if not spoken and not any(one.rows for one in listed):
                        rows, spoken = _begun(chapter, order, facts, rows, book.findings)
                        _put(stream, spoken.get("opening"))
                    for row in rows_of(chapter, rows, book.findings, lines):
                        _put(stream, row)
                        entry.rows.append(row["id"])
                listed.append(entry)
            _demand_rows(listed, order)
            _put(stream, spoken.get("closing"))
        made = Made(
            facts, listed, len(spoken) + sum(len(one.rows) for one in listed), lines, book.findings.lines(),
            sidecar_of(order.out), order.cover, {kind: row["text"] for kind, row in spoken.items()},
        )  # fmt: skip
    _write_sidecar(made, order)
    return made


def _begun(
    chapter: Chapter, order: BookOrder, facts: BookFacts, rows: Rows, findings: Findings
) -> tuple[Rows, dict[str, dict[str, Any]]]:
    """What the first chapter settles: the language of the rows, and with it the credits."""
    sample = "".join(block.text for block in chapter.blocks[:60])[:_SAMPLE_CHARS]
    if rows.language is None:
        rows = replace(rows, language=_language(facts, sample, findings))
    if not order.credits.wanted:
        return rows, {}
    if facts.title == order.file.stem:
        findings.say(f"credits name the book {facts.title!r}, after its file; --title names it otherwise")
    return rows, credit_rows(order.credits, facts, rows, sample, findings)


def _put(stream: IO[bytes], row: Mapping[str, Any] | None) -> None:
    if row is not None:
        stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def outline(order: BookOrder) -> Made:
    """The chapters of a book with their numbers, as `make` would number them; writes nothing."""
    with open_book(order.file, order.reading, order.encoding) as book:
        listed = [
            Listed(chapter.number, chapter.title, chapter.kind, chapter.chars)
            for chapter in _numbered(book.chapters, order)
        ]
        return Made(_named(book.facts, order), listed, 0, Lines(), book.findings.lines())


def sidecar_of(manifest: Path) -> Path:
    """`novel.jsonl` -> `novel.book.json`: what the book says about itself, for the step that binds the audio."""
    return manifest.with_name(f"{manifest.stem}.book.json")


def _named(facts: BookFacts, order: BookOrder) -> BookFacts:
    told: dict[str, Any] = dict(order.facts)
    if "authors" in told:
        told["authors"] = (told["authors"],) if told["authors"] else ()
    named = replace(facts, **told)
    return named if named.title else replace(named, title=order.file.stem)


def _columns(facts: BookFacts) -> dict[str, str]:
    return {"book": facts.title, "author": ", ".join(facts.authors)}


def _numbered(chapters: Iterator[Chapter], order: BookOrder) -> Iterator[Chapter]:
    """Chapters that are not skipped count 1, 2, 3 …, whichever of them are chosen."""
    number = 0
    for chapter in chapters:
        kind = chapter.kind if chapter.kind in MATTER else "chapter"
        chapter.kind = kind
        if kind not in order.skip and any(block.speakable for block in chapter.blocks):
            number += 1
            chapter.number = number
        yield chapter


def _is_chosen(number: int, chosen: Sequence[tuple[int, int]]) -> bool:
    return not chosen or any(first <= number <= last for first, last in chosen)


def _demand_rows(listed: Sequence[Listed], order: BookOrder) -> None:
    """Raise UserError where nothing, or less than what was asked for, would be made."""
    count = max((one.number for one in listed), default=0)
    if count == 0:
        skipped = f" ({len(listed)} parts were left out, --skip none keeps them)" if listed else ""
        raise UserError(f"{order.file}: there is no text to speak in it{skipped}")
    beyond = [first for first, _ in order.chosen if first > count]
    if beyond:
        raise UserError(f"--chapters: there is no chapter {beyond[0]}, the book has {count}; see --list")
    if not any(one.rows for one in listed):
        raise UserError(f"{order.file}: the chapters that were chosen hold nothing to speak; see --list")


def _language(facts: BookFacts, sample: str, findings: Findings) -> str | None:
    """The book's own language, unless its text is plainly in another script."""
    from jobs.language_codes import language_code

    if not facts.language:
        return None
    try:
        code = language_code(facts.language)
    except ValueError:
        findings.say(f"the book names the language {facts.language!r}, which is none that is known; rows carry none")
        return None
    if is_mostly_cjk(sample) != (code in _CJK_LANGUAGES) and code != "ko":
        findings.say(f"the book says that it is in {code!r}, its text is in another script; rows carry no language")
        return None
    return code


def _write_cover(file: Path, book: Book) -> None:
    kinds = (
        (b"\xff\xd8\xff", (".jpg", ".jpeg")),
        (b"\x89PNG\r\n", (".png",)),
        (b"GIF8", (".gif",)),
        (b"RIFF", (".webp",)),
    )
    data = book.cover
    if data is None:
        raise UserError(
            "--cover: the book has no cover image; leave the option out or give an image to the binding step"
        )
    suffixes = next((suffixes for start, suffixes in kinds if data.startswith(start)), None)
    if suffixes is None:
        raise UserError("--cover: the book's cover is no JPEG, PNG, GIF or WebP image; leave the option out")
    if file.suffix.lower() not in suffixes:
        raise UserError(f"--cover: the book's cover is a {suffixes[0]} file; name it {file.with_suffix(suffixes[0])}")
    with replacing(file, "--cover") as stream:
        stream.write(data)


def _beside(file: Path, manifest: Path) -> str:
    """A path as the sidecar gives it: relative to its folder, where there is such a path."""
    try:
        return Path(os.path.relpath(file, manifest.parent)).as_posix()
    except ValueError:  # another drive
        return str(file.resolve())


def _write_sidecar(made: Made, order: BookOrder) -> None:
    from jobs.files import file_digest

    facts: dict[str, Any] = {key: value for key, value in asdict(made.facts).items() if value}
    values = {
        **facts,
        "source": order.file.name,
        "source_sha256": file_digest(str(order.file)),
        "manifest": order.out.name,
        "cover": _beside(made.cover, order.out) if made.cover else None,
        "credits": dict(made.credits),
        "chapters": [asdict(one) for one in made.chapters],
        "findings": made.findings,
    }
    with replacing(sidecar_of(order.out), "--output") as stream:
        stream.write(json.dumps(values, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n")
