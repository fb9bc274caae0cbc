"""Reading the reference's small models: shared by the parity benchmarks and the tests.

Two kinds of folder hold them. The shared set has exact weights (`*.safetensors`). The set in tests/data is small enough
for a repository: large weights are rounded to half precision (`*_weights.npz`), so comparisons allow for that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

Row = tuple[str, float, float]
"""What was compared, the largest absolute difference, the tolerance."""


def load_state(data: Path, name: str) -> tuple[dict[str, torch.Tensor], bool]:
    """The weights of a small model such as `v2_flow`, fp32, and whether they are exact."""
    if (exact := data / f"{name}.safetensors").exists():
        return load_file(exact), True
    with np.load(data / f"{name}_weights.npz") as arrays:
        return {key: torch.from_numpy(arrays[key]).float() for key in arrays.files}, False


def distance(ours: torch.Tensor, reference: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> float:
    """Largest absolute difference; infinite if the shapes differ."""
    theirs = torch.from_numpy(reference)
    if ours.shape != theirs.shape:
        return float("inf")
    return float((ours.double() - theirs.double()).abs().max())


def show(rows: list[Row]) -> int:
    """Print the comparisons, return how many are out of tolerance."""
    failed = 0
    for what, difference, tolerance in rows:
        failed += not difference <= tolerance
        verdict = "ok  " if difference <= tolerance else "FAIL"
        print(f"{verdict} {what:44} {difference:.2e} (tolerance {tolerance:.0e})")
    return failed
