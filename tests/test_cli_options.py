"""Option values as people get them wrong: told in one line, exit code 2, before any work."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RunCli, report_items

from cli.config import gather_settings
from jobs.errors import UserError


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "m.csv").write_text("id,text\na,Hello.\nb,……\n", encoding="utf-8")
    return tmp_path / "m.csv"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"out": Path(__file__)}, "is a file; name a folder"),
        ({"profile": ""}, "--profile: is empty"),
        ({"only": ""}, "--only: is empty"),
        ({"language": "klingon"}, "--language: unknown language 'klingon'"),
        ({"segmenter_model": Path("nowhere")}, "--segmenter-model: there is no folder nowhere"),
        ({"limit": 0}, "--limit: 0 is not between 1 and 1,000,000,000"),
        ({"empty": "never"}, "--empty: 'never' is not one of error, skip, silence"),
        ({"seed": -1}, "--seed: -1 is not between 0 and"),
    ],
)
def test_wrong_values_are_told(flags: dict[str, object], told: str) -> None:
    with pytest.raises(UserError) as error:
        gather_settings(flags, None, None)
    assert told in str(error.value)


def test_languages_are_understood_by_name() -> None:
    assert gather_settings({"language": "zh-CN"}, None, None).language == "zh"
    assert gather_settings({"language": "English"}, None, None).language == "en"


def test_an_empty_path_does_not_mean_this_folder(cli: RunCli, manifest: Path) -> None:
    ended = cli("run", manifest.name, "--engine", "tone", "--workers", "1", "--out", "")
    assert ended.code == 2 and "path is empty" in ended.err
    assert [path.name for path in manifest.parent.iterdir()] == ["m.csv"]


def test_a_run_decides_for_rows_that_do_not_say(cli: RunCli, manifest: Path) -> None:
    asked = ("run", manifest.name, "--engine", "tone", "--workers", "1")
    assert cli(*asked).code == 2, "b has nothing to speak"
    assert cli(*asked, "--empty", "skip", "--seed", "7").code == 0
    items = report_items(manifest.parent / "m-out")
    assert items["b"]["state"] == "skipped"
    assert items["a"]["seed"] == 7


def test_a_pattern_that_matches_nothing_is_told(cli: RunCli, manifest: Path) -> None:
    asked = ("check", manifest.name, "--engine", "tone", "--empty", "skip", "--only")
    assert "--only 'menu-*' matches no id" in cli(*asked, "menu-*").err
    assert "matches no id" not in cli(*asked, "a*").err


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("x.mp3", "makes .wav files"),
        ("nowhere/x.wav", "the folder nowhere does not exist"),
        (".", "is a folder"),
    ],
)
def test_say_looks_at_its_target_before_it_speaks(target: str, told: str, cli: RunCli, tmp_path: Path) -> None:
    ended = cli("say", "hello", "--engine", "tone", "-o", target)
    assert ended.code == 2 and told in ended.err
    assert list(tmp_path.iterdir()) == []


def test_prune_keeps_everything_where_the_manifest_is_not_to_be_trusted(cli: RunCli, tmp_path: Path) -> None:
    rows = ("run", "m.csv", "--engine", "tone", "--workers", "1", "--prune")
    (tmp_path / "m.csv").write_text("id,text,speed\na,Hello.,1\nb,Good bye.,1\n", encoding="utf-8")
    assert cli(*rows).code == 0
    (tmp_path / "m.csv").write_text("id,text,speed\na,Hello.,1\nb,Good bye.,99\n", encoding="utf-8")
    ended = cli(*rows, "--keep-going")
    assert ended.code == 3 and "--prune removes nothing" in ended.err
    (tmp_path / "m.csv").write_text("id,text,speed\n", encoding="utf-8")
    ended = cli(*rows)
    assert ended.code == 0 and "no rows, so --prune removes nothing" in ended.err
    assert {path.name for path in (tmp_path / "m-out").glob("*.wav")} == {"a.wav", "b.wav"}
