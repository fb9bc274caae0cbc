"""The loop of a run keeps engines from running far ahead of finishing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import environment

ROWS = 60
LOWERED = "import jobs.produce; jobs.produce.FINISH_BACKLOG = 4; from cli.launch import main; main()"


def test_engines_wait_when_finishers_fall_behind(tmp_path: Path) -> None:
    rows = [json.dumps({"id": f"p{number}", "text": "Yes."}) for number in range(ROWS)]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    words = ["run", "many.jsonl", "--engine", "tone", "--quiet", "-o", "out"]
    process = subprocess.Popen([sys.executable, "-c", LOWERED, *words], cwd=tmp_path, env=environment())
    takes, most = tmp_path / "out/.cosyvoice-batch/takes", 0
    while process.poll() is None:
        most = max(most, sum(1 for _ in takes.iterdir()) if takes.exists() else 0)
        time.sleep(0.005)
    assert process.returncode == 0
    assert len(list((tmp_path / "out").glob("p*.wav"))) == ROWS
    if most == 0:
        pytest.fail("no take was seen: the test looks in the wrong place")
    assert most < 30, f"takes of {most} items lay on the disk at once, 4 were to wait"
