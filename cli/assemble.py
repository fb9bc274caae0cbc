"""`assemble FOLDER`: a finished run folder becomes an audiobook: a file for each chapter, an M4B with chapter marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import FOLDER_WAIT, OWN_PROFILES, PARTIAL, JsonOption, Option, QuietOption, with_options
from cli.output import complain, result, text
from cli.status import ExitStatus
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.assemble_book import Outcome
    from jobs.finished_items import RunContent
    from presets.catalog import Profile

FolderArgument = Annotated[Path, typer.Argument(help="Run folder of the book.")]
_KINDS = ("chapters", "m4b")
_FACTS = ("title", "author", "narrator", "date", "description", "genre", "cover")


@dataclass(frozen=True, slots=True)
class AssembleOptions:
    """What may be asked of `assemble`; an empty fact stands as the sidecar has it."""

    out: Annotated[
        Path | None, Option("Where the book goes.", short="-o", default="beside FOLDER, NAME-book", metavar="FOLDER")
    ] = None
    formats: Annotated[str, Option("`chapters`, `m4b`, or both with a comma.", flag="--format")] = "chapters,m4b"
    profile: Annotated[str, Option("Profile of chapter files.", short="-p")] = "acx"
    m4b_profile: Annotated[str, Option("Profile of the M4B.")] = "m4b"
    book: Annotated[
        Path | None,
        Option("Facts of the book.", default="book.json in FOLDER, else MANIFEST.book.json beside it", metavar="FILE"),
    ] = None
    title: Annotated[str, Option("Title.", default="from book.json")] = ""
    author: Annotated[str, Option("Author.", default="from book.json")] = ""
    narrator: Annotated[str, Option("Narrator.", default="from book.json, else the voices' names")] = ""
    date: Annotated[str, Option("Year of publication.", default="from book.json")] = ""
    description: Annotated[str, Option("What it is about.", default="from book.json")] = ""
    genre: Annotated[str, Option("Genre.", default="from book.json, else Audiobook")] = ""
    cover: Annotated[str, Option("JPEG or PNG.", default="from book.json", metavar="FILE")] = ""
    partial: Annotated[bool, PARTIAL] = False
    profiles_folder: Annotated[Path | None, OWN_PROFILES] = None
    wait_s: Annotated[float, FOLDER_WAIT] = 0.0


@with_options(AssembleOptions)
def assemble(
    folder: FolderArgument, asked: AssembleOptions, as_json: JsonOption = False, quiet: QuietOption = False
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

    known = known_profiles(asked.profiles_folder)
    shapes = _shapes(known, asked)
    require_run_folder(folder)
    given = {name: getattr(asked, name) for name in _FACTS}
    with hold(folder, asked.wait_s):
        content = read_run(folder, known)
        voices = tuple(dict.fromkeys(item.voice for item in content.items if item.voice))
        facts = read_book(find_sidecar(folder, asked.book), given, voices, _from_rows(content, folder))
        order = Order(content, facts, asked.out or default_book_folder(folder), shapes, asked.partial)
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


def _shapes(known: Mapping[str, Profile], asked: AssembleOptions) -> dict[Any, Profile]:
    """The profile of each kind of file that is wanted. Raises UserError for one that there is not or that is no AAC."""
    asked_for = {"chapters": ("--profile", asked.profile), "m4b": ("--m4b-profile", asked.m4b_profile)}
    shapes: dict[Any, Profile] = {}
    for kind in _wanted(asked.formats):
        option, name = asked_for[kind]
        if name not in known:
            raise UserError(f"{option}: no profile is called {name!r}; `profiles list` shows them")
        shapes[kind] = known[name]
        if kind == "m4b" and known[name].container != "m4a":
            raise UserError(f"{option}: {name!r} makes {known[name].container}, an M4B needs m4a (AAC)")
    return shapes


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
