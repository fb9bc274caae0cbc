"""The face that every engine shows: utterances in, speeches out. `catalog.py` knows which engines exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mode = Literal["zero_shot", "cross_lingual", "instruct", "speaker"]


class EngineError(Exception):
    """An engine cannot go on. The message is for the person who started the run and ends with the next step."""


class ModelMissing(EngineError):
    """The model folder is absent, incomplete or of another kind."""


class DeviceFault(EngineError):
    """The device failed (lost, out of memory for a batch of one, refused an operation); its worker must end."""


@dataclass(frozen=True, slots=True)
class Voice:
    """Who speaks: reference audio with what is said in it, or a speaker stored in the model.

    `digest` names the content: two voices with the same digest sound the same, so features may be cached under it.
    """

    name: str
    digest: str
    speaker: str | None = None
    """Name of a speaker that the engine holds itself (a Kokoro style, an entry of spk2info.pt)."""
    audio: str | None = None
    """Absolute path of the reference audio."""
    text: str | None = None
    """What is said in the reference audio."""
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """The engine's input: one piece of spoken text with everything that decides how it sounds."""

    id: str
    text: str
    """Normalised text, ready to be spoken; may hold control tags that the engine lists in its facts."""
    voice: Voice
    mode: Mode = "speaker"
    language: str = "en"
    instruction: str | None = None
    speed: float = 1.0
    """Speaking rate as a factor, 0.5 to 2.0; 2.0 halves the duration."""
    seed: int = 0
    """Starts this utterance's own random stream, 0 to 2**63 - 1."""


@dataclass(frozen=True, slots=True)
class Speech:
    """The engine's output for one utterance: audio, or the reason why there is none."""

    utterance_id: str
    samples: NDArray[np.float32]
    """Mono waveform [N], nominally within -1..1; empty if `error` is set."""
    sample_rate_hz: int
    error: str | None = None
    flags: tuple[str, ...] = ()
    """What the engine noticed by itself, such as `runaway` (no end token before the limit)."""


class Engine(Protocol):
    """One loaded model on one device."""

    @property
    def sample_rate_hz(self) -> int: ...

    @property
    def description(self) -> dict[str, str]:
        """What really runs, for the report: model, revision, precision, device, library versions."""
        ...

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """Speak all utterances; results come in the order in which they are ready.

        The engine pulls from `utterances` whenever it has room. `None` means nothing is there at this moment: go on
        with what is in flight (or pull again, if nothing is); the end of the iterable means no more will come. Pulling
        doubles as the worker's heartbeat, so an engine pulls at least once per decode step or utterance.

        An utterance that fails alone comes back with `Speech.error`; only faults of the device or of the engine as a
        whole raise (`DeviceFault`, `EngineError`). One utterance's samples do not depend on the others.
        """
        ...
