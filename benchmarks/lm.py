"""Speed of the speech language model at full size on random weights: one at a time against batches, in one run.

Usage: python benchmarks/lm.py [--generation 2|3] [--device cpu] [--precision auto] [--threads 2]
           [--batches 1,8,32] [--tokens 40]
The prompts are those of a cloned voice: 60 text ids, 20 reference text ids, 75 reference speech ids (3 s). Stop ids are
practically never drawn, so every run decodes the same number of ids. On a machine with other work, compare ids per
processor second with one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cosyvoice.config import LmConfig, QwenConfig
from cosyvoice.lm_network import lm_tensor_shapes
from cosyvoice.lm_request import LmRequest
from cosyvoice.precision import choose_precision
from cosyvoice.speech_lm import SpeechLm

FULL_SIZE = QwenConfig(
    width=896,
    layers=24,
    heads=14,
    kv_heads=2,
    feed_forward=4864,
    text_vocabulary=151_936,
    rope_theta=1e6,
    norm_eps=1e-6,
)
TEXT_IDS, PROMPT_TEXT_IDS, PROMPT_SPEECH_IDS = 60, 20, 75


def random_state(config: LmConfig, device: torch.device) -> dict[str, Tensor]:
    """Make weights of the official shapes: norms 1, all else normal with a spread that keeps the scores finite."""
    generator = torch.Generator(device).manual_seed(0)
    state = {}
    for name, shape in lm_tensor_shapes(config).items():
        if len(shape) == 1:
            state[name] = torch.ones(shape) if "norm" in name else torch.zeros(shape)
        elif "embed_tokens" in name:
            state[name] = torch.zeros(1).expand(shape)  # read row by row; the values do not matter for speed
        else:
            state[name] = torch.randn(shape, generator=generator, device=device).mul_(0.02)
    return state


def measure(lm: SpeechLm, batch: int, tokens: int) -> tuple[float, float, float]:
    """Return (ids per second of the decode steps alone, ids per second of processor time, prefill s per utterance)."""
    config = lm.config
    spread = torch.Generator().manual_seed(1)
    requests = [
        LmRequest(
            id=str(index),
            text_ids=(7,) * TEXT_IDS,
            prompt_text_ids=(5,) * PROMPT_TEXT_IDS,
            prompt_speech_ids=tuple(
                torch.randint(config.speech_vocabulary, (PROMPT_SPEECH_IDS,), generator=spread).tolist()
            ),
            seed=index,
        )
        for index in range(batch)
    ]
    started = time.perf_counter()
    left = lm.admit(requests)
    assert not left
    prefill_s = (time.perf_counter() - started) / batch
    for _ in range(3):
        lm.step()
    started, busy = time.perf_counter(), time.process_time()
    for _ in range(tokens):
        lm.step()
    rate = batch * tokens / (time.perf_counter() - started)
    per_core = batch * tokens / (time.process_time() - busy)
    lm.cancel()
    return rate, per_core, prefill_s


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--generation", type=int, choices=(2, 3), default=2)
    options.add_argument("--device", default="cpu")
    options.add_argument("--precision", default="auto")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--batches", default="1,8,32")
    options.add_argument("--tokens", type=int, default=40)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    device = torch.device(chosen.device)
    precision = choose_precision(device, chosen.precision)
    config = LmConfig(chosen.generation, FULL_SIZE, speech_vocabulary=6561)
    batches = [int(size) for size in chosen.batches.split(",")]
    lm = SpeechLm(config, random_state(config, device), precision=precision, device=device, slots=max(batches))
    print(f"CosyVoice {chosen.generation} LM, {device}, {precision.name}, packed weights: {precision.packed}")
    print(f"{chosen.threads} threads, torch {torch.__version__}")
    print("batch  ids/s  times one-at-a-time  ms/step  ids per processor second  prefill ms/utterance")
    alone = 0.0
    for batch in batches:
        rate, per_core, prefill_s = measure(lm, batch, chosen.tokens)
        alone = alone or rate
        speed = f"{batch:5d} {rate:6.1f} {rate / alone:20.1f} {1e3 * batch / rate:8.1f}"
        print(f"{speed} {per_core:25.1f} {1e3 * prefill_s:21.0f}")


if __name__ == "__main__":
    main()
