"""The package of an EPUB 2 or 3: what it says about the book, reading order, table of contents, cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.book_archive import MAX_READ_BYTES, Archive, resolve, too_much
from jobs.book_markup import Tag, decode_markup, refuse_entities, tokens
from jobs.book_records import BookFacts, BookFault, Findings, one_line
from jobs.book_semantics import matter_of_markup

_MAX_ENTRIES = 20_000
_FONT_OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXT_TYPES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml", "")
_TEXT_SUFFIXES = (".xhtml", ".html", ".htm", ".xml")
_CONTAINER = "META-INF/container.xml"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table of contents."""

    title: str
    path: str
    fragment: str
    depth: int
    """1 for the outermost."""
    parent: int
    """Index of the entry it stands under; -1 for none."""


@dataclass(frozen=True, slots=True)
class Spine:
    path: str
    linear: bool
    kind: str
    """Of chapter, as guide or landmarks name it; often empty."""


@dataclass(slots=True)
class Package:
    facts: BookFacts
    spine: list[Spine]
    entries: list[Entry]
    cover: str = ""
    """Member name of the cover image; empty if there is none."""
    encoding: str | None = None


@dataclass(slots=True)
class _Opf:
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


def read_package(archive: Archive, findings: Findings, asked: str | None = None) -> Package:
    """Raises BookFault where no reading order can be found, or the book is encrypted."""
    _refuse_drm(archive)
    opf = _read_opf(archive, _opf_path(archive, findings), asked)
    guide = dict(opf.guide)
    entries = _entries(archive, opf, guide, findings, asked)
    spine: list[Spine] = []
    seen: set[str] = set()
    for item_id, linear in opf.order:
        path, media_type, _ = opf.items.get(item_id, ("", "", ""))
        found = archive.find(path) if path else None
        if found is None:
            findings.say(f"a part that the reading order names is missing: {path or item_id}")
        elif found in seen:
            findings.say(f"the reading order names a part more than once, it is read once: {found}")
        elif media_type in _TEXT_TYPES or found.lower().endswith(_TEXT_SUFFIXES):
            seen.add(found)
            spine.append(Spine(found, linear, guide.get(found, "")))
        else:
            findings.count("parts that are no text left out")
    if not spine:
        raise BookFault(f"{opf.path}: its reading order (spine) names no text that is there; export the EPUB again")
    if sum(archive.size_bytes(part.path) for part in spine) > MAX_READ_BYTES:
        raise too_much()
    return Package(_facts(opf), spine, entries, _cover(archive, opf), asked)


def _document(archive: Archive, name: str, asked: str | None, findings: Findings | None = None) -> Iterator[Tag | str]:
    text, remark = decode_markup(archive.read(name), name, asked)
    if remark and findings:
        findings.say(remark)
    refuse_entities(text, name)
    return tokens(text)


def _refuse_drm(archive: Archive) -> None:
    if archive.find("META-INF/sinf.xml"):
        raise BookFault("is under copy protection (Apple FairPlay DRM) and cannot be read")
    name = archive.find("META-INF/encryption.xml")
    if name is None:
        return
    for token in _document(archive, name, None):
        if isinstance(token, Tag) and token.name == "encryptionmethod" and not token.closing:
            algorithm = token.get("algorithm")
            if algorithm not in _FONT_OBFUSCATION and not algorithm.startswith("http://www.w3.org/2001/04/xmlenc#sha"):
                raise BookFault(
                    "is under copy protection (DRM): META-INF/encryption.xml says that its text is encrypted; use a"
                    " copy without protection"
                )


def _opf_path(archive: Archive, findings: Findings) -> str:
    container = archive.find(_CONTAINER)
    if container is not None:
        for token in _document(archive, container, None):
            if isinstance(token, Tag) and token.name == "rootfile" and token.get("full-path"):
                name, _ = resolve("", token.get("full-path"))
                found = archive.find(name) if name else None
                if found is None:
                    raise BookFault(
                        f"{_CONTAINER} names the package {token.get('full-path')[:80]!r}, which is not in the file;"
                        " export the EPUB again"
                    )
                return found
    packages = [name for name in archive.names() if name.lower().endswith(".opf")]
    if len(packages) != 1:
        raise BookFault(
            f"has no {_CONTAINER} that names its package: this is no EPUB, or a damaged one; export it again"
        )
    findings.say(f"{_CONTAINER} is missing or empty; {packages[0]} was taken for the package")
    return packages[0]


def _read_opf(archive: Archive, path: str, asked: str | None) -> _Opf:
    opf = _Opf(path)
    text, collecting, refined = "", "", ""
    for token in _document(archive, path, asked):
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


def _opf_element(opf: _Opf, tag: Tag) -> None:
    if tag.name == "package":
        opf.version = tag.get("version")
    elif tag.name == "item" and tag.get("id"):
        path, _ = resolve(opf.path, tag.get("href"))
        opf.items[tag.get("id")] = (path, tag.get("media-type").lower(), tag.get("properties"))
    elif tag.name == "spine":
        opf.toc_id = tag.get("toc")
    elif tag.name == "itemref" and len(opf.order) < _MAX_ENTRIES:
        opf.order.append((tag.get("idref"), tag.get("linear").lower() != "no"))
    elif tag.name == "meta" and tag.get("name") == "cover":
        opf.cover_id = tag.get("content")
    elif tag.name == "reference":
        path, _ = resolve(opf.path, tag.get("href"))
        opf.guide.setdefault(path, matter_of_markup(tag.get("type")))


def _facts(opf: _Opf) -> BookFacts:
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


def _authors(opf: _Opf) -> tuple[str, ...]:
    """The creators that wrote the book; all of them where none did by what is told."""
    named = [
        (one_line(name, 200), opf.roles.get(key) or role)
        for name, (key, role) in zip(opf.meta.get("creator", ()), opf.creators, strict=False)
        if name.strip()
    ]
    wrote = [name for name, role in named if role in ("", "aut")]
    return tuple(dict.fromkeys(wrote or [name for name, _ in named]))


def _cover(archive: Archive, opf: _Opf) -> str:
    by_property = [path for path, _, properties in opf.items.values() if "cover-image" in properties.split()]
    named = opf.items.get(opf.cover_id, ("", "", ""))
    candidates = by_property + ([named[0]] if named[1].startswith("image/") else [])
    candidates += [
        path for key, (path, kind, _) in opf.items.items() if "cover" in key.lower() and kind[:6] == "image/"
    ]
    return next((found for path in candidates if path and (found := archive.find(path))), "")


# The table of contents


def _entries(archive: Archive, opf: _Opf, guide: dict[str, str], findings: Findings, asked: str | None) -> list[Entry]:
    """The entries of the navigation document (EPUB 3), else of the NCX (EPUB 2); `guide` grows by the landmarks."""
    nav = next((path for path, _, properties in opf.items.values() if "nav" in properties.split()), "")
    nav_name = archive.find(nav) if nav else None
    if nav_name:
        guide.setdefault(nav_name, "contents")
        found = list(_nav_entries(_document(archive, nav_name, asked, findings), nav_name, guide))
        if found:
            return _known(archive, found)
    ncx = opf.items.get(opf.toc_id, ("", "", ""))[0] or next(
        (path for path, kind, _ in opf.items.values() if kind == "application/x-dtbncx+xml"), ""
    )
    ncx_name = archive.find(ncx) if ncx else None
    return (
        _known(archive, list(_ncx_entries(_document(archive, ncx_name, asked, findings), ncx_name))) if ncx_name else []
    )


def _known(archive: Archive, entries: list[Entry]) -> list[Entry]:
    """Names as the archive spells them."""
    return [
        Entry(entry.title, archive.find(entry.path) or "", entry.fragment, entry.depth, entry.parent)
        for entry in entries
    ]


def _nav_entries(document: Iterator[Tag | str], base: str, guide: dict[str, str]) -> Iterator[Entry]:
    """Entries of `<nav epub:type="toc">`; targets of the landmarks go into `guide`."""
    outline = _Outline()
    kind, depth, inside = "", 0, ""
    text, target, landmark = "", ("", ""), ""
    for token in document:
        if isinstance(token, str):
            text += token if inside and len(text) < 2000 else ""
        elif token.name == "nav":
            kind = "" if token.closing else token.get("epub:type", "role").removeprefix("doc-") or "toc"
        elif not kind:
            continue
        elif token.name == "ol":
            depth += -1 if token.closing else 1
        elif not inside and token.name in ("a", "span") and not token.closing:
            inside, text = token.name, ""
            target = resolve(base, token.get("href")) if token.name == "a" else ("", "")
            landmark = token.get("epub:type")
        elif inside and token.name == inside and token.closing:
            inside = ""
            if "landmarks" in kind:
                guide.setdefault(target[0], matter_of_markup(landmark))
            elif "toc" in kind and outline.room and text.strip():
                yield outline.entry(one_line(text), target, max(1, depth))


def _ncx_entries(document: Iterator[Tag | str], base: str) -> Iterator[Entry]:
    outline = _Outline()
    depth, text, label, inside = 0, "", "", False
    for token in document:
        if isinstance(token, str):
            text += token if inside and len(text) < 2000 else ""
        elif token.name == "navmap":
            depth = 0
        elif token.name == "navpoint":
            depth += -1 if token.closing else 1
        elif token.name == "navlabel" and depth > 0:
            inside = not token.closing
            text, label = ("", text) if token.closing else ("", label)
        elif token.name == "content" and depth > 0 and not token.closing and outline.room:
            yield outline.entry(one_line(label), resolve(base, token.get("src")), depth)


class _Outline:
    """Gives each entry the one it stands under."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int]] = []
        self._count = 0

    @property
    def room(self) -> bool:
        return self._count < _MAX_ENTRIES

    def entry(self, title: str, target: tuple[str, str], depth: int) -> Entry:
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()
        parent = self._open[-1][1] if self._open else -1
        self._open.append((depth, self._count))
        self._count += 1
        return Entry(title, *target, depth, parent)
