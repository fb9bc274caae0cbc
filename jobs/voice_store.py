"""A user's own voices: added after the linter has heard them, replaced whole or not at all, removed.

A voice is `NAME.toml` and a recording beside it whose name holds the digest of its bytes (`NAME.1a2b3c4d.wav`). The
recording comes first and the TOML is renamed into place last, so a reader meets the old voice or the new one, never a
new recording with an old text. The recording's bytes are kept as they came: the model wants it at two sample rates,
and making both from the original loses least.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import Locked, UserError
from jobs.files import explain, make_folder, replacing
from jobs.language import sentence_language, size
from jobs.language_codes import language_code
from jobs.naming import safe_part
from jobs.reference import Remark, examine, examine_consent
from jobs.reference_signal import Unreadable, load
from jobs.reference_trim import Cut, trim
from presets.catalog import PresetError, VoicePreset, voices
from presets.voice import read_voice

MAX_NAME_CHARS = 64
LOCK_WAIT_S = 30.0
OPTION = "--voices-folder"
_RECORDING = r"\.[0-9a-f]{8}\.(?!toml)[a-z0-9]+"
_SUFFIX_OF = {"WAVEX": ".wav", "RF64": ".wav", "MPEG": ".mp3"}


@dataclass(frozen=True, slots=True)
class NewVoice:
    """What a person says of a voice to be added."""

    name: str
    audio: Path
    text: str | None = None
    language: str | None = None
    """None: by the script of the text."""
    instruction: str | None = None
    description: str | None = None
    consent: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """A voice that stands now."""

    voice: VoicePreset
    remarks: tuple[Remark, ...]
    """What the linter said; nothing of it refuses the voice."""
    cut: Cut | None
    """The part of the recording that was kept, where it had to be trimmed."""
    replaced: bool


class Refused(UserError):
    """The linter refuses the voice; `remarks` holds all that it said."""

    def __init__(self, name: str, remarks: tuple[Remark, ...]) -> None:
        self.remarks = remarks
        reasons = [remark.message for remark in remarks if remark.severity == "refuse"]
        super().__init__(f"voice {name!r} is refused: " + "; ".join(reasons))


def own_folder() -> Path:
    """Where a user's voices are kept; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_data_dir("cosyvoice-batch", appauthor=False)) / "voices"


def voice_folders(more: Path | None = None) -> list[Path]:
    """The folders that voices are looked for in, beside the shipped ones; a later one wins."""
    return [folder for folder in (own_folder(),) if folder.is_dir()] + ([more] if more is not None else [])


def known_voices(more: Path | None = None) -> dict[str, VoicePreset]:
    """Every voice by name. Raises UserError with the mistakes of all files."""
    try:
        return voices(voice_folders(more))
    except PresetError as error:
        raise UserError(str(error)) from error


def add(new: NewVoice, folder: Path, *, trim_reference: bool = False, force: bool = False) -> Added:
    """Put a voice into `folder`. Raises UserError (name, text, language, exists), Refused, EnvironmentFault, Locked."""
    name = checked_name(new.name)
    language = _language(new)
    with tempfile.TemporaryDirectory(prefix="cosyvoice-batch-") as scratch:
        audio, remarks, cut = _heard(new, language, Path(scratch), trim_reference)
        remarks += examine_consent(new.consent)
        if any(remark.severity == "refuse" for remark in remarks):
            raise Refused(name, remarks)
        content, suffix = _content(audio)
        with _locked(folder):
            standing = _standing(folder, name)
            if standing is not None and not force:
                raise UserError(f"{standing}: there is a voice of this name; replace it with --force, or name another")
            recording = f"{name}.{hashlib.sha256(content).hexdigest()[:8]}{suffix}"
            with replacing(folder / recording, OPTION) as stream:
                stream.write(content)
            values = _values(new, language, recording)
            with replacing(folder / f"{name}.toml", OPTION) as stream:
                stream.write(as_toml(values))
            _sweep(folder, name, recording)
            voice = read_voice(name, values, folder / f"{name}.toml")
    return Added(voice, remarks, cut, standing is not None)


def remove(name: str, folder: Path) -> list[Path]:
    """Delete a voice, even one that cannot be read, and return what is gone. Raises UserError if it is not there."""
    checked_name(name, shipped_too=True)
    if not (folder / f"{name}.toml").is_file():
        where = "it ships with the tool" if name in voices() else "`voices list` shows who is there"
        raise UserError(f"{folder}: there is no voice {name!r} of your own; {where}")
    with _locked(folder):
        try:
            (folder / f"{name}.toml").unlink()
        except OSError as error:
            raise explain(error, folder / f"{name}.toml", OPTION) from error
        return [folder / f"{name}.toml", *_sweep(folder, name, keep=None)]


def checked_name(name: str, *, shipped_too: bool = False) -> str:
    """The name if a file may be called so on every system and no shipped voice is. Raises UserError."""
    normal = unicodedata.normalize("NFC", name)
    suggested = safe_part(normal)[:MAX_NAME_CHARS]
    if suggested != name or not name.isprintable() or any(character.isspace() for character in name):
        better = "_".join(suggested.split()) or "voice"
        raise UserError(f"{name[:80]!r} is no name for a voice: it becomes a file name; take one such as {better!r}")
    if not shipped_too and name.casefold() in {shipped.casefold() for shipped in voices()}:
        raise UserError(f"{name!r} is the name of a voice that ships with the tool; take another one")
    return name


def as_toml(values: dict[str, str]) -> bytes:
    """A flat table of texts. A JSON string is a TOML string, but for DEL."""
    lines = [f"{key} = {_quoted(value)}\n" for key, value in values.items()]
    return "".join(lines).encode("utf-8", "replace")


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _values(new: NewVoice, language: str, recording: str) -> dict[str, str]:
    values = {
        "description": new.description,
        "language": language,
        "audio": recording,
        "text": new.text,
        "instruction": new.instruction,
        "licence": new.licence,
        "consent": new.consent,
    }
    return {key: value.strip() for key, value in values.items() if value is not None and value.strip()}


def _language(new: NewVoice) -> str:
    if new.language is not None:
        try:
            return language_code(new.language)
        except ValueError as error:
            raise UserError(f"--language: {error}") from error
    if new.text is not None and size(new.text)[0]:
        return sentence_language(new.text, None) or "zh"
    raise UserError("--language: give the language that is spoken in the recording, such as en")


def _heard(
    new: NewVoice, language: str, scratch: Path, trim_reference: bool
) -> tuple[Path, tuple[Remark, ...], Cut | None]:
    """(recording, remarks, cut), after trimming where that is asked for and needed."""
    remarks = examine(new.audio, new.text, new.instruction, language)
    if not trim_reference or all(remark.code != "too_long" for remark in remarks):
        return new.audio, remarks, None
    trimmed = scratch / "trimmed.wav"
    try:
        cut = trim(new.audio, trimmed)
    except Unreadable as error:
        raise UserError(f"{new.audio}: {error}") from error
    if new.text is not None:
        raise UserError(
            f"--trim-reference: {new.audio} is cut to {cut.start_s:.2f}-{cut.end_s:.2f} s, and --text says what is "
            "said in all of it; words without their sound leak into the output. Add the voice without --text, listen "
            "to what was kept, then add that recording with its own words and --force"
        )
    return trimmed, examine(trimmed, None, new.instruction, language), cut


def _content(audio: Path) -> tuple[bytes, str]:
    """(bytes, suffix by what the file is) of a recording that the linter has let through."""
    try:
        form = load(audio)[2].format
        content = audio.read_bytes()
    except (Unreadable, OSError) as error:
        raise UserError(f"{audio}: {error}") from error
    suffix = _SUFFIX_OF.get(form, f".{form.lower()}")
    return content, suffix if re.fullmatch(r"\.[a-z0-9]+", suffix) else ".audio"


def _standing(folder: Path, name: str) -> Path | None:
    """The file of a voice of this name, whatever its case: some file systems do not tell them apart."""
    for file in sorted(folder.glob("*.toml")):
        if file.stem.casefold() == name.casefold():
            if file.stem != name:
                raise UserError(
                    f"{file}: there is a voice {file.stem!r}, which differs only in case; take another name"
                )
            return file
    return None


def _sweep(folder: Path, name: str, keep: str | None) -> list[Path]:
    """Delete recordings of a voice that it no longer has, those of a stopped `add` too."""
    pattern = re.compile(re.escape(name) + _RECORDING)
    gone = [file for file in sorted(folder.iterdir()) if pattern.fullmatch(file.name) and file.name != keep]
    for file in gone:
        file.unlink(missing_ok=True)
    return gone


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One change at a time in a folder of voices."""
    from filelock import FileLock, Timeout

    make_folder(folder, OPTION)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=LOCK_WAIT_S)
    except Timeout:
        raise Locked(f"{folder}: another command is changing the voices; try again when it has ended") from None
    except OSError as error:
        raise explain(error, folder, OPTION) from error
    try:
        yield
    finally:
        lock.release()
