"""How the fields of one row bear on each other, and the files that a row names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.errors import UserError
from jobs.manifest import NameRule, Row, RowRules
from jobs.row_check import Checked, RowChecker

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "
RULES = RowRules(
    profile="wav24k",
    suffix_of={"wav24k": ".wav", "ivr-ulaw": ".ulaw"},
    naming_of={"wav24k": "{id}", "ivr-ulaw": "{campaign}/{id}"},
    name_rule_of={"ivr-ulaw": NameRule("[a-z0-9-]+", "small letters")},
    voices=frozenset({"heart", "xiaoxiao"}),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ref.wav").write_bytes(WAV)
    return tmp_path


def check(folder: Path, **values: Any) -> Checked:
    return RowChecker(RULES, folder).check(Row(5, 3, {"text": "Hello.", **values}))


def messages(checked: Checked) -> list[str]:
    return [f"{column}: {message}" for column, message in checked.problems]


def test_a_row_that_says_little_gets_what_the_run_says(folder: Path) -> None:
    rules = RowRules("a", {"a": ".wav"}, {"a": "{id}"}, language="zh", seed=7, speed=0.9, empty="skip")
    item = RowChecker(rules, folder).check(Row(5, 3, {"text": " 你好 "})).item
    assert item is not None
    assert (item.line, item.id, item.text, item.out, item.profile) == (5, "3", " 你好 ", "3.wav", "a")
    assert (item.language, item.seed, item.speed, item.empty, item.mode) == ("zh", 7, 0.9, "skip", "speaker")


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        ({}, "speaker"),
        ({"voice": "heart"}, "speaker"),
        ({"ref_audio": "ref.wav", "ref_text": "So."}, "zero_shot"),
        ({"ref_audio": "ref.wav"}, "cross_lingual"),
        ({"ref_audio": "ref.wav", "instruction": "softly"}, "instruct"),
        ({"ref_audio": "ref.wav", "ref_text": "So.", "instruction": "softly"}, "instruct"),
        ({"voice": "heart", "instruction": "softly"}, "instruct"),
        ({"voice": "heart", "mode": "zero_shot"}, "zero_shot"),
        ({"ref_audio": "ref.wav", "ref_text": "So.", "mode": "cross_lingual"}, "cross_lingual"),
    ],
)
def test_the_mode_follows_from_what_the_row_brings(folder: Path, values: dict[str, str], mode: str) -> None:
    item = check(folder, **values).item
    assert item is not None and item.mode == mode


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"ref_text": "So."}, "ref_text: is given without ref_audio; name the recording"),
        ({"ref_text": "So.", "voice": "heart"}, "ref_text: is given without ref_audio; a voice brings its own"),
        ({"voice": "heart", "ref_audio": "ref.wav"}, "ref_audio: both voice and ref_audio"),
        ({"ref_audio": "ref.wav", "mode": "zero_shot"}, "mode: zero_shot needs ref_text"),
        ({"ref_audio": "ref.wav", "mode": "speaker"}, "mode: speaker is for stored voices"),
        ({"mode": "instruct"}, "mode: instruct needs an instruction"),
        ({"mode": "speaker", "instruction": "softly"}, "mode: speaker would ignore the instruction"),
        ({"voice": "hart"}, "voice: no voice 'hart'; did you mean 'heart'?"),
        ({"profile": "wav24"}, "profile: no profile 'wav24'; did you mean 'wav24k'?"),
        ({"text_file": "x.txt"}, "text: both text and text_file"),
        ({"text": ""}, "text: no text"),
        ({"text": None}, "text: no text"),
        ({"text": "x" * 1_000_001}, "text: has 1,000,001 characters"),
        ({"profile": "ivr-ulaw"}, "out: the naming '{campaign}/{id}' needs 'campaign'"),
        ({"profile": "ivr-ulaw", "campaign": "May"}, "out: 'May' is no name for this profile; use small letters"),
        ({"out": "/elsewhere/x"}, "out: is absolute"),
        ({"speeed": "1"}, "speeed: no field is called this; did you mean 'speed'?"),
    ],
)
def test_contradictions_are_told(folder: Path, values: dict[str, Any], message: str) -> None:
    checked = check(folder, **values)
    assert checked.item is None
    assert [told for told in messages(checked) if told.startswith(message)], messages(checked)


def test_all_mistakes_of_a_row_are_told_at_once(folder: Path) -> None:
    told = messages(check(folder, speed="3", seed="x", voice="hart", language="qq", out="../x", ref_text="So."))
    assert [line.split(":")[0] for line in told] == ["speed", "seed", "language", "voice", "ref_text", "out"]


def test_empty_text_is_an_item_where_the_row_allows_it(folder: Path) -> None:
    item = check(folder, text="", empty="silence").item
    assert item is not None and item.text == "" and item.empty == "silence"


def test_a_row_that_is_not_enabled_is_not_looked_at(folder: Path) -> None:
    checked = check(folder, enabled="no", voice="nobody", speed="99")
    assert not checked.enabled and checked.item is None and not checked.problems


def test_extra_columns_travel_and_may_name_the_file(folder: Path) -> None:
    values = {"id": "a", "Campaign": "may", "note": "", "weight": 3, "tags": ["x"], "profile": "ivr-ulaw"}
    item = check(folder, **values).item
    assert item is not None
    assert item.extra == {"Campaign": "may", "weight": "3", "tags": '["x"]'}
    assert item.out == "may/a.ulaw"


def test_a_text_of_200000_characters_is_taken(folder: Path) -> None:
    item = check(folder, text="长" * 200_000).item
    assert item is not None and len(item.text) == 200_000


def test_a_naming_template_that_cannot_be_used_names_its_profile(folder: Path) -> None:
    with pytest.raises(UserError, match="profile bad: naming"):
        RowChecker(RowRules("bad", {"bad": ".wav"}, {"bad": "{id.x}"}), folder)


def test_a_text_file_is_read_in_its_encoding(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/a.txt").write_bytes("您好，欢迎致电。\r\n再见。".encode("gb18030"))
    checked = check(folder / "sub", text=None, text_file="../sub/a.txt")
    assert checked.item is not None and checked.item.text == "您好，欢迎致电。\n再见。"
    assert checked.notes == [("text_file", "'../sub/a.txt' was read as GB18030")]
    (folder / "b.txt").write_text("absolute", encoding="utf-16")
    item = check(folder / "sub", text=None, text_file=str(folder / "b.txt")).item
    assert item is not None and item.text == "absolute"
    windows = check(folder, text=None, text_file="sub\\a.txt").item
    assert windows is not None


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.txt", None, "there is no file"),
        ("nul.txt", b"a\x00b", "holds a NUL"),
        ("big.txt", b"x" * 4_000_010, "more than 1,000,000"),
        ("doc.txt", b"PK\x03\x04", "Excel workbook or another zip"),
        ("odd.txt", b"caf\xe9 \xff\xfe\xfd\x81\x8d", "unclear; save the file as UTF-8"),
    ],
)
def test_a_text_file_that_cannot_be_used_says_why(folder: Path, name: str, data: bytes | None, message: str) -> None:
    if data is not None:
        (folder / name).write_bytes(data)
    assert message in messages(check(folder, text=None, text_file=name))[0]


@pytest.mark.parametrize(
    "start",
    [WAV, b"RF64\xff\xff\xff\xffWAVE", b"fLaC\x00", b"OggS\x00", b"ID3\x04", b"\xff\xfb\x90\x64", b"\xff\xf1\x50\x80",
     b"\x00\x00\x00\x20ftypM4A ", b"FORM\x00\x00\x00\x00AIFF", b"\x1aE\xdf\xa3", b"#!AMR\n", b".snd\x00", b"caff\x00"],
)  # fmt: skip
def test_audio_is_known_by_its_first_bytes(folder: Path, start: bytes) -> None:
    (folder / "x.bin").write_bytes(start)
    item = check(folder, ref_audio="x.bin").item
    assert item is not None and item.ref_audio == str(folder / "x.bin")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "a web page, perhaps a failed download"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b'{"error": 404}', "JSON"),
        (b"PK\x03\x04....", "a zip file"),
        (b"RIFF\x00\x00\x00\x00AVI ", "a RIFF file without sound"),
        (b"hello there\n", "text, not a recording"),
        (b"\x00\x01\x02\x03\x04\x05", "raw audio without a header"),
    ],
)
def test_what_is_no_recording_is_called_by_its_name(folder: Path, data: bytes, message: str) -> None:
    (folder / "x.wav").write_bytes(data)
    assert message in messages(check(folder, ref_audio="x.wav"))[0]


def test_a_missing_recording_and_a_folder_are_told(folder: Path) -> None:
    (folder / "sub").mkdir()
    assert "there is no file 'gone.wav'" in messages(check(folder, ref_audio="gone.wav"))[0]
    assert "is a folder" in messages(check(folder, ref_audio="sub"))[0]
    assert "File name too long" in messages(check(folder, ref_audio="x" * 300))[0]
