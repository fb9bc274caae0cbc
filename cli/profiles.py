"""`profiles list|show`: how output files are made."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.output import result, table, text
from cli.run import JsonOption
from jobs.errors import UserError
from presets.catalog import PresetError, Profile, profiles

app = typer.Typer(help="Profiles: how output files are made.", no_args_is_help=True)

FolderOption = Annotated[
    Path | None, typer.Option("--profiles-folder", help="Folder with profiles of your own. (default: none)")
]


@app.command(name="list")
def list_profiles(profiles_folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List the profiles that rows can name."""
    known = _load(profiles_folder)
    if as_json:
        result([asdict(profile) for profile in known.values()])
        return
    table(
        ("name", "makes", "description"),
        [(p.name, f"{p.suffix} {p.sample_rate_hz} Hz", p.description) for p in known.values()],
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the profile.")],
    profiles_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one profile in full."""
    known = _load(profiles_folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UserError(
            f"no profile is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `profiles list`")
        )
    if as_json:
        result(asdict(known[name]))
        return
    for key, value in asdict(known[name]).items():
        if value not in (None, ""):
            text(f"{key}: {value}")


def _load(folder: Path | None) -> dict[str, Profile]:
    try:
        return profiles([folder] if folder else [])
    except PresetError as error:
        raise UserError(str(error)) from error
