"""retry.jsonl: what failed or is flagged, as a manifest that runs, with other seeds; gone when nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import RunCli, report_items, write_jsonl

from jobs.records import Item
from jobs.retry import asked_of, asks_for_a_part


def test_a_plain_item_asks_for_little() -> None:
    item = Item(line=1, id="a", text="Hello", out="a.wav", profile="wav24k")
    assert asked_of(item) == {"out": "a.wav", "mode": "speaker", "profile": "wav24k"}


def test_a_part_is_known_by_the_name_of_its_manifest() -> None:
    assert asks_for_a_part("night out/retry.jsonl") and asks_for_a_part("redo.jsonl")
    assert not any(map(asks_for_a_part, ("my retry.jsonl", "retry.jsonl/prompts.csv", "retry.csv", "")))


def test_failed_items_come_back_with_new_seeds_and_run(cli: RunCli, tmp_path: Path) -> None:
    rows = [
        {"id": "good", "text": "All is well."},
        {"id": "bad", "text": "This goes boom.", "seed": 5, "speed": 1.1, "instruction": "softly", "team": "Ops"},
        {"id": "worse", "text": "Boom, 再见 boom.", "voice": "heart", "title": "T"},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    assert cli("run", "m.jsonl", "--engine", "engines_for_tests:RAISES", "--workers", "1").code == 3
    retry = tmp_path / "m-out/retry.jsonl"
    found = {row["id"]: row for row in map(json.loads, retry.read_text(encoding="utf-8").splitlines())}
    assert found.keys() == {"bad", "worse"}
    assert found["bad"]["text"] == "This goes boom."
    assert found["bad"]["seed"] not in (0, 5)
    assert found["bad"]["team"] == "Ops"
    ended = cli("run", "m-out/retry.jsonl", "--engine", "tone", "--workers", "1", "-o", "m-out")
    assert ended.code == 0, ended.err
    after = report_items(tmp_path / "m-out")
    assert after["bad"]["state"] == after["worse"]["state"] == "done"
    assert after["bad"]["seed"] == found["bad"]["seed"]
    assert after["bad"]["instruction"] == "softly"
    assert (tmp_path / "m-out" / after["bad"]["out"]).is_file()
    assert not retry.exists(), "nothing is left to make again"


def test_voices_are_told_with_their_pass_rate(cli: RunCli, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "Fine.", "voice": "heart"},
        {"id": "b", "text": "This goes boom.", "voice": "heart"},
        {"id": "c", "text": "Fine too.", "voice": "michael"},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    cli("run", "m.jsonl", "--engine", "engines_for_tests:RAISES", "--workers", "1", "--takes", "1")
    report = json.loads((tmp_path / "m-out/report.json").read_text(encoding="utf-8"))
    rates = {voice["voice"]: (voice["passed"], voice["failed"], voice["pass_rate"]) for voice in report["by_voice"]}
    assert rates == {"heart": (1, 1, 0.5), "michael": (1, 0, 1.0)}
    assert [voice["voice"] for voice in report["by_voice"]] == ["heart", "michael"]
