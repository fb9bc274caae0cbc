"""All profiles and voices by name: those that ship, then those in the user's folders, the later winning."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from presets.profile import Profile, read_profile
from presets.table import PresetError, read_toml
from presets.voice import VoicePreset, read_voice

__all__ = ["PresetError", "Profile", "VoicePreset", "profiles", "voices"]


def profiles(folders: Sequence[Path] = ()) -> dict[str, Profile]:
    """Profiles by name (the file's name without `.toml`), sorted. Raises PresetError with the mistakes of all files."""
    shipped, problems = _tables(_shipped("profiles"))
    found: dict[str, Profile] = {}
    sources = shipped
    for folder in folders:
        own, more = _tables(folder)
        sources, problems = sources | own, problems + more
    for name in sources:
        try:
            found[name] = _profile(name, sources, ())
        except PresetError as error:
            problems += error.problems
    if problems:
        raise PresetError(tuple(dict.fromkeys(problems)))
    return dict(sorted(found.items()))


def voices(folders: Sequence[Path] = ()) -> dict[str, VoicePreset]:
    """Voices by name, sorted. Raises PresetError with the mistakes of all files."""
    found: dict[str, VoicePreset] = {}
    problems: list[str] = []
    for folder in (_shipped("voices"), *folders):
        tables, more = _tables(folder)
        problems += more
        for name, (file, values) in tables.items():
            try:
                found[name] = read_voice(name, values, file)
            except PresetError as error:
                problems += error.problems
    if problems:
        raise PresetError(problems)
    return dict(sorted(found.items()))


def _shipped(kind: str) -> Path:
    """The folder of our own data, wherever the package is installed."""
    return Path(str(files(__package__ or "presets").joinpath(kind)))


def _tables(folder: Path) -> tuple[dict[str, tuple[Path, dict[str, Any]]], list[str]]:
    """Every `*.toml` of a folder by name, with the mistakes of those that cannot be read."""
    tables: dict[str, tuple[Path, dict[str, Any]]] = {}
    problems: list[str] = []
    if not folder.is_dir():
        return tables, [f"{folder}: there is no such folder, create it or take it out of the settings"]
    for file in sorted(folder.glob("*.toml")):
        try:
            tables[file.stem] = (file, read_toml(file.read_bytes(), file))
        except PresetError as error:
            problems += error.problems
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
    return tables, problems


def _profile(name: str, sources: dict[str, tuple[Path, dict[str, Any]]], above: tuple[str, ...]) -> Profile:
    """One profile, after those that it extends."""
    file, values = sources[name]
    parent = values.get("extends")
    if parent is None:
        return read_profile(name, values, str(file))
    if not isinstance(parent, str):
        raise PresetError([f"{file}: extends: found {parent!r}, write the name of a profile in quotes"])
    if parent not in sources or parent in (*above, name):
        what = "extends itself" if parent in (*above, name) else "is not there"
        raise PresetError(
            [f"{file}: extends: profile {parent!r} {what}, name another one of {', '.join(sorted(sources))}"]
        )
    return read_profile(name, values, str(file), _profile(parent, sources, (*above, name)))
