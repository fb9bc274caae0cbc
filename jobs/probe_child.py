"""Run by `probe.py` as a process of its own: import torch, try every accelerator, print one JSON object.

    python -P probe_child.py ROOT [PLUGIN]

ROOT holds our folders; PLUGIN is imported by hand after torch. A plug-in may raise, crash or hang: that is why this is
a process. What vendors' libraries print goes to stderr; stdout carries the JSON alone.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from types import ModuleType
from typing import Any

PLUGINS = ("torch_npu", "torch_mlu")
FORMATS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def main(root: str, plugin: str | None) -> None:
    """Look, and write what was found."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, root)  # first, as in the run itself: other packages are called cosyvoice too
    try:
        import torch

        if plugin:
            importlib.import_module(plugin)
        found = look(torch)
    except Exception as error:
        found = {"error": told(error)}
    answer.write(json.dumps(found) + "\n")
    answer.flush()
    os._exit(0)  # some vendors' libraries crash or hang at exit; what is said is said


def look(torch: ModuleType) -> dict[str, Any]:
    """Everything about this process's accelerators and about the CPU."""
    versions = {"torch": str(torch.__version__)}
    versions |= {name: _version(name) for name in PLUGINS if name in sys.modules}
    for name in ("cuda", "hip"):
        if getattr(torch.version, name, None):
            versions[name] = str(getattr(torch.version, name))
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    count = torch.accelerator.device_count() if accelerator else 0
    kind = accelerator.type if accelerator else ""
    return {
        "kind": kind,
        "backend": "rocm" if kind == "cuda" and "hip" in versions else kind,
        "versions": versions,
        "loaded": [name for name in PLUGINS if name in sys.modules],
        "devices": [_device(torch, kind, index) for index in range(count)],
        "cpu": {"formats": [name for name in FORMATS if not product_fault(torch, "cpu", name)], **_precision("cpu")},
    }


def _device(torch: ModuleType, kind: str, index: int) -> dict[str, Any]:
    module, name = getattr(torch, kind), f"{kind}:{index}"
    told_name = getattr(module, "get_device_name", None)
    found: dict[str, Any] = {"index": index, "title": str(told_name(index)) if told_name else name, "fault": ""}
    try:
        free, total = _memory(torch, module, index)
        fault = product_fault(torch, name, "fp32")
    except Exception as error:
        return {**found, "fault": told(error)}
    supports = getattr(module, "is_bf16_supported", None)
    without = {"bf16"} if supports is not None and not supports() else set()
    formats = [f for f in FORMATS if f not in without and not product_fault(torch, name, f)]
    return {**found, "free": free, "total": total, "formats": formats, "fault": fault, **_precision(name)}


def product_fault(torch: ModuleType, device: str, number_format: str) -> str:
    """Why a small matrix product is not computed, or not right, in this format; empty if it is."""
    dtype = getattr(torch, FORMATS[number_format])
    try:
        ones = torch.ones((8, 8), dtype=dtype, device=device)
        total = (ones @ ones).float().sum().item()
    except Exception as error:
        return told(error)
    return "" if total == 512.0 else f"a product of ones came out as {total} instead of 512 in {number_format}"


def _memory(torch: ModuleType, module: ModuleType, index: int) -> tuple[int | None, int | None]:
    """Free and total bytes."""
    for ask in (getattr(torch.accelerator, "get_memory_info", None), getattr(module, "mem_get_info", None)):
        if ask is not None:
            free, total = ask(index)
            return int(free), int(total)
    whole = getattr(module, "recommended_max_memory", None)  # mps
    return None, int(whole()) if whole is not None else None


def _precision(device: str) -> dict[str, str]:
    """What `--precision auto` means on this device; it may need the device alive."""
    try:
        import torch

        from cosyvoice.precision import choose_precision

        return {"precision": choose_precision(torch.device(device)).name}
    except Exception as error:
        return {"precision": "", "precision_fault": told(error)}


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules[package], "__version__", "unknown"))


def told(error: BaseException) -> str:
    """An error with its causes, one line."""
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None and len(parts) < 4:
        parts.append(f"{type(link).__name__}: {' '.join(str(link).split())[:400]}")
        link = link.__cause__ or link.__context__
    return ", caused by ".join(parts)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
