"""`voices list|show|add|remove|export|import`: who can speak, and voices of one's own."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption
from cli.output import complain, result, table, text
from jobs.errors import UserError
from jobs.voice_store import known_voices, own_folder

if TYPE_CHECKING:
    from jobs.remarks import Remark
    from jobs.voice_store import Added
    from presets.catalog import VoicePreset

MAX_TEXT_CHARS = 2000

app = typer.Typer(help="Voices: who can speak, and voices of your own.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Name of the voice.")]
FolderOption = Annotated[
    Path | None,
    typer.Option("--voices-folder", help="Another folder of voices. (default: the user's data folder)"),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what stands. (default: no)")]


@app.command(name="list")
def list_voices(voices_folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List the voices that rows can name: the shipped ones and your own."""
    known = known_voices(voices_folder)
    if as_json:
        result([asdict(voice) for voice in known.values()])
        return
    table(
        ("name", "language", "engine", "description"),
        [(v.name, v.language or "", v.engine or "cosyvoice", v.description) for v in known.values()],
    )


@app.command()
def show(name: NameArgument, voices_folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """Show one voice in full, with what the linter says of it."""
    voice = _find(name, voices_folder)
    remarks = _remarks(voice)
    if as_json:
        result({**asdict(voice), "remarks": [asdict(remark) for remark in remarks]})
        return
    for key, value in asdict(voice).items():
        if value not in (None, ""):
            text(f"{key}: {value}")
    for remark in remarks:
        text(f"{remark.severity}: {remark.message}")


@app.command()
def add(
    name: NameArgument,
    audio: Annotated[Path, typer.Option("--audio", "-a", help="Recording of the voice, 3 to 10 s long.")],
    said: Annotated[
        str | None, typer.Option("--text", "-t", help="What is said in it, word for word. (default: none)")
    ] = None,
    text_file: Annotated[Path | None, typer.Option(help="A file that holds this text. (default: none)")] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Language of the voice. (default: by the script of the text)")
    ] = None,
    instruction: Annotated[
        str | None, typer.Option("--instruction", "-i", help="How it speaks where a row does not say. (default: none)")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What `voices list` says of it. (default: none)")] = None,
    consent: Annotated[str | None, typer.Option(help="Who agreed to its use, how and when. (default: none)")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the recording. (default: none)")] = None,
    trim_reference: Annotated[
        bool, typer.Option("--trim-reference", help="Cut a recording of over 30 s to about 10 s. (default: no)")
    ] = False,
    force: ForceOption = False,
    voices_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a voice of your own from a recording, after the linter has heard it.

    `run`, `check` and `say` find it by its name. Exit code 2 if the linter refuses it.
    """
    from jobs.voice_store import NewVoice
    from jobs.voice_store import add as add_voice

    if text_file is not None:
        if said is not None:
            raise UserError("--text and --text-file are both given; keep one of them")
        said = _text_of(text_file)
    new = NewVoice(name, audio, said, language, instruction, description, consent, licence)
    _tell(add_voice(new, voices_folder or own_folder(), trim_reference=trim_reference, force=force), as_json)


@app.command()
def remove(name: NameArgument, voices_folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """Delete a voice of your own with its recording."""
    from jobs.voice_store import remove as remove_voice

    gone = remove_voice(name, voices_folder or own_folder())
    if as_json:
        result({"removed": [str(file) for file in gone]})
        return
    for file in gone:
        text(f"removed {file}")


@app.command()
def export(
    name: NameArgument,
    file: Annotated[Path, typer.Argument(help="The zip file to write.")],
    force: ForceOption = False,
    voices_folder: FolderOption = None,
) -> None:
    """Write a voice of your own into one zip file, for another machine."""
    from jobs.voice_archive import export_voice

    export_voice(_find(name, voices_folder), file, force=force)
    text(str(file))


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(help="A zip file that `voices export` wrote.")],
    name: Annotated[str | None, typer.Option(help="Another name for it. (default: its own)")] = None,
    force: ForceOption = False,
    voices_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the voice of an exported zip file; it is checked as any new one."""
    from jobs.voice_archive import import_voice

    _tell(import_voice(file, voices_folder or own_folder(), name=name, force=force), as_json)


def _find(name: str, voices_folder: Path | None) -> VoicePreset:
    known = known_voices(voices_folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UserError(
            f"no voice is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `voices list`")
        )
    return known[name]


def _remarks(voice: VoicePreset) -> Sequence[Remark]:
    from jobs.reference import examine, examine_consent

    if voice.audio is None:
        return ()
    found = examine(Path(voice.audio), voice.text, voice.instruction, voice.language)
    return (*found, *examine_consent(voice.consent))


def _text_of(file: Path) -> str:
    from jobs.inputs import text_file

    try:
        return text_file(Path.cwd(), str(file), MAX_TEXT_CHARS)[0].strip()
    except ValueError as error:
        raise UserError(f"--text-file: {error}") from error


def _tell(added: Added, as_json: bool) -> None:
    for remark in added.remarks:
        complain(f"{'warning' if remark.severity == 'warn' else 'note'}: {remark.message}")
    values: dict[str, Any] = {**asdict(added.voice), "replaced": added.replaced}
    values["remarks"] = [asdict(remark) for remark in added.remarks]
    values["kept_s"] = [added.cut.start_s, added.cut.end_s] if added.cut else None
    if as_json:
        result(values)
        return
    text(f"{'replaced' if added.replaced else 'added'} {added.voice.name}: {added.voice.file}")
    if added.cut is not None:
        where = "at a pause" if added.cut.at_pause else "through the speech, as there is no pause"
        text(f"kept {added.cut.start_s:.2f} to {added.cut.end_s:.2f} s of the recording, cut {where}")
        text(f"listen to {added.voice.audio} and add it again with --text and --force; till then it has no text")
