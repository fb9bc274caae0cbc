"""The embedded engine: Kokoro-82M on the CPU, in stored Chinese and English voices, without any download."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from cosyvoice.engine import DeviceFault, EngineError, ModelMissing, Speech, Utterance
from cosyvoice.kokoro_model import GRAPH_SHA256, open_session, thrifty_run
from cosyvoice.kokoro_text import Phonemizer, UnspeakableText

if TYPE_CHECKING:
    import onnxruntime as ort
    from numpy.typing import NDArray

SAMPLE_RATE_HZ = 24_000
STYLE_ROWS, STYLE_WIDTH = 510, 256
LANGUAGES = ("zh", "en")
OTHER_ENGINES = "use engine cosyvoice2 or cosyvoice3"
HEADROOM = np.float32(0.5)
"""The model's peaks reach 1.2; halving them is exact, and whoever finishes the file sets the level anyway."""
SILENT = np.zeros(0, np.float32)


def load(*, model_folder: str | None, device: str, precision: str, threads: int) -> KokoroEngine:
    """Load the embedded voice. It brings its own model and looks at no model folder.

    Raises ModelMissing if a wheel is absent, EngineError if asked for a device or precision that it does not have.
    """
    if device.split(":")[0] not in ("cpu", "auto"):
        raise EngineError(f"the embedded voice runs on the CPU only, not on {device!r}; ask for device cpu")
    if precision not in ("int8", "auto"):
        raise EngineError(f"the embedded voice is int8 only, not {precision!r}; leave the precision at auto")
    return KokoroEngine(open_session(threads), Phonemizer(), threads)


class KokoroEngine:
    """Speaks one utterance at a time; the samples depend on text, language, speaker and speed only.

    The seed changes nothing: the graph draws no random numbers.
    """

    def __init__(self, session: ort.InferenceSession, phonemizer: Phonemizer, threads: int) -> None:
        self._session = session
        self._run_options = thrifty_run()
        self._phonemizer = phonemizer
        self._threads = threads
        self._styles: dict[str, NDArray[np.float32]] = {}

    @property
    def sample_rate_hz(self) -> int:
        return SAMPLE_RATE_HZ

    @property
    def description(self) -> dict[str, str]:
        return {
            "engine": "kokoro",
            "model": "Kokoro-82M v1.0",
            "revision": GRAPH_SHA256[:12],
            "precision": "int8",
            "device": "cpu",
            "threads": str(self._threads),
            "seed": "without effect",
            **{name: version(name) for name in ("onnxruntime", "misaki", "jieba", "pypinyin", "hibari-tts")},
        }

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """See `engine.Engine.speak`. Flags: `dropped: …` names what could not be spoken, `split` says that the text
        was longer than one call of the model."""
        for utterance in utterances:
            if utterance is not None:
                yield self._speak_one(utterance)

    def _speak_one(self, utterance: Utterance) -> Speech:
        try:
            style = self._style_of(utterance)
            phonemes = self._phonemizer(utterance.text, utterance.language)
        except UnspeakableText as error:
            return Speech(utterance.id, SILENT, SAMPLE_RATE_HZ, error=str(error))
        calls = self._phonemizer.in_calls(phonemes.ids)
        flags: tuple[str, ...] = ("split",) if len(calls) > 1 else ()
        if phonemes.dropped:
            flags += ("dropped: " + " ".join(dict.fromkeys(phonemes.dropped)),)
        samples = [self._run(ids, style, utterance.speed) for ids in calls]
        return Speech(utterance.id, np.concatenate(samples), SAMPLE_RATE_HZ, flags=flags)

    def _style_of(self, utterance: Utterance) -> NDArray[np.float32]:
        """The style table [510, 256] of the voice; UnspeakableText if the utterance asks for what is not there."""
        if utterance.mode != "speaker" or utterance.instruction or utterance.voice.speaker is None:
            raise UnspeakableText(
                "the embedded voice speaks in its stored voices only: it neither clones a reference audio nor follows "
                f"an instruction; {OTHER_ENGINES}, or name a voice such as xiaoxiao or heart"
            )
        if utterance.language not in LANGUAGES:
            raise UnspeakableText(
                f"the embedded voice speaks {' and '.join(LANGUAGES)}, not {utterance.language!r}; {OTHER_ENGINES}"
            )
        speaker = utterance.voice.speaker
        if speaker not in self._styles:
            self._styles[speaker] = read_style(speaker)
        return self._styles[speaker]

    def _run(self, ids: tuple[int, ...], style: NDArray[np.float32], speed: float) -> NDArray[np.float32]:
        """Samples [N] of one call. The style row goes with the number of phonemes, as in hexgrad's KPipeline."""
        feed = {
            "tokens": np.array([[0, *ids, 0]], np.int64),
            "style": style[None, len(ids) - 1],
            "speed": np.array([speed], np.float32),
        }
        try:
            (samples,) = self._session.run(["audio"], feed, self._run_options)
        except Exception as error:  # onnxruntime's exceptions share no base of their own
            raise DeviceFault(f"onnxruntime failed on {len(ids)} phonemes: {error}") from error
        return np.ascontiguousarray(samples, np.float32).reshape(-1) * HEADROOM


def speakers() -> tuple[str, ...]:
    """Names of the stored voices."""
    folder = files("presets") / "voices"
    return tuple(sorted(entry.name.removesuffix(".bin") for entry in folder.iterdir() if entry.name.endswith(".bin")))


def read_style(speaker: str) -> NDArray[np.float32]:
    """The style table [510, 256] of a stored voice: one row for each number of phonemes.

    Raises UnspeakableText for an unknown name, ModelMissing for a damaged table.
    """
    if speaker not in speakers():
        raise UnspeakableText(f"the embedded voice has no speaker {speaker!r}; it has {', '.join(speakers())}")
    raw = (files("presets") / "voices" / f"{speaker}.bin").read_bytes()
    if len(raw) != STYLE_ROWS * STYLE_WIDTH * 4:
        raise ModelMissing(f"presets/voices/{speaker}.bin is damaged; install cosyvoice-batch anew")
    return np.frombuffer(raw, "<f4").reshape(STYLE_ROWS, STYLE_WIDTH)
