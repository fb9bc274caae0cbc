"""Equal messages are told once, with how many there were."""

from __future__ import annotations

import pytest

from cli.output import FAILURES_OF_A_REASON, Quiet
from jobs.errors import Problem
from jobs.problem_groups import KEPT, Gathered, shared
from jobs.progress import ItemEnd
from jobs.summary import counted


def problem(line: int, message: str = "no stock voice speaks 'ja'", field: str = "language") -> Problem:
    return Problem("m.csv", line, field, message)


def test_equal_mistakes_are_one_entry_where_the_first_of_them_came() -> None:
    gathered = Gathered([problem(2), problem(3, "no voice 'x'", "voice"), *(problem(line) for line in range(4, 550))])
    assert gathered.total == 548
    assert gathered.told(0) == [
        "m.csv: language: no stock voice speaks 'ja' (547 rows: lines 2, 4, 5, 6, 7, …)",
        "m.csv:3: voice: no voice 'x'",
    ]


def test_two_rows_are_both_named() -> None:
    assert Gathered([problem(2), problem(9)]).told(0) == [
        "m.csv: language: no stock voice speaks 'ja' (2 rows: lines 2, 9)"
    ]


def test_the_same_words_about_another_field_are_another_mistake() -> None:
    assert len(Gathered([problem(2), problem(2, field="voice")]).told(0)) == 2


def test_what_is_not_shown_is_counted() -> None:
    gathered = Gathered([*(problem(line, f"message {line}") for line in range(2, 7)), problem(8), problem(9)])
    assert gathered.told(2) == ["m.csv:2: language: message 2", "m.csv:3: language: message 3", "… and 5 more"]
    assert gathered.told(0, total=20)[-1] == "… and 13 more", "the file held more than were kept"


def test_memory_ends_and_counting_does_not() -> None:
    gathered = Gathered(problem(line, f"message {line}") for line in range(2, 3 * KEPT + 2))
    assert len(gathered.problems) == KEPT and gathered.total == 3 * KEPT
    assert gathered.told(0)[-1] == f"… and {2 * KEPT} more"


def test_what_voices_share_is_told_once() -> None:
    told = shared([("amy", "nobody noted consent"), ("bob", "hisses"), ("cid", "nobody noted consent")], "voices")
    assert told == ["nobody noted consent (2 voices: amy, cid)", "bob: hisses"]


def test_warnings_of_a_report_are_counted() -> None:
    assert counted(["listener died", "no GPU", "listener died"]) == ["listener died (2 times)", "no GPU"]


def test_a_night_of_equal_failures_is_a_short_mail(capsys: pytest.CaptureFixture[str]) -> None:
    display = Quiet()
    for number in range(FAILURES_OF_A_REASON + 30):
        display.warn("worker 1 was lost")
        display.item(ItemEnd(f"i{number}", f"i{number}.wav", "failed", "the model is gone", 0.0, 0.0, "cpu", 0))
    display.item(ItemEnd("odd", "odd.wav", "failed", "another reason", 0.0, 0.0, "cpu", 0))
    display.finished()
    lines = capsys.readouterr().err.splitlines()
    assert sum("worker 1 was lost" in line for line in lines) == 2
    assert sum(": the model is gone" in line for line in lines) == FAILURES_OF_A_REASON + 1
    assert any(line.endswith("failed: … and 30 more items: the model is gone") for line in lines)
    assert any(line.endswith("failed: odd: another reason") for line in lines)
