"""`publish FOLDER DEST`: a finished run goes live in one step; `--rollback` brings the one before back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from cli.output import complain, result
from jobs.errors import UserError


def publish(
    places: Annotated[
        list[Path],
        typer.Argument(
            help="Run folder, then the live folder; with --rollback the latter only.", metavar="[FOLDER] DEST"
        ),
    ],
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Bring back what was live at DEST before. (default: no)")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the files of a finished run live at DEST, a symbolic link that is switched over by one rename.

    Only runs without failures are published. Exit codes: 0 live, 2 DEST was not made by this command or there is no
    report, 3 the run had failures or files are missing, 4 DEST cannot be written, 5 a run or a publish is at work.
    """
    from jobs import publish as steps

    if len(places) != (1 if rollback else 2):
        raise UserError("publish: give FOLDER and DEST" + (", or DEST alone with --rollback" if not rollback else ""))
    done = steps.rollback(places[0]) if rollback else steps.publish(places[0], places[1])
    if as_json:
        result({**asdict(done), "dest": str(done.dest)})
    kept = f"; version {done.previous} is kept for --rollback" if done.previous else ""
    complain(f"{done.dest}: version {done.version}, {done.files} files{kept}")
