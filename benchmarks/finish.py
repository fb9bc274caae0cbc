"""What finishing costs: seconds of audio per second on one core, milliseconds per short prompt, memory of a long item.

    python benchmarks/finish.py [--minutes 10] [--profiles wav24k,acx] [--folder /dev/shm]

Prints one line per profile. The time is CPU time of this process and of the encoders it starts, so other work on the
machine counts little; `wall` is beside it. The disk's sync is part of the wall time only.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from finishing_signals import part, speech  # noqa: E402

from jobs.finish import Part, finish  # noqa: E402
from jobs.records import Gap, Measured  # noqa: E402
from presets.catalog import Profile, profiles  # noqa: E402

SHORT_ROUNDS = 100


def cpu_s() -> float:
    """User and system time of this process and its ended children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def timed(work: Callable[[], Measured]) -> tuple[Measured, float, float]:
    """The result, CPU seconds and wall seconds."""
    cpu, wall = cpu_s(), time.perf_counter()
    result = work()
    return result, cpu_s() - cpu, time.perf_counter() - wall


def long_item(profile: Profile, takes: list[Part], folder: Path) -> str:
    target = folder / f"long{profile.suffix}"
    measured, cpu, wall = timed(lambda: finish(takes, 0, None, profile, {"title": "long"}, target))
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{measured.duration_s / 60:5.1f} min  {measured.duration_s / cpu:6.0f} x real time (CPU)  "
        f"{measured.duration_s / wall:6.0f} x (wall)  peak memory {memory_mib:4.0f} MiB  "
        f"{measured.loudness_lufs:.2f} LUFS  {measured.true_peak_dbtp:.2f} dBTP  limited {measured.limited_db:.1f} dB"
    )


def short_item(profile: Profile, take: Part, folder: Path) -> str:
    target = folder / f"short{profile.suffix}"
    rounds = SHORT_ROUNDS if profile.container not in ("mp3", "m4a", "opus") else SHORT_ROUNDS // 10

    def many() -> Measured:
        for _ in range(rounds):
            measured = finish([take], 0, None, profile, {}, target)
        return measured

    finish([take], 0, None, profile, {}, target)
    measured, cpu, wall = timed(many)
    cpu_ms, wall_ms = 1000 * cpu / rounds, 1000 * wall / rounds
    return f"{measured.duration_s:.2f} s prompt: {cpu_ms:5.2f} ms (CPU)  {wall_ms:5.2f} ms (wall)"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("--minutes", type=float, default=10)
    words.add_argument("--profiles", default="wav24k,ivr-ulaw,flac24k,podcast,acx,opus,m4a")
    words.add_argument("--folder", type=Path, help="where files are written; a RAM disk leaves the disk out")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        takes = [part(folder, speech(4 + seed, seed=seed, peak=0.35), Gap("sentence")) for seed in range(5)]
        prompt = part(folder, speech(1.5, seed=9, peak=0.2), Gap("end"))
        rounds = max(1, round(asked.minutes * 60 / sum(take.samples / take.sample_rate_hz for take in takes)))
        for profile in (profiles()[name] for name in asked.profiles.split(",")):
            print(f"{profile.name:13s} {short_item(profile, prompt, folder)}", flush=True)
            print(f"{'':13s} {long_item(profile, takes * rounds, folder)}", flush=True)


if __name__ == "__main__":
    main()
