"""From the journal and the roster to the records of the report: what happened, in figures."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs.gear import Gear
from jobs.journal import Entry, Journal
from jobs.metrics import Figures
from jobs.records import Item, Measured, Prepared
from jobs.report import DeviceRow, ItemRow, RunFacts, State, TakeRow
from jobs.retry import asked_of
from jobs.roster import Roster, Tally
from jobs.seats import Seating
from jobs.verify import Ears
from jobs.version import tool_version

log = logging.getLogger(__name__)

_STATES: dict[str, State] = {
    "done": "done",
    "unchanged": "unchanged",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "pending",
    "waiting": "pending",
}


@dataclass(slots=True)
class Circumstances:
    """What is known of a run while it goes on."""

    number: int
    started: datetime
    resumed_from: str | None
    order_source: str
    command: str
    seating: Seating | None = None
    roster: Roster | None = None
    ears: Ears | None = None
    lexicon_hits: set[str] = field(default_factory=set)

    def device_warnings(self) -> list[str]:
        """Devices that could not be used, workers that fell out of work, listeners that died."""
        before = self.seating.warnings if self.seating else ()
        deaths = self.ears.notes if self.ears else ()
        listening = [f"{text}: a new one heard its takes again" for text in deaths]
        return [*before, *(self.roster.warnings if self.roster else ()), *listening]

    def hear(self, prepared: Prepared) -> None:
        """Take note of a text that was read."""
        self.lexicon_hits.update(prepared.lexicon_hits)


def facts_of(
    gear: Gear,
    journal: Journal,
    circumstances: Circumstances,
    removed: int,
    warnings: list[str],
    wall_s: float,
    exit_code: int,
    interrupted: bool,
    checks: dict[str, str],
) -> RunFacts:
    """The run in figures."""
    rows = device_rows(circumstances.roster, wall_s)
    audio_s = sum(row.audio_s for row in rows)
    busy_s = sum(row.busy_s for row in rows)
    counts = {**_counts(journal, circumstances.number), "removed": removed}
    return RunFacts(
        run_id=str(circumstances.number),
        started=circumstances.started.isoformat(timespec="seconds"),
        ended=(circumstances.started + timedelta(seconds=wall_s)).isoformat(timespec="seconds"),
        wall_s=round(wall_s, 3),
        manifest=circumstances.order_source,
        command=circumstances.command,
        version=tool_version(),
        engine={"name": gear.engine.name, "title": gear.engine.title, **_description(circumstances.roster)},
        text_front_end=gear.text_front_end,
        devices=rows,
        libraries=gear.libraries,
        counts=counts,
        audio_s=round(audio_s, 3),
        ready_s=round(journal.ready_s(circumstances.number), 3),
        synthesis_s=round(busy_s, 3),
        rtf=round(wall_s / audio_s, 4) if audio_s else None,
        warnings=tuple(counted([*gear.warnings, *warnings])),
        lexicon_unused=_unused(gear, journal, circumstances),
        exit_code=exit_code,
        interrupted=interrupted,
        resumed_from=circumstances.resumed_from,
        voices=gear.casting.auditions.rows(),
        checks=checks,
    )


def counted(messages: Iterable[str]) -> list[str]:
    """Each message once, with how often it came where that was more than once."""
    return [text if many == 1 else f"{text} ({many} times)" for text, many in Counter(messages).items()]


def _description(roster: Roster | None) -> dict[str, str]:
    described = [worker.description for worker in roster.workers if worker.description] if roster else []
    return described[0] if described else {}


def figures_of(gear: Gear, journal: Journal, circumstances: Circumstances) -> Figures:
    """What the metrics file tells, at any moment of the run."""
    described = _description(circumstances.roster)
    wall_s = (datetime.now().astimezone() - circumstances.started).total_seconds()
    return Figures(
        counts=_counts(journal, circumstances.number),
        devices=device_rows(circumstances.roster, wall_s),
        substitutions=len(gear.warnings) + len(circumstances.device_warnings()),
        info={
            "engine": gear.engine.name,
            "model": described.get("model", gear.engine.title),
            "precision": described.get("precision", ""),
            "version": tool_version(),
        },
    )


def _counts(journal: Journal, number: int) -> dict[str, int]:
    counts = dict.fromkeys(("done", "unchanged", "failed", "skipped", "pending"), 0)
    for state, count in journal.counts(number).items():
        counts[_STATES[state]] += count
    return counts


def device_rows(roster: Roster | None, wall_s: float) -> tuple[DeviceRow, ...]:
    """What each device has done in the `wall_s` seconds since the run started."""
    by_device = defaultdict(list)
    for worker in roster.workers if roster else ():
        by_device[worker.spec.device].append(worker.tally)
    return tuple(_device_row(device, tallies, wall_s) for device, tallies in by_device.items())


def _device_row(device: str, tallies: list[Tally], wall_s: float) -> DeviceRow:
    audio_s, busy_s = sum(t.audio_s for t in tallies), sum(t.busy_s for t in tallies)
    return DeviceRow(
        name=device,
        workers=len(tallies),
        items=len(set().union(*(tally.items for tally in tallies))),
        takes=sum(tally.takes for tally in tallies),
        retries=sum(tally.retries for tally in tallies),
        audio_s=round(audio_s, 3),
        busy_s=round(busy_s, 3),
        busy_share=round(min(1.0, busy_s / (wall_s * len(tallies))), 4) if wall_s > 0 else None,
        rtf=round(busy_s / audio_s, 4) if audio_s else None,
        restarts=sum(tally.restarts for tally in tallies),
        host_peak_bytes=max(tally.host_peak_bytes for tally in tallies),
        device_peak_bytes=max(tally.device_peak_bytes for tally in tallies),
        stages=_stages(tallies),
        notes=tuple(note for tally in tallies for note in tally.notes),
    )


def _stages(tallies: list[Tally]) -> dict[str, float]:
    names = dict.fromkeys(name for tally in tallies for name in tally.stages)
    return {name: round(sum(tally.stages.get(name, 0.0) for tally in tallies), 3) for name in names}


def log_facts(facts: RunFacts) -> None:
    """The end of run.log: what takes were checked by, and a line for each device."""
    if facts.devices:
        log.info("checks: %s", "; ".join(f"{name}: {what}" for name, what in facts.checks.items()))
    for row in facts.devices:
        log.info(
            "%s, %d workers: %d items, %.1f s of audio, busy %.1f s (%.0f %%), real-time factor %s, %d takes, "
            "%d retries, %d restarts, memory peak %.0f MiB of the host, %.0f MiB of the device",
            row.name,
            row.workers,
            row.items,
            row.audio_s,
            row.busy_s,
            100 * (row.busy_share or 0.0),
            "none" if row.rtf is None else f"{row.rtf:.3f}",
            row.takes,
            row.retries,
            row.restarts,
            row.host_peak_bytes / 2**20,
            row.device_peak_bytes / 2**20,
        )


def _unused(gear: Gear, journal: Journal, circumstances: Circumstances) -> tuple[str, ...]:
    """Lexicon rules that fired in no row: not in this run, nor when the unchanged items were made."""
    if gear.lexicon is None:
        return ()
    fired = circumstances.lexicon_hits | journal.lexicon_hits(circumstances.number)
    return tuple(rule.written for rule in gear.lexicon.rules if rule.written not in fired)


def rows_of(journal: Journal, number: int, removed: list[tuple[str, str]]) -> Iterator[ItemRow]:
    """Every item of the manifest in its order, then the files that no row owns any more."""
    for entry in journal.entries(number):
        yield _row(entry)
    for item_id, out in removed:
        yield _removed_row(item_id, out)


def _row(entry: Entry) -> ItemRow:
    item, result = entry.item, entry.result
    measured = result.get("measured")
    standing = entry.state in ("done", "unchanged")
    segments = result.get("segments", [])
    return ItemRow(
        line=item.line,
        id=item.id,
        state=_STATES[entry.state],
        reason=entry.reason,
        out=item.out,
        chapter=item.chapter,
        title=item.title,
        written=item.text,
        spoken=result.get("spoken", ""),
        segments=len(segments),
        language=item.language or (segments[0]["language"] if segments else ""),
        voice=result.get("voice") or item.voice or "",
        mode=result.get("mode") or item.mode,
        instruction=item.instruction,
        speed=item.speed,
        seed=item.seed,
        profile=item.profile,
        measured=_measured(measured) if measured and standing else None,
        takes=tuple(_take_row(take) for take in result.get("takes", ())),
        retries=result.get("retries", 0),
        device=result.get("device", ""),
        seconds=result.get("seconds", 0.0),
        warnings=tuple(result.get("warnings", ())) + (tuple(measured["notes"]) if measured and standing else ()),
        extra=item.extra,
        heard=result.get("heard"),
        error_rate=result.get("error_rate"),
        asked=asked_of(item) if item.text and item.out else {},
    )


def _take_row(take: dict[str, Any]) -> TakeRow:
    return TakeRow(
        take["segment"],
        take["attempt"],
        take["seed"],
        tuple(take["faults"]),
        take["kept"],
        take.get("heard"),
        take.get("error_rate"),
        take.get("likeness"),
    )


def _measured(values: dict[str, Any]) -> Measured:
    whole: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Measured(**whole)


def _removed_row(item_id: str, out: str) -> ItemRow:
    item = Item(line=0, id=item_id, text="", out=out, profile="")
    return ItemRow(
        line=0,
        id=item.id,
        state="removed",
        reason="no row of the manifest asks for it; --prune removes it",
        out=out,
        chapter=None,
        title=None,
        written="",
        spoken="",
        segments=0,
        language="",
        voice="",
        mode="",
        instruction=None,
        speed=1.0,
        seed=0,
        profile="",
        measured=None,
    )
