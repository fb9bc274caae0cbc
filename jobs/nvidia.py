"""NVIDIA GPUs and MIG slices as `nvidia-smi -L` lists them. A CUDA process sees one MIG slice at most, so torch's own
count is too low on such machines; the list has them all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

_GPU = re.compile(r"^GPU\s+(?P<index>\d+):\s*(?P<title>.*?)\s*\(UUID:\s*(?P<uuid>GPU-[0-9A-Za-z-]+)\)")
_SLICE = re.compile(r"^\s+MIG\s+(?P<profile>\S.*?)\s+Device\s+\d+:\s*\(UUID:\s*(?P<uuid>MIG-[0-9A-Za-z/-]+)\)")
ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """A whole GPU, or one MIG slice of one."""

    index: int
    """Number of the physical GPU."""
    title: str
    uuid: str
    is_slice: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """What `nvidia-smi -L` said."""

    gpus: tuple[Gpu, ...] = ()
    """In its order; a GPU that is cut into slices is not in it, its slices are."""
    fault: str = ""

    @property
    def has_slices(self) -> bool:
        return any(gpu.is_slice for gpu in self.gpus)


def listing() -> Listing:
    """Ask nvidia-smi; empty where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Listing()
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, timeout=ANSWER_S, check=False)
    except subprocess.TimeoutExpired:
        return Listing(fault=f"nvidia-smi gave no answer within {ANSWER_S:.0f} s")
    except OSError as error:
        return Listing(fault=f"nvidia-smi cannot be run: {error.strerror}")
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        said = (text.strip() or done.stderr.decode("utf-8", "replace").strip() or "nothing").splitlines()[-1]
        return Listing(fault=f"nvidia-smi ended with code {done.returncode}: {said[:300]}")
    return Listing(_visible(parse(text)))


def parse(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the text of `nvidia-smi -L`; lines of any other form are passed over."""
    found: list[Gpu] = []
    for line in text.splitlines():
        if match := _GPU.match(line):
            found.append(Gpu(int(match["index"]), match["title"], match["uuid"], False))
        elif (match := _SLICE.match(line)) and found:
            whole = found[-1]
            if not whole.is_slice:
                found.pop()
            title = whole.title.partition(" MIG ")[0]
            found.append(Gpu(whole.index, f"{title} MIG {match['profile']}", match["uuid"], True))
    return tuple(found)


def _visible(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """Those that CUDA_VISIBLE_DEVICES leaves, if the person has set it: UUIDs may be shortened, whole GPUs numbered."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return gpus
    wanted = [part.strip() for part in listed.split(",") if part.strip()]
    return tuple(
        gpu
        for gpu in gpus
        if any(gpu.uuid.startswith(part) if not part.isdigit() else int(part) == gpu.index for part in wanted)
    )
