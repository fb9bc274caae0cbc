"""What the person who binds a book should know before it goes to a shop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.assembly_facts import Book
from jobs.assembly_plan import CREDITS, Chapter
from jobs.cover import HEAVY_BYTES
from jobs.finished_items import RunContent

if TYPE_CHECKING:
    from presets.catalog import Profile

_LOSSLESS = ("wav", "raw", "flac")
_NO_ROOM = ("wav", "raw")
"""Files that take no picture."""


def remarks(content: RunContent, book: Book, shapes: Mapping[Any, Profile], chapters: Sequence[Chapter]) -> list[str]:
    """Warnings about the book as a whole, one line each."""
    told = []
    lossy = sorted({item.profile.name for item in content.items if item.profile.container not in _LOSSLESS})
    if lossy:
        told.append(
            f"the items were made with {', '.join(lossy)}, which is lossy: the book is encoded a second time; a run "
            "with wav24k or flac24k gives the better book"
        )
    if content.missing:
        told.append(f"{len(content.missing)} items are missing and left out, as --partial allows")
    files = shapes.get("chapters")
    if files is not None:
        told += _about_files(files, book, chapters)
    return told


def _about_files(profile: Profile, book: Book, chapters: Sequence[Chapter]) -> list[str]:
    told = []
    absent = [kind for kind in CREDITS if all(chapter.kind != kind for chapter in chapters)]
    if profile.loudness == "rms" and absent:
        told.append(
            f"there are no {' and no '.join(absent)} credits: ACX asks for both as files of their own; "
            "`book --credits` makes the rows"
        )
    if book.cover is None:
        return told
    if profile.container in _NO_ROOM or not profile.tags:
        told.append(f"files of {profile.name} take no cover: it is left out of them")
    elif len(book.cover.data) > HEAVY_BYTES:
        size = len(book.cover.data) / 1e6
        told.append(
            f"the cover has {size:.1f} MB and goes into each of {len(chapters)} files ({size * len(chapters):.0f} MB); "
            "a JPEG of less than 1 MB looks the same in players"
        )
    return told
