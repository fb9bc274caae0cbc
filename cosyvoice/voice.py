"""A reference audio becomes what the networks need of it: speech ids, mel and speaker embedding, computed once.

The two ONNX networks of the model folder are loaded when the first reference is not in the cache, and can be released.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cosyvoice.config import ModelConfig
from cosyvoice.engine import ModelMissing
from cosyvoice.features import (
    WHISPER_RATE_HZ,
    Floats,
    kaldi_filter_bank,
    reference_mel,
    resample,
    whisper_log_mel,
)
from cosyvoice.model_folder import ModelFiles
from cosyvoice.onnx_network import OnnxNetwork
from cosyvoice.reference_file import BadReference, decode, read_bytes

__all__ = ["BadReference", "VoicePrompt", "VoiceReader", "read_stored_speakers", "stored_embedding"]

log = logging.getLogger(__name__)

_FEATURES_VERSION = "2"


@dataclass(frozen=True, slots=True)
class VoicePrompt:
    """What the networks get to hear of a voice. Two mel frames belong to each speech id."""

    speech_ids: tuple[int, ...]
    """[S], 25 a second."""
    mel: Tensor
    """[2 S, 80] fp32, natural log."""
    embedding: Tensor
    """[192] fp32, as the speaker encoder gives it."""
    text_ids: tuple[int, ...] = ()
    """What is said in the reference, only for speakers that the model folder stores with their text."""


class VoiceReader:
    """Reads references for one model; `cache_folder` keeps the results under a digest of audio and model."""

    def __init__(self, files: ModelFiles, config: ModelConfig, *, cache_folder: Path | None, threads: int = 1) -> None:
        self._files, self._config, self._threads = files, config, threads
        self._cache_folder = cache_folder
        self._networks: dict[Path, OnnxNetwork] = {}
        self._stored: dict[str, Any] | None = None

    def read(self, audio: Path) -> VoicePrompt:
        """Return the prompt of a reference audio: any rate, mono mean of its channels, 0.1 to 30 s.

        One that stops on its last word gets the silence that it lacks (reference_end.py), lest that word leak.
        Raises BadReference if the file is none, or too short or too long for the model.
        """
        content = read_bytes(audio)
        cached = self._cache_path(content)
        prompt = _load_cached(cached) if cached is not None else None
        if prompt is None:
            prompt = self._compute(audio, content)
            if cached is not None:
                _save_cached(cached, prompt)
        return prompt

    def stored(self, name: str) -> VoicePrompt:
        """Return a speaker stored in the folder's spk2info.pt. Raises BadReference that lists those there are."""
        speakers = self._stored_speakers()
        if name not in speakers:
            known = ", ".join(sorted(speakers)) or "none"
            raise BadReference(f"the model folder stores no speaker {name!r}; it has: {known}")
        return _from_stored(name, speakers[name], self._config.mel.mels)

    def stored_names(self) -> tuple[str, ...]:
        return tuple(sorted(self._stored_speakers()))

    def close(self) -> None:
        """Release the ONNX networks (about 0.5 GB); the next uncached reference loads them again."""
        self._networks.clear()

    def _compute(self, audio: Path, content: bytes) -> VoicePrompt:
        samples, rate_hz = decode(audio, content)
        at_16k = resample(samples, rate_hz, WHISPER_RATE_HZ)
        at_24k = resample(samples, rate_hz, self._config.mel.sample_rate_hz)
        ids = self._speech_ids(at_16k)
        mel = reference_mel(at_24k, self._config.mel)
        # The two clocks disagree by a frame at the end; both are cut to whole ids.
        per_id = self._config.flow.frames_per_token
        length = min(mel.shape[0] // per_id, len(ids))
        if length == 0:
            raise BadReference(f"{audio} is too short: not one speech id came out of it")
        return VoicePrompt(
            speech_ids=ids[:length],
            mel=torch.from_numpy(np.ascontiguousarray(mel[: per_id * length])),
            embedding=torch.from_numpy(self._embedding(at_16k)),
        )

    def _speech_ids(self, at_16k: Floats) -> tuple[int, ...]:
        features = whisper_log_mel(at_16k)[None]
        length = np.array([features.shape[2]], dtype=np.int32)
        ids = tuple(int(token) for token in self._network(self._files.speech_tokenizer).run(features, length).ravel())
        vocabulary = self._config.lm.speech_vocabulary
        if any(not 0 <= token < vocabulary for token in ids):
            raise ModelMissing(f"{self._files.speech_tokenizer} gives ids outside 0..{vocabulary - 1}: wrong file?")
        return ids

    def _embedding(self, at_16k: Floats) -> Floats:
        embedding = self._network(self._files.speaker_encoder).run(kaldi_filter_bank(at_16k)[None]).ravel()
        if embedding.shape != (self._config.flow.speaker_width,):
            raise ModelMissing(
                f"{self._files.speaker_encoder} gives {embedding.size} numbers a speaker, "
                f"the flow needs {self._config.flow.speaker_width}: wrong file?"
            )
        return np.asarray(embedding, dtype=np.float32)

    def _network(self, path: Path) -> OnnxNetwork:
        if path not in self._networks:
            self._networks[path] = OnnxNetwork(path, self._threads)
        return self._networks[path]

    def _cache_path(self, content: bytes) -> Path | None:
        if self._cache_folder is None:
            return None
        parts = [_FEATURES_VERSION, str(self._config.generation), repr(self._config.mel)]
        networks = (self._files.speech_tokenizer, self._files.speaker_encoder)
        parts += [str(path.stat().st_size) for path in networks]
        digest = hashlib.sha256("\0".join(parts).encode() + b"\0" + content).hexdigest()
        return self._cache_folder / f"{digest}.safetensors"

    def _stored_speakers(self) -> dict[str, Any]:
        if self._stored is None:
            self._stored = read_stored_speakers(self._files.stored_speakers)
        return self._stored


def read_stored_speakers(path: Path | None) -> dict[str, Any]:
    """The entries of a spk2info.pt by name; none without one. Raises ModelMissing where it is damaged or unsafe."""
    try:
        return {} if path is None else dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch.load raises a dozen classes for a damaged or unsafe file
        raise ModelMissing(f"{path} cannot be read safely ({str(error).splitlines()[0]}).") from error


def stored_embedding(name: str, entry: Any) -> Tensor:
    """Embedding [192] of one entry. Raises BadReference where it has none."""
    entry = entry if isinstance(entry, dict) else {}
    found = next((entry[key] for key in ("flow_embedding", "embedding") if key in entry), None)
    if found is None:
        raise BadReference(f"speaker {name!r} of spk2info.pt has no embedding; it has: {', '.join(map(str, entry))}")
    embedding: Tensor = found.flatten().float()
    return embedding


def _load_cached(path: Path) -> VoicePrompt | None:
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not path.is_file():
        return None
    try:
        tensors = load(path.read_bytes())
        return VoicePrompt(tuple(tensors["speech_ids"].tolist()), tensors["mel"], tensors["embedding"])
    except (SafetensorError, KeyError, OSError) as error:
        log.warning("cached voice %s is damaged (%s) and is made anew", path, error)
        return None


def _save_cached(path: Path, prompt: VoicePrompt) -> None:
    from safetensors.torch import save

    ids = torch.tensor(prompt.speech_ids, dtype=torch.int32)
    content = save({"speech_ids": ids, "mel": prompt.mel.contiguous(), "embedding": prompt.embedding.contiguous()})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _from_stored(name: str, entry: Any, mels: int) -> VoicePrompt:
    """Take an entry of spk2info.pt: an embedding alone, or the whole prompt of a saved zero-shot speaker."""
    embedding = stored_embedding(name, entry)
    ids, mel, text = (entry.get(key) for key in ("flow_prompt_speech_token", "prompt_speech_feat", "prompt_text"))
    return VoicePrompt(
        speech_ids=() if ids is None else tuple(ids.flatten().tolist()),
        mel=torch.zeros(0, mels) if mel is None else mel.reshape(-1, mels).float(),
        embedding=embedding,
        text_ids=() if text is None else tuple(text.flatten().tolist()),
    )
