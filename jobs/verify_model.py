"""Reads every byte of a model folder and says which files are not what they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import find_files, find_generation
from cosyvoice.read_config import read_config
from jobs.errors import EnvironmentFault
from jobs.fetch import part_of
from jobs.model_catalog import MODELS, PublishedModel
from jobs.model_store import PullRecord, read_record
from jobs.pull_plan import sha256_of


@dataclass(frozen=True, slots=True)
class FileCheck:
    path: str
    fault: str = ""
    """What is wrong with it; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    folder: Path
    held_against: str
    """What the files were compared with, in words."""
    files: tuple[FileCheck, ...]
    advice: str

    @property
    def faults(self) -> list[FileCheck]:
        return [file for file in self.files if file.fault]


def verify_model(folder: Path, tell: Callable[[str], None]) -> Verdict:
    """Compare sizes and sha256 with what was pulled, or, without a record, with the published model.

    Hashes that this tool pins are taken from this tool, not from the folder's own record. `tell` hears the name of each
    file before it is read. Raises EnvironmentFault if the folder is none of a CosyVoice model.
    """
    record = read_record(folder)
    model = _model_of(folder, record)
    checks = [_check(folder, path, size, sha256, tell) for path, size, sha256 in _expected(model, record)]
    if not any(check.fault for check in checks):
        checks.extend(_layout(folder))
    if record is None:
        against = f"the published {model.title} (Hugging Face revision {model.revisions['huggingface'][:12]})"
        advice = (
            f"`models pull {model.name} --folder {folder}` brings the published files and keeps others as .old; "
            "a model of your own is expected to differ"
        )
    else:
        against = f"{record.repository or record.source}, revision {record.revision}"
        again = "" if _is_pinned(record) else f" --from {record.source} --revision {record.revision}"
        advice = f"bring them again: `models pull {model.name} --folder {folder}{again}`"
    return Verdict(folder, against, tuple(checks), advice)


def _model_of(folder: Path, record: PullRecord | None) -> PublishedModel:
    if record and record.model in MODELS:
        return MODELS[record.model]
    try:
        return MODELS[f"cosyvoice{find_generation(folder)}"]
    except ModelMissing as error:
        raise EnvironmentFault(str(error)) from error


def _expected(model: PublishedModel, record: PullRecord | None) -> list[tuple[str, int, str]]:
    published = {file.path: file for file in (*model.files, *model.extras)}
    if record is None:
        return [(file.path, file.size_bytes, file.sha256) for file in model.files]
    expected = []
    for path in dict.fromkeys((*(file.path for file in model.files), *record.files)):
        pulled = record.files.get(path)
        if path in published and (pulled is None or pulled.known_from == "pinned"):
            expected.append((path, published[path].size_bytes, published[path].sha256))
        elif pulled is not None:
            expected.append((path, pulled.size_bytes, pulled.sha256))
    return expected


def _is_pinned(record: PullRecord) -> bool:
    return all(file.known_from == "pinned" for file in record.files.values())


def _check(folder: Path, path: str, size_bytes: int, sha256: str, tell: Callable[[str], None]) -> FileCheck:
    file = folder / path
    if not file.is_file():
        started = part_of(file)
        here = f"only {started.stat().st_size} of {size_bytes} bytes came" if started.is_file() else "missing"
        return FileCheck(path, here)
    if file.stat().st_size != size_bytes:
        return FileCheck(path, f"{file.stat().st_size} bytes, expected {size_bytes}")
    tell(f"reading {path} ({size_bytes / 1e6:.1f} MB)")
    found = sha256_of(file)
    return FileCheck(path, "" if found == sha256 else f"sha256 {found}, expected {sha256}")


def _layout(folder: Path) -> list[FileCheck]:
    """Whether the engine understands the settings. (It compares every tensor's name and shape when it loads.)"""
    try:
        read_config(find_files(folder))
    except ModelMissing as error:
        return [FileCheck("settings", str(error))]
    return []
