"""Rows: any text of a book gives rows that a manifest takes and the text front end reads; parts, numbers, choices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from book_files import made, written
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice.catalog import COSYVOICE2, KOKORO, EngineFacts
from jobs.book import BookOrder, make
from jobs.book_cast import Cast, Lines, Who
from jobs.book_html import HtmlReader
from jobs.book_records import EMPHASIS, END_EMPHASIS, Block, Chapter, Findings, Reading
from jobs.book_rows import Rows, rows_of
from jobs.book_text import text_chapters
from jobs.dialogue import Names
from jobs.errors import Problem, UserError
from jobs.manifest import read
from jobs.row_check import RowRules
from jobs.segment import Budget
from jobs.source import open_source
from jobs.text import FrontEnd, TextSettings
from jobs.words import open_word_breaker

FRONT_END = FrontEnd(None, open_word_breaker(None))
RULES = RowRules("p", {"p": ".wav"}, {"p": "{id}"})
NASTY = [
    "[laughter]", "[1]", "<break time='9s'/>", "</strong>", "<strong>", "<|endofprompt|>", "{x}", "&lt;",
    "&amp;#38;lt;", "&#1;", "&#3&#56;;", "&", ";", "&#xFFFE;", "\x00", "�", "\ufdd0", "\ud800", "😀",
    "1️⃣", "……", "\u200b", "\u3000", "“", "”", "「", "」", '"', "'", "_a_", "*b*", "第一章",
    "Chapter 1", "\n", "\n\n", "* * *", "[pause:3]", "[digits:12]", "[j][ǐ]", "word", "你好。", "张三说：",
    "said John.", EMPHASIS, END_EMPHASIS, "<p>", "</p>", "<i>", "</i>", "<!--", "-", "²", "7", "\u2028",
    "\x85", "\x0c", "<say-as interpret-as='date'>", "[Footnote", "〔2〕", "＜break/＞", "［laughter］", ";",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=6)), max_size=25).map("".join)
CAST = Cast(Who(voice="n"), Who(voice="d"), {"张三": Who("张三", "z")}, Names({"张三": "张三", "John": "张三"}))


def accepted(rows: list[dict[str, Any]], folder: Path, facts: EngineFacts) -> None:
    """Every row is an item, and the front end reads its text."""
    import json

    file = folder / "m.jsonl"
    file.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    with open_source(str(file)) as source:
        items = list(read(source, RULES))
    assert [item for item in items if isinstance(item, Problem)] == []
    for item in items:
        assert not isinstance(item, Problem)
        wish = TextSettings(budget=Budget(facts.max_cjk_chars, facts.max_words), tags=facts.tags)
        assert FRONT_END.look(item.text, wish).speakable
        assert FRONT_END.prepare(item.text, wish).segments


@given(TEXTS, st.sampled_from([COSYVOICE2, KOKORO]), st.sampled_from([Cast(), CAST]), st.sampled_from(["text", "html"]))
@settings(deadline=None, max_examples=300)
def test_check_accepts_what_any_text_becomes(
    tmp_path_factory: pytest.TempPathFactory, text: str, facts: EngineFacts, cast: Cast, kind: str
) -> None:
    findings = Findings()
    if kind == "html":
        chapters = [Chapter("t", "chapter", list(HtmlReader(Reading(), findings).blocks(text)))]
    else:
        chapters = list(text_chapters(text, Reading(notes="keep"), findings))
    made_rows = []
    for number, chapter in enumerate(chapters, 1):
        chapter.number = number
        made_rows += rows_of(chapter, Rows(cast=cast, tags=facts.tags), findings, Lines())
    if made_rows:
        accepted(made_rows, tmp_path_factory.mktemp("rows"), facts)


@given(st.lists(st.text("ab 。.“”<&", min_size=1, max_size=300), min_size=1, max_size=8), st.integers(20, 200))
@settings(deadline=None, max_examples=100)
def test_long_chapters_become_parts_that_lose_nothing(paragraphs: list[str], longest: int) -> None:
    chapter = Chapter("t", "chapter", [Block("paragraph", text) for text in paragraphs], number=7)
    rows = rows_of(chapter, Rows(max_chars=longest), Findings(), Lines())
    assert all(len(row["text"]) <= longest for row in rows)

    def letters(text: str) -> str:
        return "".join(char for char in text.replace("&lt;", "").replace("&amp;", "") if char in "ab")

    assert letters("".join(row["text"] for row in rows)) == letters("".join(paragraphs))
    if len(rows) > 1:
        assert [row["id"] for row in rows] == [f"ch007-{n:04d}" for n in range(1, len(rows) + 1)]
        assert [row["boundary"] for row in rows][-1] == "end"


def test_parts_carry_the_silence_between_them() -> None:
    blocks = [
        Block("heading", "One", 1),
        Block("paragraph", "“Go,” he said. “Now!”"),
        Block("scene"),
        Block("paragraph", "x"),
    ]
    rows = rows_of(
        Chapter("One", "chapter", blocks, number=1), Rows(cast=Cast(dialogue=Who(voice="d"))), Findings(), Lines()
    )
    assert [(row["text"], row.get("voice"), row["boundary"], row.get("gap_ms")) for row in rows] == [
        ("One", None, "paragraph", 1200), ("“Go,”", "d", "clause", None), ("he said.", None, "sentence", None),
        ("“Now!”", "d", "paragraph", 2500), ("x", None, "end", None),
    ]  # fmt: skip


def test_a_row_for_each_paragraph() -> None:
    chapter = Chapter(
        "", "chapter", [Block("paragraph", "A."), Block("paragraph", "……"), Block("paragraph", "B.")], number=1
    )
    rows = rows_of(chapter, Rows(per="paragraph"), Findings(), Lines())
    assert [(row["id"], row["text"]) for row in rows] == [("ch001-0001", "A."), ("ch001-0002", "B.")]
    assert "title" not in rows[0]


BOOK = "".join(f"Chapter {n}\n\nText number {n} of it.\n\n" for n in range(1, 6)) + "Notes\n\n1. A note to it.\n"


def test_chosen_chapters_keep_their_numbers(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", BOOK)
    _, rows = made(file, chosen=[(2, 3), (5, 99)])
    assert [row["id"] for row in rows] == ["ch002", "ch003", "ch005"]
    done, rows = made(file, skip=frozenset())
    assert rows[-1]["title"] == "Notes" and done.chapters[-1].number == 6
    with pytest.raises(UserError, match="there is no chapter 9, the book has 5"):
        made(file, chosen=[(9, 9)])


def test_a_failed_book_leaves_the_old_manifest_alone(tmp_path: Path) -> None:
    file, out = written(tmp_path / "a.txt", BOOK), tmp_path / "m.jsonl"
    out.write_text("mine")
    with pytest.raises(UserError, match="--force"):
        make(BookOrder(file=file, out=out))
    with pytest.raises(UserError):
        make(BookOrder(file=file, out=out, chosen=[(9, 9)], force=True))
    assert out.read_text() == "mine" and sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "m.jsonl"]
    with pytest.raises(UserError, match="--skip none keeps them"):
        made(file, skip=frozenset(("chapter", "notes")))
