"""Takes are heard: other words than the text has are found, another take is asked for, the best one is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import asr
import pytest
from conftest import RunCli, report_items, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.errors import EnvironmentFault
from jobs.hearing import errors, leaks
from jobs.recogniser import Recogniser, require
from jobs.records import Take
from jobs.verify import Ears, Heard, Limits, ListenerSpec, ListenJob, judged

TAKE = Take(path="t.f32", sample_rate_hz=24_000, samples=24_000, attempt=0, seed=1)


@pytest.mark.parametrize(
    ("text", "heard", "language"),
    [
        ("您的取件码是零三零七。", "您的取件碼是0307。", "zh"),
        ("套餐有三百元和两千元两档。", "套餐有300元和2000元两档", "zh"),
        ("Your code is three zero seven.", "Your code is 307", "en"),
        ("It costs twelve dollars and fifty cents.", "It costs $12.50.", "en"),
        ("Der Zug kommt um acht Uhr.", "der zug kommt um 8 uhr", "de"),
        ("Wait, [laughter] no <strong>way</strong>.", "wait no way", "en"),
        ("今日は、いい天気。", "今日はいい天気", "ja"),
    ],
)
def test_another_spelling_is_no_error(text: str, heard: str, language: str) -> None:
    assert errors(text, heard, language)[0] == 0


@pytest.mark.parametrize(
    ("text", "heard", "language", "wrong"),
    [
        ("套餐有三百元和两千元两档。", "套餐有300元和200元两档", "zh", 1),
        ("Press one for sales.", "Press one for", "en", 1),
        ("Der Zug kommt um acht Uhr.", "Der Zug kommt um neun Uhr.", "de", 1),
        ("会议改到下午四点。", "", "zh", 8),
    ],
)
def test_wrong_lost_and_added_words_are_counted(text: str, heard: str, language: str, wrong: int) -> None:
    assert errors(text, heard, language)[0] == wrong


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.sampled_from(["zh", "en", "de", "ja", "yue", "xx"]))
def test_whatever_is_heard_is_counted(heard: str, language: str) -> None:
    count, length = errors("请按1 press two", heard, language)
    assert count >= 0
    assert length > 0


@pytest.mark.parametrize(
    ("text", "heard", "language", "others", "found"),
    [
        ("会议改到下午四点。", "看看，会议改到下午四点。", "zh", ["新电影上映了，快去看看！"], "kan kan"),
        ("会议改到下午四点。", "看会议改到下午四点。", "zh", ["新电影上映了，快去看看！"], "kan"),
        ("Hello, how are you?", "Speak slowly and sadly. Hello, how are you?", "en", ["Speak slowly and sadly."],
         "speak slowly sadly"),
        ("Hello, how are you?", "slowly like an old Hello, how are you?", "en", ["Speak slowly like an old man"],
         "slowly like an old"),
        ("看看新电影。", "看看新电影", "zh", ["快去看看！"], ""),
        ("Hello, how are you?", "Oh hello, how are you?", "en", ["Speak slowly."], ""),
        ("Hello, how are you?", "Hello, how are you?", "en", [], ""),
        ("Hello", "", "en", ["Speak"], ""),
    ],
)  # fmt: skip
def test_words_of_the_reference_at_the_head(
    text: str, heard: str, language: str, others: list[str], found: str
) -> None:
    assert leaks(text, heard, language, others) == found


def test_what_follows_from_what_was_heard() -> None:
    flag, fail = (Limits({"wav24k": 0.25, "m4b": 0.35}, policy, 0.31) for policy in ("flag", "fail"))
    assert judged(TAKE, Heard("x", 2, 10), flag, "wav24k") == replace(TAKE, heard="x", error_rate=0.2)
    assert judged(TAKE, Heard("x", 3, 10), flag, "wav24k").faults == ("misheard",)
    assert judged(TAKE, Heard("x", 3, 10), flag, "m4b").faults == ()
    assert judged(TAKE, Heard("x", 3, 10), fail, "wav24k").faults == ("not_understood",)
    assert judged(TAKE, Heard("x", 1, 2), flag, "wav24k").faults == ()
    assert judged(TAKE, Heard("", 2, 2), flag, "wav24k").faults == ("misheard",)
    assert judged(TAKE, Heard("x", 1, 10, "kan kan"), fail, "wav24k").faults == ("leak_heard",)
    assert judged(TAKE, Heard(None, likeness=0.3), fail, "wav24k") == replace(
        TAKE, likeness=0.3, faults=("timbre_drift",)
    )
    assert judged(TAKE, Heard(None, likeness=0.31), fail, "wav24k").faults == ()


def test_a_missing_or_foreign_model_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="needs --verify-model FOLDER"):
        require(None)
    with pytest.raises(EnvironmentFault, match=r"model\.bin, config\.json, tokenizer\.json missing"):
        require(tmp_path)
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(EnvironmentFault, match="not a whisper model"):
        Recogniser(require(tmp_path), 1)


def test_the_command_line_refuses_before_any_work(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": "a", "text": "Hello."}])
    ended = cli("run", "m.jsonl", "--engine", "tone", "--workers", "1", "--verify", "asr")
    assert ended.code == 4
    assert "--verify-model FOLDER" in ended.err
    assert not (tmp_path / "m-out").exists()
    assert cli("run", "m.jsonl", "--verify", "whisper").code == 2


def test_a_listener_that_dies_is_replaced_and_its_take_heard(tmp_path: Path) -> None:
    import os
    import signal
    import time

    import numpy as np

    from jobs.crew import listen

    (tmp_path / "t.f32").write_bytes(np.zeros(24_000, "<f4").tobytes())
    ears = Ears(ListenerSpec(str(asr.model_folder()), 1), 1, Limits({"wav24k": 0.25}))
    try:
        os.kill(ears.children[0].pid, signal.SIGKILL)
        ears.listen(ListenJob("k", str(tmp_path / "t.f32"), 24_000, "Hello", "en", ()))
        ears.listen(ListenJob("gone", str(tmp_path / "none.f32"), 24_000, "Hello", "en", ()))
        answers: dict[str, Heard | str] = {}
        deadline = time.monotonic() + 120
        while len(answers) < 2 and time.monotonic() < deadline:
            listen(ears.children, 1.0)
            answers |= dict(ears.answers())
    finally:
        ears.end()
    assert answers["k"] == Heard("", 1, 1)
    assert "FileNotFoundError" in str(answers["gone"])
    assert "nobody could listen" in ears.judged(TAKE, answers["gone"], "wav24k").remarks[0]
    assert ears.notes == ["listener was killed by signal SIGKILL"]


def test_a_run_that_listens_asks_again_for_other_words(cli: RunCli, tmp_path: Path) -> None:
    """The first take of each text says something else, as an engine that babbles does."""
    rows = [
        {"id": "good", "text": "Press one for sales, two for support.", "voice": "heart"},
        {"id": "once", "text": "Please swap this one: the office is closed on Sundays.", "voice": "heart"},
        {"id": "never", "text": "Always wrong: your call is important to us.", "voice": "heart"},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    words = ("run", "m.jsonl", "--engine", "engines_for_tests:BABBLING_KOKORO", "--workers", "1")
    model = ("--verify", "asr", "--verify-model", str(asr.model_folder()))
    ended = cli(*words, *model, "--takes", "2")
    assert ended.code == 0, ended.err
    assert "leaked" not in ended.err
    items = report_items(tmp_path / "m-out")
    assert items["good"]["retries"] == 0
    assert items["good"]["error_rate"] <= 0.25
    assert [take["faults"] for take in items["once"]["takes"]] == [["misheard"], []]
    assert [take["kept"] for take in items["once"]["takes"]] == [False, True]
    assert items["once"]["error_rate"] <= 0.25
    assert [take["faults"] for take in items["never"]["takes"]] == [["misheard"]] * 2
    assert items["never"]["state"] == "done"
    assert any("not understood" in warning for warning in items["never"]["warnings"])
    assert items["never"]["takes"][0]["error_rate"] > 0.25
    lines = (tmp_path / "m-out/report.csv").read_text(encoding="utf-8-sig").splitlines()
    assert "heard,error_rate" in lines[0]

    failing = cli(*words, *model, "--verify-policy", "fail", "--takes", "1", "--fresh", "--only", "never")
    assert failing.code == 3, failing.err
    assert "not_understood" in json.dumps(report_items(tmp_path / "m-out")["never"])
