"""Speed of a whole CosyVoice engine on a random checkpoint in the official layout, batched against one at a time.

    python benchmarks/engine.py [--generation 2|3] [--device cpu] [--precision auto] [--threads 2] [--batches 1,8]
                                [--seconds 5] [--reference REF.wav] [--checkpoint FOLDER] [--size full]

Every utterance gets the same number of speech ids (--seconds × 25), whatever the random weights would like. Prints, per
batch: ids per second of the language model, seconds of flow and vocoder per second of audio, real-time factor, and the
ratio of the whole to the first batch of the same run; then loading time and peak memory.

Beside it stand the figures of the public reference on two such CPU cores (fp32, one at a time, measured for this
project): a real-time factor of about 6.8 for CosyVoice 2 and 9.3 for CosyVoice 3.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter

import numpy as np
import soundfile
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.assembly import ROOM, assemble
from cosyvoice.config import ModelConfig
from cosyvoice.engine import Utterance, Voice
from cosyvoice.model_folder import find_files
from cosyvoice.pipeline import Pipeline, StageTimes
from cosyvoice.precision import choose_precision
from cosyvoice.read_config import read_config

REFERENCE_RTF = {2: 6.8, 3: 9.3}
TEXT = "The quick brown fox jumps over the lazy dog and runs away."


def fixed_length(config: ModelConfig, ids: int, text_ids: int) -> ModelConfig:
    """Settings under which every utterance of `text_ids` text ids gets exactly `ids` speech ids."""
    ratio = (ids + 0.5) / text_ids
    return replace(config, lm=replace(config.lm, min_token_text_ratio=ratio, max_token_text_ratio=ratio))


def reference_audio(folder: Path, seconds: float = 3.0) -> Path:
    """A recording to clone, where none is given: a buzzing tone; for speed its content does not matter."""
    time_s = np.arange(int(24_000 * seconds)) / 24_000
    soundfile.write(folder / "reference.wav", 0.2 * np.sign(np.sin(2 * np.pi * 130 * time_s)), 24_000)
    return folder / "reference.wav"


def measure(engine: Pipeline, voice: Voice, batch: int) -> tuple[float, StageTimes]:
    """Seconds for `batch` utterances at once, and the stages' shares."""
    before = engine.times
    wanted = [Utterance(str(n), TEXT, voice, mode="zero_shot", seed=n) for n in range(batch)]
    start = perf_counter()
    heard = list(engine.speak(iter(wanted)))
    if engine.device.type != "cpu":
        torch.accelerator.synchronize()
    faults = [speech.error for speech in heard if speech.error]
    if faults or len(heard) != batch:
        raise SystemExit(f"{len(heard)} of {batch} spoken: {faults[:1]}")
    return perf_counter() - start, since(before, engine.times)


def since(before: StageTimes, now: StageTimes) -> StageTimes:
    """What was added between two readings."""
    return StageTimes(**{field.name: getattr(now, field.name) - getattr(before, field.name) for field in fields(now)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generation", type=int, choices=(2, 3), default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", default="1,8", help="utterances at once, the first is the baseline")
    parser.add_argument("--seconds", type=float, default=5.0, help="audio per utterance")
    parser.add_argument("--reference", type=Path, help="reference audio (default: 3 s of a tone)")
    parser.add_argument("--checkpoint", type=Path, help="model folder (default: a random one, made and removed)")
    parser.add_argument("--size", choices=("tiny", "full"), default="full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.checkpoint or make_checkpoint(Path(scratch) / "model", options.generation, options.size)
        audio = options.reference or reference_audio(Path(scratch))
        report(folder, audio, options)


def report(folder: Path, audio: Path, options: argparse.Namespace) -> None:
    files = find_files(folder)
    device = torch.device(options.device)
    room = ROOM["cpu" if device.type == "cpu" else "accelerator"]
    formats = choose_precision(device, options.precision)
    config = read_config(files)
    start = perf_counter()
    probe = assemble(files, config, device, formats, room, options.threads)
    loading_s = perf_counter() - start
    text_ids = len(probe.tokenizer.encode(TEXT))
    del probe
    config = fixed_length(config, round(options.seconds * 25), text_ids)
    engine = assemble(files, config, device, formats, room, options.threads)
    voice = Voice("bench", "bench", audio=str(audio), text="Words of the reference audio.")
    measure(engine, voice, 1)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{options.threads} CPU threads"
    print(f"CosyVoice {files.generation} on {name}, {formats.name}, {options.seconds:g} s of audio an utterance")
    print(f"{'batch':>5} {'LM ids/s':>9} {'flow s/s':>9} {'vocoder s/s':>12} {'RTF':>7} {'audio s/s':>10} {'ratio':>6}")
    first = 0.0
    for batch in (int(word) for word in options.batches.split(",")):
        wall_s, times = measure(engine, voice, batch)
        rtf = wall_s / times.audio_s
        first = first or rtf
        print(
            f"{batch:>5} {times.speech_ids / times.lm_s:>9.1f} {times.flow_s / times.audio_s:>9.3f} "
            f"{times.vocoder_s / times.audio_s:>12.3f} {rtf:>7.3f} {1 / rtf:>10.2f} {first / rtf:>6.2f}"
        )
    best = REFERENCE_RTF[files.generation]
    print(f"the public reference on two CPU cores, fp32, one at a time: real-time factor {best}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"loading {loading_s:.1f} s; peak memory of the process {peak:.2f} GiB (both loads and the checkpoint's making)"
    )
    if device.type == "cuda":
        print(f"peak device memory {torch.cuda.max_memory_allocated(device) / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
