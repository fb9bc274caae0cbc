"""A place that models come from: it lists the files of a revision and hands them out from any byte on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jobs.errors import EnvironmentFault
from jobs.web import Body, Refused


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as the hub lists it, with the hash it states: either sha256 or the id that Git gives the content."""

    path: str
    size_bytes: int
    sha256: str = ""
    git_sha1: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    revision: str
    """The commit, where the hub says it; else the name that was asked for."""
    files: Mapping[str, Listed]


class Source(Protocol):
    """One repository on one hub, or a folder in its place."""

    name: str
    """`modelscope`, `huggingface` or `folder`."""
    title: str
    """For messages: `owner/name on ModelScope`."""

    def list_files(self, revision: str) -> Listing:
        """Raises NetworkTrouble or Refused."""
        ...

    def open(self, revision: str, path: str, offset: int) -> Body:
        """Raises NetworkTrouble or Refused."""
        ...


def check_paths(files: list[Listed], title: str) -> dict[str, Listed]:
    """Files by path. Raises EnvironmentFault if any path would leave the folder it is written to."""
    for file in files:
        if not is_inside(file.path):
            raise EnvironmentFault(
                f"{title} lists a file {file.path!r}, which would be written outside of the model's folder: "
                "nothing was fetched; pull from the other hub"
            )
    return {file.path: file for file in files}


def is_inside(path: str) -> bool:
    """Whether a hub's path is a plain relative one, on every system."""
    drive = len(path) > 1 and path[1] == ":"
    return not drive and "\\" not in path and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


class FolderSource:
    """A folder that holds the model already, from a disk or another machine."""

    name = "folder"

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise EnvironmentFault(f"{folder} is not a folder; give `modelscope`, `huggingface` or a folder")
        self._folder = folder
        self.title = str(folder)

    def list_files(self, revision: str) -> Listing:
        paths = [path for path in sorted(self._folder.rglob("*")) if path.is_file()]
        files = [Listed(path.relative_to(self._folder).as_posix(), path.stat().st_size) for path in paths]
        return Listing(revision, {file.path: file for file in files})

    def open(self, revision: str, path: str, offset: int) -> Body:
        try:
            stream = (self._folder / path).open("rb")
        except OSError as error:
            raise Refused(f"{self._folder / path} cannot be read: {error.strerror}", 0) from error
        stream.seek(offset)
        return Body(stream, offset, self.title)
