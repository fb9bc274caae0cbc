"""Loudness, level and peak against theory and against ffmpeg's ebur128."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from finishing_signals import Block, ebur128, speech

from jobs.loudness import Meter


def metered(samples: Block, rate_hz: int, channels: int = 1, block: int = 10_000, speech: bool = False) -> Meter:
    meter = Meter(rate_hz, channels, speech=speech)
    for start in range(0, len(samples), block):
        meter.feed(samples[start : start + block])
    return meter.finish()


def sine(frequency_hz: float, level_db: float, rate_hz: int, duration_s: float, phase: float = 0.0) -> Block:
    t = np.arange(round(duration_s * rate_hz)) / rate_hz
    return (10 ** (level_db / 20) * np.sin(2 * np.pi * frequency_hz * t + phase)).astype(np.float32)


@pytest.mark.parametrize("rate_hz", [24_000, 44_100, 48_000])
def test_997_hz_sine_reads_as_the_standard_says(rate_hz: int) -> None:
    """BS.1770-4: a full-scale 997 Hz sine in one channel is -3.01 LUFS."""
    level = metered(sine(997, -20, rate_hz, 5), rate_hz).integrated_lufs()
    assert level == pytest.approx(-23.01, abs=0.05)


def test_the_same_sound_in_two_channels_is_three_db_louder() -> None:
    tone = sine(997, -20, 48_000, 2)
    assert metered(tone, 48_000, 2).integrated_lufs() == pytest.approx(-20.0, abs=0.02)


def test_gates_leave_out_silence_and_what_is_ten_lu_below() -> None:
    """EBU Tech 3341, cases 3 and 4 in mono: loud passage between quiet and silent ones."""
    quiet, loud, silent = sine(1000, -36, 48_000, 10), sine(1000, -23, 48_000, 60), sine(1000, -72, 48_000, 10)
    for edges in (quiet, silent, np.zeros(480_000, np.float32)):
        level = metered(np.concatenate([edges, loud, edges]), 48_000).integrated_lufs()
        assert level == pytest.approx(-26.0, abs=0.1)


@pytest.mark.parametrize("rate_hz", [22_050, 24_000, 44_100, 48_000])
def test_speech_agrees_with_ffmpeg(rate_hz: int, tmp_path: Path) -> None:
    samples = speech(6, rate_hz, seed=rate_hz, peak=0.8)
    soundfile.write(tmp_path / "a.wav", samples, rate_hz, "FLOAT")
    lufs, peak_dbtp = ebur128(["-i", str(tmp_path / "a.wav")])
    meter = metered(samples, rate_hz)
    assert meter.integrated_lufs() == pytest.approx(lufs, abs=0.1)
    assert meter.true_peak_dbtp() == pytest.approx(peak_dbtp, abs=0.15)


def test_the_size_of_blocks_changes_nothing() -> None:
    samples = speech(5, seed=3)
    results = [
        (m.integrated_lufs(), m.rms_db(), m.speech_db(), m.true_peak_dbtp(), m.noise_floor_db(), m.waveform())
        for m in (metered(samples, 24_000, block=size, speech=True) for size in (1, 777, 65_536, 10**6)[1:])
    ]
    for result in results[1:]:
        assert result[:-1] == pytest.approx(results[0][:-1], abs=1e-6)
        assert result[-1] == results[0][-1]


def test_short_clips_and_silence_have_no_integrated_loudness() -> None:
    assert metered(sine(997, -20, 24_000, 0.39), 24_000).integrated_lufs() is None
    assert metered(np.zeros(48_000, np.float32), 24_000).integrated_lufs() is None
    assert metered(np.zeros(0, np.float32), 24_000).rms_db() is None


def test_ungated_loudness_looks_at_the_speech_alone() -> None:
    clip = sine(997, -20, 24_000, 0.3)
    padded = np.concatenate([np.zeros(12_000, np.float32), clip, np.zeros(24_000, np.float32)])
    assert metered(padded, 24_000).ungated_lufs(0.3) == pytest.approx(-23.01, abs=0.1)
    assert metered(padded * 1e-4, 24_000).ungated_lufs(0.3) is None


def test_rms_counts_pauses_and_the_speech_level_does_not() -> None:
    tone = sine(1000, -12, 24_000, 2)
    meter = metered(np.concatenate([tone, np.zeros(48_000, np.float32)]), 24_000, speech=True)
    assert meter.rms_db() == pytest.approx(-12 - 3.01 - 3.01, abs=0.02)
    assert meter.speech_db() == pytest.approx(-12 - 3.01, abs=0.1)


def test_the_speech_level_leaves_out_what_a_phone_does() -> None:
    assert metered(sine(60, -10, 24_000, 2), 24_000, speech=True).speech_db() == pytest.approx(-13 - 56, abs=4)


def test_noise_floor_is_the_quietest_half_second() -> None:
    noise = np.random.default_rng(1).normal(0, 10 ** (-66 / 20), 24_000).astype(np.float32)
    loud = sine(500, -20, 24_000, 2)
    assert metered(np.concatenate([loud, noise, loud]), 24_000).noise_floor_db() == pytest.approx(-66, abs=0.3)


@pytest.mark.parametrize("rate_hz", [8000, 24_000, 44_100, 48_000])
def test_true_peak_lies_between_the_samples(rate_hz: int) -> None:
    """A tone at a quarter of the rate, sampled 45 degrees off its crests, peaks 3.01 dB above its samples."""
    tone = sine(rate_hz / 4, -6, rate_hz, 1, phase=np.pi / 4) * np.hanning(rate_hz).astype(np.float32)
    assert 20 * np.log10(np.abs(tone).max()) == pytest.approx(-9.01, abs=0.01)
    assert metered(tone, rate_hz).true_peak_dbtp() == pytest.approx(-6, abs=0.05)


def test_a_peak_at_the_seam_of_two_blocks_is_seen() -> None:
    tone = sine(6000, -6, 24_000, 0.02, phase=np.pi / 4)
    for offset in range(65_536 - 300, 65_536 + 60, 30):
        samples = np.zeros(100_000, np.float32)
        samples[offset : offset + len(tone)] = tone
        whole, split = Meter(24_000), Meter(24_000)
        whole.feed(samples)
        for start in range(0, len(samples), 65_536):
            split.feed(samples[start : start + 65_536])
        assert split.finish().true_peak_dbtp() == pytest.approx(whole.finish().true_peak_dbtp(), abs=1e-4)


def test_the_waveform_has_at_most_160_slices_and_shows_the_peak() -> None:
    samples = speech(3, peak=0.5)
    waveform = metered(samples, 24_000).waveform()
    assert len(waveform) <= 160
    assert max(waveform) == 50
    assert waveform[0] == 0
