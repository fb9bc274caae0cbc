"""Where models lie on this machine, what is written down about a pulled one, and which folder a name means."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cosyvoice.catalog import ENGINES
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import find_files
from jobs.errors import EnvironmentFault
from jobs.model_catalog import MODELS

RECORD = "pulled.json"
MODELS_VARIABLE = "COSYVOICE_BATCH_MODELS"
MODEL_VARIABLE = "COSYVOICE_BATCH_MODEL"
_PREFERRED = ("cosyvoice3", "cosyvoice2")


@dataclass(frozen=True, slots=True)
class PulledFile:
    size_bytes: int
    sha256: str
    known_from: Literal["pinned", "hub"]
    """Who vouches for the hash: this tool, or the listing of the hub it came from."""


@dataclass(frozen=True, slots=True)
class PullRecord:
    """The content of pulled.json."""

    model: str
    source: str
    repository: str
    revision: str
    complete: bool
    files: Mapping[str, PulledFile] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files.values())


@dataclass(frozen=True, slots=True)
class FolderState:
    """What a look at a model folder shows, without reading its big files."""

    folder: Path
    state: Literal["complete", "incomplete", "absent"]
    detail: str = ""
    """What is missing, if something is."""
    size_bytes: int = 0
    record: PullRecord | None = None


def models_folder(environ: Mapping[str, str]) -> Path:
    """Where `models pull` puts models: COSYVOICE_BATCH_MODELS if set, else `models` in the user's data folder."""
    if named := environ.get(MODELS_VARIABLE):
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("cosyvoice-batch", appauthor=False)) / "models"


def find_model(name_or_folder: str | None, environ: Mapping[str, str]) -> Path | None:
    """Turn `--model`, COSYVOICE_BATCH_MODEL or nothing into a model folder.

    A name (`cosyvoice3`) means the pulled model, anything else a folder. Without either, the pulled CosyVoice 3, else
    the pulled CosyVoice 2, if complete; None if there is none. Raises EnvironmentFault for a name or folder that is not
    there. Whether a folder that somebody named is complete is left to the engine, which says what is missing.
    """
    if name_or_folder:
        return named_model(name_or_folder, environ)
    if variable := environ.get(MODEL_VARIABLE):
        return named_model(variable, environ, f"{MODEL_VARIABLE}={variable!r}")
    pulled = (models_folder(environ) / name for name in _PREFERRED)
    return next((folder for folder in pulled if look(folder).state == "complete"), None)


def named_model(named: str, environ: Mapping[str, str], said: str = "") -> Path:
    """The folder of a pulled model, or the one of this path; `said` names it in messages. Raises EnvironmentFault."""
    said = said or f"{named!r}"
    pulled = models_folder(environ) / named
    if named in MODELS and pulled.is_dir():
        return pulled
    folder = Path(named).expanduser()
    if folder.is_dir():
        return folder
    if named in MODELS:
        raise EnvironmentFault(f"model {said} is not on this machine: run `cosyvoice-batch models pull {named}`")
    raise EnvironmentFault(
        f"model {said} is neither a folder nor a name ({', '.join(MODELS)}): check the path, or see `models list`"
    )


def model_for(engine: str, named: str | None, environ: Mapping[str, str]) -> Path | None:
    """The folder that an engine of this name is to load; None for engines that need none, and where there is none.

    An engine that is asked for by its generation takes the pulled model of that generation before any other.
    Raises EnvironmentFault as `find_model` does.
    """
    if engine in ENGINES and not ENGINES[engine].needs_model:
        return None
    if named is None and engine in MODELS and MODEL_VARIABLE not in environ:
        own = models_folder(environ) / engine
        return own if look(own).state == "complete" else find_model(None, environ)
    return find_model(named, environ)


def look(folder: Path) -> FolderState:
    """Look at a folder by names and sizes, which is instant."""
    if not folder.is_dir():
        return FolderState(folder, "absent")
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    try:
        record = read_record(folder)
        find_files(folder)
    except (EnvironmentFault, ModelMissing) as error:
        return FolderState(folder, "incomplete", str(error), size_bytes)
    if record is None:
        return FolderState(folder, "complete", size_bytes=size_bytes)
    if not record.complete:
        return FolderState(folder, "incomplete", "its pull did not finish", size_bytes, record)
    wrong = [path for path, file in record.files.items() if _size(folder / path) != file.size_bytes]
    if wrong:
        return FolderState(folder, "incomplete", f"changed since the pull: {', '.join(wrong)}", size_bytes, record)
    return FolderState(folder, "complete", "", size_bytes, record)


def read_record(folder: Path) -> PullRecord | None:
    """Read pulled.json; None if the folder has none. Raises EnvironmentFault if it cannot be understood."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        files = {
            str(name): PulledFile(int(file["bytes"]), str(file["sha256"]), file["known_from"])
            for name, file in content["files"].items()
        }
        return PullRecord(
            model=str(content["model"]),
            source=str(content["source"]),
            repository=str(content["repository"]),
            revision=str(content["revision"]),
            complete=content["complete"] is True,
            files=files,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path} cannot be read ({error!r}): delete it and run `models pull` on the folder again"
        ) from error


def write_record(folder: Path, record: PullRecord) -> None:
    """Write pulled.json, whole or not at all."""
    files = {
        path: {"bytes": file.size_bytes, "sha256": file.sha256, "known_from": file.known_from}
        for path, file in record.files.items()
    }
    facts = ("model", "source", "repository", "revision", "complete")
    content = {**{name: getattr(record, name) for name in facts}, "files": files}
    beside = folder / f".{RECORD}.new"
    with beside.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(content, indent=1) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(folder / RECORD)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
