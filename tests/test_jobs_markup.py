from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice.added_tokens import PHONEMES
from jobs.clean import clean, clean_escaped
from jobs.markup import escape, parse
from jobs.text_fault import TextFault

TAGS = frozenset({"[laughter]", "<strong>", "</strong>", "<|en|>"}) | PHONEMES
NONE: frozenset[str] = frozenset()


def marks(text: str, tags: frozenset[str] = NONE) -> list[tuple[str, str]]:
    escaped = clean_escaped(text)
    return [(mark.kind, escaped[mark.start : mark.end]) for mark in parse(escaped, tags)]


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ('<break time="800ms"/>', 800),
        ("<break time='1.5s' />", 1500),
        ("<BREAK TIME=2s>", 2000),
        ("[pause:1.5]", 1500),
        ("[pause:800ms]", 800),
        ("[Pause: 2 s]", 2000),
        ("[pause：0.25]", 250),
        ("[break:1s]", 1000),
        ("[pause:60]", 60_000),
        ('<break strength="weak" time="10ms"/>', 10),
        ("[pause:.5]", 500),
    ],
)
def test_breaks_have_their_length(written: str, ms: int) -> None:
    [mark] = parse(clean_escaped(f"一{written}二"), NONE)
    assert (mark.kind, mark.ms) == ("break", ms)


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "[见下文]",
        "a < b",
        "I <3 you",
        "1<2>0",
        "[OK]",
        "[A]",
        "[t]he end",
        "[see below]",
        "[sic]",
        "<三体>",
        "<bob@example.com>",
        "<https://example.com>",
        "[2024]",
        "[]",
        "a[0][1]",
        "《三体》【注】",
        "x<y and z>w",
        "[Enter]",
        "&lt;emphasis&gt;",
        "&#91;laughter&#93;",
        "-> <- <<>>",
    ],
)
def test_ordinary_text_is_no_mark(text: str) -> None:
    assert marks(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "<emphasis>Now</emphasis>",
        "<prosody rate='slow'>",
        "<p>",
        "<br/>",
        "</b>",
        "<!-- note -->",
        "<?xml?>",
        "[laughter]",
        "[Laughter]",
        "[MUSIC]",
        "[quick_breath]",
        "[whatever-looks-like-a-tag]",
        "[spk=2]",
        "[emotion:happy]",
        "[long pause]",
        "[clears throat]",
        "[j][ǐ]",
        "[ǐ]",
        "<|zh|>",
        "<|anything|>",
        "<strong>x</strong>",
        '<break time="1s"',
        "<emphasis level='strong'",
        "<voice name=a b>",
    ],
)
def test_what_looks_like_a_tag_is_a_fault_that_says_how_to_write_it_as_text(text: str) -> None:
    with pytest.raises(TextFault) as caught:
        marks(text)
    assert "&lt;" in str(caught.value) or "&#91;" in str(caught.value) or "gives no length" in str(caught.value)


def test_tags_of_the_engine_are_kept() -> None:
    text = "<|en|>A <strong>big</strong> [laughter] [j][ǐ]"
    assert [written for _, written in marks(text, TAGS)] == [
        "<|en|>",
        "<strong>",
        "</strong>",
        "[laughter]",
        "[j]",
        "[ǐ]",
    ]


def test_a_tag_of_another_engine_names_the_kind_that_knows_it() -> None:
    with pytest.raises(TextFault, match=r"(?i)known to .*cosyvoice"):
        marks("[laughter]")


@pytest.mark.parametrize("tags", [NONE, TAGS, frozenset({"<|endofprompt|>"})])
def test_the_end_of_prompt_mark_is_always_a_fault(tags: frozenset[str]) -> None:
    with pytest.raises(TextFault, match="instruction"):
        marks("用粤语说<|endofprompt|>你好", tags)


@pytest.mark.parametrize(
    "text",
    [
        "<break/>",
        '<break time="fast"/>',
        "[pause:x]",
        "[pause:-1]",
        "[pause:61]",
        '<break time="90s"/>',
        "[pause]",
        '<break time="5"/>',
        '<say-as interpret-as="digits">1',
        "1</say-as>",
        '<say-as interpret-as="nope">1</say-as>',
        "<say-as>1</say-as>",
        '<say-as interpret-as="digits">1[pause:1]2</say-as>',
        '<say-as interpret-as="digits"><say-as interpret-as="digits">1</say-as></say-as>',
    ],
)
def test_malformed_marks_are_faults(text: str) -> None:
    with pytest.raises(TextFault):
        marks(text)


@pytest.mark.parametrize("text", ["<strong>never closed", "closed</strong> only"])
def test_unbalanced_pairs_are_faults(text: str) -> None:
    with pytest.raises(TextFault, match=r"closing|closes"):
        marks(text, TAGS)


def test_all_faults_of_a_text_come_together() -> None:
    with pytest.raises(TextFault) as caught:
        marks("<emphasis>a</emphasis> [pause:x] [laughter] <|endofprompt|>")
    assert len(caught.value.faults) == 4


def test_say_as_in_both_forms() -> None:
    text = '<say-as interpret-as="digits" one="幺">0317</say-as>和[phone:10086]'
    first, second = parse(clean_escaped(text), NONE)
    assert (first.say_as, text[slice(*first.inner)], first.options) == ("digits", "0317", {"one": "幺"})
    assert (second.say_as, text[slice(*second.inner)]) == ("phone", "10086")


@given(st.text(alphabet='<>[]|/&;abl t="1:s。好', max_size=40))
@settings(max_examples=300, deadline=None)
def test_escaped_text_has_no_marks_and_cleans_to_itself(text: str) -> None:
    plain = clean(text.replace("&", ""))
    escaped = clean_escaped(escape(plain))
    assert parse(escaped, TAGS) == []
    assert clean(escape(plain)) == plain
