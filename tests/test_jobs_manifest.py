"""Manifests as people save them: formats, encodings, quotes, headers; every mistake told at its line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import csv_rows
from jobs.errors import InvalidInput, Problem, UserError
from jobs.manifest import Row, RowRules, Tally, open_source, read, rows
from jobs.records import Item

ROOT = Path(__file__).resolve().parent.parent
RULES = RowRules("wav24k", {"wav24k": ".wav"}, {"wav24k": "{id}"}, voices=frozenset({"heart", "xiaoxiao"}))


class Reading:
    """What reading one manifest gave."""

    def __init__(self, path: Path, rules: RowRules = RULES, **options: Any) -> None:
        self.tally = Tally()
        with open_source(str(path), **options) as self.source:
            found = list(read(self.source, rules, self.tally))
        self.items = [one for one in found if isinstance(one, Item)]
        self.problems = [one for one in found if isinstance(one, Problem)]

    @property
    def told(self) -> list[str]:
        return [f"{one.line}: {one.field}: {one.message}" for one in self.problems]

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [(item.id, item.text) for item in self.items]


Read = Callable[..., Reading]


@pytest.fixture
def reading(tmp_path: Path) -> Read:
    def make(data: str | bytes, name: str = "m.csv", **options: Any) -> Reading:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return Reading(path, **options)

    return make


GOOD = [("a", "Hello."), ("b", "你好，请按1。"), ("c", 'say "yes", please')]


def table(delimiter: str = ",", end: str = "\n") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(("id", "text"))
    writer.writerows(GOOD)
    return text.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030"])
def test_a_table_is_read_however_it_was_saved(reading: Read, delimiter: str, end: str, codec: str) -> None:
    found = reading(table(delimiter, end).encode(codec))
    assert found.texts == GOOD and not found.problems
    assert [item.line for item in found.items] == [2, 3, 4]
    assert bool(found.source.notes) == (codec in ("utf-16-le", "utf-16-be", "gb18030"))
    assert found.source.kind == "csv"


@pytest.mark.parametrize("name", ["m.jsonl", "m.ndjson", "m.json", "m.txt", "m"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_json_lines_are_read_however_they_were_saved(reading: Read, name: str, codec: str) -> None:
    lines = "\r\n\n".join(json.dumps({"id": key, "text": text}, ensure_ascii=False) for key, text in GOOD)
    found = reading(lines.encode(codec), name)
    assert found.texts == GOOD and not found.problems
    assert [item.line for item in found.items] == [1, 3, 5]


@pytest.mark.parametrize("name", ["m.csv.gz", "m.csv", "m"])
def test_gzip_is_known_by_its_bytes_not_its_name(reading: Read, name: str) -> None:
    assert reading(gzip.compress(table().encode()), name).texts == GOOD
    assert reading(table(), name).texts == GOOD


def test_a_damaged_gzip_and_a_bomb_are_refused(reading: Read) -> None:
    with pytest.raises(InvalidInput, match="damaged or cut off"):
        reading(gzip.compress(table().encode() * 100)[:-20])
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=1) as packed:
        for _ in range(40):
            packed.write(bytes(1 << 20))
    with pytest.raises(InvalidInput, match="hardly a manifest"):
        reading(bomb.getvalue())


def test_stdin_is_read_twice_relative_to_a_folder(tmp_path: Path) -> None:
    script = (
        "from jobs.manifest import *; import pathlib\n"
        "with open_source('-', base=pathlib.Path('sub')) as source:\n"
        "    counts = [len(list(rows(source))) for _ in range(2)]\n"
        "    print(source.path, source.folder.name, counts, source.file.exists())\n"
        "print(source.file.exists())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=table().encode(), cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout.decode().split("\n")[:2] == ["<stdin> sub [3, 3] True", "False"]


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(table()))
    writer.start()
    assert Reading(pipe).texts == GOOD
    writer.join()


def test_what_is_no_readable_file_says_so(tmp_path: Path) -> None:
    for name, message in (("gone.csv", "no such file"), (".", "is a folder"), ("x" * 300, "cannot be read")):
        with pytest.raises(UserError, match=message):
            Reading(tmp_path / name)
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(InvalidInput, match="Excel workbook"):
        Reading(tmp_path / "book.xlsx")
    (tmp_path / "m.csv").write_text(table())
    with pytest.raises(UserError, match="unknown kind"):
        Reading(tmp_path / "m.csv", kind="xml")


def test_an_unclear_encoding_names_the_option(reading: Read) -> None:
    data = "id,text\na,朝花\n".encode("gb18030")
    with pytest.raises(InvalidInput, match=r"m\.csv:2: .*--encoding gb18030"):
        reading(data)
    assert reading(data, encoding="gbk").texts == [("a", "朝花")]


@pytest.mark.parametrize("data", ["", "\n\n  \n", "\ufeff"])
@pytest.mark.parametrize("name", ["m.csv", "m.jsonl"])
def test_an_empty_file_is_a_mistake(reading: Read, data: str, name: str) -> None:
    assert "is empty" in reading(data, name).told[0]


def test_a_header_without_rows_is_none(reading: Read) -> None:
    assert reading("id,text\n").told == []


def test_quoted_newlines_keep_their_text_and_the_row_its_first_line(reading: Read) -> None:
    found = reading('id,text\na,"one\ntwo\r\nthree"\n\nb,"x"\n')
    assert found.texts == [("a", "one\ntwo\r\nthree"), ("b", "x")]
    assert [item.line for item in found.items] == [2, 6]


def test_an_unclosed_quote_does_not_swallow_the_rows_after_it(reading: Read) -> None:
    found = reading('id,text\na,"open\nb,fine\nc,"also fine"\nd,good\n')
    assert [problem.line for problem in found.problems] == [2]
    assert "followed by more text" in found.problems[0].message
    assert [item.id for item in found.items] == ["b", "c", "d"]
    found = reading('id,text\na,fine\nb,"open\nc,fine\n')
    assert [problem.line for problem in found.problems] == [3] and "never closed" in found.problems[0].message
    assert [item.id for item in found.items] == ["a", "c"]
    assert (found.tally.rows, found.tally.bad_rows, found.tally.items) == (3, 1, 2)


def test_an_unclosed_quote_is_told_where_it_opens(reading: Read) -> None:
    found = reading('id,text,title\na,"one\ntwo","three\nb,x,y\n')
    assert found.problems[0].line == 3 and "never closed" in found.problems[0].message


def test_text_after_a_closing_quote_is_told(reading: Read) -> None:
    assert 'double every "' in reading('id,text\na,"Hello," she said\n').told[0]
    assert reading('id,text\na,a 5" pipe\n').texts == [("a", 'a 5" pipe')]


def test_more_cells_than_columns_is_a_mistake_and_fewer_are_not(reading: Read) -> None:
    found = reading("id,text,title\na,Hello, world,t\nb,Hello\n")
    assert found.problems[0].line == 2 and "4 cells" in found.problems[0].message
    assert found.texts == [("b", "Hello")]


def test_empty_rows_and_columns_of_a_spreadsheet_are_nothing(reading: Read) -> None:
    found = reading("id,text,,\na,Hello,,\n,,,\n\n")
    assert found.texts == [("a", "Hello")] and not found.problems
    assert "column without a name" in reading("id,text,\na,Hello,lost\n").told[0]


def test_the_separator_line_of_excel_is_understood(reading: Read) -> None:
    found = reading("sep=;\r\nid;text\r\na;Hello, world\r\n")
    assert found.texts == [("a", "Hello, world")] and found.items[0].line == 3


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("1,Hello there,heart\n2,Bye,heart\n", 1, "does not look like a header"),
        ("\n\nLJ001|Printing, in the only sense|x\n", 3, "does not look like a header"),
        ("id，text，voice\n1，Hello，heart\n", 1, "full-width commas"),
        ("id,voice\n1,heart\n", 1, "no column is called text or text_file"),
        ('"id,text\na,b\n', 1, "the header cannot be read"),
    ],
)
def test_a_header_that_cannot_be_used_is_one_mistake(reading: Read, data: str, line: int, message: str) -> None:
    found = reading(data)
    assert len(found.problems) == 1 and not found.items
    assert found.problems[0].line == line and message in found.problems[0].message


def test_mistakes_in_the_header_are_told_once_and_hide_no_others(reading: Read) -> None:
    found = reading("id,txet,Voices,text_file,note,note\na,Hello,hart,,,\nb,Hello,heart,,,\n")
    assert [(problem.line, problem.field) for problem in found.problems] == [
        (1, "txet"),
        (1, "Voices"),
        (1, "note"),
        (2, "voice"),
    ]
    assert not found.items and found.tally.bad_rows == found.tally.rows == 2


def test_a_near_miss_in_json_is_told_for_its_row(reading: Read) -> None:
    found = reading('{"text": "a"}\n{"text": "b", "speeed": 1}\n', "m.jsonl")
    assert found.told == [
        "2: speeed: no field is called this; did you mean 'speed'? (name it x_speeed if it is a column of your own)"
    ]
    assert found.texts == [("1", "a")]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ('[{"id": 1, "text": "a"}]', 1, "one object a line"),
        ('[\n  {"id": 1},\n  {"id": 2}\n]', 1, "start of a JSON list"),
        ('{\n  "id": 1,\n  "text": "a"\n}', 1, "spread over several lines"),
        ('{"id": 1,\n "text": "a"}', 1, "spread over several lines"),
        ("id,text\na,b\n", 1, "does not look like JSON lines"),
    ],
)
def test_other_json_is_one_mistake_with_the_way_out(reading: Read, data: str, line: int, message: str) -> None:
    found = reading(data, "m.jsonl")
    if data.startswith("id,"):
        assert found.problems[0].message.startswith("does not look like JSON lines")
    assert len(found.problems) == 1 and found.problems[0].line == line and message in found.problems[0].message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", "text": "b"}', "the key 'text' stands twice"),
        ('{"text": "a", "Text": "b"}', "both give the field 'text'"),
        ('{"text": ["a"]}', "found a list"),
        ('{"text": "a", "speed": NaN}', "outside 0.5 to 2"),
        ('{"text": "a", "seed": {"x": 1}}', "found an object"),
        ('{"text": "\\ud83d"}', "half of a surrogate pair"),
        ('{"text": "a", "note": "\\udc00"}', "half of a surrogate pair"),
        ('{"text": "a\\u0000b"}', "NUL character at position 2"),
        ('{"text": "a"', "is not valid JSON"),
        ('{"text": "a",}', "is not valid JSON"),
        ("{'text': 'a'}", "is not valid JSON"),
        ('"text"', 'the value "text", not an object'),
        ("null", "the value null, not an object"),
        ('{"text": ' + "[" * 5000, "nested too deeply"),
        ('{"text": "a", "seed": ' + "9" * 5000 + "}", "cannot be read"),
    ],
)
def test_a_bad_json_line_is_told_and_the_next_is_read(reading: Read, line: str, message: str) -> None:
    found = reading('{"text": "first"}\n' + line + '\n{"text": "last"}\n', "m.jsonl")
    assert len(found.problems) == 1, found.told
    assert found.problems[0].line == 2 and message in found.told[0]
    assert [item.id for item in found.items] == ["1", "3"]


@pytest.mark.parametrize("end", ['{"text": "b"', '{"text": "b', '{"text":', "{"])
def test_a_torn_last_line_is_called_so(reading: Read, end: str) -> None:
    found = reading('{"text": "a"}\n' + end, "m.jsonl")
    assert "the last line is cut off" in found.told[0] and found.problems[0].line == 2


def test_escaped_pairs_are_whole_characters(reading: Read) -> None:
    assert reading('{"text": "\\ud83d\\ude00"}', "m.jsonl").texts == [("1", "😀")]


def test_ids_and_names_are_unique_over_the_whole_file(reading: Read) -> None:
    found = reading("id,text,out\na,x,\nb,x,\na,x,\nA,x,\nc,x,B.wav\nd,x,other\na,x,OTHER.wav\n")
    assert found.told == [
        "4: id: 'a' is the id of line 2 already; give one of them another id",
        "5: out: 'A.wav' is the output of line 2 already (case does not count); give one of them another name",
        "6: out: 'B.wav' is the output of line 3 already (case does not count); give one of them another name",
        "8: id: 'a' is the id of line 2 already; give one of them another id",
        "8: out: 'OTHER.wav' is the output of line 7 already (case does not count); give one of them another name",
    ]


def test_names_that_become_one_when_made_safe_are_refused(reading: Read) -> None:
    found = reading(
        "id,text\nNight: A Tale,x\nNight? A Tale,x\nNight* A Tale,x\ncaf\u00e9,x\nCafe\u0301,x\n3/14/59,x\nCON,x\n"
    )
    assert [(problem.line, problem.field) for problem in found.problems] == [(4, "out"), (6, "out")]
    assert [item.out for item in found.items] == [
        "Night - A Tale.wav", "Night_ A Tale.wav", "café.wav", "3-14-59.wav", "_CON.wav",
    ]  # fmt: skip
    assert [note.line for note in found.tally.notes] == [2, 3, 7, 8]
    assert found.tally.notes_total == 4 and "'_CON.wav'" in str(found.tally.notes[-1])


def test_the_same_id_in_two_unicode_forms_is_the_same(reading: Read) -> None:
    assert "is the id of line 2" in reading("id,text\ncaf\u00e9,x\ncafe\u0301,x\n").told[0]


def test_rows_without_ids_are_called_by_their_number(reading: Read) -> None:
    found = reading('text,enabled\nx,\ny,no\n\n"broken" row,\nz,\n')
    assert [(item.id, item.line) for item in found.items] == [("1", 2), ("4", 6)]
    assert (found.tally.disabled, found.tally.rows, found.tally.bad_rows) == (1, 4, 1)
    assert "is the id of line 2" in reading("id,text\n2,x\n,y\n").told[0]


def test_a_bad_row_still_takes_part_in_the_search_for_duplicates(reading: Read) -> None:
    found = reading("id,text,speed\na,x,9\na,y,1\n")
    assert [(problem.line, problem.field) for problem in found.problems] == [(2, "speed"), (3, "id")]


def test_a_text_of_a_million_characters_is_read_and_one_more_is_refused(reading: Read) -> None:
    long = "长" * 1_000_000
    assert reading(f'id,text\na,"{long}"\n').texts == [("a", long)]
    assert reading(json.dumps({"id": "a", "text": long}), "m.jsonl").texts == [("a", long)]
    assert "1,000,001 characters" in reading(f"id,text\na,{long}长\n").told[0]


def test_a_line_beyond_the_limit_ends_the_reading(reading: Read) -> None:
    assert "more than 8,000,000" in reading("id,text\na," + "x" * 8_000_001 + "\n").told[0]
    assert "more than 8,000,000" in reading('{"text": "' + "x" * 8_000_001 + '"}', "m.jsonl").told[0]


def test_aliases_of_other_tools_are_accepted(reading: Read, tmp_path: Path) -> None:
    (tmp_path / "p.wav").write_bytes(b"RIFF\x00\x00\x00\x00WAVE")
    line = {"utt": "u1", "tts_text": "你好", "prompt_wav": "p.wav", "prompt_text": "希望", "instruct_text": "开心地"}
    item = reading(json.dumps(line), "m.jsonl").items[0]
    assert (item.id, item.text, item.ref_text, item.instruction, item.mode) == (
        "u1",
        "你好",
        "希望",
        "开心地",
        "instruct",
    )
    assert item.ref_audio == str(tmp_path / "p.wav")


def test_rows_gives_cells_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("id,Note\na, x \n")
    with open_source(str(path)) as source:
        assert list(rows(source)) == [
            Problem(str(path), 1, "", "no column is called text or text_file; one of them must say what to speak")
        ]
    path.write_text("text,Note\na, x \n")
    with open_source(str(path)) as source:
        assert list(rows(source)) == [Row(2, 1, {"text": "a", "Note": " x "})]


_CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(',;\t|"\r\n a', max_size=8)


@settings(deadline=None, max_examples=250)
@given(
    st.lists(st.lists(_CELL, min_size=2, max_size=2), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_what_the_csv_module_writes_is_read_back(
    cells: Sequence[list[str]], delimiter: str, end: str, quoting: Any
) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # the writer then leaves the other line end unquoted, which no reader can undo
        cells = [[cell.replace("\r", "").replace("\n", end[-1]) for cell in row] for row in cells]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(("id", "text"))
    writer.writerows(cells)
    parsed = list(csv_rows.parse(io.StringIO(text.getvalue(), newline=""), None, ","))
    found = [list(row.cells) for row in parsed if isinstance(row, csv_rows.Cells)]
    assert len(found) == len(parsed)
    assert found == [["id", "text"], *(row for row in cells if any(row))]


@settings(deadline=None, max_examples=200)
@given(st.text(',"\n\r ab', max_size=60))
def test_no_table_is_read_without_an_end_or_loses_a_line_unseen(text: str) -> None:
    parsed = list(csv_rows.parse(io.StringIO("id,text\n" + text, newline=""), None, ","))
    last = text.count("\n") + text.count("\r") + 2
    assert all(1 <= row.line <= last for row in parsed)
    letters = sum(cell.count("a") for row in parsed if isinstance(row, csv_rows.Cells) for cell in row.cells)
    assert letters == text.count("a") or any(isinstance(row, csv_rows.Fault) for row in parsed)


def peak_kib(path: Path, count: int) -> int:
    """Peak memory of a process that reads `count` rows, each an item."""
    with path.open("w") as target:
        target.write("id,text,voice,language\n")
        target.writelines(f"prompt-{n},You are caller number {n}.,heart,en\n" for n in range(count))
    script = (
        "import resource, sys; from jobs.manifest import *; from jobs.records import Item\n"
        "rules = RowRules('w', {'w': '.wav'}, {'w': '{id}'})\n"
        "with open_source(sys.argv[1]) as source: count = sum(isinstance(one, Item) for one in read(source, rules))\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], cwd=ROOT, capture_output=True, check=True, text=True)
    found, peak = map(int, done.stdout.split())
    assert found == count
    return peak


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    small, large = (peak_kib(tmp_path / "m.csv", count) for count in (20_000, 100_000))
    # What may still grow is the cache of names, up to its 16 MiB.
    assert large - small < 18_000
