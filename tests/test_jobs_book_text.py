"""Plain text: lines cut at a width, headings and what only looks like one, Project Gutenberg, encodings."""

from __future__ import annotations

import re
import textwrap
import time
from itertools import zip_longest
from pathlib import Path

import pytest
from book_files import listed, made, written
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.book import BookOrder, outline
from jobs.book_headings import chinese_number, heading_of, in_figures, roman_number
from jobs.book_lines import join_lines, layout_of, paragraphs
from jobs.book_records import Reading
from jobs.errors import UserError

PROSE = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or"
    " twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, and"
    " what is the use of a book, thought Alice, without pictures or conversations? So she was considering in her own"
    " mind, as well as she could, for the hot day made her feel very sleepy."
)
HAN = "这时候我的脑里忽然闪出一幅神异的图画来深蓝的天空中挂着一轮金黄的圆月下面是海边的沙地都种着一望无际的碧绿的西瓜"


@pytest.mark.parametrize(
    "line, unit, number",
    [
        ("第十二章 风雪夜归人", "章", 12), ("第3回", "回", 3), ("第１０章：开始", "章", 10),
        ("第十二章风雪夜归人", "章", 12),
        ("第三回 宴桃园豪杰三结义，斩黄巾英雄首立功", "回", 3), ("第一千零二十四章 终局！", "章", 1024),
        ("正文 第一章 重生", "章", 1), ("卷一 风起", "卷", 1), ("楔子", "named", None), ("序", "named", None),
        ("番外 新年", "named", None), ("尾声", "named", None), ("第3話", "話", 3), ("プロローグ", "named", None),
        ("Chapter I", "chapter", 1), ("CHAPTER ONE", "chapter", 1), ("Chapter 1", "chapter", 1),
        ("CHAPTER I. Down the Rabbit-Hole", "chapter", 1), ("Chapter Twenty-One: Home", "chapter", 21),
        ("Prologue", "named", None), ("Part Two", "part", 2), ("IV", "roman", 4), ("XII.", "roman", 12),
        ("☆、第5章 雨", "章", 5), ("1、雨夜", "number with title", 1), ("三．风", "han with title", 3),
        ("002 雪", "number with title", 2), ("I. A SCANDAL IN BOHEMIA", "roman with title", 1),
        ("Book the Second: The Golden Thread", "book", 2),
    ],
)  # fmt: skip
def test_headings(line: str, unit: str, number: int | None) -> None:
    heading = heading_of(line)
    assert heading is not None and (heading.unit, heading.number) == (unit, number)


@pytest.mark.parametrize(
    "line",
    ["第二章里他说了很多话。", "第二章里他说了很多话", "第一部的电影很好看", "第一，我们走。", "第二天早上",
     "第一次见面", "第三章，他想。",
     "序幕拉开了他走出来", "Chapter two was the best of them.", "Chapter 3 of my life", "Part of me", "I am here.",
     "Introduction to the matter was short.", "Act one was over", "He read chapter one.", "Part two was the best,",
     "MIX", "1984 was",
     "第一集在电视上播出", "3、他走了，又来了。", "1840 年，他来了"],
)  # fmt: skip
def test_prose_is_no_heading(line: str) -> None:
    heading = heading_of(line)
    assert heading is None or (not heading.sure and heading.number is None)


def test_numbers() -> None:
    written_ = ["十", "二十", "一百零三", "二〇", "１２", "两百", "一千零二十四", "廿三"]
    assert [chinese_number(word) for word in written_] == [
        10, 20, 103, 20, 12, 200, 1024, 23,
    ]  # fmt: skip
    assert [roman_number(word) for word in ("I", "IV", "XLII", "IIII", "VX", "")] == [1, 4, 42, None, None, None]


@pytest.mark.parametrize(
    "line, heard",
    [
        ("II", "2"), ("IV.", "4."), ("I. THE STORM", "1. THE STORM"), ("X: The End", "10: The End"),
        ("C. Auguste Dupin", "C. Auguste Dupin"), ("I. M. Pei", "I. M. Pei"), ("I, Claudius", "I, Claudius"),
        ("CHAPTER II", "CHAPTER II"), ("MIX", "MIX"), ("12", "12"), ("第一章", "第一章"),
    ],
)  # fmt: skip
def test_numerals_of_headings_are_heard_as_numbers(line: str, heard: str) -> None:
    assert in_figures(line) == heard


def gutenberg(chapters: int = 3) -> str:
    contents = "\n".join(f"CHAPTER {roman}.    Title Number {roman}" for roman in ("I", "II", "III")[:chapters])
    body = ""
    for roman in ("I", "II", "III")[:chapters]:
        body += f"\n\nCHAPTER {roman}.\nTitle Number {roman}\n\n{textwrap.fill(PROSE, 70)}\n\n"
        body += textwrap.fill("“Oh dear!” " + PROSE, 70) + "\n"
    return (
        "The Project Gutenberg eBook of Alice\n\nTitle: Alice\nAuthor: Lewis Carroll\nLanguage: English\n\n"
        "*** START OF THE PROJECT GUTENBERG EBOOK ALICE ***\n\nProduced by Somebody\nand others\n\nALICE\n\n"
        f"CONTENTS\n\n{contents}\n{body}\n\n*** END OF THE PROJECT GUTENBERG EBOOK ALICE ***\n\nSection 1. Licence\n"
    )


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_project_gutenberg(tmp_path: Path, ends: str) -> None:
    done, rows = made(written(tmp_path / "a.txt", gutenberg().replace("\n", ends)))
    assert listed(done) == [
        (0, "titlepage", ""), (0, "contents", "CONTENTS"),
        *((n, "chapter", f"CHAPTER {roman}. Title Number {roman}") for n, roman in enumerate(("I", "II", "III"), 1)),
    ]  # fmt: skip
    assert (done.facts.title, done.facts.authors, rows[0]["language"]) == ("Alice", ("Lewis Carroll",), "en")
    lead = 'CHAPTER I.\nTitle Number I <break time="1200ms"/>\n'
    assert rows[0]["text"] == f"{lead}{PROSE}\n“Oh dear!” {PROSE}"
    everything = "".join(row["text"] for row in rows)
    assert "Licence" not in everything and "Produced" not in everything and "START" not in everything


def test_words_cut_at_line_ends_are_mended() -> None:
    lines = [
        "the conversa-", "tions were con\u00ad", "versations of a well-", "known kind, such as a daisy-", "chain has;",
        "it was well known that a daisy-chain is a twenty-", "something chain",
    ]  # fmt: skip
    layout = layout_of([*lines, "conversations"] * 3, "yes")
    assert join_lines(lines, layout) == (
        "the conversations were conversations of a well-known kind, such as a daisy-chain has; it was well known that"
        " a daisy-chain is a twentysomething chain"
    )


@given(
    st.lists(st.sampled_from(PROSE.replace(":", "").split()), min_size=60, max_size=200),
    st.integers(55, 80),
    st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_wrapping_and_unwrapping_gives_the_paragraphs_back(words: list[str], width: int, indented: bool) -> None:
    third = len(words) // 3
    parts = [" ".join(words[at * third : (at + 1) * third]) + "." for at in range(3)]
    wrap = [
        textwrap.fill(part, width, initial_indent="   " if indented else "", break_on_hyphens=False) for part in parts
    ]
    lines = ("\n" if indented else "\n\n").join(wrap).split("\n")
    layout = layout_of(lines)
    assert layout.wrapped
    assert [block.text for block in paragraphs(lines, layout)] == parts


def test_wrapped_chinese_is_joined_without_spaces(tmp_path: Path) -> None:
    paragraph = HAN * 3 + "。"
    text = ""
    for n in ("一", "二"):
        text += f"第{n}章 月夜\n" + "".join("\n".join(textwrap.wrap("　　" + paragraph, 36)) + "\n" for _ in range(4))
    _, rows = made(written(tmp_path / "a.txt", text))
    assert rows[1]["text"] == '第二章 月夜 <break time="1200ms"/>\n' + "\n".join([paragraph] * 4)


def test_one_line_a_paragraph_stays_one(tmp_path: Path) -> None:
    lines = ["“走。”", HAN + "。", "他说了一句话。", HAN[:30] + "。", "“好。”", HAN + HAN + "。"] * 4
    done, rows = made(written(tmp_path / "a.txt", "\n".join(lines)))
    assert rows[0]["text"].split("\n") == lines
    assert not any("joined" in finding for finding in done.findings)


NOVEL = """《月夜》 作者：无名

目录
楔子
第一章 开始
第二章 中间
番外 新年

楔子

　　很久以前，有一个人。

第一章 开始

　　第二章里他说了很多话。
　　第一次见面的时候，他在看第二章。

　　＊＊＊

　　天亮了[1]。

第二章 中间

　　又过了一天。

番外 新年

　　新年到了。
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_chinese_novel(tmp_path: Path, encoding: str) -> None:
    done, rows = made(written(tmp_path / "a.txt", NOVEL, encoding))
    assert listed(done) == [
        (0, "titlepage", ""), (0, "contents", "目录"), (1, "prologue", "楔子"), (2, "chapter", "第一章 开始"),
        (3, "chapter", "第二章 中间"), (4, "chapter", "番外 新年"),
    ]  # fmt: skip
    assert rows[1]["text"] == (
        '第一章 开始 <break time="1200ms"/>\n第二章里他说了很多话。\n第一次见面的时候，他在看第二章。'
        ' <break time="2500ms"/>\n天亮了。'
    )
    assert (done.facts.title, done.facts.authors) == ("月夜", ("无名",))


def test_bare_numerals_count_only_in_series(tmp_path: Path) -> None:
    text = "".join(f"{roman}\n\n{PROSE}\n\n" for roman in ("I", "II", "III"))
    assert [row["title"] for row in made(written(tmp_path / "a.txt", text))[1]] == ["I", "II", "III"]
    lone = f"{PROSE}\n\nV\n\n{PROSE}\n\n7\n\n{PROSE}"
    assert len(made(written(tmp_path / "b.txt", lone))[1]) == 1
    sections = "".join(f"Chapter {n}\n\n1\n\n{PROSE}\n\n2\n\n{PROSE}\n\n" for n in (1, 2))
    assert [row["title"] for row in made(written(tmp_path / "c.txt", sections))[1]] == ["Chapter 1", "Chapter 2"]


def test_page_numbers_are_no_chapters_and_cut_no_paragraph(tmp_path: Path) -> None:
    pages = textwrap.wrap(PROSE, 70)
    text = "Chapter 1\n\n" + "\n\n- 12 -\n\n".join(["\n".join(pages[:3]), "\n".join(pages[3:])])
    text += "\n\nChapter 2\n\n" + "\n".join(pages)
    done, rows = made(written(tmp_path / "a.txt", text))
    assert rows[0]["text"].endswith(PROSE) and "page numbers left out: 1" in done.findings
    numbered = "Chapter 1\n\n" + "".join(f"{pages[n % 4]}\n\n{n}\n\n" for n in range(1, 9)) + "end.\n"
    assert [row["title"] for row in made(written(tmp_path / "b.txt", numbered))[1]] == ["Chapter 1"]


def test_parts_are_read_before_their_first_chapter(tmp_path: Path) -> None:
    text = f"Part One\n\nChapter 1\n\n{PROSE}\n\nChapter 2\n\n{PROSE}\n\nPart Two\n\nChapter 3\n\n{PROSE}\n"
    _, rows = made(written(tmp_path / "a.txt", text))
    assert [row["title"] for row in rows] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert rows[2]["text"].startswith("Part Two\nChapter 3 <break")


def test_headings_of_ones_own(tmp_path: Path) -> None:
    text = f"~ Dawn\n\n{PROSE}\n\n~ Dusk\n\n{PROSE}\n"
    reading = Reading(heading=re.compile("^~ "))
    assert [row["title"] for row in made(written(tmp_path / "a.txt", text), reading=reading)[1]] == ["~ Dawn", "~ Dusk"]
    done, rows = made(tmp_path / "a.txt")
    assert len(rows) == 1 and any("no chapter headings" in finding for finding in done.findings)


def test_poems_pictures_and_notes_of_plain_text(tmp_path: Path) -> None:
    text = (
        f"{textwrap.fill(PROSE, 70)}\n\n  How doth the little crocodile\n    Improve his shining tail\n\n"
        f"[Illustration: a cat]\n\n[Footnote 1: not read]\n\n{textwrap.fill('_Very_ well[1]--' + PROSE, 70)}\n"
    )
    _, rows = made(written(tmp_path / "a.txt", text))
    assert rows[0]["text"] == (
        f'{PROSE}\nHow doth the little crocodile <break time="400ms"/>\nImprove his shining tail\nVery well—{PROSE}'
    )


WALK = "　　他走了很远的路，天色渐渐暗了下来。\n" * 3


@pytest.mark.parametrize(
    "headings",
    [
        ["1、雨夜", "2、风"], ["001 雨夜", "002 风"], ["一、雨夜", "二、风"], ["（一）", "（二）"],
        ["☆、第1章 雨", "☆、第2章 风"],
        ["第1章 雨\n第1章 雨", "第2章 风\n\n　　第2章 风"], ["第1章 雨（求月票！）", "第2章 风【第三更，求收藏】"],
    ],
)  # fmt: skip
def test_headings_of_web_novels_without_empty_lines(tmp_path: Path, headings: list[str]) -> None:
    done, rows = made(written(tmp_path / "a.txt", "".join(f"{heading}\n{WALK}" for heading in headings)))
    titles = [re.sub("^☆、|[（【].*求.*", "", heading.split("\n")[0]) for heading in headings]
    assert listed(done) == [(number, "chapter", title) for number, title in enumerate(titles, 1)]
    for row, title in zip(rows, titles, strict=True):
        assert row["text"].split("\n")[0] == f'{title} <break time="1200ms"/>' and row["text"].count(title) == 1


def test_a_numbered_list_in_a_story_makes_no_chapters(tmp_path: Path) -> None:
    text = f"第一章 雨\n{WALK}　　他要三样东西：\n　　1、刀\n　　2、火\n　　3、盐\n{WALK}"
    assert [title for _, _, title in listed(made(written(tmp_path / "a.txt", text))[0])] == ["第一章 雨"]


ADS = [
    "（求收藏，求推荐票！）", "PS：今天第二更，求月票~~", "本章未完，点击下一页继续阅读", "（本章完）", "未完待续……",
    "一秒记住【笔趣阁】，精彩小说无弹窗免费阅读！", "-----网友请提示：长时间阅读请注意眼睛的休息。",
    "本书由www.example-xs.com提供下载", "更多精彩小说请访问 m.example-xs.com", "感谢书友某某的打赏和月票",
    "第三更，求订阅！", "喜欢雪夜请大家收藏：雪夜更新速度最快。", "【求推荐票】",
]  # fmt: skip
STORY = [
    "“求月票！”他在台上喊道。", "求票的人排了长队。", "PS的尽头是一座城。", "感谢盟主的救命之恩。",
    "未完待续的故事最动人。",
    "他打开电脑，访问了那个网站，开始下载。", "更新世的冰川退去了。", "他喜欢雪，请大家都来看。", "温馨提示写在墙上。",
    "他用手机在www.example.com上搜小说。", "他把地址写下来：www.example.com。", "上一章讲到他走了。",
    "（他求她留下。）",
]  # fmt: skip


def test_advertising_of_web_novels_goes_and_the_story_stays(tmp_path: Path) -> None:
    lines = [line for pair in zip_longest(ADS, STORY, fillvalue="") for line in pair]
    text = "第一章 雨\n" + "".join(f"　　{line}\n" for line in lines)
    done, rows = made(written(tmp_path / "a.txt", text, "gb18030"))
    assert rows[0]["text"].split("\n")[1:] == STORY
    assert f"paragraphs of advertising left out (--ads keep reads them): {len(ADS)}" in done.findings
    assert any(finding.startswith("taken for advertising: “（求收藏") for finding in done.findings)
    kept = made(tmp_path / "a.txt", reading=Reading(ads="keep"))[1][0]["text"]
    assert all(line.strip("…-~ ")[:8] in kept for line in ADS)


def test_footnotes_that_only_a_sign_tells(tmp_path: Path) -> None:
    chinese = "第一章 雨\n　　他姓钱，单名“多”字。①\n　　见图②，分两步：①洗手；②吃饭。\n　　完了。\n　　①钱多：谐音。\n"
    done, rows = made(written(tmp_path / "a.txt", chinese))
    assert rows[0]["text"].split("\n")[1:] == ["他姓钱，单名“多”字。", "见图②，分两步：①洗手；②吃饭。", "完了。"]
    assert {"footnotes left out: 1", "footnote markers left out: 1"} <= set(done.findings)
    english = (
        f"{textwrap.fill('It struck the roof.* In fact ' + PROSE, 70)}\n\n* A low roof.\n\n{textwrap.fill(PROSE, 70)}\n"
    )
    text = made(written(tmp_path / "b.txt", english))[1][0]["text"]
    assert text == f"It struck the roof. In fact {PROSE}\n{PROSE}"
    kept = made(tmp_path / "b.txt", reading=Reading(notes="keep"))[1][0]["text"]
    assert kept == f"It struck the roof. In fact {PROSE}\nA low roof.\n{PROSE}"
    listing = f"{PROSE}\n\n* one\n\n* two\n\n2 * 3 is six, 5* is good.\n"
    assert "* one\n* two" in made(written(tmp_path / "c.txt", listing))[1][0]["text"]


def test_tables_and_page_marks_of_plain_text(tmp_path: Path) -> None:
    text = (
        f"{textwrap.fill(PROSE, 70)}\n\n+-------+-----+\n| Fruit | d.  |\n+-------+-----+\n| Pears | 4   |\n"
        "+-------+-----+\n\n"
        f"  Year    Births\n  1850     1,200\n  1851     1,310\n\n{textwrap.fill('He said, {46} no. ' + PROSE, 70)}\n"
    )
    done, rows = made(written(tmp_path / "a.txt", text))
    table = ["Fruit, d.", "Pears, 4", "Year, Births", "1850, 1,200", "1851, 1,310"]
    assert rows[0]["text"].split("\n") == [PROSE, *table, f"He said, no. {PROSE}"]
    assert "page numbers left out: 1" in done.findings
    rows = made(tmp_path / "a.txt", reading=Reading(tables="drop"))[1]
    assert rows[0]["text"].split("\n") == [PROSE, f"He said, no. {PROSE}"]


AOZORA = """走れメロス
太宰治

-------------------------------------------------------
【テキスト中に現れる記号について】

《》：ルビ
-------------------------------------------------------

［＃３字下げ］一［＃「一」は中見出し］

　かの邪智暴虐《じゃちぼうぎゃく》の王を、｜老爺《ろうや》は見た。

［＃３字下げ］二［＃「二」は中見出し］

　メロスは跳《は》ねた。

底本：「太宰治全集3」筑摩書房
入力：某
"""


def test_aozora_bunko(tmp_path: Path) -> None:
    done, rows = made(written(tmp_path / "a.txt", AOZORA))
    assert (done.facts.title, done.facts.authors, done.facts.language) == ("走れメロス", ("太宰治",), "ja")
    assert [row["text"].split("\n")[1:] for row in rows] == [["かの邪智暴虐の王を、老爺は見た。"], ["メロスは跳ねた。"]]
    assert {"ruby readings left out: 3", "annotations left out: 4"} <= set(done.findings)
    rows = made(tmp_path / "a.txt", reading=Reading(ruby="reading"))[1]
    assert rows[0]["text"].endswith("\nかのじゃちぼうぎゃくの王を、ろうやは見た。")
    chinese = "第一章 书\n　　他读《红楼梦》，又读《かな》。\n"
    assert "《红楼梦》，又读《かな》" in made(written(tmp_path / "b.txt", chinese))[1][0]["text"]


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    def refusal(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError) as caught:
            outline(BookOrder(file=tmp_path / name, out=tmp_path / "m.jsonl"))
        return str(caught.value)

    assert "is a PDF" in refusal("a.txt", b"%PDF-1.4 ...")
    assert "is empty" in refusal("b.txt", b"")
    assert "convert it to EPUB" in refusal("c.mobi", bytes(60) + b"BOOKMOBI" + bytes(100))
    assert "more than 64 MB" in refusal("d.txt", b"a word \n" * (9 << 20))
    assert "--encoding" in refusal("e.txt", bytes(range(128, 256)))
    with pytest.raises(UserError, match="no such file"):
        outline(BookOrder(file=tmp_path / "none.txt", out=tmp_path / "m.jsonl"))


def test_a_real_size_novel_takes_linear_time(tmp_path: Path) -> None:
    def seconds(chapters: int) -> float:
        text = "".join(f"第{n}章 标题\n\n" + f"　　{HAN}。张三说：“你好！”\n" * 60 for n in range(1, chapters + 1))
        file = written(tmp_path / f"{chapters}.txt", text)
        started = time.process_time()
        assert len(made(file)[1]) == chapters
        return time.process_time() - started

    assert seconds(160) < 8 * seconds(40) + 0.5  # 2 MB against 0.5 MB


def test_a_table_of_contents_with_pages_may_name_chapters_otherwise(tmp_path: Path) -> None:
    body = textwrap.fill(PROSE, 70)
    text = "THE STORM\n\n\nCONTENTS\n\n CHAP.      PAGE\n\n  I. A STORM THAT CAME\n     AT NIGHT ........ 1\n\n"
    text += " II. MR. PENROSE      17\n\n     EPILOGUE         58\n\n     FOOTNOTES        60\n\n\nTo my mother.\n\n"
    for heading in ("CHAPTER I.\n\nA STORM THAT CAME AT NIGHT", "CHAPTER II.\n\nMR. PENROSE", "EPILOGUE"):
        text += f"{heading}\n\n\n" + f"{body}\n\n" * 20
    done, rows = made(written(tmp_path / "a.txt", text), skip=("contents", "titlepage"))
    assert listed(done)[-3:] == [
        (2, "chapter", "CHAPTER I. A STORM THAT CAME AT NIGHT"), (3, "chapter", "CHAPTER II. MR. PENROSE"),
        (4, "epilogue", "EPILOGUE"),
    ]  # fmt: skip
    assert rows[0]["text"] == "To my mother."


def test_a_numbered_chapter_is_no_copyright_page(tmp_path: Path) -> None:
    site = f"第1章 雨夜\n\n　　{HAN}。\n\n　　版权所有，侵权必究。\n\n第2章 雪\n\n　　{HAN}。\n"
    assert [kind for _, kind, _ in listed(made(written(tmp_path / "a.txt", site))[0])] == ["chapter", "chapter"]
    page = "# A Tale\n\n© 2020 A. Writer. All rights reserved.\n\n# The Letter\n\nHe read the ISBN. " + PROSE * 3
    done, _ = made(written(tmp_path / "b.md", page))
    assert listed(done) == [(0, "copyright", "A Tale"), (1, "chapter", "The Letter")]
