"""Ogg pages rewritten in place of a library: a stream that is the same on every run, and longer comments in it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
SERIAL = 0x43564221
_HEADER = struct.Struct("<4sBBqIII")
"""Capture pattern, version, flags, granule position, serial, sequence, checksum (RFC 3533, section 6)."""
_CONTINUED = 1
_NOTHING_ENDS = -1
_SEGMENTS = 255


@dataclass(slots=True)
class _Page:
    flags: int
    granule: int
    serial: int
    sequence: int
    lacing: bytes
    body: bytes

    def packed(self) -> bytes:
        head = _HEADER.pack(b"OggS", 0, self.flags, self.granule, self.serial, self.sequence, 0)
        page = bytearray(head + bytes([len(self.lacing)]) + self.lacing + self.body)
        struct.pack_into("<I", page, 22, checksum(bytes(page)))
        return bytes(page)


def _pages(file: BinaryIO, name: str) -> Iterator[_Page]:
    """Raises ValueError where no page begins or one is cut off."""
    while header := file.read(27):
        if len(header) < 27 or header[:4] != b"OggS":
            raise ValueError(f"{name}: not an Ogg page at byte {file.tell() - len(header)}")
        _, _, flags, granule, serial, sequence, _ = _HEADER.unpack(header[:26])
        lacing = file.read(header[26])
        body = file.read(sum(lacing))
        if len(lacing) < header[26] or len(body) < sum(lacing):
            raise ValueError(
                f"{name}: the page at byte {file.tell() - len(header) - len(lacing) - len(body)} is cut off"
            )
        yield _Page(flags, granule, serial, sequence, lacing, body)


def set_serial(path: Path, serial: int = SERIAL) -> None:
    """Rewrite the serial number and checksum of every page, in place: libsndfile draws it at random."""
    with path.open("r+b") as file:
        for page in _pages(file, path.name):
            page.serial = serial
            packed = page.packed()
            file.seek(-len(packed), 1)
            file.write(packed)


def rewrite_comments(path: Path, target: Path, changed: Callable[[bytes], bytes]) -> None:
    """Copy a Vorbis or Opus stream with its comment packet changed; the pages after the headers are counted anew."""
    with path.open("rb") as old, target.open("wb") as new:
        pages = _pages(old, path.name)
        first = next(pages)
        new.write(first.packed())
        packets = _packets(pages, 1 if first.body.startswith(b"OpusHead") else 2)
        packets[0] = changed(packets[0])
        sequence = 1
        for page in _laced(packets, first.serial):
            new.write(page.packed())
            sequence += 1
        for page in pages:
            page.sequence = sequence
            new.write(page.packed())
            sequence += 1


def _packets(pages: Iterator[_Page], wanted: int) -> list[bytes]:
    """The next `wanted` packets; the last of them ends its page, as header packets must."""
    packets: list[bytes] = []
    rest = b""
    while len(packets) < wanted:
        page, at = next(pages), 0
        for size in page.lacing:
            rest += page.body[at : at + size]
            at += size
            if size < _SEGMENTS:
                packets.append(rest)
                rest = b""
    return packets


def _laced(packets: list[bytes], serial: int) -> Iterator[_Page]:
    """Pages that hold these packets, with sequence numbers from 1."""
    lacing = b"".join(bytes([_SEGMENTS] * (len(packet) // _SEGMENTS) + [len(packet) % _SEGMENTS]) for packet in packets)
    body, at, sequence, flags = b"".join(packets), 0, 1, 0
    while lacing:
        here, lacing = lacing[:_SEGMENTS], lacing[_SEGMENTS:]
        ends = any(size < _SEGMENTS for size in here)
        yield _Page(flags, 0 if ends else _NOTHING_ENDS, serial, sequence, here, body[at : at + sum(here)])
        at += sum(here)
        sequence += 1
        flags = _CONTINUED if here[-1] == _SEGMENTS else 0


def checksum(page: bytes) -> int:
    """Ogg's CRC-32: polynomial 0x04c11db7 without reflection, start 0, by way of zlib's reflected one."""
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)
