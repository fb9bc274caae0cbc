"""Brings a published model folder onto this machine.

At every moment the folder holds files of the wanted revision, each verified, and at most one `.part`; what does not
belong is moved out of the way before the first byte comes. So a killed pull leaves a folder that the engine refuses as
incomplete, never a mixed one, and the next pull goes on. `pulled.json` says `complete` last of all.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from jobs.errors import EnvironmentFault
from jobs.fetch import PATIENT, Pace, Watch, fetch_file
from jobs.hub import FolderSource, Source
from jobs.model_catalog import HUB_TITLES, PublishedModel
from jobs.model_store import PulledFile, PullRecord, read_record, write_record
from jobs.pull_plan import Plan, PlannedFile, plan_pull, sha256_of

SPARE_BYTES = 100_000_000
"""Room that stays free on the disk beside the model."""


def open_source(model: PublishedModel, where: str, environ: Mapping[str, str]) -> Source:
    """The repository of `model` on the hub `where`, or the folder of that name."""
    if where == "modelscope":
        from jobs.hub_modelscope import ModelScope

        return ModelScope(model.repositories["modelscope"], environ)
    if where == "huggingface":
        from jobs.hub_huggingface import HuggingFace

        return HuggingFace(model.repositories["huggingface"], environ)
    return FolderSource(Path(where).expanduser())


def pull_model(
    model: PublishedModel,
    source: Source | None,
    folder: Path,
    watch: Watch,
    *,
    revision: str | None = None,
    extras: tuple[str, ...] = (),
    pace: Pace = PATIENT,
) -> Path:
    """Bring `model` to `folder` and return it; what is there already, byte for byte, is not brought again.

    `source` None stays off the network: it takes note of files that somebody carried here, or says which are missing.
    Several pulls at once are safe: the second waits and finds the work done.

    Raises UserError, EnvironmentFault, NetworkTrouble or Refused, each with the next step.
    """
    folder = folder.absolute()
    with _as_faults(folder), _locked(folder, watch):
        record = read_record(folder)
        if folder.is_dir():
            watch.say(f"looking at what is in {folder}")
        plan = plan_pull(model, source, folder, watch, revision=revision, extras=extras, pace=pace)
        if not plan.to_fetch_bytes and _is_told(plan, record):
            watch.say(f"{model.title} is whole in {folder}, every byte checked; nothing to do")
            return folder
        if source is None and plan.to_fetch_bytes:
            raise EnvironmentFault(offline_help(plan))
        _bring(plan, source, record, watch, pace)
    watch.say(f"{model.title} is ready in {folder}")
    return folder


def _bring(plan: Plan, source: Source | None, record: PullRecord | None, watch: Watch, pace: Pace) -> None:
    """Make room, fetch what is missing, and keep the record up to date after every file."""
    _require_room(plan, record)
    plan.folder.mkdir(parents=True, exist_ok=True)
    kept = {} if record is None else dict(record.files)
    state = PullRecord(
        plan.model.name,
        plan.source or (record.source if record else "files brought by hand"),
        plan.title or (record.repository if record else ""),
        plan.revision,
        complete=False,
        files={file.wanted.path: kept[file.wanted.path] for file in plan.files if file.wanted.path in kept},
    )
    for file in plan.files:
        if file.state == "other":
            _make_way(plan.folder, file, record, watch)
    write_record(plan.folder, state)
    watch.starts(plan.total_bytes, plan.total_bytes - plan.to_fetch_bytes)
    try:
        for file in plan.files:
            sha256 = _one(plan, file, source, watch, pace)
            entry = PulledFile(file.wanted.size_bytes, sha256, plan.known_from)
            state = replace(state, files={**state.files, file.wanted.path: entry})
            write_record(plan.folder, state)
    finally:
        watch.ends()
    write_record(plan.folder, replace(state, complete=True))


def _one(plan: Plan, file: PlannedFile, source: Source | None, watch: Watch, pace: Pace) -> str:
    target = plan.folder / file.wanted.path
    if file.state == "here" or source is None:
        return file.wanted.sha256 or sha256_of(target)
    watch.file(file.wanted.path)
    return fetch_file(source, plan.revision, file.wanted, target, watch, pace)


def _is_told(plan: Plan, record: PullRecord | None) -> bool:
    """Whether the record says all that a new one would."""
    if record is None or not record.complete or (plan.known_from == "hub" and record.revision != plan.revision):
        return False
    return all(file.wanted.path in record.files for file in plan.files)


def _make_way(folder: Path, file: PlannedFile, record: PullRecord | None, watch: Watch) -> None:
    """Remove a file that an earlier pull brought; put aside one that somebody else did."""
    path = folder / file.wanted.path
    if _is_ours(path, file.wanted.path, record):
        watch.say(f"{file.wanted.path}: of another revision, removed")
        path.unlink()
        return
    number = 1
    while (aside := path.with_name(f"{path.name}.old{number}")).exists():
        number += 1
    watch.say(f"{file.wanted.path}: is not the wanted file and was not pulled here; kept as {aside.name}")
    path.rename(aside)


def _is_ours(path: Path, name: str, record: PullRecord | None) -> bool:
    known = record.files.get(name) if record else None
    return known is not None and known.size_bytes == path.stat().st_size and known.sha256 == sha256_of(path)


def _require_room(plan: Plan, record: PullRecord | None) -> None:
    gained = sum(
        file.have_bytes
        for file in plan.files
        if file.state == "other" and _is_ours(plan.folder / file.wanted.path, file.wanted.path, record)
    )
    place = next(parent for parent in (plan.folder, *plan.folder.parents) if parent.exists())
    free = shutil.disk_usage(place).free + gained
    if plan.to_fetch_bytes and free < plan.to_fetch_bytes + SPARE_BYTES:
        raise EnvironmentFault(
            f"{place} has {free / 1e9:.1f} GB free, {plan.model.title} takes {plan.to_fetch_bytes / 1e9:.1f} GB more: "
            "free some, or name another place with --folder"
        )


def offline_help(plan: Plan) -> str:
    """What is missing in the folder and how it gets there without a network."""
    missing = [
        f"  {file.wanted.path}  {file.wanted.size_bytes} bytes  sha256 {file.wanted.sha256}"
        for file in plan.files
        if file.state != "here"
    ]
    places = " or ".join(f"{plan.model.repositories[hub]} on {title}" for hub, title in HUB_TITLES.items())
    return (
        f"{plan.folder} lacks files of {plan.model.title}, and nothing is fetched offline:\n"
        + "\n".join(missing)
        + f"\nTake them from {places} on another machine, put them there under these names and run the same command "
        f"again, or give the folder that holds them with `--from FOLDER`"
    )


@contextmanager
def _locked(folder: Path, watch: Watch) -> Iterator[None]:
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        watch.say(f"another pull is at work on {folder}; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _as_faults(folder: Path) -> Iterator[None]:
    """Errors of the file system, said to the person who can mend them."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EnvironmentFault(
                f"no room left for {folder}: free some and run the same command again, it goes on from here"
            ) from error
        raise EnvironmentFault(f"cannot write {folder}: {error}; mend that or name another folder") from error
