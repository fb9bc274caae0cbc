"""The whole engine against numbers of the reference implementation, part by part; exits 1 if a tolerance is exceeded.

    python benchmarks/parity.py --data FOLDER [--only lm,features,flow,vocoder]

FOLDER is the parity set, or a flat part of it such as tests/data/parity.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

# Section -> the subfolder of the full set that it reads ("" = several of them).
SECTIONS = {"lm": "tiny", "features": "", "flow": "tiny", "vocoder": "tiny"}


def report(rows: Sequence[tuple[str, float, float]]) -> int:
    """Print every comparison and return the exit code. No comparison at all is a failure, too."""
    for what, difference, tolerance in rows:
        print(f"{'ok' if difference <= tolerance else 'FAIL':4s} {difference:10.3g} of {tolerance:<8.3g} {what}")
    failed = [what for what, difference, tolerance in rows if not difference <= tolerance]
    print(f"{len(rows)} comparisons, {len(failed)} outside their tolerance")
    return 1 if failed or not rows else 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--only", default=",".join(SECTIONS))
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    worst = 0
    for section in chosen.only.split(","):
        folder = chosen.data / SECTIONS[section]
        print(f"\n{section}")
        check = importlib.import_module(f"parity_{section}").check
        worst = max(worst, report(check(folder if folder.is_dir() else chosen.data)))
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
