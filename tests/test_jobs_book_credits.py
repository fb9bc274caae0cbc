"""Spoken credits: the first and the last row of a manifest, in the book's language, with nothing left unfilled."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from book_files import made, written

from jobs.book_cast import Cast, Who
from jobs.book_credit_words import SENTENCES, SYNTHETIC_VOICE, TITLES
from jobs.book_credits import Credits, credit_rows, own_facts
from jobs.book_records import BookFacts, Findings
from jobs.book_rows import Rows
from jobs.clean import clean
from jobs.errors import UserError

FACTS = BookFacts("plain text", "《故乡 & <家>》", ("鲁迅", "周作人"), "zh", date="1921-05-01 (printed 1923)")
CHINESE = Rows(language="zh")
BOOK = "Chapter 1\n\nHe left the house in the rain.\n\nChapter 2\n\nHe came back to it in the snow.\n"


def spoken(credits_: Credits, facts: BookFacts = FACTS, rows: Rows = CHINESE, sample: str = "") -> Any:
    return credit_rows(credits_, facts, rows, sample, Findings())


def test_they_are_the_first_and_the_last_row(tmp_path: Path) -> None:
    rows = Rows(cast=Cast(Who(voice="heart", speed=0.9)), language="en")
    options = {"facts": {"authors": "Ann Author", "title": "Snow!"}, "rows": rows, "credits": Credits(built_in=True)}
    done, found = made(written(tmp_path / "b.txt", BOOK), **options)
    assert [row["id"] for row in found] == ["opening", "ch001", "ch002", "closing"]
    assert found[0] == {
        "id": "opening",
        "credits": "opening",
        "title": "Opening Credits",
        "text": "Snow!\nWritten by Ann Author.\nNarrated by a synthetic voice.",
        "voice": "heart",
        "language": "en",
        "speed": 0.9,
        "book": "Snow!",
        "author": "Ann Author",
    }
    assert found[-1]["text"].endswith("The end.") and "chapter" not in found[-1]
    assert done.rows == 4 and done.credits == {"opening": found[0]["text"], "closing": found[-1]["text"]}
    # A choice of chapters begins and ends with them too.
    found = made(written(tmp_path / "b.txt", BOOK), **options, chosen=[(2, 2)])[1]
    assert [row["id"] for row in found] == ["opening", "ch002", "closing"]


def test_values_are_read_as_text_and_never_as_marks() -> None:
    found = spoken(Credits(built_in=True))
    assert found["opening"]["title"] == "片头" and found["closing"]["title"] == "片尾"
    assert clean(found["opening"]["text"]) == "《故乡 & <家>》。\n作者:鲁迅、周作人。\n由合成语音朗读。".replace(
        ":", "："
    )
    own = Credits(opening="{title}, {author}. <break time='1s'/> {{{year}}} [{x}]", facts={"x": "<b>[laughter]</b>"})
    text = spoken(own, replace(FACTS, language="en"), Rows(language="en"))["opening"]["text"]
    assert text.startswith("故乡 &amp; &lt;家&gt;, 鲁迅 and 周作人. <break time='1s'/> {1921} [")
    assert "<b>" not in text and "[laughter]" not in text


@pytest.mark.parametrize("language", SENTENCES)
def test_every_language_says_title_author_and_that_the_voice_is_synthetic(language: str) -> None:
    assert language in TITLES
    facts = BookFacts("plain text", "TITLE", ("A", "B"))
    for narrator, said in zip(("", "Bob"), SYNTHETIC_VOICE[language], strict=True):
        found = spoken(Credits(built_in=True), replace(facts, narrator=narrator), Rows(language=language))
        for kind in ("opening", "closing"):
            assert all(part in found[kind]["text"] for part in ("TITLE", "A", "B", said.format("Bob")))
            assert "{" not in found[kind]["text"]


def test_without_a_language_the_script_decides_and_it_is_said() -> None:
    findings = Findings()
    found = credit_rows(Credits(built_in=True), FACTS, Rows(), "我冒了严寒，回到故乡去。", findings)
    assert found["opening"]["title"] == "片头" and "credits are in 'zh'" in findings.lines()[0]
    assert (
        spoken(Credits(built_in=True), FACTS, Rows(), "あの日の空を、わたしは忘れない。")["opening"]["title"]
        == "オープニング"
    )
    assert spoken(Credits(built_in=True), FACTS, Rows(), "He left.")["opening"]["title"] == "Opening Credits"


@pytest.mark.parametrize(
    ("wanted", "facts", "why"),
    [
        (Credits(built_in=True), replace(FACTS, authors=()), "--credits: {author}: the book does not .*--author"),
        (Credits(opening="{narrator}"), FACTS, "--opening: {narrator}: the book does not say it; .*--narrator"),
        (Credits(closing="In {year}"), replace(FACTS, date="unknown"), "--closing: {year}: .*--year"),
        (Credits(closing="By {autor}"), FACTS, "{autor} is not known; .*--fact autor=VALUE; did you mean 'author'"),
        (Credits(opening="a {b"), FACTS, "--opening: a lone '{'"),
        (Credits(opening="a \x01 b"), FACTS, "--opening: .*U\\+0001"),
        (Credits(opening="…"), FACTS, "--opening: there is nothing to speak"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(wanted: Credits, facts: BookFacts, why: str) -> None:
    with pytest.raises(UserError, match=why.replace("{", r"\{")):
        spoken(wanted, facts)


def test_a_language_without_sentences_asks_for_some() -> None:
    with pytest.raises(UserError, match=r"no sentences for 'fi'.*--opening"):
        spoken(Credits(built_in=True), FACTS, Rows(language="fi"))
    own = spoken(Credits(opening="Kirja: {title}", closing="Loppu"), FACTS, Rows(language="fi"))
    assert [own[kind]["title"] for kind in own] == ["Opening Credits", "Closing Credits"]


def test_nothing_is_written_where_a_placeholder_has_no_value(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape("{author}")):
        made(written(tmp_path / "b.txt", BOOK), credits=Credits(built_in=True))
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_facts_of_ones_own() -> None:
    assert own_facts(["translator=A = B ", "x= y"]) == {"translator": "A = B", "x": "y"}
    for pair in ("translator", "=x", "a b=c", "a="):
        with pytest.raises(UserError, match="is no NAME=VALUE"):
            own_facts([pair])
    with pytest.raises(UserError, match="an option of its own, --author"):
        own_facts(["author=x"])
