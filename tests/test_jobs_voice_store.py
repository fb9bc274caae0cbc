"""The store of own voices: whole or not at all, names that are safe, zips that are not trusted."""

from __future__ import annotations

import io
import os
import stat
import struct
import threading
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spoiled_recordings import GOOD, GOOD_TEXT, LONGER, RATE_HZ, good, longer, write

from jobs.errors import EnvironmentFault, UserError
from jobs.reference_signal import FileFacts, measures_of
from jobs.reference_trim import find_cut
from jobs.voice_archive import export_voice, import_voice
from jobs.voice_store import NewVoice, Refused, add, as_toml, checked_name, remove
from presets.catalog import voices


def new(name: str = "anna", audio: Path = GOOD, **more: str) -> NewVoice:
    return NewVoice(**{"name": name, "audio": audio, "text": GOOD_TEXT, "consent": "myself", **more})  # type: ignore[arg-type]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_a_voice_is_added_byte_for_byte_and_read_back(tmp_path: Path) -> None:
    more = {"instruction": "请用四川话表达。", "description": 'calm "and" warm\nnew line \\ \x7f', "licence": "CC0"}
    added = add(new(**more), tmp_path)
    assert (added.remarks, added.cut, added.replaced) == ((), None, False)
    voice = voices([tmp_path])["anna"]
    assert voice == added.voice
    assert (voice.text, voice.language, voice.consent) == (GOOD_TEXT, "zh", "myself")
    assert {name: getattr(voice, name) for name in more} == more
    assert Path(voice.audio or "").read_bytes() == GOOD.read_bytes()
    assert len(files(tmp_path)) == 2


def test_force_replaces_all_of_it_and_leaves_no_rest(tmp_path: Path) -> None:
    add(new(description="first"), tmp_path)
    with pytest.raises(UserError, match="--force"):
        add(new(audio=LONGER, text="语" * 40), tmp_path)
    assert voices([tmp_path])["anna"].description == "first"
    (tmp_path / "anna.00000000.wav").write_bytes(b"of an add that was killed")
    (tmp_path / "anna.00000000.b.wav").write_bytes(b"not ours")
    again = add(new(audio=LONGER, text="语" * 40), tmp_path, force=True)
    assert again.replaced and again.voice.description == ""
    assert files(tmp_path) == sorted(["anna.00000000.b.wav", Path(again.voice.audio or "").name, "anna.toml"])
    assert (again.voice.audio or "").endswith(".flac")


def test_a_failed_write_leaves_the_old_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills between the recording and the TOML."""
    before = add(new(), tmp_path).voice
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFault, match="disk is full"):
        add(new(audio=LONGER, text="语" * 40), tmp_path, force=True)
    after = voices([tmp_path])["anna"]
    assert after == before and Path(after.audio or "").read_bytes() == GOOD.read_bytes()


def test_of_two_that_add_the_same_name_at_once_one_wins(tmp_path: Path) -> None:
    ended: list[str] = []

    def try_it(text: str) -> None:
        try:
            add(new(text=text), tmp_path)
            ended.append(text)
        except UserError as error:
            assert "there is a voice of this name" in str(error)

    texts = [GOOD_TEXT, GOOD_TEXT[:-1], GOOD_TEXT[:-2] + "吧", GOOD_TEXT[1:]]
    threads = [threading.Thread(target=try_it, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [voices([tmp_path])["anna"].text]
    assert len(files(tmp_path)) == 2


def test_what_the_linter_refuses_is_not_added(tmp_path: Path) -> None:
    silent = write(tmp_path / "silent.wav", np.zeros(3 * RATE_HZ))
    store = tmp_path / "store"
    with pytest.raises(Refused, match="is silent") as caught:
        add(new(audio=silent), store)
    assert caught.value.exit_code == 2
    with pytest.raises(Refused, match="nobody speaks so fast"):
        add(new(text=GOOD_TEXT * 5), store)
    assert not store.exists()


def test_a_missing_consent_note_is_asked_for(tmp_path: Path) -> None:
    remarks = add(new(consent=" "), tmp_path).remarks
    assert [(r.severity, r.code) for r in remarks] == [("warn", "consent_missing")]


def test_the_language_is_told_by_the_script_or_asked_for(tmp_path: Path) -> None:
    assert add(new("a", text="앞으로 저보다 더 잘하시기를 바랍니다."), tmp_path).voice.language == "ko"
    with pytest.raises(UserError, match="--language: give the language"):
        add(new("b", text="I hope that you do better than me."), tmp_path)
    assert add(new("b", text="I hope that you do better.", language="English"), tmp_path).voice.language == "en"
    with pytest.raises(UserError, match="--language: unknown language 'klingon'"):
        add(new("c", language="klingon"), tmp_path)


@pytest.mark.parametrize("name", ["anna", "小红", "Anna-2", "a.b_c", "ünal"])
def test_good_names(name: str, tmp_path: Path) -> None:
    assert checked_name(name) == name
    add(new(name), tmp_path)
    assert name in voices([tmp_path])
    assert len(remove(name, tmp_path)) == 2 and files(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "C:x", ".hidden", "-rf", "con", "NUL.txt", "a b", "a\nb", "x" * 65,
     "a\0b"],
)  # fmt: skip
def test_names_that_are_no_file_names_are_refused(name: str, tmp_path: Path) -> None:
    store = tmp_path / "in" / "store"
    with pytest.raises(UserError, match="is no name for a voice"):
        add(new(name), store)
    with pytest.raises(UserError, match="is no name for a voice"):
        remove(name, store)
    assert not (tmp_path / "in").exists()


@given(st.text(max_size=12))
@settings(max_examples=150, deadline=None)
def test_a_name_that_passes_stays_in_its_folder(name: str) -> None:
    try:
        checked_name(name)
    except UserError:
        return
    assert Path(name).name == name and name not in (".", "..") and name.isprintable()


def test_shipped_names_and_names_that_differ_in_case_are_refused(tmp_path: Path) -> None:
    for name in ("heart", "Heart"):
        with pytest.raises(UserError, match="ships with the tool"):
            add(new(name), tmp_path)
    add(new(), tmp_path)
    with pytest.raises(UserError, match="differs only in case"):
        add(new("ANNA"), tmp_path, force=True)
    with pytest.raises(UserError, match="no voice 'heart' of your own; it ships"):
        remove("heart", tmp_path)


def test_a_voice_that_cannot_be_read_can_be_removed(tmp_path: Path) -> None:
    add(new(), tmp_path)
    (tmp_path / "anna.toml").write_text("language = ")
    assert len(remove("anna", tmp_path)) == 2
    assert files(tmp_path) == []


@given(st.dictionaries(st.sampled_from(["text", "consent", "audio"]), st.text()))
@settings(max_examples=150, deadline=None)
def test_any_text_survives_the_toml(values: dict[str, str]) -> None:
    read = tomllib.loads(as_toml(values).decode("utf-8"))
    assert read == {key: value.encode("utf-8", "replace").decode() for key, value in values.items()}


def test_a_long_recording_is_cut_at_a_pause_near_ten_seconds(tmp_path: Path) -> None:
    long = write(tmp_path / "long.wav", np.tile(longer(), 4))
    with pytest.raises(Refused, match=r"55\.0 s long"):
        add(new(audio=long, text=None, language="en"), tmp_path / "store")
    with pytest.raises(UserError, match="--text says what is said in all of it"):
        add(new(audio=long), tmp_path / "store", trim_reference=True)
    added = add(new(audio=long, text=None, language="en"), tmp_path / "store", trim_reference=True)
    assert added.cut is not None and added.cut.at_pause
    kept, rate_hz = soundfile.read(added.voice.audio)
    assert rate_hz == RATE_HZ and 5 < len(kept) / rate_hz < 12.5
    assert added.remarks == (), "what was kept is a good recording"
    start = round(added.cut.start_s * RATE_HZ)
    assert np.abs(kept - np.tile(longer(), 4)[start : start + len(kept)]).max() < 1e-6
    assert added.voice.text is None


def test_a_recording_without_a_pause_is_cut_all_the_same() -> None:
    spoken = np.tile(good()[8_000:74_000], 12).astype(np.float32)
    cut = find_cut(measures_of(spoken, RATE_HZ, FileFacts(len(spoken) / RATE_HZ, 1, 0.0, "WAV")))
    assert not cut.at_pause and cut.end_s - cut.start_s == pytest.approx(10.0)


def test_a_short_recording_is_not_trimmed_and_keeps_its_text(tmp_path: Path) -> None:
    added = add(new(), tmp_path, trim_reference=True)
    assert added.cut is None and added.voice.text == GOOD_TEXT


def test_export_and_import_give_the_same_voice(tmp_path: Path) -> None:
    first = add(new("小红", description="d", instruction="请非常开心地说一句话。", licence="CC0"), tmp_path / "a").voice
    export_voice(first, tmp_path / "x.zip")
    bytes_of_first = (tmp_path / "x.zip").read_bytes()
    second = import_voice(tmp_path / "x.zip", tmp_path / "b").voice
    assert second.digest == first.digest
    for name in ("name", "text", "language", "description", "instruction", "licence", "consent"):
        assert getattr(second, name) == getattr(first, name)
    export_voice(second, tmp_path / "y.zip")
    assert (tmp_path / "y.zip").read_bytes() == bytes_of_first
    with pytest.raises(UserError, match="stands already"):
        export_voice(second, tmp_path / "y.zip")
    with pytest.raises(UserError, match="--force"):
        import_voice(tmp_path / "x.zip", tmp_path / "b")
    assert import_voice(tmp_path / "x.zip", tmp_path / "b", name="other").voice.name == "other"
    with pytest.raises(UserError, match="part of an engine"):
        export_voice(voices()["heart"], tmp_path / "z.zip")


TOML = f'language = "zh"\naudio = "v.wav"\ntext = "{GOOD_TEXT}"\nconsent = "me"\n'


def packed(
    tmp_path: Path, members: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def refused(path: Path, tmp_path: Path) -> str:
    store = tmp_path / "in" / "store"
    with pytest.raises(UserError) as caught:
        import_voice(path, store)
    assert not store.exists() or files(store) == []
    assert sorted(p.name for p in tmp_path.iterdir()) in (["v.zip"], ["in", "v.zip"])
    assert str(path) in str(caught.value) or "voice" in str(caught.value)
    return str(caught.value)


def link(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "holds nothing"),
        ([("v.toml", TOML.encode())], "one TOML file and one recording"),
        ([("v.toml", b""), ("w.toml", b"")], "one TOML file and one recording"),
        ([("v.toml", TOML.encode()), ("v.wav", b"x"), ("run.sh", b"x")], "one TOML file and one recording"),
        ([("../v.toml", TOML.encode()), ("v.wav", b"x")], "no plain file name"),
        ([("v.toml", TOML.encode()), ("../../v.wav", b"x")], "no plain file name"),
        ([("/v.toml", TOML.encode()), ("v.wav", b"x")], "no plain file name"),
        ([("a/v.toml", TOML.encode()), ("a/v.wav", b"x")], "no plain file name"),
        ([("v.toml", TOML.encode()), ("c:v.wav", b"x")], "no plain file name"),
        ([("v.toml", TOML.encode()), (".v.wav", b"x")], "no plain file name"),
        ([("v.toml", TOML.encode()), (link("v.wav"), b"/etc/passwd")], "is a link"),
        ([("v.toml", b"x" * (65 << 10)), ("v.wav", b"x")], "is larger than 64 KiB"),
        ([("v.toml", TOML.encode()), ("v.wav", b"no audio")], "is text, not a recording"),
        ([("v.toml", b"language = "), ("v.wav", b"x")], "not valid TOML"),
        ([("v.toml", TOML.replace("v.wav", "/etc/hostname").encode()), ("v.wav", b"x")], "must name the recording"),
        (
            [("v.toml", b'language = "en"\nengine = "kokoro"\nspeaker = "x"'), ("v.wav", b"x")],
            "must name the recording",
        ),
        ([("heart.toml", TOML.encode()), ("v.wav", GOOD.read_bytes())], "ships with the tool"),
        ([("con.toml", TOML.encode()), ("v.wav", GOOD.read_bytes())], "is no name for a voice"),
    ],
)
def test_a_hostile_zip_is_refused_and_leaves_nothing(
    members: list[tuple[str | zipfile.ZipInfo, bytes]], message: str, tmp_path: Path
) -> None:
    assert message in refused(packed(tmp_path, members), tmp_path)


def test_a_member_that_lies_about_its_size_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb: 40 MB of zeros in 40 kB, which the directory calls 10 bytes."""
    monkeypatch.setattr("jobs.voice_archive.MAX_RECORDING_BYTES", 1 << 20)
    path = packed(tmp_path, [("v.toml", TOML.encode()), ("v.wav", bytes(40 << 20))])
    assert path.stat().st_size < 100_000
    assert "is larger than 1024 KiB" in refused(path, tmp_path)
    content = path.read_bytes().replace(struct.pack("<I", 40 << 20), struct.pack("<I", 10))
    path.write_bytes(content)
    assert refused(path, tmp_path)


def test_unusual_packing_and_no_zip_at_all_are_refused(tmp_path: Path) -> None:
    good_members: list[tuple[str | zipfile.ZipInfo, bytes]] = [("v.toml", TOML.encode()), ("v.wav", GOOD.read_bytes())]
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        assert "packed in an unusual way" in refused(packed(tmp_path, good_members, method), tmp_path)
    whole = packed(tmp_path, good_members).read_bytes()
    for content in (b"", b"PK", whole[: len(whole) // 2], whole[:-30]):
        (tmp_path / "v.zip").write_bytes(content)
        assert "no zip file that can be read" in refused(tmp_path / "v.zip", tmp_path)
    (tmp_path / "v.zip").unlink()
    with pytest.raises(UserError, match="cannot be read"):
        import_voice(tmp_path / "v.zip", tmp_path / "store")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_zip_is_a_user_error_or_a_voice(damage: list[tuple[int, int]], tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.toml", TOML)
        archive.writestr("v.wav", b"RIFF" + bytes(200))
    content = bytearray(stream.getvalue())
    for place, byte in damage:
        content[place % len(content)] = byte
    (tmp_path / "v.zip").write_bytes(content)
    with pytest.raises(UserError):
        import_voice(tmp_path / "v.zip", tmp_path / "store")
