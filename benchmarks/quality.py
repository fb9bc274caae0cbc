"""Precision and recall of the checks of takes, on good clips and on the same clips spoiled on purpose.

    python benchmarks/quality_clips.py FOLDER
    python benchmarks/quality.py FOLDER [--recogniser MODEL] [--every 1]

Prints the tables of docs/quality.md: checks from the samples; voices by the stand-in encoder of the tests (CAM++ itself
is not to be had without the model); joins of the example book; with `--recogniser` also what listening finds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from stand_in_encoder import write_encoder  # noqa: E402

from benchmarks.campplus import campplus_onnx  # noqa: E402
from benchmarks.quality_clips import RATE_HZ, SPEAKERS, Clip, read_clips  # noqa: E402
from benchmarks.quality_spoils import SPOILERS, Samples  # noqa: E402
from cosyvoice.timbre import SpeakerEncoder, likeness  # noqa: E402
from jobs.checks import FATAL, LEVEL_SHORT_S, LEVEL_STEP_DB, LEVEL_STEP_SHORT_DB, faults  # noqa: E402
from jobs.hearing import errors, leaks, respelled  # noqa: E402
from jobs.listener import LEAST_SPEECH_S  # noqa: E402
from jobs.recogniser import Recogniser  # noqa: E402
from jobs.settings import Settings  # noqa: E402
from jobs.speech_rate import expected_seconds  # noqa: E402
from jobs.take_checks import _frames, speech_level_db, speech_seconds, suspicions  # noqa: E402
from jobs.verify import SHORT_UNITS  # noqa: E402

Clips = Sequence[tuple[Clip, Samples]]
STEPS_DB = (5.0, 6.0, 7.0, 8.0, 9.0)
SHARES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


def found_in(samples: Samples, clip: Clip) -> set[str]:
    """Faults and suspicions, as a worker finds them."""
    certain = faults(samples, RATE_HZ, clip.text, clip.speed)
    return {*certain, *(() if FATAL & set(certain) else suspicions(samples, RATE_HZ, clip.text, clip.speed))}


def from_samples(clips: Clips) -> None:
    started = time.process_time()
    alarms = [(clip.text, found) for clip, samples in clips if (found := found_in(samples, clip))]
    ms_per_s = 1000 * (time.process_time() - started) / sum(len(samples) / RATE_HZ for _, samples in clips)
    print(f"{len(clips)} good clips, {len(alarms)} suspected {alarms}; {ms_per_s:.2f} ms for a second of audio")
    tight = sum(bool(found_in(_tight(samples), clip)) for clip, samples in clips)
    print(f"trimmed to the last 10 ms: {tight} suspected")
    for name, (check, spoil) in SPOILERS.items():
        random = np.random.default_rng(5)
        spoiled = [(clip, made) for clip, samples in clips if (made := spoil(samples, clip, random)) is not None]
        caught = [found_in(samples, clip) for clip, samples in spoiled]
        hits, any_ = sum(check in found for found in caught), sum(map(bool, caught))
        print(f"| {name} | `{check}` | {hits} of {len(spoiled)} | {hits / len(spoiled):.3f} | any check: {any_}")
    appended(clips)


def appended(clips: Clips) -> None:
    random, hits, many = np.random.default_rng(5), 0, 0
    for clip, samples in clips:
        other = clips[int(random.integers(len(clips)))][1]
        if len(other) > len(samples) and expected_seconds(clip.text, clip.speed) >= 1:
            many += 1
            hits += "too_slow" in found_in(np.concatenate([samples, other, other]), clip)
    print(f"| other sentences after the text | `too_slow` | {hits} of {many} | {hits / max(1, many):.3f} |")


def _tight(samples: Samples) -> Samples:
    frames = _frames(samples, RATE_HZ)
    assert frames is not None
    return samples[max(0, frames.first - 1) * RATE_HZ // 100 : (frames.last + 2) * RATE_HZ // 100]


def voices(clips: Clips) -> None:
    """The encoder knows the first half of the clips; the others are held against each voice of their language."""
    spoken = [(clip, samples) for clip, samples in clips if speech_seconds(samples, RATE_HZ) >= LEAST_SPEECH_S]
    known, judged = spoken[: len(spoken) // 2], spoken[len(spoken) // 2 :]
    with tempfile.TemporaryDirectory() as folder:
        path = write_encoder(Path(folder) / "campplus.onnx", [(samples, RATE_HZ) for _, samples in known])
        encoder = SpeakerEncoder(path)
        references = {
            clip.speaker: encoder.embed(samples, RATE_HZ) for clip, samples in sorted(known, key=lambda e: len(e[1]))
        }
        own, other = [], []
        for clip, samples in judged:
            embedding = encoder.embed(samples, RATE_HZ)
            for speaker in SPEAKERS[clip.language]:
                like = likeness(embedding, references[speaker])
                (own if speaker == clip.speaker else other).append(like)
        limit = Settings().timbre_threshold
        print(f"own voice: {sum(v < limit for v in own)} of {len(own)} suspected, least {min(own):.2f}")
        print(f"other voice: {sum(v < limit for v in other)} of {len(other)} found, most {max(other):.2f}")
        path.write_bytes(campplus_onnx()[0])
        encoder, started = SpeakerEncoder(path), time.process_time()
        some = [samples for _, samples in judged[:10]]
        for samples in some:
            encoder.embed(samples, RATE_HZ)
        cost = 1000 * (time.process_time() - started) / sum(len(samples) / RATE_HZ for samples in some)
        print(f"CAM++ of the official size: {cost:.1f} ms for a second of audio on one core")


def any_two(clips: Clips) -> None:
    """Steps of level between any two clips of one voice and speed: more than neighbours of one text differ."""
    for least_s in (0.0, LEVEL_SHORT_S):
        alike: dict[tuple[str, float], list[float]] = defaultdict(list)
        for clip, samples in clips:
            level = speech_level_db(samples, RATE_HZ)
            if level is not None and len(samples) >= least_s * RATE_HZ:
                alike[clip.speaker, clip.speed].append(level)
        steps = np.array([one - other for levels in alike.values() for one, other in combinations(levels, 2)])
        print(f"from {least_s:g} s: {_steps(np.abs(steps))}")
        limit = LEVEL_STEP_DB if least_s else LEVEL_STEP_SHORT_DB
        for made_db in (6, 8, 9, 10, 12):
            both = np.abs(np.concatenate([steps + made_db, steps - made_db]))
            print(f"  of steps made {made_db} dB larger or smaller {np.mean(both > limit):.3f} are over {limit:g} dB")


def _steps(found: NDArray[np.float64]) -> str:
    parts = ", ".join(f"{share} %: {np.percentile(found, share):.1f}" for share in (50, 90, 95, 99))
    over = ", ".join(f"{step:g}: {(found > step).sum()}" for step in STEPS_DB)
    return f"{len(found)} steps, {parts}, most {found.max():.1f} dB; over {over}"


def joins(clips: Iterable[Clip], folder: Path) -> None:
    """Steps of level between neighbouring segments of one voice."""
    chapters: dict[str, dict[int, float | None]] = defaultdict(dict)
    for clip in clips:
        chapters[clip.name.rpartition("-")[0]][clip.place] = speech_level_db(clip.samples(folder), RATE_HZ)
    for cut in ("run", "short"):
        found = [
            abs(level - levels[place - 1])
            for name, levels in chapters.items()
            if name.startswith(cut)
            for place, level in levels.items()
            if level is not None and levels.get(place - 1) is not None
        ]
        if found:
            print(f"neighbours, cut as {cut}: {_steps(np.array(found))}")


def listening(clips: Clips, model: Path) -> None:
    """Error rates of good clips, of clips cut in half, of another clip's text, of a leak at the head."""
    recogniser = Recogniser(model, 1)
    good, half, other, leaked = [], [], [], [0, 0]
    texts = [respelled(recogniser.transcribe(s, RATE_HZ, c.language), c.text, c.language) for c, s in clips]
    for number, ((clip, samples), text) in enumerate(zip(clips, texts, strict=True)):
        good.append((*errors(clip.text, text, clip.language), clip.speed))
        if number % 2 == 0 and len(samples) > 2 * RATE_HZ:
            said = recogniser.transcribe(samples[: len(samples) // 2], RATE_HZ, clip.language)
            half.append((*errors(clip.text, said, clip.language), clip.speed))
        far, heard = clips[(number + 3) % len(clips)][0], texts[(number + 3) % len(clips)]
        if far.language == clip.language and far.text != clip.text:
            other.append((*errors(clip.text, heard, clip.language), clip.speed))
            if number % 4 == 0 and len(samples) > 2 * RATE_HZ:
                both = np.concatenate([clips[(number + 3) % len(clips)][1], samples])
                said = respelled(recogniser.transcribe(both, RATE_HZ, clip.language), clip.text, clip.language)
                leaked[0] += bool(leaks(clip.text, said, clip.language, (far.text,)))
                leaked[1] += 1
    false_leaks = sum(
        bool(leaks(clip.text, text, clip.language, (clips[(number + 3) % len(clips)][0].text,)))
        for number, ((clip, _), text) in enumerate(zip(clips, texts, strict=True))
    )
    print(
        f"{len(clips)} clips heard; leaks of a reference at the head: {leaked[0]} of {leaked[1]}, false {false_leaks}"
    )
    for speed in (0.8, 1.0, 1.25, 1.5):
        of_speed = [(wrong, length) for wrong, length, at in good if at == speed]
        print(f"speed {speed}: {len(of_speed)} clips, {sum(w for w, _ in of_speed) / sum(n for _, n in of_speed):.3f}")
    for share in SHARES:
        rows = [(name, sum(_misheard(w, n, share) for w, n, _ in group), len(group))
                for name, group in (("good", good), ("good up to 1.25", [g for g in good if g[2] <= 1.25]),
                                    ("half lost", half), ("another text", other))]  # fmt: skip
        print(f"| {share:g} | " + " | ".join(f"{name} {hits} of {many}" for name, hits, many in rows))


def _misheard(wrong: int, length: int, share: float) -> bool:
    return wrong >= length if length <= SHORT_UNITS else wrong / length > share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recogniser", type=Path, help="folder of a whisper model for CTranslate2")
    parser.add_argument("--every", type=int, default=1, help="listen to every N-th clip only")
    arguments = parser.parse_args()
    everything = read_clips(arguments.folder)
    clips = [(clip, clip.samples(arguments.folder)) for clip in everything if clip.place < 0]
    from_samples(clips)
    voices(clips)
    any_two(clips)
    joins((clip for clip in everything if clip.place >= 0), arguments.folder)
    if arguments.recogniser:
        listening(clips[:: arguments.every], arguments.recogniser)


if __name__ == "__main__":
    main()
