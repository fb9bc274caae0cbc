"""Takes one named file out of an archive or a folder that nobody has vouched for."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from jobs.errors import EnvironmentFault

MOST_MEMBERS = 10_000
MOST_BYTES = 2_000_000_000
"""Unpacked size of all members up to the one that is sought: an archive that claims more is not read on."""
STEP_BYTES = 1 << 20


def copy_member(source: Path, name: str, target: Path, size_bytes: int) -> None:
    """Copy the one file called `name` out of `source` (.tar, .tar.gz, .zip or a folder) to `target`.

    The target's path is the caller's: no path in the archive decides where anything is written. Links, devices, paths
    that climb out, a second file of that name and any other size than `size_bytes` are refused.

    Raises EnvironmentFault saying what is wrong with `source`.
    """
    try:
        if source.is_dir():
            _from_folder(source, name, target, size_bytes)
        elif source.is_file() and tarfile.is_tarfile(source):
            # Asked first: a plain .tar that ends with a .npz looks like a zip.
            _from_tar(source, name, target, size_bytes)
        elif zipfile.is_zipfile(source):
            _from_zip(source, name, target, size_bytes)
        else:
            raise EnvironmentFault(f"{source} is no .tar.gz, .zip or folder; name one that holds {name}")
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise EnvironmentFault(f"{source} cannot be unpacked ({error}); fetch it again") from error


def _from_folder(source: Path, name: str, target: Path, size_bytes: int) -> None:
    found = [path for path in sorted(source.rglob(name)) if path.is_file()]
    path = _only([str(path.relative_to(source)) for path in found], source, name)
    with (source / path).open("rb") as stream:
        _copy(stream, target, size_bytes, (source / path).stat().st_size, f"{source}: {path}")


def _from_zip(source: Path, name: str, target: Path, size_bytes: int) -> None:
    with zipfile.ZipFile(source) as archive:
        members = archive.infolist()
        _within_limits(source, len(members), 0)
        found = {member.filename: member for member in members if PurePosixPath(member.filename).name == name}
        path = _only([member.filename for member in members if member.filename in found], source, name)
        kind = stat.S_IFMT(found[path].external_attr >> 16)
        if found[path].is_dir() or kind not in (0, stat.S_IFREG):
            raise EnvironmentFault(f"{source}: {path} is not a plain file; fetch the archive again")
        with archive.open(found[path]) as stream:
            _copy(stream, target, size_bytes, found[path].file_size, f"{source}: {path}")


def _from_tar(source: Path, name: str, target: Path, size_bytes: int) -> None:
    seen_bytes = 0
    with tarfile.open(source, "r:*") as archive:
        found: dict[str, tarfile.TarInfo] = {}
        names: list[str] = []
        for number, member in enumerate(archive, start=1):
            seen_bytes += member.size
            _within_limits(source, number, seen_bytes)
            if PurePosixPath(member.name).name == name:
                found[member.name] = member
                names.append(member.name)
        path = _only(names, source, name)
        stream = archive.extractfile(found[path]) if found[path].isreg() else None
        if stream is None:
            raise EnvironmentFault(f"{source}: {path} is not a plain file; fetch the archive again")
        with stream:
            _copy(stream, target, size_bytes, found[path].size, f"{source}: {path}")


def _within_limits(source: Path, members: int, seen_bytes: int) -> None:
    if members > MOST_MEMBERS or seen_bytes > MOST_BYTES:
        raise EnvironmentFault(f"{source} unpacks to far more than a model; fetch it again")


def _only(paths: list[str], source: Path, name: str) -> str:
    if len(paths) != 1:
        found = f"{len(paths)} files called {name}" if paths else f"no {name}"
        raise EnvironmentFault(f"{source} holds {found}; name an archive or folder with exactly one")
    parts = PurePosixPath(paths[0].replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
        raise EnvironmentFault(f"{source}: {paths[0]!r} points outside of the archive; fetch the archive again")
    return paths[0]


def _copy(stream: IO[bytes], target: Path, size_bytes: int, claimed_bytes: int, where: str) -> None:
    if claimed_bytes != size_bytes:
        raise EnvironmentFault(f"{where} has {claimed_bytes} bytes, the known file has {size_bytes}; fetch it again")
    read: Callable[[int], bytes] = stream.read
    copied_bytes = 0
    with target.open("wb") as out:
        while block := read(min(STEP_BYTES, size_bytes + 1 - copied_bytes)):
            copied_bytes += len(block)
            if copied_bytes > size_bytes:
                raise EnvironmentFault(f"{where} is longer than it claims; fetch it again")
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    if copied_bytes != size_bytes:
        raise EnvironmentFault(f"{where} ends after {copied_bytes} of {size_bytes} bytes; fetch it again")
