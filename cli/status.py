"""Exit codes: a promise to cron jobs, documented in docs/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """How a command ended."""

    DONE = 0
    """All is done, or there was nothing to do."""
    CRASH = 1
    """A fault of this tool."""
    INVALID = 2
    """A command line, manifest, preset or config file that is not valid; nothing was done."""
    SOME_FAILED = 3
    """The run finished, some items failed."""
    ENVIRONMENT = 4
    """Something is missing on this machine: a model, a device, ffmpeg, disk space."""
    LOCKED = 5
    """Another run holds the run folder."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C (SIGINT); the same command goes on from there."""
    TERMINATED = 143
    """Stopped by SIGTERM; the same command goes on from there."""
