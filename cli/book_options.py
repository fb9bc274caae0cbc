"""What may be asked of `book`, with its help and defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cli.options import Option

_PAUSE_MS = (0, 20_000)


@dataclass(frozen=True, slots=True)
class BookOptions:
    """The options of `book`; how its text is read, its rows are made, and what is said about it."""

    output: Annotated[
        Path | None,
        Option("JSONL manifest to write.", short="-o", default="none; needed without --list", metavar="MANIFEST"),
    ] = None
    list_: Annotated[bool, Option("Show the chapters and write nothing.")] = False
    chapters: Annotated[
        str | None, Option("Chapters to take, by the numbers of --list: 3-7,9 or 5-.", default="all")
    ] = None
    skip: Annotated[str, Option("Kinds of chapters, or boilerplate, front, back, none, to leave out.")] = "boilerplate"
    depth: Annotated[
        int | None,
        Option("Levels of headings that start a chapter.", default="judged by the book", between=(1, 6)),
    ] = None
    heading: Annotated[str | None, Option("Regular expression of lines that start a chapter in plain text.")] = None
    wrapped: Annotated[
        Literal["auto", "yes", "no"], Option("Plain text whose lines are cut at a width: auto, yes, no.")
    ] = "auto"
    notes: Annotated[Literal["drop", "keep"], Option("Footnotes: drop, or keep where they stand.")] = "drop"
    ruby: Annotated[Literal["base", "reading"], Option("Text with ruby: read its base or its reading.")] = "base"
    tables: Annotated[Literal["read", "drop"], Option("Tables: read row by row, or drop.")] = "read"
    ads: Annotated[Literal["drop", "keep"], Option("Advertising and pleas for votes in web novels: drop, or keep.")] = (
        "drop"
    )
    voice: Annotated[str | None, Option("Voice that reads.", default="the run's")] = None
    dialogue_voice: Annotated[str | None, Option("Voice of quoted speech.", default="who reads")] = None
    cast: Annotated[Path | None, Option("TOML file of speakers and their voices.", metavar="FILE")] = None
    language: Annotated[str | None, Option("Language of the rows.", short="-l", default="the book's")] = None
    engine: Annotated[
        str | None, Option("Engine the manifest is for: one with tags keeps emphasis.", default="no tags")
    ] = None
    rows: Annotated[Literal["chapter", "paragraph"], Option("A row for each chapter or paragraph.")] = "chapter"
    heading_ms: Annotated[int, Option("Silence after a heading.", between=_PAUSE_MS)] = 1200
    scene_ms: Annotated[int, Option("Silence at a scene break.", between=_PAUSE_MS)] = 2500
    verse_ms: Annotated[int, Option("Silence between lines of a poem.", between=_PAUSE_MS)] = 400
    max_chars: Annotated[
        int, Option("Longest text of a row; longer chapters become parts.", between=(1000, 1_000_000))
    ] = 900_000
    title: Annotated[str | None, Option("Title of the book.", default="as it says")] = None
    author: Annotated[str | None, Option("Author of the book.", default="as it says")] = None
    narrator: Annotated[str | None, Option("Who reads, for credits and tags.")] = None
    publisher: Annotated[str | None, Option("Publisher of the book.", default="as it says")] = None
    year: Annotated[str | None, Option("Year of publication.", default="as it says")] = None
    credits: Annotated[bool, Option("Add spoken opening and closing credits: title, author, synthetic voice.")] = False
    opening: Annotated[
        str | None,
        Option(
            "Opening credits of your own, with {title} {author} {narrator} {publisher} {year}.", metavar="TEXT|@FILE"
        ),
    ] = None
    closing: Annotated[str | None, Option("Closing credits, likewise.", metavar="TEXT|@FILE")] = None
    fact: Annotated[list[str] | None, Option("A {NAME} of your own for credits.", metavar="NAME=VALUE")] = None
    cover: Annotated[Path | None, Option("Write the cover image to this file.", metavar="FILE")] = None
    encoding: Annotated[str | None, Option("Encoding of the text, such as gb18030.", default="detected")] = None
    force: Annotated[bool, Option("Replace a manifest that is there.")] = False
