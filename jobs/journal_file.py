"""The journal as a file: its tables, how it is opened, what its faults mean, and what runs note for the next one."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from jobs.errors import EnvironmentFault
from jobs.files import STATE_FOLDER

SCHEMA = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, started TEXT NOT NULL, ended TEXT, command TEXT NOT NULL, exit_code INTEGER
);
CREATE TABLE IF NOT EXISTS items (
    id TEXT PRIMARY KEY,
    run INTEGER NOT NULL,          -- the last run whose manifest held it
    line INTEGER NOT NULL,
    item TEXT NOT NULL,            -- the row as that manifest had it
    state TEXT NOT NULL,           -- done, failed, skipped, pending
    reason TEXT NOT NULL,          -- why it is to be made, or why it failed
    parts TEXT NOT NULL,           -- the fingerprint that the row asks for now
    size REAL NOT NULL,            -- estimated seconds of audio
    built_out TEXT,                -- what stands on the disk: name, fingerprint, size
    built_parts TEXT,
    built_bytes INTEGER,
    result TEXT
);
CREATE INDEX IF NOT EXISTS items_by_state ON items (run, state, size DESC, line);
CREATE INDEX IF NOT EXISTS items_by_out ON items (built_out COLLATE NOCASE);
CREATE TABLE IF NOT EXISTS takes (
    item TEXT NOT NULL, segment INTEGER NOT NULL, attempt INTEGER NOT NULL,
    utterance TEXT NOT NULL, take TEXT NOT NULL,
    PRIMARY KEY (item, segment, attempt)
);
CREATE TABLE IF NOT EXISTS leftovers (out TEXT PRIMARY KEY);  -- files of ours that no row owns any more
"""


def journal_path(folder: Path) -> Path:
    """Where a run folder has its journal; a folder without this file is none."""
    return folder / STATE_FOLDER / "journal.sqlite"


class JournalFile:
    """The open file."""

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        """Open (or create) the journal of a run folder.

        Raises EnvironmentFault when it cannot be opened, is damaged, or was written by a newer version.
        """
        self.path = journal_path(folder)
        try:
            if readonly:
                self._db = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            else:
                self._db = sqlite3.connect(self.path, isolation_level=None)
                # WAL with NORMAL survives kill -9; a power cut may lose the last items, whose files are then remade.
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.executescript(_TABLES)
                self._db.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
            found = self._db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        except sqlite3.Error as error:
            raise self._fault(error) from error
        if found is None or int(found[0]) != SCHEMA:
            raise EnvironmentFault(
                f"{self.path}: written by another version of this tool (schema {found and found[0]}, this one writes "
                f"{SCHEMA}); use that version, or choose another folder with --out"
            )

    def _fault(self, error: sqlite3.Error) -> EnvironmentFault:
        text = str(error)
        if "full" in text:
            return EnvironmentFault(f"{self.path}: the disk is full; free some room and run the same command again")
        if "readonly" in text or "unable to open" in text:
            return EnvironmentFault(f"{self.path}: cannot be written ({text}); choose another folder with --out")
        return EnvironmentFault(
            f"{self.path}: {text}; if it is damaged, move the folder {STATE_FOLDER} away to rebuild"
        )

    def _do(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def close(self) -> None:
        self._db.close()

    def note(self, key: str) -> str | None:
        """What an earlier run noted under `key`."""
        found = self._do("SELECT value FROM meta WHERE key = ?", (f"note {key}",)).fetchone()
        return found[0] if found else None

    def keep_note(self, key: str, value: str) -> None:
        self._do("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"note {key}", value))
