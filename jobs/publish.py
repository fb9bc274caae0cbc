"""A finished run goes live in one step: its files are built beside, then one rename of a symbolic link switches over.

`DEST` is a link to `.DEST.versions/000042`. What is live is always a whole version, whenever the process is killed: a
version is complete and on the disk before the link points to it, and the link is replaced by a rename. The version
before stays for a rollback; older ones go.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

from filelock import FileLock, Timeout

from jobs.errors import EnvironmentFault, Locked, UserError
from jobs.files import explain, is_as_made, make_folder, replacing
from jobs.journal import Journal
from jobs.journal_file import journal_path
from jobs.lock import hold
from jobs.retry import asks_for_a_part

MARK = "cosyvoice-batch versions"
_VERSION = re.compile(r"[0-9]{6}")
_GOOD_STATES = ("done", "unchanged")


class NotPublishable(UserError):
    """The run had failures, or its files are not those of its report."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Published:
    """What is live now."""

    dest: Path
    version: str
    previous: str | None
    """What a rollback would bring back."""
    files: int


def publish(folder: Path, dest: Path) -> Published:
    """Make the outputs of the run in `folder` live at `dest`.

    Raises NotPublishable, UserError (`dest` was not made by this command, no report), Locked, EnvironmentFault.
    """
    dest = _absolute(dest)
    run = folder.resolve()
    if dest == run or run in dest.parents or dest in run.parents:
        raise UserError(f"{dest}: lies in or around the run folder; choose a place of its own")
    with hold(folder, 0):
        outputs = [item["out"] for item in finished_items(folder)]
        with _versions(dest, make=True) as versions:
            current = _current(dest, versions)
            name = f"{max((int(path.name) for path in _all(versions)), default=0) + 1:06d}"
            _build(folder, outputs, versions, name, current)
            _switch(dest, versions, name)
            _clear(versions, {name, current or name})
    return Published(dest, name, current, len(outputs))


def rollback(dest: Path) -> Published:
    """Bring back the version before the live one. Raises UserError where there is none, Locked, EnvironmentFault."""
    dest = _absolute(dest)
    with _versions(dest, make=False) as versions:
        current = _current(dest, versions)
        if current is None:
            raise UserError(f"{dest}: nothing is live here; publish a run first")
        previous = _facts(versions, current).get("previous")
        if previous is None or not (versions / previous).is_dir():
            raise UserError(f"{dest}: no version before {current} is kept; publish the wanted run again")
        _switch(dest, versions, previous)
        before = _facts(versions, previous)
        kept = before.get("previous")
        kept = kept if kept is not None and (versions / kept).is_dir() else None
    return Published(dest, previous, kept, int(before.get("files", 0)))


def _absolute(dest: Path) -> Path:
    """The link itself, not what it points to."""
    if not dest.name or dest.name in (".", ".."):
        raise UserError(f"{dest}: is no name for the live folder; name the folder itself")
    return dest.parent.resolve() / dest.name


def finished_items(folder: Path) -> list[dict[str, Any]]:
    """The report's items with a file; every file there and as it was made, and no item failed.

    Raises NotPublishable where that is not so, UserError where there is no report.
    """
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        run, items = report["run"], report["items"]
    except FileNotFoundError:
        raise UserError(f"{folder}: no report here; give the run folder of `run` (its --out)") from None
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder / 'report.json'}: cannot be read ({error}); run the manifest again") from error
    if run["exit_code"] != 0:
        raise NotPublishable(f"{folder}: the run ended with code {run['exit_code']}; see its report, run it again")
    left_out = sum(item["state"] == "removed" for item in items)
    if left_out and asks_for_a_part(run.get("manifest", "")):
        raise NotPublishable(
            f"{folder}: the last run made {PurePath(run['manifest']).name} alone, and {left_out} other files would be "
            "left out; run the whole manifest first"
        )
    good, faults = [], []
    marks = _marks(folder)
    for item in items:
        if item["state"] in _GOOD_STATES:
            fault = _file_fault(folder, item, marks.get(item["id"], {}))
            faults += [fault] if fault else []
            good.append(item)
        elif item["state"] not in ("skipped", "removed"):
            faults.append(f"{item['id']} is {item['state']}")
    if faults:
        more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise NotPublishable(f"{folder}: {'; '.join(faults[:5])}{more}; run the manifest again")
    if not good:
        raise NotPublishable(f"{folder}: the run has no files; nothing was done")
    return good


def _marks(folder: Path) -> dict[str, Mapping[str, Any]]:
    """What tells each item's file from any other, by id; none where the folder came here without its journal."""
    if not journal_path(folder).is_file():
        return {}
    journal = Journal(folder, readonly=True)
    try:
        return {entry.item.id: entry.result.get("marks", {}) for entry in journal.entries(journal.last_run())}
    finally:
        journal.close()


def _file_fault(folder: Path, item: dict[str, Any], marks: Mapping[str, Any]) -> str:
    path = folder / item["out"]
    if folder.resolve() not in path.resolve().parents:
        return f"{item['out']} lies outside the run folder"
    if not path.is_file():
        return f"{item['out']} is missing"
    size = path.stat().st_size
    expected = item["measured"] and item["measured"]["size_bytes"]
    if expected not in (None, size):
        return f"{item['out']} has {size} bytes, the report says {expected}"
    return "" if is_as_made(str(path), size, marks) else f"{item['out']} was changed since it was made"


@contextmanager
def _versions(dest: Path, make: bool) -> Iterator[Path]:
    """The locked folder of versions beside `dest`, marked as ours; half-built versions of killed runs are cleared."""
    versions = dest.with_name(f".{dest.name}.versions")
    mark = versions / "mark"
    if not mark.is_file():
        if not make:
            raise UserError(f"{dest}: was not published by this command; there is nothing to go back to")
        if dest.exists() or dest.is_symlink():
            raise UserError(
                f"{dest}: is there already and was not made by this command; move it away or choose another"
            )
        if versions.is_dir() and any(path.name not in ("lock", ".mark.part") for path in versions.iterdir()):
            raise UserError(f"{versions}: was not made by this command; move it away or choose another DEST")
        make_folder(versions, "DEST")
    lock = FileLock(versions / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Locked(f"{dest}: is being published by another process; try again later") from None
    except OSError as error:
        raise explain(error, versions, "DEST") from error
    try:
        if not mark.is_file():
            with replacing(mark, "DEST") as stream:
                stream.write(MARK.encode())
        elif mark.read_bytes() != MARK.encode():
            raise UserError(f"{versions}: was not made by this command; move it away or choose another DEST")
        yield versions
    finally:
        lock.release()


def _current(dest: Path, versions: Path) -> str | None:
    """The version that is live. Raises UserError where something of another's stands in its place."""
    if not dest.is_symlink():
        if dest.exists():
            raise UserError(f"{dest}: is no link of this command; move it away or choose another")
        return None
    target = dest.readlink()
    if target.parent != Path(versions.name) or not _VERSION.fullmatch(target.name):
        raise UserError(f"{dest}: links to {target}, not to a version of this command; move it away or choose another")
    return target.name


def _all(versions: Path) -> list[Path]:
    return sorted(path for path in versions.iterdir() if _VERSION.fullmatch(path.name) and path.is_dir())


def _facts(versions: Path, name: str) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((versions / f"{name}.json").read_text(encoding="utf-8"))
        return facts
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"{versions / name}.json: cannot be read ({error}); publish the run again") from error


def _build(folder: Path, outputs: list[str], versions: Path, name: str, previous: str | None) -> None:
    """A whole version on the disk under its final name."""
    part = versions / f"{name}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for out in outputs:
            target = part / out
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / out, target)
            shutil.copystat(folder / out, target)
            _sync(target)
        for inner in [part, *(path for path in part.rglob("*") if path.is_dir())]:
            _sync(inner)
        facts = {"previous": previous, "files": len(outputs), "run": str(folder.resolve())}
        facts["published"] = datetime.now().astimezone().isoformat(timespec="seconds")
        with replacing(versions / f"{name}.json", "DEST") as stream:
            stream.write(json.dumps(facts, indent=1).encode())
        part.rename(versions / name)
        _sync(versions)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise explain(error, part, "DEST") from error


def _sync(path: Path) -> None:
    """To the disk; folders too, where the system lets them be opened (not on Windows)."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _switch(dest: Path, versions: Path, name: str) -> None:
    """One rename: a reader finds the old version or the new one."""
    link = versions / "next"
    try:
        link.unlink(missing_ok=True)
        # Seen from DEST's folder; the link is moved there.
        link.symlink_to(Path(versions.name) / name, target_is_directory=True)
        link.replace(dest)
        _sync(dest.parent)
    except OSError as error:
        raise explain(error, dest, "DEST") from error


def _clear(versions: Path, kept: set[str]) -> None:
    """Older versions, and what killed runs left; a failure to clear does not unmake what was published."""
    for path in versions.iterdir():
        name = path.name.partition(".")[0]
        if _VERSION.fullmatch(name) and (name not in kept or path.name.endswith(".part")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
