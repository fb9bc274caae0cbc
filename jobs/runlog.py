"""run.log: every event of a run as a dated line, appended, whatever the terminal shows."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from jobs.files import explain
from jobs.progress import ItemEnd, Progress, Totals

log = logging.getLogger("jobs.run")


class Logged:
    """A progress display that also writes the log."""

    def __init__(self, inner: Progress) -> None:
        self._inner = inner

    def planned(self, totals: Totals) -> None:
        log.info(
            "%d items to make (about %.0f s of audio), %d unchanged", totals.items, totals.audio_s, totals.unchanged
        )
        self._inner.planned(totals)

    def note(self, message: str) -> None:
        log.info("%s", message)
        self._inner.note(message)

    def warn(self, message: str) -> None:
        log.warning("%s", message)
        self._inner.warn(message)

    def audio(self, seconds: float) -> None:
        self._inner.audio(seconds)

    def item(self, end: ItemEnd) -> None:
        level = logging.ERROR if end.state == "failed" else logging.INFO
        log.log(
            level,
            "%s %s -> %s (%s) audio %.2f s, wall %.2f s, %s, retries %d",
            end.state,
            end.id,
            end.out,
            end.reason,
            end.audio_s,
            end.wall_s,
            end.device or "no device",
            end.retries,
        )
        self._inner.item(end)

    def finished(self) -> None:
        self._inner.finished()


class _File(logging.FileHandler):
    """A log that cannot be written stops the run with the reason, like every other file of it."""

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            raise explain(error, self.baseFilename) from error
        super().handleError(record)


class _OneLine(logging.Formatter):
    """A record is one line, whatever a hostile id or an exception text holds."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\r", "\\r").replace("\n", "\\n")


@contextmanager
def keeping_log(folder: Path) -> Iterator[None]:
    """Append this run's events to `run.log` in the run folder."""
    try:
        handler = _File(folder / "run.log", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise explain(error, folder / "run.log") from error
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.INFO)
    names = ("jobs", "cosyvoice", "presets")
    for name in names:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(min(logging.INFO, logging.getLogger(name).level or logging.INFO))
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the run's own reason to end is the one to tell
            _detach(handler, names)
        raise
    try:
        _detach(handler, names)
    except OSError as error:
        raise explain(error, folder / "run.log") from error


def _detach(handler: logging.Handler, names: Sequence[str]) -> None:
    for name in names:
        logging.getLogger(name).removeHandler(handler)
    handler.close()
