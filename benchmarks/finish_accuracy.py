"""How exactly finishing meets level and ceiling, by ffmpeg's ebur128 on the finished files.

    python benchmarks/finish_accuracy.py [--files 500] [--takes FOLDER] [--profiles wav24k,podcast]

Takes are speech-like signals of 0.5 to 8 s at levels 30 dB apart, or the audio files of a folder. Prints per profile
the largest miss of the level and the highest true peak over the ceiling; ends with 1 past 0.3 LU or 0.05 dB.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from finishing_signals import Block, ebur128, part, source_of, speech  # noqa: E402

from jobs.finish import finish  # noqa: E402
from jobs.records import Gap  # noqa: E402
from presets.catalog import profiles  # noqa: E402


def take(number: int, recordings: list[Path]) -> tuple[Block, int]:
    """Samples and rate of the take for the file with this number."""
    if recordings:
        samples, rate_hz = soundfile.read(recordings[number % len(recordings)], dtype="float32", always_2d=True)
        return np.ascontiguousarray(samples[:, 0]), rate_hz
    random = np.random.default_rng(number)
    duration_s, peak_db = random.uniform(0.5, 8), random.uniform(-30, 0)
    return speech(duration_s, seed=number, peak=10 ** (peak_db / 20), noise_db=-85), 24_000


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("--files", type=int, default=500)
    words.add_argument("--takes", type=Path)
    words.add_argument("--profiles", default="wav24k,wav48k,podcast,podcast-stereo,flac24k,opus,m4a,ivr-ulaw,ivr-pcm8k")
    asked = words.parse_args()
    recordings = sorted(asked.takes.glob("*.wav")) if asked.takes else []
    chosen = [profiles()[name] for name in asked.profiles.split(",")]
    misses, overs, held = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list), 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(asked.files):
            profile = chosen[number % len(chosen)]
            samples, rate_hz = take(number // len(chosen), recordings)
            path = Path(name) / f"out{profile.suffix}"
            made = part(Path(name), samples, Gap("end"), rate_hz)
            measured = finish([made], 0, None, profile, {}, path)
            Path(made.path).unlink()
            lufs, peak_dbtp = ebur128(source_of(path, profile))
            overs[profile.name].append(peak_dbtp - profile.ceiling_dbtp)
            if any(note.startswith(("gain held", "level is")) for note in measured.notes):
                held += 1  # said in the report: a quiet take, or peaks that the limiter must not flatten further
            elif profile.loudness == "lufs" and profile.target_db is not None:
                misses[profile.name].append(lufs - profile.target_db)
            elif measured.loudness_lufs is not None:
                misses[profile.name].append(lufs - measured.loudness_lufs)
    for profile in chosen:
        worst = max(misses[profile.name] or [0.0], key=abs)
        over = max(overs[profile.name])
        print(f"{profile.name:15s} level off by {worst:+.2f} LU at most, peak {over:+.2f} dB to ceiling")
    print(f"{asked.files} files, {held} with their level held back and said so")
    wrong = any(abs(miss) > 0.3001 for each in misses.values() for miss in each)
    return int(wrong or any(over > 0.0501 for each in overs.values() for over in each))


if __name__ == "__main__":
    sys.exit(main())
