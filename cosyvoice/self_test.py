"""What each stage makes of a small fixed input, and whether two devices make the same of it.

A stage is run as in the work: the language model prefills two prompts together and decodes a few given ids, the flow
and the vocoder take two utterances of different lengths in one padded batch. What would turn a rounding error into
another sound is given: the speech ids that are fed back, and the pitch. Drawing ids is held against the CPU's draws
from the CPU's scores.

The measure is ||found - expected|| / ||expected||, the expected numbers taken about their mean where that says nothing
(log-probabilities, mel). Measured on the CPU against fp32, CosyVoice 3 / 2, full size, random weights:

    language model, scores     bf16 1.1 % / 1.1 %    fp16 0.1 % / 0.1 %
    flow, mel                  bf16 0.5 % / 0.7 %    fp16 0.1 % / 0.1 %
    vocoder, waveform          products with ten-bit mantissas, as TF32: 6.2 % / 1.7 %; pitch 0.3 % / 0.1 %

Trained weights have larger outliers and so larger errors, hence the distance to the tolerances. Faults at the tiny
size, fp32: an activation 1.5 times too large everywhere 27 % or more, the rows of one weight matrix shifted 54 % or
more, one matrix of one layer in three 1.5 times too large 16 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cosyvoice.config import FlowConfig, LmConfig
from cosyvoice.flow import Flow, FlowRequest, fixed_noise
from cosyvoice.lm_network import LmNetwork, round_up
from cosyvoice.lm_request import LmRequest
from cosyvoice.packed import MIN_ROWS
from cosyvoice.sampling import draw, hold_back_stops, uniform_stream
from cosyvoice.vocoder import Vocoder
from cosyvoice.vocoder_net import end_mask

VERSION = 1
"""Another input, another measure: results of an older version are not used."""
TOLERANCES = {torch.float32: 0.05, torch.float16: 0.05, torch.bfloat16: 0.1}
"""Largest error of language model and flow in this format. fp32 leaves room for what devices call fp32 and is not: TF32
on NVIDIA and HF32 on Ascend multiply with ten bits, as fp16 does."""
VOCODER_TOLERANCES = {torch.float32: 0.2}
"""The vocoder's, whose magnitudes are exponentials of what it computes."""
TEXT_IDS = 1024
"""Only ids below are used, so that a reference may leave out the rest of the text embedding."""

Numbers = Mapping[str, Tensor]
"""Results by name, on the CPU."""

_CENTRED = ("scores", "mel")
_DECODED = 6
_SEEDS_TRIED = 64


def fault_of(expected: Numbers, found: Numbers, tolerance: float) -> tuple[float, str]:
    """The largest error of all results, and what is wrong with them, to stand after a stage's name; empty if nothing.

    What is in `expected` alone is input of the test.
    """
    worst = 0.0
    for name, tensor in found.items():
        wanted = expected[name]
        if tensor.shape != wanted.shape:
            return float("inf"), f"gives {name} of shape {list(tensor.shape)} instead of {list(wanted.shape)}"
        if not tensor.is_floating_point():
            if not torch.equal(tensor, wanted):
                return float("inf"), "draws other speech ids than the CPU from the same scores"
            continue
        if not bool(torch.isfinite(tensor).all()):
            return float("inf"), f"gives numbers that are not finite ({name})"
        worst = max(worst, _error(name, wanted, tensor))
    if worst > tolerance:
        return worst, f"gives other numbers than the CPU: {worst:.0%} off, where rounding accounts for {tolerance:.0%}"
    return worst, ""


def _error(name: str, expected: Tensor, found: Tensor) -> float:
    about = expected.mean() if name.startswith(_CENTRED) else 0.0
    return float((found - expected).norm() / (expected - about).norm().clamp(min=1e-12))


# -- the speech language model ---------------------------------------------------------------------------------------


@torch.inference_mode()
def lm_numbers(network: LmNetwork, given: Numbers | None = None) -> dict[str, Tensor]:
    """Log-probabilities [1 + S, 2, V] after the prompts and after each of S given ids, and ids drawn from `given`'s."""
    config, device = network.config, network.device
    requests, fed = _prompts(config)
    lengths = [request.positions for request in requests]
    columns = round_up(max(lengths) + _DECODED, network.precision.kv_bucket)
    cache = network.new_cache(MIN_ROWS, columns)
    network.qwen.reserve(columns)
    scores = [network.prefill(requests, [0, 1], cache)]
    rows = torch.arange(MIN_ROWS, device=device)
    idle = [0] * (MIN_ROWS - len(requests))
    for step in range(_DECODED):
        ids = torch.tensor([*fed[step].tolist(), *idle], device=device)
        positions = torch.tensor([*(length + step for length in lengths), *idle], device=device)
        scores.append(network.decode(ids, positions, rows, cache, columns)[: len(requests)])
    found = {"scores": torch.stack(scores).cpu().log_softmax(-1)}
    if given is None:
        found["uniforms"], found["draws"] = _steady_draws(found["scores"].flatten(0, 1), config)
    else:
        found["draws"] = _draws(given["scores"].flatten(0, 1).to(device), given["uniforms"].to(device), config).cpu()
    return found


def _prompts(config: LmConfig) -> tuple[list[LmRequest], Tensor]:
    """Two prompts of different make and length, and the speech ids [S, 2] that are fed after them."""
    generator = torch.Generator().manual_seed(1)
    text = torch.randint(0, min(TEXT_IDS, config.qwen.text_vocabulary), (18,), generator=generator).tolist()
    speech = torch.randint(0, config.speech_vocabulary, (8 + 2 * _DECODED,), generator=generator)
    requests = [
        LmRequest("short", tuple(text[:6])),
        LmRequest("long", tuple(text[6:14]), tuple(text[14:]), tuple(speech[:8].tolist())),
    ]
    return requests, speech[8:].view(_DECODED, 2)


def _draws(scores: Tensor, uniforms: Tensor, config: LmConfig) -> Tensor:
    """One id for each row of scores [R, V]; every second row has its best id behind it, or is kept from stopping."""
    recent = torch.full((len(scores), config.sampling.window), -1, dtype=torch.int64, device=scores.device)
    recent[::2] = scores[::2].argmax(-1)[:, None]
    held_back = torch.arange(len(scores), device=scores.device) % 2 == 1
    return draw(hold_back_stops(scores, config.speech_vocabulary, held_back), recent, uniforms, config.sampling)


def _steady_draws(scores: Tensor, config: LmConfig) -> tuple[Tensor, Tensor]:
    """Uniform numbers [R, 2] whose draws no rounding changes, and these draws [R]."""
    generator = torch.Generator().manual_seed(2)
    blurred = [scores + 1e-4 * torch.randn(scores.shape, generator=generator) for _ in range(3)]
    best, ids, open_rows = (
        torch.zeros(len(scores), 2),
        torch.zeros(len(scores), dtype=torch.int64),
        set(range(len(scores))),
    )
    for seed in range(_SEEDS_TRIED):
        uniforms = uniform_stream(seed, len(scores)).clamp(1e-3, 1 - 1e-3)
        drawn = _draws(scores, uniforms, config)
        others = [_draws(blur, uniforms + shift, config) for blur, shift in zip(blurred, (-5e-4, 0, 5e-4), strict=True)]
        steady = torch.stack([other == drawn for other in others]).all(0)
        for row in [row for row in open_rows if steady[row]]:
            best[row], ids[row] = uniforms[row], drawn[row]
            open_rows.discard(row)
    return best, ids


# -- the flow --------------------------------------------------------------------------------------------------------


def flow_numbers(flow: Flow) -> dict[str, Tensor]:
    """How far two utterances' mels [80, M] went from the start noise: one after a reference, a shorter one without.

    The noise is the same everywhere; left in, it would hide what the network does where that is little.
    """
    requests = _flow_requests(flow.config)
    noise = fixed_noise(flow.config.mel_channels).t()
    found = {}
    for number, (request, mel) in enumerate(zip(requests, flow.mel(requests), strict=True), start=1):
        first = len(request.prompt_mel)
        found[f"mel {number}"] = mel.float().cpu() - noise[:, first : first + mel.shape[1]]
    return found


def _flow_requests(config: FlowConfig) -> list[FlowRequest]:
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(0, config.speech_vocabulary, (15,), generator=generator)
    reference = _mel(3 * config.frames_per_token, config.mel_channels).t()
    speaker = torch.randn(config.speaker_width, generator=generator)
    none = torch.zeros(0, dtype=torch.int64)
    return [
        FlowRequest(ids[:7], ids[7:10], reference, speaker),
        FlowRequest(ids[10:], none, torch.zeros(0, config.mel_channels), -speaker),
    ]


def _mel(frames: int, channels: int) -> Tensor:
    """Something like the log-mel [channels, M] of a voiced sound: louder below, ripples of harmonics, a slow swell."""
    band, time = torch.arange(channels)[:, None], torch.arange(frames)[None]
    return -3.0 - 4.0 * band / channels + 1.5 * torch.cos(0.9 * band + 0.2 * time) + torch.sin(0.3 * time)


# -- the vocoder -----------------------------------------------------------------------------------------------------


@torch.inference_mode()
def vocoder_numbers(vocoder: Vocoder) -> dict[str, Tensor]:
    """Pitch [M] of two mels, and excitation and waveform [N] that a given pitch and given noise make of them.

    The pitch that was found is not used: where it decides between voiced and unvoiced, a rounding error would become
    another sound.
    """
    channels = vocoder.config.mel_channels
    mels = [_mel(16, channels), _mel(9, channels) + 0.5]
    if vocoder.device.type == "cpu":  # one by one, as in the work
        batches = [_sounded(vocoder, [mel], [number]) for number, mel in enumerate(mels, start=1)]
        return {name: tensor for batch in batches for name, tensor in batch.items()}
    return _sounded(vocoder, mels, [1, 2])


def _sounded(vocoder: Vocoder, mels: Sequence[Tensor], numbers: Sequence[int]) -> dict[str, Tensor]:
    lengths, source = [mel.shape[1] for mel in mels], vocoder.net.m_source
    samples = [length * vocoder.net.hop_samples for length in lengths]
    mel = _padded([mel.t() for mel in mels]).transpose(1, 2).to(vocoder.device)
    pitch = vocoder.f0(mel, lengths)
    noise = _padded([source.normal_noise(count, number) for count, number in zip(samples, numbers, strict=True)])
    glide = _padded([_glide(length) for length in lengths]).to(vocoder.device)
    excitation = source(glide, noise, end_mask(lengths, vocoder.device))
    wave = vocoder.decode(mel, excitation, lengths)
    found = {}
    for row, number in enumerate(numbers):
        found[f"pitch {number}"] = pitch[row, : lengths[row]].cpu()
        found[f"excitation {number}"] = excitation[row, : samples[row]].cpu()
        found[f"waveform {number}"] = wave[row, : samples[row]].cpu()
    return found


def _glide(frames: int) -> Tensor:
    """A rising pitch [M] in Hz that begins unvoiced."""
    hz = 110.0 + 7.0 * torch.arange(frames)
    hz[:3] = 0.0
    return hz


def _padded(rows: Sequence[Tensor]) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
