"""The whole chain on speech-like takes: level and ceiling by an independent meter, exact formats, the same bytes."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from finishing_signals import Block, ebur128, part, source_of, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.errors import EnvironmentFault
from jobs.ffmpeg import ffmpeg_path
from jobs.finish import finish, silence
from jobs.records import Gap, Measured
from presets.catalog import Profile, profiles

PROFILES = profiles()
LONG = {name: profile for name, profile in PROFILES.items() if (profile.accept.max_s or 60) >= 60}
DISTINCT = sorted({profile.digest: name for name, profile in sorted(LONG.items(), reverse=True)}.values())
"""Profiles that give different bytes."""
TAGS = {"title": "第一章 “Nacht”", "artist": "Zoë", "album": "Bücher", "track": "3", "language": "zh"}


def made(takes: list[Block], profile: Profile, folder: Path, name: str = "out") -> tuple[Path, Measured]:
    parts = [part(folder, take, Gap("sentence")) for take in takes[:-1]] + [part(folder, takes[-1], Gap("end"))]
    path = folder / f"{name}{profile.suffix}"
    return path, finish(parts, 0, None, profile, TAGS, path)


def decoded(path: Path, profile: Profile) -> Block:
    """The first channel as ffmpeg hears it."""
    command = [ffmpeg_path(), "-v", "error", "-nostdin", *source_of(path, profile), "-ac", str(profile.channels)]
    command += ["-ar", str(profile.sample_rate_hz), "-f", "f32le", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(data, "<f4")[:: profile.channels].astype(np.float32)


def in_process(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)


def active_level_db(samples: Block, rate_hz: int) -> float:
    """Our own second reading of the phone level: FFT brick wall at 300 Hz, 20 ms frames, margin 15.9 dB."""
    spectrum = np.fft.rfft(samples)
    spectrum[np.fft.rfftfreq(len(samples), 1 / rate_hz) < 300] = 0
    high = np.fft.irfft(spectrum, len(samples))
    frame = rate_hz // 50
    power = (high[: len(high) // frame * frame].reshape(-1, frame) ** 2).mean(axis=1)
    active = power[power > 1e-7]
    for _ in range(30):
        active = active[active > active.mean() / 10**1.59]
    return float(10 * np.log10(active.mean()))


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize(("seed", "peak"), [(1, 0.9), (2, 0.25), (3, 0.12)])
def test_level_and_ceiling_by_an_independent_meter(name: str, seed: int, peak: float, tmp_path: Path) -> None:
    profile = PROFILES[name]
    takes = [speech(2.5, seed=10 * seed, peak=peak), speech(1.2, seed=10 * seed + 1, peak=peak)]
    path, measured = made(takes, profile, tmp_path)
    lufs, peak_dbtp = ebur128(source_of(path, profile))
    heard = decoded(path, profile)
    assert peak_dbtp <= profile.ceiling_dbtp + 0.05, "ffmpeg shows one decimal"
    assert measured.true_peak_dbtp == pytest.approx(peak_dbtp, abs=0.2)
    assert measured.loudness_lufs == pytest.approx(lufs, abs=0.2)
    assert profile.target_db is not None
    if profile.loudness == "lufs":
        assert lufs == pytest.approx(profile.target_db, abs=0.3)
    elif profile.loudness == "rms":
        assert 10 * np.log10(np.mean(heard.astype(float) ** 2)) == pytest.approx(profile.target_db, abs=0.3)
    else:
        assert active_level_db(heard, profile.sample_rate_hz) == pytest.approx(profile.target_db, abs=0.4)
    assert len(heard) / profile.sample_rate_hz == pytest.approx(measured.duration_s, abs=0.06)


def test_acx_files_meet_the_stores_rules(tmp_path: Path) -> None:
    """RMS -23..-18, peak under -3, noise floor under -60 but not digital silence, head and tail of room tone."""
    takes = [speech(6, seed=seed, peak=0.4, noise_db=-84) for seed in range(3)]
    path, measured = made(takes, PROFILES["acx"], tmp_path)
    heard = decoded(path, PROFILES["acx"]).astype(float)
    assert -23 <= 10 * np.log10(np.mean(heard**2)) <= -18
    assert 20 * np.log10(np.abs(heard).max()) <= -3
    head, tail = heard[4410 : round(0.7 * 44_100)], heard[-round(1.8 * 44_100) : -4410]
    for quiet in (head, tail):
        assert -80 < 10 * np.log10(np.mean(quiet**2)) < -60
    assert measured.notes == ()


@pytest.mark.parametrize("name", ["wav24k", "ivr-ulaw", "acx"])
def test_pauses_in_the_finished_file_are_exact(name: str, tmp_path: Path) -> None:
    profile = replace(PROFILES[name], room_tone_db=None)
    t = np.arange(12_000) / 24_000
    tone = (0.2 * np.sin(2 * np.pi * 800 * t)).astype(np.float32)
    take = np.concatenate([np.zeros(5000, np.float32), tone, np.zeros(7000, np.float32)])
    path = tmp_path / f"a{profile.suffix}"
    parts = [part(tmp_path, take, Gap("sentence", 700)), part(tmp_path, take, Gap("paragraph"))]
    parts.append(part(tmp_path, take, Gap("end", 300)))
    measured = finish(parts, 250, None, profile, {}, path)
    heard = np.abs(decoded(path, profile))
    loud = np.flatnonzero(heard > heard.max() / 50) * 1000 / profile.sample_rate_hz
    gaps = np.diff(loud)
    found = [float(loud[0]), *gaps[gaps > 15], 1000 * len(heard) / profile.sample_rate_hz - float(loud[-1])]
    asked = [250 + profile.head_ms, 700, profile.paragraph_ms, 300 + profile.tail_ms]
    assert found == pytest.approx(asked, abs=20)
    starts = [float(loud[0]), *(loud[1:][gaps > 15])]
    assert [1000 * start for start in measured.segment_starts_s] == pytest.approx(starts, abs=10)


@pytest.mark.parametrize("name", DISTINCT)
def test_the_same_takes_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    takes = [speech(1.5, seed=4), speech(0.8, seed=5)]
    digests = set()
    for attempt in ("first", "second"):
        path, _ = made(takes, PROFILES[name], tmp_path, attempt)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.mark.parametrize("duration_s", [0.05, 0.2, 0.39, 0.6, 1.5])
def test_short_clips_are_as_loud_as_long_ones(duration_s: float, tmp_path: Path) -> None:
    """One vowel, held: its level while it sounds does not depend on how long that is."""
    n = round(duration_s * 24_000)
    vowel = (0.1 * np.sin(2 * np.pi * 997 * np.arange(n) / 24_000)).astype(np.float32)
    path, measured = made([np.concatenate([np.zeros(4800, np.float32), vowel])], PROFILES["wav24k"], tmp_path)
    assert np.abs(decoded(path, PROFILES["wav24k"])).max() == pytest.approx(10 ** (-15.99 / 20), rel=0.12)
    assert any("ungated" in note for note in measured.notes) == (duration_s < 0.4)


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("level", [0.0, 1e-6])
def test_silence_is_not_blown_up(name: str, level: float, tmp_path: Path) -> None:
    hum = (level * np.sin(np.arange(24_000) / 10)).astype(np.float32)
    path, measured = made([hum], PROFILES[name], tmp_path)
    assert measured.gain_db == 0.0
    assert "not amplified" in measured.notes[0]
    assert np.abs(decoded(path, PROFILES[name])).max() < 0.002


def test_quiet_takes_are_raised_no_further_than_the_profile_says(tmp_path: Path) -> None:
    _, measured = made([speech(2, peak=0.004, noise_db=-110)], PROFILES["wav24k"], tmp_path)
    assert measured.gain_db == 20.0
    assert "gain held at +20 dB" in measured.notes


@pytest.mark.parametrize("name", DISTINCT)
def test_silent_items(name: str, tmp_path: Path) -> None:
    profile = PROFILES[name]
    path = tmp_path / f"a{profile.suffix}"
    measured = silence(1500, profile, {"title": "x"}, path)
    assert measured.duration_s == pytest.approx(1.5)
    assert measured.notes == ()
    heard = decoded(path, profile)
    assert len(heard) / profile.sample_rate_hz == pytest.approx(1.5, abs=0.06)
    assert np.abs(heard).max() < 0.002


def test_no_parts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one part"):
        finish([], 0, None, PROFILES["wav24k"], {}, tmp_path / "a.wav")


def test_a_failed_item_leaves_nothing_behind(tmp_path: Path) -> None:
    broken = part(tmp_path, np.full(1000, np.nan, np.float32), Gap("end"))
    before = set(tmp_path.iterdir())
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="make it again"):
        finish([broken], 0, None, PROFILES["podcast"], {}, tmp_path / "a.mp3")
    assert set(tmp_path.iterdir()) == before


def test_a_full_disk_is_an_oserror_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on file size stands for the full disk: both show as an error in the middle of writing."""
    resource = pytest.importorskip("resource", reason="no file size limits on this system")
    take = part(tmp_path, speech(8), Gap("end"))
    names = ["wav24k", "flac24k", "opus", "podcast", "m4a", "asterisk-ulaw"]
    script = f"""
import resource, signal
from pathlib import Path
from jobs.finish import Part, finish
from jobs.records import Gap
from presets.catalog import profiles
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({20_000}, {resource.RLIM_INFINITY}))
for name in {names}:
    profile = profiles()[name]
    try:
        finish([Part({take.path!r}, 24_000, {take.samples}, Gap("end"))], 0, None, profile, {{}},
            Path({str(tmp_path)!r}) / ("a" + profile.suffix))
    except OSError as error:
        print(name, error.errno)
"""
    ended = in_process(script)
    assert ended.stdout.splitlines() == [f"{name} {errno.EFBIG}" for name in names]
    assert ended.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == [Path(take.path).name]


def test_missing_ffmpeg_is_told_where_a_format_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    ffmpeg_path.cache_clear()
    try:
        with pytest.raises(EnvironmentFault, match="imageio-ffmpeg"):
            made([speech(1)], PROFILES["podcast"], tmp_path)
        _, measured = made([speech(1)], PROFILES["ivr-ulaw"], tmp_path)
    finally:
        ffmpeg_path.cache_clear()
    assert measured.size_bytes > 0


@pytest.mark.parametrize(("name", "minutes"), [("wav48k", 12), ("acx", 5)])
def test_memory_does_not_grow_with_the_item(name: str, minutes: int, tmp_path: Path) -> None:
    """The process grows by far less than the item's samples take at the file's rate."""
    take = part(tmp_path, speech(6, peak=0.5), Gap("sentence"))
    script = f"""
import resource
from pathlib import Path
from jobs.finish import Part, finish
from jobs.records import Gap
from presets.catalog import profiles
take = Part({take.path!r}, 24_000, {take.samples}, Gap("sentence"))
profile, target = profiles()[{name!r}], Path({str(tmp_path / "a")!r})
finish([take] * 3, 0, None, profile, {{}}, target)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
measured = finish([take] * {minutes * 10}, 0, None, profile, {{}}, target)
print(measured.duration_s, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    duration_s, grown_mib = map(float, in_process(script).stdout.split())
    assert duration_s > 60 * minutes
    assert grown_mib < 30, f"{grown_mib} MiB more, the samples are {duration_s * 44_100 * 4 / 2**20:.0f} MiB"


@given(
    name=st.sampled_from(["wav24k", "ivr-ulaw", "asterisk-sln", "flac24k", "wav48k"]),
    kinds=st.lists(st.sampled_from(["silence", "dc", "noise", "impulse", "square", "sample"]), min_size=1, max_size=3),
    level=st.sampled_from([1e-7, 0.01, 0.9, 5.0, 200.0]),
    length=st.integers(1, 30_000),
)
@settings(max_examples=60, deadline=None)
def test_any_take_gives_a_file_under_the_ceiling(
    name: str, kinds: list[str], level: float, length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    shapes = {
        "silence": np.zeros(length),
        "dc": np.ones(length),
        "noise": np.random.default_rng(length).uniform(-1, 1, length),
        "impulse": np.eye(1, length, length // 2)[0],
        "square": np.sign(np.sin(np.arange(length) / 7)),
        "sample": np.ones(1),
    }
    path, measured = made([(level * shapes[kind]).astype(np.float32) for kind in kinds], PROFILES[name], folder)
    heard = decoded(path, PROFILES[name])
    assert len(heard) == round(measured.duration_s * measured.sample_rate_hz)
    assert np.abs(heard).max() <= 10 ** (PROFILES[name].ceiling_dbtp / 20)
    assert measured.true_peak_dbtp is None or measured.true_peak_dbtp <= PROFILES[name].ceiling_dbtp


@pytest.mark.parametrize("name", ["wav24k", "ivr-pcm8k", "acx"])
def test_the_limiters_share_is_foreseen(name: str) -> None:
    """A gain that must be made up for what the limiter takes is nearly right before anything is written."""
    from jobs.blocks import sliced
    from jobs.level import first_setting, level_db
    from jobs.limiter import Limiter
    from jobs.loudness import Meter

    profile = replace(PROFILES[name], ceiling_dbtp=PROFILES[name].ceiling_dbtp - 4)
    samples = speech(6, seed=31, peak=0.5)
    draft, after = Meter(24_000, speech=True, true_peak=False), Meter(24_000, speech=True)
    draft.feed(samples)
    setting = first_setting(draft.finish(), profile, 6)
    limiter = Limiter(24_000, setting.limit_dbtp)
    for block in limiter.limited(sliced((samples * 10 ** (setting.gain_db / 20)).astype(np.float32))):
        after.feed(block)
    assert limiter.deepest_db > 3
    assert level_db(after.finish(), profile, 6) == pytest.approx(profile.target_db, abs=0.3)


def test_stereo_is_the_same_signal_twice(tmp_path: Path) -> None:
    profile = replace(PROFILES["wav24k"], channels=2, target_db=-16.0)
    path, measured = made([speech(2)], profile, tmp_path)
    samples, _ = soundfile.read(path)
    assert np.array_equal(samples[:, 0], samples[:, 1])
    assert ebur128(["-i", str(path)])[0] == pytest.approx(-16, abs=0.3)
    assert measured.channels == 2


def test_phone_band_is_kept_to(tmp_path: Path) -> None:
    """Rumble and everything above 3.4 kHz are gone, speech between is flat within a dB."""
    profile = replace(PROFILES["ivr-pcm8k"], loudness="none", target_db=None, head_ms=0, tail_ms=0, fade_ms=0)
    t = np.arange(48_000) / 24_000
    for frequency_hz, low_db, high_db in ((40, -99, -25), (300, -0.5, 0.5), (1000, -0.1, 0.1), (3000, -1, 0.5)):
        tone = (0.1 * np.sin(2 * np.pi * frequency_hz * t)).astype(np.float32)
        path, _ = made([tone], profile, tmp_path)
        middle = decoded(path, profile)[4000:12_000]
        level_db = 10 * np.log10(2 * np.mean(middle.astype(float) ** 2)) + 20
        assert low_db <= level_db <= high_db, frequency_hz
    for frequency_hz in (4600, 6000, 9000):
        tone = (0.1 * np.sin(2 * np.pi * frequency_hz * t)).astype(np.float32)
        path, _ = made([tone], profile, tmp_path)
        assert np.abs(decoded(path, profile)[4000:12_000]).max() < 0.1 * 10 ** (-60 / 20), frequency_hz


def test_version_is_light_to_read() -> None:
    """A plan needs FINISH_VERSION and the profiles, not numpy and scipy."""
    script = "import sys, jobs.finish, presets.catalog; presets.catalog.profiles(); print(*sys.modules)"
    loaded = in_process(script).stdout.split()
    assert "jobs.finish" in loaded
    assert not {"numpy", "scipy", "soundfile", "soxr"} & set(loaded)
    assert re.fullmatch(r"\d+", __import__("jobs.finish").finish.FINISH_VERSION)
