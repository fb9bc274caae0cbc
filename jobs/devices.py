"""What this machine can compute on. Knows the CPU now; accelerators are probed in children so that this process
never imports torch."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Device:
    """One place where a worker can run."""

    name: str
    """`cpu`, or later `cuda:0`, `npu:1` …"""
    title: str
    """What a person calls it."""
    cores: int
    memory_bytes: int | None


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
    return Device(name="cpu", title=_cpu_title(), cores=cores(), memory_bytes=_memory_bytes())
