"""Where ffmpeg is, and audio through it: MP3 and AAC, which libsndfile writes too slowly or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from jobs.blocks import BLOCK_SAMPLES, Block
from jobs.errors import EnvironmentFault

_DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)


@cache
def ffmpeg_path() -> str:
    """The program to run: the one in the imageio-ffmpeg wheel (the same version everywhere), else the system's.

    Raises EnvironmentFault if there is none.
    """
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        found = shutil.which("ffmpeg")
    if found is None:
        raise EnvironmentFault(
            "MP3, M4A and G.722 need ffmpeg and there is none: `pip install imageio-ffmpeg`, or install ffmpeg with "
            "the system's package manager, or choose a profile that writes WAV, FLAC or Ogg"
        )
    return found


def encode(
    blocks: Iterable[Block], rate_hz: int, channels: int, codec: Sequence[str], path: Path, inputs: Sequence[str] = ()
) -> None:
    """Stream mono blocks through ffmpeg into `path`, each sample repeated `channels` times.

    `inputs` are options of further inputs, which are numbered from 1 in `codec`; metadata is then the caller's affair.
    """
    source = ["-f", "f32le", "-ar", str(rate_hz), "-ac", str(channels), "-i", "pipe:0"]
    plain = ["-fflags", "+bitexact", "-flags", "+bitexact", "-threads", "1"]
    if not inputs:
        plain += ["-map_metadata", "-1"]
    command = [ffmpeg_path(), "-v", "error", "-nostdin", "-y", *source, *inputs, *plain, *codec, str(path)]
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints) as process:
            assert process.stdin is not None
            try:
                for block in blocks:
                    many = block if channels == 1 else np.repeat(block, channels)
                    process.stdin.write(many.astype("<f4", copy=False).tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # ffmpeg ended early; its own words and its exit status say why
        complaints.seek(0)
        _check(process.returncode, complaints.read(), path)


def decode(path: Path, rate_hz: int, channels: int, form: str | None = None) -> Iterator[Block]:
    """The first channel of any audio file that ffmpeg reads, at its own rate, which must be `rate_hz`.

    `form` is ffmpeg's name of a format that says nothing of itself.
    """
    named = ["-f", form] if form else []
    command = [ffmpeg_path(), "-v", "error", "-nostdin", *named, "-i", str(path), "-f", "f32le", "-ac", str(channels)]
    command += ["-ar", str(rate_hz), "pipe:1"]
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints) as process:
            assert process.stdout is not None
            while data := process.stdout.read(BLOCK_SAMPLES * channels * 4):
                yield np.frombuffer(data, "<f4")[::channels]
        complaints.seek(0)
        _check(process.returncode, complaints.read(), path)


def raise_disk_fault(words: str, status: int, path: Path) -> None:
    """OSError where ffmpeg's words or the signal that ended it mean that the disk takes no more; else nothing."""
    for code in _DISK_FAULTS:
        if os.strerror(code) in words:
            raise OSError(code, os.strerror(code), str(path))
    if status == -getattr(signal, "SIGXFSZ", 0) and status:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))


def _check(status: int, complaints: bytes, path: Path) -> None:
    if status == 0:
        return
    words = complaints.decode("utf-8", "replace").strip()
    raise_disk_fault(words, status, path)
    raise RuntimeError(f"ffmpeg ended with status {status} on {path.name}: {words or 'no message'}")
