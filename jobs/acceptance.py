"""A finished file read again as the system that plays it will: bytes and headers, not our own decoder's opinion.

Sources are in docs/phone-systems.md. Asterisk's reader (formats/format_wav.c) wants `RIFF`, `WAVE`, at once `fmt `,
format tag 1, one channel, 8000 Hz (16000 for `.wav16`), 2 bytes a sample, and nothing but `fact` before `data`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from presets.profile import Profile

_TAGS = {"pcm16": 1, "pcm24": 1, "float": 3, "alaw": 6, "ulaw": 7, "gsm": 0x31}
_BITS = {"pcm16": 16, "pcm24": 24, "float": 32, "ulaw": 8, "alaw": 8, "gsm": 0}
_RAW_UNIT_BYTES = {"pcm16": 2, "ulaw": 1, "alaw": 1, "gsm": 33, "g722": 1}


class Refused(RuntimeError):
    """The file is not what the profile's target takes; the message names every rule that it breaks."""


@dataclass(frozen=True, slots=True)
class WavHeader:
    """What a WAV file says of itself."""

    chunks: tuple[str, ...]
    """Names in their order, up to and with `data`."""
    tag: int
    channels: int
    rate_hz: int
    block_bytes: int
    bits: int
    data_bytes: int
    data_start: int


def demand(path: Path, profile: Profile, duration_s: float) -> None:
    """Raises Refused with every rule of the profile's target that the file at `path` breaks, OSError."""
    if faults := violations(path, profile, duration_s):
        raise Refused(f"not what {profile.name} takes: {'; '.join(faults)}")


def violations(path: Path, profile: Profile, duration_s: float) -> list[str]:
    """Each broken rule in words; empty where the target takes the file."""
    accept, faults, size = profile.accept, [], path.stat().st_size
    if accept.max_bytes is not None and size > accept.max_bytes:
        faults.append(f"{size:,} bytes, at most {accept.max_bytes:,} are taken: split the text")
    if accept.max_s is not None and duration_s > accept.max_s:
        faults.append(f"{duration_s:.1f} s, at most {accept.max_s:g} s are taken: split the text")
    if profile.container == "raw":
        unit = _RAW_UNIT_BYTES[profile.encoding] * (profile.channels if profile.encoding != "gsm" else 1)
        unit *= profile.multiple_samples or 1
        if size % unit or not size:
            faults.append(f"{size} bytes are no whole number of {unit}-byte {profile.encoding} frames")
    if profile.container == "wav" and accept.wav_header == "plain":
        faults += _wav_faults(path, profile, size)
    return faults


def _wav_faults(path: Path, profile: Profile, size: int) -> list[str]:
    try:
        with path.open("rb") as file:
            header = wav_header(file)
    except ValueError as error:
        return [str(error)]
    faults = []
    bits = _BITS[profile.encoding]
    for what, found, wanted in (
        ("format tag", header.tag, _TAGS[profile.encoding]),
        ("channels", header.channels, profile.channels),
        ("sample rate", header.rate_hz, profile.sample_rate_hz),
        ("bits a sample", header.bits, bits),
    ):
        if found != wanted:
            faults.append(f"{what} {found} in the header, {wanted} is wanted")
    if bits and header.block_bytes != profile.channels * bits // 8:
        faults.append(f"{header.block_bytes} bytes a sample frame in the header")
    if header.chunks[0] != "fmt " or any(chunk not in ("fmt ", "fact", "data") for chunk in header.chunks):
        faults.append(f"chunks {', '.join(header.chunks)} before the sound; only fmt and fact are taken")
    if not 0 < header.data_bytes <= size - header.data_start:
        faults.append(f"{header.data_bytes} bytes of sound in the header, {size - header.data_start} in the file")
    return faults


def wav_header(file: BinaryIO) -> WavHeader:
    """Read up to the sound. Raises ValueError where it is no RIFF WAVE file or has no sound."""
    riff, _, wave = struct.unpack("<4sI4s", file.read(12).ljust(12, b"\0"))
    if riff != b"RIFF" or wave != b"WAVE":
        raise ValueError(f"starts with {riff!r} {wave!r}, not with RIFF and WAVE")
    chunks: list[str] = []
    form: tuple[int, int, int, int, int, int] | None = None
    while len(head := file.read(8)) == 8:
        name, length = struct.unpack("<4sI", head)
        chunks.append(name.decode("latin-1"))
        if name == b"data":
            if form is None:
                raise ValueError("has sound before any format")
            tag, channels, rate, _, block, bits = form
            return WavHeader(tuple(chunks), tag, channels, rate, block, bits, length, file.tell())
        start = file.tell()
        if name == b"fmt ":
            if length < 16:
                raise ValueError(f"has a format of {length} bytes, at least 16 are needed")
            form = struct.unpack("<HHIIHH", file.read(16).ljust(16, b"\0"))
        file.seek(start + length + length % 2)
    raise ValueError("has no sound")
