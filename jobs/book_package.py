"""The package of an EPUB 2 or 3: what it says about the book, reading order, table of contents, cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.book_archive import MAX_READ_BYTES, Archive, resolve, too_much
from jobs.book_markup import Tag
from jobs.book_opf import MAX_ENTRIES, Opf, document, opf_facts, package_path, read_opf
from jobs.book_records import BookFacts, BookFault, Findings, one_line
from jobs.book_semantics import matter_of_markup

_FONT_OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXT_TYPES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml", "")
_TEXT_SUFFIXES = (".xhtml", ".html", ".htm", ".xml")


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


def read_package(archive: Archive, findings: Findings, asked: str | None = None) -> Package:
    """Raises BookFault where no reading order can be found, or the book is encrypted."""
    _refuse_drm(archive)
    opf = read_opf(archive, package_path(archive, findings), asked)
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
    return Package(opf_facts(opf), spine, entries, _cover(archive, opf), asked)


def _refuse_drm(archive: Archive) -> None:
    if archive.find("META-INF/sinf.xml"):
        raise BookFault("is under copy protection (Apple FairPlay DRM) and cannot be read")
    name = archive.find("META-INF/encryption.xml")
    if name is None:
        return
    for token in document(archive, name, None):
        if isinstance(token, Tag) and token.name == "encryptionmethod" and not token.closing:
            algorithm = token.get("algorithm")
            if algorithm not in _FONT_OBFUSCATION and not algorithm.startswith("http://www.w3.org/2001/04/xmlenc#sha"):
                raise BookFault(
                    "is under copy protection (DRM): META-INF/encryption.xml says that its text is encrypted; use a"
                    " copy without protection"
                )


def _cover(archive: Archive, opf: Opf) -> str:
    by_property = [path for path, _, properties in opf.items.values() if "cover-image" in properties.split()]
    named = opf.items.get(opf.cover_id, ("", "", ""))
    candidates = by_property + ([named[0]] if named[1].startswith("image/") else [])
    candidates += [
        path for key, (path, kind, _) in opf.items.items() if "cover" in key.lower() and kind[:6] == "image/"
    ]
    return next((found for path in candidates if path and (found := archive.find(path))), "")


# The table of contents


def _entries(archive: Archive, opf: Opf, guide: dict[str, str], findings: Findings, asked: str | None) -> list[Entry]:
    """The entries of the navigation document (EPUB 3), else of the NCX (EPUB 2); `guide` grows by the landmarks."""
    nav = next((path for path, _, properties in opf.items.values() if "nav" in properties.split()), "")
    nav_name = archive.find(nav) if nav else None
    if nav_name:
        guide.setdefault(nav_name, "contents")
        found = list(_nav_entries(document(archive, nav_name, asked, findings), nav_name, guide))
        if found:
            return _known(archive, found)
    ncx = opf.items.get(opf.toc_id, ("", "", ""))[0] or next(
        (path for path, kind, _ in opf.items.values() if kind == "application/x-dtbncx+xml"), ""
    )
    ncx_name = archive.find(ncx) if ncx else None
    return (
        _known(archive, list(_ncx_entries(document(archive, ncx_name, asked, findings), ncx_name))) if ncx_name else []
    )


def _known(archive: Archive, entries: list[Entry]) -> list[Entry]:
    """Names as the archive spells them."""
    return [
        Entry(entry.title, archive.find(entry.path) or "", entry.fragment, entry.depth, entry.parent)
        for entry in entries
    ]


def _nav_entries(parts: Iterator[Tag | str], base: str, guide: dict[str, str]) -> Iterator[Entry]:
    """Entries of `<nav epub:type="toc">`; targets of the landmarks go into `guide`."""
    outline = _Outline()
    kind, depth, inside = "", 0, ""
    text, target, landmark = "", ("", ""), ""
    for token in parts:
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


def _ncx_entries(parts: Iterator[Tag | str], base: str) -> Iterator[Entry]:
    outline = _Outline()
    depth, text, label, inside = 0, "", "", False
    for token in parts:
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
        return self._count < MAX_ENTRIES

    def entry(self, title: str, target: tuple[str, str], depth: int) -> Entry:
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()
        parent = self._open[-1][1] if self._open else -1
        self._open.append((depth, self._count))
        self._count += 1
        return Entry(title, *target, depth, parent)
