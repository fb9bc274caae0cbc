"""Formats byte by byte: headers as phone systems and stores want them, tags as players read them."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from finishing_signals import part, speech

from jobs import encode, ogg
from jobs.ffmpeg import ffmpeg_path
from jobs.finish import finish, silence
from jobs.records import Gap, Measured
from jobs.tags import NOTICE, completed, id3
from presets.catalog import Profile, profiles

PROFILES = profiles()
TAGS = {"title": "第一章 “Nacht”", "artist": "Zoë", "album": "Bücher", "track": "3", "language": "zh"}


def made(profile: Profile, folder: Path, duration_s: float = 1.5) -> tuple[bytes, Measured, Path]:
    path = folder / f"out{profile.suffix}"
    measured = finish([part(folder, speech(duration_s), Gap("end"))], 0, None, profile, TAGS, path)
    return path.read_bytes(), measured, path


def chunks(data: bytes) -> dict[bytes, bytes]:
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE"
    assert struct.unpack("<I", data[4:8])[0] == len(data) - 8
    found, position = {}, 12
    while position < len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        found[name] = data[position + 8 : position + 8 + size]
        position += 8 + size + size % 2
    assert position == len(data)
    return found


@pytest.mark.parametrize(
    ("name", "tag", "rate_hz", "bits"),
    [
        ("ivr-pcm8k", 1, 8000, 16),
        ("ivr-ulaw", 7, 8000, 8),
        ("ivr-alaw", 6, 8000, 8),
        ("wav24k", 1, 24_000, 16),
        ("wav48k", 1, 48_000, 24),
    ],
)
def test_wav_headers(name: str, tag: int, rate_hz: int, bits: int, tmp_path: Path) -> None:
    """The format tag is plain, never EXTENSIBLE (65534), which Asterisk refuses."""
    data, measured, _ = made(PROFILES[name], tmp_path)
    parts = chunks(data)
    assert struct.unpack("<HHIIHH", parts[b"fmt "][:16]) == (tag, 1, rate_hz, rate_hz * bits // 8, bits // 8, bits)
    assert len(parts[b"data"]) == round(measured.duration_s * rate_hz) * bits // 8
    assert measured.size_bytes == len(data)


def test_phone_wav_holds_nothing_but_format_and_sound(tmp_path: Path) -> None:
    data, _, _ = made(PROFILES["ivr-pcm8k"], tmp_path)
    assert list(chunks(data)) == [b"fmt ", b"data"]
    assert data[36:40] == b"data", "the sound starts at byte 44, where the simplest players look for it"


def test_float_wav_is_format_three(tmp_path: Path) -> None:
    data, _, _ = made(replace(PROFILES["wav24k"], encoding="float"), tmp_path)
    assert struct.unpack("<H", chunks(data)[b"fmt "][:2]) == (3,)


@pytest.mark.parametrize(("name", "form"), [("asterisk-ulaw", "mulaw"), ("asterisk-alaw", "alaw")])
def test_raw_files_are_headerless(name: str, form: str, tmp_path: Path) -> None:
    data, measured, path = made(PROFILES[name], tmp_path)
    assert len(data) == round(measured.duration_s * 8000)
    command = [ffmpeg_path(), "-v", "error", "-f", form, "-ar", "8000", "-i", str(path), "-f", "s16le", "-"]
    heard = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, "<i2")
    sln, _, _ = made(replace(PROFILES["asterisk-sln"], name="x"), tmp_path)
    linear = np.frombuffer(sln, "<i2")
    assert len(linear) == len(heard)
    loud = np.abs(linear) > 500
    # The two limiters work 0.15 dB apart.
    assert np.corrcoef(heard[loud], linear[loud])[0, 1] > 0.999


def mp3_frames(data: bytes) -> list[tuple[int, int, int]]:
    """(kbit/s, Hz, channels) of every MPEG layer III frame, with no gap between them, after an ID3v2 tag."""
    assert data[:3] == b"ID3"
    a, b, c, d = data[6:10]
    position, frames = 10 + (a << 21 | b << 14 | c << 7 | d), []
    kbps_of = {1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)}
    kbps_of[2] = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
    while position < len(data):
        (head,) = struct.unpack_from(">I", data, position)
        assert head >> 21 == 0x7FF, f"no frame at byte {position}"
        version = {3: 1, 2: 2}[head >> 19 & 3]
        kbps = kbps_of[version][head >> 12 & 15]
        rate_hz = (44_100, 48_000, 32_000)[head >> 10 & 3] // version
        frames.append((kbps, rate_hz, 1 if head >> 6 & 3 == 3 else 2))
        position += (144 if version == 1 else 72) * kbps * 1000 // rate_hz + (head >> 9 & 1)
    assert position == len(data)
    return frames


@pytest.mark.parametrize(
    ("name", "frame"), [("acx", (192, 44_100, 1)), ("podcast", (96, 44_100, 1)), ("podcast-stereo", (128, 44_100, 2))]
)
def test_mp3_is_constant_bit_rate_frame_by_frame(name: str, frame: tuple[int, int, int], tmp_path: Path) -> None:
    data, measured, path = made(PROFILES[name], tmp_path, 4)
    frames = mp3_frames(data)
    assert set(frames) == {frame}
    assert len(frames) * 1152 / 44_100 == pytest.approx(measured.duration_s, abs=0.1)
    assert soundfile.info(path).frames == round(measured.duration_s * 44_100), "the LAME header makes it gapless"


def test_mp3_at_variable_bit_rate(tmp_path: Path) -> None:
    data, _, _ = made(replace(PROFILES["podcast"], encoding="vbr"), tmp_path, 4)
    assert len({kbps for kbps, _, _ in mp3_frames(data)}) > 3


@pytest.mark.parametrize(
    ("kbps", "rate_hz"), [(320, 44_100), (256, 44_100), (224, 48_000), (160, 32_000), (64, 24_000)]
)
def test_what_lame_takes_off_is_given_back(kbps: int, rate_hz: int, tmp_path: Path) -> None:
    """Without a target the level that goes in comes out, at every bit rate."""
    profile = replace(
        PROFILES["podcast"], loudness="none", target_db=None, bitrate_kbps=kbps, sample_rate_hz=rate_hz, ceiling_dbtp=0
    )
    _, through, _ = made(profile, tmp_path, 3)
    plain = replace(profile, container="wav", encoding="float", suffix=".wav", bitrate_kbps=None)
    _, direct, _ = made(plain, tmp_path, 3)
    assert through.rms_db is not None and direct.rms_db is not None
    assert through.rms_db == pytest.approx(direct.rms_db, abs=0.08)


@pytest.mark.parametrize("name", ["podcast", "acx", "flac24k", "opus", "m4a", "wav24k"])
def test_players_read_the_tags(name: str, tmp_path: Path) -> None:
    _, _, path = made(PROFILES[name], tmp_path)
    command = [ffmpeg_path(), "-v", "error", "-i", str(path), "-f", "ffmetadata", "-"]
    words = subprocess.run(command, capture_output=True, check=True).stdout.decode().lower()
    streams = subprocess.run([ffmpeg_path(), "-hide_banner", "-i", str(path)], capture_output=True).stderr.decode()
    shown = words + streams.lower()
    for text in ("第一章 “nacht”", "zoë", "bücher", NOTICE.lower()):
        assert text in shown, text
    assert any(f"track{sign}3" in shown.replace(" ", "") for sign in "=:") or "tracknumber" in shown


def test_phone_files_carry_no_tags(tmp_path: Path) -> None:
    for name, profile in PROFILES.items():
        if name.startswith(("ivr", "asterisk")):
            assert "Zoë".encode() not in made(profile, tmp_path)[0]


def test_id3_text_and_sizes() -> None:
    tag = id3({"title": "第" * 100, "comment": "c", "language": "en-GB"})
    assert tag[:6] == b"ID3\x04\x00\x00"
    assert tag[6:10] == bytes([0, 0, *divmod(len(tag) - 10, 128)])
    assert b"TIT2" + bytes([0, 0, 2, 45]) + b"\0\0\x03" + "第".encode() in tag
    assert b"TLAN\0\0\0\x04\0\0\x03eng" in tag
    assert id3({}) == b""


def test_tags_are_cleaned_and_unknown_ones_refused() -> None:
    assert completed({"title": " a\x00\n\x1bb ", "artist": "  "}) == {"comment": NOTICE, "title": "ab"}
    assert completed({"comment": "mine"}) == {"comment": "mine"}
    with pytest.raises(ValueError, match="'titel'"):
        completed({"titel": "x"})


@pytest.mark.parametrize("name", ["opus", "vorbis"])
def test_ogg_pages_carry_our_serial_and_right_checksums(name: str, tmp_path: Path) -> None:
    profile = PROFILES["opus"]
    if name == "vorbis":
        profile = replace(profile, container="ogg", encoding="vorbis", suffix=".ogg", bitrate_kbps=None)
    data, _, path = made(profile, tmp_path, 6)
    position, pages = 0, 0
    while position < len(data):
        lengths = data[position + 27 : position + 27 + data[position + 26]]
        end = position + 27 + len(lengths) + sum(lengths)
        serial, _, found = struct.unpack_from("<III", data, position + 14)
        assert serial == ogg.SERIAL
        blank = data[position : position + 22] + bytes(4) + data[position + 26 : end]
        assert found == ogg.checksum(blank) == slow_checksum(blank)
        position, pages = end, pages + 1
    assert pages > 3
    # ffmpeg checks every page's sum and complains about a wrong one.
    heard = subprocess.run([ffmpeg_path(), "-v", "warning", "-i", str(path), "-f", "null", "-"], capture_output=True)
    assert heard.stderr == b""


def slow_checksum(page: bytes) -> int:
    """RFC 3533 as it is written, bit by bit."""
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value


def test_something_else_than_ogg_is_not_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "a.ogg"
    path.write_bytes(b"RIFF" + bytes(100))
    with pytest.raises(ValueError, match="not an Ogg page"):
        ogg.set_serial(path)
    assert path.read_bytes() == b"RIFF" + bytes(100)


def test_past_four_gib_wav_becomes_rf64_and_g711_is_refused(tmp_path: Path) -> None:
    """The decision is taken on the announced length, before a sample is written."""
    samples = 3_000_000_000
    path = tmp_path / "a.wav"
    block = np.zeros(1000, np.float32)
    notes = encode.write([block], samples, PROFILES["wav24k"], {}, path)
    assert path.read_bytes()[:4] == b"RF64"
    assert notes == ["longer than 4 GiB: written as RF64"]
    with pytest.raises(ValueError, match="split the item"):
        encode.write([block], 2 * samples, PROFILES["ivr-ulaw"], {}, path)


def test_what_reads_back_otherwise_is_refused(tmp_path: Path) -> None:
    """A file at another rate than the profile's is found out when it is measured."""
    path = tmp_path / "a.wav"
    silence(500, PROFILES["wav48k"], {}, path)
    with pytest.raises(RuntimeError, match="48000 Hz"):
        list(encode.read_back(path, PROFILES["wav24k"]))
