"""What a pull would bring: which files, from which revision, and what of them is here already."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jobs.errors import EnvironmentFault, UserError
from jobs.fetch import PATIENT, Pace, Wanted, Watch, list_patiently, part_of
from jobs.hub import Listing, Source
from jobs.model_catalog import MODELS, Hub, PublishedFile, PublishedModel

KnownFrom = Literal["pinned", "hub"]


@dataclass(frozen=True, slots=True)
class PlannedFile:
    wanted: Wanted
    state: Literal["here", "partly", "absent", "other"]
    """`other`: a file of this name is here, but it is not the wanted one."""
    have_bytes: int = 0

    @property
    def to_fetch_bytes(self) -> int:
        if self.state == "here":
            return 0
        return self.wanted.size_bytes - (self.have_bytes if self.state == "partly" else 0)


@dataclass(frozen=True, slots=True)
class Plan:
    model: PublishedModel
    folder: Path
    source: str
    title: str
    revision: str
    known_from: KnownFrom
    files: tuple[PlannedFile, ...]

    @property
    def total_bytes(self) -> int:
        return sum(file.wanted.size_bytes for file in self.files)

    @property
    def to_fetch_bytes(self) -> int:
        return sum(file.to_fetch_bytes for file in self.files)


def plan_pull(
    model: PublishedModel,
    source: Source | None,
    folder: Path,
    watch: Watch,
    *,
    revision: str | None = None,
    extras: tuple[str, ...] = (),
    dry: bool = False,
    pace: Pace = PATIENT,
) -> Plan:
    """Plan a pull of `model` into `folder`; `source` None stays off the network.

    Without `revision` the files are those that this tool pins, and the source is asked, if anything is to come, whether
    it has exactly these. With one, sizes and hashes are the hub's own. A `dry` plan takes a file of the right size for
    the right one and does not ask about pinned files.

    Raises UserError, EnvironmentFault (the source has other files), NetworkTrouble or Refused.
    """
    published = model.with_extras(extras)
    hub: Hub = "modelscope" if source and source.name == "modelscope" else "huggingface"
    pinned = revision is None or (hub == "huggingface" and revision == model.revisions[hub])
    if not pinned and (source is None or source.name == "folder"):
        raise UserError("--revision names a revision on a hub: it goes with neither a folder nor --offline")
    name = revision or model.revisions[hub]
    wanted = [Wanted(file.path, file.size_bytes, file.sha256) for file in published]
    if source is not None and not pinned:
        listing = list_patiently(source, name, watch, pace)
        name = listing.revision
        wanted = [_as_listed(file.path, listing, source) for file in published]
    files = tuple(_planned(folder, file, not dry) for file in wanted)
    if source is not None and pinned and not dry and any(file.to_fetch_bytes for file in files):
        coming = {file.wanted.path for file in files if file.to_fetch_bytes}
        listing = list_patiently(source, name, watch, pace)
        _require_same([file for file in published if file.path in coming], listing, source)
        name = listing.revision
    origin = (source.name, source.title) if source else ("", "")
    return Plan(model, folder, *origin, revision=name, known_from="pinned" if pinned else "hub", files=files)


def _require_same(published: list[PublishedFile], listing: Listing, source: Source) -> None:
    """The source must hold the pinned files; found out before gigabytes are on their way."""
    other = []
    for file in published:
        listed = listing.files.get(file.path)
        if listed is None:
            other.append(f"{file.path} (not there)")
        elif listed.size_bytes != file.size_bytes:
            other.append(f"{file.path} ({listed.size_bytes} bytes, expected {file.size_bytes})")
        elif listed.sha256 not in ("", file.sha256):
            other.append(f"{file.path} (sha256 {listed.sha256}, expected {file.sha256})")
    if not other:
        return
    if source.name == "folder":
        raise EnvironmentFault(
            f"{source.title} does not hold the published files: {', '.join(other)}. "
            "A folder with a model of your own needs no pull: name it with --model"
        )
    raise EnvironmentFault(
        f"{source.title} holds other files than the ones known here: {', '.join(other)}. Pull from the other hub, or "
        f"take what is there now with `--revision {listing.revision}`: its hashes then come from the hub"
    )


def _as_listed(path: str, listing: Listing, source: Source) -> Wanted:
    listed = listing.files.get(path)
    if listed is None:
        raise EnvironmentFault(f"{source.title} has no {path} in revision {listing.revision}: name another revision")
    return Wanted(path, listed.size_bytes, listed.sha256, listed.git_sha1)


def _planned(folder: Path, wanted: Wanted, check_hashes: bool) -> PlannedFile:
    path = folder / wanted.path
    if path.is_file():
        size_bytes = path.stat().st_size
        right = matches(path, wanted) if check_hashes else size_bytes == wanted.size_bytes
        return PlannedFile(wanted, "here" if right else "other", size_bytes)
    part = part_of(path)
    if part.is_file() and 0 < part.stat().st_size <= wanted.size_bytes:
        return PlannedFile(wanted, "partly", part.stat().st_size)
    return PlannedFile(wanted, "absent")


def matches(path: Path, wanted: Wanted) -> bool:
    """Whether a file is the wanted one, byte for byte."""
    if path.stat().st_size != wanted.size_bytes:
        return False
    if wanted.sha256 or not wanted.git_sha1:
        return wanted.sha256 in ("", sha256_of(path))
    # Git names a file by the sha1 of this header and its content; only small files come without a sha256.
    header = b"blob %d\0" % wanted.size_bytes
    return hashlib.sha1(header + path.read_bytes(), usedforsecurity=False).hexdigest() == wanted.git_sha1


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def published_model(name: str) -> PublishedModel:
    """Raises UserError for a name that no published model has."""
    if name not in MODELS:
        raise UserError(f"nothing is called {name!r} here; `models list` shows what there is")
    return MODELS[name]
