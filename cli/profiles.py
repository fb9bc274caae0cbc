"""`profiles list|show`: how output files are made."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from cli.output import result, table, text
from jobs.errors import UserError
from presets.catalog import PresetError, Profile, profiles

app = typer.Typer(help="Profiles: how output files are made.", no_args_is_help=True)

FolderOption = Annotated[
    Path | None, typer.Option("--profiles-folder", help="Folder with profiles of your own. (default: none)")
]

LEVELS = {
    "none": "nothing is amplified",
    "lufs": "integrated loudness in LUFS after ITU-R BS.1770-4",
    "rms": "RMS over every sample, pauses included, where a full-scale square wave is 0 dB",
    "speech": "RMS of active speech after a 300 Hz high-pass, pauses left out, where a full-scale square wave is 0 dB; "
    "-22 is RMS 2600 of 16 bit, which RFC 7874 gives for -19 dBm0 (by strict G.711 arithmetic -19 dBm0 would be -25)",
}


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
    profile = named_profile(name, profiles_folder)
    if as_json:
        result(asdict(profile))
        return
    for key, value in asdict(profile).items():
        if value in (None, ""):
            continue
        if key == "accept":
            value = ", ".join(f"{demand} {limit}" for demand, limit in value.items() if limit is not None)
        text(f"{key}: {value}")
    text(f"level means: {LEVELS[profile.loudness]}")


def named_profile(name: str, profiles_folder: Path | None) -> Profile:
    """Raises UserError where there is none of this name, or a profile is not valid."""
    known = _load(profiles_folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UserError(
            f"no profile is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "; see `profiles list`")
        )
    return known[name]


def _load(folder: Path | None) -> dict[str, Profile]:
    try:
        return profiles([folder] if folder else [])
    except PresetError as error:
        raise UserError(str(error)) from error
