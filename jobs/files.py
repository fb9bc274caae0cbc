"""Files as they must appear: whole or not at all. Every writer of the run folder goes through here."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, cast

from jobs.errors import EnvironmentFault

STATE_FOLDER = ".cosyvoice-batch"

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def explain(error: OSError, path: Path | str, option: str = "--out") -> EnvironmentFault:
    """Turn a failed write into the sentence that a person can act on; `option` is what names another folder."""
    if error.errno in _NO_ROOM:
        return EnvironmentFault(f"{path}: the disk is full; free some room and run the same command again to go on")
    if error.errno in _NO_RIGHT:
        return EnvironmentFault(f"{path}: cannot be written ({error.strerror}); choose another folder with {option}")
    return EnvironmentFault(f"{path}: {error.strerror or error}")


@contextmanager
def replacing(path: Path, option: str = "--out") -> Iterator[IO[bytes]]:
    """Write `path` beside itself, flush it to the disk, then rename: a reader sees the old file or the new one."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open_fresh_bytes(part) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise explain(error, path, option) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def open_fresh(path: Path, encoding: str) -> TextIO:
    """A new file to be written, in place of whatever has its name: a link there is removed, not followed."""
    path.unlink(missing_ok=True)
    return cast(TextIO, path.open("x", encoding=encoding, newline=""))


def open_fresh_bytes(path: Path) -> BinaryIO:
    """The same for bytes."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def refuse_links(folder: Path) -> None:
    """Raises EnvironmentFault where a run in this folder would write through a link that somebody put into it.

    The folder itself may be one: that is where the results are wanted.
    """
    state = folder / STATE_FOLDER
    inner = (state, state / "takes", state / "temporary")
    for path in (folder / "run.log", *inner, *(path for one in inner if one.is_dir() for path in one.iterdir())):
        if path.is_symlink():
            raise EnvironmentFault(f"{path}: is a link, and a run writes nothing through links; remove it")


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a link on the way to `path`, which is named below `folder`, leads out of it."""
    return path.parent != folder and not path.parent.resolve().is_relative_to(folder.resolve())


def file_digest(path: str) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def marks_of(path: Path) -> dict[str, str | int]:
    """What tells a finished file from any other: the digest of its bytes, and when it was last written."""
    return {"sha256": file_digest(str(path)), "mtime_ns": path.stat().st_mtime_ns}


def is_as_made(path: str, size_bytes: int, marks: Mapping[str, Any]) -> bool:
    """Whether a file still is what it was when `marks_of` looked at it. It is read only if its time has changed.

    A time alone proves nothing: copying and restoring change it, and leave the file what it was. Phone formats fall
    into whole frames, so a size alone proves little: short prompts often share it. No marks (journals of versions that
    kept none): the size decides. Raises OSError where there is no such file.
    """
    stat = os.stat(path)  # noqa: PTH116 - for every row of a manifest
    if stat.st_size != size_bytes:
        return False
    return not marks or stat.st_mtime_ns == marks["mtime_ns"] or file_digest(path) == marks["sha256"]


def make_folder(folder: Path, option: str = "--out") -> None:
    """Create a folder with its parents. Raises EnvironmentFault when that is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise EnvironmentFault(f"{folder}: is a file, a folder is needed; choose another with {option}") from error
    except OSError as error:
        raise explain(error, folder, option) from error
