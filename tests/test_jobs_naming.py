"""Output names: what is asked for, what every system takes, and what is refused."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.naming import (
    MAX_PART_BYTES,
    MAX_PATH_BYTES,
    RESERVED,
    NameRule,
    Template,
    collision_key,
    cut,
    name_from_out,
    name_from_template,
    safe_part,
)

FORBIDDEN = set('<>:"/\\|?*') | {chr(code) for code in range(32)}
DEVICES = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


def from_id(identifier: str, suffix: str = ".wav") -> str:
    return name_from_template(Template.parse("{id}"), {"id": identifier}, suffix).path


@pytest.mark.parametrize(
    ("written", "safe"),
    [
        ("welcome-01", "welcome-01"),
        ("Night: A Tale", "Night - A Tale"),
        ("3/14/59", "3-14-59"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("Lpt1 .x", "_Lpt1 .x"),
        ("COM¹", "_COM¹"),
        ("console", "console"),
        ("a?b*", "a_b_"),
        ("a\tb\nc", "a b c"),
        ("end. . .", "end"),
        ("-rf", "_rf"),
        (".hidden", "_hidden"),
        ("~root", "_root"),
        ("...", "_"),
        ("", "_"),
        ("say \u202egpj.exe", "say gpj.exe"),
        ("cafe\u0301", "café"),
        ("第一章　故乡", "第一章 故乡"),
        ("Fat & Heat, 1", "Fat + Heat 1"),
        ("${EXTEN}", "_{EXTEN}"),
        ("bad\ud800half", "badhalf"),
        ("\x00\x07", "_"),
    ],
)
def test_a_part_is_made_safe(written: str, safe: str) -> None:
    assert safe_part(written) == safe


def test_a_name_of_210_characters_is_cut_and_stays_apart_from_its_twin() -> None:
    one, other = from_id("a" * 209 + "1"), from_id("a" * 209 + "2")
    assert one != other
    assert len(one.encode()) == len(other.encode()) == MAX_PART_BYTES
    assert one.endswith(".wav")


def test_a_cut_leaves_whole_characters() -> None:
    family = "👨‍👩‍👧‍👦"
    assert cut("x" + family, len(family.encode())) == "x"
    assert cut("e\u0301" * 5, 7) == "e\u0301" * 2
    assert cut("🇨🇳🇩🇪", 12) == "🇨🇳"
    assert cut("🇨🇳🇩🇪", 8) == "🇨🇳"
    assert cut("👍🏽👍🏽", 15) == "👍🏽"
    assert cut("汉字", 5) == "汉"


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=260))
@example("COM1." + "x" * 300)
@example("a" * 195 + " . . . ." + "b" * 50)
@example("\u0301")
def test_any_text_makes_a_part_that_every_system_takes(text: str) -> None:
    part = safe_part(text)
    assert part and len(part.encode()) <= MAX_PART_BYTES
    assert not FORBIDDEN & set(part)
    assert part[-1] not in ". " and part[0] not in " .-~"
    assert part.split(".")[0].strip().lower() not in DEVICES
    assert part == unicodedata.normalize("NFC", part)
    assert safe_part(part) == part


@settings(deadline=None, max_examples=300)
@given(st.text(min_size=1, max_size=300), st.sampled_from([".wav", ".ulaw", ".mp3"]))
def test_a_name_from_an_id_stays_in_the_run_folder_and_off_our_files(text: str, suffix: str) -> None:
    name = from_id(text, suffix)
    assert "/" not in name and name.endswith(suffix) and len(name.encode()) <= MAX_PART_BYTES
    assert collision_key(name) not in RESERVED


@settings(deadline=None, max_examples=300)
@given(st.text(min_size=1, max_size=300))
def test_an_out_path_is_refused_or_stays_in_the_run_folder(text: str) -> None:
    try:
        path = name_from_out(text, ".wav").path
    except ValueError as error:
        assert str(error)
        return
    parts = path.split("/")
    assert not path.startswith("/") and not FORBIDDEN & set("".join(parts))
    assert all(part not in ("", ".", "..") for part in parts)
    assert len(path.encode()) <= MAX_PATH_BYTES and path.endswith(".wav")
    assert collision_key(parts[0]) not in RESERVED


@pytest.mark.parametrize(
    ("out", "path"),
    [
        ("menu/main.wav", "menu/main.wav"),
        ("menu\\main", "menu/main.wav"),
        ("./a", "a.wav"),
        ("A.WAV", "A.wav"),
        ("v2.10", "v2.10.wav"),
        ("notes.txt", "notes.txt.wav"),
        ("大/门.wav", "大/门.wav"),
        ("AUX/x", "_AUX/x.wav"),
        (".wav", "_wav.wav"),
    ],
)
def test_out_is_kept_where_it_can_be(out: str, path: str) -> None:
    assert name_from_out(out, ".wav").path == path


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("/etc/passwd", "absolute"),
        ("\\\\server\\share", "absolute"),
        ("C:\\x.wav", "drive letter"),
        ("c:x.wav", "drive letter"),
        ("../x", "'..'"),
        ("a/../../x", "'..'"),
        ("a\\..\\x", "'..'"),
        ("a/.. /x", "'..'"),
        ("~/x", "~"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        (" ", "empty part"),
        (".", "names no file"),
        ("a.mp3", "'.mp3'"),
        ("a.wav/b.wav", "named like an audio file"),
        ("report.html/x", "keeps for itself"),
        ("Run.LOG/x", "keeps for itself"),
        (".cosyvoice-batch/x.wav", "keeps for itself"),
        ("./.cosyvoice-batch/x.wav", "keeps for itself"),
        ("/".join("abcdefghi"), "deep"),
        ("/".join(["x" * 150, "y" * 150, "z"]), "too long"),
    ],
)
def test_out_is_refused_with_the_reason(out: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        name_from_out(out, ".wav")


def test_a_change_is_told_and_a_suffix_is_none() -> None:
    assert not name_from_out("a/b", ".wav").changed
    assert not name_from_out("a\\b.wav", ".wav").changed
    assert name_from_out("a/b?", ".wav").changed
    assert name_from_out("A.WAV", ".wav").changed
    template = Template.parse("{id}")
    assert not name_from_template(template, {"id": "hello"}, ".wav").changed
    assert not name_from_template(template, {"id": "hello.wav"}, ".wav").changed
    assert name_from_template(template, {"id": "3/14"}, ".wav").changed


def test_a_template_makes_folders_but_a_value_never_does() -> None:
    template = Template.parse("{chapter:02d}/{chapter:03d}-{title}")
    name = name_from_template(template, {"chapter": 7, "title": "a/../b"}, ".mp3")
    assert name.path == "07/007-a-..-b.mp3"
    extra = name_from_template(Template.parse("{campaign}_{id:.3}"), {"campaign": "x", "id": "abcdef"}, ".wav")
    assert extra.path == "x_abc.wav"
    assert name_from_template(Template.parse("{n:03d}"), {"n": "0007"}, ".wav").path == "007.wav"


@pytest.mark.parametrize(
    "naming",
    ["{id.__class__}", "{id[0]}", "{id!r}", "{}", "{0.x}", "{id:>9999999}", "{id:{id}}", "{id", "plain", "/{id}",
     "../{id}", "{id}/", "C:{id}", "~{id}", "{id:09999d}"],
)  # fmt: skip
def test_a_template_reaches_no_further_than_fields(naming: str) -> None:
    with pytest.raises(ValueError, match="naming"):
        Template.parse(naming)


def test_a_missing_value_is_named() -> None:
    with pytest.raises(ValueError, match="needs 'chapter'"):
        name_from_template(Template.parse("{chapter:02d}-{id}"), {"id": "a"}, ".wav")
    with pytest.raises(ValueError, match="wants digits"):
        name_from_template(Template.parse("{id:02d}"), {"id": "a"}, ".wav")


def test_a_profile_may_ask_for_more() -> None:
    rule = NameRule("[A-Za-z0-9][A-Za-z0-9._-]*", "letters and digits", 20)
    assert name_from_out("menu/main", ".ulaw", rule).path == "menu/main.ulaw"
    for out in ("问候", "a b", "x/_CON"):
        with pytest.raises(ValueError, match="use letters and digits"):
            name_from_out(out, ".ulaw", rule)
    long = name_from_template(Template.parse("{id}"), {"id": "abcdefghijklmnopqrstuvw"}, ".wav", NameRule(max_chars=24))
    assert len(long.path) == 24


def test_names_that_some_system_takes_for_one_have_one_key() -> None:
    same = ["Café.wav", "cafe\u0301.wav", "CAFÉ.WAV"]
    assert len({collision_key(name) for name in same}) == 1
    assert collision_key("a.wav") != collision_key("b.wav")
