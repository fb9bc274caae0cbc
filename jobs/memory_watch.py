"""When a worker has grown so much that a fresh process should take its place: leaks in vendors' libraries end here, not
in the kernel's out-of-memory killer."""

from __future__ import annotations

import os
from pathlib import Path

WARM_TAKES = 50
"""Takes after which a worker has seen its usual batches; the longest items come first, so memory peaks early."""
GROWTH_FACTOR, GROWTH_BYTES = 2.0, 2**30
"""Unless told otherwise a worker may grow to this many times its warm size, and at least by this much."""
GIB = 2**30


def resident_bytes() -> int | None:
    """Memory that this process holds now; None where the system does not say (it is read from /proc)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """Watches one process."""

    def __init__(self, bound_bytes: int | None) -> None:
        """`bound_bytes` is for host and device memory each; None: by growth of the host's."""
        self._bound = bound_bytes
        self._warm: int | None = None
        self.host_peak_bytes = 0
        self.device_peak_bytes = 0

    def hear(self, takes: int, host_bytes: int | None, device_bytes: int | None) -> str:
        """What the process holds after `takes` takes; returns why it should be replaced, or nothing."""
        self.host_peak_bytes = max(self.host_peak_bytes, host_bytes or 0)
        self.device_peak_bytes = max(self.device_peak_bytes, device_bytes or 0)
        if self._bound is not None:
            for what, held in (("", host_bytes), ("device ", device_bytes)):
                if held is not None and held > self._bound:
                    return f"it holds {_gib(held)} of {what}memory, --recycle-memory allows {_gib(self._bound)}"
            return ""
        if host_bytes is None or takes < WARM_TAKES:
            return ""
        if self._warm is None:
            self._warm = host_bytes
        if host_bytes > max(self._warm * GROWTH_FACTOR, self._warm + GROWTH_BYTES):
            return f"its memory grew from {_gib(self._warm)} to {_gib(host_bytes)}"
        return ""


def _gib(count: int) -> str:
    return f"{count / GIB:.2f} GiB"
