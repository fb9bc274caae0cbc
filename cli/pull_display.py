"""How a download shows itself: a bar on a terminal, a plain line every ten seconds off it."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

from cli.output import LINE_EVERY_S, complain

if TYPE_CHECKING:
    from tqdm import tqdm


class PullLines:
    """For cron, pipes and log files."""

    def __init__(self) -> None:
        self._total = self._done = self._start_done = 0
        self._path = ""
        self._started = self._last = monotonic()

    def say(self, message: str) -> None:
        complain(message)

    def starts(self, total_bytes: int, done_bytes: int) -> None:
        self._total, self._done, self._start_done = total_bytes, done_bytes, done_bytes
        self._started = self._last = monotonic()
        complain(f"{(total_bytes - done_bytes) / 1e6:.1f} MB to fetch, {done_bytes / 1e6:.1f} MB are here")

    def file(self, path: str) -> None:
        self._path = path
        complain(f"fetching {path}")

    def moved(self, count_bytes: int) -> None:
        self._done += count_bytes
        now = monotonic()
        if now - self._last >= LINE_EVERY_S:
            self._last = now
            rate = max(self._done - self._start_done, 0) / (now - self._started)
            left = f", {(self._total - self._done) / rate:.0f} s left" if rate > 0 else ""
            complain(
                f"{self._path}: {self._done / 1e6:.1f} of {self._total / 1e6:.1f} MB "
                f"({self._done / self._total:.0%}), {rate / 1e6:.1f} MB/s{left}"
            )

    def ends(self) -> None:
        pass


class PullBar:
    """For a terminal: one bar over all files, with the name of the one at work."""

    def __init__(self) -> None:
        self._bar: tqdm[NoReturn] | None = None

    def say(self, message: str) -> None:
        if self._bar is None:
            complain(message)
            return
        self._bar.clear()
        complain(message)
        self._bar.refresh()

    def starts(self, total_bytes: int, done_bytes: int) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=total_bytes, initial=done_bytes, unit="B", unit_scale=True, dynamic_ncols=True, file=sys.stderr
        )

    def file(self, path: str) -> None:
        if self._bar is not None:
            self._bar.set_description(path.rpartition("/")[2])

    def moved(self, count_bytes: int) -> None:
        if self._bar is None:
            return
        if count_bytes < 0:  # tqdm's own update does not draw on the way back
            self._bar.n = max(0, self._bar.n + count_bytes)
            self._bar.refresh()
        else:
            self._bar.update(count_bytes)

    def ends(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def pull_display() -> PullLines | PullBar:
    """The display that suits where stderr goes."""
    return PullBar() if sys.stderr.isatty() else PullLines()
