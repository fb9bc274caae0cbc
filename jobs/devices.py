"""What this machine can compute on, as records. The CPU is looked at here; accelerators are found by `probe.py`."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

VISIBILITY = {
    "cuda": "CUDA_VISIBLE_DEVICES",
    "rocm": "HIP_VISIBLE_DEVICES",
    "npu": "ASCEND_RT_VISIBLE_DEVICES",
    "mlu": "MLU_VISIBLE_DEVICES",
    "xpu": "ZE_AFFINITY_MASK",
}
"""The variable that hides all devices of a vendor but the listed ones, by backend."""
KINDS = ("cuda", "npu", "mlu", "xpu", "mps")
"""Kinds of accelerators, as torch calls them; ROCm calls itself cuda."""


@dataclass(frozen=True, slots=True)
class Device:
    """One place where a worker can run."""

    name: str
    """`cpu`, `cuda:0`, `npu:1`, `mps:0` …: what a person writes after --devices."""
    title: str
    """What a person calls it."""
    cores: int | None = None
    """CPU cores that this process may use; None for accelerators."""
    memory_bytes: int | None = None
    """All of its memory; None if it does not say."""
    free_bytes: int | None = None
    backend: str = "cpu"
    """`cuda` or `rocm` for what torch calls cuda, else as torch calls it."""
    uuid: str = ""
    """MIG slices and the GPUs beside them have one."""
    number_formats: tuple[str, ...] = ()
    """Of fp32, bf16, fp16: those that a small product was computed in. Empty if nobody tried."""
    precision: str = ""
    """What `--precision auto` means here, such as `bf16/fp32/fp32` (language model, flow, vocoder)."""
    versions: tuple[tuple[str, str], ...] = ()
    """Library and version: torch, the vendor's plug-in, its runtime."""
    visible_as: str = ""
    """What the visibility variable must hold so that a process sees this device alone."""
    autoload: bool = True
    """Whether torch may load plug-ins by itself in a process that uses it (another plug-in may be broken)."""
    fault: str = ""
    """Why it cannot be used, with what to do; empty if it can."""

    @property
    def kind(self) -> str:
        """`cpu`, `cuda`, `npu` …, as torch calls it."""
        return self.name.partition(":")[0]


def cores() -> int:
    """CPU cores that this process may use: affinity and the control group's quota count, not the machine's total."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _cgroup_quota()
    return max(1, min(allowed, quota) if quota else allowed)


def _cgroup_quota() -> int | None:
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None  # no control group of version 2: no quota to respect
    return None if limit == "max" else max(1, int(limit) // int(period))


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _free_bytes() -> int | None:
    """Memory that programs can still get: the kernel's estimate, and what the control group leaves."""
    free = None
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None  # not Linux
    left = _cgroup_memory_left()
    return left if free is None else free if left is None else min(free, left)


def _cgroup_memory_left() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None  # no control group of version 2: no limit to respect
    return None if limit == "max" else max(0, int(limit) - used)


def _cpu_title() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux: the platform module knows at least the architecture
    return platform.processor() or platform.machine()


def cpu() -> Device:
    """The CPU as a device."""
    return Device("cpu", _cpu_title(), cores(), _memory_bytes(), _free_bytes())
