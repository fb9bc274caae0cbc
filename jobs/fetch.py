"""Brings one file: into `NAME.part`, from where the last attempt stopped, and to its name once its hash is right."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jobs.errors import EnvironmentFault
from jobs.hub import Listing, Source
from jobs.web import NetworkTrouble

PART = ".part"
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to bring, and how it is known to be the right one: by sha256, by Git's id of it, or by size alone."""

    path: str
    size_bytes: int
    sha256: str = ""
    git_sha1: str = ""


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a pull is. An attempt that brings new bytes starts the count of failures anew."""

    failures: int = 6
    listings: int = 3
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0

    def wait_s(self, failures: int, asked_s: float | None) -> float:
        return asked_s if asked_s is not None else min(self.first_wait_s * 2 ** (failures - 1), self.longest_wait_s)


PATIENT = Pace()


class Watch(Protocol):
    """Who is told how a pull goes on."""

    def say(self, message: str) -> None: ...

    def starts(self, total_bytes: int, done_bytes: int) -> None: ...

    def file(self, path: str) -> None: ...

    def moved(self, count_bytes: int) -> None:
        """So many bytes more are here; fewer if negative, when a part was thrown away."""
        ...

    def ends(self) -> None: ...


def list_patiently(source: Source, revision: str, watch: Watch, pace: Pace) -> Listing:
    """The files of a revision, asked for again after troubles of the network."""
    failures = 0
    while True:
        try:
            return source.list_files(revision)
        except NetworkTrouble as error:
            failures += 1
            if failures >= pace.listings:
                raise
            wait_s = pace.wait_s(failures, error.wait_s)
            watch.say(f"{error}; trying again in {wait_s:.0f} s")
            time.sleep(wait_s)


def part_of(target: Path) -> Path:
    return target.with_name(target.name + PART)


def fetch_file(source: Source, revision: str, file: Wanted, target: Path, watch: Watch, pace: Pace) -> str:
    """Bring `file` to `target` and return its sha256.

    A part that stays from an earlier attempt is gone on with; if the whole then has a wrong hash, the part is taken
    to be of another file and the download starts over, once. Raises EnvironmentFault, Refused or NetworkTrouble; after
    NetworkTrouble the part stays for the next attempt, after a wrong hash it is deleted.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(part_of(target), file)
    fresh = part.length == 0
    try:
        while True:
            _fill(source, revision, file, part, watch, pace)
            if part.fits():
                break
            found = part.sha256()
            watch.moved(-part.length)
            part.restart()
            if fresh:
                part.discard()
                raise EnvironmentFault(
                    f"{file.path} from {source.title} came damaged or is another file (sha256 {found}, expected "
                    f"{file.sha256 or 'Git id ' + file.git_sha1}); it was deleted: pull again, or from elsewhere"
                )
            watch.say(f"{file.path}: the part left by an earlier pull does not fit this file; starting it over")
            fresh = True
        part.finish(target)
    finally:
        part.close()
    return part.sha256()


def _fill(source: Source, revision: str, file: Wanted, part: _Part, watch: Watch, pace: Pace) -> None:
    """Read until the part is as long as the file; wait and go on after troubles of the network."""
    failures = 0
    longest = part.length
    while part.length < file.size_bytes:
        try:
            _read_once(source, revision, file, part, watch)
        except NetworkTrouble as error:
            failures = 1 if part.length > longest else failures + 1
            longest = max(longest, part.length)
            if failures >= pace.failures:
                raise NetworkTrouble(
                    f"{file.path}: {error}; {part.length / 1e6:.1f} of {file.size_bytes / 1e6:.1f} MB are kept, "
                    "the same command goes on from there"
                ) from error
            wait_s = pace.wait_s(failures, error.wait_s)
            watch.say(f"{file.path}: {error}; trying again in {wait_s:.0f} s")
            part.flush()
            time.sleep(wait_s)


def _read_once(source: Source, revision: str, file: Wanted, part: _Part, watch: Watch) -> None:
    body = source.open(revision, file.path, part.length)
    try:
        if body.start != part.length:
            watch.say(f"{file.path}: the server cannot go on in the middle; starting it over")
            watch.moved(-part.length)
            part.restart()
        while part.length < file.size_bytes:
            piece = body.read(min(_PIECE_BYTES, file.size_bytes - part.length))
            if not piece:
                raise NetworkTrouble("the connection ended in the middle of the file")
            part.append(piece)
            watch.moved(len(piece))
    finally:
        body.close()


class _Part:
    """The unfinished file and the hashes of what is in it."""

    def __init__(self, path: Path, file: Wanted) -> None:
        self._path = path
        self._file = file
        self._stream = path.open("a+b")
        self.length = 0
        self._begin_hashes()
        if path.stat().st_size > file.size_bytes:
            self.restart()
        self._stream.seek(0)
        while piece := self._stream.read(_PIECE_BYTES):
            self._hash(piece)

    def append(self, piece: bytes) -> None:
        self._stream.write(piece)
        self._hash(piece)

    def restart(self) -> None:
        self._stream.truncate(0)
        self.length = 0
        self._begin_hashes()

    def fits(self) -> bool:
        if self._file.sha256:
            return self._sha256.hexdigest() == self._file.sha256
        return self._file.git_sha1 in ("", self._git_sha1.hexdigest())

    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def flush(self) -> None:
        self._stream.flush()

    def finish(self, target: Path) -> None:
        """Give the file its name after its bytes are on the disk."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._path.replace(target)

    def discard(self) -> None:
        self._stream.close()
        self._path.unlink()

    def close(self) -> None:
        self._stream.close()
        if self._path.exists() and self._path.stat().st_size == 0:
            self._path.unlink()

    def _begin_hashes(self) -> None:
        self._sha256 = hashlib.sha256()
        # Git names a file by the sha1 of this header and its content.
        self._git_sha1 = hashlib.sha1(b"blob %d\0" % self._file.size_bytes, usedforsecurity=False)

    def _hash(self, piece: bytes) -> None:
        self._sha256.update(piece)
        if self._file.git_sha1:
            self._git_sha1.update(piece)
        self.length += len(piece)
