"""`deliver FOLDER DEST -p PROFILE…`: a finished run in other formats, without new synthesis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from cli.output import complain, result
from cli.profiles import FolderOption, named_profile
from cli.status import ExitStatus


def deliver(
    folder: Annotated[Path, typer.Argument(help="Run folder of a finished run.")],
    dest: Annotated[Path, typer.Argument(help="Folder for the other formats.")],
    profile: Annotated[
        list[str], typer.Option("--profile", "-p", help="A format to make; may be given several times.")
    ],
    profiles_folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the files of a finished run in other formats, all from the same takes.

    Run with wav24k or wav48k first. Exit codes: 0 all made, 2 a name that a system does not take or a DEST of
    another's, 3 the run had failures or some files could not be made, 4 DEST cannot be written, 5 a run is at work.
    """
    from jobs.deliver import deliver as make

    wanted = [named_profile(name, profiles_folder) for name in dict.fromkeys(profile)]
    done = make(folder, dest, wanted)
    for failure in done.failures:
        complain(f"failed: {failure}")
    if as_json:
        result({"dest": str(done.dest), "files": done.files, "failures": list(done.failures)})
    complain(f"{done.files} files in {done.dest}" + (f", {len(done.failures)} failed" if done.failures else ""))
    if done.failures:
        raise typer.Exit(ExitStatus.SOME_FAILED)
