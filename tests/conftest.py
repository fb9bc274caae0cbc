"""What several test files share: the real command line in a subprocess, and small manifests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples in every run: a test that fails for one commit fails for the same reason in the next. Another set is
# tried with `pytest --hypothesis-profile=default`.
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A child's environment: our folders importable, one thread per library, no colours."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "PYTHONWARNINGS": "default",
        **(extra or {}),
    }


def start_cli(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """The real command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "cli", *words],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(folder: Path, suffix: str) -> int:
    """How many such files lie below a folder at which a run is working: folders may vanish meanwhile."""
    return sum(name.endswith(suffix) for _, _, names in os.walk(folder) for name in names)


RunCli = Callable[..., Ended]


@pytest.fixture
def cli(tmp_path: Path) -> RunCli:
    """Run the command line in the test's own folder."""

    def call(
        *words: str, stdin: str | None = None, env: Mapping[str, str] | None = None, timeout: float = 240.0
    ) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "cli", *words],
            cwd=tmp_path,
            env=environment(env),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A JSONL manifest."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def report_items(folder: Path) -> dict[str, dict[str, Any]]:
    """The items of a run's report by id."""
    return {item["id"]: item for item in json.loads((folder / "report.json").read_text(encoding="utf-8"))["items"]}


def report_run(folder: Path) -> dict[str, Any]:
    """The totals of a run's report."""
    run: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))["run"]
    return run


def outputs(folder: Path) -> dict[str, bytes]:
    """Every output of a run folder by its path: what a user would copy away."""
    ours = {"report.html", "report.json", "report.csv", "retry.jsonl", "run.log"}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".cosyvoice-batch" not in path.parts and path.name not in ours
    }
