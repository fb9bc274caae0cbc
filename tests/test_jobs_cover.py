"""Covers: found inside every kind of file by a stranger's reader, the sound untouched; wrong pictures refused."""

from __future__ import annotations

import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from finishing_signals import speech

from jobs.cover import MAX_BYTES, read_cover
from jobs.cover_tag import add_cover
from jobs.encode import write
from jobs.errors import UserError
from jobs.ffmpeg import decode, ffmpeg_path
from presets.catalog import profiles

PROFILES = profiles()
SHAPES = {name: PROFILES[name] for name in ("acx", "m4a", "opus", "flac24k")}
SHAPES["vorbis"] = replace(PROFILES["opus"], container="ogg", encoding="vorbis", suffix=".ogg", bitrate_kbps=None)


def png(path: Path, side: int = 40, filling: int = 0) -> Path:
    """A valid PNG of noise, made longer by `filling` bytes of a private chunk."""
    rows = np.random.default_rng(1).integers(0, 256, (side, side * 3 + 1), np.uint8)
    rows[:, 0] = 0
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"prVt", bytes(filling))]
    chunks += [(b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


def jpeg(path: Path) -> Path:
    picture = ["-f", "lavfi", "-i", "testsrc=s=60x90", "-frames:v", "1", "-y", str(path)]
    subprocess.run([ffmpeg_path(), "-v", "error", *picture], check=True, stdin=subprocess.DEVNULL)
    return path


def told(path: Path) -> str:
    """All that ffmpeg says about a file, warnings included."""
    return subprocess.run([ffmpeg_path(), "-i", str(path)], capture_output=True, text=True).stderr


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stranger_finds_the_cover_and_the_same_sound(shape: str, tmp_path: Path) -> None:
    profile = SHAPES[shape]
    path = tmp_path / f"a{profile.suffix}"
    sound = speech(1.5, profile.sample_rate_hz)
    write(iter([sound]), len(sound), profile, {"title": "第一章 = x; y", "artist": "A"}, path)
    before = np.concatenate(list(decode(path, profile.sample_rate_hz, 1)))
    # 200 kB take several Ogg pages; the JPEG is smaller than one.
    for cover in (png(tmp_path / "c.png", 250), jpeg(tmp_path / "c.jpg")):
        covered = tmp_path / f"b{profile.suffix}"
        covered.write_bytes(path.read_bytes())
        assert add_cover(covered, profile.container, read_cover(cover))
        command = [
            ffmpeg_path(),
            "-v",
            "error",
            "-i",
            str(covered),
            "-map",
            "0:v",
            "-c",
            "copy",
            "-f",
            "image2pipe",
            "-",
        ]
        got = subprocess.run(command, capture_output=True)
        assert (got.stdout, got.stderr) == (cover.read_bytes(), b"")
        said = told(covered)
        assert "(attached pic)" in said and "第一章 = x; y" in said and "AI-generated voice" in said
        after = np.concatenate(list(decode(covered, profile.sample_rate_hz, 1)))
        assert np.array_equal(after, before)
    assert [entry.name for entry in tmp_path.iterdir() if "covered" in entry.name] == []


def test_formats_without_room_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF")
    assert not add_cover(path, "wav", read_cover(png(tmp_path / "c.png"))) and path.read_bytes() == b"RIFF"


def test_wrong_pictures_are_refused_with_what_they_are(tmp_path: Path) -> None:
    whole = png(tmp_path / "c.png").read_bytes()
    photo = jpeg(tmp_path / "c.jpg").read_bytes()
    cases = {
        b"GIF89a" + bytes(20): "is a GIF file",
        b"RIFF\x10\0\0\0WEBPVP8 ": "is a WebP file",
        b"%PDF-1.4": "is no picture known here",
        b"": "is no picture known here",
        whole[:-20]: "is a PNG file that is cut off",
        whole[:20]: "is damaged",
        photo[:100]: "damaged",
        photo[:-2]: "is a JPEG file that is cut off",
        b"\xff\xd8\xff\xe0": "is damaged",
    }
    for data, why in cases.items():
        (tmp_path / "x.jpg").write_bytes(data)
        with pytest.raises(UserError, match=why):
            read_cover(tmp_path / "x.jpg")
    with pytest.raises(UserError, match=r"16\.\d MB, 16 MB is the most"):
        read_cover(png(tmp_path / "big.png", filling=MAX_BYTES))
    with pytest.raises(UserError, match="cannot be read"):
        read_cover(tmp_path / "none.jpg")
    cover = read_cover(tmp_path / "c.jpg")
    assert (cover.kind, cover.width, cover.height) == ("jpeg", 60, 90)
