"""Splitting text into pieces: characters per second and peak memory, on novels and on hostile text.

    python benchmarks/segment.py [MEGABYTES ...]

A novel is the example book repeated; `MB` is megabytes of UTF-8. Each measurement runs in a process of its own; memory
is that process's peak. Within one kind of text the characters per CPU second must stay level as the text grows. pkuseg
is loaded only where a clause is over budget, so its 0.85 GB and its seconds of loading stand in the row of unpunctuated
Chinese alone; `fallback` is the same text without its model.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURE = """
import resource, sys, time
from pathlib import Path
from jobs.segment import Budget, split
from jobs.words import default_model_folder, open_word_breaker
text = Path(sys.argv[1]).read_text(encoding="utf-8")
words = open_word_breaker(default_model_folder() if sys.argv[2] == "model" else None)
before_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
started = time.process_time()
pieces = split(text, [], Budget(cjk_chars=60, words=30), words)
cpu_s = time.process_time() - started
assert "".join(text[piece.start : piece.end] for piece in pieces) == text
print(len(text), len(pieces), cpu_s, before_mib, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def book(language: str) -> str:
    """The chapters of the example book in one language."""
    rows = [json.loads(line) for line in (ROOT / "examples" / "book.jsonl").read_text(encoding="utf-8").splitlines()]
    return "\n".join(row["text"] for row in rows if row["language"] == language) + "\n"


def filled(pattern: str, megabytes: float) -> str:
    return pattern * max(1, round(megabytes * 1e6 / len(pattern.encode())))


def measure(text: str, words: str) -> tuple[int, int, float, float, float]:
    """(characters, pieces, CPU seconds, MiB before splitting, peak MiB) of a process that splits it."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write(text)
        file.flush()
        command = [sys.executable, "-c", MEASURE, file.name, words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    characters, pieces, cpu_s, before_mib, peak_mib = done.stdout.split()
    return int(characters), int(pieces), float(cpu_s), float(before_mib), float(peak_mib)


def main() -> None:
    sizes = [float(word) for word in sys.argv[1:]] or [0.5, 2.0]
    unpunctuated = "我们从南京市长江大桥走到图书馆去查古籍善本然后再决定要不要请老馆长帮忙"
    kinds = {
        "Chinese novel": (book("zh"), "model"),
        "English novel": (book("en"), "model"),
        "no punctuation, zh": (unpunctuated, "model"),
        "the same, fallback": (unpunctuated, "fallback"),
        "no punctuation, en": ("the quick brown fox jumps over ", "fallback"),
        "no spaces, en": ("abcdefghij", "fallback"),
        "opening quotes": ("“", "fallback"),
        "dots": (".", "fallback"),
        "newlines": ("\n", "fallback"),
    }
    head = ("text", "MB", "characters", "pieces", "CPU s", "chars/CPU s", "MiB before", "peak MiB")
    print("{:<20} {:>5} {:>10} {:>8} {:>7} {:>11} {:>10} {:>9}".format(*head))
    for kind, (pattern, words) in kinds.items():
        for megabytes in sizes:
            characters, pieces, cpu_s, before_mib, peak_mib = measure(filled(pattern, megabytes), words)
            rate = characters / cpu_s
            print(
                f"{kind:<20} {megabytes:>5.1f} {characters:>10,} {pieces:>8,} {cpu_s:>7.2f} {rate:>11,.0f} "
                f"{before_mib:>10.0f} {peak_mib:>9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
