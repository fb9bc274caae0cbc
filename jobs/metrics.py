"""A run in figures for Prometheus, as a text file that node_exporter's textfile collector picks up.

Format: the text exposition format 0.0.4 (prometheus.io, "Exposition formats"). docs/metrics.md is the table of names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time
from typing import Literal

from jobs.errors import EnvironmentFault, Locked, UserError
from jobs.report_rows import DeviceRow

log = logging.getLogger(__name__)

INTERVAL_S = 10.0
"""How often the file is renewed during a run."""
PREFIX = "cosyvoice_batch_"
EXIT_CRASH = 1


@dataclass(frozen=True, slots=True)
class Metric:
    """One name of the file."""

    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...] = ()
    """Beside `manifest` and `folder`, which every sample carries."""


METRICS: Mapping[str, Metric] = {
    "running": Metric("gauge", "1 while a run goes on, 0 once it has ended."),
    "updated_timestamp_seconds": Metric("gauge", "Unix time at which this file was written."),
    "start_timestamp_seconds": Metric("gauge", "Unix time at which the run started."),
    "run_duration_seconds": Metric("gauge", "Wall time of the run so far, or of the whole run once it has ended."),
    "last_success_timestamp_seconds": Metric("gauge", "Unix time at which the last run with exit code 0 ended."),
    "exit_code": Metric("gauge", "Exit code of the last run that ended."),
    "items": Metric("gauge", "Items of the manifest by state.", ("state",)),
    "audio_seconds_total": Metric("counter", "Speech that the run has synthesised, bad takes included."),
    "takes_total": Metric("counter", "Takes that the run has spoken, bad ones included."),
    "retries_total": Metric("counter", "Takes after the first one of their segment."),
    "real_time_factor": Metric("gauge", "Wall time of the run over the speech it made; below 1 is faster than speech."),
    "substitutions": Metric("gauge", "Things that were replaced by something lesser; the report lists them."),
    "device_workers": Metric("gauge", "Worker processes that the run put on the device.", ("device",)),
    "device_busy_ratio": Metric("gauge", "Part of the run's wall time in which the workers had work.", ("device",)),
    "device_items_total": Metric("counter", "Items that the device spoke a part of.", ("device",)),
    "device_takes_total": Metric("counter", "Takes that the device has spoken.", ("device",)),
    "device_retries_total": Metric("counter", "Takes after the first one of their segment.", ("device",)),
    "device_audio_seconds_total": Metric("counter", "Speech that the device has synthesised.", ("device",)),
    "device_busy_seconds_total": Metric("counter", "Time in which workers of the device had work.", ("device",)),
    "device_real_time_factor": Metric("gauge", "Busy time of the device over the speech it made.", ("device",)),
    "device_restarts_total": Metric("counter", "Workers of the device that died and were started again.", ("device",)),
    "device_memory_peak_bytes": Metric(
        "gauge", "Most memory that one worker held: of the host, or of the device.", ("device", "memory")
    ),
    "run_info": Metric("gauge", "What runs; always 1.", ("engine", "model", "precision", "version")),
}

Samples = Iterator[tuple[str, Mapping[str, str], float]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run can tell of itself at any moment."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Items by state."""
    devices: tuple[DeviceRow, ...] = ()
    substitutions: int = 0
    info: Mapping[str, str] = field(default_factory=dict)
    """engine, model, precision, version"""


class Meter:
    """Renews the file of one run. Without a path it does nothing."""

    def __init__(self, path: Path | None, manifest: str, folder: Path, interval_s: float = INTERVAL_S) -> None:
        """`manifest` is a path, `-` or `<stdin>`. Touches no file yet: it may belong to a run that holds the folder."""
        self._path = path
        self._interval_s = interval_s
        self._common = {
            "manifest": "-" if manifest in ("-", "<stdin>") else str(Path(manifest).absolute()),
            "folder": str(folder.absolute()),
        }
        self._former: dict[str, float] = {}
        self._started, self._clock = time(), monotonic()
        self._due = float("inf")
        self._look: Callable[[], Figures] | None = None
        self._figures = Figures()
        self._warned = False

    def watch(self, look: Callable[[], Figures]) -> None:
        """The folder is ours: from now on the file is renewed, with what `look` tells.

        Raises EnvironmentFault where it cannot be written.
        """
        if self._path is None:
            return
        self._look, self._former = look, _former(self._path, self._common)
        try:
            self._write(self._path, exit_code=None)
        except OSError as error:
            self._warned = True
            raise EnvironmentFault(
                f"--metrics-file: {self._path} cannot be written: {error.strerror or error}; its folder must be there "
                "and writable for the user of this run"
            ) from error
        self._due = monotonic() + self._interval_s

    def tick(self) -> None:
        """Renew the file if it is time."""
        if self._path is not None and monotonic() >= self._due:
            self.look()
            self._try_to_write(self._path, exit_code=None)
            self._due = monotonic() + self._interval_s

    def look(self) -> None:
        """Take the figures of this moment; the last time while the journal can still be asked."""
        if self._look is not None:
            self._figures = self._look()

    def end(self, exit_code: int) -> None:
        """Write the file for the last time."""
        if self._path is not None:
            if self._look is None:
                self._former = _former(self._path, self._common)
            self._try_to_write(self._path, exit_code=exit_code)

    def _try_to_write(self, path: Path, exit_code: int | None) -> None:
        """The file is no reason to lose a night's work: a disk that refuses it is told once, and tried again."""
        try:
            self._write(path, exit_code)
        except OSError as error:
            if not self._warned:
                log.warning("--metrics-file: %s cannot be written: %s", path, error.strerror or error)
            self._warned = True

    def _write(self, path: Path, exit_code: int | None) -> None:
        """Beside its place, then renamed: the collector never reads half of it. Raises OSError."""
        part = path.with_name(f".{path.name}.part")
        try:
            part.write_text(render(self._samples(exit_code, time()), self._common), encoding="utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def _samples(self, exit_code: int | None, now_s: float) -> Samples:
        wall_s = monotonic() - self._clock
        yield "running", {}, int(exit_code is None)
        yield "updated_timestamp_seconds", {}, now_s
        yield "start_timestamp_seconds", {}, self._started
        yield "run_duration_seconds", {}, wall_s
        success = now_s if exit_code == 0 else self._former.get("last_success_timestamp_seconds")
        if success is not None:
            yield "last_success_timestamp_seconds", {}, success
        ended = exit_code if exit_code is not None else self._former.get("exit_code")
        if ended is not None:
            yield "exit_code", {}, ended
        yield from _figures(self._figures, wall_s)


def _figures(figures: Figures, wall_s: float) -> Samples:
    devices = figures.devices
    audio_s = sum(row.audio_s for row in devices)
    for state, count in figures.counts.items():
        yield "items", {"state": state}, count
    yield "audio_seconds_total", {}, audio_s
    yield "takes_total", {}, sum(row.takes for row in devices)
    yield "retries_total", {}, sum(row.retries for row in devices)
    if audio_s:
        yield "real_time_factor", {}, wall_s / audio_s
    yield "substitutions", {}, figures.substitutions
    for row in devices:
        yield from _device(row)
    if figures.info:
        yield "run_info", figures.info, 1


def _device(row: DeviceRow) -> Samples:
    mine = {"device": row.name}
    yield "device_workers", mine, row.workers
    if row.busy_share is not None:
        yield "device_busy_ratio", mine, row.busy_share
    yield "device_items_total", mine, row.items
    yield "device_takes_total", mine, row.takes
    yield "device_retries_total", mine, row.retries
    yield "device_audio_seconds_total", mine, row.audio_s
    yield "device_busy_seconds_total", mine, row.busy_s
    if row.rtf is not None:
        yield "device_real_time_factor", mine, row.rtf
    yield "device_restarts_total", mine, row.restarts
    for memory, held in (("host", row.host_peak_bytes), ("device", row.device_peak_bytes)):
        if held:
            yield "device_memory_peak_bytes", {**mine, "memory": memory}, held


def render(samples: Samples, common: Mapping[str, str]) -> str:
    """The text of a file: samples by name, in the order of METRICS, each with the labels of `common`."""
    lines: dict[str, list[str]] = {name: [] for name in METRICS}
    for name, labels, value in samples:
        lines[name].append(f"{_series(name, {**common, **labels})} {_number(value)}")
    told = []
    for name, found in lines.items():
        if found:
            metric = METRICS[name]
            told += [f"# HELP {PREFIX}{name} {metric.help}", f"# TYPE {PREFIX}{name} {metric.kind}", *found]
    return "".join(f"{line}\n" for line in told)


def _series(name: str, labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{PREFIX}{name}{{{pairs}}}"


def _escaped(text: str) -> str:
    """A label's value: what the format wants escaped, and what UTF-8 cannot hold replaced."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(round(float(value), 6))


_KEPT = ("last_success_timestamp_seconds", "exit_code")


def _former(path: Path, common: Mapping[str, str]) -> dict[str, float]:
    """What must outlive a run that goes on or fails: from the file of the run before, if it was on the same folder."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}  # there is none yet; if it is there and cannot be read, writing it will say so
    found: dict[str, float] = {}
    for line in lines:
        series, _, value = line.rpartition(" ")
        for name in _KEPT:
            if series == _series(name, common):
                try:
                    found[name] = int(value) if name == "exit_code" else float(value)
                except ValueError:
                    log.warning("%s: %r is no number; %s starts anew", path, value, name)
    return found


@contextmanager
def metering(path: Path | None, manifest: str, folder: Path) -> Iterator[Meter]:
    """A meter whose file tells the exit code however the run ends; the run itself calls `end` if it comes to that.

    A run that finds the folder locked leaves the file alone: it belongs to the run that holds the lock.
    """
    meter = Meter(path, manifest, folder)
    try:
        yield meter
    except Locked:
        raise
    except UserError as error:
        meter.end(error.exit_code)
        raise
    except BaseException as error:
        meter.end(int(getattr(error, "exit_code", EXIT_CRASH)))
        raise
