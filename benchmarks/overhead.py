"""What an item costs beside its synthesis: a run of short items on the tone engine, through the real command line.

    python benchmarks/overhead.py [--items 5000] [--folder FOLDER]

Prints milliseconds per item of wall and of CPU time (the parent; its workers, who beep; its finishers, who join, level
and encode), and the parent's peak memory for several sizes, so that growth with the number of items shows. Then the
time of a second run, which finds nothing to do. CPU time hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def manifest(folder: Path, items: int) -> Path:
    path = folder / f"items{items}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            text = f"Prompt {number}." if number % 2 else f"提示音{number}。"
            file.write(json.dumps({"id": f"p{number:06d}", "text": text}) + "\n")
    return path


_SCRIPT = """
import json, os, resource, sys
from pathlib import Path

from cli.app import start
from jobs.crew import Child

spent = {"worker": 0.0, "finisher": 0.0}


def kill(self, really=Child.kill):
    # Fields 14 and 15 of /proc/PID/stat: its CPU time in user and system mode, in ticks.
    fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    spent["finisher" if self.name.startswith("finisher") else "worker"] += ticks / os.sysconf("SC_CLK_TCK")
    really(self)


Child.kill = kill
sys.argv = ["cosyvoice-batch", *sys.argv[1:]]
try:
    start()
except SystemExit as end:
    code = end.code
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({**spent, "parent": own.ru_utime + own.ru_stime, "peak_mib": own.ru_maxrss // 1024}))
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one command took."""

    wall_s: float
    parent_s: float
    """CPU time, as the next two."""
    workers_s: float
    finishers_s: float
    peak_mib: int
    """Of the command's own process."""


def timed(*words: str, cwd: Path) -> Spent:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    wall_s = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    told = json.loads(done.stdout.splitlines()[-1])
    return Spent(wall_s, told["parent"], told["worker"], told["finisher"], told["peak_mib"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5000, help="items of the largest run (default: 5000)")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        folder = Path(scratch)
        print(f"{'':>35} {'CPU time, ms per item':>26}")
        print(
            f"{'items':>8} {'wall s':>8} {'ms/item':>8} {'':>8} {'parent':>8} {'workers':>8} {'finishers':>9} "
            f"{'peak MiB':>9} {'again s':>8}"
        )
        base = timed("run", str(manifest(folder, 1)), "--engine", "tone", "-q", cwd=folder)
        for items in (arguments.items // 10, arguments.items):
            path = str(manifest(folder, items))
            spent = timed("run", path, "--engine", "tone", "-q", cwd=folder)
            again = timed("run", path, "--engine", "tone", "-q", cwd=folder)
            wall, parent, workers, finishers = (
                (getattr(spent, name) - getattr(base, name)) / items * 1000
                for name in ("wall_s", "parent_s", "workers_s", "finishers_s")
            )
            print(
                f"{items:>8} {spent.wall_s:>8.1f} {wall:>8.2f} {'':>8} {parent:>8.2f} {workers:>8.2f} "
                f"{finishers:>9.2f} {spent.peak_mib:>9} {again.wall_s:>8.2f}"
            )
        print(f"(start and end of a run of one item, {base.wall_s:.1f} s of wall, are taken off the costs per item)")
        print(f"load of this machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(f"largest process of all, workers and finishers included: {children} MiB")


if __name__ == "__main__":
    main()
