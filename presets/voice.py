"""A voice preset: a speaker that an engine holds, or a recording with what is said in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presets.table import PresetError, Table


@dataclass(frozen=True, slots=True)
class VoicePreset:
    """A named voice. Either `speaker` is set, or `audio` (and for zero-shot cloning `text`)."""

    name: str
    description: str
    language: str
    """ISO 639-1 code of the voice's own language."""
    engine: str | None = None
    """The engine that holds `speaker`; None: any engine that clones."""
    speaker: str | None = None
    audio: str | None = None
    """Absolute path of the reference audio."""
    text: str | None = None
    """What is said in the reference audio."""
    instruction: str | None = None
    """Used where a row brings no instruction of its own."""
    licence: str | None = None
    consent: str | None = None
    """Who agreed to the voice's use, or why nobody has to."""
    file: str | None = None
    """The file that it was read from."""

    @property
    def digest(self) -> str:
        """Names what the voice sounds like: reads the reference audio. Raises OSError if it went away."""
        audio = None if self.audio is None else hashlib.sha256(Path(self.audio).read_bytes()).hexdigest()
        heard = [self.engine, self.speaker, audio, self.text]
        return hashlib.sha256(json.dumps(heard).encode()).hexdigest()[:16]


def read_voice(name: str, values: Mapping[str, Any], file: Path) -> VoicePreset:
    """A voice from a file's keys; `audio` is relative to the file. Raises PresetError with all mistakes."""
    problems: list[str] = []
    table = Table(values, str(file), problems)
    if table.text("name", name) != name:
        table.refuse("name", "is not the file's name, call the file after the voice or leave the key out")
    audio = table.text("audio")
    path = None if audio is None else (file.parent / audio).resolve()
    voice = VoicePreset(
        name=name,
        description=table.text("description") or "",
        language=table.required_text("language"),
        engine=table.text("engine"),
        speaker=table.text("speaker"),
        audio=None if path is None else str(path),
        text=table.text("text"),
        instruction=table.text("instruction"),
        licence=table.text("licence"),
        consent=table.text("consent"),
        file=str(file),
    )
    table.end()
    if path is not None and not path.is_file():
        table.refuse("audio", f"there is no file {path}, give the recording's place relative to this file")
    if (voice.speaker is None) == (voice.audio is None):
        table.refuse("speaker", "give either speaker (with engine) or audio (with text)")
    if voice.speaker is not None and voice.engine is None:
        table.refuse("engine", f"is missing, name the engine that holds speaker {voice.speaker!r}")
    if problems:
        raise PresetError(problems)
    return voice
