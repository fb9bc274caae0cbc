"""Instructions: the trained ones pass, markers are refused with what to write, long ones are warned of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.instructions import KNOWN_2, TRAINED_3, examine_instruction

DOCS = Path(__file__).parent.parent / "docs" / "voices.md"


def found(instruction: str, generation: int | None = None) -> list[tuple[str, str]]:
    return [(r.severity, r.code) for r in examine_instruction(instruction, generation)]  # type: ignore[arg-type]


def test_the_trained_ones_pass() -> None:
    assert len(TRAINED_3) == 26
    for instruction in TRAINED_3:
        assert found(instruction, 3) == found(instruction) == []
        assert found(instruction.rstrip("。.？"), 3) == []
    for instruction in KNOWN_2:
        assert found(instruction, 2) == found(instruction) == []


@pytest.mark.parametrize(
    ("instruction", "bare"),
    [
        ("You are a helpful assistant. 请用广东话表达。<|endofprompt|>", "请用广东话表达。"),
        ("请用广东话表达。<|endofprompt|>", "请用广东话表达。"),
        ("用四川话说这句话<endofprompt>", "用四川话说这句话"),
        ("you are a helpful assistant. Speak softly", "Speak softly"),
    ],
)
def test_markers_are_refused_with_what_to_write_instead(instruction: str, bare: str) -> None:
    (remark,) = examine_instruction(instruction)
    assert (remark.severity, remark.code) == ("refuse", "instruction_marker")
    assert repr(bare) in remark.message


def test_a8_a_long_untrained_instruction_is_warned_of() -> None:
    wish = "请用略带疲惫、慢悠悠、偶尔咂嘴的语气来说，像一个刚刚下班回家跟老朋友闲聊的人，"
    wish += "语速要慢，情绪要低落，每一句结尾都要轻轻叹气。"
    assert len(wish) >= 60
    for generation in (2, 3, None):
        (remark,) = examine_instruction(wish, generation)  # type: ignore[arg-type]
        assert (remark.severity, remark.code) == ("warn", "instruction_long")
        assert f"{len(wish)} characters" in remark.message and "read aloud" in remark.message


@pytest.mark.parametrize(
    ("instruction", "generation", "expected"),
    [
        ("请用浙江话表达。", 3, []),
        ("用兴奋的语气说", 2, []),
        ("whisper like a ghost", 3, [("info", "instruction_untrained")]),
        ("……", 3, [("refuse", "instruction_empty")]),
        ("<|endofprompt|>", 3, [("refuse", "instruction_marker"), ("refuse", "instruction_empty")]),
        ("开心[laughter]地说", 3, [("refuse", "instruction_tags")]),
    ],
)
def test_others(instruction: str, generation: int, expected: list[tuple[str, str]]) -> None:
    assert found(instruction, generation) == expected


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text_is_judged(instruction: str) -> None:
    assert all(remark.about == "instruction" and remark.message for remark in examine_instruction(instruction))


def test_the_docs_list_what_the_models_know() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for instruction in (*TRAINED_3, *KNOWN_2):
        parts = [instruction]
        for start, end in (("请用", "话表达。"), ("用", "说这句话"), ("用", "的语气说"), ("用", "的情感表达")):
            if instruction.startswith(start) and instruction.endswith(end):
                parts = [instruction.removeprefix(start).removesuffix(end)]
        assert parts[0] in text, instruction
