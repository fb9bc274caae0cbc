"""`inspect FILE…|FOLDER`: measure finished audio from anywhere, and say whether a profile's demands are met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption
from cli.output import complain, result, table, text
from cli.profiles import FolderOption, named_profile
from cli.status import ExitStatus
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.inspect import Inspected
    from jobs.requirements import Check
    from presets.catalog import Profile


def inspect(
    paths: Annotated[list[Path], typer.Argument(help="Audio files, or folders of them.", metavar="FILE…|FOLDER")],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", "-p", help="Hold the files against this profile, see `profiles list`. (default: none)"
        ),
    ] = None,
    profiles_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure audio files: length, loudness, peaks, noise floor, silence at both ends, format, bit rate.

    Exit codes: 0 all demands met (or none asked), 3 some are not, or a file is no readable audio, 2 wrong usage,
    4 ffmpeg is needed and missing, or a file cannot be opened.
    """
    from jobs.requirements import check_file, check_set

    wanted = None if profile is None else named_profile(profile, profiles_folder)
    files: list[Inspected] = []
    entries: list[dict[str, Any]] = []
    unopened = failed = False
    for path in _files(paths):
        found, why, closed = _measured(path, wanted)
        unopened, failed = unopened or closed, failed or found is None
        if found is None:
            complain(f"error: {path}: {why}")
            entries.append({"path": str(path), "error": why})
            continue
        checks = [] if wanted is None else check_file(found, wanted)
        failed = failed or any(check.verdict == "fail" for check in checks)
        files.append(found)
        entries.append({**found.as_dict(), "checks": [asdict(check) for check in checks]})
        if not as_json:
            _show(found, checks)
    together = check_set(files) if wanted is not None and len(files) > 1 else []
    failed = failed or any(check.verdict == "fail" for check in together)
    if as_json:
        result({"profile": profile, "passed": not failed, "files": entries, "set": [asdict(one) for one in together]})
    elif together:
        text("all files together")
        _table(together)
    if failed:
        raise typer.Exit(ExitStatus.ENVIRONMENT if unopened else ExitStatus.SOME_FAILED)


def _measured(path: Path, profile: Profile | None) -> tuple[Inspected | None, str, bool]:
    """The figures, or why there are none and whether the file could not even be opened."""
    from jobs.audio_file import Unreadable
    from jobs.inspect import inspect_file

    try:
        return inspect_file(path, profile), "", False
    except Unreadable as error:
        return None, f"is no audio that can be read: {error}", False
    except OSError as error:
        return None, f"cannot be opened: {error.strerror or error}", True


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files that were named, and the audio files in the folders that were named, in order of their names."""
    from jobs.naming import AUDIO_SUFFIXES

    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise UserError(f"{path}: there is no such file or folder")
            yield path
            continue
        inside = [
            file
            for file in sorted(path.rglob("*"))
            if file.suffix.lower() in AUDIO_SUFFIXES and file.is_file() and not _hidden(file, path)
        ]
        if not inside:
            raise UserError(f"{path}: holds no audio files")
        yield from inside


def _hidden(file: Path, folder: Path) -> bool:
    """Takes and half-written files of a run lie in folders and under names that start with a dot."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _show(file: Inspected, checks: Sequence[Check]) -> None:
    facts = file.facts
    kind = {True: " constant", False: " varying", None: ""}[facts.constant_rate]
    bits = f", {facts.bits} bit" if facts.bits else ""
    text(file.path)
    text(
        f"  {facts.container} {facts.codec}, {facts.sample_rate_hz} Hz, {facts.channels} channel"
        f"{'s' if facts.channels > 1 else ''}{bits}, {file.bitrate_kbps:.0f} kbit/s{kind}, {facts.size_bytes} bytes"
    )
    text(
        f"  {file.duration_s:.2f} s, silence {file.head_silence_s:.2f} s at the head, {file.tail_silence_s:.2f} s at "
        "the tail"
    )
    text(
        f"  {_db(file.loudness_lufs, 'LUFS')} integrated, RMS {_db(file.rms_db)}, active speech {_db(file.speech_db)}, "
        f"sample peak {_db(file.sample_peak_dbfs, 'dBFS')}, true peak {_db(file.true_peak_dbtp, 'dBTP')}, "
        f"noise floor {_db(file.noise_floor_db)}"
    )
    _table(checks)


def _table(checks: Sequence[Check]) -> None:
    if checks:
        table(
            ("verdict", "demand", "found", "wanted"),
            [(check.verdict, check.what, check.found, check.wanted) for check in checks],
        )


def _db(level: float | None, unit: str = "dB") -> str:
    return "silence" if level is None else f"{level:.1f} {unit}"
