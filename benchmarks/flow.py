"""Speed of the flow and of the vocoder at full size, on random weights made in memory.

    python benchmarks/flow.py [--device cpu] [--threads 2] [--audio-s 10] [--reference-s 3] [--batches 1 2 4]

Prints, for both generations and each precision: seconds per batch, audio seconds per second, multiply-adds, the rate
they ran at, and, for 10 s after 3 s of reference on 2 threads, the ratio to the reference engine (one utterance at a
time, fp32, two cores of the same kind). Then what bf16 changes in the mel.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cosyvoice.config import DitConfig, EncoderConfig, FlowConfig, UnetConfig, VocoderConfig
from cosyvoice.flow import Flow, FlowNet, FlowRequest
from cosyvoice.vocoder import Vocoder
from cosyvoice.vocoder_net import HiftNet

REFERENCE_S = {2: 23.8, 3: 43.0}
"""Seconds of the reference's flow for 10 s of audio after 3 s of reference, 2 threads, fp32."""
REFERENCE_VOCODER_S = {2: 2.1, 3: 2.3}
"""Seconds of the reference's vocoder for 10 s of audio."""


def full_size(generation: int) -> FlowConfig:
    """The settings of the official models."""
    unet = UnetConfig(
        in_channels=320, out_channels=80, channels=(256,), head_width=64, blocks=4, mid_blocks=12, heads=8
    )
    dit = DitConfig(
        width=1024,
        depth=22,
        heads=16,
        head_width=64,
        feed_forward_factor=2,
        mel_channels=80,
        mu_channels=80,
        speaker_channels=80,
        out_channels=80,
        lookahead_channels=1024,
    )
    second = generation == 2
    return FlowConfig(
        generation=2 if second else 3,
        token_width=512 if second else 80,
        mel_channels=80,
        speaker_width=192,
        speech_vocabulary=6561,
        frames_per_token=2,
        lookahead_tokens=3,
        guidance=0.7,
        encoder=EncoderConfig(width=512, heads=8, feed_forward=2048, blocks=6) if second else None,
        estimator=unet if second else dit,
    )


def full_size_vocoder(generation: int) -> VocoderConfig:
    """The settings of the official vocoders."""
    return VocoderConfig(
        generation=2 if generation == 2 else 3,
        mel_channels=80,
        base_channels=512,
        harmonics=8,
        sample_rate_hz=24_000,
        source_amplitude=0.1,
        source_noise=0.003,
        voiced_threshold_hz=10,
        upsample_rates=(8, 5, 3),
        upsample_kernels=(16, 11, 7),
        n_fft=16,
        hop=4,
        block_kernels=(3, 7, 11),
        block_dilations=((1, 3, 5),) * 3,
        source_block_kernels=(7, 7, 11),
        source_block_dilations=((1, 3, 5),) * 3,
        leaky_slope=0.1,
        audio_limit=0.99,
        f0_channels=512,
        lookahead_frames=None if generation == 2 else 4,
    )


def random_state(module: torch.nn.Module, seed: int) -> dict[str, torch.Tensor]:
    """Weights as large as trained ones: variance 1/fan-in, norms near one; and true frequencies for the rotation."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, empty in module.state_dict().items():
        noise = torch.randn(empty.shape, generator=generator)
        if name.endswith("inv_freq"):
            noise = 10_000 ** -torch.linspace(0, 1, empty.numel() + 1)[:-1]
        elif empty.dim() > 1:
            noise /= empty[0].numel() ** 0.5
        else:
            noise = 0.1 * noise + ("norm" in name and name.endswith("weight"))
        state[name] = noise
    return state


def random_request(seed: int, audio_s: float, reference_s: float) -> FlowRequest:
    generator = torch.Generator().manual_seed(seed)
    tokens, prompt = round(25 * audio_s), round(25 * reference_s)
    return FlowRequest(
        tokens=torch.randint(6561, (tokens,), generator=generator),
        prompt_tokens=torch.randint(6561, (prompt,), generator=generator),
        prompt_mel=torch.randn(2 * prompt, 80, generator=generator),
        embedding=torch.randn(192, generator=generator),
    )


def multiply_adds(config: FlowConfig, frames: int) -> float:
    """Of all steps and both rows of the guidance pair, for one utterance; see the estimators' first lines."""
    linear, attention = (66e6, 2 * 512 * 56) if config.generation == 2 else (189e6, 2 * 1024 * 22)
    return config.steps * 2 * frames * (linear + attention * frames)


def seconds(work: Callable[[], object], device: torch.device, repeats: int) -> tuple[float, float]:
    """Wall and CPU seconds, each the least of several runs after one to warm up. On a machine with other work only the
    CPU seconds, divided by the threads, say something."""
    walls, cpus = [], []
    for _ in range(repeats + 1):
        start, start_cpu = time.perf_counter(), time.process_time()
        work()
        if device.type != "cpu":
            torch.accelerator.synchronize()
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - start_cpu)
    return min(walls[1:]), min(cpus[1:])


def bench_flow(generation: int, dtypes: list[torch.dtype], options: argparse.Namespace) -> None:
    config, device = full_size(generation), torch.device(options.device)
    with torch.device("meta"):
        shapes = FlowNet(config)
    state = random_state(shapes, seed=generation)
    mels = {}
    for dtype in dtypes:
        start = time.perf_counter()
        flow = Flow.build(config, state, device, dtype)
        print(f"v{generation} flow {dtype}: built in {time.perf_counter() - start:.1f} s")
        for batch in options.batches:
            requests = [random_request(row, options.audio_s, options.reference_s) for row in range(batch)]
            took, cpu = seconds(partial(flow.mel, requests), device, options.repeats)
            frames = requests[0].frames()
            work = batch * multiply_adds(config, frames)
            print(
                f"  batch {batch}: {took:6.2f} s ({cpu:.1f} CPU s), {batch * options.audio_s / took:6.2f} audio s/s, "
                f"{work / 1e12:.2f} T multiply-adds at {2 * work / took / 1e9:.0f} GFLOP/s"
                f"{_ratio(REFERENCE_S[generation], batch, took, options)}"
            )
        mels[dtype] = flow.mel([random_request(0, options.audio_s, options.reference_s)])[0].float().cpu()
    exact = mels.pop(torch.float32, None)
    for dtype, mel in mels.items():
        if exact is not None:
            difference = (mel - exact).abs()
            print(
                f"  {dtype} against fp32: mean {difference.mean():.4f}, largest {difference.max():.3f} "
                f"(mel spread {exact.std():.2f})"
            )


def bench_vocoder(generation: int, options: argparse.Namespace) -> None:
    config, device = full_size_vocoder(generation), torch.device(options.device)
    with torch.device("meta"):
        shapes = HiftNet(config)
    vocoder = Vocoder.build(config, random_state(shapes, seed=generation), device)
    frames = round(50 * options.audio_s)
    for batch in options.batches:
        mels = [torch.randn(80, frames, generator=torch.Generator().manual_seed(row)) for row in range(batch)]
        took, cpu = seconds(partial(vocoder.waveform, mels, list(range(batch))), device, options.repeats)
        print(
            f"v{generation} vocoder, batch {batch}: {took:6.2f} s ({cpu:.1f} CPU s), "
            f"{batch * options.audio_s / took:6.2f} audio s/s, {2 * batch * frames * 0.3 / took:.0f} GFLOP/s"
            f"{_ratio(REFERENCE_VOCODER_S[generation], batch, took, options)}"
        )


def _ratio(reference_s: float, batch: int, took_s: float, options: argparse.Namespace) -> str:
    same = (options.audio_s, options.reference_s, options.threads) == (10.0, 3.0, 2)
    return f", {reference_s * batch / took_s:.2f} x reference" if same else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--audio-s", type=float, default=10.0)
    parser.add_argument("--reference-s", type=float, default=3.0)
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--generations", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for generation in options.generations:
        bench_flow(generation, [getattr(torch, name) for name in options.dtypes], options)
        bench_vocoder(generation, options)


if __name__ == "__main__":
    main()
