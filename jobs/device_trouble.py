"""What a broken driver or plug-in says, and what a person can do about it, as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that keeps devices from being used."""

    subject: str
    """`torch`, a plug-in, `nvidia-smi`, or a device."""
    kind: str
    """The kind of device that is missing because of it; empty: unknown."""
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}; {self.fix}" if self.fix else f"{self.subject}: {self.what}"


_FIXES: tuple[tuple[str, str], ...] = (
    (
        r"libhccl|libascend|libacl|libge_|libgraph|ASCEND_|\bCANN\b",
        "source the set_env.sh of the CANN toolkit in the shell (or unit file) that starts the run, or uninstall "
        "torch_npu on machines without an NPU",
    ),
    (
        r"Two accelerators cannot be used",
        "torch_npu wants the CPU build of torch: install torch of the same version from the CPU index",
    ),
    (
        r"libcnrt|libcndrv|libcnnl|libcncl|neuware",
        "put the Cambricon libraries on LD_LIBRARY_PATH (usually /usr/local/neuware/lib64), or uninstall torch_mlu",
    ),
    (
        r"libcublas|libcudnn|libcudart|libnvrtc|libnvJitLink|libcusparse",
        "torch found CUDA libraries of another version: unset LD_LIBRARY_PATH, or install torch again with its "
        "nvidia-* packages",
    ),
    (
        r"undefined symbol|version `?GLIBC|ABI|is not compatible with|does not match",
        "the plug-in was built for another torch: install the pair that its vendor lists (torch_npu 2.x.y goes with "
        "torch 2.x.y alone)",
    ),
    (
        r"driver.*(too old|insufficient)|no NVIDIA driver|Found no NVIDIA driver",
        "update the NVIDIA driver, or install a torch build for the CUDA version that `nvidia-smi` shows",
    ),
    (
        r"Permission denied|EACCES",
        "give this user the right to open the device files (groups render, video, HwHiAiUser)",
    ),
    (
        r"out of memory|OutOfMemory",
        "other programs hold its memory: end them, or keep off it with --devices or --min-free-memory",
    ),
    (r"No module named 'torch'", "the CosyVoice engines need torch; the embedded voice does not"),
    (
        r"507\d{3}|FORCE STOP|SUSPECT|\blost\b|Xid|ECC|unspecified launch failure|AcceleratorError",
        "reset the device with its vendor's tool (nvidia-smi, npu-smi, cnmon) or restart the machine",
    ),
    (
        r"not implemented|not supported|does not support|not support",
        "it lacks an operation that every model needs: update its driver and plug-in, or leave it out with --devices",
    ),
)
_UNKNOWN = "look at it with its vendor's tool (nvidia-smi, npu-smi info, cnmon)"


def fix_for(text: str) -> str:
    """What to do about an error text of a vendor."""
    return next((fix for pattern, fix in _FIXES if re.search(pattern, text, re.IGNORECASE)), _UNKNOWN)


def hung(seconds: float) -> tuple[str, str]:
    """What and what to do, for a probe that never answered."""
    return (
        f"no answer within {seconds:.0f} s",
        "its driver hangs: look with the vendor's tool, restart the machine, or give slow disks more time with "
        "COSYVOICE_BATCH_PROBE_S",
    )


def crashed(signal_name: str) -> tuple[str, str]:
    """What and what to do, for a probe that a signal ended."""
    return (
        f"the process was ended by {signal_name} while it looked for devices",
        "driver and plug-in do not fit together: install the versions that the vendor lists as a pair, or uninstall "
        "the plug-in",
    )
