"""Reference audio becomes a voice prompt: cut to whole ids, cached by content, refused with a reason."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from benchmarks.model_parts import settings_yaml, speaker_encoder_onnx, speech_tokenizer_onnx, write_text_folder
from cosyvoice.engine import ModelMissing
from cosyvoice.features import reference_mel
from cosyvoice.model_folder import find_files
from cosyvoice.read_config import read_config
from cosyvoice.voice import BadReference, VoiceReader

DATA = Path(__file__).parent / "data" / "parity"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "cosyvoice2.yaml").write_text(settings_yaml(2, "tiny"), encoding="utf-8")
    write_text_folder(folder / "CosyVoice-BlankEN", "tiny")
    for name in ("llm.pt", "flow.pt", "hift.pt"):
        (folder / name).write_bytes(b"x")
    (folder / "speech_tokenizer_v2.onnx").write_bytes(speech_tokenizer_onnx(200))
    (folder / "campplus.onnx").write_bytes(speaker_encoder_onnx())
    return folder


def reader(model: Path, cache: Path | None = None) -> VoiceReader:
    files = find_files(model)
    return VoiceReader(files, read_config(files), cache_folder=cache)


def write_tone(path: Path, seconds: float, *, rate_hz: int = 24_000, channels: int = 1) -> Path:
    tone = 0.3 * np.sin(2 * np.pi * 220 * np.arange(round(seconds * rate_hz)) / rate_hz)
    soundfile.write(path, np.repeat(tone[:, None], channels, axis=1), rate_hz, subtype="FLOAT")
    return path


def test_ids_mel_and_embedding_belong_together(model: Path) -> None:
    audio = DATA / "zero_shot_prompt.wav"
    prompt = reader(model).read(audio)
    expected = np.load(DATA / "zero_shot_prompt.npz")
    # 174 mel frames and 87 ids: both clocks agree on this recording.
    assert len(prompt.speech_ids) == 87
    assert np.abs(prompt.mel.numpy() - expected["mel_v2"]).max() < 2e-3
    # What the two networks must have been given, recomputed from the reference's own features.
    loudest = expected["whisper_logmel"].mean(axis=0).reshape(-1, 4).max(axis=1)
    ids = (np.abs(loudest) * np.float32(997)).astype(np.int64) % 200
    assert np.abs(np.array(prompt.speech_ids) - ids).max() <= 1
    weight = np.random.default_rng(0).standard_normal((80, 192)).astype(np.float32)
    assert np.abs(prompt.embedding.numpy() - np.abs(expected["fbank"]).mean(axis=0) @ weight).max() < 1e-2


@pytest.mark.parametrize("seconds", [0.1, 0.99, 1.0, 1.01, 1.02, 1.03])
def test_mel_always_holds_two_frames_an_id(model: Path, tmp_path: Path, seconds: float) -> None:
    prompt = reader(model).read(write_tone(tmp_path / "a.wav", seconds))
    assert prompt.mel.shape == (2 * len(prompt.speech_ids), 80)
    assert abs(len(prompt.speech_ids) - 25 * seconds) <= 1.5


def test_rate_and_channels_do_not_matter(model: Path, tmp_path: Path) -> None:
    plain = reader(model).read(write_tone(tmp_path / "a.wav", 1.0))
    other = reader(model).read(write_tone(tmp_path / "b.wav", 1.0, rate_hz=48_000, channels=2))
    assert len(plain.speech_ids) == len(other.speech_ids)
    loud = plain.mel > -4
    assert (plain.mel - other.mel)[loud].abs().max() < 0.05


def test_a_second_reading_comes_from_the_cache(model: Path, tmp_path: Path) -> None:
    audio = write_tone(tmp_path / "a.wav", 1.0)
    first = reader(model, tmp_path / "cache").read(audio)
    renamed = audio.rename(tmp_path / "renamed.wav")
    again = reader(model, tmp_path / "cache")
    second = again.read(renamed)
    assert again._networks == {}, "the networks were loaded although the voice was cached"
    assert second.speech_ids == first.speech_ids
    assert torch.equal(second.mel, first.mel) and torch.equal(second.embedding, first.embedding)
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_other_audio_or_another_model_is_another_voice(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    reader(model, cache).read(write_tone(tmp_path / "a.wav", 1.0))
    reader(model, cache).read(write_tone(tmp_path / "b.wav", 1.1))
    assert len(list(cache.iterdir())) == 2


def test_a_damaged_cache_file_is_said_and_made_anew(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audio, cache = write_tone(tmp_path / "a.wav", 1.0), tmp_path / "cache"
    first = reader(model, cache).read(audio)
    file = next(cache.iterdir())
    file.write_bytes(file.read_bytes()[:50])
    with caplog.at_level(logging.WARNING):
        second = reader(model, cache).read(audio)
    assert second.speech_ids == first.speech_ids
    assert "damaged" in caplog.text
    assert reader(model, cache).read(audio).speech_ids == first.speech_ids


def test_unfit_audio_is_refused_with_the_reason(model: Path, tmp_path: Path) -> None:
    voices = reader(model)
    text = tmp_path / "text.wav"
    text.write_text("no audio", encoding="utf-8")
    broken = tmp_path / "nan.wav"
    soundfile.write(broken, np.full(24_000, np.nan), 24_000, subtype="FLOAT")
    for path, reason in (
        (write_tone(tmp_path / "long.wav", 30.5), "30.5 s long, the model takes at most 30 s"),
        (write_tone(tmp_path / "short.wav", 0.05), "only 0.050 s long"),
        (text, "no audio file"),
        (broken, "not finite"),
        (tmp_path / "absent.wav", "cannot be read"),
    ):
        with pytest.raises(BadReference, match=reason):
            voices.read(path)


def test_networks_that_do_not_fit_are_named(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    for path in model.iterdir():
        (folder / path.name).symlink_to(path)
    audio = write_tone(tmp_path / "a.wav", 1.0)
    for name, content, complaint in (
        ("speech_tokenizer_v2.onnx", speech_tokenizer_onnx(6561), "ids outside 0..199"),
        ("speech_tokenizer_v2.onnx", b"nonsense", "cannot be loaded"),
        ("campplus.onnx", speech_tokenizer_onnx(200), "takes 2 inputs, expected 1"),
    ):
        (folder / name).unlink()
        (folder / name).write_bytes(content)
        with pytest.raises(ModelMissing, match=complaint):
            reader(folder).read(audio)
        (folder / name).unlink()
        (folder / name).symlink_to(model / name)


def test_stored_speakers_of_both_kinds(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    folder.mkdir()
    for path in model.iterdir():
        (folder / path.name).symlink_to(path)
    assert reader(folder).stored_names() == ()
    mel = torch.randn(1, 6, 80)
    torch.save(
        {
            "short": {"embedding": torch.arange(192.0)[None]},
            "full": {
                "prompt_text": torch.tensor([[4, 5]]),
                "flow_prompt_speech_token": torch.tensor([[7, 8, 9]]),
                "prompt_speech_feat": mel,
                "flow_embedding": torch.ones(1, 192),
            },
            "empty": {},
        },
        folder / "spk2info.pt",
    )
    voices = reader(folder)
    assert voices.stored_names() == ("empty", "full", "short")
    short, full = voices.stored("short"), voices.stored("full")
    assert short.speech_ids == () and short.mel.shape == (0, 80)
    assert torch.equal(short.embedding, torch.arange(192.0))
    assert full.speech_ids == (7, 8, 9) and full.text_ids == (4, 5) and torch.equal(full.mel, mel[0])
    with pytest.raises(BadReference, match="no speaker 'nobody'; it has: empty, full, short"):
        voices.stored("nobody")
    with pytest.raises(BadReference, match="no embedding"):
        voices.stored("empty")


def test_the_mel_is_that_of_the_generation(model: Path) -> None:
    samples, rate_hz = soundfile.read(DATA / "zero_shot_prompt.wav", dtype="float32")
    config = read_config(find_files(model))
    assert rate_hz == config.mel.sample_rate_hz
    prompt = reader(model).read(DATA / "zero_shot_prompt.wav")
    assert np.array_equal(prompt.mel.numpy(), reference_mel(samples, config.mel)[: prompt.mel.shape[0]])
