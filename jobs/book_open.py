"""A file -> an open book, whatever it is: EPUB, HTML, Markdown, plain text, or a refusal that says what to do."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.book_outline import joined_forward, squeeze
from jobs.book_records import Block, BookFacts, BookFault, Chapter, Findings, Reading, one_line
from jobs.book_tidy import tidied
from jobs.errors import UserError

MAX_TEXT_BYTES = 64 << 20
"""A text file of this size is thirty times War and Peace."""
_NO_BOOKS = (
    (b"%PDF", "a PDF; its lines and pages are no text in reading order: export the book as EPUB or plain text"),
    (b"\xd0\xcf\x11\xe0", "an old Word document; save it as plain text or HTML"),
    (b"{\\rtf", "a rich text file; save it as plain text or HTML"),
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"ITSF", "a CHM help file; convert it to EPUB"),
)
_TOP_BLOCKS = 8
_HTML_SUFFIXES = (".html", ".htm", ".xhtml", ".xht")
_MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")


@dataclass(slots=True)
class Book:
    """An open book: its facts, and its chapters one after the other."""

    facts: BookFacts
    chapters: Iterator[Chapter]
    findings: Findings
    cover: bytes | None = None


@contextmanager
def open_book(file: Path, reading: Reading, encoding: str | None = None, want_cover: bool = False) -> Iterator[Book]:
    """An EPUB, HTML, Markdown or plain text file as a Book; every fault becomes a UserError that names the file."""
    findings = Findings()
    with ExitStack() as stack:
        try:
            kind = _kind(file)
            if kind == "epub":
                book = _epub(file, reading, findings, encoding, want_cover, stack)
            else:
                book = _document(file, kind, reading, findings, encoding)
            yield replace(book, chapters=tidied(book.chapters, reading, findings))
        except BookFault as fault:
            raise UserError(f"{file}: {fault}") from fault


def _kind(file: Path) -> str:
    """`epub`, `html`, `markdown` or `text`: by the first bytes, then by the name."""
    try:
        with file.open("rb") as stream:
            head = stream.read(4096)
    except FileNotFoundError:
        raise UserError(f"{file}: there is no such file; correct the path") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    if not head:
        raise UserError(f"{file}: is empty")
    for start, what in _NO_BOOKS:
        if head.startswith(start):
            raise UserError(f"{file}: is {what}")
    if head[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        raise UserError(f"{file}: is a Kindle or Palm book; convert it to EPUB")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "epub"
    if file.suffix.lower() == ".epub":
        raise UserError(f"{file}: is no EPUB (an EPUB is a zip file, this is none); fetch or export it again")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if file.suffix.lower() in _HTML_SUFFIXES or start.startswith((b"<!doctype html", b"<html", b"<?xml")):
        return "html"
    return "markdown" if file.suffix.lower() in _MARKDOWN_SUFFIXES else "text"


def _epub(
    file: Path, reading: Reading, findings: Findings, encoding: str | None, want_cover: bool, stack: ExitStack
) -> Book:
    from jobs.book_archive import Archive
    from jobs.book_epub import epub_chapters
    from jobs.book_package import read_package

    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive_file:
            names = set(archive_file.namelist())
        for member, what in (("word/document.xml", "a Word document"), ("content.xml", "an OpenDocument text")):
            if member in names and "META-INF/container.xml" not in names:
                raise BookFault(f"is {what}; save it as EPUB, HTML or plain text")
    archive = stack.enter_context(Archive(file))
    package = read_package(archive, findings, encoding)
    chapters = joined_forward(epub_chapters(archive, package, reading, findings))
    cover = archive.read(package.cover) if want_cover and package.cover else None
    return Book(package.facts, chapters, findings, cover)


def _document(file: Path, kind: str, reading: Reading, findings: Findings, encoding: str | None) -> Book:
    """A book of one file."""
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise BookFault(f"has more than {MAX_TEXT_BYTES >> 20} MB; no book is that long: split it")
    data = file.read_bytes()
    facts = BookFacts({"html": "HTML", "markdown": "Markdown", "text": "plain text"}[kind])
    if kind == "html":
        return _html(data, facts, reading, findings, encoding)
    text, facts = _decoded(data, facts, findings, encoding)
    if kind == "markdown":
        from jobs.book_markdown import markdown_blocks, markdown_facts
        from jobs.book_outline import split_at_headings

        text, facts = markdown_facts(text.replace("\r\n", "\n").replace("\r", "\n"), facts)
        blocks = list(markdown_blocks(text, reading, findings))
        facts = _titled(facts, blocks)
        blocks = _without_byline(blocks, facts)
        return Book(facts, joined_forward(split_at_headings(blocks, reading.depth, facts.title)), findings)
    from jobs.book_aozora import aozora_facts, is_aozora, plain_aozora
    from jobs.book_text import text_chapters, text_facts

    lines = text.replace("\r\n", "\n")
    if is_aozora(lines):
        plain = plain_aozora(lines, reading.ruby, findings)
        return Book(aozora_facts(lines, facts), joined_forward(text_chapters(plain, reading, findings)), findings)
    return Book(text_facts(text, facts), joined_forward(text_chapters(text, reading, findings)), findings)


def _titled(facts: BookFacts, blocks: list[Block]) -> BookFacts:
    """A document without a title of its own is called by its only heading of the highest level, above all others."""
    headings = [block for block in blocks if block.kind == "heading"]
    if facts.title or len(headings) < 3 or any(one.level <= headings[0].level for one in headings[1:]):
        return facts
    return replace(facts, title=one_line(headings[0].plain))


def _without_byline(blocks: list[Block], facts: BookFacts) -> list[Block]:
    """Without a heading at the top that only names the author: it would be read before the first chapter."""

    def names_author(block: Block) -> bool:
        name = squeeze(re.sub(r"^by\s+", "", block.plain.strip(), flags=re.IGNORECASE))
        return len(name) > 3 and any(squeeze(author).startswith(name) for author in facts.authors)

    return [b for at, b in enumerate(blocks) if at >= _TOP_BLOCKS or b.kind != "heading" or not names_author(b)]


def _decoded(data: bytes, facts: BookFacts, findings: Findings, encoding: str | None) -> tuple[str, BookFacts]:
    from jobs.encoding import EncodingFault, decode

    try:
        text, found = decode(data, encoding)
    except EncodingFault as error:
        where = f"line {error.line}: " if error.line else ""
        hint = "; or name the encoding with --encoding" if error.unclear else ""
        raise BookFault(f"{where}{error}{hint}") from error
    if found.guessed:
        findings.say(f"read as {found.title} (--encoding names another one)")
    return text, replace(facts, encoding=found.title)


def _html(data: bytes, facts: BookFacts, reading: Reading, findings: Findings, encoding: str | None) -> Book:
    from jobs.book_html import HtmlReader
    from jobs.book_markup import decode_markup
    from jobs.book_outline import split_at_headings
    from jobs.book_page import page_facts

    text, remark = decode_markup(data, "the page", encoding)
    if remark:
        findings.say(remark)
    facts = page_facts(text, facts)
    blocks = list(HtmlReader(reading, findings).blocks(text))
    facts = _titled(facts, blocks)
    blocks = _without_byline(blocks, facts)
    return Book(facts, joined_forward(split_at_headings(blocks, reading.depth, facts.title)), findings)
