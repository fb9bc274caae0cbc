"""The limiter holds its ceiling on anything and leaves everything else alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import soxr
from finishing_signals import Block, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.limiter import Limiter
from jobs.true_peak import TAPS, _interpolator, around


def pieces(samples: Block, size: int) -> Iterator[Block]:
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def limited(samples: Block, rate_hz: int, ceiling_dbtp: float, size: int = 9973) -> tuple[Block, float]:
    limiter = Limiter(rate_hz, ceiling_dbtp)
    out = list(limiter.limited(pieces(samples, size)))
    return np.concatenate(out) if out else np.zeros(0, np.float32), limiter.deepest_db


def true_peak_db(samples: Block, rate_hz: int) -> float:
    """By a resampler that is not ours, 16-fold."""
    padded = np.pad(samples, 2000)
    return float(20 * np.log10(max(1e-9, np.abs(soxr.resample(padded, rate_hz, 16 * rate_hz, "VHQ")).max())))


@pytest.mark.parametrize("rate_hz", [8000, 24_000, 44_100])
@pytest.mark.parametrize("drive_db", [3.0, 9.0, 15.0])
def test_driven_speech_stays_under_the_ceiling(rate_hz: int, drive_db: float) -> None:
    samples = (speech(4, rate_hz, seed=5, peak=0.9) * 10 ** (drive_db / 20)).astype(np.float32)
    out, deepest_db = limited(samples, rate_hz, -3.0)
    assert len(out) == len(samples)
    assert true_peak_db(out, rate_hz) <= -3.0 + 0.1
    assert deepest_db == pytest.approx(20 * np.log10(0.9) + drive_db + 3, abs=0.5)


def test_what_lies_below_passes_bit_for_bit() -> None:
    samples = speech(4, seed=2, peak=0.5)
    out, deepest_db = limited(samples, 24_000, -1.0)
    assert np.array_equal(out, samples)
    assert deepest_db == 0.0


def test_only_the_neighbourhood_of_a_peak_is_touched() -> None:
    samples = speech(12, seed=2, peak=0.5)
    samples[120_000] = 2.0
    out, _ = limited(samples, 24_000, -1.0, size=24_000)
    touched = np.flatnonzero(out != samples)
    assert abs(out[120_000]) <= 10 ** (-1 / 20)
    assert touched.min() >= 120_000 - 0.011 * 24_000
    # 7 dB at 120 dB/s are back within 60 ms.
    assert np.abs(out[122_400:] - samples[122_400:]).max() < 1e-6


def test_the_gain_comes_and_goes_without_a_step() -> None:
    """A steady tone with one burst of 12 dB: the gain moves by less than a quarter of a dB from sample to sample."""
    t = np.arange(48_000) / 24_000
    tone = (0.4 * np.sin(2 * np.pi * 300 * t)).astype(np.float32)
    burst = np.where((t > 0.9) & (t < 1.0), 4.0, 1.0) * tone
    out, _ = limited(burst.astype(np.float32), 24_000, -6.0)
    clear = np.flatnonzero(np.abs(tone) > 0.1)
    gain_db = 20 * np.log10(out[clear] / burst[clear])
    assert gain_db.min() < -9
    assert np.abs(np.diff(gain_db) / np.diff(clear)).max() < 0.25


@given(size=st.integers(1, 70_000), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_size_of_blocks_changes_nothing(size: int, seed: int) -> None:
    samples = speech(3.2, seed=seed, peak=1.6)
    samples = samples[: max(1, len(samples) - seed)]
    whole, _ = limited(samples, 24_000, -2.0, len(samples))
    split, _ = limited(samples, 24_000, -2.0, max(size, len(samples) // 300))
    assert np.allclose(whole, split, atol=1e-6)


@given(
    values=st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.3, -50.0, 900.0, 1e-8]), min_size=1, max_size=40),
    repeat=st.integers(1, 400),
    ceiling_dbtp=st.floats(-20, 0),
)
@settings(max_examples=60, deadline=None)
def test_no_sample_passes_the_ceiling(values: list[float], repeat: int, ceiling_dbtp: float) -> None:
    samples = np.repeat(np.array(values, np.float32), repeat)
    out, _ = limited(samples, 24_000, ceiling_dbtp)
    assert len(out) == len(samples)
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 10 ** (ceiling_dbtp / 20) * (1 + 1e-6)


@given(size=st.integers(1, 400), seed=st.integers(0, 1000), above=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
@settings(max_examples=40, deadline=None)
def test_peaks_around_samples_are_those_of_the_plain_filters(size: int, seed: int, above: float) -> None:
    """Against the filters run one by one over the whole signal, without stretches and without leaving anything out."""
    random = np.random.default_rng(seed)
    samples = (random.normal(0, 0.4, size) * random.choice([0.05, 1.0], size)).astype(np.float32)
    wide = np.pad(samples.astype(np.float64), (TAPS // 2 - 1, TAPS // 2))
    between = np.max([np.abs(np.correlate(wide, filter, "valid")) for filter in _interpolator(24_000)], axis=0)
    expected = np.maximum(np.abs(samples), between)
    expected[1:] = np.maximum(expected[1:], between[:-1])
    found = around(samples, 24_000, above)
    assert np.all(found <= expected + 1e-5)
    assert found[expected > above] == pytest.approx(expected[expected > above], abs=1e-5)
