"""`book` through the real command line, then `check` and `run` on what it made."""

from __future__ import annotations

import json
from pathlib import Path

from book_files import epub, nav, page, rows_in, written
from conftest import ROOT, RunCli, outputs, report_items


def example_book(folder: Path) -> Path:
    """An EPUB of the two books of examples/book.jsonl: one chapter each."""
    texts: dict[str, list[str]] = {}
    for line in (ROOT / "examples/book.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts.setdefault(row["title"], []).append(row["text"])
    documents = {
        f"c{number}.xhtml": page(
            f"<h1>{title}</h1>" + "".join(f"<p>{line}</p>" for line in "\n".join(parts).split("\n") if line.strip())
        )
        for number, (title, parts) in enumerate(texts.items(), 1)
    }
    lines = "".join(f'<li><a href="{name}">{title}</a></li>' for name, title in zip(documents, texts, strict=True))
    documents = {
        "nav.xhtml": nav(lines),
        "cover.xhtml": page("<p>Cover</p>", attributes=' epub:type="cover"'),
        **documents,
    }
    return epub(folder / "book.epub", documents, metadata="<dc:title>Two Books</dc:title><dc:creator>鲁迅</dc:creator>")


def test_a_book_is_listed_made_checked(cli: RunCli, tmp_path: Path) -> None:
    example_book(tmp_path)
    shown = cli("book", "book.epub", "--list")
    assert shown.code == 0, shown.err
    lines = [line.split("\t") for line in shown.out.splitlines()]
    assert [line[:2] for line in lines] == [
        ["skipped", "cover"],
        *([str(n), "chapter"] for n in range(1, len(lines))),
    ]
    assert "故乡" in shown.out and "Two Books, 鲁迅" in shown.err
    done = cli("book", "book.epub", "-o", "book.jsonl", "--engine", "kokoro", "--voice", "yunxi")
    assert done.code == 0, done.err
    assert "left out: cover" in done.err and f"{len(lines) - 1} chapters in {len(lines) - 1} rows" in done.out
    sidecar = json.loads((tmp_path / "book.book.json").read_text(encoding="utf-8"))
    assert (sidecar["title"], sidecar["authors"], sidecar["source"]) == ("Two Books", ["鲁迅"], "book.epub")
    assert [one["rows"] for one in sidecar["chapters"] if one["number"]] == [
        [row["id"]] for row in rows_in(tmp_path / "book.jsonl")
    ]
    checked = cli("check", "book.jsonl", "--engine", "kokoro", "--json")
    assert checked.code == 0, checked.err
    assert checked.json()["counts"] == {"pending": len(lines) - 1}
    again = cli("book", "book.epub", "-o", "book.jsonl")
    assert again.code == 2 and "--force" in again.err


def test_a_book_of_two_chapters_is_run(cli: RunCli, tmp_path: Path) -> None:
    text = (
        "第一章 开始\n\n　　他走了。\n　　张三说：“再见。”\n\n　　＊＊＊\n\n　　天亮了。\n\n"
        "第二章 结束\n\n　　“完了吗？”他问。\n"
    )
    written(tmp_path / "novel.txt", text, "gb18030")
    written(tmp_path / "end.txt", "《{title}》完，{who}制作。\n")
    (tmp_path / "cast.toml").write_text('[[speaker]]\nname = "张三"\nvoice = "yunxi"\n', encoding="utf-8")
    words = ("--voice", "xiaoxiao", "--cast", "cast.toml", "--credits", "--closing", "@end.txt", "--fact", "who=某某")
    refused = cli("book", "novel.txt", "-o", "novel.jsonl", *words)
    assert refused.code == 2 and "{author}" in refused.err and "--author" in refused.err
    done = cli("book", "novel.txt", "-o", "novel.jsonl", *words, "--author", "无名", "--json")
    assert done.code == 0, done.err
    assert done.json()["credits"] == {
        "opening": "《novel》。\n作者：无名。\n由合成语音朗读。",
        "closing": "《novel》完，某某制作。",
    }
    assert done.json()["speakers"] == {"张三": 1} and done.json()["unattributed"] == 1
    assert done.json()["unattributed_examples"] == [{"chapter": 2, "text": "“完了吗？”"}]
    ran = cli("run", "novel.jsonl", "--engine", "tone", "--workers", "1")
    assert ran.code == 0, ran.err
    items = report_items(tmp_path / "novel-out")
    assert list(items) == ["opening", "ch001-0001", "ch001-0002", "ch001-0003", "ch002", "closing"]
    assert all(item["state"] == "done" for item in items.values())
    assert len(outputs(tmp_path / "novel-out")) == 6


def test_chapters_skips_and_html(cli: RunCli, tmp_path: Path) -> None:
    prose = f"<p>{'A sentence of some length. ' * 20}</p>"
    body = f"<h1>Preface</h1>{prose}<h1>Chapter 1</h1>{prose}<h1>Chapter 2</h1>{prose}<h1>Index</h1><p>a, 1</p>"
    written(tmp_path / "a.html", f"<html><body>{body}</body></html>")
    assert cli("book", "a.html", "-o", "a.jsonl", "--skip", "front,back", "--chapters", "2").code == 0
    assert [row["title"] for row in rows_in(tmp_path / "a.jsonl")] == ["Chapter 2"]
    assert cli("book", "a.html", "-o", "a.jsonl", "--skip", "none", "--force").code == 0
    assert [row["id"] for row in rows_in(tmp_path / "a.jsonl")] == ["ch001", "ch002", "ch003", "ch004"]


def test_mistakes_are_told(cli: RunCli, tmp_path: Path) -> None:
    written(tmp_path / "a.txt", "Chapter 1\n\nText.\n")
    (tmp_path / "bad.epub").write_bytes(b"PK\x03\x04 nothing")
    for words, part in (
        (("a.txt",), "--list to see the chapters first"),
        (("a.txt", "-o", "a.csv"), "name it a.jsonl"),
        (("a.txt", "-o", "a.jsonl", "--skip", "fornt"), "did you mean 'front'?"),
        (("a.txt", "-o", "a.jsonl", "--chapters", "9"), "there is no chapter 9, the book has 1"),
        (("a.txt", "-o", "a.jsonl", "--heading", "("), "no regular expression"),
        (("a.txt", "-o", "a.jsonl", "--engine", "kokorro"), "did you mean 'kokoro'?"),
        (("bad.epub", "--list"), "damaged zip file"),
        (("a.txt", "-o", "missing/a.jsonl"), "missing/a.jsonl"),
    ):
        ended = cli("book", *words)
        assert ended.code in (2, 4) and part in ended.err, (words, ended.err)
        assert "Traceback" not in ended.err
    assert not (tmp_path / "a.jsonl").exists()
