"""`doctor`: what of this machine works, what does not, and what to do about it."""

from __future__ import annotations

import typer

from cli.options import JsonOption
from cli.output import result, table
from cli.status import ExitStatus


def doctor(as_json: JsonOption = False) -> None:
    """Examine this machine: libraries, models, ffmpeg, devices, disk. Exit code 4 if something needed is missing."""
    from jobs.examine import examine

    findings = examine()
    if as_json:
        result([{"what": f.what, "ok": f.ok, "needed": f.needed, "found": f.found, "fix": f.fix} for f in findings])
    else:
        table(
            ("", "what", "found", "what to do"),
            [("ok" if f.ok else "MISSING" if f.needed else "absent", f.what, f.found, f.fix) for f in findings],
        )
    if any(f.needed and not f.ok for f in findings):
        raise typer.Exit(ExitStatus.ENVIRONMENT)
