"""The package document of an EPUB as it stands: its names, its files, their order, who made the book."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.book_archive import Archive, resolve
from jobs.book_markup import Tag, decode_markup, refuse_entities, tokens
from jobs.book_records import BookFacts, BookFault, Findings, one_line
from jobs.book_semantics import matter_of_markup

MAX_ENTRIES = 20_000
CONTAINER = "META-INF/container.xml"


@dataclass(slots=True)
class Opf:
    """The package document as it stands."""

    path: str
    version: str = ""
    meta: dict[str, list[str]] = field(default_factory=dict)
    creators: list[tuple[str, str]] = field(default_factory=list)
    """(id, role) of each creator; the role is a code of MARC relators, often left out."""
    roles: dict[str, str] = field(default_factory=dict)
    """id of a creator -> the role that a `meta` of EPUB 3 gives it."""
    items: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """id -> (path, media type, properties)."""
    order: list[tuple[str, bool]] = field(default_factory=list)
    toc_id: str = ""
    cover_id: str = ""
    guide: dict[str, str] = field(default_factory=dict)
    """path -> kind."""


def package_path(archive: Archive, findings: Findings) -> str:
    container = archive.find(CONTAINER)
    if container is not None:
        for token in document(archive, container, None):
            if isinstance(token, Tag) and token.name == "rootfile" and token.get("full-path"):
                name, _ = resolve("", token.get("full-path"))
                found = archive.find(name) if name else None
                if found is None:
                    raise BookFault(
                        f"{CONTAINER} names the package {token.get('full-path')[:80]!r}, which is not in the file;"
                        " export the EPUB again"
                    )
                return found
    packages = [name for name in archive.names() if name.lower().endswith(".opf")]
    if len(packages) != 1:
        raise BookFault(
            f"has no {CONTAINER} that names its package: this is no EPUB, or a damaged one; export it again"
        )
    findings.say(f"{CONTAINER} is missing or empty; {packages[0]} was taken for the package")
    return packages[0]


def read_opf(archive: Archive, path: str, asked: str | None) -> Opf:
    opf = Opf(path)
    text, collecting, refined = "", "", ""
    for token in document(archive, path, asked):
        if isinstance(token, str):
            text += token if collecting and len(text) < 20_000 else ""
            continue
        if token.closing:
            if collecting and token.name == collecting:
                opf.meta.setdefault(collecting, []).append(text.strip())
                if refined:
                    opf.roles[refined] = text.strip().lower()
                collecting = refined = ""
            continue
        if token.name == "meta" and token.get("property") == "role" and token.get("refines"):
            text, collecting, refined = "", "" if token.empty else "meta", token.get("refines").lstrip("#")
        if token.name in ("title", "creator", "language", "publisher", "identifier", "date", "description"):
            text, collecting = "", "" if token.empty else token.name
            if token.name == "creator" and collecting:
                opf.creators.append((token.get("id"), token.get("opf:role", "role").lower()))
        _opf_element(opf, token)
    return opf


def _opf_element(opf: Opf, tag: Tag) -> None:
    if tag.name == "package":
        opf.version = tag.get("version")
    elif tag.name == "item" and tag.get("id"):
        path, _ = resolve(opf.path, tag.get("href"))
        opf.items[tag.get("id")] = (path, tag.get("media-type").lower(), tag.get("properties"))
    elif tag.name == "spine":
        opf.toc_id = tag.get("toc")
    elif tag.name == "itemref" and len(opf.order) < MAX_ENTRIES:
        opf.order.append((tag.get("idref"), tag.get("linear").lower() != "no"))
    elif tag.name == "meta" and tag.get("name") == "cover":
        opf.cover_id = tag.get("content")
    elif tag.name == "reference":
        path, _ = resolve(opf.path, tag.get("href"))
        opf.guide.setdefault(path, matter_of_markup(tag.get("type")))


def opf_facts(opf: Opf) -> BookFacts:
    def first(name: str, longest: int = 1000) -> str:
        return next((one_line(value, longest) for value in opf.meta.get(name, ()) if value.strip()), "")

    return BookFacts(
        format=f"EPUB {opf.version or '2.0'}",
        title=first("title"),
        authors=_authors(opf),
        language=first("language", 40),
        publisher=first("publisher"),
        identifier=first("identifier"),
        date=first("date", 40),
        description=first("description", 4000),
    )


def _authors(opf: Opf) -> tuple[str, ...]:
    """The creators that wrote the book; all of them where none did by what is told."""
    named = [
        (one_line(name, 200), opf.roles.get(key) or role)
        for name, (key, role) in zip(opf.meta.get("creator", ()), opf.creators, strict=False)
        if name.strip()
    ]
    wrote = [name for name, role in named if role in ("", "aut")]
    return tuple(dict.fromkeys(wrote or [name for name, _ in named]))


def document(archive: Archive, name: str, asked: str | None, findings: Findings | None = None) -> Iterator[Tag | str]:
    text, remark = decode_markup(archive.read(name), name, asked)
    if remark and findings:
        findings.say(remark)
    refuse_entities(text, name)
    return tokens(text)
