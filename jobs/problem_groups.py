"""Mistakes that are the same in many rows are told once, with their number and the first lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jobs.errors import Problem

KEPT = 1000
"""Mistakes, and different ones, that are held; the rest are counted."""
LINES_TOLD = 5


@dataclass(slots=True)
class _Group:
    first: Problem
    count: int = 0
    lines: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        if self.count == 1:
            return str(self.first)
        lines = ", ".join(str(line) for line in self.lines)
        more = ", …" if self.count > len(self.lines) else ""
        return f"{replace(self.first, line=0)} ({self.count} rows: lines {lines}{more})"


class Gathered:
    """The mistakes of a file as they come."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.problems: list[Problem] = []
        """The first of them, each for itself."""
        self.total = 0
        self._groups: dict[tuple[str, str, str], _Group] = {}
        for problem in problems:
            self.add(problem)

    def add(self, problem: Problem) -> None:
        self.total += 1
        if len(self.problems) < KEPT:
            self.problems.append(problem)
        key = (problem.file, problem.field, problem.message)
        if key not in self._groups and len(self._groups) >= KEPT:
            return  # `total` has it
        group = self._groups.setdefault(key, _Group(problem))
        group.count += 1
        if len(group.lines) < LINES_TOLD:
            group.lines.append(problem.line)

    def told(self, limit: int, total: int | None = None) -> list[str]:
        """A line for each different mistake, in the order in which they came; of at most `limit` (0: all) of them.

        What is left of `total` is counted in one more line.
        """
        groups = list(self._groups.values())
        shown = groups[: limit or None]
        left = (self.total if total is None else total) - sum(group.count for group in shown)
        return [*map(str, shown), *([f"… and {left} more"] if left else [])]


def shared(messages: Iterable[tuple[str, str]], what: str) -> list[str]:
    """A line for each different message of (whose, message): of one, or of many with their number and the first names.

    `what` they are, as in `3 voices`.
    """
    whose_of: dict[str, list[str]] = {}
    for whose, message in messages:
        whose_of.setdefault(message, []).append(whose)
    told = []
    for message, names in whose_of.items():
        first = ", ".join(names[:LINES_TOLD]) + (", …" if len(names) > LINES_TOLD else "")
        told.append(f"{message} ({len(names)} {what}: {first})" if len(names) > 1 else f"{first}: {message}")
    return told
