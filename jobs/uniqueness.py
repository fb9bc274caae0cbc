"""Which names were seen before, over any number of rows, in memory that does not grow with them.

A private SQLite file without a name holds them; SQLite removes it with the connection, and the system removes it if the
process is killed. Names are kept as they are, not as digests: most manifests count their ids up, and neighbours in the
file are then neighbours in the tree, which is three times as fast.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from types import TracebackType

from jobs.errors import EnvironmentFault

_CACHE_KIB = 16_384
_WHOLE_CHARS = 64
"""Names up to this length are kept whole, longer ones as their start and a 128-bit digest."""


class Seen:
    """Names of several kinds with the line where each came first."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in (f"cache_size = -{_CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF", "temp_store = FILE"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE seen (name TEXT PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def __enter__(self) -> Seen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, names: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Remember (name, line) pairs; returns those whose name came before, with the line where it came first.

        Fastest with some thousand at a time: sorted, so that neighbours share a page. A line gives a name only once.
        """
        batch = [(name if len(name) <= _WHOLE_CHARS else _short(name), line) for name, line in names]
        batch.sort()
        try:
            cursor = self._database.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", batch)
            return {} if cursor.rowcount == len(batch) else self._repeated(names)
        except sqlite3.OperationalError as error:
            raise EnvironmentFault(
                f"no room to compare the names of all rows ({error}); free space in the temporary folder or set TMPDIR"
            ) from error

    def _repeated(self, names: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        repeated: dict[tuple[str, int], int] = {}
        for name, line in names:
            key = name if len(name) <= _WHOLE_CHARS else _short(name)
            (first,) = self._database.execute("SELECT line FROM seen WHERE name = ?", (key,)).fetchone()
            if first != line:
                repeated[name, line] = first
        return repeated


def _short(name: str) -> str:
    # One character more than any name that is kept whole, so that the two never meet.
    digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return name[: _WHOLE_CHARS - len(digest)] + "\n" + digest
