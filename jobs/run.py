"""The road of a run, station by station: manifest → plan → speak → finish → journal → report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from time import monotonic

from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import find_files
from jobs import devices
from jobs.check_facts import check_facts, compares_voices, thresholds
from jobs.closing import leave_reports, removed_files
from jobs.errors import EnvironmentFault, InvalidInput, Problem, UserError
from jobs.files import STATE_FOLDER, explain, make_folder, refuse_links
from jobs.gear import Gear, gather
from jobs.journal import Journal
from jobs.lock import hold
from jobs.metrics import Meter, metering
from jobs.plan import Planned
from jobs.problem_groups import Gathered, shared
from jobs.produce import Production, TooManyFailures
from jobs.progress import Progress, Totals
from jobs.recogniser import require as require_recogniser
from jobs.records import Item
from jobs.report import as_summary
from jobs.roster import Roster
from jobs.row_check import RowRules
from jobs.runlog import Logged, keeping_log
from jobs.schedule import Schedule
from jobs.seats import GIB, plan_seats, require_fit
from jobs.settings import Settings
from jobs.summary import Circumstances, facts_of, figures_of, log_facts
from jobs.verify import Ears, Limits, ListenerSpec

EXIT_DONE, EXIT_SOME_FAILED, EXIT_ENVIRONMENT = 0, 3, 4
VOICE_WARNINGS_SHOWN = 50
MOST_LISTENERS = 16
"""Processes that listen unasked; each may hold a recogniser."""


class Interrupted(UserError):
    """The run was told to stop; the exit code is 128 plus the signal's number."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}; the same command goes on from here")
        self.exit_code = 128 + signal_number


@dataclass(frozen=True, slots=True)
class Order:
    """One run to be made."""

    source: str
    """The manifest as a person names it."""
    folder: Path
    settings: Settings
    read: Callable[[RowRules], Iterator[Item | Problem]]
    command: str


@dataclass(frozen=True, slots=True)
class Finding:
    """How a run ended."""

    exit_code: int
    summary: dict[str, object]
    problems: Gathered
    """Bad rows, which --keep-going let by."""
    reports: tuple[Path, ...]
    message: str = ""


def run(order: Order, progress: Progress, check_stop: Callable[[], None]) -> Finding:
    """Make what the manifest asks for and what does not stand yet.

    Raises InvalidInput (nothing was done), EnvironmentFault (before the work), Locked. What stops the work later is in
    the finding, after the reports are written.
    """
    with metering(order.settings.metrics_file, order.source, order.folder) as meter:

        def check() -> None:
            meter.tick()
            check_stop()

        finding = _run(order, progress, check, meter)
        meter.end(finding.exit_code)
        return finding


def _run(order: Order, progress: Progress, check_stop: Callable[[], None], meter: Meter) -> Finding:
    gear = gather(order.settings, order.folder)
    require_fit(order.settings, gear.engine)
    if order.settings.verify == "asr":
        require_recogniser(order.settings.verify_model)
    if order.settings.strict and gear.warnings:
        raise EnvironmentFault("--strict: " + "; ".join(gear.warnings))
    refuse_links(order.folder)
    fresh_folder = not order.folder.exists()
    try:
        with (
            hold(order.folder, order.settings.wait_s, check_stop),
            keeping_log(order.folder),
            _journal(order.folder) as journal,
        ):
            return _run_locked(order, gear, journal, Logged(progress), check_stop, meter)
    except InvalidInput:
        if fresh_folder:
            rmtree(order.folder, ignore_errors=True)  # made for the lock alone: leave no trace of a refused manifest
        raise


@contextmanager
def _journal(folder: Path) -> Iterator[Journal]:
    journal = Journal(folder)
    try:
        yield journal
    finally:
        journal.close()


def _run_locked(
    order: Order, gear: Gear, journal: Journal, progress: Progress, check_stop: Callable[[], None], meter: Meter
) -> Finding:
    started, clock = datetime.now().astimezone(), monotonic()
    number = journal.begin_run(started.isoformat(timespec="seconds"), order.command, order.source)
    circumstances = Circumstances(
        number=number,
        started=started,
        resumed_from=journal.unfinished_run_before(number),
        order_source=order.source,
        command=order.command,
    )
    meter.watch(lambda: figures_of(gear, journal, circumstances))
    for warning in gear.warnings:
        progress.warn(warning)
    problems, totals = _plan(order, gear, journal, number, check_stop)
    _tell_voices(gear, progress)
    progress.planned(totals)
    stopped: Exception | None = None
    try:
        if totals.items:
            _produce(order, gear, journal, number, circumstances, progress, check_stop)
    except (Interrupted, TooManyFailures, EnvironmentFault) as stop:
        stopped = stop
    exit_code = _exit_code(stopped, journal.counts(number))
    removed = removed_files(
        order.folder, journal, number, progress, prune=order.settings.prune, problems_count=problems.total
    )
    facts = facts_of(
        gear,
        journal,
        circumstances,
        removed=len(removed),
        warnings=[*circumstances.device_warnings(), *([str(stopped)] if stopped else [])],
        wall_s=monotonic() - clock,
        exit_code=exit_code,
        interrupted=isinstance(stopped, Interrupted),
        checks=check_facts(order.settings, gear.engine, gear.profiles, journal.profiles_of(number)),
    )
    try:
        reports = leave_reports(order.folder, facts, journal, number, removed)
    except OSError as error:
        # Where the disk ended the run, it refuses the reports too: the run's own reason is the one to tell.
        raise stopped if isinstance(stopped, EnvironmentFault) else explain(error, order.folder) from error
    journal.end_run(number, datetime.now().astimezone().isoformat(timespec="seconds"), exit_code)
    meter.look()
    log_facts(facts)
    progress.finished()
    if not isinstance(stopped, Interrupted | EnvironmentFault):
        rmtree(order.folder / STATE_FOLDER / "temporary", ignore_errors=True)
    return Finding(exit_code, as_summary(facts), problems, reports, str(stopped or ""))


def _tell_voices(gear: Gear, progress: Progress) -> None:
    """What the linter said of the voices, once for each of them."""
    remarks = list(gear.casting.auditions.remarks())
    for line in shared(((whose, remark.message) for whose, remark in remarks if remark.severity == "info"), "voices"):
        progress.note(line)
    warnings = shared(((whose, remark.message) for whose, remark in remarks if remark.severity != "info"), "voices")
    for line in warnings[:VOICE_WARNINGS_SHOWN]:
        progress.warn(line)
    if len(warnings) > VOICE_WARNINGS_SHOWN:
        progress.warn(f"{len(warnings) - VOICE_WARNINGS_SHOWN} more warnings of voices; the report has them")


def _plan(
    order: Order, gear: Gear, journal: Journal, number: int, check_stop: Callable[[], None]
) -> tuple[Gathered, Totals]:
    """Enter every row into the journal, in one transaction that an invalid manifest leaves no trace of."""
    problems = Gathered()
    items = unchanged = 0
    seconds = 0.0
    journal.begin_plan()
    try:
        for verdict in gear.planner.plan(order.read(gear.rules), order.source, journal):
            check_stop()
            if isinstance(verdict, Problem):
                problems.add(verdict)
                if order.settings.keep_going:
                    _enter_problem(journal, number, verdict)
                continue
            _enter(journal, number, verdict)
            items += verdict.state == "pending"
            unchanged += verdict.state == "unchanged"
            seconds += verdict.seconds if verdict.state == "pending" else 0.0
        if problems.total and not order.settings.keep_going:
            raise InvalidInput(problems.problems, problems.total, problems)
    except BaseException:
        journal.drop_plan()
        raise
    journal.keep_plan()
    return problems, Totals(items, unchanged, seconds)


def _enter(journal: Journal, number: int, verdict: Planned) -> None:
    journal.plan_item(number, verdict.item, verdict.state, verdict.reason, verdict.parts, verdict.seconds)
    if verdict.refreshed:
        journal.refresh_parts(verdict.item.id, verdict.parts)


def _enter_problem(journal: Journal, number: int, problem: Problem) -> None:
    """A bad row under --keep-going: a failed item of its own, named by its line."""
    item = Item(line=problem.line, id=f"line {problem.line}", text="", out="", profile="")
    journal.plan_item(number, item, "failed", f"{problem.field}: {problem.message}", {}, 0.0)


def _produce(
    order: Order,
    gear: Gear,
    journal: Journal,
    number: int,
    circumstances: Circumstances,
    progress: Progress,
    check_stop: Callable[[], None],
) -> None:
    seating = circumstances.seating = plan_seats(order.settings, gear.engine)
    for warning in seating.warnings:
        progress.warn(warning)
    if order.settings.strict and seating.warnings:
        raise EnvironmentFault("--strict: " + "; ".join(seating.warnings))
    state = order.folder / STATE_FOLDER
    temporary = state / "temporary" / str(number)
    make_folder(temporary)
    schedule = Schedule(
        items=_pending(journal, number),
        planner=gear.planner,
        journal=journal,
        settings=order.settings,
        takes_root=(state / "takes").absolute(),
        heard=circumstances.hear,
    )
    roster = Roster(
        seating.seats,
        heartbeat_s=order.settings.heartbeat_s,
        progress=progress,
        queue=schedule,
        reserve=seating.reserve,
        recycle_bytes=round(recycle * GIB) if (recycle := order.settings.recycle_memory) else None,
    )
    circumstances.roster = roster
    circumstances.ears = _ears(order.settings, gear)
    Production(
        folder=order.folder,
        temporary=temporary,
        schedule=schedule,
        roster=roster,
        finishers=min(devices.cores(), max(2, min(8, devices.cores() // 4))),  # they wait most of the time
        journal=journal,
        profiles=gear.profiles,
        progress=progress,
        max_failures=order.settings.max_failures,
        check_stop=check_stop,
        ears=circumstances.ears,
    ).run()


def _ears(settings: Settings, gear: Gear) -> Ears | None:
    """The listeners, where takes are transcribed or their voices compared. Raises EnvironmentFault."""
    try:
        files = find_files(settings.model) if settings.model and compares_voices(settings, gear.engine) else None
    except ModelMissing as error:
        raise EnvironmentFault(str(error)) from error
    asked = settings.verify != "none"
    if files is None and not asked:
        return None
    spec = ListenerSpec(
        recogniser=str(require_recogniser(settings.verify_model)) if asked else None,
        threads=settings.threads,
        speaker_encoder=str(files.speaker_encoder.absolute()) if files else None,
        stored_speakers=str(files.stored_speakers.absolute()) if files and files.stored_speakers else None,
    )
    limits = Limits(thresholds(settings, gear.profiles), settings.verify_policy, settings.timbre_threshold)
    return Ears(spec, settings.listeners or max(1, min(MOST_LISTENERS, devices.cores() // 4)), limits)


def _pending(journal: Journal, number: int) -> Iterator[tuple[Item, str]]:
    """Items to make, longest first, read from the journal a few hundred at a time."""
    after: tuple[float, int] | None = None
    while batch := journal.pending(number, after=after):
        for item, reason, size in batch:
            yield item, reason
            after = (size, item.line)


def _exit_code(stopped: Exception | None, counts: dict[str, int]) -> int:
    if isinstance(stopped, Interrupted):
        return stopped.exit_code
    if isinstance(stopped, EnvironmentFault):
        return EXIT_ENVIRONMENT
    return EXIT_SOME_FAILED if counts.get("failed") else EXIT_DONE
