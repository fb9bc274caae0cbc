"""`models list|pull|verify`: what is on this machine, how the rest gets here, and whether it came whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption
from cli.output import complain, result, table, text
from cli.status import ExitStatus
from jobs.errors import EnvironmentFault, UserError

if TYPE_CHECKING:
    from jobs.pull_plan import Plan
    from jobs.verify_model import Verdict

app = typer.Typer(help="Models: what is here, how the rest gets here, and whether it is whole.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="`cosyvoice2`, `cosyvoice3` or `pkuseg`.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--source",
        metavar="WHERE",
        help="`modelscope`, `huggingface`, or a folder that holds the model already; for pkuseg a file or folder. "
        "(default: modelscope; for pkuseg the package index)",
    ),
]


@app.command(name="list")
def list_models(as_json: JsonOption = False) -> None:
    """List engines and models: what is here and complete, what is missing, and how it gets here."""
    from jobs.inventory import models

    rows = models(os.environ)
    if as_json:
        result(rows)
        return
    table(("name", "what", "state"), [(row["name"], row["what"], row["state"]) for row in rows])


@app.command()
def pull(
    name: NameArgument,
    source: FromOption = None,
    revision: Annotated[
        str | None,
        typer.Option(help="A revision of the hub; its hashes then come from the hub. (default: the one pinned here)"),
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to put it. (default: the user's data folder)")] = None,
    extra: Annotated[
        list[str] | None, typer.Option("--with", metavar="FILE", help="Bring this file too: `llm.rl.pt` of cosyvoice3.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Stay off the network; say what is missing. (default: no)")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be fetched, fetch nothing. (default: no)")
    ] = False,
) -> None:
    """Bring a model to this machine. An interrupted pull goes on where it stopped; a second one finds all there."""
    if name == "pkuseg":
        if revision or extra:
            raise UserError("pkuseg has one revision and no extra files; leave --revision and --with out")
        _pull_pkuseg(Path(source) if source else None, folder, offline, dry_run)
        return
    from cli.pull_display import pull_display
    from jobs.model_store import models_folder
    from jobs.pull_model import open_source, pull_model
    from jobs.pull_plan import plan_pull, published_model

    model = published_model(name)
    folder = folder or models_folder(os.environ) / model.name
    where = source or "modelscope"
    stay_off = offline and where in model.repositories
    asked = None if stay_off else open_source(model, where, os.environ)
    extras = tuple(extra or ())
    watch = pull_display()
    if dry_run:
        _print_plan(plan_pull(model, asked, folder, watch, revision=revision, extras=extras, dry=True))
        return
    try:
        text(str(pull_model(model, asked, folder, watch, revision=revision, extras=extras)))
    except KeyboardInterrupt:
        complain("stopped; the same command goes on from here")
        raise


@app.command()
def verify(
    name: Annotated[str, typer.Argument(metavar="NAME|FOLDER", help="A pulled model, or a model folder.")],
    as_json: JsonOption = False,
) -> None:
    """Read every byte of a model and hold it against its hashes. Exit code 0: whole, 4: not."""
    from jobs.inventory import segmenter_folder
    from jobs.model_store import named_model
    from jobs.verify_model import verify_model

    if name == "pkuseg":
        from jobs.pull import verify_pkuseg

        verify_pkuseg(segmenter_folder())
        text(f"{segmenter_folder()}: whole")
        return
    verdict = verify_model(named_model(name, os.environ), complain)
    _print_verdict(verdict, as_json)
    if verdict.faults:
        raise typer.Exit(ExitStatus.ENVIRONMENT)


def _pull_pkuseg(source: Path | None, folder: Path | None, offline: bool, dry_run: bool) -> None:
    from jobs.inventory import segmenter_folder
    from jobs.pull import PKUSEG, pkuseg_state, pull_pkuseg

    folder = folder or segmenter_folder()
    state = pkuseg_state(folder, check_hashes=offline)
    if dry_run:
        coming = "nothing" if state.state == "present" else f"{PKUSEG.requirement} (49 MB)"
        text(f"{state.describe()}; to fetch: {coming}")
        return
    if offline and source is None and state.state != "present":
        file = PKUSEG.requirement.replace("==", "-")
        raise EnvironmentFault(
            f"{state.describe()}, and nothing is fetched offline: bring {file}.tar.gz here, give it with `--from FILE`"
        )
    text(str(pull_pkuseg(folder, source=source, report=complain)))


def _print_plan(plan: Plan) -> None:
    said = {"here": "here", "partly": "partly here", "absent": "to fetch", "other": "here, but another file: to fetch"}
    table(
        ("file", "MB", "state"),
        [(file.wanted.path, f"{file.wanted.size_bytes / 1e6:.1f}", said[file.state]) for file in plan.files],
    )
    origin = f"from {plan.title}, revision {plan.revision}, " if plan.title else ""
    complain(
        f"{plan.to_fetch_bytes / 1e9:.2f} of {plan.total_bytes / 1e9:.2f} GB to fetch {origin}into {plan.folder}; "
        "files that are here were looked at by size only"
    )


def _print_verdict(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        files = [{"path": file.path, "fault": file.fault} for file in verdict.files]
        result({"folder": str(verdict.folder), "held_against": verdict.held_against, "files": files})
    elif not verdict.faults:
        text(f"{verdict.folder}: whole, {len(verdict.files)} files as in {verdict.held_against}")
    else:
        table(("file", "fault"), [(file.path, file.fault) for file in verdict.faults])
    if verdict.faults:
        complain(
            f"error: {verdict.folder}: {len(verdict.faults)} of {len(verdict.files)} files are not as in "
            f"{verdict.held_against}; {verdict.advice}"
        )
