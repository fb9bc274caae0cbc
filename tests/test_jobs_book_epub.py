"""EPUB: reading order, chapters by the table of contents, what is left out, and files that mean harm."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest
from book_files import epub, listed, made, nav, ncx, page, point

from jobs.book import BookOrder, outline
from jobs.book_records import Reading
from jobs.errors import UserError

LONG = "This is a sentence of a chapter that goes on for a while. " * 5


def chapter(number: int, text: str = LONG) -> str:
    return page(f"<h2>Chapter {number}</h2><p>{text}</p>")


def test_authors_are_those_who_wrote(tmp_path: Path) -> None:
    who = (
        '<dc:creator id="a" opf:role="aut">Ann</dc:creator><dc:creator opf:role="ill">Bob</dc:creator>'
        '<dc:creator id="c">Tom</dc:creator><meta refines="#c" property="role">trl</meta><dc:creator>Eve</dc:creator>'
    )
    documents = {"nav.xhtml": nav('<li><a href="a.xhtml">One</a></li>'), "a.xhtml": page("<h1>One</h1><p>Text.</p>")}
    only = '<dc:creator id="e" opf:role="edt">Ed</dc:creator>'
    for metadata, authors in ((who, ("Ann", "Eve")), (only, ("Ed",))):
        book = epub(tmp_path / "b.epub", documents, metadata=f"<dc:title>B</dc:title>{metadata}")
        assert made(book)[0].facts.authors == authors


def test_epub3_nested_nav_fragments_and_a_chapter_over_two_files(tmp_path: Path) -> None:
    documents = {
        "nav.xhtml": nav(
            '<li><span>Part One</span><ol><li><a href="c1.xhtml">Chapter 1</a></li>'
            '<li><a href="c2.xhtml#two">Chapter <em>2</em></a></li>'
            '<li><a href="c2.xhtml#three">Chapter 3</a></li></ol></li>'
        ),
        "cover.xhtml": page('<img src="c.png" alt="A picture of a cat"/>'),
        "copyright.xhtml": page("<p>Copyright © 2020 by Ann Author. All rights reserved.</p>"),
        "c1.xhtml": page("<h2>Chapter 1<br/>The Start</h2><p>First part of it.</p>"),
        "c1b.xhtml": page("<p>Second part of it.</p>"),
        "c2.xhtml": page('<h2 id="two">Chapter 2</h2><p>Two.</p><h2><a id="three"></a>Chapter 3</h2><p>Three.</p>'),
    }
    done, rows = made(epub(tmp_path / "b.epub", documents))
    assert [one for one in listed(done) if one[0]] == [
        (1, "chapter", "Chapter 1: The Start"),
        (2, "chapter", "Chapter 2"),
        (3, "chapter", "Chapter 3"),
    ]
    assert "copyright" in [kind for _, kind, _ in listed(done)]
    assert [row["id"] for row in rows] == ["ch001", "ch002", "ch003"]
    assert rows[0]["text"] == ('Chapter 1\nThe Start <break time="1200ms"/>\nFirst part of it.\nSecond part of it.')
    assert rows[2]["text"].endswith("Three.") and "Two" not in rows[2]["text"]
    assert {row["book"] for row in rows} == {"A Book"} and {row["language"] for row in rows} == {"en"}
    assert "cat" not in "".join(row["text"] for row in rows)
    assert "images left out: 1" in done.findings


def test_epub2_ncx_with_a_part_page_and_a_guide(tmp_path: Path) -> None:
    documents = {
        "toc.ncx": ncx(
            point("Part I", "p.html", point("One", "a.html") + point("Two", "b.html")) + point("Notes", "n.html")
        ),
        "t.html": page("<p>A Book</p><p>Ann Author</p>"),
        "p.html": page("<h1>Part I</h1>"),
        "a.html": page(f"<p>{LONG}</p>"),
        "b.html": page(f"<h2>Two</h2><p>{LONG}</p>"),
        "n.html": page("<p>1. A note.</p>"),
    }
    guide = '<guide><reference type="title-page" href="t.html"/></guide>'
    done, rows = made(epub(tmp_path / "b.epub", documents, toc="toc.ncx", guide=guide))
    assert listed(done) == [(0, "titlepage", ""), (1, "chapter", "One"), (2, "chapter", "Two"), (0, "notes", "Notes")]
    # The part is read before its first chapter, and a chapter without a heading gets the one of the contents.
    assert rows[0]["text"].startswith('Part I\nOne <break time="1200ms"/>\nThis is')
    assert "headings taken from the table of contents: 1" in done.findings


def test_a_book_in_one_file_by_fragments_below_its_title(tmp_path: Path) -> None:
    body = "<h1>Alice</h1>" + "".join(f'<h2 id="c{n}">Chapter {n}</h2><p>{LONG}</p>' for n in (1, 2, 3))
    entries = "".join(point(f"Chapter {n}", f"all.html#c{n}") for n in (1, 2, 3))
    file = epub(
        tmp_path / "b.epub",
        {"toc.ncx": ncx(point("Alice", "all.html", entries)), "all.html": page(body)},
        toc="toc.ncx",
    )
    _, rows = made(file)
    assert [row["title"] for row in rows] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert rows[0]["text"].startswith("Alice\nChapter 1 <break")


def test_sections_below_a_chapter_do_not_start_chapters_unless_asked(tmp_path: Path) -> None:
    body = f'<h1>One</h1><p>{LONG}</p><h2 id="s1">Section A</h2><p>{LONG}</p><h2 id="s2">Section B</h2><p>{LONG}</p>'
    inside = '<ol><li><a href="a.xhtml#s1">Section A</a></li><li><a href="a.xhtml#s2">Section B</a></li></ol>'
    lines = f'<li><a href="a.xhtml">One</a>{inside}</li><li><a href="b.xhtml">Two</a></li>'
    file = epub(
        tmp_path / "b.epub",
        {"nav.xhtml": nav(lines), "a.xhtml": page(body), "b.xhtml": page(f"<h1>Two</h1><p>{LONG}</p>")},
    )
    assert [row["title"] for row in made(file)[1]] == ["One", "Two"]
    assert [row["title"] for row in made(file, reading=Reading(depth=2))[1]] == ["One", "Section A", "Section B", "Two"]


def test_without_a_table_of_contents_headings_start_chapters(tmp_path: Path) -> None:
    documents = {f"c{n}.xhtml": chapter(n) for n in (1, 2)} | {"more.xhtml": page(f"<p>{LONG}</p>")}
    _, rows = made(epub(tmp_path / "b.epub", documents, toc="none"))
    assert [row["title"] for row in rows] == ["Chapter 1", "Chapter 2"]
    assert rows[1]["text"].count("This is a sentence") == 10


def test_chinese_book_with_gbk_documents_that_say_so_or_not(tmp_path: Path) -> None:
    text = page(
        "<h2>第一章 故乡</h2><p>　　我冒了严寒，\n回到相隔二千余里的故乡去。</p>" + "<p>时候既然是深冬。</p>" * 20
    )
    documents = {
        "a.xhtml": text.replace('encoding="utf-8"', 'encoding="gb2312"').encode("gb18030"),
        "b.xhtml": text.replace("第一章", "第二章").encode("gb18030"),
    }
    metadata = "<dc:title>故乡</dc:title><dc:language>zh-CN</dc:language>"
    done, rows = made(epub(tmp_path / "b.epub", documents, toc="none", metadata=metadata))
    assert [row["title"] for row in rows] == ["第一章 故乡", "第二章 故乡"]
    assert "我冒了严寒，回到相隔二千余里的故乡去。\n时候既然是深冬。" in rows[0]["text"]
    assert rows[0]["language"] == "zh"
    assert any("b.xhtml was read as GB18030" in finding for finding in done.findings)


def test_metadata_language_that_contradicts_the_text_is_not_used(tmp_path: Path) -> None:
    file = epub(
        tmp_path / "b.epub", {"a.xhtml": page("<h1>第一章</h1><p>天气又阴晦了，冷风吹进船舱中。</p>")}, toc="none"
    )
    done, rows = made(file)
    assert "language" not in rows[0]
    assert any("its text is in another script" in finding for finding in done.findings)


def test_cover_is_written_under_its_own_suffix(tmp_path: Path) -> None:
    image = b"\x89PNG\r\n\x1a\n" + bytes(50)
    manifest = '<item id="cov" href="c.png" media-type="image/png" properties="cover-image"/>'
    file = epub(
        tmp_path / "b.epub", {"a.xhtml": chapter(1)}, toc="none", manifest=manifest, extra={"OEBPS/c.png": image}
    )
    made(file, cover=tmp_path / "cover.png")
    assert (tmp_path / "cover.png").read_bytes() == image
    assert json.loads((tmp_path / "made.book.json").read_text(encoding="utf-8"))["cover"] == "cover.png"
    with pytest.raises(UserError, match=r"is a \.png file; name it"):
        made(file, cover=tmp_path / "cover.jpg")
    with pytest.raises(UserError, match="no cover image"):
        made(epub(tmp_path / "n.epub", {"a.xhtml": chapter(1)}, toc="none"), cover=tmp_path / "d.png")


# Files that mean harm, or are broken


def refusal(file: Path) -> str:
    started = time.monotonic()
    with pytest.raises(UserError) as caught:
        outline(BookOrder(file=file, out=file.with_suffix(".jsonl")))
    assert time.monotonic() - started < 20
    assert str(caught.value).startswith(f"{file}: ")
    return str(caught.value)


def test_zip_bombs_are_refused(tmp_path: Path) -> None:
    bomb = epub(tmp_path / "ratio.epub", {"a.xhtml": page("<p>" + "0" * (8 << 20) + "</p>")}, toc="none")
    assert "a zip bomb" in refusal(bomb)
    huge = epub(tmp_path / "huge.epub", {"a.xhtml": b"a" * (60 << 20)}, toc="none")
    assert "has 60 MB, a part has at most 16 MB" in refusal(huge)
    half = b"<html><body>" + b"0" * (15 << 20)
    many = epub(tmp_path / "many.epub", {f"{n}.xhtml": half for n in range(7)}, toc="none")
    assert "unpack to more than 96 MB" in refusal(many)


def test_a_part_that_the_reading_order_repeats_is_read_once(tmp_path: Path) -> None:
    file = epub(tmp_path / "b.epub", {"a.xhtml": chapter(1)}, toc="none", order=["a.xhtml"] * 1000)
    done, rows = made(file)
    assert len(rows) == 1 and "names a part more than once" in done.findings[0]


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    extra = {f"x/{number}": b"" for number in range(20_001)}
    assert "holds 20,0" in refusal(epub(tmp_path / "b.epub", {"a.xhtml": chapter(1)}, extra=extra))


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil", "a/../../evil", "..\\evil", "C:/evil"])
def test_members_that_point_outside_are_refused(tmp_path: Path, name: str) -> None:
    assert "points outside the book" in refusal(epub(tmp_path / "b.epub", {"a.xhtml": chapter(1)}, extra={name: b"x"}))


def test_links_and_encrypted_members_are_refused(tmp_path: Path) -> None:
    file = epub(tmp_path / "b.epub", {"a.xhtml": chapter(1)})
    link = zipfile.ZipInfo("OEBPS/link.xhtml")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "holds the link" in refusal(file)
    locked = epub(tmp_path / "locked.epub", {"a.xhtml": chapter(1)})
    data = bytearray(locked.read_bytes())
    at = 0
    while (at := data.find(b"PK\x01\x02", at)) >= 0:
        data[at + 8] |= 1
        at += 4
    locked.write_bytes(bytes(data))
    assert "encrypted" in refusal(locked)


def test_packing_that_epub_does_not_know_is_refused(tmp_path: Path) -> None:
    file = epub(tmp_path / "b.epub", {"a.xhtml": chapter(1)})
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    assert "packed in a way that EPUB does not know; convert the book to EPUB anew" in refusal(file)


@pytest.mark.parametrize("place", ["package", "document", "container"])
def test_entities_of_ones_own_are_refused_and_never_read(tmp_path: Path, place: str) -> None:
    (tmp_path / "secret.txt").write_text("SECRET")
    doctype = f'<!DOCTYPE r [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]>'
    file = epub(
        tmp_path / "b.epub",
        {"a.xhtml": (doctype if place == "document" else "") + "<html><body><p>&x;</p></body></html>"},
    )
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = {"package": "OEBPS/content.opf", "container": "META-INF/container.xml"}.get(place)
    if name:
        parts[name] = doctype.encode() + parts[name]
        with zipfile.ZipFile(file, "w") as archive:
            for member, data in parts.items():
                archive.writestr(member, data)
    message = refusal(file)
    assert "declares XML entities of its own" in message and "SECRET" not in message


def test_copy_protection_is_named_and_font_obfuscation_is_fine(tmp_path: Path) -> None:
    def encryption(algorithm: str) -> dict[str, str]:
        return {
            "META-INF/encryption.xml": "<encryption><enc:EncryptedData"
            f' xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptionMethod Algorithm="{algorithm}"/>'
            '<enc:CipherData><enc:CipherReference URI="OEBPS/a.xhtml"/></enc:CipherData></enc:EncryptedData>'
            "</encryption>"
        }

    aes = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    assert "copy protection (DRM)" in refusal(
        epub(tmp_path / "drm.epub", {"a.xhtml": chapter(1)}, toc="none", extra=aes)
    )
    font = encryption("http://www.idpf.org/2008/embedding")
    assert len(made(epub(tmp_path / "font.epub", {"a.xhtml": chapter(1)}, toc="none", extra=font))[1]) == 1


def test_missing_parts_are_told(tmp_path: Path) -> None:
    def without(name: str, file: Path) -> Path:
        with zipfile.ZipFile(file) as archive:
            parts = {member: archive.read(member) for member in archive.namelist() if member != name}
        with zipfile.ZipFile(file, "w") as archive:
            for member, data in parts.items():
                archive.writestr(member, data)
        return file

    documents = {"a.xhtml": chapter(1), "b.xhtml": chapter(2)}
    assert "not in the file" in refusal(
        without("OEBPS/content.opf", epub(tmp_path / "opf.epub", documents, toc="none"))
    )
    done, rows = made(without("OEBPS/b.xhtml", epub(tmp_path / "item.epub", documents, toc="none")))
    assert len(rows) == 1 and "the reading order names is missing: OEBPS/b.xhtml" in done.findings[0]
    done, rows = made(without("META-INF/container.xml", epub(tmp_path / "c.epub", documents, toc="none")))
    assert len(rows) == 2 and "was taken for the package" in done.findings[0]
    nothing = without("OEBPS/a.xhtml", without("OEBPS/b.xhtml", epub(tmp_path / "none.epub", documents, toc="none")))
    assert "names no text that is there" in refusal(nothing)
    empty = tmp_path / "empty.epub"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("readme.txt", "x")
    assert "this is no EPUB" in refusal(empty)


def test_what_is_no_epub_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.epub").write_text("hello")
    assert "is no EPUB" in refusal(tmp_path / "a.epub")
    file = epub(tmp_path / "cut.epub", {"a.xhtml": chapter(1)})
    file.write_bytes(file.read_bytes()[:-40])
    assert "damaged" in refusal(file)
    whole = epub(tmp_path / "bits.epub", {"a.xhtml": chapter(1)}, toc="none")
    data = bytearray(whole.read_bytes())
    at = data.find(b"OEBPS/a.xhtml") + 20
    data[at : at + 20] = bytes(20)
    whole.write_bytes(bytes(data))
    assert "damaged" in refusal(whole)
    with zipfile.ZipFile(tmp_path / "word.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    assert "Word document" in refusal(tmp_path / "word.docx")


def test_a_table_of_contents_in_circles_ends(tmp_path: Path) -> None:
    deep = "".join(point("Chapter 1", "a.xhtml") for _ in range(50))
    points = '<navPoint><navLabel><text>x</text></navLabel><content src="toc.ncx"/>' * 5000
    file = epub(tmp_path / "b.epub", {"toc.ncx": ncx(deep + points), "a.xhtml": chapter(1)}, toc="toc.ncx")
    assert [row["title"] for row in made(file)[1]] == ["Chapter 1"]
    pages = {
        "nav.xhtml": nav('<li><a href="nav.xhtml">Contents</a></li><li><a href="a.xhtml">One</a></li>'),
        "a.xhtml": chapter(1),
    }
    file = epub(tmp_path / "c.epub", pages, order=["nav.xhtml", "a.xhtml", "nav.xhtml", "a.xhtml"])
    assert "a.xhtml" not in str(made(file)[1])


@pytest.mark.parametrize(
    "body",
    [
        "<" * 400_000, "<!--" * 100_000, "<a href='" * 60_000, "<div>" * 50_000 + "</p>" * 50_000,
        "<p id='x'><a>" * 30_000, "&#" + "9" * 400_000 + ";", "<![CDATA[" * 60_000, "<sup>1" * 60_000, "<i>" * 60_000,
        "<ruby><rt>" * 60_000,
    ],
    ids=lambda body: str(body[:9]),
)  # fmt: skip
def test_markup_made_to_take_forever_does_not(tmp_path: Path, body: str) -> None:
    file = epub(
        tmp_path / "b.epub", {"a.xhtml": chapter(1), "b.xhtml": page("<p>begin " + body)}, toc="none", metadata=""
    )
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:  # stored, so that no ratio refuses it
        for name, data in parts.items():
            archive.writestr(name, data)
    started = time.monotonic()
    made(file)
    assert time.monotonic() - started < 15


def test_time_grows_with_the_length_only(tmp_path: Path) -> None:
    def seconds(chapters: int) -> float:
        sentence = "<p>“I have a plan,” said <i>Anna</i> to the man at the door, and went in[1].</p>\n"
        documents = {f"c{n}.xhtml": page(f"<h2>Chapter {n}</h2>" + sentence * 250) for n in range(1, chapters + 1)}
        file = epub(tmp_path / f"{chapters}.epub", documents, toc="none")
        best = float("inf")
        for _ in range(2):
            started = time.process_time()
            assert len(made(file)[1]) == chapters
            best = min(best, time.process_time() - started)
        return best

    assert seconds(60) < 8 * seconds(15) + 0.5
