"""HTML and Markdown to text that is read aloud: notes, pages, ruby, tables, lists, poems, scenes, emphasis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from book_files import made, written

from cosyvoice.catalog import COSYVOICE2
from jobs.book_html import HtmlReader
from jobs.book_outline import title_of
from jobs.book_records import Block, Findings, Reading
from jobs.book_rows import Rows
from jobs.markup import parse


def blocks(html: str, **reading: Any) -> list[Block]:
    return list(HtmlReader(Reading(**reading), Findings()).blocks(html, "a.xhtml"))


def texts(html: str, **reading: Any) -> list[str]:
    return [block.plain for block in blocks(html, **reading)]


def spoken(tmp_path: Path, body: str, **options: Any) -> str:
    """The text of the one row that a page becomes."""
    _, rows = made(written(tmp_path / "a.html", f"<html><body>{body}</body></html>"), **options)
    assert len(rows) == 1
    text: str = rows[0]["text"]
    return text


@pytest.mark.parametrize(
    "written_, said",
    [
        ('a word<a epub:type="noteref" href="#n">1</a>.', "a word."),
        ('a word<a href="n.xhtml#n1"><sup>1</sup></a>.', "a word."),
        ('a word<sup><a href="#n1">[1]</a></sup>.', "a word."),
        ('a word<a href="#n1">[1]</a>.', "a word."),
        ("a word.<sup>12</sup> Next", "a word. Next"),
        ("in 1984<sup>3</sup> he", "in 1984 he"),
        ("注释<sup>①</sup>在这里。", "注释在这里。"),
        ("10<sup>6</sup> m<sup>2</sup> and x<sup>2</sup>", "10⁶ m² and x²"),
        ("the 19<sup>th</sup> century, H<sub>2</sub>O", "the 19th century, H2O"),
        ('see <a href="c3.xhtml#c3">chapter 3</a>', "see chapter 3"),
        ('see chapter <a href="c3.xhtml#c3">3</a>', "see chapter 3"),
        ('cut by<span epub:type="pagebreak" title="7">7</span> a page', "cut by a page"),
        ('cut by <span class="pagenum">[Pg 12]</span>a page', "cut by a page"),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby><ruby>字<rt>じ</rt></ruby>だ", "漢字だ"),
        ("中文\n  换行，\n不留空格 but English\nkeeps it", "中文换行，不留空格 but English keeps it"),
        ("a<img alt='a cat' src='x'/> picture<script>alert(1)</script>", "a picture"),
        ('<img class="dropcap" src="w.png" alt="W"/>hen he came', "When he came"),
        ('<img src="w.png" alt="“I"/>t was', "“It was"),
        ('See <img src="x.png" alt="x"/> here', "See here"),
        ("<span hidden>no</span><span style='display: none'>no</span>yes", "yes"),
        ("10<sup>-3</sup>, 10<sup>−12</sup>, E = mc<sup>2</sup>", "10⁻³, 10⁻¹², E = mc²"),
        ("<del>gone</del><ins>added</ins>", "added"),
        ("A &amp; B &lt;tag&gt; &nbsp; &#x4E2D;", "A & B <tag> 中"),
    ],
)
def test_inline(written_: str, said: str) -> None:
    assert texts(f"<p>{written_}</p>") == [said]


def test_ruby_readings_where_asked() -> None:
    assert texts("<p><ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>です<ruby>空</ruby></p>", ruby="reading") == [
        "かんじです空"
    ]


def test_footnote_bodies_go_or_stay() -> None:
    page = (
        '<p>One<a href="#n1">[1]</a> two<a epub:type="noteref" href="#n2">2</a>.</p><p>After.</p>'
        '<p id="n1"><a href="#r1">[1]</a> First note.</p><aside epub:type="footnote" id="n2">'
        "<p>Second note.</p></aside>"
        '<p id="x">No note.</p><p class="footnote"><a id="n3" href="#r3">*</a> By its class.</p>'
    )
    assert texts(page) == ["One two.", "After.", "No note."]
    assert texts(page, notes="keep") == [
        "One two.",
        "After.",
        "First note.",
        "Second note.",
        "No note.",
        "By its class.",
    ]


def test_a_cross_reference_never_swallows_a_chapter() -> None:
    page = '<p>As chapter<a href="#c3">3</a> says.</p><div id="c3"><h2 id="h">Three</h2><p>Text of it.</p></div>'
    assert texts(page)[1:] == ["Three", "Text of it."]


def test_structure() -> None:
    page = (
        "<ul><li>one</li><li>two</li></ul><ol start='3'><li>drei</li><li><p>vier</p></li></ol><ol><li>洗手</li></ol>"
        "<table><tr><th>Name</th><th>Age</th></tr><tr><td><p>John</p></td><td>20</td></tr><tr><td>张三</td><td>20</td></tr></table>"
        "<blockquote><p>Quoted.</p></blockquote>"
    )
    listed = ["one", "two", "3. drei", "4. vier", "1、洗手"]
    assert texts(page) == [*listed, "Name, Age", "John, 20", "张三，20", "Quoted."]
    assert texts(page, tables="drop") == [*listed, "Quoted."]


def test_poems_and_line_breaks() -> None:
    by_breaks = blocks("<p>Roses are red,<br/>violets are blue,<br/>sugar is sweet</p>")
    assert [(block.kind, block.text.count("\n")) for block in by_breaks] == [("verse", 2)]
    by_lines = blocks(
        '<div class="poem"><div class="stanza"><p>a b</p><p>c d</p></div><div class="stanza"><p>e f</p></div></div>'
    )
    assert [(block.kind, block.level) for block in by_lines] == [("verse", 1), ("verse", 0), ("verse", 1)]
    prose = blocks("<p>他走了。<br/>　　她也走了，没有再回来过。<br/>　　天黑了。</p>")
    assert [(block.kind, block.text) for block in prose] == [
        ("paragraph", "他走了。"), ("paragraph", "她也走了，没有再回来过。"), ("paragraph", "天黑了。"),
    ]  # fmt: skip


def test_pauses_at_headings_scenes_and_verses(tmp_path: Path) -> None:
    body = (
        "<h1>One</h1><h2>Sub</h2><p>A.</p><hr/><p>* * *</p><p>B.</p>"
        "<div class='poem'><p>c</p><p>d</p></div><p>E.</p><hr/>"
    )
    assert spoken(tmp_path, body) == (
        'One\nSub <break time="1200ms"/>\nA. <break time="2500ms"/>\nB.\nc <break time="400ms"/>\nd\nE.'
    )
    short = Rows(scene_ms=900, heading_ms=0, verse_ms=10)
    assert '0ms"/>\nA. <break time="900ms"/>\nB.' in spoken(tmp_path, body, rows=short)


@pytest.mark.parametrize("mark", ["***", "* * *", "⁂", "———", "◆", "＊　＊　＊", "～～～", "#", "…………"])
def test_scene_breaks(tmp_path: Path, mark: str) -> None:
    assert spoken(tmp_path, f"<p>A.</p><p>{mark}</p><p>B.</p>") == 'A. <break time="2500ms"/>\nB.'


def test_emphasis_is_a_tag_where_the_engine_has_one(tmp_path: Path) -> None:
    body = (
        "<p>It was a <em>very</em> dark night on the <i>Nautilus</i> &amp; <b> so on</b> it went.</p>"
        "<p><i>All of this is a letter.</i></p><p>ends <em>in<p>side</em> it</p>"
    )
    plain = "It was a very dark night on the Nautilus &amp; so on it went.\nAll of this is a letter.\nends in\nside it"
    assert spoken(tmp_path, body) == plain
    tagged = spoken(tmp_path, body, rows=Rows(tags=COSYVOICE2.tags))
    assert "a <strong>very</strong> dark" in tagged and "<strong>so on</strong> it" in tagged
    assert "\nAll of this is a letter.\n" in tagged
    assert all(mark.kind == "tag" for mark in parse(tagged, COSYVOICE2.tags))


def test_nothing_of_a_book_is_read_as_a_mark(tmp_path: Path) -> None:
    body = (
        "<p>He [laughter] said [1] &lt;break time=&quot;9s&quot;/&gt; {name} [pause:3] ＜break/＞ &amp;lt;b&amp;gt;"
        " 5 &lt; 6[2].</p>"
    )
    text = spoken(tmp_path, body)
    assert parse(text, frozenset()) == [] and "{" not in text and "[" not in text and "<" not in text
    assert "said &lt;break" in text and "6." in text


def test_titles() -> None:
    assert title_of(blocks("<h1>Chapter 1<br/>The Pool</h1><p>x</p>")) == "Chapter 1: The Pool"
    assert title_of(blocks("<h1>第一章</h1><h2>故乡</h2><p>x</p>")) == "第一章 故乡"


def test_a_page_of_html_is_cut_at_the_headings_that_hold_text(tmp_path: Path) -> None:
    prose = f"<p>{'A sentence of some length. ' * 20}</p>"
    body = "<h1>The Book</h1><p>by Ann</p>" + "".join(
        f"<h2>Part {part}</h2>" + "".join(f"<h3>Chapter {n}</h3>{prose}" for n in (1, 2)) for part in ("One", "Two")
    )
    file = written(
        tmp_path / "a.html", f"<html lang='en'><head><title>The Book</title></head><body>{body}</body></html>"
    )
    done, rows = made(file)
    assert [row["title"] for row in rows] == ["Chapter 1", "Chapter 2"] * 2
    assert done.chapters[0].kind == "titlepage"
    assert rows[2]["text"].startswith("Part Two\nChapter 1 <break") and rows[0]["language"] == "en"
    assert len(made(file, reading=Reading(depth=1))[1]) == 1


def test_a_document_is_called_by_its_only_first_heading(tmp_path: Path) -> None:
    prose = "He left the house. " * 20
    text = f"# The Book\n\nA tale.\n\n## One\n\n{prose}\n\n## Two\n\n{prose}\n"
    done, rows = made(written(tmp_path / "a.md", text))
    assert done.facts.title == "The Book" and [row["title"] for row in rows] == ["One", "Two"]
    two_parts = f"# One\n\n{prose}\n\n# Two\n\n{prose}\n"
    assert made(written(tmp_path / "b.md", two_parts))[0].facts.title == "b"


def test_bylines_and_notes_of_transcribers_are_not_read(tmp_path: Path) -> None:
    prose = f"<p>{'He left the house. ' * 20}</p>"
    body = (
        f"<h1>THE POOL</h1><h2>by A. Merritt</h2><hr><h2>CHAPTER I</h2>{prose}<h2>By the Sea</h2>{prose}"
        "<p>Transcriber’s Note: typos corrected.</p><div class='transnote'><p>Spelling kept.</p></div>"
    )
    head = (
        '<head><meta name="dc.title" content="The Pool"><meta name="dc.creator" content="A. Merritt (Abraham)"></head>'
    )
    done, rows = made(written(tmp_path / "a.html", f"<html>{head}<body>{body}</body></html>"))
    assert [row["title"] for row in rows] == ["CHAPTER I", "By the Sea"]
    text = "".join(row["text"] for row in rows)
    assert "Merritt" not in text and "typos" not in text and "Spelling" not in text
    assert "transcriber's notes left out: 1" in done.findings


def test_markdown(tmp_path: Path) -> None:
    text = """---
title: "My *Book*"
author: Ann
language: en
---
# My Book

## One

A *very* long
line with [a link](http://example.com/x_y_z) and `code` and ![an image](x.png) and a note[^1]
\\*kept\\* snake_case_name.

* * *

> Quoted **words**
> here.

1. first
2. second

| Name | Age |
|------|-----|
| Bob  | 20  |

```python
print("no")
```

[^1]: A note
    that goes on.

Two
---

Roses\\
red

Last &amp; <b>least</b>.
"""
    done, rows = made(written(tmp_path / "b.md", text), rows=Rows(tags=COSYVOICE2.tags))
    assert (done.facts.title, done.facts.authors) == ("My *Book*", ("Ann",))
    assert [row["title"] for row in rows] == ["One", "Two"]
    first = rows[0]["text"]
    assert "A <strong>very</strong> long line with a link and code and" in first
    assert "a note *kept* snake_case_name." in first
    assert (
        '<break time="2500ms"/>\nQuoted <strong>words</strong> here.\n1. first\n2. second\nName, Age\nBob, 20' in first
    )
    assert "print" not in first and "goes on" not in first and "example.com" not in first
    assert rows[1]["text"].endswith('Roses <break time="400ms"/>\nred\nLast &amp; least.')
    kept = made(tmp_path / "b.md", reading=Reading(notes="keep"))[1][0]["text"]
    assert "A note that goes on." in kept
