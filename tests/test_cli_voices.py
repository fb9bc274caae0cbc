"""`voices` through the real command line, and own voices found by `check`, `run` and `say` without any option."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Ended, RunCli, report_items, report_run, start_cli, write_jsonl
from spoiled_recordings import GOOD, GOOD_TEXT, RATE_HZ, good, hot, write

Voices = RunCli


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A user with no voices yet."""
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path / "data")}


def add(cli: RunCli, home: dict[str, str], *words: str, name: str = "anna", audio: Path = GOOD) -> Ended:
    return cli("voices", "add", name, "--audio", str(audio), *words, env=home)


def test_the_life_of_a_voice(cli: RunCli, home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "said.txt").write_text(GOOD_TEXT + "\n", encoding="gb18030")
    added = add(cli, home, "--text-file", "said.txt", "--consent", "Li, 3 May", "--licence", "CC0", "--json")
    assert added.code == 0, added.err
    assert (added.json()["text"], added.json()["remarks"], added.json()["language"]) == (GOOD_TEXT, [], "zh")
    assert "anna\tzh\tcosyvoice\t" in cli("voices", "list", env=home).out
    shown = cli("voices", "show", "anna", env=home).out
    assert "consent: Li, 3 May" in shown and "warn" not in shown
    assert add(cli, home, "--text", GOOD_TEXT).code == 2
    assert cli("voices", "export", "anna", "anna.zip", env=home).out == "anna.zip\n"
    removed = cli("voices", "remove", "anna", env=home)
    assert removed.code == 0 and removed.out.count("removed ") == 2
    assert "anna" not in cli("voices", "list", env=home).out
    again = cli("voices", "import", "anna.zip", "--name", "berta", "--json", env=home)
    assert again.code == 0 and again.json()["consent"] == "Li, 3 May"
    missing = cli("voices", "show", "bertha", env=home)
    assert missing.code == 2 and "did you mean 'berta'" in missing.err


def test_refusals_and_warnings_are_told(cli: RunCli, home: dict[str, str], tmp_path: Path) -> None:
    silent = write(tmp_path / "silent.wav", np.zeros(RATE_HZ * 3))
    ended = add(cli, home, "--language", "zh", audio=silent)
    assert ended.code == 2 and "voice 'anna' is refused: the recording is silent" in ended.err
    ended = add(cli, home, "--language", "zh", audio=write(tmp_path / "hot.wav", hot(good())))
    assert ended.code == 0
    assert "warning: the recording stops on its last word" in ended.err
    assert "warning: nobody is named who agreed" in ended.err
    both = add(cli, home, "--text", "a", "--text-file", "said.txt", name="b")
    assert both.code == 2 and "keep one of them" in both.err


def test_two_commands_that_add_the_same_name_at_once(home: dict[str, str], tmp_path: Path) -> None:
    words = ["voices", "add", "anna", "--audio", str(GOOD), "--text", GOOD_TEXT]
    started = [start_cli(*words, cwd=tmp_path, env=home) for _ in range(3)]
    ended = [(process.communicate(timeout=120), process.returncode) for process in started]
    assert sorted(code for _, code in ended) == [0, 2, 2], ended
    assert all("--force" in out[1] for out, code in ended if code == 2)


def test_runs_find_own_voices_and_report_consent_and_remarks(cli: RunCli, home: dict[str, str], tmp_path: Path) -> None:
    spoiled = write(tmp_path / "hot.wav", hot(good()))
    assert add(cli, home, "--text", GOOD_TEXT[:-1], "--consent", "Li <b>agreed</b>").code == 0
    assert add(cli, home, "--language", "zh", name="hot", audio=spoiled).code == 0
    wish = "whisper as a very tired ghost would do in an old house at night, slowly"
    rows = [
        {"id": "a", "text": "一二三四。", "voice": "anna"},
        {"id": "b", "text": "一二三四。", "voice": "hot"},
        {"id": "c", "text": "一二三四。", "ref_audio": "hot.wav"},
        {"id": "d", "text": "一二三四。", "voice": "anna", "instruction": wish},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    checked = cli("check", "m.jsonl", "--engine", "tone", "--json", env=home)
    assert checked.code == 0, checked.err
    (shared,) = [line for line in checked.json()["voices"] if "stops on" in line]
    assert shared.endswith(f"(2 voices: voice 'hot', {tmp_path / 'hot.wav'})")
    ended = cli("run", "m.jsonl", "--engine", "tone", env=home)
    assert ended.code == 0, ended.err
    assert ended.err.count("warning: the recording stops on its last word") == 1
    assert "(2 voices: voice 'hot', " in ended.err
    assert "(2 voices: voice 'hot', " in (tmp_path / "m-out/run.log").read_text(encoding="utf-8")
    items = report_items(tmp_path / "m-out")
    assert items["a"]["warnings"] == items["b"]["warnings"] == []
    assert "stops on its last word" in " ".join(items["c"]["warnings"])
    assert "long (71 characters)" in " ".join(items["d"]["warnings"])
    told = {voice["name"]: voice for voice in report_run(tmp_path / "m-out")["voices"]}
    assert (told["anna"]["consent"], told["anna"]["warnings"]) == ("Li <b>agreed</b>", [])
    assert told["hot"]["consent"] is None and len(told["hot"]["warnings"]) == 2
    page = (tmp_path / "m-out/report.html").read_text(encoding="utf-8")
    assert "Li &lt;b&gt;agreed" in page and "Li <b>" not in page and "not noted" in page
    again = cli("run", "m.jsonl", "--engine", "tone", "--json", env=home)
    assert again.json()["counts"]["unchanged"] == 4 and len(again.json()["voices"]) == 2
    said = cli("say", "一二三四。", "--voice", "anna", "--engine", "tone", env=home)
    assert said.code == 0, said.err


def test_what_the_linter_refuses_is_a_mistake_of_the_row(cli: RunCli, home: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "silent.wav", np.zeros(RATE_HZ * 3))
    (tmp_path / "good.wav").write_bytes(GOOD.read_bytes())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mute.toml").write_text('language = "zh"\naudio = "../silent.wav"\n')
    marker = "You are a helpful assistant. 请用广东话表达。<|endofprompt|>"
    rows = [
        {"id": "a", "text": "一二三四。", "ref_audio": "silent.wav"},
        {"id": "b", "text": "一二三四。", "ref_audio": "good.wav", "ref_text": GOOD_TEXT * 5},
        {"id": "c", "text": "一二三四。", "ref_audio": "good.wav", "ref_text": GOOD_TEXT * 5, "mode": "cross_lingual"},
        {"id": "d", "text": "一二三四。", "ref_audio": "good.wav", "instruction": marker},
        {"id": "e", "text": "一二三四。", "voice": "mute"},
        {"id": "f", "text": "一二三四。", "ref_audio": "good.wav", "ref_text": GOOD_TEXT},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    ended = cli("check", "m.jsonl", "--engine", "tone", "--voices-folder", "mine", env=home)
    assert ended.code == 2
    lines = [line for line in ended.err.splitlines() if line.startswith("m.jsonl:")]
    assert [line.split(": ")[:2] for line in lines] == [
        ["m.jsonl:1", "ref_audio"],
        ["m.jsonl:2", "ref_text"],
        ["m.jsonl:4", "instruction"],
        ["m.jsonl:5", "voice"],
    ]
    assert "write only '请用广东话表达。'" in lines[2] and "mute.toml" in lines[3]
    kept = cli("run", "m.jsonl", "--engine", "tone", "--voices-folder", "mine", "--keep-going", env=home)
    assert kept.code == 3
    states = {name: item["state"] for name, item in report_items(tmp_path / "m-out").items()}
    assert (states["c"], states["f"]) == ("done", "done") and list(states.values()).count("failed") == 4
    assert json.loads((tmp_path / "m-out/report.json").read_text(encoding="utf-8"))["run"]["voices"] == []
