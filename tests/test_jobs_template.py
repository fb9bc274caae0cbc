"""Mail merge: what is filled in arrives unchanged, and every mistake is told with its line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import RunCli
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.template import Slots

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=20)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(WORDS, st.text("abc 名", min_size=1).filter(str.strip)), max_size=5), WORDS, st.data())
def test_values_arrive_unchanged_whatever_stands_in_them(
    parts: list[tuple[str, str]], last: str, data: st.DataObject
) -> None:
    """Braces in the text are doubled; those in values are never placeholders."""
    values = {name.strip(): data.draw(WORDS, name) for _, name in parts}
    escaped = "".join(f"{text.replace('{', '{{').replace('}', '}}')}{{{name}}}" for text, name in parts)
    slots = Slots.parse(escaped + last.replace("{", "{{").replace("}", "}}"))
    assert slots.filled(values) == "".join(text + values[name.strip()] for text, name in parts) + last


@pytest.mark.parametrize("text", ["{", "}", "a {b", "a b} c", "{}", "{ }", "{a{b}}", "{{a}"])
def test_broken_braces_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="brace"):
        Slots.parse(text)


def write(folder: Path, template: str, rows: list[list[str]], name: str = "t.txt") -> None:
    (folder / name).write_text(template, encoding="utf-8")
    with (folder / "v.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_text_and_a_table_make_a_manifest_that_the_run_takes(tmp_path: Path, cli: RunCli) -> None:
    rows = [["id", "客户", "amount", "language"], ["a", "王先生", "￥300", "zh"], ["b", "李{x}女士", "￥20", "zh"]]
    write(tmp_path, "您好，{客户}，您的余额是{amount}。{{完}}", rows)
    ended = cli("template", "t.txt", "--values", "v.csv", "-o", "m.jsonl")
    assert ended.code == 0, ended.err
    assert lines(tmp_path / "m.jsonl") == [
        {"id": "a", "text": "您好，王先生，您的余额是￥300。{完}", "language": "zh"},
        {"id": "b", "text": "您好，李{x}女士，您的余额是￥20。{完}", "language": "zh"},
    ]
    assert cli("check", "m.jsonl", "--engine", "tone").code == 0


def test_a_manifest_of_patterns_makes_each_of_them_for_each_row(tmp_path: Path, cli: RunCli) -> None:
    patterns = [
        {"id": "{n}-hi", "text": "Hello {name}", "out": "{n}/hi", "seed": 3},
        {"id": "{n}-bye", "text": "Bye {name}"},
    ]
    write(
        tmp_path, "".join(json.dumps(p) + "\n" for p in patterns), [["n", "name"], ["1", "Ann"], ["2", "Bo"]], "t.jsonl"
    )
    assert cli("template", "t.jsonl", "--values", "v.csv", "-o", "m.jsonl").code == 0
    made = lines(tmp_path / "m.jsonl")
    assert [row["id"] for row in made] == ["1-hi", "1-bye", "2-hi", "2-bye"]
    assert made[0] == {"id": "1-hi", "text": "Hello Ann", "out": "1/hi", "seed": 3}


def test_every_mistake_has_its_line_and_no_manifest_is_left(tmp_path: Path, cli: RunCli) -> None:
    rows = [["id", "name", "town"], ["a", "Ann", "Ulm"], ["b", "", "Bonn"], ["a", "Cy", "Kiel"], ["d", "Di", "x", "y"]]
    write(tmp_path, "Dear {name}, welcome to {twon}.", rows)
    ended = cli("template", "t.txt", "--values", "v.csv", "-o", "m.jsonl")
    assert ended.code == 2
    assert "t.txt:1: text: {twon} is no column of v.csv; did you mean {town}?" in ended.err
    assert "v.csv:3: name: is empty" in ended.err
    assert "v.csv:5: holds 4 cells" in ended.err
    assert not (tmp_path / "m.jsonl").exists()
    write(tmp_path, "Dear {name}.", [row[:3] for row in (rows[0], rows[1], rows[3])])
    again = cli("template", "t.txt", "--values", "v.csv", "-o", "m.jsonl")
    assert again.code == 2 and "v.csv:3: id: the id 'a' is made by line 2 too" in again.err
    assert not (tmp_path / "m.jsonl").exists()


def test_inputs_are_not_overwritten_and_empty_ones_refused(tmp_path: Path, cli: RunCli) -> None:
    write(tmp_path, "Hi {n}", [["n"], ["1"]])
    assert cli("template", "t.txt", "--values", "v.csv", "-o", "v.csv").code == 2
    assert (tmp_path / "v.csv").read_bytes() == b"n\r\n1\r\n"
    write(tmp_path, "Hi {n}", [["n"]])
    assert cli("template", "t.txt", "--values", "v.csv", "-o", "m.jsonl").code == 2
