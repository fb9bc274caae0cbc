"""Instructions: which ones the models were trained with, and what is wrong with one that is unlike them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from jobs.remarks import Remark, in_order

Generation = Literal[2, 3]
LONG_CHARS = 40
_SHOWN_CHARS = 40
_ALIKE = 0.5
"""Share of the pairs of neighbouring characters that two instructions have in common."""
_MARKER = re.compile(r"<\|?\s*endofprompt\s*\|?>", re.IGNORECASE)
_PREFIX = re.compile(r"\s*You are a helpful assistant\b[.。]?\s*", re.IGNORECASE)
_TAG = re.compile(r"<\|[^<>|]{0,80}\|>|</?[A-Za-z][\w-]{0,30}>|\[[A-Za-z_-]{1,30}\]")

_DIALECTS_3 = (
    "广东", "东北", "甘肃", "贵州", "河南", "湖北", "湖南", "江西", "闽南", "宁夏", "山西", "陕西", "山东", "上海",
    "四川", "天津", "云南",
)  # fmt: skip
# `instruct_list` of the reference, cosyvoice/utils/common.py, without its system prefix and end marker.
TRAINED_3 = (
    *(f"请用{dialect}话表达。" for dialect in _DIALECTS_3),
    "Please say a sentence as loudly as possible.",
    "Please say a sentence in a very soft voice.",
    "请用尽可能慢地语速说一句话。",
    "请用尽可能快地语速说一句话。",
    "请非常开心地说一句话。",
    "请非常伤心地说一句话。",
    "请非常生气地说一句话。",
    "我想体验一下小猪佩奇风格，可以吗？",
    "你可以尝试用机器人的方式解答吗？",
)
# CosyVoice 2 publishes no list; these are the forms of its report (arXiv 2412.10117) and of its demonstrations.
KNOWN_2 = (
    *(f"用{dialect}说这句话" for dialect in ("粤语", "四川话", "上海话", "郑州话", "长沙话", "天津话")),
    *(f"用{mood}的语气说" for mood in ("开心", "伤心", "惊讶", "生气")),
    *(f"用{mood}的情感表达" for mood in ("恐惧", "恶心")),
    *("冷静", "严肃", "快速", "非常快速", "慢速", "非常慢速", "神秘", "凶猛", "好奇", "优雅", "孤独"),
    "模仿机器人风格",
    "我想听听你模仿小猪佩奇的语气",
)


def known(generation: Generation | None) -> tuple[str, ...]:
    """Instructions that a model generation is known to follow; of both where it is not known yet."""
    return {2: KNOWN_2, 3: TRAINED_3}[generation] if generation is not None else (*TRAINED_3, *KNOWN_2)


@lru_cache(maxsize=4096)
def examine_instruction(instruction: str, generation: Generation | None = None) -> tuple[Remark, ...]:
    """Remarks on an instruction; none for one that the model was trained with."""
    bare = _bare(instruction)
    if _key(bare) and bare == instruction.strip() and _key(bare) in {_key(one) for one in known(generation)}:
        return ()
    remarks: list[Remark] = []
    if _MARKER.search(instruction) or _PREFIX.match(instruction):
        remarks.append(_remark("refuse", "instruction_marker", _marker_message(bare)))
    elif tag := _TAG.search(instruction):
        message = f"the instruction holds {tag[0]!r}, which would be read aloud; take it out"
        remarks.append(_remark("refuse", "instruction_tags", message))
    if not _key(bare):
        message = f"the instruction {instruction[:_SHOWN_CHARS]!r} says nothing; write one or leave it out"
        remarks.append(_remark("refuse", "instruction_empty", message))
    elif not remarks:
        remarks += _unlike(bare, generation)
    return in_order(remarks)


def _marker_message(bare: str) -> str:
    rest = f"write only {bare!r}" if _key(bare) else "write only the wish itself"
    return (
        "the instruction holds the end marker or the system prefix of the model, which are put in their places by "
        f"themselves and would be spoken if they came twice; {rest}"
    )


def _unlike(instruction: str, generation: Generation | None) -> list[Remark]:
    best = max(known(generation), key=lambda one: _likeness(instruction, one))
    alike = _likeness(instruction, best) >= _ALIKE
    if len(instruction) > LONG_CHARS:
        message = (
            f"the instruction is long ({len(instruction)} characters) and none that the model was trained with; long "
            f"ones are often read aloud. Shorten it to one wish of at most {LONG_CHARS} characters, such as {best!r}"
        )
        return [_remark("warn", "instruction_long", message)]
    if alike:
        return []
    message = (
        f"the instruction {instruction!r} is none that the model was trained with, so it may be ignored or read aloud; "
        f"docs/voices.md lists those it knows, such as {best!r}"
    )
    return [_remark("info", "instruction_untrained", message)]


def _remark(severity: Literal["refuse", "warn", "info"], code: str, message: str) -> Remark:
    return Remark(severity, "instruction", code, message)


def _bare(instruction: str) -> str:
    return _PREFIX.sub("", _MARKER.sub("", instruction), count=1).strip()


def _key(instruction: str) -> str:
    """What of an instruction carries meaning: letters in one case."""
    return "".join(character for character in instruction.casefold() if character.isalnum())


def _likeness(one: str, other: str) -> float:
    """Dice coefficient of the pairs of neighbouring characters, 0 to 1."""
    pairs, others = _pairs(_key(one)), _pairs(_key(other))
    return 2.0 * len(pairs & others) / max(1, len(pairs) + len(others))


@lru_cache(maxsize=256)
def _pairs(key: str) -> frozenset[str]:
    return frozenset(key[start : start + 2] for start in range(len(key) - 1)) or frozenset((key,))
