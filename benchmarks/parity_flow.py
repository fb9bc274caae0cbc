"""Our flow against the reference's numbers, on small random models of both generations.

    python benchmarks/parity_flow.py FOLDER

FOLDER holds the weights (see parity_data.py), v2_flow.json, v2_flow_prompts.npz, v2_flow_n*_p*.npz, the same for v3,
flow_noise.npz and speed.npz. Every comparison runs in fp32. Chunk-wise attention (`_stream` cases) is not implemented.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.parity_data import Row, distance, load_state, show
from cosyvoice.config import DitConfig, EncoderConfig, FlowConfig, UnetConfig
from cosyvoice.flow import Flow, FlowRequest, change_speed, euler_times, fixed_noise, guidance_pair
from cosyvoice.flow_attention import Frames

_CASE = re.compile(r"v(?P<generation>[23])_flow_n(?P<tokens>\d+)_p(?P<prompt>\d+)(?P<nofinal>_nofinal)?$")
_EXACT = 1e-6
# With exact weights, then with large weights rounded to half precision.
_MEL, _HIDDEN, _ESTIMATE = (1e-4, 6e-3), (5e-5, 6e-3), (5e-5, 6e-3)


def check(data: Path) -> list[tuple[str, float, float]]:
    """(what, largest absolute difference, tolerance) for every case in the folder."""
    rows = list(_check_fixed_parts(data))
    for generation in (2, 3):
        flow = load_flow(data, generation)
        rounded = not load_state(data, f"v{generation}_flow")[1]
        for path in sorted(data.glob(f"v{generation}_flow_n*_p*.npz")):
            if _CASE.match(path.stem):
                rows += _check_case(flow, data, path, rounded)
    return rows


def load_flow(data: Path, generation: int, dtype: torch.dtype = torch.float32, *, int8: bool = False) -> Flow:
    """The small random flow of a generation."""
    state, _ = load_state(data, f"v{generation}_flow")
    return Flow.build(read_small_config(data, generation), state, torch.device("cpu"), dtype, int8=int8)


def load_request(data: Path, path: Path) -> FlowRequest:
    """The request that a case file was made from."""
    case = _CASE.match(path.stem)
    assert case is not None
    prompts = np.load(data / f"v{case['generation']}_flow_prompts.npz")
    name = f"prompt{case['prompt']}"
    return FlowRequest(
        tokens=torch.from_numpy(np.load(path)["token"]),
        prompt_tokens=torch.from_numpy(prompts[f"{name}_token"]),
        prompt_mel=torch.from_numpy(prompts[f"{name}_feat"][0]),
        embedding=torch.from_numpy(prompts[f"{name}_embedding"][0]),
        final=case["nofinal"] is None,
    )


def read_small_config(data: Path, generation: int) -> FlowConfig:
    """The settings of a small model; its file is flatter than an official yaml."""
    raw = json.loads((data / f"v{generation}_flow.json").read_text())
    net = raw["estimator"]
    estimator: UnetConfig | DitConfig
    encoder = None
    if generation == 2:
        part = raw["encoder"]
        encoder = EncoderConfig(
            width=part["output_size"],
            heads=part["attention_heads"],
            feed_forward=part["linear_units"],
            blocks=part["num_blocks"],
            up_blocks=part["num_up_blocks"],
            up_stride=part["up_layer_stride"],
        )
        estimator = UnetConfig(
            in_channels=net["in_channels"],
            out_channels=net["out_channels"],
            channels=tuple(net["channels"]),
            head_width=net["attention_head_dim"],
            blocks=net["n_blocks"],
            mid_blocks=net["num_mid_blocks"],
            heads=net["num_heads"],
        )
    else:
        estimator = DitConfig(
            width=net["dim"],
            depth=net["depth"],
            heads=net["heads"],
            head_width=net["dim_head"],
            feed_forward_factor=net["ff_mult"],
            mel_channels=net["mel_dim"],
            mu_channels=net["mu_dim"],
            speaker_channels=net["spk_dim"],
            out_channels=net["out_channels"],
            lookahead_channels=raw["pre_lookahead_layer"]["channels"],
        )
    return FlowConfig(
        generation=2 if generation == 2 else 3,
        token_width=raw["input_size"],
        mel_channels=raw["output_size"],
        speaker_width=raw["spk_embed_dim"],
        speech_vocabulary=raw["vocab_size"],
        frames_per_token=raw["token_mel_ratio"],
        lookahead_tokens=raw["pre_lookahead_len"],
        guidance=raw["cfm_params"]["inference_cfg_rate"],
        encoder=encoder,
        estimator=estimator,
        steps=raw["n_timesteps"],
    )


def _check_fixed_parts(data: Path) -> Iterator[Row]:
    noise = np.load(data / "flow_noise.npz")["noise"][0]
    yield "flow noise", distance(fixed_noise(80)[: noise.shape[1]].t(), noise), _EXACT
    with np.load(data / "speed.npz") as speeds:
        for name in speeds.files:
            if "_speed" in name:
                source, speed = name.split("_speed")
                ours = change_speed(torch.from_numpy(speeds[source][0]), float(speed))
                yield f"speed {name}", distance(ours, speeds[name][0]), 1e-5


@torch.inference_mode()
def _check_case(flow: Flow, data: Path, path: Path, rounded: bool) -> Iterator[Row]:
    case, request, name = np.load(path), load_request(data, path), path.stem
    yield f"{name} times", distance(torch.tensor(euler_times(10)[0]), case["t_at_steps"]), _EXACT
    speakers = flow.speakers(request.embedding[None])
    yield f"{name} speaker", distance(speakers, case["spks"]), _HIDDEN[rounded]
    ids = torch.cat([request.prompt_tokens, request.tokens])[None]
    hidden = flow.front.hidden(ids, Frames.of([ids.shape[1]], flow.device), request.final)
    if "h" in case:
        yield f"{name} hidden", distance(hidden, case["h"]), _HIDDEN[rounded]
    mu, frames = flow.encode([request])
    reference = torch.zeros_like(mu)
    reference[0, : len(request.prompt_mel)] = request.prompt_mel
    inputs = guidance_pair(flow.estimator.arrange(mu, speakers, reference))
    for call in (0, 5):
        if f"est{call}_out" in case:
            # The first call starts from the fixed noise; later states are in the file.
            state = case[f"est{call}_x"] if f"est{call}_x" in case else fixed_noise(80).t()[None].numpy()
            inputs[..., :80] = torch.from_numpy(state[:1, :, : mu.shape[1]]).transpose(1, 2)
            estimate = flow.estimator(inputs, call, frames.twice())
            yield (
                f"{name} estimate {call}",
                distance(estimate.transpose(1, 2), case[f"est{call}_out"]),
                _ESTIMATE[rounded],
            )
    yield f"{name} mel", distance(flow.mel([request])[0], case["mel"][0]), _MEL[rounded]


if __name__ == "__main__":
    sys.exit(1 if show(check(Path(sys.argv[1]))) else 0)
