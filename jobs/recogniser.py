"""Offline speech recognition through faster-whisper, from a model folder that lies here; nothing is ever downloaded."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from jobs.errors import EnvironmentFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16_000
"""What whisper hears."""
WINDOW_S = 30
"""The longest sound that the model looks at in one piece."""
MOST_TOKENS = 400
ALIGNED_S = 0.02
SILENCE_RMS_DB = -50.0
"""Below this level nothing is transcribed: whisper hears words in silence."""
_NEEDED = ("model.bin", "config.json", "tokenizer.json")
_PACKAGES = {"faster_whisper": "faster-whisper", "opencc": "opencc-python-reimplemented"}


def require(folder: Path | None, asked: str = "--verify asr", option: str = "--verify-model") -> Path:
    """The model folder, absolute; the options are those that a message should name.

    Raises EnvironmentFault with the fix where a package or a file of it is missing.
    """
    absent = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if absent:
        raise EnvironmentFault(
            f"{asked} needs {' and '.join(absent)}: pip install 'cosyvoice-batch[verify]', or leave {asked} out"
        )
    if folder is None:
        raise EnvironmentFault(
            f"{asked} needs {option} FOLDER: a whisper model for CTranslate2 (its folder holds "
            f"{', '.join(_NEEDED)}); docs/quality.md says where to get one"
        )
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise EnvironmentFault(
            f"{option} {folder}: {', '.join(missing)} missing; give the folder of a whisper model for CTranslate2"
        )
    return folder.absolute()


class Recogniser:
    """One loaded model on the CPU."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises EnvironmentFault for a folder that holds no model that can be read."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ctranslate2 asks pkg_resources for its version
            from faster_whisper import WhisperModel
        from tqdm import tqdm

        tqdm.set_lock(RLock())  # its own lock is shared between processes and would outlive a child that is killed
        try:
            self._model: Any = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
        except (RuntimeError, ValueError, OSError) as error:
            raise EnvironmentFault(f"--verify-model {folder}: not a whisper model for CTranslate2: {error}") from error

    def transcribe(self, samples: NDArray[np.float32], sample_rate_hz: int, language: str) -> str:
        """What is said in mono samples [N]; empty for silence.

        Greedy in its wording: no temperature, no text of before, no prompt (it would leak into what is heard).
        """
        import numpy as np
        import soxr

        level_db = 20 * np.log10(np.sqrt(np.mean(np.square(samples, dtype=np.float64))) + 1e-12)
        if not len(samples) or level_db < SILENCE_RMS_DB:
            return ""
        heard = soxr.resample(samples, sample_rate_hz, SAMPLE_RATE_HZ).astype(np.float32)
        known = getattr(self._model, "supported_languages", [language])
        segments, _ = self._model.transcribe(
            heard,
            language=language if language in known else None,
            temperature=0.0,
            beam_size=5,
            condition_on_previous_text=False,
        )
        return "".join(segment.text for segment in segments).strip()

    def align(
        self, samples: NDArray[np.float32], sample_rate_hz: int, text: str, language: str
    ) -> list[tuple[str, float, float]]:
        """Pieces of `text`, which join to it, with start and stop in seconds of the mono samples [N].

        The text is taken for granted; only when each piece is said is looked for, in the model's cross-attention (its
        times count 20 ms). Empty for no sound or more than WINDOW_S of it, more text than the model holds, or a text
        that its tokens do not give back.
        """
        import numpy as np
        import soxr
        from faster_whisper.audio import pad_or_trim
        from faster_whisper.tokenizer import Tokenizer

        heard = soxr.resample(samples, sample_rate_hz, SAMPLE_RATE_HZ).astype(np.float32)
        known = getattr(self._model, "supported_languages", [language])
        inner = self._model.model
        tokenizer: Any = Tokenizer(
            self._model.hf_tokenizer, inner.is_multilingual, "transcribe", language if language in known else "en"
        )
        tokens = tokenizer.encode(text)
        if not tokens or len(tokens) > MOST_TOKENS or not 0 < len(heard) <= WINDOW_S * SAMPLE_RATE_HZ:
            return []
        features = self._model.feature_extractor(heard)
        (found,) = inner.align(
            self._model.encode(pad_or_trim(features)), tokenizer.sot_sequence, [tokens], features.shape[-1]
        )
        token_at, frame_at = np.array(found.alignments).T
        first = np.concatenate([[True], np.diff(token_at) > 0])
        starts_s = frame_at[first] * ALIGNED_S
        pieces, own = tokenizer.split_tokens_on_unicode([*tokens, tokenizer.eot])
        if len(starts_s) <= len(tokens) or "".join(pieces[:-1]) != text:
            return []
        edges = np.cumsum([0, *(len(part) for part in own[:-1])])
        return [
            (piece, float(starts_s[start]), float(starts_s[stop]))
            for piece, start, stop in zip(pieces, edges, edges[1:], strict=False)
        ]
