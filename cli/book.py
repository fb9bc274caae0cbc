"""`book FILE -o MANIFEST`: an EPUB, HTML, Markdown or plain text book as a manifest, one row a chapter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.book_options import BookOptions
from cli.book_told import list_chapters, tell
from cli.options import JsonOption, require_choice, with_options
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.book import BookOrder
    from jobs.book_credits import Credits
    from jobs.book_records import Reading
    from jobs.book_rows import Rows

GROUPS = ("boilerplate", "front", "back", "none")


@with_options(BookOptions)
def book(
    file: Annotated[Path, typer.Argument(help="EPUB 2 or 3, HTML, Markdown or plain text.")],
    asked: BookOptions,
    as_json: JsonOption = False,
) -> None:
    """Turn a book into a manifest that `check` and `run` take: chapters in reading order, one row each.

    Beside MANIFEST.jsonl stands MANIFEST.book.json with title, authors and chapters. Credits become the first and the
    last row.
    """
    from jobs.book import make, outline

    order = _order(file, asked)
    if asked.list_:
        list_chapters(outline(order), as_json)
    else:
        tell(make(order), order, as_json)


def _order(file: Path, asked: BookOptions) -> BookOrder:
    from jobs.book import BookOrder

    out = asked.output
    if out is None and not asked.list_:
        raise UserError("no manifest is named; write -o MANIFEST.jsonl, or --list to see the chapters first")
    if out is not None and out.suffix.lower() not in (".jsonl", ".ndjson", ".json"):
        raise UserError(f"--output: {out.name!r} would not be read as JSON lines; name it {out.stem}.jsonl")
    return BookOrder(
        file=file,
        out=out or Path("unused.jsonl"),
        reading=_reading(asked),
        rows=_rows(asked),
        skip=_skipped(asked.skip, asked.notes),
        chosen=_ranges(asked.chapters),
        cover=asked.cover,
        facts=_facts(asked),
        credits=_credits(asked),
        encoding=asked.encoding,
        force=asked.force,
    )


def _reading(asked: BookOptions) -> Reading:
    from jobs.book_records import Reading

    try:
        pattern = re.compile(asked.heading) if asked.heading is not None else None
    except re.error as error:
        raise UserError(f"--heading: {asked.heading!r} is no regular expression: {error}") from error
    return Reading(
        notes=asked.notes,
        ruby=asked.ruby,
        tables=asked.tables,
        ads=asked.ads,
        wrapped=asked.wrapped,
        depth=asked.depth,
        heading=pattern,
    )


def _rows(asked: BookOptions) -> Rows:
    from jobs.book_cast import make_cast
    from jobs.book_rows import Rows, engine_tags
    from jobs.language_codes import language_code

    try:
        language = language_code(asked.language) if asked.language else None
    except ValueError as error:
        raise UserError(f"--language: {error}") from error
    return Rows(
        cast=make_cast(asked.voice, asked.dialogue_voice, asked.cast),
        per=asked.rows,
        language=language,
        tags=engine_tags(asked.engine) if asked.engine else frozenset(),
        heading_ms=asked.heading_ms,
        scene_ms=asked.scene_ms,
        verse_ms=asked.verse_ms,
        max_chars=asked.max_chars,
    )


def _facts(asked: BookOptions) -> dict[str, str]:
    """What is said about the book on the command line. An empty text takes back what the book says."""
    from jobs.book_records import one_line

    given = {"title": asked.title, "authors": asked.author, "narrator": asked.narrator}
    given |= {"publisher": asked.publisher, "date": asked.year}
    return {name: one_line(value) for name, value in given.items() if value is not None}


def _credits(asked: BookOptions) -> Credits:
    from jobs.book_credits import Credits, own_facts

    opening, closing = _template("--opening", asked.opening), _template("--closing", asked.closing)
    return Credits(asked.credits, opening, closing, own_facts(asked.fact or []))


def _template(option: str, written: str | None) -> str:
    """The text, or that of the file behind an `@`."""
    if written is None or not written.startswith("@"):
        if written is not None and not written.strip():
            raise UserError(f"{option}: is empty; write a sentence, or leave the option out")
        return written or ""
    try:
        return Path(written[1:]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{option}: {written[1:]}: cannot be read as UTF-8 text: {error}") from error


def _skipped(written: str, notes: str) -> frozenset[str]:
    """Kinds of chapters by their names and groups; footnotes that are kept are no boilerplate."""
    from jobs.book_records import BOILERPLATE, MATTER

    chosen: set[str] = set()
    for word in (word.strip().lower() for word in written.split(",")):
        require_choice("--skip", word, (*GROUPS, *MATTER))
        if word == "boilerplate":
            chosen |= BOILERPLATE - ({"notes"} if notes == "keep" else set())
        elif word in ("front", "back"):
            chosen |= {kind for kind, place in MATTER.items() if place == word}
        elif word != "none":
            chosen.add(word)
    return frozenset(chosen)


def _ranges(written: str | None) -> list[tuple[int, int]]:
    """`3-7,9` -> [(3, 7), (9, 9)]; `5-` goes to the end."""
    ranges: list[tuple[int, int]] = []
    for part in written.split(",") if written is not None else ():
        found = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:(-)\s*([0-9]{1,6})?)?\s*", part)
        first = int(found[1]) if found else 0
        last = int(found[3]) if found and found[3] else 1_000_000 if found and found[2] else first
        if not 1 <= first <= last:
            raise UserError(f"--chapters: {part!r} is no range of chapters; write 3-7,9 or 5-")
        ranges.append((first, last))
    return ranges
