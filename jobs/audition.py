"""The voices of one run: each recording is examined once, and each named voice has its line in the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.reference import Generation, Remark, examine_audio, examine_consent, examine_instruction, examine_text
from jobs.remarks import in_order
from jobs.report_rows import VoiceRow

if TYPE_CHECKING:
    from cosyvoice.engine import Mode, Voice
    from presets.catalog import VoicePreset

_GENERATIONS: dict[str, Generation] = {"cosyvoice2": 2, "cosyvoice3": 3}


class Auditions:
    """Hears the voices that rows are cast with, for one engine."""

    def __init__(self, engine: str) -> None:
        self._generation = _GENERATIONS.get(engine)
        self._audio: dict[str, tuple[tuple[Remark, ...], float | None]] = {}
        self._heard: dict[tuple[str, Mode], tuple[Remark, ...]] = {}
        self._named: dict[str, VoicePreset] = {}
        self._of_named: dict[str, dict[Remark, None]] = {}
        self._recordings: dict[str, dict[Remark, None]] = {}

    def hear_recording(self, voice: Voice, content: str, mode: Mode, owner: VoicePreset | None) -> tuple[Remark, ...]:
        """Remarks on a cloned voice whose recording has the digest `content`; the text counts only where it is used.

        `owner` is the named voice, None for a recording that a row brings.
        """
        key = (voice.digest, mode)
        if key not in self._heard:
            self._heard[key] = self._examine(voice, content, mode)
        if owner is None and voice.audio is not None:
            self._recordings.setdefault(voice.audio, {}).update(dict.fromkeys(self._heard[key]))
        return self._heard[key]

    def _examine(self, voice: Voice, content: str, mode: Mode) -> tuple[Remark, ...]:
        if voice.audio is None:
            return ()
        if content not in self._audio:
            self._audio[content] = examine_audio(Path(voice.audio))
        found, speech_s = self._audio[content]
        if mode == "zero_shot" and voice.text is not None:
            return in_order([*found, *examine_text(voice.text, voice.language, speech_s, self._generation)])
        return found

    def hear_instruction(self, instruction: str) -> tuple[Remark, ...]:
        """Remarks on an instruction."""
        return examine_instruction(instruction, self._generation)

    def enter(self, preset: VoicePreset, remarks: tuple[Remark, ...]) -> None:
        """Note a named voice and what is said of it; what was noted before stays."""
        if preset.name not in self._named:
            self._named[preset.name] = preset
            asked = examine_consent(preset.consent) if preset.audio is not None else ()
            wish = self.hear_instruction(preset.instruction) if preset.instruction is not None else ()
            self._of_named[preset.name] = dict.fromkeys((*wish, *asked))
        self._of_named[preset.name].update(dict.fromkeys(remarks))

    def rows(self) -> tuple[VoiceRow, ...]:
        """The named voices that were cast, by name."""
        return tuple(self._row(self._named[name]) for name in sorted(self._named))

    def _row(self, preset: VoicePreset) -> VoiceRow:
        return VoiceRow(
            name=preset.name,
            language=preset.language,
            source=Path(preset.audio).name if preset.audio is not None else f"{preset.engine} {preset.speaker}",
            licence=preset.licence,
            consent=preset.consent,
            warnings=tuple(remark.message for remark in self._of_named[preset.name] if remark.severity != "info"),
        )

    def remarks(self) -> Iterator[tuple[str, Remark]]:
        """(whose, remark): all that there is to tell, once for each voice and recording."""
        for name in sorted(self._named):
            yield from ((f"voice {name!r}", remark) for remark in self._of_named[name])
        for audio, found in self._recordings.items():
            yield from ((audio, remark) for remark in found)
