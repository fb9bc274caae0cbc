"""Who speaks an item: a row's voice or reference audio, turned into the engine's Voice, checked against the engine."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.catalog import ENGINES, EngineFacts
from cosyvoice.engine import Mode, Voice
from jobs.audition import Auditions
from jobs.files import file_digest
from jobs.fingerprint import digest

if TYPE_CHECKING:
    from jobs.records import Item
    from jobs.remarks import Remark
    from presets.catalog import VoicePreset


class Miscast(Exception):
    """This row cannot be spoken as it asks. `field` names the manifest field at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Role:
    """How an item is spoken."""

    voice: Voice
    mode: Mode
    instruction: str | None
    warnings: tuple[str, ...] = ()
    """What the linter says of what the row itself brings; what it says of a named voice stands with the voice."""


class Casting:
    """Casts items for one run; each reference audio is read, hashed and examined once."""

    def __init__(self, engine: EngineFacts, presets: Mapping[str, VoicePreset], default_voice: str | None) -> None:
        self._engine = engine
        self._presets = presets
        self._default = default_voice
        self._digests: dict[str, str] = {}
        self._stored: dict[str, Voice] = {}
        self._stock_of: dict[str, str] = {}
        self.auditions = Auditions(engine.name)
        """What the linter said of the voices that were cast so far."""

    def cast(self, item: Item, language: str) -> Role:
        """Who speaks `item`, whose text is mostly in `language`.

        Raises Miscast when the engine cannot do what the row asks, or the linter refuses the voice.
        """
        preset = None
        if item.ref_audio is not None:
            voice = self._from_reference("reference audio", item.ref_audio, item.ref_text, item.language)
        else:
            preset = self._preset(item.voice or self._default or self._stock(language))
            voice = self._from_preset(preset)
        instruction = item.instruction or (preset.instruction if preset is not None else None)
        if instruction is not None and not self._engine.instructs:
            raise Miscast("instruction", self._cannot("follow an instruction", lambda facts: facts.instructs))
        mode = self._mode(item, voice, instruction)
        return Role(voice, mode, instruction, self._hear(item, voice, mode, instruction, preset))

    def _hear(
        self, item: Item, voice: Voice, mode: Mode, instruction: str | None, preset: VoicePreset | None
    ) -> tuple[str, ...]:
        """What the linter warns of in what the row itself brings. Raises Miscast where it refuses anything."""
        of_voice: tuple[Remark, ...] = ()
        if voice.audio is not None:
            of_voice = self.auditions.hear_recording(voice, self._digests[voice.audio], mode, preset)
        of_wish = self.auditions.hear_instruction(instruction) if instruction is not None else ()
        for remark in (*of_voice, *of_wish):
            if remark.severity == "refuse":
                raise self._refused(item, remark, preset)
        of_row = of_wish if item.instruction is not None else ()
        if preset is not None:
            self.auditions.enter(preset, of_voice)
        else:
            of_row = (*of_voice, *of_row)
        return tuple(remark.message for remark in of_row if remark.severity == "warn")

    def _refused(self, item: Item, remark: Remark, preset: VoicePreset | None) -> Miscast:
        if remark.about == "instruction" and item.instruction is not None:
            return Miscast("instruction", remark.message)
        if preset is not None:
            return Miscast("voice", f"{preset.name!r} ({preset.file}): {remark.message}")
        return Miscast("ref_text" if remark.about == "text" else "ref_audio", remark.message)

    def _mode(self, item: Item, voice: Voice, instruction: str | None) -> Mode:
        if voice.audio is None:
            return "speaker"
        if item.mode != "speaker":
            return item.mode
        if instruction is not None:
            return "instruct"
        return "zero_shot" if voice.text else "cross_lingual"

    def _preset(self, name: str) -> VoicePreset:
        preset = self._presets.get(name)
        if preset is None:
            near = difflib.get_close_matches(name, self._presets, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; `voices list` shows them"
            raise Miscast("voice", f"no voice is called {name!r}{hint}")
        return preset

    def _from_preset(self, preset: VoicePreset) -> Voice:
        name = preset.name
        if preset.audio is not None:
            return self._from_reference(name, preset.audio, preset.text, preset.language)
        if preset.engine is not None and preset.engine != self._engine.name and self._engine.name != "tone":
            raise Miscast(
                "voice",
                f"{name!r} is a voice of the engine {preset.engine!r}, this run uses {self._engine.name!r}; "
                "name another voice or give ref_audio",
            )
        if name not in self._stored:
            self._stored[name] = Voice(
                name=name,
                digest=digest("speaker", preset.engine, preset.speaker),
                speaker=preset.speaker,
                language=preset.language,
            )
        return self._stored[name]

    def _from_reference(self, name: str, audio: str, text: str | None, language: str | None) -> Voice:
        if not self._engine.clones:
            raise Miscast("ref_audio", self._cannot("clone a voice", lambda facts: facts.clones))
        if audio not in self._digests:
            try:
                self._digests[audio] = file_digest(audio)
            except OSError as error:
                raise Miscast("ref_audio", f"{audio} cannot be read: {error.strerror}") from error
        return Voice(name, digest("audio", self._digests[audio], text), None, audio, text, language)

    def _stock(self, language: str) -> str:
        """The voice of rows that name none: the first stock voice of that language, in the order of their names."""
        if language not in self._stock_of:
            self._stock_of[language] = self._first_stock(language)
        return self._stock_of[language]

    def _first_stock(self, language: str) -> str:
        ours = [p for p in self._presets.values() if p.audio is None and p.engine in (self._engine.name, "kokoro")]
        if self._engine.name not in ("kokoro", "tone") or not ours:
            raise Miscast(
                "voice", f"the engine {self._engine.name!r} needs a voice or ref_audio; or name one with --voice"
            )
        speaking = [preset for preset in ours if preset.language == language]
        if not speaking:
            known = ", ".join(sorted({str(preset.language) for preset in ours}))
            raise Miscast("language", f"no stock voice speaks {language!r}, only {known}; name a voice with --voice")
        return min(preset.name for preset in speaking)

    def _cannot(self, what: str, able: object) -> str:
        names = sorted(facts.name for facts in ENGINES.values() if callable(able) and able(facts))
        names = [name for name in names if name != "tone"] or ["cosyvoice2", "cosyvoice3"]
        return (
            f"the engine {self._engine.name!r} ({self._engine.title}) cannot {what}; "
            f"use {' or '.join(names)} with --model FOLDER"
        )


def model_revision(facts: EngineFacts, model_folder: Path | None) -> str:
    """What decides that the model is another one: the engine's own word, and the files of the folder by size."""
    if model_folder is None:
        return facts.revision
    files = sorted(
        (path.relative_to(model_folder).as_posix(), path.stat().st_size)
        for path in model_folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )
    return digest(facts.revision, files)
