"""Our reference features against the reference's numbers, on two recordings.

    python benchmarks/parity_features.py FOLDER

FOLDER holds per recording NAME.npz and NAME.wav or NAME.flac. An npz may hold a part of the frames; `first_row` then
says where the part starts (mel_v2, mel_v3, fbank, whisper_logmel).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cosyvoice.config import MelConfig
from cosyvoice.features import kaldi_filter_bank, reference_mel, resample, whisper_log_mel

Row = tuple[str, float, float]
_RESAMPLED, _MEL_MAX, _MEL_MEAN, _WHISPER, _KALDI = 2e-5, 2e-3, 1e-5, 1e-4, 3e-3


def check(data: Path) -> list[Row]:
    """(what, largest or mean absolute difference, tolerance) for every recording in the folder."""
    audio = [path for pattern in ("*_prompt.wav", "*_prompt.flac") for path in sorted(data.rglob(pattern))]
    return [row for path in audio for row in _check_recording(path, next(data.rglob(f"{path.stem}.npz")))]


def _check_recording(audio: Path, numbers: Path) -> Iterator[Row]:
    expected = dict(np.load(numbers))
    start = [int(row) for row in expected.get("first_row", np.zeros(4))]
    samples, rate_hz = soundfile.read(audio, dtype="float32")
    at_16k, at_24k = resample(samples, rate_hz, 16_000), resample(samples, rate_hz, 24_000)
    for name, signal in (("wav16k", at_16k), ("wav24k", at_24k)):
        yield f"{audio.stem} {name} start", _worst(signal[:4000], expected[f"{name}_first4000"]), _RESAMPLED
        yield f"{audio.stem} {name} end", _worst(signal[-2000:], expected[f"{name}_last2000"]), _RESAMPLED
    for index, top_hz in enumerate((8000.0, None)):
        name = f"mel_v{index + 2}"
        part = expected[name]
        ours = reference_mel(at_24k, MelConfig(1920, 480, 1920, 80, 24_000, 0.0, top_hz))
        ours = ours[start[index] : start[index] + len(part)]
        yield f"{audio.stem} {name} max", _worst(ours, part), _MEL_MAX
        yield f"{audio.stem} {name} mean", float(np.abs(ours - part).mean()), _MEL_MEAN
    bank = kaldi_filter_bank(at_16k)[start[2] : start[2] + len(expected["fbank"])]
    yield f"{audio.stem} Kaldi filter bank", _worst(bank, expected["fbank"]), _KALDI
    whisper = whisper_log_mel(at_16k)[:, start[3] : start[3] + expected["whisper_logmel"].shape[1]]
    yield f"{audio.stem} Whisper log-mel", _worst(whisper, expected["whisper_logmel"]), _WHISPER


def _worst(ours: np.ndarray, reference: np.ndarray) -> float:
    return float(np.abs(ours - reference).max())


if __name__ == "__main__":
    from benchmarks.parity import report

    raise SystemExit(report(check(Path(sys.argv[1]))))
