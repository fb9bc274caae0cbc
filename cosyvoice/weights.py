"""Reading checkpoints: files to named tensors, weight norm folded away, and a strict hand-over to a module.

Nothing here unpickles code: `.pt` files are read with `weights_only=True`, `.safetensors` holds none.
"""

from __future__ import annotations

import logging
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.engine import ModelMissing

if TYPE_CHECKING:
    from torch import Tensor, nn

log = logging.getLogger(__name__)

_NAMES_SHOWN = 8
_GIT_LFS_POINTER = b"version https://git-lfs"
_FOREIGN_OBJECT = re.compile(r"\bGLOBAL:? ([\w.]+)")
# Both spellings of a weight-normed tensor: (suffix of the length g, suffix of the direction v).
_WEIGHT_NORM_SUFFIXES = (
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
    (".weight_g", ".weight_v"),
)


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    """Read every tensor of a `.pt` or `.safetensors` file, memory-mapped where the format allows it.

    A `generator.` anywhere in a name is removed (checkpoints of GAN training carry it). The counters `epoch` and
    `step` that training leaves beside the tensors are dropped.
    Raises ModelMissing if the file is absent, empty, a Git LFS pointer, a web page, cut off, no checkpoint at all or
    one that holds more than weights.
    """
    _refuse_half_downloaded(path)
    state = _read_safetensors(path) if path.suffix == ".safetensors" else _read_pickle(path)
    return {name.replace("generator.", ""): tensor for name, tensor in state.items()}


def fold_weight_norm(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Replace each pair of weight-norm tensors by the plain weight g * v / |v|, all other tensors unchanged.

    The norm runs over all axes but the first, also for transposed convolutions (where the first axis is the input).
    """
    folded = dict(state)
    for length_suffix, direction_suffix in _WEIGHT_NORM_SUFFIXES:
        for name in [name for name in folded if name.endswith(length_suffix)]:
            stem = name.removesuffix(length_suffix)
            if stem + direction_suffix not in folded:
                raise ModelMissing(f"{name} has no partner {stem + direction_suffix}; download the checkpoint again.")
            length, direction = folded.pop(name), folded.pop(stem + direction_suffix)
            axes = tuple(range(1, direction.dim()))
            folded[f"{stem}.weight"] = direction * (length / direction.norm(p=2, dim=axes, keepdim=True))
    return folded


def check_tensors(state: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], name: str) -> None:
    """Hold the names and shapes of `state` against those wanted. `name` says which checkpoint it is, for the message.

    Raises ModelMissing that names what is missing, surplus or misshapen.
    """
    wrong = [
        f"{key} is {_shape(state[key].shape)}, expected {_shape(shapes[key])}"
        for key in shapes
        if key in state and tuple(state[key].shape) != shapes[key]
    ]
    complaints = [
        f"{len(names)} {kind}: {_some(names)}"
        for kind, names in (
            ("missing", [key for key in shapes if key not in state]),
            ("surplus", [key for key in state if key not in shapes]),
            ("of another shape", wrong),
        )
        if names
    ]
    if complaints:
        raise ModelMissing(
            f"{name} does not fit the model: tensors {'; '.join(complaints)}. "
            "The folder mixes files of different models, or the download is damaged."
        )


def load_strict(module: nn.Module, state: Mapping[str, Tensor], name: str) -> None:
    """Give `module` exactly the tensors of `state`: none missing, none surplus, every shape as built.

    The module takes the tensors themselves (it may have been built on the meta device), so no second copy is made and
    memory-mapped tensors stay mapped; convert dtype and device afterwards. Raises ModelMissing, see check_tensors.
    """
    check_tensors(state, {key: tuple(tensor.shape) for key, tensor in module.state_dict().items()}, name)
    module.load_state_dict(dict(state), strict=True, assign=True)


def _refuse_half_downloaded(path: Path) -> None:
    if not path.is_file():
        raise ModelMissing(f"{path} does not exist.")
    with path.open("rb") as file:
        head = file.read(len(_GIT_LFS_POINTER))
    if head.lstrip().startswith(b"<"):
        raise ModelMissing(f"{path} is a web page, perhaps a failed download. Download it again.")
    if not head:
        raise ModelMissing(f"{path} is empty: the download did not finish. Download it again.")
    if head == _GIT_LFS_POINTER:
        raise ModelMissing(f"{path} is a Git LFS pointer, not the file itself. Run `git lfs pull` in that folder.")


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise ModelMissing(f"{path} cannot be read ({error}): download it again.") from error


def _read_pickle(path: Path) -> dict[str, Tensor]:
    import torch

    # Files of torch older than 1.6 are no zip archives and cannot be mapped; a cut-off archive is no archive either.
    mapped = zipfile.is_zipfile(path)
    try:
        with warnings.catch_warnings():
            # Of the pickle protocol, which torch wants to be told of; it means nothing to who runs this.
            warnings.simplefilter("ignore", UserWarning)
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise ModelMissing(f"{path} {_no_weights(str(error))}") from error
    except (RuntimeError, EOFError, ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelMissing(f"{path} is cut off or no checkpoint ({reason}): download it again.") from error
    if not isinstance(content, Mapping):
        raise ModelMissing(f"{path} holds a {type(content).__name__}, expected named tensors.")
    foreign = {name: value for name, value in content.items() if not isinstance(value, torch.Tensor)}
    if foreign.keys() - {"epoch", "step"}:
        raise ModelMissing(f"{path} holds entries that are no tensors: {_some([str(name) for name in foreign])}.")
    if foreign:
        log.info("%s: training counters ignored: %s", path.name, ", ".join(sorted(foreign)))
    return {name: value for name, value in content.items() if name not in foreign}


def _no_weights(words: str) -> str:
    """What torch found, without its advice to load the file with code and all."""
    if found := _FOREIGN_OBJECT.search(words):
        return (
            f"holds {found[1]}, which is no weight and may be code; nothing of it was run. Do not trust this file,"
            " download the published one."
        )
    return "is no checkpoint, or holds more than weights; nothing of it was run. Download it again."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "a scalar"
