"""The only writer: results to stdout, everything else to stderr; bars on a terminal, plain lines in cron."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from jobs.progress import ItemEnd, Totals

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from jobs.problem_groups import Gathered

LINE_EVERY_S = 10.0
MAX_PROBLEMS_SHOWN = 50
FAILURES_OF_A_REASON = 10
"""Items that failed for one reason and are told one by one; the others are counted, and the report names them."""


def result(value: Any) -> None:
    """Print a result as JSON on stdout."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    written = json.dumps(value, ensure_ascii=ascii_only, indent=2, default=str)
    # A path may hold bytes that are no text: JSON can say them, UTF-8 cannot.
    _write(_SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", written) + "\n")


def text(line: str = "") -> None:
    """Print a line of a result on stdout."""
    _write(_printable(line) + "\n")


_SURROGATES = re.compile("[\ud800-\udfff]")


def _write(written: str) -> None:
    try:
        sys.stdout.write(written)
    except BrokenPipeError:
        drop_stdout()


def drop_stdout() -> None:
    """The reader of our results went away (`| head`): that is no fault, the command ends as it would have."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], limit: int = 0) -> None:
    """Print a result as a table on stdout: drawn on a terminal, tab-separated in a pipe.

    Of at most `limit` rows (0: all); how many more there are is told on stderr.
    """
    left = len(rows) - limit if limit else 0
    _table(columns, rows[: limit or None])
    if left > 0:
        complain(f"… and {left} more; --show 0 shows all")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            text("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    # On a narrow terminal a cell goes on below: nothing of a result is left out.
    drawn = Table(*(Column(name, overflow="fold") for name in columns), box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*(Text(_printable(cell)) for cell in row))
    Console().print(drawn)


def complain(message: str) -> None:
    """Print a line on stderr, dated off a terminal so that a cron mail can be read."""
    stamp = "" if sys.stderr.isatty() else f"{datetime.now().astimezone().isoformat(timespec='seconds')} "
    sys.stderr.write(f"{stamp}{_printable(message)}\n")
    sys.stderr.flush()


def problems(gathered: Gathered, total: int, limit: int = MAX_PROBLEMS_SHOWN) -> None:
    """Print the mistakes of a file: equal ones once, at most `limit` lines (0: all), and how many more there are.

    `total` counts them where not all were gathered.
    """
    for line in gathered.told(limit, total):
        sys.stderr.write(_printable(line) + "\n")


def _printable(message: str) -> str:
    """Control characters of a hostile id must not steer the terminal."""
    return "".join(c if c.isprintable() or c in _HARMLESS else f"\\x{ord(c):02x}" for c in message)


_HARMLESS = "\n\t\u00a0\u3000"


def count(number: int, what: str) -> str:
    """1 mistake, 2 mistakes."""
    return f"{number} {what}{'' if number == 1 else 's'}"


class _Repeats:
    """Equal messages: the first are printed, the others counted."""

    def __init__(self, printed: int) -> None:
        self._printed = printed
        self._counts: Counter[str] = Counter()

    def prints(self, message: str) -> bool:
        self._counts[message] += 1
        return self._counts[message] <= self._printed

    def left(self) -> Iterator[tuple[int, str]]:
        """How many were not printed, of each message."""
        yield from ((many - self._printed, text) for text, many in self._counts.items() if many > self._printed)


class Quiet:
    """`-q`: warnings and failures only."""

    def __init__(self) -> None:
        self._warnings, self._failures = _Repeats(1), _Repeats(FAILURES_OF_A_REASON)

    def _say(self, message: str) -> None:
        complain(message)

    def planned(self, totals: Totals) -> None:
        pass

    def note(self, message: str) -> None:
        pass

    def warn(self, message: str) -> None:
        if self._warnings.prints(message):
            self._say(f"warning: {message}")

    def audio(self, seconds: float) -> None:
        pass

    def item(self, end: ItemEnd) -> None:
        if end.state == "failed" and self._failures.prints(end.reason):
            self._say(f"failed: {end.id}: {end.reason}")

    def finished(self) -> None:
        for many, message in self._warnings.left():
            complain(f"warning, {many} more times: {message}")
        for many, reason in self._failures.left():
            complain(f"failed: … and {count(many, 'more item')}: {reason}")


class Lines(Quiet):
    """Off a terminal: a line every ten seconds, and one for each failure; with `-v` one for each item."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose
        self._totals = Totals(0, 0, 0.0)
        self._ended = self._failed = 0
        self._audio_s = 0.0
        self._started = self._last = monotonic()

    def planned(self, totals: Totals) -> None:
        self._totals = totals
        self._started = self._last = monotonic()
        complain(_planned(totals))

    def note(self, message: str) -> None:
        if self._verbose:
            complain(message)

    def audio(self, seconds: float) -> None:
        self._audio_s += seconds
        self._tick()

    def item(self, end: ItemEnd) -> None:
        super().item(end)
        self._ended += 1
        self._failed += end.state == "failed"
        if self._verbose and end.state != "failed":
            complain(f"{end.state}: {end.id} -> {end.out} ({end.audio_s:.1f} s, {end.reason})")
        self._tick()

    def _tick(self) -> None:
        now = monotonic()
        if now - self._last >= LINE_EVERY_S:
            self._last = now
            complain(self._line(now - self._started))

    def _line(self, wall_s: float) -> str:
        return (
            f"{self._ended}/{self._totals.items} items, {_clock(self._audio_s)} of audio, "
            f"real-time factor {_rtf(wall_s, self._audio_s)}, "
            f"{_clock(_left(self._totals, self._audio_s, wall_s))} left, {self._failed} failed"
        )


class Live(Quiet):
    """On a terminal: a bar that moves with every utterance."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose
        self._bars: Bars | None = None
        self._totals = Totals(0, 0, 0.0)
        self._ended = self._failed = 0
        self._audio_s = 0.0
        self._started = monotonic()

    def planned(self, totals: Totals) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._totals, self._started = totals, monotonic()
        complain(_planned(totals))
        if not totals.items:
            return
        self._bars = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.fields[items]}"),
            TextColumn("{task.fields[audio]}"),
            TextColumn("[red]{task.fields[failed]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bars.add_task("", total=max(totals.audio_s, 1e-3), items="loading", audio="", failed="")
        self._bars.start()

    def _say(self, message: str) -> None:
        if self._bars is None:
            complain(message)
        else:
            self._bars.console.print(_printable(message), markup=False, highlight=False)

    def note(self, message: str) -> None:
        if self._verbose:
            self._say(message)

    def audio(self, seconds: float) -> None:
        self._audio_s += seconds
        self._draw()

    def item(self, end: ItemEnd) -> None:
        super().item(end)
        self._ended += 1
        self._failed += end.state == "failed"
        if self._verbose and end.state != "failed":
            self._say(f"{end.state}: {end.id} -> {end.out} ({end.audio_s:.1f} s, {end.reason})")
        self._draw()

    def _draw(self) -> None:
        if self._bars is None:
            return
        wall_s = monotonic() - self._started
        self._bars.update(
            self._task,
            completed=self._audio_s,
            items=f"{self._ended}/{self._totals.items} items",
            audio=f"{_clock(self._audio_s)} of audio, RTF {_rtf(wall_s, self._audio_s)}, "
            f"{_clock(_left(self._totals, self._audio_s, wall_s))} left",
            failed=f"{self._failed} failed" if self._failed else "",
        )

    def finished(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
        super().finished()


def display(quiet: bool, verbose: bool) -> Quiet:
    """The display that suits where stderr goes."""
    if quiet:
        return Quiet()
    return Live(verbose) if sys.stderr.isatty() else Lines(verbose)


def _planned(totals: Totals) -> str:
    items = count(totals.items, "item")
    return f"{items} to make (about {_clock(totals.audio_s)} of audio), {totals.unchanged} unchanged"


def _rtf(wall_s: float, audio_s: float) -> str:
    return f"{wall_s / audio_s:.2f}" if audio_s else "–"


def _left(totals: Totals, audio_s: float, wall_s: float) -> float:
    """Estimated seconds to the end: the rest of the estimated audio at the speed seen so far."""
    return max(0.0, totals.audio_s - audio_s) * wall_s / audio_s if audio_s else 0.0


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {whole % 60:02d} s"
