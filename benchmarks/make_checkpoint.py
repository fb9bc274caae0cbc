"""Make a random checkpoint in the official layout: what the engine can be run on where the real weights are not.

    python benchmarks/make_checkpoint.py FOLDER [--generation 2|3] [--size tiny|full] [--seed 0]

It speaks noise, through every file and tensor that the official folder has. `full` takes 3 to 4 GB of disk.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.model_parts import (
    Size,
    settings_yaml,
    speaker_encoder_onnx,
    speech_tokenizer_onnx,
    write_text_folder,
)
from cosyvoice.flow import FlowNet
from cosyvoice.lm_network import lm_tensor_shapes
from cosyvoice.model_folder import Generation, find_files
from cosyvoice.read_config import read_config
from cosyvoice.vocoder_net import HiftNet

# Tables of embeddings, and the one layer whose input is a vector of length 1 in all. The layers that embed the time or
# the flow's input are ordinary ones: at this scale CosyVoice 3's residual would reach 130 000, past fp16's range.
_UNIT_SCALE = (
    "embed_tokens.weight",
    "speech_embedding.weight",
    "llm_embedding.weight",
    "input_embedding.weight",
    "spk_embed_affine_layer.weight",
)


def make_checkpoint(folder: Path, generation: Generation, size: Size, seed: int = 0) -> Path:
    """Write a whole model folder; the same arguments give the same numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"cosyvoice{generation}.yaml").write_text(settings_yaml(generation, size), encoding="utf-8")
    write_text_folder(folder / "CosyVoice-BlankEN", size)
    for name in ("llm.pt", "flow.pt", "hift.pt", f"speech_tokenizer_v{generation}.onnx", "campplus.onnx"):
        (folder / name).write_bytes(b"placeholder")
    config = read_config(find_files(folder))
    (folder / "campplus.onnx").write_bytes(speaker_encoder_onnx())
    (folder / f"speech_tokenizer_v{generation}.onnx").write_bytes(speech_tokenizer_onnx(config.lm.speech_vocabulary))
    generator = torch.Generator().manual_seed(seed)
    torch.save(_lm_state(lm_tensor_shapes(config.lm), generator), folder / "llm.pt")
    with torch.device("meta"):
        flow, vocoder = FlowNet(config.flow), HiftNet(config.vocoder)
    torch.save(_random_state(flow, generator), folder / "flow.pt")
    torch.save(_weight_normed(_random_state(vocoder, generator)), folder / "hift.pt")
    return folder


def _lm_state(shapes: dict[str, tuple[int, ...]], generator: torch.Generator) -> dict[str, Tensor]:
    state = {name: _random(name, shape, generator) for name, shape in shapes.items()}
    # The tied head, which official files hold beside the embedding it shares its memory with.
    return {**state, "llm.model.lm_head.weight": state["llm.model.model.embed_tokens.weight"]}


def _random_state(module: nn.Module, generator: torch.Generator) -> dict[str, Tensor]:
    return {name: _random(name, tuple(tensor.shape), generator) for name, tensor in module.state_dict().items()}


def _random(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Numbers of a size that keeps activations near 1: fan-in scaled weights, norms at 1, small biases."""
    if name.endswith("inv_freq"):
        return 1.0 / (10_000.0 ** (torch.arange(shape[0]) / shape[0]))
    if len(shape) == 1:
        base = 1.0 if name.endswith(("norm.weight", "alpha")) or ("norm" in name and name.endswith("weight")) else 0.0
        return base + 0.02 * torch.randn(shape, generator=generator)
    fan_in = 1
    for extent in shape[1:]:
        fan_in *= extent
    scale = 1.0 if name.endswith(_UNIT_SCALE) else fan_in**-0.5
    return torch.randn(shape, generator=generator) * scale


def _weight_normed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convolutions as hift.pt spells them: length and direction apart."""
    spelled: dict[str, Tensor] = {}
    for name, tensor in state.items():
        stem = name.removesuffix(".weight")
        if tensor.dim() < 3 or stem == name or "source" in stem.split(".")[0]:
            spelled[name] = tensor
            continue
        norm = tensor.flatten(1).norm(dim=1).reshape(-1, *[1] * (tensor.dim() - 1))
        spelled[f"{stem}.parametrizations.weight.original0"] = norm
        spelled[f"{stem}.parametrizations.weight.original1"] = tensor
    return spelled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--generation", type=int, choices=(2, 3), default=3)
    parser.add_argument("--size", choices=("tiny", "full"), default="tiny")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(make_checkpoint(arguments.folder, arguments.generation, arguments.size, arguments.seed))


if __name__ == "__main__":
    main()
