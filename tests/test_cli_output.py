"""What scripts, pipes and odd terminals get from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RunCli, environment

from cli.run import closing_line

MANIFEST = "id,text\n早上好,您好，请按1。\nb,Press 2.\n"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "m.csv").write_text(MANIFEST, encoding="utf-8")
    return tmp_path / "m.csv"


def test_what_is_spoken_is_part_of_the_json(cli: RunCli, manifest: Path) -> None:
    ended = cli("check", manifest.name, "--engine", "tone", "--spoken", "--json")
    assert ended.code == 0, ended.err
    assert [(row["id"], row["spoken"]) for row in ended.json()["spoken"]] == [
        ("早上好", "您好，请按一。"),
        ("b", "Press two."),
    ]
    assert "spoken" not in cli("check", manifest.name, "--engine", "tone", "--json").json()


@pytest.mark.parametrize("words", [("voices", "list"), ("profiles", "show", "acx", "--json")])
def test_a_reader_that_goes_away_is_no_fault(words: tuple[str, ...], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cli", *words],
            cwd=tmp_path, env=environment(), stdout=write, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_mistakes_keep_their_code_when_nobody_reads_the_results(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,text,speed\na,hi,99\n", encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "check", "bad.csv", "--engine", "tone", "--json"],
            cwd=tmp_path, env=environment(), stdout=write, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == 2 and "bad.csv:2: speed" in done.stderr


def test_a_terminal_of_ascii_shows_codes(cli: RunCli, manifest: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    shown = cli("check", manifest.name, "--engine", "tone", env=ascii_only)
    assert shown.code == 0 and "\\u65e9\\u4e0a\\u597d -> " in shown.out
    told = cli("check", manifest.name, "--engine", "tone", "--json", env=ascii_only)
    assert told.json()["to_make"][0]["id"] == "早上好"


def test_a_locale_without_unicode_can_still_name_the_files(cli: RunCli, manifest: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ended = cli("run", manifest.name, "--engine", "tone", "--workers", "1", env=plain)
    assert ended.code == 0, ended.err
    assert (manifest.parent / "m-out/早上好.wav").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
def test_a_folder_whose_name_is_no_text_is_refused_and_another_helps(cli: RunCli, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff")
    Path(folder).mkdir()
    Path(folder, "m.csv").write_text("id,text\na,hello\n", encoding="utf-8")
    asked = ("run", f"{folder}/m.csv", "--engine", "tone", "--workers", "1", "--json")
    ended = cli(*asked)
    assert ended.code == 2 and "no UTF-8" in ended.err
    ended = cli(*asked, "--out", "out")
    assert ended.code == 0, ended.err
    assert ended.json()["counts"]["done"] == 1


def test_a_closed_standard_input_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m cli check - --engine tone <&-"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "standard input is closed" in done.stderr


def test_a_hostile_report_cannot_steer_the_terminal(cli: RunCli, manifest: Path) -> None:
    assert cli("run", manifest.name, "--engine", "tone", "--workers", "1").code == 0
    report = manifest.parent / "m-out/report.json"
    report.write_text(report.read_text(encoding="utf-8").replace('"m.csv"', '"m\\u001b]0;owned\\u0007.csv"'), "utf-8")
    shown = cli("report", "m-out")
    assert shown.code == 0 and "\x1b" not in shown.out and "\\x1b]0;owned" in shown.out


def test_long_lists_end_at_show(cli: RunCli, tmp_path: Path) -> None:
    rows = "".join(f"i{number},Number {number}.\n" for number in range(4))
    (tmp_path / "m.csv").write_text(f"id,text\n{rows}", encoding="utf-8")
    plan = cli("check", "m.csv", "--engine", "tone", "--show", "3")
    assert "i2 ->" in plan.out and "i3 ->" not in plan.out and "… and 1 more" in plan.out
    assert cli("run", "m.csv", "--engine", "tone", "--workers", "1").code == 0
    shown = cli("report", "m-out", "--show", "3")
    assert shown.out.count(".wav") == 3 and "… and 1 more; --show 0 shows all" in shown.err


@pytest.mark.parametrize(
    ("counts", "audio_s", "told"),
    [
        ({"done": 2}, 3.0, "3.0 s of audio in 1.5 s, real-time factor 0.50"),
        ({"unchanged": 40}, 0.0, "nothing had to be spoken, 80.0 s of audio are there; 1.5 s"),
        ({"done": 1, "unchanged": 39}, 0.0, "nothing had to be spoken, 80.0 s of audio are there; 1.5 s"),
        ({"failed": 2}, 0.0, "0.0 s of audio in 1.5 s"),
    ],
)
def test_the_last_line_tells_what_is_there(counts: dict[str, int], audio_s: float, told: str) -> None:
    rtf = 1.5 / audio_s if audio_s else None
    summary = {"counts": counts, "audio_s": audio_s, "wall_s": 1.5, "rtf": rtf, "ready_s": 80.0, "warnings": []}
    assert closing_line(summary, Path("out")).split("; ", 1)[1] == f"{told}; {Path('out/report.html')}"


def test_say_has_its_own_advice_for_a_text_without_words(cli: RunCli) -> None:
    ended = cli("say", "…", "--engine", "tone")
    assert ended.code == 2 and "nothing to speak" in ended.err and "empty" not in ended.err
