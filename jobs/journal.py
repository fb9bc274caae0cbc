"""The run folder's memory: what is done, what is to do, which takes exist. SQLite, one writer, flushed per item.

The journal is the truth about what is done: an output counts only if its row says so and the file is the one that was
made (`files.is_as_made`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from jobs.journal_file import JournalFile
from jobs.records import Item, Measured, Take
from jobs.report_rows import names_of, whole_text


@dataclass(frozen=True, slots=True)
class Built:
    """What the journal remembers of an item that was made before."""

    state: str
    out: str | None
    parts: Mapping[str, str]
    bytes: int | None
    result_text: str | None = None

    @property
    def result(self) -> Mapping[str, Any]:
        """What was made. Read when it is asked for: most who ask for the rest do not need it."""
        return json.loads(self.result_text) if self.result_text else {}


@dataclass(frozen=True, slots=True)
class Entry:
    """One item as the journal holds it, for the report."""

    item: Item
    state: str
    reason: str
    run: int
    result: Mapping[str, Any]


def _item_from(text: str) -> Item:
    return Item(**json.loads(text))


_FIELDS = {record: names_of(record) for record in (Item, Take, Measured)}


def values_of(record: Item | Take | Measured) -> dict[str, Any]:
    """A record's fields as they are; `asdict` would copy every element of them, which is most of its cost."""
    return {name: getattr(record, name) for name in _FIELDS[type(record)]}


_JSON = json.JSONEncoder(ensure_ascii=False)


def _item_text(item: Item) -> str:
    return _JSON.encode(values_of(item))


class Journal(JournalFile):
    """Opened for one run; every method that ends something commits it."""

    # -- runs ------------------------------------------------------------------------------------------------------

    def begin_run(self, started: str, command: str, manifest: str = "") -> int:
        """Enter a run and return its number. `manifest` as a person names it."""
        number = self._do("INSERT INTO runs (started, command) VALUES (?, ?)", (started, command)).lastrowid
        self.keep_note("manifest", whole_text(manifest))
        return int(number or 0)

    def end_run(self, number: int, ended: str, exit_code: int) -> None:
        self._do("UPDATE runs SET ended = ?, exit_code = ? WHERE number = ?", (ended, exit_code, number))

    def unfinished_run_before(self, number: int) -> str | None:
        """When the run before this one started, if it never came to its end (killed, power cut)."""
        found = self._do(
            "SELECT started, ended FROM runs WHERE number < ? ORDER BY number DESC LIMIT 1", (number,)
        ).fetchone()
        return found[0] if found and found[1] is None else None

    # -- planning --------------------------------------------------------------------------------------------------

    def begin_plan(self) -> None:
        """Start one transaction for the whole plan: it is there whole or not at all."""
        self._do("BEGIN IMMEDIATE")

    def keep_plan(self) -> None:
        self._do("COMMIT")

    def drop_plan(self) -> None:
        self._do("ROLLBACK")

    def built(self, item_id: str) -> Built | None:
        """What an earlier run made of this item; None if it is unknown."""
        found = self._do(
            "SELECT state, built_out, built_parts, built_bytes, result FROM items WHERE id = ?", (item_id,)
        ).fetchone()
        if found is None:
            return None
        state, out, parts, size, result = found
        return Built(state, out, json.loads(parts) if parts else {}, size, result)

    def plan_item(self, run: int, item: Item, state: str, reason: str, parts: Mapping[str, str], size: float) -> None:
        """Enter one row of the manifest. `state` is `pending` for what is to be made, else how it stands."""
        self._do(
            "INSERT INTO items (id, run, line, item, state, reason, parts, size) VALUES (?,?,?,?,?,?,?,?) "
            "ON CONFLICT (id) DO UPDATE SET run=excluded.run, line=excluded.line, item=excluded.item, "
            "state=excluded.state, reason=excluded.reason, parts=excluded.parts, size=excluded.size",
            (item.id, run, item.line, _item_text(item), state, reason, _JSON.encode(parts), size),
        )

    def refresh_parts(self, item_id: str, parts: Mapping[str, str]) -> None:
        """The output on the disk answers this fingerprint too (the text changed, what is spoken did not)."""
        self._do("UPDATE items SET built_parts = ? WHERE id = ?", (_JSON.encode(parts), item_id))

    def abandon(self, out: str) -> None:
        """A file of ours that no row will own."""
        self._do("INSERT OR IGNORE INTO leftovers VALUES (?)", (out,))

    def pending(
        self, run: int, *, after: tuple[float, int] | None = None, many: int = 256
    ) -> list[tuple[Item, str, float]]:
        """The next items to make, longest first, with reason and size; `after` is (size, line) of the last one got."""
        size, line = after if after is not None else (float("inf"), -1)
        found = self._do(
            "SELECT item, reason, size FROM items WHERE run = ? AND state = 'pending' "
            "AND (size < ? OR (size = ? AND line > ?)) ORDER BY size DESC, line LIMIT ?",
            (run, size, size, line, many),
        ).fetchall()
        return [(_item_from(item), reason, size) for item, reason, size in found]

    def parts_of(self, item_id: str) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._do("SELECT parts FROM items WHERE id = ?", (item_id,)).fetchone()[0])
        return found

    # -- ends ------------------------------------------------------------------------------------------------------

    def done(self, item: Item, parts: Mapping[str, str], size_bytes: int, result: Mapping[str, Any]) -> None:
        """The item's file stands under its name. From this commit on it is not made again."""
        self._do("BEGIN")
        self._do("DELETE FROM takes WHERE item = ?", (item.id,))
        self._disown(item.out, item.id)
        previous = self._do("SELECT built_out FROM items WHERE id = ?", (item.id,)).fetchone()[0]
        if previous is not None and not self._same_file(previous, item.out):
            self.abandon(previous)
        self._do("DELETE FROM leftovers WHERE out = ?", (item.out,))
        self._do(
            "UPDATE items SET state='done', built_out=?, built_parts=?, built_bytes=?, result=? WHERE id = ?",
            (item.out, _JSON.encode(parts), size_bytes, _JSON.encode(result), item.id),
        )
        self._do("COMMIT")

    def _disown(self, out: str, owner: str) -> None:
        """A file has one owner: whoever had this name before (two rows that swapped names) has no file any more."""
        claims = self._do(
            "SELECT id, built_out FROM items WHERE built_out = ? COLLATE NOCASE AND id != ?", (out, owner)
        ).fetchall()
        for item_id, claimed in claims:
            if self._same_file(claimed, out):
                self._do("UPDATE items SET built_out = NULL, built_bytes = NULL WHERE id = ?", (item_id,))

    def _same_file(self, one: str, other: str) -> bool:
        """Whether two names in the run folder are one file: `Menu.wav` and `menu.wav` are on some file systems."""
        if one == other:
            return True
        folder = self.path.parent.parent
        try:
            return one.casefold() == other.casefold() and (folder / one).samefile(folder / other)
        except OSError:
            return False

    def failed(self, item_id: str, reason: str, result: Mapping[str, Any]) -> None:
        """The item came to nothing in this run; the next run tries it again."""
        self._do("BEGIN")
        self._do("DELETE FROM takes WHERE item = ?", (item_id,))
        self._do(
            "UPDATE items SET state='failed', reason=?, result=? WHERE id = ?",
            (reason, _JSON.encode(result), item_id),
        )
        self._do("COMMIT")

    # -- takes -----------------------------------------------------------------------------------------------------

    def add_take(self, item_id: str, segment: int, utterance: str, take: Take) -> None:
        """Remember a take, so that a long item goes on where it stopped. `utterance` names what it speaks."""
        self._do(
            "INSERT OR REPLACE INTO takes VALUES (?,?,?,?,?)",
            (item_id, segment, take.attempt, utterance, _JSON.encode(values_of(take))),
        )

    def takes(self, item_id: str) -> list[tuple[int, str, Take]]:
        """(segment, utterance, take) of an unfinished item, in the order of segments and attempts."""
        found = self._do(
            "SELECT segment, utterance, take FROM takes WHERE item = ? ORDER BY segment, attempt", (item_id,)
        ).fetchall()
        return [(segment, utterance, _take_from(take)) for segment, utterance, take in found]

    # -- after the run ---------------------------------------------------------------------------------------------

    def removed(self, run: int) -> Iterator[tuple[str, str]]:
        """(id, out) of files that earlier manifests asked for and this run's does not, as they are streamed."""
        yield from self._do(
            "SELECT id, built_out FROM items WHERE run != ? AND built_out IS NOT NULL "
            "AND built_out NOT IN (SELECT built_out FROM items WHERE run = ? AND built_out IS NOT NULL) ORDER BY line",
            (run, run),
        )
        yield from (("", out) for (out,) in self._do("SELECT out FROM leftovers ORDER BY out"))

    def forget(self, item_id: str, out: str) -> None:
        """A removed item's file is gone."""
        if item_id:
            self._do("DELETE FROM items WHERE id = ?", (item_id,))
        self._do("DELETE FROM leftovers WHERE out = ?", (out,))

    def built_ids(self) -> Iterator[str]:
        """Ids of all items that have a file."""
        yield from (row[0] for row in self._do("SELECT id FROM items WHERE built_out IS NOT NULL"))

    def pace(self, engine: str) -> float | None:
        """Seconds of work per second of audio that this engine (its part of a fingerprint) needed here; None if it
        made nothing that stands."""
        work, audio = self._do(
            "SELECT SUM(json_extract(result, '$.seconds')), SUM(json_extract(result, '$.measured.duration_s')) "
            "FROM items WHERE built_out IS NOT NULL AND json_extract(built_parts, '$.engine') = ?",
            (engine,),
        ).fetchone()
        return float(work) / float(audio) if work and audio else None

    def counts(self, run: int) -> dict[str, int]:
        """Items of this run's manifest by state."""
        return dict(self._do("SELECT state, COUNT(*) FROM items WHERE run = ? GROUP BY state", (run,)).fetchall())

    def profiles_of(self, run: int) -> list[str]:
        """Names of the profiles that rows of this run's manifest have."""
        found = self._do("SELECT DISTINCT json_extract(item, '$.profile') FROM items WHERE run = ?", (run,)).fetchall()
        return sorted(name for (name,) in found if name)

    def digest_of(self, run: int) -> str:
        """Changes with anything that `entries` tells of a run."""
        found = sha256()
        for values in self._do("SELECT item, state, reason, result FROM items WHERE run = ? ORDER BY line, id", (run,)):
            for value in values:
                text = (value or "").encode("utf-8", "surrogatepass")
                found.update(b"%d:" % len(text) + text)
        return found.hexdigest()

    def lexicon_hits(self, run: int) -> set[str]:
        """Lexicon rules that fired in the items of a run's manifest, when they were made."""
        return {
            written
            for (found,) in self._do(
                "SELECT DISTINCT json_extract(result, '$.lexicon_hits') FROM items WHERE run = ?", (run,)
            )
            for written in json.loads(found or "[]")
        }

    def ready_s(self, run: int) -> float:
        """Seconds of audio in the files of a run's items, whenever they were made."""
        found = self._do(
            "SELECT SUM(json_extract(result, '$.measured.duration_s')) FROM items WHERE run = ? "
            "AND state IN ('done', 'unchanged')",
            (run,),
        ).fetchone()[0]
        return float(found or 0.0)

    def last_run(self) -> int:
        found = self._do("SELECT MAX(number) FROM runs").fetchone()[0]
        return int(found or 0)

    def last_manifest(self) -> str:
        """The manifest of the last run; empty where an older version made it."""
        return self.note("manifest") or ""

    def entries(self, run: int) -> Iterator[Entry]:
        """Every item of a run's manifest, in manifest order, streamed."""
        for item, state, reason, number, result in self._do(
            "SELECT item, state, reason, run, result FROM items WHERE run = ? ORDER BY line, id", (run,)
        ):
            yield Entry(_item_from(item), state, reason, number, json.loads(result) if result else {})


def _take_from(text: str) -> Take:
    values = json.loads(text)
    whole: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Take(**whole)
