"""Who speaks: the speaker encoder of a model folder (CAM++), and how alike two voices are. Needs no torch.

CAM++ (Wang and others, Interspeech 2023) gives 192 numbers for speech of any length; the cosine between two of them is
what 3D-Speaker and ModelScope compare speakers by.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cosyvoice.features import KALDI_RATE_HZ, Floats, kaldi_filter_bank, resample
from cosyvoice.onnx_network import OnnxNetwork


class SpeakerEncoder:
    """The loaded encoder."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Raises ModelMissing where the file cannot be loaded."""
        self._network = OnnxNetwork(path, threads)

    def embed(self, samples: Floats, rate_hz: int) -> Floats:
        """Embedding [192] of mono speech [N]."""
        return self.embed_16k(resample(samples, rate_hz, KALDI_RATE_HZ))

    def embed_16k(self, samples: Floats) -> Floats:
        """The same for speech that is at 16 kHz."""
        return np.asarray(self._network.run(kaldi_filter_bank(samples)[None]).ravel(), dtype=np.float32)


def likeness(one: Floats, other: Floats) -> float:
    """Cosine between two embeddings; 0 where one of them is nothing."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / size if size > 0 else 0.0
