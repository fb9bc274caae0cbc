"""A stand-in for torch on a machine with NVIDIA GPUs, just wide enough for the probe: the real one cannot be made to
see GPUs that are not there. NVIDIA_MACHINE describes them, as for the `nvidia-smi` beside it. Like CUDA it shows one
MIG slice at most, and no whole GPU beside it unless it is asked for by UUID."""

from __future__ import annotations

import json
import os
import types
from typing import Any

__version__ = "2.14.1+cu130"
version = types.SimpleNamespace(cuda="13.0", hip=None)
float32, bfloat16, float16 = "float32", "bfloat16", "float16"


def _seen() -> list[dict[str, Any]]:
    gpus = json.loads(os.environ["NVIDIA_MACHINE"])
    slices = [part for gpu in gpus for part in gpu.get("slices", [])]
    whole = [gpu for gpu in gpus if "slices" not in gpu]
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        names = [name for name in listed.split(",") if name]
        named = [x for name in names for x in (*slices, *whole) if x["uuid"] == name]
        numbered = [gpus[int(name)] for name in names if name.isdigit() and "slices" not in gpus[int(name)]]
        return (named or numbered)[: 1 if any(x in slices for x in named) else None]
    return slices[:1] or whole


_SEEN = _seen()
accelerator = types.SimpleNamespace(
    is_available=lambda: bool(_SEEN),
    device_count=lambda: len(_SEEN),
    current_accelerator=lambda: types.SimpleNamespace(type="cuda"),
    get_memory_info=lambda index: (_SEEN[index]["total"] - _SEEN[index].get("used", 0), _SEEN[index]["total"]),
)
cuda = types.SimpleNamespace(
    get_device_name=lambda index: _SEEN[index]["title"], is_bf16_supported=lambda: not _SEEN[0].get("old", False)
)


class ones:
    """A matrix of ones; the product of two is 8 everywhere."""

    def __init__(self, shape: tuple[int, int], dtype: str, device: str) -> None:
        if device.startswith("cuda") and _SEEN[int(device[5:])].get("broken"):
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")

    def __matmul__(self, other: object) -> ones:
        return self

    def float(self) -> ones:
        return self

    def sum(self) -> ones:
        return self

    def item(self) -> float:
        return 512.0
