"""The console script. It makes the folder that holds `cli/` the first import root, so that our plain folder names
mean our folders: the repository in a checkout, the private folder `cosyvoice_batch/` where the wheel is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        # A locale such as ISO-8859-1 cannot name the files of Chinese prompts: start again in Python's UTF-8 mode.
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})
    root = str(Path(__file__).resolve().parent.parent)
    if sys.path[:1] != [root]:
        sys.path.insert(0, root)
    from cli.app import start

    start()
