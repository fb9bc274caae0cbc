"""A wish to stop is heard at every station of a run, not only while it makes items."""

from __future__ import annotations

import signal
from pathlib import Path
from time import monotonic, sleep

import pytest
from conftest import start_cli
from filelock import FileLock


def _wait_for(path: Path) -> None:
    deadline = monotonic() + 60
    while not path.exists():
        assert monotonic() < deadline
        sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_while_it_plans(number: int, code: int, tmp_path: Path) -> None:
    rows = "".join(f"r{i},Thank you for calling number {i}.\n" for i in range(40_000))
    (tmp_path / "m.csv").write_text(f"id,text\n{rows}", encoding="utf-8")
    run = start_cli("run", "m.csv", "--engine", "tone", cwd=tmp_path)
    _wait_for(tmp_path / "m-out/.cosyvoice-batch/journal.sqlite")
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert run.returncode == code, err
    assert "goes on from here" in err and "Traceback" not in err


def test_while_it_waits_for_another_run(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("id,text\na,Hello.\n", encoding="utf-8")
    state = tmp_path / "m-out/.cosyvoice-batch"
    state.mkdir(parents=True)
    with FileLock(state / "lock"):
        run = start_cli("run", "m.csv", "--engine", "tone", "--wait", "600", cwd=tmp_path)
        sleep(6)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=30)
    assert run.returncode == 143, err
