"""`retry.jsonl`: the items of a run that failed or are flagged, as a manifest with new seeds, ready to `run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from jobs.files import open_fresh
from jobs.fingerprint import seed_for
from jobs.records import Item
from jobs.report_rows import ItemRow, json_line, plain

RETRY_NAME = "retry.jsonl"
_PART_NAMES = (RETRY_NAME, "redo.jsonl")
_RETRIED = 1_000_000
"""Stands where a segment's number would, so that a retry's seed is none of the run's own."""
_BELOW = 2**53
"""Seeds that every reader of JSON keeps whole."""


def asks_for_a_part(manifest: str) -> bool:
    """Whether a manifest asks for a part of a folder's files alone; the page of a report makes `redo.jsonl`."""
    return PurePath(manifest).name in _PART_NAMES


def asked_of(item: Item) -> dict[str, Any]:
    """What a manifest row says of an item besides its id, text and seed; what stands at its default is left out."""
    values: dict[str, Any] = {
        "out": item.out,
        "voice": item.voice,
        "ref_audio": item.ref_audio,
        "ref_text": item.ref_text,
        "instruction": item.instruction,
        "mode": item.mode,
        "language": item.language,
        "speed": item.speed if item.speed != 1.0 else None,
        "profile": item.profile,
        "pause_ms": item.pause_ms,
        "chapter": item.chapter,
        "title": item.title,
        "text_normalize": None if item.text_normalize else False,
        "say_as": item.say_as,
        "empty": item.empty if item.empty != "error" else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def flagged(row: ItemRow) -> bool:
    """Whether a person should hear it before it goes out: a take is kept that something was found in."""
    return any(take.kept and take.faults for take in row.takes) or any("listen to it" in text for text in row.warnings)


def to_retry(row: ItemRow) -> bool:
    """Whether the item is to be made again."""
    return bool(row.asked) and (row.state == "failed" or flagged(row))


def write_retry(folder: Path, rows: Callable[[], Iterator[ItemRow]]) -> Path | None:
    """Write the manifest into the run folder, or take an old one away where nothing is to be made again.

    The names in it are those of the run's own files: run into the same folder it replaces them. Raises OSError.
    """
    path, part = folder / RETRY_NAME, folder / f".{RETRY_NAME}.part"
    many = 0
    try:
        with open_fresh(part, "utf-8") as file:
            for row in rows():
                if to_retry(row):
                    file.write(json_line(plain(_again(row))) + "\n")
                    many += 1
            file.flush()
            os.fsync(file.fileno())
        if many:
            part.replace(path)
            return path
        path.unlink(missing_ok=True)
        return None
    finally:
        part.unlink(missing_ok=True)


def _again(row: ItemRow) -> dict[str, Any]:
    extra = {name: value for name, value in row.extra.items() if name not in row.asked}
    return {"id": row.id, "text": row.written, **row.asked, "seed": seed_for(row.seed, _RETRIED, 0) % _BELOW, **extra}


@dataclass(slots=True)
class VoiceTally:
    """How the takes of one voice came out."""

    voice: str
    items: int = 0
    failed: int = 0
    flagged: int = 0
    retries: int = 0
    heard: int = 0
    """Items that the recogniser listened to."""
    error_rate_sum: float = 0.0

    def hear(self, row: ItemRow) -> None:
        self.items += 1
        self.failed += row.state == "failed"
        self.flagged += row.state != "failed" and flagged(row)
        self.retries += row.retries
        if row.error_rate is not None:
            self.heard += 1
            self.error_rate_sum += row.error_rate

    def as_row(self) -> dict[str, Any]:
        """For the reports; `passed` items are neither failed nor flagged."""
        passed = self.items - self.failed - self.flagged
        return {
            "voice": self.voice,
            "items": self.items,
            "passed": passed,
            "flagged": self.flagged,
            "failed": self.failed,
            "pass_rate": round(passed / self.items, 4) if self.items else None,
            "retries": self.retries,
            "error_rate": round(self.error_rate_sum / self.heard, 4) if self.heard else None,
        }
