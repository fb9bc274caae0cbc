"""One listener: a process beside the engine that transcribes takes and compares their voices with the reference's.

Messages in: ("listen", ListenJob) and ("end",). Messages out: ("heard", key, Heard), ("unheard", key, why),
("environment", text). Engines are not held up; takes wait on the disk.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.engine import ModelMissing, Voice
from jobs.errors import EnvironmentFault

if TYPE_CHECKING:
    from jobs.recogniser import Recogniser
    from jobs.timbre import VoiceJudge

LEAST_SPEECH_S = 1.5
"""With less speech an embedding says little of the speaker; diarisation works with windows of this length."""


@dataclass(frozen=True, slots=True)
class ListenJob:
    """One take and what it should be."""

    key: str
    path: str
    sample_rate_hz: int
    text: str
    language: str
    others: tuple[str, ...]
    """Texts that must not be heard: the reference text, the instruction."""
    voice: Voice | None = None
    """Who should speak; None: nobody in particular."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a listener made of a take."""

    text: str | None
    """What the recogniser heard; None: it was not asked."""
    errors: int = 0
    length: int = 0
    """Words, or syllables in Chinese, of the text."""
    leak: str = ""
    """Words at its head that come from the reference or the instruction."""
    likeness: float | None = None
    """Cosine between the take's speaker embedding and the reference's; None: not compared."""

    @property
    def error_rate(self) -> float:
        return round(self.errors / max(1, self.length), 4)


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """What a listener is started with."""

    recogniser: str | None
    """Folder of the whisper model; None: nothing is transcribed."""
    threads: int
    speaker_encoder: str | None = None
    """The ONNX file; None: voices are not compared."""
    stored_speakers: str | None = None
    """spk2info.pt of the model folder."""


def work(spec: ListenerSpec, connection: Connection) -> None:
    """The life of a listener."""
    try:
        recogniser, judge = _opened(spec)
    except (EnvironmentFault, ModelMissing) as error:
        connection.send(("environment", str(error)))
        return
    while True:
        message = connection.recv()
        if message[0] == "end":
            return
        job: ListenJob = message[1]
        try:
            connection.send(("heard", job.key, listened(job, recogniser, judge)))
        except Exception:  # one take must not end the others: it is kept with a remark that nobody could listen
            connection.send(("unheard", job.key, traceback.format_exc(limit=3)))


def _opened(spec: ListenerSpec) -> tuple[Recogniser | None, VoiceJudge | None]:
    recogniser = judge = None
    if spec.recogniser is not None:
        from jobs.recogniser import Recogniser

        recogniser = Recogniser(Path(spec.recogniser), spec.threads)
    if spec.speaker_encoder is not None:
        from jobs.timbre import VoiceJudge

        stored = Path(spec.stored_speakers) if spec.stored_speakers is not None else None
        judge = VoiceJudge(Path(spec.speaker_encoder), stored, spec.threads)
    return recogniser, judge


def listened(job: ListenJob, recogniser: Recogniser | None, judge: VoiceJudge | None) -> Heard:
    """What is heard in the job's take. Raises OSError, BadReference."""
    import numpy as np

    samples = np.fromfile(job.path, "<f4")
    likeness = judge.likeness(samples, job.sample_rate_hz, job.voice) if judge and job.voice else None
    if recogniser is None:
        return Heard(None, likeness=likeness)
    from jobs.hearing import errors, leaks, respelled

    text = respelled(recogniser.transcribe(samples, job.sample_rate_hz, job.language), job.text, job.language)
    count, length = errors(job.text, text, job.language)
    return Heard(text, count, length, leaks(job.text, text, job.language, job.others), likeness)
