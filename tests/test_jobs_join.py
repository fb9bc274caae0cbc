"""Edges, pauses and fades: nothing spoken is cut, pauses are as long as asked, joins do not click."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from finishing_signals import Block, part, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.join import find_edges, joined, lay_out
from jobs.records import Boundary, Gap
from presets.catalog import Profile, profiles

RATE_HZ = 24_000
PROFILE = profiles()["wav24k"]


def tone(duration_s: float, frequency_hz: float = 440, level: float = 0.3) -> Block:
    t = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    return (level * np.sin(2 * np.pi * frequency_hz * t)).astype(np.float32)


def silence(duration_s: float, noise_db: float = -100) -> Block:
    noise = np.random.default_rng(7).normal(0, 10 ** (noise_db / 20), round(duration_s * RATE_HZ))
    return noise.astype(np.float32)


def signal(takes: list[tuple[Block, Gap]], folder: Path, profile: Profile = PROFILE, **asked: int | None) -> Block:
    parts = [part(folder, samples, gap) for samples, gap in takes]
    layout = lay_out(parts, asked.get("lead_ms") or 0, asked.get("pause_ms"), profile)
    whole = np.concatenate(list(joined(layout)))
    assert len(whole) == layout.samples
    return whole


def sounding_ms(samples: Block, rate_hz: int = RATE_HZ) -> list[tuple[float, float]]:
    """Start and stop of each stretch with sound, stretches closer than 15 ms taken as one."""
    loud = np.flatnonzero(np.abs(samples) > 0.002)
    breaks = np.flatnonzero(np.diff(loud) > 0.015 * rate_hz)
    starts, stops = np.append(loud[0], loud[breaks + 1]), np.append(loud[breaks], loud[-1])
    return [(1000 * a / rate_hz, 1000 * b / rate_hz) for a, b in zip(starts, stops, strict=True)]


@pytest.mark.parametrize(
    ("boundary", "gap_ms", "pause_ms", "expected_ms"),
    [
        ("sentence", None, None, PROFILE.sentence_ms),
        ("clause", None, None, PROFILE.clause_ms),
        ("paragraph", None, None, PROFILE.paragraph_ms),
        ("sentence", None, 250, 250),
        ("clause", None, 250, PROFILE.clause_ms),
        ("sentence", 800, 250, 800),
        ("clause", 1500, None, 1500),
        ("sentence", 0, None, 0),
    ],
)
def test_pauses_are_as_long_as_asked(
    boundary: Boundary, gap_ms: int | None, pause_ms: int | None, expected_ms: int, tmp_path: Path
) -> None:
    take = np.concatenate([silence(0.31), tone(0.5), silence(0.17)])
    whole = signal([(take, Gap(boundary, gap_ms)), (take, Gap("end"))], tmp_path, pause_ms=pause_ms)
    if expected_ms == 0:
        assert len(whole) / RATE_HZ == pytest.approx(1.0 + (PROFILE.head_ms + PROFILE.tail_ms) / 1000, abs=0.03)
        return
    (_, first_stop), (second_start, _) = sounding_ms(whole)
    assert second_start - first_stop == pytest.approx(expected_ms, abs=20)


def test_head_and_tail_are_the_profiles_with_the_breaks_of_the_text(tmp_path: Path) -> None:
    take = np.concatenate([silence(0.4), tone(0.5), silence(0.6)])
    whole = signal([(take, Gap("end", 700))], tmp_path, lead_ms=1000)
    (start, stop) = sounding_ms(whole)[0]
    assert start == pytest.approx(1000 + PROFILE.head_ms, abs=10)
    assert 1000 * len(whole) / RATE_HZ - stop == pytest.approx(700 + PROFILE.tail_ms, abs=10)


@pytest.mark.parametrize("below_db", [20, 35, 45])
@pytest.mark.parametrize("duration_s", [0.03, 0.08, 0.15])
def test_soft_consonants_at_the_edges_survive(below_db: int, duration_s: float) -> None:
    """A fricative 45 dB below the vowel, at either end, is never cut into."""
    random = np.random.default_rng(below_db)
    vowel = tone(0.4)
    level = 0.3 / np.sqrt(2) * 10 ** (-below_db / 20)
    hiss = np.diff(random.normal(0, level / np.sqrt(2), round(duration_s * RATE_HZ) + 1)).astype(np.float32)
    take = np.concatenate([silence(0.3), hiss, vowel, hiss, silence(0.3)])
    edges = find_edges(take, RATE_HZ)
    first, last = round(0.3 * RATE_HZ), len(take) - round(0.3 * RATE_HZ)
    frame = RATE_HZ // 200
    assert first - 0.02 * RATE_HZ <= edges.start <= first
    assert edges.speech_start <= first + frame
    assert edges.speech_stop >= last - frame
    assert last <= edges.stop <= last + 0.02 * RATE_HZ


def test_long_hiss_before_speech_is_cut_but_for_its_end() -> None:
    take = np.concatenate([silence(2.0, -54), tone(0.5), silence(1.0, -54)])
    edges = find_edges(take, RATE_HZ)
    assert edges.start == pytest.approx(1.85 * RATE_HZ, abs=0.02 * RATE_HZ)
    assert edges.stop == pytest.approx(2.65 * RATE_HZ, abs=0.02 * RATE_HZ)


def test_a_noise_long_before_speech_brings_no_silence_with_it() -> None:
    """A burst at the start of a take, as engines make it, would leave 150 ms of nothing before a joined digit."""
    burst = np.float32(10 ** (-45 / 20)) * tone(0.01)
    take = np.concatenate([burst, silence(0.4), tone(0.3), silence(0.4), burst])
    edges = find_edges(take, RATE_HZ)
    assert edges.start == pytest.approx(0.4 * RATE_HZ, abs=0.02 * RATE_HZ)
    assert edges.stop == pytest.approx(0.72 * RATE_HZ, abs=0.02 * RATE_HZ)


def test_pauses_inside_a_take_are_not_touched() -> None:
    take = np.concatenate([silence(0.2), tone(0.3), silence(1.5), tone(0.3), silence(0.2)])
    edges = find_edges(take, RATE_HZ)
    assert edges.speech_stop - edges.speech_start == pytest.approx(2.1 * RATE_HZ, abs=0.011 * RATE_HZ)


def test_a_constant_offset_is_not_taken_for_sound() -> None:
    take = np.concatenate([silence(0.5), tone(0.5), silence(0.5)]) + np.float32(0.01)
    edges = find_edges(take, RATE_HZ)
    assert edges.start > 0.45 * RATE_HZ
    assert edges.stop < 1.05 * RATE_HZ


def test_silent_takes_are_kept_whole() -> None:
    edges = find_edges(silence(0.7), RATE_HZ)
    assert (edges.start, edges.stop) == (0, round(0.7 * RATE_HZ))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_no_audio_is_refused(value: float) -> None:
    take = tone(0.2)
    take[1000] = value
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="make it again"):
        find_edges(take, RATE_HZ)


def test_a_torn_take_is_refused(tmp_path: Path) -> None:
    whole = part(tmp_path, tone(0.3), Gap("end"))
    with pytest.raises(ValueError, match="7199 samples where its record says 7200"):
        Path(whole.path).write_bytes(Path(whole.path).read_bytes()[:-4])
        lay_out([whole], 0, None, PROFILE)


def test_joins_do_not_click(tmp_path: Path) -> None:
    """Takes that start and stop in full swing: no high-frequency energy arises where they meet silence."""
    take = tone(0.5, 300)[37:]
    whole = signal([(take, Gap("sentence")), (take, Gap("sentence")), (take, Gap("end"))], tmp_path)
    assert np.abs(np.diff(whole, 2)).max() < 1.5 * np.abs(np.diff(take, 2)).max() + 1e-4
    raw = signal([(take, Gap("sentence")), (take, Gap("end"))], tmp_path, replace(PROFILE, fade_ms=0))
    assert np.abs(np.diff(raw, 2)).max() > 4 * np.abs(np.diff(take, 2)).max()


def test_fades_leave_the_middle_alone(tmp_path: Path) -> None:
    take = tone(0.5)
    whole = signal([(take, Gap("end"))], tmp_path)
    head = round(PROFILE.head_ms * RATE_HZ / 1000)
    fade = round(PROFILE.fade_ms * RATE_HZ / 1000)
    assert np.array_equal(whole[head + fade : head + len(take) - fade], take[fade:-fade])


def test_takes_of_several_rates_meet_at_the_highest(tmp_path: Path) -> None:
    low, high = speech(1, 16_000), speech(1, 24_000)
    parts = [part(tmp_path, low, Gap("sentence"), 16_000), part(tmp_path, high, Gap("end"))]
    layout = lay_out(parts, 0, None, PROFILE)
    assert layout.rate_hz == 24_000
    whole = np.concatenate(list(joined(layout)))
    assert len(whole) == layout.samples
    assert layout.starts_s[1] - layout.starts_s[0] == pytest.approx(1.4, abs=0.15)


@given(
    lengths=st.lists(st.integers(1, 5000), min_size=1, max_size=5),
    ms=st.one_of(st.none(), st.integers(0, 3000)),
    lead_ms=st.integers(0, 2000),
    kind=st.sampled_from(["noise", "silence", "dc", "impulse"]),
)
@settings(max_examples=60, deadline=None)
def test_any_takes_join(
    lengths: list[int], ms: int | None, lead_ms: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("takes")
    random = np.random.default_rng(len(lengths))
    takes = []
    for length in lengths:
        samples = {
            "noise": random.normal(0, 0.2, length),
            "silence": np.zeros(length),
            "dc": np.full(length, 0.7),
            "impulse": np.eye(1, length, length // 2)[0],
        }[kind]
        takes.append((samples.astype(np.float32), Gap("sentence", ms)))
    whole = signal(takes, folder, lead_ms=lead_ms)
    assert np.isfinite(whole).all()
    assert len(whole) >= 0.01 * RATE_HZ
