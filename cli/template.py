"""`template FILE --values TABLE -o MANIFEST`: one manifest row for each row of a table (mail merge)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.output import complain
from cli.run import folder_of
from jobs.errors import UserError

TEXT_SUFFIXES = (".txt", ".text", ".md")


def template(
    file: Annotated[
        str, typer.Argument(help="Text with {placeholders} (.txt), or a manifest of such rows.", metavar="FILE")
    ],
    values: Annotated[
        str, typer.Option("--values", help="CSV, TSV or JSON lines: a column for each placeholder.", metavar="TABLE")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The manifest to write (JSON lines).", metavar="MANIFEST")],
    id_template: Annotated[
        str | None,
        typer.Option("--id", help="Ids, such as 'welcome-{account}'. (default: the column id, else the row's number)"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of both files. (default: detected)")
    ] = None,
) -> None:
    """Put each row of TABLE into the {placeholders} of FILE. `{{` and `}}` stand for braces.

    Exit code 2, and no manifest, for a placeholder that is no column, an empty value, or an id made twice.
    """
    from jobs.files import replacing
    from jobs.source import open_source
    from jobs.template import merge, read_template

    for name in (file, values):
        if name != "-" and out.exists() and Path(name).exists() and out.samefile(name):
            raise UserError(f"{out}: is an input of this command; name another manifest with --out")
    as_text = Path(file).suffix.lower() in TEXT_SUFFIXES
    made = 0
    with (
        open_source(file, encoding=encoding, kind="csv" if as_text else None) as source,
        open_source(values, encoding=encoding, base=folder_of(values)) as table,
        replacing(out) as stream,
    ):
        for item in merge(read_template(source, as_text, id_template), source.path, table):
            stream.write(json.dumps(item, ensure_ascii=False).encode() + b"\n")
            made += 1
    complain(f"{made} rows written to {out}; `cosyvoice-batch check {out}` looks them over")
