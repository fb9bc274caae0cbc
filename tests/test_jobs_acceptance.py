"""Files read again as the phone system reads them: what the finisher makes is taken, each spoiling is refused."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import RunCli, report_items, write_jsonl
from finishing_signals import part, speech

from jobs.acceptance import Refused, violations, wav_header
from jobs.finish import finish
from jobs.inspect import inspect_file
from jobs.naming import NameRule, name_from_out
from jobs.records import Gap
from presets.catalog import Profile, profiles
from presets.profile import Acceptance

PROFILES = profiles()
PHONE = sorted(name for name, profile in PROFILES.items() if profile.loudness == "speech")


def rule_of(profile: Profile) -> NameRule:
    return NameRule(profile.name_pattern, profile.name_rule, profile.name_max_chars, profile.folder)


@pytest.mark.parametrize("name", PHONE)
def test_every_phone_profile_writes_what_its_system_takes(tmp_path: Path, name: str) -> None:
    profile = PROFILES[name]
    path = tmp_path / f"a{profile.suffix}"
    measured = finish([part(tmp_path, speech(1.5), Gap("end"))], 0, None, profile, {}, path)
    assert violations(path, profile, measured.duration_s) == []
    assert path.suffix == path.suffix.lower(), "an upper-case .WAV means GSM on Asterisk"
    found = inspect_file(path, profile)
    assert found.facts.codec == profile.encoding and found.facts.sample_rate_hz == profile.sample_rate_hz
    assert found.speech_db == pytest.approx(profile.target_db, abs=0.5)


def header(tag: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, before: bytes = b"") -> bytes:
    form = struct.pack("<HHIIHH", tag, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    body = b"WAVE" + b"fmt " + struct.pack("<I", 16) + form + before + b"data" + struct.pack("<I", 320) + bytes(320)
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (header(tag=7), "format tag 7"),
        (header(tag=0xFFFE), "format tag 65534"),
        (header(channels=2), "channels 2"),
        (header(rate=44100), "sample rate 44100"),
        (header(bits=8), "bits a sample 8"),
        (header(before=b"LIST" + struct.pack("<I", 4) + b"INFO"), "chunks fmt , LIST, data"),
        (header()[:-20], "320 bytes of sound in the header, 300 in the file"),
        (header()[:44], "320 bytes of sound in the header, 0 in the file"),
        (b"RF64" + header()[4:], "RF64"),
        (b"ID3 and no wave", "not with RIFF"),
        (b"", "not with RIFF"),
    ],
)
def test_what_asterisk_would_not_play_is_refused(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    assert any(word in fault for fault in violations(path, PROFILES["asterisk-wav"], 0.02)), violations(
        path, PROFILES["asterisk-wav"], 0.02
    )
    path.write_bytes(header())
    assert violations(path, PROFILES["asterisk-wav"], 0.02) == []


def test_an_extensible_header_of_another_tool_is_told(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(800), 8000, "PCM_16", format="WAVEX")
    with (tmp_path / "a.wav").open("rb") as file:
        assert wav_header(file).tag == 0xFFFE
    assert violations(tmp_path / "a.wav", PROFILES["3cx"], 0.1)


def test_headerless_files_are_whole_frames(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(161))
    assert violations(tmp_path / "a", PROFILES["asterisk-ulaw"], 0.02) == []
    assert violations(tmp_path / "a", PROFILES["asterisk-sln"], 0.02)
    assert violations(tmp_path / "a", PROFILES["asterisk-gsm"], 0.1)
    assert "240-byte" in violations(tmp_path / "a", PROFILES["cisco-ring"], 0.02)[0]
    (tmp_path / "a").write_bytes(b"")
    assert violations(tmp_path / "a", PROFILES["asterisk-ulaw"], 0.0)


def test_ring_tones_are_filled_up_to_whole_packets_and_g722_is_half_a_byte_a_sample(tmp_path: Path) -> None:
    takes = [part(tmp_path, speech(0.7), Gap("end"))]
    ring = finish(takes, 0, None, PROFILES["cisco-ring"], {}, tmp_path / "a.raw")
    assert ring.size_bytes % 240 == 0 and ring.duration_s == ring.size_bytes / 8000
    assert set((tmp_path / "a.raw").read_bytes()[-20:]) == {0xFF}, "u-law's silence"
    wide = finish(takes, 0, None, PROFILES["asterisk-g722"], {}, tmp_path / "a.g722")
    assert wide.size_bytes == pytest.approx(wide.duration_s * 8000, abs=1)


@pytest.mark.parametrize("accept", [Acceptance(max_bytes=20_000), Acceptance(max_s=1.0)])
def test_a_file_beyond_the_limits_fails_with_the_reason_and_is_not_kept(tmp_path: Path, accept: Acceptance) -> None:
    profile = dataclasses.replace(PROFILES["yeastar"], accept=accept)
    path = tmp_path / "a.wav"
    with pytest.raises(Refused, match=r"not what yeastar takes: .* are taken"):
        finish([part(tmp_path, speech(2), Gap("end"))], 0, None, profile, {}, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("profile", "good", "bad"),
    [
        ("cisco-uccx", "main_menu-1", "main menu"),
        ("cisco-cvp", "main_menu", "main-menu"),
        ("genesys-cloud", "main_menu", "1_menu"),
        ("yeastar", "mainmenu", "main_menu"),
        ("asterisk-ulaw", "main-menu", "main&menu"),
        ("allworx", "aa2c", "main-menu"),
        ("3cx", "welcome", "欢迎"),
    ],
)
def test_names_are_those_that_the_system_takes(profile: str, good: str, bad: str) -> None:
    chosen = PROFILES[profile]
    assert name_from_out(good, chosen.suffix, rule_of(chosen)).path == good + chosen.suffix
    with pytest.raises(ValueError, match="no name for this profile"):
        name_from_out(bad, chosen.suffix, rule_of(chosen))


def test_the_rate_folder_stands_before_the_file_once() -> None:
    profile = PROFILES["freeswitch-16k"]
    assert name_from_out("en/ivr/welcome", ".wav", rule_of(profile)).path == "en/ivr/16000/welcome.wav"
    assert name_from_out("en/ivr/16000/welcome", ".wav", rule_of(profile)).path == "en/ivr/16000/welcome.wav"
    assert name_from_out("welcome", ".wav", rule_of(profile)).path == "16000/welcome.wav"


def test_a_run_names_the_broken_rule_and_makes_the_other_items(tmp_path: Path, cli: RunCli) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/short.toml").write_text('extends = "yeastar"\n[accept]\nmax_s = 2\n')
    write_jsonl(
        tmp_path / "m.jsonl", [{"id": "a", "text": "Hi."}, {"id": "b", "text": "A long welcome to you all. " * 6}]
    )
    ended = cli(
        "run", "m.jsonl", "-o", "out", "--engine", "tone", "--workers", "1", "-p", "short", "--profiles-folder", "own"
    )
    assert ended.code == 3, ended.err
    items = report_items(tmp_path / "out")
    assert items["a"]["state"] == "done" and items["b"]["state"] == "failed"
    assert (
        "not what short takes" in items["b"]["reason"]
        and "at most 2 s are taken: split the text" in items["b"]["reason"]
    )
    assert "Traceback" not in items["b"]["reason"]
