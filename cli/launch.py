"""The console script. It makes the folder that holds `cli/` the first import root, so that our plain folder names
mean our folders: the repository in a checkout, the private folder `cosyvoice_batch/` where the wheel is installed."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    root = str(Path(__file__).resolve().parent.parent)
    if sys.path[:1] != [root]:
        sys.path.insert(0, root)
    from cli.app import start

    start()
