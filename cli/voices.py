"""`voices list|show`: who can speak."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.output import result, table, text
from cli.run import JsonOption
from jobs.errors import UserError
from presets.catalog import PresetError, VoicePreset, voices

app = typer.Typer(help="Voices: who can speak.", no_args_is_help=True)

FolderOption = Annotated[
    Path | None, typer.Option("--voices-folder", help="Folder with voices of your own. (default: none)")
]


@app.command(name="list")
def list_voices(voices_folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List the voices that rows can name."""
    known = _load(voices_folder)
    if as_json:
        result([asdict(voice) for voice in known.values()])
        return
    table(
        ("name", "language", "engine", "description"),
        [(v.name, v.language or "", v.engine or "cosyvoice", v.description) for v in known.values()],
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the voice.")],
    voices_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one voice in full."""
    known = _load(voices_folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UserError(
            f"no voice is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `voices list`")
        )
    if as_json:
        result(asdict(known[name]))
        return
    for key, value in asdict(known[name]).items():
        if value not in (None, ""):
            text(f"{key}: {value}")


def _load(folder: Path | None) -> dict[str, VoicePreset]:
    try:
        return voices([folder] if folder else [])
    except PresetError as error:
        raise UserError(str(error)) from error
