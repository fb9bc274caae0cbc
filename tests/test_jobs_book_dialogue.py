"""Dialogue: what is speech, who says it, and what a cast file may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.book_cast import Lines, make_cast, read_cast
from jobs.book_records import Block, Chapter, Findings
from jobs.book_rows import Rows, rows_of
from jobs.dialogue import Names, opening_marks, spans
from jobs.errors import InvalidInput, UserError

NAMES = Names(
    {"张三": "张三", "老张": "张三", "李四": "李四", "John": "John", "Mr. Smith": "John", "Mary": "Mary", "Ann": "Ann"}
)


def said(text: str, marks: str = '“「『«„"＂') -> list[tuple[str, str | None]]:
    return [(span.text.strip(), span.speaker) for span in spans(text, marks, NAMES)[0] if span.speech]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("张三说：“你好。”", [("“你好。”", "张三")]),
        ("老张冷冷地对李四说道：“走！”李四不动。", [("“走！”", "张三")]),
        ("“你好，”李四道，“天气不错。”", [("“你好，”", "李四"), ("“天气不错。”", "李四")]),
        ("“是吗？”他问。", [("“是吗？”", None)]),
        ("张三走了进来。“你好。”", [("“你好。”", None)]),
        ("“来了”，张三喊。", [("“来了”", "张三")]),
        ("他所谓的“自由”二字，张三说不清。", []),
        ("「おはよう。」と言った。", [("「おはよう。」", None)]),
        ("张三：“好。”李四：“不好。”", [("“好。”", "张三"), ("“不好。”", "李四")]),
        ("“好。”张三笑了笑，李四说：“不好。”", [("“好。”", "张三"), ("“不好。”", "李四")]),
        ("“好。”李四说：“不好。”", [("“好。”", None), ("“不好。”", "李四")]),
        ("李四走后，张三站起来，看着门说：“走。”", [("“走。”", "张三")]),
        ("“Hello,” said John. “How are you?”", [("“Hello,”", "John"), ("“How are you?”", "John")]),
        ('"Hello," John said to Mary.', [('"Hello,"', "John")]),
        ('Mary asked, "Why?"', [('"Why?"', "Mary")]),
        ('"Why?" he asked John.', [('"Why?"', None)]),
        ('"Go!" Mr. Smith shouted. "Run!" Mary cried.', [('"Go!"', "John"), ('"Run!"', "Mary")]),
        ('The "big one" was here, John said.', []),
        ('Annie said, "No."', [('"No."', None)]),
        ("“It goes on", [("“It goes on", None)]),
    ],
)
def test_who_says_it(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert said(text) == expected


def test_british_quotation_marks_and_apostrophes() -> None:
    text = "‘I don’t know,’ said Mary. ‘It’s John’s.’ She left. ‘Well.’"
    assert opening_marks(text) == "‘"
    assert said(text, "‘") == [("‘I don’t know,’", "Mary"), ("‘It’s John’s.’", "Mary"), ("‘Well.’", "Mary")]
    straight = "'I don't know,' said Mary. 'It's late.' The boys' room. 'Well.'"
    assert opening_marks(straight) == "'"
    assert said(straight, "'")[:2] == [("'I don't know,'", "Mary"), ("'It's late.'", "Mary")]
    assert opening_marks("“It’s ‘fine’,” he said. “Yes.”") != "‘"


def test_a_speech_over_several_paragraphs_keeps_its_speaker() -> None:
    blocks = [
        Block("paragraph", "John said: “First of all,"),
        Block("paragraph", "“and then.”"),
        Block("paragraph", "“No.”"),
    ]
    cast = read_cast_of('[[speaker]]\nname = "John"\nvoice = "michael"')
    lines = Lines()
    rows = rows_of(Chapter("", "chapter", blocks, number=3), Rows(cast=cast), Findings(), lines)
    assert [(row["text"], row.get("said_by")) for row in rows] == [
        ("John said:", None), ("“First of all,\n“and then.”", "John"), ("“No.”", None),
    ]  # fmt: skip
    assert lines.of == {"John": 2} and lines.unattributed == 1 and lines.examples == [(3, "“No.”")]


def read_cast_of(text: str):  # type: ignore[no-untyped-def]
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cast.toml"
        file.write_text(text, encoding="utf-8")
        return read_cast(file)


def test_cast_files(tmp_path: Path) -> None:
    file = tmp_path / "cast.toml"
    file.write_text(
        'narrator = "yunxi"\ndialogue = "xiaoxiao"\n[[speaker]]\nname = "张三"\naliases = ["老张"]\nvoice = "michael"\n'
        'speed = 1.1\ninstruction = "低声说"\n',
        encoding="utf-8",
    )
    cast = make_cast(None, None, file)
    assert (cast.narrator.voice, cast.dialogue and cast.dialogue.voice) == ("yunxi", "xiaoxiao")
    blocks = [Block("paragraph", "老张说：“走。”"), Block("paragraph", "“好。”")]
    rows = rows_of(Chapter("", "chapter", blocks, number=1), Rows(cast=cast), Findings(), Lines())
    assert [(row["voice"], row.get("speed"), row.get("instruction")) for row in rows] == [
        ("yunxi", None, None), ("michael", 1.1, "低声说"), ("xiaoxiao", None, None),
    ]  # fmt: skip
    assert make_cast("heart", None, file).narrator.voice == "heart"
    with pytest.raises(UserError, match="cannot be read"):
        make_cast(None, None, tmp_path / "none.toml")


def test_every_mistake_of_a_cast_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cast.toml"
    file.write_text(
        'narator = "x"\n[[speaker]]\nname = "A"\nvoice = "v"\nspeed = 9\n[[speaker]]\nname = "B"\naliases = ["A"]\n'
        '[[speaker]]\nvoice = "v"\n[[speaker]]\nname = "C"\nvoice = "v"\naliases = "c"\n',
        encoding="utf-8",
    )
    with pytest.raises(InvalidInput) as caught:
        read_cast(file)
    told = str(caught.value)
    for part in ("did you mean 'narrator'?", "speed: '9'", "'A' is a name of 'A' already", "speaker 3: has no name",
                 "speaker 'B': has no voice", "aliases is no list"):  # fmt: skip
        assert part in told
    file.write_text("speaker = 3")
    with pytest.raises(InvalidInput, match=r"\[\[speaker\]\]"):
        read_cast(file)
    file.write_text("= 3")
    with pytest.raises(UserError, match="not valid TOML"):
        read_cast(file)
