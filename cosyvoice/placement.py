"""Opens a device and proves that the engine is on it. A worker that computes on the CPU while its report says `npu:1`
is the fault that users of accelerators find last; here it ends the worker at its start."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

import torch

from cosyvoice.engine import DeviceFault, EngineError

PLUGINS = {"npu": "torch_npu", "mlu": "torch_mlu"}
"""Kinds of devices that come with a plug-in of their vendor, and its name."""
_LOST = re.compile(
    # Ascend's names and numbers for a device that must be restarted (torch_npu NPUException.cpp), CUDA's, ROCm's and
    # Cambricon's prefixes, and what torch itself calls such an error.
    r"507\d{3}|FORCE STOP|SUSPECT (?:MEM|REMOTE) ERROR|CUDA error|HIP error|CNRT error|cnrt|AcceleratorError"
    r"|device-side assert|device (?:is )?lost|ERR\d{5}",
    re.IGNORECASE,
)


def open_device(name: str) -> torch.device:
    """The device called `cpu`, `cuda:0`, `npu:0` …, made current, its plug-in imported.

    Raises EngineError if this process has no such device.
    """
    kind = name.partition(":")[0]
    if kind == "cpu":
        return torch.device("cpu")
    if kind in PLUGINS and not hasattr(torch, kind):
        try:
            importlib.import_module(PLUGINS[kind])
        except Exception as error:
            raise EngineError(f"{name} needs {PLUGINS[kind]}, which cannot be imported: {error}") from error
    there = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    count = torch.accelerator.device_count() if there is not None and there.type == kind else 0
    device = torch.device(name)
    if (device.index or 0) >= count:
        has = f"{count} of them" if count else f"{there.type} devices" if there is not None else "no accelerator"
        raise EngineError(f"this process cannot see {name}, it sees {has}; `cosyvoice-batch devices` tells why")
    torch.accelerator.set_device_index(device.index or 0)
    return torch.device(kind, device.index or 0)


def held_bytes(device: torch.device) -> int | None:
    """What this process's tensors hold on an accelerator; None for the CPU and where torch cannot say."""
    if device.type == "cpu":
        return None
    for module in (torch.accelerator, getattr(torch, device.type, None)):
        ask = getattr(module, "memory_allocated", None)
        if ask is not None:
            return int(ask(device.index))
    return None


class Placement:
    """Watches one device from before the model is loaded; `prove` is called after."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._before = held_bytes(device)

    def prove(self, tensors: Iterable[torch.Tensor]) -> str:
        """Check that the weights are on the device, that its memory grew by them, and that it computes as the CPU does.

        Returns what was checked, for the report. Raises DeviceFault with what is wrong.
        """
        weights = {(t.data_ptr(), t.numel()): t for t in tensors}.values()
        elsewhere = {str(t.device) for t in weights if t.device.type != self.device.type}
        if elsewhere:
            raise DeviceFault(f"weights of the model are on {', '.join(sorted(elsewhere))} instead of {self.device}")
        size = sum(t.numel() * t.element_size() for t in weights)
        held = held_bytes(self.device)
        if held is not None and self._before is not None and held - self._before < size:
            more = held - self._before
            raise DeviceFault(
                f"the model's {size} bytes of weights are loaded, the memory of {self.device} grew by {more} bytes: "
                "it is computed somewhere else"
            )
        self.require_computing()
        grown = f", {size / 2**20:.0f} MiB of weights on it" if held is not None else ""
        return f"computes on {self.device}{grown}"

    def require_computing(self) -> None:
        """A small product and a sine, on both sides. The product's numbers are exact in every number format.

        Raises DeviceFault where they come out differently than on the CPU.
        """
        x = torch.arange(64, dtype=torch.float32).reshape(8, 8) % 4
        try:
            there = x.to(self.device)
            y = there @ there
            wave = torch.sin(there)
            where = y.device.type
            product, sine = y.cpu(), wave.cpu()
        except (RuntimeError, TypeError) as error:
            raise DeviceFault(f"{self.device} cannot compute: {error}") from error
        if where != self.device.type:
            raise DeviceFault(f"a product of tensors on {self.device} came out on {where}")
        if not torch.equal(product, x @ x) or not torch.allclose(sine, torch.sin(x), atol=1e-2):
            raise DeviceFault(f"{self.device} computes other numbers than the CPU: it is broken or its driver is")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may help. The CPU's allocator raises a plain RuntimeError."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def is_device_lost(error: BaseException) -> bool:
    """Whether nothing more can be expected of the device in this process."""
    if isinstance(error, torch.OutOfMemoryError) or not isinstance(error, RuntimeError):
        return False
    named = getattr(torch, "AcceleratorError", None)  # since torch 2.8
    return (named is not None and isinstance(error, named)) or bool(_LOST.search(str(error)))
