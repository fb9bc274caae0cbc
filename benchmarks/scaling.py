"""One, two, four, eight devices on 2,000 items of skewed length: how near the run comes to dividing its time by them.

    python benchmarks/scaling.py [--devices 1,2,4,8] [--items 2000] [--device-seconds 320] [--slots 16]

The devices are simulated: a take costs a sleep in proportion to its audio, as a real device computes, and the host is
free meanwhile. One worker serves each. All else is the real command line: manifest, texts, queue, checks, finishing,
journal, report. Lengths are log-normal, the longest item 60 times the median.

`--slots 1` (default) speaks one utterance at a time. With more, a device speaks so many at once as CosyVoice's language
model does: a step costs a fixed part and a part for each utterance in it.

Columns: wall, of the whole command; before, until the first take starts (plan, workers); span, from the start of the
first take to the end of the last; after, from there to the end of the command (finishing the last items, report);
efficiency, the time that the devices had work over devices times span (slots 1), or the span of the first row over
devices times span; tail, from the first device that went idle for good to the last; parent, CPU time of the parent per
item: of the loop that feeds and hears workers and finishers, without and with reading the texts, and of the whole
command.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cosyvoice.catalog import TONE
from cosyvoice.engine import Engine, Speech, Utterance
from cosyvoice.tone import WORDS_PER_S
from cosyvoice.tone import load as load_tone

ROOT = Path(__file__).resolve().parent.parent
SLEEPING = replace(TONE, title="simulated device", factory="benchmarks.scaling:load")
LONGEST_OVER_MEDIAN = 60
MEDIAN_WORDS = 2
FIXED_PART = 0.5
"""Part of a full batch's step time that an empty batch would cost too: the weights are read once for all rows."""
STEPS_PER_S = 25
STEPS_AT_ONCE = 5


def load(**_: object) -> Engine:
    """The engine that every worker of the benchmark loads."""
    tone = load_tone(model_folder=None, device="cpu", precision="auto", threads=1)
    return Sleeping(tone, float(os.environ["SCALING_FACTOR"]), int(os.environ["SCALING_SLOTS"]))


class Sleeping:
    """Tones for whose seconds the device has to be waited for."""

    def __init__(self, tone: Engine, factor: float, slots: int) -> None:
        """`factor` is device time per second of audio with all slots full."""
        self._tone, self._factor, self._slots = tone, factor, slots
        self._log = Path(os.environ["SCALING_LOG"], f"{os.getpid()}.txt")
        self.sample_rate_hz = tone.sample_rate_hz
        self.description = {**tone.description, "model": "simulated device"}
        self.appetite = slots + max(2, slots // 2)

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """See `Engine.speak`."""
        source = iter(utterances)
        live: list[_Live] = []
        open_ = True
        while open_ or live:
            while open_ and len(live) < self._slots:
                utterance = next(source, _END)
                if utterance is None:
                    break
                if isinstance(utterance, Utterance):
                    speech = next(iter(self._tone.speak(iter([utterance]))))
                    live.append(_Live(speech, max(1.0, speech.samples.size / self.sample_rate_hz * STEPS_PER_S)))
                else:
                    open_ = False
            if live:
                yield from self._advance(live)

    def _advance(self, live: list[_Live]) -> Iterator[Speech]:
        """A few steps of all that is live; one that is alone is done in one sleep."""
        most = min(one.steps for one in live)
        steps = most if self._slots == 1 else min(most, STEPS_AT_ONCE)
        share = 1.0 if self._slots == 1 else FIXED_PART + (1 - FIXED_PART) * len(live) / self._slots
        started = time.time()
        time.sleep(steps / STEPS_PER_S * self._factor * share)
        with self._log.open("a") as file:
            file.write(f"{started} {time.time()}\n")
        for one in live:
            one.steps -= steps
        for one in [one for one in live if one.steps <= 0]:
            live.remove(one)
            yield one.speech


@dataclass(slots=True)
class _Live:
    speech: Speech
    steps: float


_END = object()


def lengths(items: int) -> list[int]:
    """Words of each item: log-normal, the longest LONGEST_OVER_MEDIAN times the median, in a random order."""
    chance = statistics.NormalDist()
    spread = math.log(LONGEST_OVER_MEDIAN) / chance.inv_cdf(1 - 0.5 / items)
    places = (chance.inv_cdf((number + 0.5) / items) for number in range(items))
    words = [max(1, round(MEDIAN_WORDS * math.exp(spread * place))) for place in places]
    random.Random(7).shuffle(words)
    return words


def write_manifest(folder: Path, words: list[int]) -> Path:
    path = folder / "items.jsonl"
    vocabulary = ["river", "stone", "window", "garden", "morning", "letter", "market", "silver", "winter", "paper"]
    with path.open("w", encoding="utf-8") as file:
        for number, count in enumerate(words):
            text = " ".join(vocabulary[(number + n) % len(vocabulary)] for n in range(count))
            file.write(json.dumps({"id": f"i{number:05d}", "text": text.capitalize() + "."}) + "\n")
    return path


def measured_command(measurements: Path, words: list[str]) -> None:
    """The real command line, with a clock at the doors of the loop and of the text front end."""
    from cli.app import start
    from jobs.plan import Planner
    from jobs.produce import Production

    spent = {"loop": 0.0, "texts": 0.0}
    inside: list[str] = []

    def clocked(name: str, within: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            counts, before = inside == within, time.process_time()
            inside.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                inside.pop()
                spent[name] += (time.process_time() - before) * counts

        return call

    Production.run = clocked("loop", [], Production.run)  # type: ignore[method-assign]
    Planner.prepare = clocked("texts", ["loop"], Planner.prepare)  # type: ignore[method-assign]
    sys.argv = ["cosyvoice-batch", *words]
    try:
        start()
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        spent["all"] = usage.ru_utime + usage.ru_stime
        measurements.write_text(json.dumps(spent), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Figures:
    """One run."""

    wall_s: float
    before_s: float
    span_s: float
    after_s: float
    busy_s: float
    tail_s: float
    parent: dict[str, float]
    """CPU seconds."""


def run_once(folder: Path, manifest: Path, devices: int, factor: float, slots: int) -> Figures:
    out, log, measurements = folder / f"out{devices}", folder / f"log{devices}", folder / f"cpu{devices}.json"
    log.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "SCALING_FACTOR": repr(factor),
        "SCALING_SLOTS": str(slots),
        "SCALING_LOG": str(log),
    }
    words = ["run", str(manifest), "--engine", "benchmarks.scaling:SLEEPING", "--workers", str(devices), "-q"]
    started = time.time()
    done = subprocess.run(
        [sys.executable, __file__, "--measured", str(measurements), *words, "--out", str(out)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    ended = time.time()
    if done.returncode:
        raise SystemExit(done.stderr)
    spans = [
        [(float(start), float(end)) for start, end in map(str.split, path.read_text().splitlines())]
        for path in log.iterdir()
    ]
    spans = [one for one in spans if one]
    first, ends = min(one[0][0] for one in spans), [one[-1][1] for one in spans]
    return Figures(
        wall_s=ended - started,
        before_s=first - started,
        span_s=max(ends) - first,
        after_s=ended - max(ends),
        busy_s=sum(end - start for one in spans for start, end in one),
        tail_s=max(ends) - min(ends),
        parent=json.loads(measurements.read_text()),
    )


def factor_for(words: list[int], device_s: float, slots: int) -> float:
    """Device time per second of audio, so that one device needs about `device_s` for all."""
    audio_s = sum(words) / WORDS_PER_S
    return device_s / audio_s * slots


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--measured":
        measured_command(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="1,2,4,8", help="rows of the table (default: 1,2,4,8)")
    parser.add_argument("--items", type=int, default=2000, help="(default: 2000)")
    parser.add_argument("--device-seconds", type=float, default=320.0, help="work for one device (default: 320)")
    parser.add_argument("--slots", type=int, default=1, help="utterances that a device speaks at once (default: 1)")
    options = parser.parse_args()
    words = lengths(options.items)
    factor = factor_for(words, options.device_seconds, options.slots)
    print(
        f"{options.items} items, median {statistics.median(words):g} words, longest {max(words)}; "
        f"{options.slots} at once on a device; load of this machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    print(f"{'':>56} {'parent, ms of CPU per item':>32}")
    names = f"{'devices':>7} {'wall s':>7} {'before':>7} {'span':>7} {'after':>6} {'efficiency':>10} {'tail s':>7}"
    print(f"{names} {'loop':>8} {'with texts':>11} {'all':>11}")
    first: tuple[int, float] | None = None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        manifest = write_manifest(folder, words)
        for devices in (int(word) for word in options.devices.split(",")):
            found = run_once(folder, manifest, devices, factor, options.slots)
            first = first or (devices, found.span_s)
            efficiency = found.busy_s / (devices * found.span_s)
            if options.slots > 1:
                efficiency = first[0] * first[1] / (devices * found.span_s)
            per_item = {name: seconds / options.items * 1000 for name, seconds in found.parent.items()}
            print(
                f"{devices:>7} {found.wall_s:>7.1f} {found.before_s:>7.1f} {found.span_s:>7.1f} {found.after_s:>6.1f} "
                f"{efficiency:>10.1%} {found.tail_s:>7.2f} "
                f"{per_item['loop'] - per_item['texts']:>8.2f} {per_item['loop']:>11.2f} {per_item['all']:>11.2f}",
                flush=True,
            )
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
