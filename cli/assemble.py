"""`assemble FOLDER`: a finished run folder becomes an audiobook: a file for each chapter, an M4B with chapter marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, QuietOption
from cli.output import complain, result, text
from cli.status import ExitStatus
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.assemble_book import Outcome
    from jobs.finished_items import RunContent
    from presets.catalog import Profile

FolderArgument = Annotated[Path, typer.Argument(help="Run folder of the book.")]
ProfilesOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder with profiles of your own. (default: none)")
]
PartialOption = Annotated[
    bool, typer.Option("--partial", help="Go on without items that failed or were not made yet. (default: no)")
]
WaitOption = Annotated[
    float,
    typer.Option(
        "--wait", min=0, show_default=False, help="Seconds to wait for a run on the same folder. (default: 0)"
    ),
]
_KINDS = ("chapters", "m4b")


def assemble(
    folder: FolderArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where the book goes. (default: beside FOLDER, NAME-book)"),
    ] = None,
    formats: Annotated[
        str,
        typer.Option(
            "--format", show_default=False, help="`chapters`, `m4b`, or both with a comma. (default: chapters,m4b)"
        ),
    ] = "chapters,m4b",
    profile: Annotated[
        str, typer.Option("--profile", "-p", show_default=False, help="Profile of chapter files. (default: acx)")
    ] = "acx",
    m4b_profile: Annotated[str, typer.Option(show_default=False, help="Profile of the M4B. (default: m4b)")] = "m4b",
    book: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Facts of the book. (default: book.json in FOLDER, else MANIFEST.book.json beside it)"
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title. (default: from book.json)")] = "",
    author: Annotated[str, typer.Option(help="Author. (default: from book.json)")] = "",
    narrator: Annotated[str, typer.Option(help="Narrator. (default: from book.json, else the voices' names)")] = "",
    date: Annotated[str, typer.Option(help="Year of publication. (default: from book.json)")] = "",
    description: Annotated[str, typer.Option(help="What it is about. (default: from book.json)")] = "",
    genre: Annotated[str, typer.Option(help="Genre. (default: from book.json, else Audiobook)")] = "",
    cover: Annotated[str, typer.Option(metavar="FILE", help="JPEG or PNG. (default: from book.json)")] = "",
    partial: PartialOption = False,
    profiles_folder: ProfilesOption = None,
    wait_s: WaitOption = 0.0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make an audiobook of the finished run in FOLDER.

    Run it again after a change: only what changed is made again. Exit codes: 0 the book is there, 2 items are missing
    or an option is wrong, 3 made without missing items (--partial), 4 ffmpeg or disk space is missing, 5 a run is at
    work in FOLDER.
    """
    from jobs.assemble_book import Order
    from jobs.assemble_book import assemble as assemble_book
    from jobs.assembly_facts import find_sidecar, read_book
    from jobs.finished_items import read_run, require_run_folder
    from jobs.lock import hold

    known = known_profiles(profiles_folder)
    shapes: dict[Any, Profile] = {}
    for kind in _wanted(formats):
        shapes[kind] = _profile(
            known, *(("--profile", profile) if kind == "chapters" else ("--m4b-profile", m4b_profile))
        )
    if "m4b" in shapes and shapes["m4b"].container != "m4a":
        raise UserError(f"--m4b-profile: {m4b_profile!r} makes {shapes['m4b'].container}, an M4B needs m4a (AAC)")
    require_run_folder(folder)
    given = {"title": title, "author": author, "narrator": narrator, "date": date, "description": description}
    given |= {"genre": genre, "cover": cover}
    with hold(folder, wait_s):
        content = read_run(folder, known)
        voices = tuple(dict.fromkeys(item.voice for item in content.items if item.voice))
        facts = read_book(find_sidecar(folder, book), given, voices, _from_rows(content, folder))
        order = Order(content, facts, out or default_book_folder(folder), shapes, partial)
        outcome = assemble_book(order, (lambda line: None) if quiet else complain)
    _tell(outcome, order.out, as_json)
    raise typer.Exit(ExitStatus.SOME_FAILED if outcome.missing else ExitStatus.DONE)


def _from_rows(content: RunContent, folder: Path) -> dict[str, str]:
    """What the columns that `book` writes say, where no sidecar is there."""
    extra = content.items[0].extra if content.items else {}
    title = extra.get("book") or folder.resolve().name.removesuffix("-out")
    return {"title": title, "author": extra.get("author", "")}


def default_book_folder(folder: Path) -> Path:
    """`novel-out` makes `novel-book` beside it."""
    whole = folder.resolve()
    return whole.with_name(whole.name.removesuffix("-out") + "-book")


def known_profiles(folder: Path | None) -> dict[str, Profile]:
    """Shipped profiles and those of a folder. Raises UserError for a file with mistakes."""
    from presets.catalog import PresetError, profiles

    try:
        return profiles([folder] if folder is not None else [])
    except PresetError as error:
        raise UserError(str(error)) from error


def _wanted(formats: str) -> list[str]:
    wanted = [word.strip() for word in formats.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in _KINDS]
    if unknown or not wanted:
        raise UserError(f"--format: found {formats!r}; write chapters, m4b, or chapters,m4b")
    return [kind for kind in _KINDS if kind in wanted]


def _profile(known: dict[str, Profile], option: str, name: str) -> Profile:
    if name not in known:
        raise UserError(f"{option}: no profile is called {name!r}; `profiles list` shows them")
    return known[name]


def _tell(outcome: Outcome, out: Path, as_json: bool) -> None:
    for warning in outcome.warnings:
        complain(f"warning: {warning}")
    for missing in outcome.missing[:20]:
        complain(f"missing: {missing}")
    if as_json:
        result(
            {
                "folder": str(out),
                "made": outcome.made,
                "unchanged": outcome.unchanged,
                "removed": outcome.removed,
                "warnings": outcome.warnings,
                "missing": [{"id": m.id, "line": m.line, "why": m.why} for m in outcome.missing],
            }
        )
        return
    for name in outcome.made:
        text(str(out / name))
    complain(
        f"{out}: {len(outcome.made)} files made, {len(outcome.unchanged)} unchanged, {len(outcome.removed)} removed"
    )
