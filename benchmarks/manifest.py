"""Reading and checking a manifest: rows per second and peak memory at growing numbers of rows.

    python benchmarks/manifest.py [ROWS ...]

Every row becomes an item: fields checked, output named, id and name compared with all rows before. Each measurement
runs in a process of its own; memory is that process's peak, and the last column must stay flat. CPU seconds hold the
start of Python; they are what counts on a machine that is busy with other things.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURE = """
import resource, sys, time
from jobs.manifest import RowRules, open_source, read
from jobs.records import Item
rules = RowRules("wav24k", {"wav24k": ".wav"}, {"wav24k": "{id}"}, voices=frozenset({"heart"}))
started = time.perf_counter()
with open_source(sys.argv[1]) as source:
    items = sum(isinstance(one, Item) for one in read(source, rules))
seconds = time.perf_counter() - started
print(items, seconds, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def lines(shape: str, count: int) -> Iterator[str]:
    """The lines of a manifest: simple rows, as tables of phone prompts are."""
    if shape != "jsonl":
        yield "id,text,voice,language\n"
    for number in range(count):
        identifier = (
            f"prompt-{number:07d}" if shape != "csv, random ids" else str(uuid.UUID(int=hash((number, 1)) % 2**128))
        )
        text = f"You are caller number {number} in the queue."
        if shape == "jsonl":
            yield json.dumps({"id": identifier, "text": text, "voice": "heart", "language": "en"}) + "\n"
        else:
            yield f"{identifier},{text},heart,en\n"


def measure(path: Path) -> tuple[int, float, float, float]:
    """(items, seconds, CPU seconds, peak MiB) of a process that reads it."""
    command = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    items, seconds, cpu_s, peak_mib = done.stdout.split()
    return int(items), float(seconds), float(cpu_s), float(peak_mib)


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    head = ("manifest", "rows", "file MiB", "seconds", "rows/s", "rows/CPU s", "peak MiB")
    print("{:<16} {:>9} {:>9} {:>8} {:>8} {:>10} {:>9}".format(*head))
    with tempfile.TemporaryDirectory() as folder:
        for shape in ("csv", "jsonl", "csv, random ids"):
            for count in counts:
                path = Path(folder) / f"manifest.{shape.split(',')[0]}"
                with path.open("w") as target:
                    target.writelines(lines(shape, count))
                size_mib = path.stat().st_size / 2**20
                items, seconds, cpu_s, peak_mib = measure(path)
                if items != count:
                    raise SystemExit(f"{items} of {count} rows became items")
                speeds = f"{seconds:>8.2f} {count / seconds:>8.0f} {count / cpu_s:>10.0f}"
                print(f"{shape:<16} {count:>9} {size_mib:>9.1f} {speeds} {peak_mib:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
