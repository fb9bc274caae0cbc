"""Our vocoder against the reference's numbers, on small random models of both generations.

    python benchmarks/parity_vocoder.py FOLDER

FOLDER holds the weights (see parity_data.py), v2_hift.json, v2_hift_T*.npz, the same for v3, v3_hift_buffers.npz and
its json. Cases of unfinished streams are left out: this engine speaks whole utterances.
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
from cosyvoice.config import VocoderConfig
from cosyvoice.vocoder import Vocoder
from cosyvoice.vocoder_source import FixedNoise

_CASE = re.compile(r"v[23]_hift_T\d+$")
# By generation. With weights rounded to half precision the pitch moves too much to compare the chain of all parts.
_F0, _SOURCE, _WAV = {2: 2e-3, 3: 1e-6}, {2: 5e-3, 3: 2e-3}, {2: 3e-3, 3: 2e-3}
_DECODE = 1e-5
_F0_ROUNDED, _DECODE_ROUNDED = 0.5, 2e-3


def check(data: Path) -> list[tuple[str, float, float]]:
    """(what, largest absolute difference, tolerance) for every case in the folder."""
    rows = list(_check_fixed_noise(data))
    for generation in (2, 3):
        vocoder = load_vocoder(data, generation)
        for path in sorted(data.glob(f"v{generation}_hift_T*.npz")):
            if _CASE.match(path.stem):
                rows += _check_case(vocoder, data, path)
    return rows


def load_vocoder(data: Path, generation: int) -> Vocoder:
    """The small random vocoder of a generation."""
    state, _ = load_state(data, f"v{generation}_hift")
    generator = small_noise_generator(data) if generation == 3 else None
    return Vocoder.build(read_small_config(data, generation), state, torch.device("cpu"), generator)


def small_noise_generator(data: Path) -> torch.Generator:
    """Where the reference's generator stood before it drew the noise of its small vocoder."""
    recipe = json.loads((data / "v3_hift_buffers.json").read_text())
    generator = torch.Generator().manual_seed(recipe["torch_manual_seed_before_construction"])
    phases = torch.tensor(recipe["rand_ini"][1:])
    drawn = torch.empty(1_000_000).uniform_(generator=generator)
    starts = (drawn.unfold(0, len(phases), 1) - phases).abs().amax(1) < 1e-7
    (place,) = starts.nonzero().flatten().tolist()
    generator = generator.manual_seed(recipe["torch_manual_seed_before_construction"])
    torch.empty(place + len(phases)).uniform_(generator=generator)
    return generator


def read_small_config(data: Path, generation: int) -> VocoderConfig:
    """The settings of a small model; its file is flatter than an official yaml."""
    raw = json.loads((data / f"v{generation}_hift.json").read_text())
    return VocoderConfig(
        generation=2 if generation == 2 else 3,
        mel_channels=raw["in_channels"],
        base_channels=raw["base_channels"],
        harmonics=raw["nb_harmonics"],
        sample_rate_hz=raw["sampling_rate"],
        source_amplitude=raw["nsf_alpha"],
        source_noise=raw["nsf_sigma"],
        voiced_threshold_hz=raw["nsf_voiced_threshold"],
        upsample_rates=tuple(raw["upsample_rates"]),
        upsample_kernels=tuple(raw["upsample_kernel_sizes"]),
        n_fft=raw["istft_params"]["n_fft"],
        hop=raw["istft_params"]["hop_len"],
        block_kernels=tuple(raw["resblock_kernel_sizes"]),
        block_dilations=tuple(map(tuple, raw["resblock_dilation_sizes"])),
        source_block_kernels=tuple(raw["source_resblock_kernel_sizes"]),
        source_block_dilations=tuple(map(tuple, raw["source_resblock_dilation_sizes"])),
        leaky_slope=raw["lrelu_slope"],
        audio_limit=raw["audio_limit"],
        f0_channels=raw["cond_channels"],
        lookahead_frames=raw.get("conv_pre_look_right"),
    )


def _check_fixed_noise(data: Path) -> Iterator[Row]:
    """Of the small vocoder against its buffer; of the official construction against the published first values."""
    source = load_vocoder(data, 3).net.m_source
    wanted = torch.from_numpy(np.load(data / "v3_hift_buffers.npz")["sine_noise"][0])
    ours = FixedNoise(source, small_noise_generator(data)).first(len(wanted))
    yield "v3 small fixed noise, merged", float((ours - source.merge(wanted)).abs().max()), 1e-6
    full = data / "v3_fullsize_random_buffers.json"
    full = full if full.exists() else data.parent / "keys" / full.name
    recipe = json.loads(full.read_text())["sine_noise"]
    for place, key in ((0, "first32"), (4_320_000, "at_index_4320000")):
        numbers = torch.tensor(recipe[key])
        rows = len(numbers) // 9
        ours = FixedNoise(source).first(place // 9 + rows)[-rows:]
        wanted = source.merge(numbers[: rows * 9].reshape(rows, 9))
        yield f"v3 official fixed noise at {place}, merged", float((ours - wanted).abs().max()), 1e-6


@torch.inference_mode()
def _check_case(vocoder: Vocoder, data: Path, path: Path) -> Iterator[Row]:
    case, name, generation = np.load(path), path.stem, vocoder.config.generation
    exact = load_state(data, f"v{generation}_hift")[1]
    mel = torch.from_numpy(case["mel"])
    lengths = [mel.shape[2]]
    f0, wanted_f0 = vocoder.net.f0_predictor(mel, None), case["f0" if generation == 2 else "f0_f64"]
    yield f"{name} f0", distance(f0, wanted_f0), _F0[generation] if exact else _F0_ROUNDED
    if "source" in case:
        excitation = vocoder.net.m_source(torch.from_numpy(wanted_f0).float(), _noise(vocoder, data, path), None)
        yield f"{name} source", distance(excitation, case["source"][0]), _SOURCE[generation]
    if "decode_wav" in case:
        decoded = vocoder.decode(mel, torch.from_numpy(case["decode_source"][0]), lengths)
        yield f"{name} decode", distance(decoded, case["decode_wav"]), _DECODE if exact else _DECODE_ROUNDED
    if "wav" in case and exact:
        excitation = vocoder.net.m_source(f0.float(), _noise(vocoder, data, path), None)
        yield f"{name} wav", distance(vocoder.decode(mel, excitation, lengths), case["wav"]), _WAV[generation]
        if generation == 3:
            yield f"{name} whole", distance(vocoder.waveform([mel[0]], [0])[0], case["wav"][0]), _WAV[3]


def _noise(vocoder: Vocoder, data: Path, path: Path) -> torch.Tensor:
    """The reference's noise of a case, merged over the harmonics."""
    case = np.load(path)
    if vocoder.config.generation == 2:
        noise = case["sine_noise"]
    else:
        noise = np.load(data / "v3_hift_buffers.npz")["sine_noise"][:, : vocoder.net.hop_samples * case["mel"].shape[2]]
    return vocoder.net.m_source.merge(torch.from_numpy(noise))


if __name__ == "__main__":
    sys.exit(1 if show(check(Path(sys.argv[1]))) else 0)
