"""A voice as one file that travels: NAME.toml and its recording in a zip, read back as if a stranger had made it."""

from __future__ import annotations

import errno
import re
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from jobs.errors import UserError
from jobs.files import explain, replacing
from jobs.voice_store import Added, NewVoice, add, as_toml
from presets.catalog import PresetError, VoicePreset
from presets.table import read_toml
from presets.voice import read_voice

MAX_TOML_BYTES = 64 << 10
MAX_RECORDING_BYTES = 256 << 20
_PLAIN_NAME = re.compile(r"[^/\\:\x00-\x1f]+")
_ENCRYPTED = 0x1
_MADE = (1980, 1, 1, 0, 0, 0)
"""One date for all, so that a voice exported twice gives the same bytes."""


def export_voice(voice: VoicePreset, target: Path, *, force: bool = False) -> None:
    """Write a cloned voice to `target`. Raises UserError (no recording, target stands), EnvironmentFault."""
    if voice.audio is None:
        raise UserError(f"voice {voice.name!r} is part of an engine and has no recording; it is wherever the engine is")
    if target.exists() and not force:
        raise UserError(f"{target}: stands already; choose another name or use --force")
    if not target.parent.is_dir():
        raise UserError(f"{target}: the folder {target.parent} does not exist; create it first")
    recording = Path(voice.audio)
    inside = voice.name + recording.suffix
    fields = ("description", "language", "text", "instruction", "licence", "consent")
    values = {name: str(getattr(voice, name)) for name in fields if getattr(voice, name)}
    try:
        content = recording.read_bytes()
    except OSError as error:
        raise UserError(f"{recording}: cannot be read ({error.strerror}); add the voice again") from error
    with replacing(target, "the argument FILE") as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, data in ((f"{voice.name}.toml", as_toml({**values, "audio": inside})), (inside, content)):
            member = zipfile.ZipInfo(name, _MADE)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data)


def import_voice(source: Path, folder: Path, *, name: str | None = None, force: bool = False) -> Added:
    """Add the voice of a zip to `folder`, through the same checks as `add`; `name` calls it something else.

    Raises UserError for anything but one TOML and one recording with plain names, and what `add` raises.
    """
    with tempfile.TemporaryDirectory(prefix="cosyvoice-batch-") as scratch:
        file, recording = _unpack(source, Path(scratch))
        try:
            voice = read_voice(file.stem, read_toml(file.read_bytes(), f"{source}: {file.name}"), file)
        except PresetError as error:
            raise UserError(f"{source}: " + "\n".join(error.problems).replace(f"{scratch}/", "")) from error
        if voice.audio is None or Path(voice.audio) != recording.resolve():
            raise UserError(f"{source}: {file.name} must name the recording beside it, {recording.name!r}, as audio")
        new = NewVoice(
            name=name or voice.name,
            audio=recording,
            text=voice.text,
            language=voice.language,
            instruction=voice.instruction,
            description=voice.description,
            consent=voice.consent,
            licence=voice.licence,
        )
        return add(new, folder, force=force)


def _unpack(source: Path, scratch: Path) -> tuple[Path, Path]:
    """(TOML, recording), both in `scratch` under their own plain names."""
    try:
        if source.stat().st_size > MAX_RECORDING_BYTES + MAX_TOML_BYTES:
            raise UserError(f"{source}: is larger than {MAX_RECORDING_BYTES >> 20} MB; it is no voice")
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            _check_members(source, members)
            toml, recording = sorted(members, key=lambda member: not member.filename.endswith(".toml"))
            for member, limit in ((toml, MAX_TOML_BYTES), (recording, MAX_RECORDING_BYTES)):
                _extract(source, archive, member, limit, scratch)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise explain(error, scratch, "TMPDIR") from error
        raise UserError(f"{source}: cannot be read ({error.strerror or error}); check the path") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise UserError(f"{source}: no zip file that can be read ({error}); export the voice again") from error
    return scratch / toml.filename, scratch / recording.filename


def _check_members(source: Path, members: list[zipfile.ZipInfo]) -> None:
    names = [member.filename for member in members]
    if len(members) != 2 or sum(name.endswith(".toml") for name in names) != 1:
        raise UserError(f"{source}: holds {_told(names)}; a voice is one TOML file and one recording, export it again")
    for member in members:
        name = member.filename
        if not _PLAIN_NAME.fullmatch(name) or name.startswith(".") or name != PurePosixPath(name).name:
            raise UserError(f"{source}: the member {name[:80]!r} has no plain file name; export the voice again")
        if (member.external_attr >> 16) & 0o170000 not in (0, 0o100000):
            raise UserError(f"{source}: the member {name[:80]!r} is a link or no plain file; export the voice again")
        if member.flag_bits & _ENCRYPTED:
            raise UserError(f"{source}: is encrypted; unlock it and pack it again")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UserError(f"{source}: is packed in an unusual way; export the voice again")
    if len({name.casefold() for name in names}) != 2:
        raise UserError(f"{source}: two members have the same name; export the voice again")


def _told(names: list[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:40]) for name in names[:3]) + more


def _extract(source: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, scratch: Path) -> None:
    """Unpack one member; what it says of its size is not believed."""
    left = limit
    with archive.open(member) as packed, (scratch / member.filename).open("xb") as plain:
        while block := packed.read(1 << 20):
            left -= len(block)
            if left < 0:
                raise UserError(
                    f"{source}: the member {member.filename!r} is larger than {limit >> 10} KiB; it is no voice"
                )
            plain.write(block)
