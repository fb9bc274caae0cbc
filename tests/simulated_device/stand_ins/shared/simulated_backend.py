"""Turns the simulated device into `torch.npu` or `torch.mlu`, as a vendor's plug-in does when it is imported."""

from __future__ import annotations

import json
import os
import types
from typing import Any

import torch

VISIBLE = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "mlu": "MLU_VISIBLE_DEVICES"}
C10_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "complex64": "ComplexFloat",
}


def register(kind: str) -> None:
    """Load the extension, set up the devices that this process may see, register the device module."""
    torch.ops.load_library(os.environ["SIMULATED_LIBRARY"])
    described = json.loads(os.environ["SIMULATED_MACHINE"])
    assert described["kind"] == kind, f"this machine has {described['kind']} devices, not {kind}"
    cards = described["cards"]
    listed = os.environ.get(VISIBLE[kind])
    seen = list(range(len(cards))) if listed is None else [int(number) for number in listed.split(",") if number]
    tally = described["tally"]
    torch.ops.simulated.configure(
        [cards[number]["total"] for number in seen],
        [cards[number]["used"] for number in seen],
        [f"{tally}/device-{number}" for number in seen] if tally else [],
    )
    for fault in described["faults"]:
        if fault["device"] in seen:
            place = seen.index(fault["device"])
            names = ("kind", "op", "after", "times", "milliseconds", "once")
            number_format = C10_NAMES[fault["type"]] if fault["type"] else ""
            torch.ops.simulated.inject(place, *(fault[name] for name in names), number_format)
    refused = described["refuse_types"]
    torch.ops.simulated.refuse(described["refuse_ops"], [C10_NAMES[name] for name in refused])
    torch.utils.rename_privateuse1_backend(kind)
    torch._register_device_module(kind, _module(kind, [cards[number]["title"] for number in seen], refused))
    torch.utils.generate_methods_for_privateuse1_backend()


def _module(kind: str, titles: list[str], refused: list[str]) -> types.ModuleType:
    def index(device: Any = None) -> int:
        if device is None:
            return torch.accelerator.current_device_index()
        number = device if isinstance(device, int) else torch.device(device).index
        return torch.accelerator.current_device_index() if number is None else number

    module = types.ModuleType(f"torch.{kind}")
    given: dict[str, Any] = {
        "device_count": lambda: len(titles),
        "is_available": lambda: bool(titles),
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "current_device": torch.accelerator.current_device_index,
        "set_device": lambda device: torch.accelerator.set_device_index(index(device)),
        "device": lambda device: torch.accelerator.device_index(index(device)),
        "synchronize": lambda device=None: torch.ops.simulated.synchronize(index(device)),
        "empty_cache": lambda: None,
        "mem_get_info": lambda device=None: torch.accelerator.get_memory_info(index(device)),
        "memory_allocated": lambda device=None: torch.accelerator.memory_allocated(index(device)),
        "max_memory_allocated": lambda device=None: torch.accelerator.max_memory_allocated(index(device)),
        "reset_peak_memory_stats": lambda device=None: torch.accelerator.reset_peak_memory_stats(index(device)),
        "get_device_name": lambda device=None: titles[index(device)],
        "is_bf16_supported": lambda *_: "bfloat16" not in refused,
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
        "manual_seed_all": lambda seed: None,
        "OutOfMemoryError": torch.OutOfMemoryError,
    }
    for name, value in given.items():
        setattr(module, name, value)
    return module
