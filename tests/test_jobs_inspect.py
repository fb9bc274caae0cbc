"""`inspect`: figures that other meters show too, formats told apart, spoiled files caught, exit codes."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import RunCli
from finishing_signals import part, speech

from jobs.audio_file import Unreadable
from jobs.ffmpeg import ffmpeg_path
from jobs.finish import finish
from jobs.inspect import inspect_file
from jobs.records import Gap
from jobs.requirements import check_file, check_set
from presets.catalog import profiles

PROFILES = profiles()
AT_48K = "aresample=48000,ebur128=peak=true"
"""K-weighting is what the standard means at 48 kHz; ffmpeg's filter bends near the top of an 8 kHz band."""


def made(folder: Path, name: str, duration_s: float = 2.0, file: str = "a") -> Path:
    """A file that the finisher made under a profile."""
    profile = PROFILES[name]
    path = folder / f"{file}{profile.suffix}"
    finish([part(folder, speech(duration_s), Gap("end"))], 0, None, profile, {}, path)
    return path


def failures(path: Path, name: str) -> set[str]:
    return {check.what for check in check_file(inspect_file(path), PROFILES[name]) if check.verdict == "fail"}


def converted(source: Path, target: Path, *options: str) -> Path:
    command = [ffmpeg_path(), "-v", "error", "-y", "-i", str(source), *options, str(target)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return target


def ebur128(path: Path) -> tuple[float, float]:
    """Integrated loudness and true peak as ffmpeg measures them."""
    command = [ffmpeg_path(), "-hide_banner", "-nostdin", "-i", str(path), "-af", AT_48K, "-f", "null", "-"]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stderr.rpartition("Summary:")[2]
    loudness, peak = re.search(r"I: +(\S+) LUFS", words), re.search(r"Peak: +(\S+) dBFS", words)
    assert loudness and peak
    return float(loudness[1]), float(peak[1])


@pytest.mark.parametrize(
    "name", ["acx", "podcast-stereo", "opus", "m4a", "flac24k", "wav48k", "asterisk-gsm", "yeastar"]
)
def test_what_the_finisher_makes_passes_its_own_profile(tmp_path: Path, name: str) -> None:
    assert failures(made(tmp_path, name), name) == set()


@pytest.mark.parametrize("rate_hz", [8000, 22050, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_loudness_and_peak_agree_with_ffmpeg(tmp_path: Path, rate_hz: int, channels: int) -> None:
    sides = [speech(3, rate_hz, seed=seed, peak=0.5 / (1 + seed)) for seed in range(channels)]
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack(sides, axis=1), rate_hz, "PCM_24")
    found, (lufs, peak) = inspect_file(path), ebur128(path)
    assert found.loudness_lufs == pytest.approx(lufs, abs=0.15)
    assert found.true_peak_dbtp == pytest.approx(peak, abs=0.3)
    assert found.sample_peak_dbfs == pytest.approx(20 * math.log10(max(np.abs(side).max() for side in sides)), abs=0.01)
    assert found.rms_db == pytest.approx(10 * math.log10(np.mean(np.square(sides))), abs=0.05)


def test_silence_at_both_ends_is_found_also_under_room_tone(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(44100) / 44100)
    quiet = [np.zeros(33075), tone, np.zeros(88200)]
    for level in (0.0, 10 ** (-60 / 20)):
        whole = np.concatenate(quiet)
        soundfile.write(tmp_path / "a.wav", whole + level * random.normal(0, 1, len(whole)), 44100)
        found = inspect_file(tmp_path / "a.wav")
        assert found.head_silence_s == pytest.approx(0.75, abs=0.011)
        assert found.tail_silence_s == pytest.approx(2.0, abs=0.011)


@pytest.mark.parametrize(
    ("suffix", "options", "container", "codec", "rate_hz"),
    [
        (".m4a", ("-c:a", "aac"), "m4a", "aac", 24000),
        (".mp3", ("-c:a", "libmp3lame", "-b:a", "64k"), "mp3", "mp3", 24000),
        (".flac", (), "flac", "flac", 24000),
        (".opus", ("-c:a", "libopus"), "opus", "opus", 24000),
        (".ulaw", ("-f", "mulaw", "-ar", "8000"), "raw", "ulaw", 8000),
        (".alaw", ("-f", "alaw", "-ar", "8000"), "raw", "alaw", 8000),
        (".sln16", ("-f", "s16le", "-ar", "16000"), "raw", "pcm16", 16000),
        (".wma", ("-c:a", "wmav2"), "wma", "wmav2", 24000),
    ],
)
def test_files_from_anywhere_are_read(
    tmp_path: Path, suffix: str, options: tuple[str, ...], container: str, codec: str, rate_hz: int
) -> None:
    source = tmp_path / "source.wav"
    soundfile.write(source, speech(3), 24000)
    found = inspect_file(converted(source, tmp_path / f"a{suffix}", *options))
    assert found.facts.container == container
    assert found.facts.codec == ("pcm16" if codec == "flac" else codec)
    assert found.facts.sample_rate_hz == rate_hz
    assert found.duration_s == pytest.approx(3.4, abs=0.15)
    original = inspect_file(source).loudness_lufs
    assert original is not None
    assert found.loudness_lufs == pytest.approx(original, abs=1.0)


def test_constant_and_varying_bit_rate_are_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "source.wav"
    soundfile.write(source, speech(5, 44100), 44100)
    constant = converted(source, tmp_path / "c.mp3", "-c:a", "libmp3lame", "-b:a", "128k", "-metadata", "title=A")
    varying = converted(source, tmp_path / "v.mp3", "-c:a", "libmp3lame", "-q:a", "4")
    assert inspect_file(constant).facts.constant_rate is True
    assert inspect_file(constant).bitrate_kbps == pytest.approx(128)
    assert inspect_file(varying).facts.constant_rate is False


def test_each_spoiling_of_an_audiobook_file_fails_on_what_was_spoiled(tmp_path: Path) -> None:
    good = made(tmp_path, "acx", 3.0)
    softer = ("-af", "volume=-1.5dB")  # encoding anew lifts peaks
    cbr = ("-c:a", "libmp3lame", "-b:a", "192k", *softer, "-ar", "44100")
    for options, wrong in (
        (("-c:a", "libmp3lame", "-q:a", "4", *softer), {"bit rate kind", "bit rate"}),
        (("-c:a", "libmp3lame", "-b:a", "128k", *softer), {"bit rate"}),
        ((*cbr[:6], "-ar", "48000"), {"sample rate"}),
        ((*cbr, "-af", "pan=stereo|c0=c0|c1=c0,volume=-1.5dB"), {"channels"}),
        ((*cbr, "-af", "volume=-6dB"), {"RMS"}),
        ((*cbr, "-af", "volume=9dB"), {"RMS", "sample peak"}),
        ((*cbr, "-ss", "0.6"), {"head silence"}),
        ((*cbr, "-t", "4.3"), {"tail silence"}),
    ):
        assert failures(converted(good, tmp_path / "bad.mp3", *options), "acx") == wrong, options


def test_a_whole_set_must_be_alike(tmp_path: Path) -> None:
    for number, (rate_hz, channels) in enumerate([(44100, 1), (44100, 2), (48000, 1)]):
        soundfile.write(tmp_path / f"{number}.wav", np.full((9000, channels), 0.1), rate_hz)
    files = [inspect_file(path) for path in sorted(tmp_path.glob("*.wav"))]
    assert [check.verdict for check in check_set(files)] == ["fail", "fail", "pass"]
    assert {check.verdict for check in check_set(files[:1])} == {"pass"}


@pytest.mark.parametrize("content", [b"", b"not audio at all, just words", b"RIFF\x00\x00\x00\x00WAVE"])
def test_what_is_no_audio_is_refused_with_a_reason(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(Unreadable):
        inspect_file(tmp_path / "a.wav")


def test_digital_silence_has_no_level_and_is_all_head(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(24000), 24000)
    found = inspect_file(tmp_path / "a.wav")
    assert (found.loudness_lufs, found.rms_db, found.true_peak_dbtp, found.noise_floor_db) == (None,) * 4
    assert (found.head_silence_s, found.tail_silence_s) == (1.0, 0.0)


def test_the_command_says_pass_fail_and_unreadable_by_its_exit_code(tmp_path: Path, cli: RunCli) -> None:
    (tmp_path / "set").mkdir()
    good = made(tmp_path / "set", "asterisk-ulaw")
    for take in (tmp_path / "set").glob("take-*"):
        take.unlink()
    passed = cli("inspect", "set", "--profile", "asterisk-ulaw", "--json")
    assert passed.code == 0 and passed.json()["passed"], passed.err
    assert {check["verdict"] for check in passed.json()["files"][0]["checks"]} == {"pass"}
    good.rename(good.with_suffix(".sln"))
    failed = cli("inspect", "set", "--profile", "asterisk-ulaw")
    assert failed.code == 3
    assert "fail\tsuffix\t.sln\t.ulaw" in failed.out
    (tmp_path / "bad.wav").write_bytes(b"RIFF")
    assert cli("inspect", "bad.wav").code == 3
    assert cli("inspect", "nothing-here.wav").code == 2
