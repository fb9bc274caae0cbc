"""Single values and column names: what is understood, what is refused, and that the manual shows the same table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.columns import field_of, near_field, resolve
from jobs.fields import ALIASES, FIELDS, MAX_SEED, TABLE, suggestion, table_markdown
from jobs.records import Item

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("field", "written", "value"),
    [
        ("id", " a 1 ", "a 1"),
        ("id", 7, "7"),
        ("id", 7.0, "7"),
        ("id", "e\u0301", "é"),
        ("id", "你好", "你好"),
        ("text", "  as it is ", "  as it is "),
        ("text", 42, "42"),
        ("speed", "0.5", 0.5),
        ("speed", 2, 2.0),
        ("speed", "１.５", 1.5),
        ("seed", str(MAX_SEED), MAX_SEED),
        ("seed", MAX_SEED, MAX_SEED),
        ("seed", "42.0", 42),
        ("pause_ms", 800.0, 800),
        ("chapter", "０３", 3),
        ("enabled", "No", False),
        ("enabled", True, True),
        ("enabled", 0, False),
        ("enabled", "1", True),
        ("enabled", "是", True),
        ("mode", "Zero-Shot", "zero_shot"),
        ("mode", "sft", "speaker"),
        ("say_as", "PHONE", "phone"),
        ("empty", "skip", "skip"),
        ("language", "zh-CN", "zh"),
        ("language", "zh_Hans_CN", "zh"),
        ("language", "cmn", "zh"),
        ("language", "Chinese", "zh"),
        ("language", "普通话", "zh"),
        ("language", "EN-us", "en"),
        ("language", "Cantonese", "yue"),
        ("language", "zh-yue", "yue"),
        ("language", "ja", "ja"),
    ],
)
def test_a_value_is_understood(field: str, written: object, value: object) -> None:
    found = FIELDS[field].parse(written)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("field", "written", "message"),
    [
        ("id", "a\x07b", "U+0007"),
        ("id", "a\nb", "U+000A"),
        ("id", "x" * 201, "201 characters"),
        ("id", ["a"], "found a list"),
        ("id", {"a": 1}, "found an object"),
        ("id", True, "found true"),
        ("text", 1.5, "put it in quotes"),
        ("text", "a\x00b", "NUL character at position 2"),
        ("speed", "2.1", "outside 0.5 to 2"),
        ("speed", float("nan"), "outside"),
        ("speed", "nan", "outside"),
        ("speed", "inf", "outside"),
        ("speed", 10**400, "outside"),
        ("speed", "1,5", "decimal point"),
        ("speed", "fast", "is not a number"),
        ("speed", True, "found true"),
        ("seed", -1, "outside"),
        ("seed", MAX_SEED + 1, "outside"),
        ("seed", "9" * 5000, "not a whole number"),
        ("seed", 1.5, "not a whole number"),
        ("pause_ms", "60001", "outside 0 to 60000"),
        ("pause_ms", "0.8s", "milliseconds"),
        ("chapter", "three", "not a whole number"),
        ("chapter", 100000, "outside"),
        ("enabled", "maybe", "neither yes nor no"),
        ("enabled", 2, "neither yes nor no"),
        ("mode", "zeroshot", "did you mean 'zero_shot'"),
        ("say_as", "telephone", "did you mean 'phone'"),
        ("empty", "ignore", "known: error, silence, skip"),
        ("language", "Chinees", "did you mean zh (chinese)"),
        ("language", "xx", "ISO 639-1"),
        ("title", "a\nb", "U+000A"),
        ("title", "x" * 1001, "at most 1000"),
        ("out", "a\x1bb", "U+001B"),
    ],
)
def test_a_value_is_refused_with_what_was_found_and_what_to_do(field: str, written: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        FIELDS[field].parse(written)


def test_a_message_never_carries_control_characters_or_a_whole_text() -> None:
    with pytest.raises(ValueError, match="unknown value") as caught:
        FIELDS["mode"].parse("\x1b[31m" + "x" * 500)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("ID", "id"), (" Ref Audio ", "ref_audio"), ("ref-audio", "ref_audio"), ("key", "id"), ("utt", "id"),
        ("tts_text", "text"), ("prompt_text", "ref_text"), ("prompt_wav", "ref_audio"), ("wav", "ref_audio"),
        ("Instruct Text", "instruction"), ("spk_id", "voice"), ("lang", "language"),
    ],
)  # fmt: skip
def test_a_column_is_known_by_its_names(column: str, field: str) -> None:
    assert field_of(column) == field


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("speeed", "speed"), ("ref_audoi", "ref_audio"), ("Voices", "voice"), ("txet", "text"), ("otu", "out"),
        ("instrcution", "instruction"), ("langauge", "language"), ("pause", "pause_ms"), ("titel", "title"),
        ("text_normalise", "text_normalize"), ("chapters", "chapter"),
    ],
)  # fmt: skip
def test_a_near_miss_is_seen(column: str, meant: str) -> None:
    assert field_of(column) is None and near_field(column) == meant


@pytest.mark.parametrize(
    "column",
    ["note", "author", "album", "campaign", "customer", "department", "path", "date", "page", "comment", "status",
     "x_speeed", "duration", "position", "备注", "no", "type", "number", "priority"],
)  # fmt: skip
def test_a_column_of_ones_own_is_left_alone(column: str) -> None:
    assert field_of(column) is None and near_field(column) is None


def test_the_same_field_twice_is_a_mistake_whichever_names_are_used() -> None:
    assert [column for column, _ in resolve(("text", "tts_text")).problems] == ["tts_text"]
    assert [column for column, _ in resolve(("Text", "TEXT")).problems] == ["TEXT"]
    assert [column for column, _ in resolve(("text", "note", "Note")).problems] == ["Note"]
    assert resolve(("text", "", "")).problems == ()


def test_every_field_is_an_item_field_or_decides_one_and_no_alias_is_used_twice() -> None:
    item_fields = set(Item.__dataclass_fields__)
    assert {field.name for field in TABLE} - item_fields == {"text_file", "enabled"}
    names = [name for field in TABLE for name in (field.name, *field.aliases)]
    assert len(names) == len(set(names)) == len(FIELDS) + len(ALIASES)


def test_each_example_in_the_table_is_valid() -> None:
    for field in TABLE:
        field.parse(field.example)


def test_the_manual_shows_this_table() -> None:
    manual = (ROOT / "docs/manifest.md").read_text(encoding="utf-8")
    assert table_markdown() in manual, "paste the output of jobs.fields.table_markdown() into docs/manifest.md"


def test_a_suggestion_names_what_there_is() -> None:
    assert suggestion("hart", ["heart", "michael"]) == "did you mean 'heart'?"
    assert suggestion("HEART", ["heart"]) == "did you mean 'heart'?"
    assert suggestion("zzz", ["b", "a"]) == "known: a, b"
    assert suggestion("zzz", [f"v{n:02d}" for n in range(20)]).endswith("v11 and 8 more")
