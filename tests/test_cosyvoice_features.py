"""Reference features against the reference's numbers, and the resampler against torchaudio where it loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.parity_features import check
from cosyvoice.config import MelConfig
from cosyvoice.features import kaldi_filter_bank, reference_mel, resample, whisper_log_mel

DATA = Path(__file__).parent / "data" / "parity"
MEL = MelConfig(1920, 480, 1920, 80, 24_000, 0.0, 8000.0)


def test_features_of_two_recordings_equal_the_references() -> None:
    rows = check(DATA)
    assert len(rows) == 20
    assert [row for row in rows if not row[1] <= row[2]] == []


@settings(max_examples=30, deadline=None)
@given(
    rates=st.sampled_from([(8000, 16_000), (48_000, 16_000), (44_100, 24_000), (22_050, 16_000), (11_025, 24_000)]),
    length=st.integers(1, 3000),
)
def test_resampling_gives_the_promised_length_and_is_linear(rates: tuple[int, int], length: int) -> None:
    rng = np.random.default_rng(length)
    a, b = rng.standard_normal((2, length)).astype(np.float32)
    from_hz, to_hz = rates
    result = resample(a, from_hz, to_hz)
    assert len(result) == -(-length * to_hz // from_hz)
    assert np.abs(resample(a + b, *rates) - result - resample(b, *rates)).max() < 1e-4


@pytest.mark.parametrize(("from_hz", "to_hz"), [(22_050, 16_000), (44_100, 16_000), (44_100, 24_000), (8000, 24_000)])
def test_a_tone_below_the_band_edge_survives_resampling(from_hz: int, to_hz: int) -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(from_hz) / from_hz).astype(np.float32)
    wanted = np.sin(2 * np.pi * 1000 * np.arange(to_hz) / to_hz)
    middle = slice(to_hz // 10, -to_hz // 10)
    assert np.abs(resample(tone, from_hz, to_hz)[middle] - wanted[middle]).max() < 2e-3


def test_resampling_an_odd_rate_stays_small_in_memory() -> None:
    # As a table over all phases this pair of rates would need gigabytes.
    assert len(resample(np.ones(44_101, dtype=np.float32), 44_101, 16_000)) == 16_000


def test_resampling_equals_torchaudio() -> None:
    try:
        import torchaudio
    except OSError:
        pytest.skip("torchaudio does not load beside this torch; the stored numbers above stand for it")
    import torch

    signal = np.random.default_rng(0).uniform(-0.9, 0.9, 30_000).astype(np.float32)
    for rates in ((22_050, 16_000), (44_100, 24_000), (48_000, 16_000), (8000, 24_000)):
        expected = torchaudio.transforms.Resample(*rates)(torch.from_numpy(signal)[None])[0].numpy()
        assert np.abs(resample(signal, *rates) - expected).max() < 2e-6


@pytest.mark.parametrize("samples", [2400, 24_000, 24_481])
def test_frame_counts(samples: int) -> None:
    signal = np.random.default_rng(0).standard_normal(samples).astype(np.float32) * 0.1
    assert reference_mel(signal, MEL).shape == (samples // 480, 80)
    assert whisper_log_mel(signal).shape == (128, samples // 160)
    assert kaldi_filter_bank(signal).shape == ((samples - 400) // 160 + 1, 80)


def test_silence_has_finite_features() -> None:
    silence = np.zeros(24_000, dtype=np.float32)
    for features in (reference_mel(silence, MEL), whisper_log_mel(silence), kaldi_filter_bank(silence)):
        assert np.isfinite(features).all()
        assert features.dtype == np.float32
