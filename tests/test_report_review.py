"""The report's review mode in a real browser: mark by key, find the marks again, leave with a manifest of the redos."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from conftest import RunCli, report_items, write_jsonl
from report_browser import browser, opened, until
from report_examples import ITEM

from jobs.report import TakeRow

__all__ = ["browser", "opened"]

ASKED = {"out": "greeting.wav", "mode": "speaker", "profile": "podcast", "voice": "heart"}
MISHEARD = replace(
    ITEM,
    line=2,
    id="misheard",
    written="Press 1 for sales.",
    spoken="Press one for sales.",
    heard="press one for snails",
    error_rate=0.25,
    takes=(TakeRow(0, 0, 7, ("misheard",), True, "press one for snails", 0.25),),
    warnings=("segment 1 was not understood as its text: listen to it",),
    asked={**ASKED, "pause_ms": 300},
    extra={"team": "</script><b>Sales</b>"},
)
ROWS = [
    replace(ITEM, line=1, id="fine", heard="PRESS ONE", error_rate=0.0, asked=ASKED),
    MISHEARD,
    replace(ITEM, line=3, id="lost", state="failed", reason="silent", measured=None, asked=ASKED, voice="am_michael"),
    replace(ITEM, line=0, id="removed", state="removed", takes=()),
]


def test_flagged_items_come_first_with_what_was_heard(opened: Any) -> None:
    shown = opened(ROWS)
    assert shown.ids() == ["lost", "misheard", "fine", "removed"]
    page = shown.page
    page.wait_for_selector(".was-heard mark")
    assert page.locator(".was-heard mark").all_text_contents() == ["snails"]
    assert page.locator("#by-voice tbody tr").all_inner_texts() == [
        "am_michael\t1\t0\t0\t1\t0%\t0\t–",
        "af_heart\t2\t1\t1\t0\t50%\t0\t12%",
    ]
    page.get_by_role("button", name="misheard", exact=True).click()
    assert "Heard · 20 characters" in page.locator(".details").inner_text()
    assert page.locator(".details mark").all_text_contents() == ["1", "one", "sales", "snails"]
    page.select_option("#sort", "line")
    assert shown.ids() == ["fine", "misheard", "lost", "removed"]


def test_marks_are_set_by_key_kept_and_downloaded(opened: Any, tmp_path: Path) -> None:
    shown = opened(ROWS)
    page = shown.page
    assert page.locator("#redo").is_disabled()
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("o")
    assert page.locator("#marked").inner_text() == "1 ok, 2 to redo"
    page.keyboard.press("j")
    page.keyboard.press("r")
    assert page.locator("#marked").inner_text() == "1 ok, 2 to redo", "an item without a row cannot be made again"
    page.reload()
    until(page, "document.getElementById('marked').textContent === '1 ok, 2 to redo'")
    page.locator("#rows tr").first.get_by_role("button", name="redo", exact=True).click()
    assert page.locator("#marked").inner_text() == "1 ok, 1 to redo"
    with page.expect_download() as waiting:
        page.locator("#redo").click()
    download = waiting.value
    assert download.suggested_filename == "redo.jsonl"
    download.save_as(tmp_path / "redo.jsonl")
    lines = (tmp_path / "redo.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    row = json.loads(lines[0])
    assert row.pop("seed") != MISHEARD.seed
    assert row == {"id": "misheard", "text": "Press 1 for sales.", **MISHEARD.asked, **MISHEARD.extra}


def test_the_redo_manifest_of_a_real_run_runs(opened: Any, cli: RunCli, browser: Any, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "您的取件码是0307。", "title": "取件", "speed": 1.2, "pause_ms": 300, "team": "Sales"},
        {"id": "b", "text": "Press 1.", "say_as": "digits", "voice": "heart"},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    assert cli("run", "m.jsonl", "--engine", "tone", "--workers", "1").code == 0
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.goto((tmp_path / "m-out/report.html").as_uri())
    for key in "jrjr":
        page.keyboard.press(key)
    with page.expect_download() as waiting:
        page.locator("#redo").click()
    waiting.value.save_as(tmp_path / "redo.jsonl")
    context.close()
    before = report_items(tmp_path / "m-out")
    ended = cli("run", "redo.jsonl", "--engine", "tone", "--workers", "1", "-o", "m-out")
    assert ended.code == 0, ended.err
    after = report_items(tmp_path / "m-out")
    for item_id in ("a", "b"):
        assert (after[item_id]["state"], after[item_id]["reason"]) == ("done", "seed changed")
        for same in ("out", "written", "spoken", "voice", "mode", "speed", "extra", "title"):
            assert after[item_id][same] == before[item_id][same]
