"""`book FILE -o MANIFEST`: an EPUB, HTML, Markdown or plain text book as a manifest, one row a chapter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.book_told import list_chapters, tell
from cli.options import JsonOption
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.book_credits import Credits
    from jobs.book_records import Reading
    from jobs.book_rows import Rows

GROUPS = ("boilerplate", "front", "back", "none")


def book(
    file: Annotated[Path, typer.Argument(help="EPUB 2 or 3, HTML, Markdown or plain text.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSONL manifest to write. (default: none; needed without --list)"),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the chapters and write nothing. (default: no)")] = False,
    chapters: Annotated[
        str | None, typer.Option(help="Chapters to take, by the numbers of --list: 3-7,9 or 5-. (default: all)")
    ] = None,
    skip: Annotated[
        str,
        typer.Option(
            show_default=False,
            help="Kinds of chapters, or boilerplate, front, back, none, to leave out. (default: boilerplate)",
        ),
    ] = "boilerplate",
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=6, help="Levels of headings that start a chapter. (default: judged by the book)"),
    ] = None,
    heading: Annotated[
        str | None, typer.Option(help="Regular expression of lines that start a chapter in plain text. (default: none)")
    ] = None,
    wrapped: Annotated[
        str,
        typer.Option(
            show_default=False, help="Plain text whose lines are cut at a width: auto, yes, no. (default: auto)"
        ),
    ] = "auto",
    notes: Annotated[
        str, typer.Option(show_default=False, help="Footnotes: drop, or keep where they stand. (default: drop)")
    ] = "drop",
    ruby: Annotated[
        str, typer.Option(show_default=False, help="Text with ruby: read its base or its reading. (default: base)")
    ] = "base",
    tables: Annotated[
        str, typer.Option(show_default=False, help="Tables: read row by row, or drop. (default: read)")
    ] = "read",
    ads: Annotated[
        str,
        typer.Option(
            show_default=False, help="Advertising and pleas for votes in web novels: drop, or keep. (default: drop)"
        ),
    ] = "drop",
    voice: Annotated[str | None, typer.Option(help="Voice that reads. (default: the run's)")] = None,
    dialogue_voice: Annotated[str | None, typer.Option(help="Voice of quoted speech. (default: who reads)")] = None,
    cast_file: Annotated[
        Path | None, typer.Option("--cast", help="TOML file of speakers and their voices. (default: none)")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Language of the rows. (default: the book's)")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Engine the manifest is for: one with tags keeps emphasis. (default: no tags)")
    ] = None,
    rows: Annotated[
        str, typer.Option(show_default=False, help="A row for each chapter or paragraph. (default: chapter)")
    ] = "chapter",
    heading_ms: Annotated[
        int, typer.Option(show_default=False, min=0, max=20_000, help="Silence after a heading. (default: 1200)")
    ] = 1200,
    scene_ms: Annotated[
        int, typer.Option(show_default=False, min=0, max=20_000, help="Silence at a scene break. (default: 2500)")
    ] = 2500,
    verse_ms: Annotated[
        int, typer.Option(show_default=False, min=0, max=20_000, help="Silence between lines of a poem. (default: 400)")
    ] = 400,
    max_chars: Annotated[
        int,
        typer.Option(
            show_default=False,
            min=1000,
            max=1_000_000,
            help="Longest text of a row; longer chapters become parts. (default: 900000)",
        ),
    ] = 900_000,
    title: Annotated[str | None, typer.Option(help="Title of the book. (default: as it says)")] = None,
    author: Annotated[str | None, typer.Option(help="Author of the book. (default: as it says)")] = None,
    narrator: Annotated[str | None, typer.Option(help="Who reads, for credits and tags. (default: none)")] = None,
    publisher: Annotated[str | None, typer.Option(help="Publisher of the book. (default: as it says)")] = None,
    year: Annotated[str | None, typer.Option(help="Year of publication. (default: as it says)")] = None,
    credits_: Annotated[
        bool,
        typer.Option(
            "--credits", help="Add spoken opening and closing credits: title, author, synthetic voice. (default: no)"
        ),
    ] = False,
    opening: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|@FILE",
            help="Opening credits of your own, with {title} {author} {narrator} {publisher} {year}. (default: none)",
        ),
    ] = None,
    closing: Annotated[
        str | None, typer.Option(metavar="TEXT|@FILE", help="Closing credits, likewise. (default: none)")
    ] = None,
    fact: Annotated[
        list[str] | None,
        typer.Option("--fact", metavar="NAME=VALUE", help="A {NAME} of your own for credits. (default: none)"),
    ] = None,
    cover: Annotated[Path | None, typer.Option(help="Write the cover image to this file. (default: none)")] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the text, such as gb18030. (default: detected)")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a manifest that is there. (default: no)")] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn a book into a manifest that `check` and `run` take: chapters in reading order, one row each.

    Beside MANIFEST.jsonl stands MANIFEST.book.json with title, authors and chapters. Credits become the first and the
    last row.
    """
    from jobs.book import BookOrder, make, outline
    from jobs.book_cast import make_cast

    if output is None and not list_:
        raise UserError("no manifest is named; write -o MANIFEST.jsonl, or --list to see the chapters first")
    if output is not None and output.suffix.lower() not in (".jsonl", ".ndjson", ".json"):
        raise UserError(f"--output: {output.name!r} would not be read as JSON lines; name it {output.stem}.jsonl")
    order = BookOrder(
        file=file,
        out=output or Path("unused.jsonl"),
        reading=_reading(notes, ruby, tables, ads, wrapped, depth, heading),
        rows=_rows(
            rows,
            engine,
            language,
            heading_ms,
            scene_ms,
            verse_ms,
            max_chars,
            make_cast(voice, dialogue_voice, cast_file),
        ),
        skip=_skipped(skip, notes),
        chosen=_ranges(chapters),
        cover=cover,
        facts=_facts(title=title, authors=author, narrator=narrator, publisher=publisher, date=year),
        credits=_credits(credits_, opening, closing, fact or []),
        encoding=encoding,
        force=force,
    )
    if list_:
        list_chapters(outline(order), as_json)
        return
    tell(make(order), order, as_json)


def _facts(**given: str | None) -> dict[str, str]:
    """What is said about the book on the command line. An empty text takes back what the book says."""
    from jobs.book_records import one_line

    return {name: one_line(value) for name, value in given.items() if value is not None}


def _credits(built_in: bool, opening: str | None, closing: str | None, facts: list[str]) -> Credits:
    from jobs.book_credits import Credits, own_facts

    return Credits(built_in, _template("--opening", opening), _template("--closing", closing), own_facts(facts))


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


def _choice(option: str, value: str, choices: tuple[str, ...]) -> Any:
    from jobs.fields import suggestion

    if value not in choices:
        raise UserError(f"{option}: {value!r} is not one of {', '.join(choices)}; {suggestion(value, choices)}")
    return value


def _reading(
    notes: str, ruby: str, tables: str, ads: str, wrapped: str, depth: int | None, heading: str | None
) -> Reading:
    from jobs.book_records import Reading

    try:
        pattern = re.compile(heading) if heading is not None else None
    except re.error as error:
        raise UserError(f"--heading: {heading!r} is no regular expression: {error}") from error
    return Reading(
        notes=_choice("--notes", notes, ("drop", "keep")),
        ruby=_choice("--ruby", ruby, ("base", "reading")),
        tables=_choice("--tables", tables, ("read", "drop")),
        ads=_choice("--ads", ads, ("drop", "keep")),
        wrapped=_choice("--wrapped", wrapped, ("auto", "yes", "no")),
        depth=depth,
        heading=pattern,
    )


def _rows(
    per: str,
    engine: str | None,
    language: str | None,
    heading_ms: int,
    scene_ms: int,
    verse_ms: int,
    max_chars: int,
    cast_: Any,
) -> Rows:
    from jobs.book_rows import Rows, engine_tags
    from jobs.language_codes import language_code

    try:
        code = language_code(language) if language else None
    except ValueError as error:
        raise UserError(f"--language: {error}") from error
    return Rows(
        cast=cast_,
        per=_choice("--rows", per, ("chapter", "paragraph")),
        language=code,
        tags=engine_tags(engine) if engine else frozenset(),
        heading_ms=heading_ms,
        scene_ms=scene_ms,
        verse_ms=verse_ms,
        max_chars=max_chars,
    )


def _skipped(written: str, notes: str) -> frozenset[str]:
    """Kinds of chapters by their names and groups; footnotes that are kept are no boilerplate."""
    from jobs.book_records import BOILERPLATE, MATTER

    chosen: set[str] = set()
    for word in (word.strip().lower() for word in written.split(",")):
        _choice("--skip", word, (*GROUPS, *MATTER))
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
