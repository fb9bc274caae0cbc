"""The silence after a hot end reaches the networks: the voice reader hears five ids more, and only then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from spoiled_recordings import GOOD, RATE_HZ, good, hot, noise, write

from benchmarks.model_parts import settings_yaml, speaker_encoder_onnx, speech_tokenizer_onnx, write_text_folder
from cosyvoice.model_folder import find_files
from cosyvoice.read_config import read_config
from cosyvoice.reference_end import PAD_S, ending_of, frame_levels_db
from cosyvoice.voice import VoiceReader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> VoiceReader:
    folder = tmp_path_factory.mktemp("model")
    (folder / "cosyvoice2.yaml").write_text(settings_yaml(2, "tiny"), encoding="utf-8")
    write_text_folder(folder / "CosyVoice-BlankEN", "tiny")
    for name in ("llm.pt", "flow.pt", "hift.pt"):
        (folder / name).write_bytes(b"x")
    (folder / "speech_tokenizer_v2.onnx").write_bytes(speech_tokenizer_onnx(200))
    (folder / "campplus.onnx").write_bytes(speaker_encoder_onnx())
    files = find_files(folder)
    return VoiceReader(files, read_config(files), cache_folder=None)


def test_a_hot_end_gets_five_ids_of_silence(reader: VoiceReader, tmp_path: Path) -> None:
    cut = hot(good())
    by_hand = np.concatenate((cut, np.zeros(round(PAD_S * RATE_HZ))))
    bare = reader.read(write(tmp_path / "hot.wav", cut))
    padded = reader.read(write(tmp_path / "padded.wav", by_hand))
    whole_ids = int(len(cut) / RATE_HZ * 25)
    assert len(bare.speech_ids) == len(padded.speech_ids) and len(bare.speech_ids) - whole_ids in (5, 6)
    # Equal but for the 5 ms that are faded out before the silence.
    settled = 2 * whole_ids - 6
    assert torch.allclose(bare.mel[:settled], padded.mel[:settled], atol=1e-4)
    assert float(bare.mel[-4:].max()) < -10, "the log-mel of silence"
    assert len(reader.read(GOOD).speech_ids) == 87, "a recording with a quiet end is left alone"


def test_levels_are_counted_from_the_very_end() -> None:
    samples = np.zeros(RATE_HZ, dtype=np.float32)
    samples[-30:] = 0.5
    levels = frame_levels_db(samples, RATE_HZ)
    assert levels[-1] == pytest.approx(20 * np.log10(0.5) + 10 * np.log10(30 / 240))
    assert levels[:-1].max() == -120
    assert frame_levels_db(samples[:5], RATE_HZ).size == 0
    assert ending_of(samples[:5], RATE_HZ).missing_silence_s == 0.0


def test_a_sound_that_never_changes_has_no_end() -> None:
    tone = np.sin(np.arange(3 * RATE_HZ) / 20).astype(np.float32)
    hiss = noise(3, -20).astype(np.float32)
    assert ending_of(tone, RATE_HZ).missing_silence_s == ending_of(hiss, RATE_HZ).missing_silence_s == 0.0
