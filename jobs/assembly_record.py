"""`assembly.json`: what an output folder of `assemble` holds, where each item lies in it, and what it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.errors import UserError
from jobs.files import replacing

NAME = "assembly.json"
SCHEMA = 1


@dataclass(slots=True)
class Record:
    """The file as it stands; empty where there is none yet."""

    run_folder: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    """Digest of everything that a kind of file (`chapters`, `m4b`) is made from."""
    gains: dict[str, Any] = field(default_factory=dict)
    """The gains that each kind was made with."""
    files: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By name."""


def read_record(folder: Path) -> Record:
    """Raises UserError for a record that is damaged or of another version."""
    path = folder / NAME
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["schema"] != SCHEMA:
            raise ValueError(f"schema {values['schema']}, this version writes {SCHEMA}")
        return Record(
            str(values["run_folder"]),
            dict(values["inputs"]),
            dict(values["gains"]),
            {str(file["name"]): dict(file) for file in values["files"]},
        )
    except FileNotFoundError:
        return Record()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read ({error}); move it away, or give another folder with -o") from error


def write_record(folder: Path, record: Record) -> None:
    values = {
        "schema": SCHEMA,
        "run_folder": record.run_folder,
        "inputs": record.inputs,
        "gains": record.gains,
        "files": list(record.files.values()),
    }
    with replacing(folder / NAME, "-o") as stream:
        stream.write(json.dumps(values, ensure_ascii=False, indent=1).encode("utf-8", "replace"))


def stands(folder: Path, file: Mapping[str, Any]) -> bool:
    """Whether the file is there as it was made."""
    path = folder / str(file["name"])
    return path.is_file() and path.stat().st_size == file["bytes"]
