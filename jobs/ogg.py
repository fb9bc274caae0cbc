"""Ogg files that are the same on every run: libsndfile draws the stream's serial number at random, this sets it."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
SERIAL = 0x43564221


def set_serial(path: Path, serial: int = SERIAL) -> None:
    """Rewrite the serial number and checksum of every page (RFC 3533, section 6), in place."""
    with path.open("r+b") as file:
        while header := file.read(27):
            if len(header) < 27 or header[:4] != b"OggS":
                raise ValueError(f"{path.name}: not an Ogg page at byte {file.tell() - len(header)}")
            lengths = file.read(header[26])
            body = file.read(sum(lengths))
            page = bytearray(header + lengths + body)
            struct.pack_into("<I", page, 14, serial)
            struct.pack_into("<I", page, 22, 0)
            struct.pack_into("<I", page, 22, checksum(bytes(page)))
            file.seek(-len(page), 1)
            file.write(page)


def checksum(page: bytes) -> int:
    """Ogg's CRC-32: polynomial 0x04c11db7 without reflection, start 0, by way of zlib's reflected one."""
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)
