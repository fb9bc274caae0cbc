"""The bit rates of an MP3 file, read from the headers of its frames (ISO 11172-3, 2.4.1.3 and 13818-3)."""

from __future__ import annotations

import mmap
from pathlib import Path

_V1_KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_V2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES_HZ = (44100, 48000, 32000)
_VERSIONS = {3: 1, 2: 2, 0: 4}
"""Version bits -> what divides the rates of MPEG-1."""
_RESYNC_BYTES = 1 << 16


def mp3_rates(path: Path) -> tuple[float | None, bool | None]:
    """Mean bit rate in kbit/s and whether all frames have the same; (None, None) if no frame is found.

    The first frame is left out where it holds nothing but the encoder's own table (Xing, Info, VBRI).
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        position, seconds, kilobits, seen, first = _after_id3(data), 0.0, 0.0, set(), True
        while position + 4 <= len(data):
            frame = _frame(data, position)
            if frame is None:
                found = data.find(b"\xff", position + 1, position + _RESYNC_BYTES)
                if found < 0 or data[position : position + 3] == b"TAG":
                    break
                position = found
                continue
            length, kbps, frame_s = frame
            if not (first and any(mark in data[position : position + 64] for mark in (b"Xing", b"Info", b"VBRI"))):
                seen.add(kbps)
                seconds += frame_s
                kilobits += kbps * frame_s
            first = False
            position += length
    return (kilobits / seconds, len(seen) == 1) if seconds else (None, None)


def _after_id3(data: mmap.mmap) -> int:
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return size + 10 + (10 if data[5] & 0x10 else 0)


def _frame(data: mmap.mmap, at: int) -> tuple[int, int, float] | None:
    """Length in bytes, kbit/s and seconds of the layer III frame that starts here."""
    if data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return None
    version, layer = data[at + 1] >> 3 & 3, data[at + 1] >> 1 & 3
    index, rate_index, padding = data[at + 2] >> 4, data[at + 2] >> 2 & 3, data[at + 2] >> 1 & 1
    if version not in _VERSIONS or layer != 1 or index in (0, 15) or rate_index == 3:
        return None
    rate_hz = _RATES_HZ[rate_index] // _VERSIONS[version]
    kbps = (_V1_KBPS if version == 3 else _V2_KBPS)[index]
    samples = 1152 if version == 3 else 576
    return samples // 8 * kbps * 1000 // rate_hz + padding, kbps, samples / rate_hz
