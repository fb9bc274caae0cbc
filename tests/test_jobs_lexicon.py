from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.errors import InvalidInput
from jobs.lexicon import Lexicon, Rule


def lexicon(tmp_path: Path, content: str | bytes, name: str = "lexicon.tsv") -> Lexicon:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Lexicon.read(path)


def said(found: Lexicon, text: str, language: str = "en") -> str:
    spoken, position = "", 0
    for hit in found.find(text, lambda offset: language):
        spoken += text[position : hit.start] + hit.rule.reading
        position = hit.end
    return spoken + text[position:]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.csv", b"\xef\xbb\xbfNguyen,win\r\nfeat,featured\r\n"),
        ("header.csv", b"\xef\xbb\xbfwritten,reading\r\nNguyen,win\r\nfeat,featured\r\n"),
        ("plain.tsv", b"Nguyen\twin\nfeat\tfeatured"),
        ("other.txt", b"# names\nNguyen\twin\n\n# more\nfeat\tfeatured\n"),
        ("semicolon.csv", b"word;say\nNguyen;win\nfeat;featured\n"),
        (
            "swapped.tsv",
            b"reading\twritten\twhatever\n".replace(b"\twhatever", b"\tlanguage")
            + b"win\tNguyen\t\nfeatured\tfeat\t\n",
        ),
        ("wide.csv", "Nguyen,win\nfeat,featured\n".encode("utf-16")),
        ("quoted.csv", b'"Nguyen","win"\n"feat","featured"\n'),
    ],
)
def test_the_first_rule_fires_whatever_saved_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    found = lexicon(tmp_path, content, name)
    assert [(rule.written, rule.reading) for rule in found.rules] == [("Nguyen", "win"), ("feat", "featured")]
    assert said(found, "Nguyen did a feat.") == "win did a featured."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A feat, not a defeat.", "A featured, not a defeat."),
        ("feat", "featured"),
        ("features feat2 _feat feat_x", "features feat2 _feat feat_x"),
        ("Feat! FEAT?", "featured! featured?"),
        ("功能feat很好", "功能featured很好"),
        ("feat's café-feat", "featured's café-featured"),
        ("éfeat featé", "éfeat featé"),
    ],
)
def test_words_of_alphabetic_scripts_match_whole(text: str, expected: str) -> None:
    assert said(Lexicon([Rule("feat", "featured")]), text) == expected


def test_longest_first_and_one_pass() -> None:
    found = Lexicon([Rule("重庆", "崇庆"), Rule("重庆银行", "CQ重庆"), Rule("崇庆", "错")])
    assert said(found, "重庆银行在重庆。", "zh") == "CQ重庆在崇庆。"


def test_case(tmp_path: Path) -> None:
    found = lexicon(tmp_path, "US\tU S\nsql\tsequel\nWho\tW H O\t\tany\nit\tI T\t\texact\n")
    assert said(found, "US us SQL Sql who IT it") == "U S us sequel sequel W H O IT I T"


def test_language(tmp_path: Path) -> None:
    found = lexicon(tmp_path, "行\tháng\tzh\n行\tgyou\tja\nOK\tokay\n")
    assert said(found, "行 OK", "zh") == "háng okay"
    assert said(found, "行 OK", "ja") == "gyou okay"
    assert said(found, "行 OK", "ko") == "行 okay"


def test_blocked_spans_are_left_alone() -> None:
    found = Lexicon([Rule("一", "1")])
    hits = found.find("一二一三一", lambda offset: "zh", [(1, 3)])
    assert [hit.start for hit in hits] == [0, 4]


def test_digest_follows_only_the_rules_that_touch_a_text() -> None:
    first = Lexicon([Rule("feat", "featured"), Rule("重庆", "崇庆")])
    other = Lexicon([Rule("feat", "feet"), Rule("重庆", "崇庆")])
    assert first.digest_for("重庆很大") == other.digest_for("重庆很大") != ""
    assert first.digest_for("a feat") != other.digest_for("a feat")
    assert first.digest_for("defeat") == "" == first.digest_for("nothing")


def test_digest_sees_a_rule_behind_a_longer_one_of_another_language() -> None:
    long_rule = Rule("银行家", "x", "ja")
    first, second = Lexicon([long_rule, Rule("银行", "a", "zh")]), Lexicon([long_rule, Rule("银行", "b", "zh")])
    assert first.digest_for("银行家") != second.digest_for("银行家")


def test_every_bad_line_is_reported_with_its_line(tmp_path: Path) -> None:
    lines = [
        "written\treading\tlanguage\tcase",
        "feat\t",
        "\tx",
        "a\tb\tEnglish language",
        "c\td\ten\tloud",
        "good\tfine",
    ]
    lines += ["good\tbad", "a\tb\tc\td\te", "\x00z\ty"]
    with pytest.raises(InvalidInput) as caught:
        lexicon(tmp_path, "\n".join(lines))
    assert [(problem.line, problem.field) for problem in caught.value.problems] == [
        (2, "reading"),
        (3, "written"),
        (4, "language"),
        (5, "case"),
        (7, "written"),
        (8, ""),
        (9, "written"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"written\treading\tlanguge\na\tb\tc\n", "language"), (b"caf\xe9\tx\n", "UTF-8"), (b'"open\tx\n', "reading")],
)
def test_faults_of_the_file_say_what_to_do(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lexicon(tmp_path, content)


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="check the path"):
        Lexicon.read(tmp_path / "none.tsv")


@given(
    st.lists(st.tuples(st.text("ab重庆 İ", min_size=1, max_size=4), st.text(max_size=3)), max_size=6),
    st.text("ab重庆 İA。", max_size=30),
)
@settings(max_examples=200, deadline=None)
def test_hits_are_sorted_apart_and_lie_where_their_form_is(pairs: list[tuple[str, str]], text: str) -> None:
    found = Lexicon([Rule(written, reading) for written, reading in pairs])
    position = 0
    for hit in found.find(text, lambda offset: "en"):
        assert hit.start >= position
        assert text[hit.start : hit.end].lower() == hit.rule.written.lower()
        position = hit.end


def test_ten_thousand_rules_do_not_slow_a_look() -> None:
    found = Lexicon([Rule(f"word{number}", f"reading{number}") for number in range(10_000)])
    start = time.process_time()
    for _ in range(200):
        found.digest_for("Some words, word77 and word9999 in a prompt of some sixty characters.")
    assert (time.process_time() - start) / 200 < 0.002
