"""`report FOLDER`: show a finished or stopped run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import JsonOption, ShowOption
from cli.output import result, table, text
from jobs.errors import UserError


def report(
    folder: Annotated[Path, typer.Argument(help="Run folder.")],
    failed: Annotated[bool, typer.Option("--failed", help="List failed items only. (default: no)")] = False,
    show: ShowOption = 50,
    as_json: JsonOption = False,
) -> None:
    """Show the last run of FOLDER: totals, warnings, and its items. Exits 0 whatever that run ended with."""
    run, items = _read(folder / "report.json")
    if failed:
        items = [item for item in items if item["state"] == "failed"]
    if as_json:
        result({"run": run, "items": items})
        return
    counts = ", ".join(f"{count} {state}" for state, count in run["counts"].items() if count) or "nothing to do"
    text(f"run {run['run_id']} of {run['manifest']}, started {run['started']}: {counts}, exit code {run['exit_code']}")
    for warning in run["warnings"]:
        text(f"warning: {warning}")
    text(f"{run['audio_s']:.1f} s of audio in {run['wall_s']:.1f} s by {run['engine']['title']}")
    table(
        ("id", "state", "out", "duration", "loudness", "why"),
        [_row(item) for item in sorted(items, key=lambda item: item["state"] != "failed")],
        show,
    )


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content["run"], content["items"]
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path.parent}: no report here; give the run folder of `run` (its --out)") from None
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error}); run the manifest again to write it anew") from error


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    measured = item["measured"] or {}
    loudness = measured.get("loudness_lufs")
    return (
        item["id"],
        item["state"],
        item["out"],
        f"{measured['duration_s']:.2f} s" if measured else "",
        f"{loudness:.1f} LUFS" if loudness is not None else "",
        item["reason"],
    )
