"""`subtitles FOLDER`: SRT, WebVTT, LRC or JSON with the source's words, per item, chapter or book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli.assemble import (
    FolderArgument,
    PartialOption,
    ProfilesOption,
    WaitOption,
    default_book_folder,
    known_profiles,
)
from cli.options import JsonOption
from cli.output import complain, result, text
from cli.status import ExitStatus
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.subtitles import Per
    from jobs.word_times import Listener

_FORMATS, _PERS = ("srt", "vtt", "lrc", "json"), ("item", "chapter", "book")


def subtitles(
    folder: FolderArgument,
    formats: Annotated[
        str,
        typer.Option(
            "--format", show_default=False, help="`srt`, `vtt`, `lrc`, `json`, several with commas. (default: srt)"
        ),
    ] = "srt",
    per: Annotated[
        str,
        typer.Option(
            show_default=False,
            help="A file for each `item`, or for each `chapter` or the `book` that `assemble` made. (default: item)",
        ),
    ] = "item",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where they go. (default: beside the audio)")
    ] = None,
    book: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of `assemble`. (default: beside FOLDER, NAME-book)")
    ] = None,
    words_model: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Whisper model for CTranslate2 that listens for the times of words, for json. (default: none)",
        ),
    ] = None,
    partial: PartialOption = False,
    profiles_folder: ProfilesOption = None,
    wait_s: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Write subtitles for the finished run in FOLDER, timed by its audio.

    Exit codes: 0 written, 2 items are missing or an option is wrong, 3 written without missing items (--partial),
    4 the model that is to listen cannot be used.
    """
    from jobs.assembly_record import read_record
    from jobs.finished_items import read_run, refuse_missing, require_run_folder
    from jobs.lock import hold
    from jobs.subtitles import Writer, book_tracks, item_tracks

    wanted = _wanted(formats)
    if per not in _PERS:
        raise UserError(f"--per: found {per!r}; write one of {', '.join(_PERS)}")
    listener = _listener(words_model)
    require_run_folder(folder)
    book_folder = book or default_book_folder(folder)
    written: list[str] = []
    with hold(folder, wait_s):
        content = read_run(folder, known_profiles(profiles_folder))
        refuse_missing(content, partial)
        if per == "item":
            tracks, audio_folder = item_tracks(content, listener), folder
        else:
            record = read_record(book_folder)
            tracks = book_tracks(content, book_folder, record, cast("Per", per), listener)
            audio_folder = book_folder
        target = out or audio_folder
        writer = Writer(target, wanted)
        for track in tracks:
            written += writer.write(track)
    if as_json:
        result({"folder": str(target), "written": written, "missing": [str(missing) for missing in content.missing]})
    else:
        for name in written:
            text(str(target / name))
        complain(f"{target}: {len(written)} subtitle files written")
    raise typer.Exit(ExitStatus.SOME_FAILED if content.missing else ExitStatus.DONE)


def _listener(model: Path | None) -> Listener | None:
    """Raises EnvironmentFault where a package or a file of the model is missing."""
    if model is None:
        return None
    from jobs.devices import cores
    from jobs.recogniser import Recogniser, require
    from jobs.word_times import Listener

    return Listener(Recogniser(require(model, "--words-model", "--words-model"), cores()))


def _wanted(formats: str) -> list[str]:
    wanted = list(dict.fromkeys(word.strip() for word in formats.split(",") if word.strip()))
    unknown = [word for word in wanted if word not in _FORMATS]
    if unknown or not wanted:
        raise UserError(f"--format: found {formats!r}; write {', '.join(_FORMATS)}, several with commas")
    return wanted
