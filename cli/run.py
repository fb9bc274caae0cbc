"""`run MANIFEST`: make every item that is not there yet; the same command resumes what was stopped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.config import gather_settings
from cli.options import ConfigOption, JsonOption, ManifestArgument, QuietOption, VerboseOption, with_settings
from cli.output import complain, count, display, problems, result
from cli.settings_table import ALL
from cli.stop import Stop
from jobs.errors import InvalidInput, Problem, UserError
from jobs.problem_groups import Gathered
from jobs.report_rows import whole_text

if TYPE_CHECKING:
    from jobs.manifest import RowRules, Source, Tally
    from jobs.records import Item

NOTES_SHOWN = 20


@with_settings(ALL)
def run(
    manifest: ManifestArgument,
    flags: Mapping[str, Any],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Same as `check`: plan, make nothing. (default: no)")
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Same as --max-failures 1. (default: no)")] = False,
    profile_engine: Annotated[
        bool, typer.Option("--profile-engine", help="Print where the engine's time went. (default: no)")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Make every item of MANIFEST that is not there yet.

    Run it again to resume: what is done and unchanged is not made again. Exit codes: 0 all done, 2 invalid input,
    3 some items failed, 4 something is missing here, 5 locked by another run, 130/143 interrupted.
    """
    from jobs.manifest import Tally, open_source
    from jobs.metrics import metering
    from jobs.run import Order
    from jobs.run import run as run_order

    if dry_run:
        from cli.check import check_manifest

        check_manifest(manifest, flags, config, as_json, spoken=False)
        return
    with metering(flags.get("metrics_file"), manifest, flags.get("out") or default_folder(manifest)):
        settings = gather_settings({**flags, **({"max_failures": 1} if fail_fast else {})}, config, folder_of(manifest))
    folder = nameable(settings.out or default_folder(manifest))
    tally = Tally()
    with ExitStack() as stack:
        with metering(settings.metrics_file, manifest, folder):  # from here on the run itself tells how it ends
            source = stack.enter_context(open_source(manifest, encoding=settings.encoding))
        stop = stack.enter_context(Stop())
        order = Order(source.path, folder, settings, reader(source, tally, settings.only), command_line())
        try:
            finding = run_order(order, display(quiet, verbose), stop.check)
        except InvalidInput as invalid:
            if as_json:
                told = [str(problem) for problem in invalid.problems]
                result({"folder": str(folder), "problems": told, "problems_count": invalid.total})
            raise
        if not quiet:
            tell_notes(source, tally)
    problems(finding.problems, finding.problems.total)
    if as_json:
        result({"folder": str(folder), "reports": [str(path) for path in finding.reports], **finding.summary})
    if not quiet:
        complain(closing_line(finding.summary, folder))
    if profile_engine:
        tell_stages(finding.summary)
    if finding.message:
        complain(f"error: {finding.message}")
    raise typer.Exit(finding.exit_code)


def tell_stages(summary: Mapping[str, Any]) -> None:
    """Where the engine's time went, a line for each device."""
    for device in summary["devices"]:
        stages = device["stages"]
        if not stages:
            complain(f"{device['name']}: this engine does not tell its stages apart")
            continue
        told = ", ".join(
            f"{name.removesuffix('_s')} {value:.1f} s" for name, value in stages.items() if name.endswith("_s")
        )
        speed = f"; {stages['speech_ids'] / stages['lm_s']:.0f} speech ids a second" if stages.get("lm_s") else ""
        complain(f"{device['name']}: {told}{speed}")


def reader(source: Source, tally: Tally, only: str | None = None) -> Callable[[RowRules], Iterator[Item | Problem]]:
    """The manifest as the run reads it; `tally` counts what was read. Tells of an `only` that no id matches."""
    from jobs.manifest import read

    def rows(rules: RowRules) -> Iterator[Item | Problem]:
        matched = only is None
        for row in read(source, rules, tally):
            matched = matched or fnmatchcase(getattr(row, "id", ""), only or "")
            yield row
        if not matched:
            complain(f"warning: --only {only!r} matches no id of {source.path}")

    return rows


def nameable(folder: Path) -> Path:
    """The run folder, if every library can open files in it. Raises UserError."""
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(f"{folder}: the path holds bytes that are no UTF-8; rename the folder, or use --out") from None
    return folder


def command_line() -> str:
    """The command as journal and report keep it: a path in it may hold bytes that are no text."""
    return whole_text(" ".join(sys.argv[1:]))


def tell_notes(source: Source, tally: Tally) -> None:
    """What is no mistake but should be seen: how the file was read, names that had to be changed, disabled rows."""
    for note in source.notes:
        complain(f"{source.path}: {note}")
    notes = Gathered(Problem(source.path, note.line, note.field, note.message) for note in tally.notes)
    for line in notes.told(NOTES_SHOWN, tally.notes_total):
        complain(line)
    if tally.disabled:
        complain(f"{source.path}: {count(tally.disabled, 'row')} disabled")


def folder_of(manifest: str) -> Path:
    """Where a config file may lie: beside the manifest, or here for standard input."""
    return Path.cwd() if manifest == "-" else Path(manifest).resolve().parent


def default_folder(manifest: str) -> Path:
    """`prompts.csv.gz` makes `prompts-out` beside it."""
    if manifest == "-":
        return Path("stdin-out")
    path = Path(manifest)
    name = path.name
    for suffix in (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt"):
        name = name.removesuffix(suffix)
    return path.with_name(f"{name or path.name}-out")


def closing_line(summary: Mapping[str, Any], folder: Path) -> str:
    """The run in one line, with what was replaced by something lesser."""
    counts = {state: count for state, count in summary["counts"].items() if count}
    # Files without a row are kept unless --prune took them, and then they are not counted.
    words = {"removed": "kept without a row"}
    told = ", ".join(f"{count} {words.get(state, state)}" for state, count in counts.items()) or "nothing to do"
    rtf = f", real-time factor {summary['rtf']:.2f}" if summary["rtf"] else ""
    if summary["audio_s"] or counts.get("failed") or counts.get("pending"):
        made = f"{summary['audio_s']:.1f} s of audio in {summary['wall_s']:.1f} s{rtf}"
    else:
        made = f"nothing had to be spoken, {summary['ready_s']:.1f} s of audio are there; {summary['wall_s']:.1f} s"
    line = f"{told}; {made}; {folder / 'report.html'}"
    warnings = len(summary["warnings"])
    return line + (f"; {warnings} warning{'s' if warnings > 1 else ''}, see the report" if warnings else "")
