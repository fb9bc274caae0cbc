"""report.json, report.csv and the text of report.html: whole, streamed, safe for any text."""

from __future__ import annotations

import csv
import errno
import json
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_examples import FACTS, FAILED, ITEM, MEASURED

from jobs.report import CSV_COLUMNS, DeviceRow, ItemRow, RunFacts, as_summary, write_reports
from jobs.report_page import clock, moment, script_json, verdict
from jobs.report_rows import json_line, plain, whole_text

any_text = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(
    ["=1+1", "'=1", "''=", "'tis", "\ud800", "\udc00x", "\ud83d\ude42", "</script>", "<!--", "\u2028", "a\r\nb", "\x00"]
)


def write(folder: Path, *rows: ItemRow, facts: RunFacts = FACTS) -> tuple[dict[str, Any], list[dict[str, str]], str]:
    paths = write_reports(folder, facts, lambda: iter(rows))
    assert [path.name for path in paths] == ["report.json", "report.csv", "report.html"]
    document = json.loads(paths[0].read_text(encoding="utf-8"))
    with paths[1].open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    return document, table, paths[2].read_text(encoding="utf-8")


def page_items(page: str) -> list[dict[str, Any]]:
    """What a browser would read: the data element ends at the first `</script`, whatever stands in it."""
    inside = page.split('<script type="application/json" id="data">')[1].split("</script")[0]
    items: list[dict[str, Any]] = json.loads(inside)
    return items


def unguarded(cell: str) -> str:
    """The rule that docs/report.md gives for reading a guarded cell."""
    return cell[1:] if re.match(r"'+[=+\-@\t\r\n＝＋－＠]", cell) else cell


def test_all_three_files_hold_the_same_items(tmp_path: Path) -> None:
    item = replace(ITEM, warnings=("cut at the end", "loud"), extra={"team": "Sales"}, seed=2**62 + 1)
    document, table, page = write(tmp_path, item, FAILED)
    assert document["schema"] == 1
    assert document["run"] == as_summary(FACTS)
    assert [entry["id"] for entry in document["items"]] == ["greeting", "hours"]
    assert document["items"][0]["measured"]["waveform"] == list(MEASURED.waveform)
    assert document["items"][0]["seed"] == 2**62 + 1
    assert [row["id"] for row in table] == ["greeting", "hours"]
    assert table[0]["x_team"] == "Sales" and table[1]["x_team"] == ""
    assert table[0]["loudness_lufs"] == "-19.02", "a number is not text: it needs no guard"
    assert table[0]["warnings"] == "cut at the end; loud"
    assert table[1]["duration_s"] == ""
    items = page_items(page)
    assert [entry["id"] for entry in items] == ["greeting", "hours"]
    assert items[0]["seed"] == str(2**62 + 1), "a number of this size would change in a browser"


def test_every_item_of_the_json_stands_on_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, replace(ITEM, written="a\nb\u2028c\x85d"), FAILED)
    lines = (tmp_path / "report.json").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"line"')]
    assert [item["id"] for item in items] == ["greeting", "hours"]
    assert items[0]["written"] == "a\nb\u2028c\x85d"


def test_key_order_is_the_order_of_the_fields(tmp_path: Path) -> None:
    document, table, _ = write(tmp_path, ITEM)
    assert list(document) == ["schema", "run", "by_voice", "items"]
    assert list(document["items"][0])[:4] == ["line", "id", "state", "reason"]
    assert list(table[0]) == list(CSV_COLUMNS)


def test_csv_opens_in_excel_as_utf8(tmp_path: Path) -> None:
    write(tmp_path, replace(ITEM, written="您好"))
    assert (tmp_path / "report.csv").read_bytes().startswith(b"\xef\xbb\xbfline,")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1"])
def test_no_text_cell_is_a_formula(tmp_path: Path, cell: str) -> None:
    _, table, _ = write(tmp_path, replace(ITEM, id=cell, written=cell, extra={"note": cell}))
    for column in ("id", "written", "x_note"):
        assert table[0][column] == "'" + cell
        assert unguarded(table[0][column]) == cell


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(any_text, min_size=7, max_size=7), name=st.text(min_size=1, max_size=8))
def test_any_text_survives_in_all_three_files(
    texts: list[str], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    identity, title, written, spoken, reason, warning, extra = texts
    item = replace(
        ITEM,
        id=identity,
        title=title,
        written=written,
        spoken=spoken,
        reason=reason,
        warnings=(warning,),
        extra={name: extra},
    )
    document, table, page = write(tmp_path_factory.mktemp("run"), item)
    expected = {key: whole_text(value) for key, value in zip(("id", "title", "written"), texts, strict=False)}
    read = document["items"][0]
    for key, value in expected.items():
        assert read[key] == value
        assert unguarded(table[0][key]) == value
        assert page_items(page)[0].get(key, "") == value
    assert unguarded(table[0]["spoken"]) == whole_text(spoken)
    assert read["extra"] == {whole_text(name): whole_text(extra)}
    assert unguarded(table[0][f"x_{name}"]) == whole_text(extra)
    assert read["warnings"] == [whole_text(warning)]


@settings(deadline=None, max_examples=300)
@given(any_text)
def test_script_json_is_inert_and_reads_back(text: str) -> None:
    written = script_json({"text": whole_text(text)})
    assert not set("<>&\u2028\u2029\n\r") & set(written)
    assert json.loads(written) == {"text": whole_text(text)}


@settings(deadline=None, max_examples=300)
@given(any_text)
def test_whole_text_only_replaces_what_utf8_cannot_hold(text: str) -> None:
    whole = whole_text(text)
    assert whole.encode("utf-8").decode("utf-8") == whole
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert whole != text
    else:
        assert whole == text


@pytest.mark.parametrize(("text", "whole"), [("a\ud800b", "a\ufffdb"), ("\udc00", "\ufffd"), ("\ud83d\ude42", "🙂")])
def test_lone_surrogates_become_the_replacement_character(text: str, whole: str) -> None:
    assert whole_text(text) == whole


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    measured = replace(MEASURED, loudness_lufs=float("-inf"), rms_db=float("nan"))
    document, table, _ = write(tmp_path, replace(ITEM, measured=measured))
    assert document["items"][0]["measured"]["loudness_lufs"] is None
    assert document["items"][0]["measured"]["rms_db"] is None
    assert table[0]["loudness_lufs"] == ""


HOSTILE = "</script></title></style><img src=x onerror=hacked()>\"'&{{ 7*7 }}"


def test_markup_in_the_facts_is_only_text(tmp_path: Path) -> None:
    facts = replace(
        FACTS,
        run_id=HOSTILE,
        started=HOSTILE,
        manifest=HOSTILE,
        command=HOSTILE,
        engine={HOSTILE: HOSTILE},
        text_front_end={HOSTILE: HOSTILE},
        devices=(DeviceRow(HOSTILE, 1, 1.0, 1.0, 1.0, 0, (HOSTILE,)),),
        libraries={HOSTILE: HOSTILE},
        warnings=(HOSTILE,),
        lexicon_unused=(HOSTILE,),
    )
    _, _, page = write(tmp_path, replace(FAILED, id=HOSTILE, reason=HOSTILE, written=HOSTILE), facts=facts)
    assert "<img" not in page
    assert page.count("</script>") == 2 and page.count("</style>") == 1 and page.count("</title>") == 1
    assert "{{ 7*7 }}" in page and "49" not in page.split("<style>")[0]


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    _, _, page = write(tmp_path, ITEM)
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(src|href)=[\"'](?!#)", without_namespace.split("<script>")[0])
    assert "http://" not in without_namespace and "https://" not in without_namespace
    assert "default-src &#39;none&#39;" in page and "unsafe" not in page.split("<title>")[0]


def test_a_failed_write_leaves_the_reports_of_the_run_before(tmp_path: Path) -> None:
    before = write(tmp_path, ITEM)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    passes = 0

    def rows() -> Iterator[ItemRow]:
        nonlocal passes
        passes += 1
        yield FAILED
        if passes == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_reports(tmp_path, FACTS, rows)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == kept
    assert before[0]["items"][0]["id"] == "greeting"


def test_items_are_streamed(tmp_path: Path) -> None:
    def rows() -> Iterator[ItemRow]:
        for line in range(800):
            yield replace(ITEM, line=line, id=f"item-{line}", written="x" * 20_000, spoken="y" * 20_000)

    write_reports(tmp_path, FACTS, lambda: iter((ITEM,)))
    tracemalloc.start()
    write_reports(tmp_path, FACTS, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "report.json").stat().st_size > 32_000_000
    assert peak < 8_000_000


def test_a_huge_run_shows_what_needs_a_look_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.report_items.PAGE_ITEMS", 4)
    good = [replace(ITEM, line=line, id=f"good-{line}") for line in range(5)]
    rows = [*good, FAILED, replace(ITEM, line=9, id="retried", retries=1)]
    document, table, page = write(tmp_path, *rows)
    assert len(document["items"]) == len(table) == 7
    assert [item["id"] for item in page_items(page)] == ["good-0", "good-1", "hours", "retried"]
    assert "This page holds 4 of 7 items" in page


def test_failures_are_told_by_reason(tmp_path: Path) -> None:
    lost = [replace(FAILED, line=n, id=f"lost-{n}", reason="device lost") for n in range(10, 1210)]
    odd = [replace(FAILED, line=n, id=f"odd-{n}", reason=f"reason {n}") for n in range(100)]
    _, _, page = write(tmp_path, *lost, *odd, facts=replace(FACTS, counts={"failed": 1_300}))
    told = page.split('class="failures"')[1].split('id="items"')[0]
    assert told.count("device lost") == 1
    assert "lost-14" in told and "lost-15" not in told and "and 1,195 more" in told
    assert "reason 48" in told and "reason 49" not in told
    assert "the first 50 reasons" in told
    assert len(page_items(page)) == 1_300


@pytest.mark.parametrize(
    ("counts", "interrupted", "tone", "headline"),
    [
        ({"done": 30}, False, "good", "All 30 items are ready"),
        ({"done": 1}, False, "good", "The item is ready"),
        ({"unchanged": 3000}, False, "good", "All 3,000 items are ready"),
        ({"done": 27, "failed": 3}, False, "bad", "3 of 30 items failed"),
        ({"done": 3, "pending": 4, "failed": 1}, True, "warn", "Interrupted: 3 of 8 items are ready"),
        ({"done": 3, "pending": 4}, False, "warn", "3 of 7 items are ready"),
        ({"skipped": 2}, False, "warn", "Nothing was made"),
    ],
)
def test_the_verdict_is_one_true_line(counts: dict[str, int], interrupted: bool, tone: str, headline: str) -> None:
    said = verdict(as_summary(replace(FACTS, counts=counts, interrupted=interrupted)))
    assert (said["tone"], said["headline"]) == (tone, headline)


def test_warnings_come_before_everything_else_on_the_page(tmp_path: Path) -> None:
    _, _, page = write(tmp_path, ITEM, FAILED, facts=replace(FACTS, warnings=("embedded voice was used",)))
    body = page.split("<body>")[1]
    places = [
        body.index(text) for text in ("embedded voice was used", "items failed", "silent in 3 takes", 'id="table"')
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0.0 s"), (59.9, "59.9 s"), (59.96, "1:00"), (245.4, "4:05"), (3723, "1:02:03")]
)
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_moment_keeps_what_it_cannot_read() -> None:
    assert moment("2026-03-01T02:00:00.5+08:00") == "2026-03-01 02:00:00 +08:00"
    assert moment("yesterday") == "yesterday"


def test_json_line_holds_no_line_end() -> None:
    assert len(json_line(plain({"a": "\r\n\x0b\x0c\x1c\x85\u2028\u2029"})).splitlines()) == 1
