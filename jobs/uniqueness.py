"""Which names were seen before, over any number of rows, in memory that does not grow with them.

A private SQLite file without a name holds 16-byte digests; SQLite removes it with the connection, and the system
removes it if the process is killed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from types import TracebackType

from jobs.errors import EnvironmentFault

_CACHE_KIB = 16_384


class Seen:
    """Names of several kinds with the line where each came first."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for pragma in (f"cache_size = -{_CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF", "temp_store = FILE"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE seen (name BLOB PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def __enter__(self) -> Seen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, names: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Remember (name, line) pairs; returns those whose name came before, with the line where it came first.

        Fastest with some thousand at a time: sorted, so that neighbours share a page. A line gives a name only once.
        """
        batch = [(_digest(name), line, name) for name, line in names]
        batch.sort()
        try:
            cursor = self._database.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?, ?)", [(digest, line) for digest, line, _ in batch]
            )
            if cursor.rowcount == len(batch):
                return {}
            return self._repeated(batch)
        except sqlite3.OperationalError as error:
            raise EnvironmentFault(
                f"no room to compare the names of all rows ({error}); free space in the temporary folder or set TMPDIR"
            ) from error

    def _repeated(self, batch: list[tuple[bytes, int, str]]) -> dict[tuple[str, int], int]:
        repeated: dict[tuple[str, int], int] = {}
        for digest, line, name in batch:
            (first,) = self._database.execute("SELECT line FROM seen WHERE name = ?", (digest,)).fetchone()
            if first != line:
                repeated[name, line] = first
        return repeated


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
