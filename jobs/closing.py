"""The end of a run: files that no row asks for any more, and the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from jobs.files import leads_out
from jobs.journal import Journal
from jobs.progress import Progress
from jobs.report import renew_reports
from jobs.report_items import NAMES
from jobs.report_rows import ItemRow, RunFacts
from jobs.summary import rows_of

_NOTE = "reports"


def removed_files(
    folder: Path, journal: Journal, number: int, progress: Progress, *, prune: bool, problems_count: int
) -> list[tuple[str, str]]:
    """Files (id, name) that no row asks for any more: named, and deleted where `prune` says so.

    Not with bad rows (--keep-going), whose files they may be, nor for a manifest without rows, which is more likely a
    failed export than the wish to delete everything.
    """
    found = [(item_id, out) for item_id, out in journal.removed(number) if (folder / out).exists()]
    if found and prune and (problems_count or not journal.counts(number)):
        why = "the manifest has mistakes" if problems_count else "the manifest has no rows"
        progress.warn(f"{why}, so --prune removes nothing: {len(found)} files are kept, such as {found[0][1]}")
        return found
    if found and not prune:
        if len(found) == 1:
            progress.warn(f"{found[0][1]} belongs to no row any more; --prune removes it")
        else:
            progress.warn(f"{len(found)} files belong to no row any more, such as {found[0][1]}; --prune removes them")
        return found
    kept = []
    for item_id, out in found:
        if leads_out(folder / out, folder):
            progress.warn(f"{out} is not removed: a link on its way leads out of {folder}")
            kept.append((item_id, out))
            continue
        (folder / out).unlink(missing_ok=True)
        _remove_emptied(folder, out)
        journal.forget(item_id, out)
        progress.note(f"removed {out}: no row asks for it")
    return kept


def _remove_emptied(folder: Path, out: str) -> None:
    """The folders that held the file and now hold nothing, up to the run folder, which stays. Links stay too."""
    for parent in list(Path(out).parents)[:-1]:
        if (folder / parent).is_symlink():
            return
        with suppress(OSError):  # it holds something, or is not ours to remove: then it stays, and what is above it
            (folder / parent).rmdir()
            continue
        return


def leave_reports(
    folder: Path, facts: RunFacts, journal: Journal, number: int, removed: list[tuple[str, str]]
) -> tuple[Path, ...]:
    """Write the reports of a run, those of its items only where they have changed since. Raises OSError."""

    def rows() -> Iterator[ItemRow]:
        return rows_of(journal, number, removed)

    items = sha256(json.dumps([journal.digest_of(number), removed, facts.version]).encode()).hexdigest()
    journal.keep_note(_NOTE, renew_reports(folder, facts, rows, items, journal.note(_NOTE)))
    return tuple(folder / name for name in NAMES)
