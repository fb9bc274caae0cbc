"""EPUB files built in a test, and books as a test wants to look at them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.book import BookOrder, Made, make

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def page(body: str, title: str = "page", attributes: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml"'
        f' xmlns:epub="http://www.idpf.org/2007/ops"><head><title>{title}</title></head><body{attributes}>{body}</body></html>'
    )


def nav(lines: str) -> str:
    return page(f'<nav epub:type="toc"><h1>Contents</h1><ol>{lines}</ol></nav>')


def ncx(points: str) -> str:
    return (
        '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"'
        ' "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/">'
        f"<docTitle><text>Book</text></docTitle><navMap>{points}</navMap></ncx>"
    )


def point(label: str, target: str, inside: str = "") -> str:
    return f'<navPoint><navLabel><text>{label}</text></navLabel><content src="{target}"/>{inside}</navPoint>'


def epub(
    path: Path,
    documents: Mapping[str, str | bytes],
    *,
    toc: str = "nav.xhtml",
    order: Sequence[str] | None = None,
    metadata: str = "<dc:title>A Book</dc:title><dc:creator>Ann Author</dc:creator><dc:language>en</dc:language>",
    guide: str = "",
    extra: Mapping[str, str | bytes] | None = None,
    manifest: str = "",
) -> Path:
    """An EPUB of these documents in this order; `toc` names the nav document or the NCX among them."""
    items, spine = [], []
    for number, name in enumerate(documents):
        kind = "application/x-dtbncx+xml" if name.endswith(".ncx") else "application/xhtml+xml"
        properties = ' properties="nav"' if name == toc and not name.endswith(".ncx") else ""
        items.append(f'<item id="i{number}" href="{name}" media-type="{kind}"{properties}/>')
        if order is None and not name.endswith(".ncx") and name != "nav.xhtml":
            spine.append(f'<itemref idref="i{number}"/>')
    spine += [f'<itemref idref="i{list(documents).index(name)}"/>' for name in order or ()]
    toc_id = f' toc="i{list(documents).index(toc)}"' if toc.endswith(".ncx") else ""
    package = (
        f'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="{"2.0" if toc_id else "3.0"}">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>'
        f"<manifest>{''.join(items)}{manifest}</manifest><spine{toc_id}>{''.join(spine)}</spine>{guide}</package>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/content.opf", package)
        for name, text in documents.items():
            archive.writestr(f"OEBPS/{name}", text)
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    return path


def made(file: Path, **options: Any) -> tuple[Made, list[dict[str, Any]]]:
    """What `book` makes of a file, and its rows."""
    order = BookOrder(file=file, out=file.with_name("made.jsonl"), force=True, **options)
    done = make(order)
    return done, rows_in(order.out)


def rows_in(manifest: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]


def listed(done: Made) -> list[tuple[int, str, str]]:
    return [(one.number, one.kind, one.title) for one in done.chapters]


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path
