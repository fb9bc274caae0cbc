"""What several test files share: the real command line in a subprocess, and small manifests."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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

AT_ONCE = {
    *("assemble", "book", "check", "deliver", "inspect", "profiles", "publish", "report", "say-set"),
    *("subtitles", "template", "voices"),
}
"""Commands without children of ours: a process of their own would cost each call 0.4 s and show nothing more."""


def call_cli(
    folder: Path, *words: str, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 240.0
) -> Ended:
    """Run the command line in a folder: a command of `AT_ONCE` in this process, any other in its own."""
    if words[0] in AT_ONCE and not any(name.startswith(("PYTHON", "LC_")) for name in env or {}):
        return _call_here(folder, words, stdin, env or {})
    done = subprocess.run(
        [sys.executable, "-m", "cli", *words],
        cwd=folder,
        env=environment(env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _call_here(folder: Path, words: Sequence[str], stdin: str, env: Mapping[str, str]) -> Ended:
    from cli.app import start

    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdin", "stdout", "stderr")}
    streams["stdin"].write(stdin)
    streams["stdin"].seek(0)
    code: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["cosyvoice-batch", *words])
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        for name, value in env.items():
            patch.setenv(name, value)
        try:
            start()
        except SystemExit as end:
            code = end.code or 0
    out, err = (_written(streams[name]) for name in ("stdout", "stderr"))
    assert isinstance(code, int), code
    return Ended(int(code), out, err)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture
def cli(tmp_path: Path) -> RunCli:
    """`call_cli` in the test's own folder."""
    return partial(call_cli, tmp_path)


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
