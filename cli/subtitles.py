"""`subtitles FOLDER`: SRT, WebVTT, LRC or JSON with the source's words, per item, chapter or book."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.assemble import FolderArgument, default_book_folder, known_profiles
from cli.options import FOLDER_WAIT, OWN_PROFILES, PARTIAL, JsonOption, Option, with_options
from cli.output import complain, result, text
from cli.status import ExitStatus
from jobs.errors import UserError

if TYPE_CHECKING:
    from jobs.finished_items import RunContent
    from jobs.subtitles import Track
    from jobs.word_times import Listener

_FORMATS = ("srt", "vtt", "lrc", "json")


@dataclass(frozen=True, slots=True)
class SubtitlesOptions:
    """What may be asked of `subtitles`."""

    formats: Annotated[str, Option("`srt`, `vtt`, `lrc`, `json`, several with commas.", flag="--format")] = "srt"
    per: Annotated[
        Literal["item", "chapter", "book"],
        Option("A file for each `item`, or for each `chapter` or the `book` that `assemble` made."),
    ] = "item"
    out: Annotated[Path | None, Option("Where they go.", short="-o", default="beside the audio", metavar="FOLDER")] = (
        None
    )
    book: Annotated[
        Path | None, Option("Folder of `assemble`.", default="beside FOLDER, NAME-book", metavar="FOLDER")
    ] = None
    words_model: Annotated[
        Path | None,
        Option("Whisper model for CTranslate2 that listens for the times of words, for json.", metavar="FOLDER"),
    ] = None
    partial: Annotated[bool, PARTIAL] = False
    profiles_folder: Annotated[Path | None, OWN_PROFILES] = None
    wait_s: Annotated[float, FOLDER_WAIT] = 0.0


@with_options(SubtitlesOptions)
def subtitles(folder: FolderArgument, asked: SubtitlesOptions, as_json: JsonOption = False) -> None:
    """Write subtitles for the finished run in FOLDER, timed by its audio.

    Exit codes: 0 written, 2 items are missing or an option is wrong, 3 written without missing items (--partial),
    4 the model that is to listen cannot be used.
    """
    from jobs.finished_items import read_run, refuse_missing, require_run_folder
    from jobs.lock import hold
    from jobs.subtitles import Writer

    wanted = _wanted(asked.formats)
    listener = _listener(asked.words_model)
    require_run_folder(folder)
    with hold(folder, asked.wait_s):
        content = read_run(folder, known_profiles(asked.profiles_folder))
        refuse_missing(content, asked.partial)
        tracks, audio_folder = _tracks(content, folder, asked, listener)
        target = asked.out or audio_folder
        writer = Writer(target, wanted)
        written = [name for track in tracks for name in writer.write(track)]
    if as_json:
        result({"folder": str(target), "written": written, "missing": [str(missing) for missing in content.missing]})
    else:
        for name in written:
            text(str(target / name))
        complain(f"{target}: {len(written)} subtitle files written")
    raise typer.Exit(ExitStatus.SOME_FAILED if content.missing else ExitStatus.DONE)


def _tracks(
    content: RunContent, folder: Path, asked: SubtitlesOptions, listener: Listener | None
) -> tuple[Iterator[Track], Path]:
    """What the subtitles are of, and the folder of that audio."""
    from jobs.assembly_record import read_record
    from jobs.subtitles import book_tracks, item_tracks

    if asked.per == "item":
        return item_tracks(content, listener), folder
    book = asked.book or default_book_folder(folder)
    return book_tracks(content, book, read_record(book), asked.per, listener), book


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
