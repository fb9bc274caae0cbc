"""What an item costs beside its synthesis: a run of short items on the tone engine, through the real command line.

    python benchmarks/overhead.py [--items 5000] [--folder FOLDER]

Prints milliseconds per item, its ratio to the smallest run, and the parent's peak memory for several sizes, so that
growth with the number of items shows. Then the time of a second run, which finds nothing to do.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def manifest(folder: Path, items: int) -> Path:
    path = folder / f"items{items}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            text = f"Prompt {number}." if number % 2 else f"提示音{number}。"
            file.write(json.dumps({"id": f"p{number:06d}", "text": text}) + "\n")
    return path


def timed(*words: str, cwd: Path) -> tuple[float, int]:
    """Wall seconds and the peak resident memory (MiB) of the command's own process."""
    script = (
        "import sys, resource; sys.argv = ['cosyvoice-batch', *sys.argv[1:]]\n"
        "from cli.app import start\n"
        "try: start()\n"
        "except SystemExit as end: code = end.code\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stdout); sys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    return wall, int(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5000, help="items of the largest run (default: 5000)")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        folder = Path(scratch)
        print(f"{'items':>8} {'wall s':>8} {'ms/item':>8} {'peak MiB':>9} {'again s':>8}")
        base, _ = timed("run", str(manifest(folder, 1)), "--engine", "tone", "-q", cwd=folder)
        for items in (arguments.items // 10, arguments.items):
            path = str(manifest(folder, items))
            wall, peak = timed("run", path, "--engine", "tone", "-q", cwd=folder)
            again, _ = timed("run", path, "--engine", "tone", "-q", cwd=folder)
            print(f"{items:>8} {wall:>8.1f} {(wall - base) / items * 1000:>8.2f} {peak:>9} {again:>8.2f}")
        print(f"(start and end of a run of one item, {base:.1f} s, are taken off the cost per item)")
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(f"largest process of all, workers and finishers included: {children} MiB")


if __name__ == "__main__":
    main()
