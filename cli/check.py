"""`check MANIFEST`: validate and plan; what would be made and why, how long it would be. Nothing is synthesised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.config import gather_settings
from cli.options import ConfigOption, JsonOption, ManifestArgument, ShowOption, with_settings
from cli.output import complain, count, problems, result, table, text
from cli.run import default_folder, folder_of, reader, tell_notes
from cli.settings_table import PLANNING, SPEAKING


@with_settings(SPEAKING, PLANNING)
def check(
    manifest: ManifestArgument,
    flags: Mapping[str, Any],
    spoken: Annotated[
        bool, typer.Option("--spoken", help="Show how each text would be read, segment by segment. (default: no)")
    ] = False,
    show: ShowOption = 50,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate MANIFEST and say what a run would make and why. Exit code 2 if it has mistakes."""
    check_manifest(manifest, flags, config, as_json, spoken, show)


def check_manifest(
    manifest: str, flags: Mapping[str, Any], config: Path | None, as_json: bool, spoken: bool, show: int = 50
) -> None:
    """What `check` and `run --dry-run` do; lists have at most `show` entries (0: all)."""
    from jobs.manifest import Tally, open_source
    from jobs.survey import survey

    settings = gather_settings(flags, config, folder_of(manifest))
    folder = settings.out or default_folder(manifest)
    tally = Tally()
    with open_source(manifest, encoding=settings.encoding) as source:
        heard: list[dict[str, str]] = []
        tell = (
            (lambda item_id, segments: heard.extend(_spoken_rows(item_id, segments))) if as_json else _ShowSpoken(show)
        )
        view = survey(
            settings,
            folder,
            reader(source, tally, settings.only),
            source.path,
            spoken=tell if spoken else None,
            shown=show,
        )
        tell_notes(source, tally)
    for warning in view.warnings:
        complain(f"warning: {warning}")
    for remark in view.voices[: show or None]:
        complain(f"warning: {remark}")
    if show and len(view.voices) > show:
        complain(f"… and {len(view.voices) - show} more warnings of voices; --show 0 shows all")
    problems(view.problems, view.problems.total, show)
    if as_json:
        result(view.as_dict() | ({"spoken": heard} if spoken else {}))
    elif not view.problems.total:
        _show(view.as_dict(), folder)
    if view.problems.total:
        complain(f"{count(view.problems.total, 'mistake')}; a run would do nothing (see --keep-going)")
        raise typer.Exit(2)
    if settings.strict and view.warnings:
        raise typer.Exit(4)


def _spoken_rows(item_id: str, segments: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"id": item_id, "written": written, "spoken": said, "pause": pause} for written, said, pause in segments]


class _ShowSpoken:
    """Prints each item's segments, of the first items."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items = 0

    def __call__(self, item_id: str, segments: list[tuple[str, str, str]]) -> None:
        self._items += 1
        if self._limit and self._items > self._limit:
            if self._items == self._limit + 1:
                complain(f"… only the first {self._limit} items are shown; --show 0 shows all")
            return
        table(
            ("id", "written", "spoken", "pause after"),
            [(item_id, written, said, pause) for written, said, pause in segments],
        )


def _show(view: Mapping[str, Any], folder: Path) -> None:
    counts = Counter(view["counts"])
    states = ", ".join(f"{n} {state}" for state, n in counts.items()) or "nothing to do"
    text(f"{count(sum(counts.values()), 'item')} for {folder}: {states}")
    table(("items", "reason"), [(str(count), reason) for reason, count in view["reasons"].items()])
    for row in view["to_make"]:
        text(f"  {row['id']} -> {row['out']} (about {row['seconds']:.1f} s, {row['reason']})")
    if view["counts"].get("pending", 0) > len(view["to_make"]):
        text(f"  … and {view['counts']['pending'] - len(view['to_make'])} more")
    text(f"about {view['audio_s']:.0f} s of audio; estimated wall time {_wall(view)}")


def _wall(view: Mapping[str, Any]) -> str:
    if view["wall_s"] is None:
        return "unknown (nothing was made with this engine here yet)"
    return f"{view['wall_s']:.0f} s, from {view['wall_from']}"
