from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.clean import clean
from jobs.text_fault import TextFault


@pytest.mark.parametrize(
    ("written", "cleaned"),
    [
        ("１２：３０，Ａｐｐ　２．０％", "12:30，App 2.0%"),
        ("（全角）标点，不变！？；：", "（全角）标点，不变！？；："),
        ("零\u200b宽\u2060字\ufeff符\u00ad", "零宽字符"),
        ("\u202eabc\u202c\u2067def\u2069", "abcdef"),
        ("a\u00a0b\u2003c\u3000d\te", "a b c d e"),
        ("  a   b  ", "a b"),
        ("第一段\r\n\r\n  \u3000第二段\u2028第三段", "第一段\n第二段\n第三段"),
        ("Tom &amp; Jerry &lt;3 &quot;x&quot; &#20013;&#x6587;&nbsp;&hellip;", 'Tom & Jerry <3 "x" 中文 …'),
        ("&amp;amp;lt;b&amp;gt;", "<b>"),
        ("AT&T &unknown; R&D;", "AT&T &unknown; R&D;"),
        ("好🙂的👨‍👩‍👧🇨🇳👍🏽！", "好的！"),
        ("按1️⃣或#️⃣键", "按1或#键"),
        ("cafe\u0301", "café"),
        ("ﾃｽﾄ ﬁne ⽂字 Ⅳ 𝐀𝟏", "テスト fine 文字 IV A1"),
        ("好，，，，的。。。。！！！", "好，的……！"),
        ("what?!?!?! no!!! yes??? wait......", "what?! no! yes? wait..."),
        ("一——————二", "一——二"),
        ("上\n* * *\n****\n----\n下", "上\n* * *\n下"),
        ("①②x²½", "①②x²½"),
        ("\ue000图标\uf8ff", "图标"),
        ("../a/b", "../a/b"),
        ("", ""),
    ],
)
def test_each_kind_of_variant_becomes_one_form(written: str, cleaned: str) -> None:
    assert clean(written) == cleaned


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("a\x00b", "U+0000"),
        ("a\x07", "U+0007"),
        ("\x1b[0m", "U+001B"),
        ("\x7f", "U+007F"),
        ("a\ud800b", "U+D800"),
        ("\ufdd0", "U+FDD0"),
        ("caf\ufffd", "U+FFFD"),
        ("&#0;", "&#0;"),
        ("\x0c", "U+000C"),
    ],
)
def test_control_characters_are_named_with_what_to_do(written: str, named: str) -> None:
    with pytest.raises(TextFault, match=r"remove it|write the whole|save the file") as caught:
        clean(written)
    assert named in str(caught.value)


def test_all_bad_characters_are_told_at_once() -> None:
    with pytest.raises(TextFault) as caught:
        clean("\x00 \x01 \ufffd")
    assert len(caught.value.faults) == 3


PARTS = st.sampled_from(
    [
        "&amp;",
        "&lt;",
        "&#38;",
        "lt;",
        "&",
        "。",
        "，",
        "、",
        "...",
        "?",
        "!",
        " ",
        "\n",
        "１",
        "：",
        "12",
        "́",
        "e",
        "ﾞ",
        "ｶ",
        "-",
        "=",
        "🙂",
        "\u200d",
        "—",
        "…",
    ]
)


@given(st.one_of(st.text(max_size=40), st.lists(PARTS, max_size=20).map("".join)))
@settings(max_examples=400, deadline=None)
@example("&l&#116;;")
@example("&amp;LT\ue000;")
@example("&ｌt;")
@example("&l🙂t;")
@example("。\u200b。 。")
def test_cleaning_twice_changes_nothing(text: str) -> None:
    try:
        once = clean(text)
    except TextFault:
        return
    assert clean(once) == once


@pytest.mark.parametrize("unit", ["&amp;", "，", " \n", "🙂", "１２：３０ ", "a..", "ﾃ"])
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        runs = []
        for _ in range(3):
            start = time.process_time()
            clean(text)
            runs.append(time.process_time() - start)
        return min(runs)

    assert seconds(400_000) < 12 * seconds(100_000) + 0.05
