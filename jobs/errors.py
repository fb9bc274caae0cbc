"""Errors a person can act on. Each class carries the exit code that a run ends with when nothing catches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.problem_groups import Gathered


class UserError(Exception):
    """Something the person who started the run can put right. The message ends with the next step."""

    exit_code = 2


class EnvironmentFault(UserError):
    """This machine lacks something: a model, a device, ffmpeg, room on the disk, the right to write."""

    exit_code = 4


class Locked(UserError):
    """Another run holds the run folder."""

    exit_code = 5


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in an input file, printed as `file:line: field: what, what to do`."""

    file: str
    line: int
    field: str
    message: str
    """What was found and what to do, in one sentence."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


class InvalidInput(UserError):
    """A file with mistakes; all of them, not the first."""

    def __init__(self, problems: Sequence[Problem], total: int | None = None, gathered: Gathered | None = None) -> None:
        """`total` counts the mistakes where not all of them are held; `gathered` has them by what they are."""
        self.problems = tuple(problems)
        self.gathered = gathered
        self.total = len(self.problems) if total is None else total
        super().__init__("\n".join(str(problem) for problem in self.problems))
