"""A small book as a finished run of the tone engine, for tests of what is made from it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
from conftest import call_cli, write_jsonl
from numpy.typing import NDArray

from jobs.ffmpeg import decode, ffmpeg_path

ROWS = [
    {"id": "open", "title": "Opening credits", "text": "Alice, written by Lewis Carroll."},
    {
        "id": "c1-1", "chapter": 1, "title": "第一章：../兔子洞", "language": "en", "boundary": "sentence",
        "text": "The first &amp; best chapter starts here. <break time=\"900ms\"/> It goes on.\n\nAnd ends here.",
    },
    {"id": "c1-2", "chapter": 1, "title": "第一章：../兔子洞", "voice": "michael", "text": "Yes, she said."},
    {"id": "c2", "chapter": 2, "title": "Two = 2; # \\ end", "text": "在第二章里，事情变得更加有趣。他们走了很久。"},
]  # fmt: skip
FACTS = {
    "title": "爱丽丝: a=b; #1",
    "authors": ["Lewis Carroll", "B"],
    "date": 1865,
    "description": "A girl.\nShe falls.",
}


def make_run(folder: Path, *words: str) -> None:
    """`m.jsonl`, spoken into `m-out`, with a book.json and a cover beside it."""
    write_jsonl(folder / "m.jsonl", ROWS)
    (folder / "m.book.json").write_text(json.dumps(FACTS), encoding="utf-8")
    picture = ["-f", "lavfi", "-i", "color=red:s=64x64", "-frames:v", "1", "-y", str(folder / "cover.jpg")]
    subprocess.run([ffmpeg_path(), "-v", "error", *picture], check=True, stdin=subprocess.DEVNULL)
    done = call_cli(folder, "run", "m.jsonl", "--engine", "tone", "--workers", "1", *words)
    assert done.code == 0, done.err


def heard(path: Path, rate_hz: int = 8000) -> NDArray[np.float32]:
    """Any audio file as mono samples [N], decoded by ffmpeg."""
    return np.concatenate(list(decode(path, rate_hz, 1)))


def onset_s(samples: NDArray[np.float32], near_s: float, rate_hz: int = 8000) -> float:
    """When sound first rises within 0.3 s around a moment that lies in silence or at its end."""
    start = max(0, round((near_s - 0.2) * rate_hz))
    around = np.abs(samples[start : round((near_s + 0.3) * rate_hz)])
    loud = np.flatnonzero(around > 0.02)
    assert len(loud), f"nothing is heard at {near_s:.2f} s"
    return (start + int(loud[0])) / rate_hz


def metadata(path: Path) -> dict[str, str]:
    """A file's tags as ffmpeg reads them."""
    done = subprocess.run(
        [ffmpeg_path(), "-v", "error", "-i", str(path), "-f", "ffmetadata", "pipe:1"], capture_output=True, check=True
    )
    head = done.stdout.decode("utf-8").split("\n[")[0]
    pairs = (line.split("=", 1) for line in head.splitlines() if "=" in line)
    return {key: value.replace("\\", "") for key, value in pairs}
