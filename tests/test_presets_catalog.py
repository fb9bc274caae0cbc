"""Profiles and voices from TOML: what ships is right, what users add wins, mistakes are told all at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets.catalog import PresetError, profiles, voices
from presets.profile import Acceptance

SHIPPED = profiles()


def folder_with(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(PresetError) as caught:
        profiles([folder])
    return [problem.replace(str(folder), "F") for problem in caught.value.problems]


def test_the_promised_profiles_ship() -> None:
    promised = "wav24k wav48k podcast podcast-stereo acx flac24k opus m4a ivr-ulaw ivr-alaw ivr-pcm8k asterisk-sln"
    assert set(promised.split()) <= set(SHIPPED)
    assert all(profile.name == name and len(profile.description) > 20 for name, profile in SHIPPED.items())
    assert list(SHIPPED) == sorted(SHIPPED)


def test_shipped_figures_are_the_published_ones() -> None:
    acx, podcast, phone = SHIPPED["acx"], SHIPPED["podcast"], SHIPPED["ivr-ulaw"]
    assert (acx.sample_rate_hz, acx.bitrate_kbps, acx.encoding, acx.channels) == (44_100, 192, "cbr", 1)
    assert -23 < (acx.target_db or 0) < -18
    assert acx.ceiling_dbtp <= -3
    assert 500 <= acx.head_ms <= 1000
    assert 1000 <= acx.tail_ms <= 5000
    assert (podcast.loudness, podcast.target_db, podcast.ceiling_dbtp, podcast.channels) == ("lufs", -19, -1, 1)
    assert (SHIPPED["podcast-stereo"].target_db, SHIPPED["podcast-stereo"].channels) == (-16, 2)
    assert (phone.container, phone.encoding, phone.sample_rate_hz, phone.tags) == ("wav", "ulaw", 8000, False)
    assert (phone.loudness, phone.target_db, phone.ceiling_dbtp) == ("speech", -22, -6)
    assert (SHIPPED["asterisk-sln"].container, SHIPPED["asterisk-sln"].suffix) == ("raw", ".sln")


def test_shipped_voices_read() -> None:
    found = voices()
    assert all(voice.engine == "kokoro" and voice.speaker and voice.licence for voice in found.values())
    assert {voice.language for voice in found.values()} >= {"zh", "en"}
    assert len({voice.digest for voice in found.values()}) == len(found)


def test_a_users_profile_extends_and_wins(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        house='extends = "podcast"\ndescription = "ours"\n[level]\ntarget_db = -18\n',
        opus='description = "mine"\n[format]\ncontainer = "opus"\nbitrate_kbps = 96\n',
    )
    found = profiles([folder])
    assert found["house"] == dataclasses.replace(SHIPPED["podcast"], name="house", description="ours", target_db=-18.0)
    assert (found["opus"].bitrate_kbps, found["opus"].encoding, found["opus"].suffix) == (96, "opus", ".opus")
    assert found["acx"] == SHIPPED["acx"]


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfextends = 'acx'\n")
    assert profiles([tmp_path])["a"].loudness == "rms"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("extends = 'podcst'", "F/a.toml: extends: profile 'podcst' is not there"),
        ("extends = 'a'", "F/a.toml: extends: profile 'a' extends itself"),
        ("extends = 3", "F/a.toml: extends: found 3, write the name of a profile in quotes"),
        ("colour = 1", "F/a.toml: colour: is not a key of this table"),
        ("[format]\nsample_rate = 8000", "F/a.toml: format.sample_rate: is not a key of this table, did you mean"),
        ("[format]\ncontainer = 'wave'", "F/a.toml: format.container: found 'wave', write one of"),
        ("[format]\nchannels = true", "F/a.toml: format.channels: found True, write a whole number from 1 to 2"),
        ("[format]\nsuffix = '../x'", "F/a.toml: format.suffix: found '../x'"),
        ("[format]\nencoding = 'ulaw'", "F/a.toml: format.sample_rate_hz: found 24000, G.711 is 8000"),
        (
            "[format]\ncontainer = 'raw'\nencoding = 'g722'",
            "F/a.toml: format.sample_rate_hz: found 24000, G.722 is 16000",
        ),
        ("[format]\ncontainer = 'mp3'\nbitrate_kbps = 100", "F/a.toml: format.bitrate_kbps: found 100, MP3 at 24000"),
        ("[format]\ncontainer = 'opus'", "F/a.toml: format.bitrate_kbps: is missing"),
        ("[level]\nloudness = 'lufs'", "F/a.toml: level.target_db: is missing"),
        ("[level]\ntarget_db = 3", "F/a.toml: level.target_db: found 3, write a number from -60 to 0"),
        ("[level]\nceiling_dbtp = nan", "F/a.toml: level.ceiling_dbtp: found nan"),
        ("[silence]\nhead_ms = -1", "F/a.toml: silence.head_ms: found -1"),
        ("[names]\ntemplate = 'name'", "F/a.toml: names.template: found 'name', write fields such as"),
        ("[names]\ntemplate = '{id!r}'", "F/a.toml: names.template: found '{id!r}'"),
        ("[names]\ntemplate = '{id.__class__}'", "F/a.toml: names.template: found"),
        ("[names]\ntemplate = '../{id}'", "F/a.toml: names.template: found '../{id}', stay inside the run folder"),
        ("[names]\npattern = '('", "F/a.toml: names.pattern: is not a regular expression"),
        ("format = 3", "F/a.toml: format: found 3, write a table [format]"),
        ("a = ", "F/a.toml: not valid TOML"),
    ],
)
def test_mistakes_name_file_key_and_remedy(text: str, expected: str, tmp_path: Path) -> None:
    (problem,) = problems_of(folder_with(tmp_path, a=text))
    assert problem.startswith(expected)


def test_all_mistakes_of_all_files_come_at_once(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, a="x = 1\n[level]\nloudness = 'loud'\n", b="[silence]\nfade_ms = 'long'\n", c="=")
    assert {problem.split(":")[0] for problem in problems_of(folder)} == {"F/a.toml", "F/b.toml", "F/c.toml"}
    assert len(problems_of(folder)) == 4


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none")[0].startswith("F: there is no such folder")


def test_text_in_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes("description = '第一章'".encode("gb18030"))
    assert "is not UTF-8" in problems_of(tmp_path)[0]


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(SHIPPED["acx"])])
def test_the_digest_changes_with_the_bytes_and_only_then(field: str) -> None:
    profile = SHIPPED["acx"]
    value = getattr(profile, field)
    others = {str: "other", bool: not value, int: 7, float: -7.5, type(None): 7, Acceptance: Acceptance(2.0)}
    changed = dataclasses.replace(profile, **{field: others[type(value)]}).digest != profile.digest
    harmless = {"name", "description", "suffix", "naming", "name_pattern", "name_max_chars", "name_rule"}
    harmless |= {"max_noise_db", "max_minutes", "folder", "accept", "verify_threshold"}
    assert changed == (field not in harmless)


def test_a_cloned_voice(tmp_path: Path) -> None:
    (tmp_path / "me.wav").write_bytes(b"one")
    keys = "language = 'en'\naudio = 'me.wav'\ntext = 'Hello.'\nconsent = 'myself'\n"
    folder = folder_with(tmp_path, me=keys)
    voice = voices([folder])["me"]
    assert voice.audio == str((tmp_path / "me.wav").resolve())
    assert (voice.text, voice.speaker, voice.consent) == ("Hello.", None, "myself")
    before = voice.digest
    (tmp_path / "me.wav").write_bytes(b"two")
    assert voice.digest != before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("language = 'en'\naudio = 'gone.wav'", "audio: there is no file"),
        ("language = 'en'", "speaker: give either speaker (with engine) or audio (with text)"),
        ("language = 'en'\nspeaker = 'x'", "engine: is missing, name the engine that holds speaker 'x'"),
        ("engine = 'kokoro'\nspeaker = 'x'", "language: is missing"),
        ("language = 'en'\nengine = 'kokoro'\nspeaker = 'x'\nlicense = 'MIT'", "license: is not a key of this table"),
        ("name = 'b'\nlanguage = 'en'\nengine = 'kokoro'\nspeaker = 'x'", "name: is not the file's name"),
    ],
)
def test_voice_mistakes(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(PresetError) as caught:
        voices([folder_with(tmp_path, a=text)])
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path / 'a.toml'}: {expected}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(["format", "level", "silence", "names", "description", "extends"]),
)
@settings(max_examples=200, deadline=None)
def test_no_value_brings_anything_but_a_preset_error(value: object, key: str) -> None:
    from presets.profile import read_profile

    try:
        read_profile("x", {key: value}, "x.toml")
    except PresetError as error:
        assert all(problem.startswith("x.toml: ") for problem in error.problems)
