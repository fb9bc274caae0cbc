"""The cover inside a finished audio file, in the place where players look: ID3, FLAC, Ogg comments, MP4.

The sound is copied as it is, byte for byte (MP4: packet for packet).
"""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from jobs import ffmpeg, ogg
from jobs.cover import Cover
from jobs.tags import synchsafe

_FRONT_COVER = 3
"""Kind of picture, of ID3v2 and, after it, of FLAC."""
_FLAC_PICTURE = 6


def add_cover(path: Path, container: str, cover: Cover) -> bool:
    """Put the cover into a file that has tags but no picture; False if the format has no room for one.

    Raises OSError, EnvironmentFault (no ffmpeg), RuntimeError or ValueError for a file that is not what it should be.
    """
    if container not in _WRITERS:
        return False
    whole = path.with_name(path.name + ".covered")
    try:
        _WRITERS[container](path, whole, cover)
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
    return True


def _mp3(path: Path, whole: Path, cover: Cover) -> None:
    """An APIC frame after the other frames (id3v2.4.0-frames, 4.14)."""
    body = b"\x00" + cover.mime.encode("ascii") + b"\x00" + bytes([_FRONT_COVER]) + b"\x00" + cover.data
    frame = b"APIC" + synchsafe(len(body)) + b"\x00\x00" + body
    with path.open("rb") as old, whole.open("wb") as new:
        head = old.read(10)
        if head[:6] != b"ID3\x04\x00\x00":
            raise ValueError(f"{path.name}: does not start with the tag that was written")
        size = sum(byte << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
        new.write(head[:6] + synchsafe(size + len(frame)) + old.read(size) + frame)
        shutil.copyfileobj(old, new)


def _flac(path: Path, whole: Path, cover: Cover) -> None:
    """A picture block behind the first block, which is always STREAMINFO (RFC 9639, 8.1)."""
    block = picture_block(cover)
    with path.open("rb") as old, whole.open("wb") as new:
        head = old.read(8)
        if head[:4] != b"fLaC":
            raise ValueError(f"{path.name}: is no FLAC file")
        last = head[4] & 0x80
        new.write(head[:4] + bytes([head[4] & 0x7F]) + head[5:] + old.read(int.from_bytes(head[5:], "big")))
        new.write(bytes([last | _FLAC_PICTURE]) + len(block).to_bytes(3, "big") + block)
        shutil.copyfileobj(old, new)


def _ogg(path: Path, whole: Path, cover: Cover) -> None:
    """A comment with the FLAC block in base64 (wiki.xiph.org, VorbisComment, METADATA_BLOCK_PICTURE)."""
    text = b"METADATA_BLOCK_PICTURE=" + base64.b64encode(picture_block(cover))

    def with_picture(packet: bytes) -> bytes:
        start = 8 if packet.startswith(b"OpusTags") else 7
        at = start + 4 + int(struct.unpack_from("<I", packet, start)[0])
        count = int(struct.unpack_from("<I", packet, at)[0])
        first = packet[:at] + struct.pack("<I", count + 1)
        return first + struct.pack("<I", len(text)) + text + packet[at + 4 :]

    ogg.rewrite_comments(path, whole, with_picture)


def _m4a(path: Path, whole: Path, cover: Cover) -> None:
    command = [ffmpeg.ffmpeg_path(), "-v", "error", "-nostdin", "-y", "-i", f"file:{path}"]
    command += ["-f", f"{cover.kind}_pipe", "-i", f"file:{cover.path}", "-map", "0:a", "-map", "1:v", "-c", "copy"]
    command += ["-disposition:v:0", "attached_pic", "-map_metadata", "0", "-fflags", "+bitexact", "-f", "ipod"]
    done = subprocess.run([*command, f"file:{whole}"], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()
        ffmpeg.raise_disk_fault(words, done.returncode, whole)
        raise RuntimeError(f"ffmpeg could not put the cover into {path.name}: {words}")


def picture_block(cover: Cover) -> bytes:
    """The body of a FLAC picture block (RFC 9639, 8.8); colours 0: not told."""
    mime = cover.mime.encode("ascii")
    fields = struct.pack(">II", _FRONT_COVER, len(mime)) + mime + struct.pack(">I", 0)
    return fields + struct.pack(">IIIII", cover.width, cover.height, 24, 0, len(cover.data)) + cover.data


_WRITERS: Mapping[str, Callable[[Path, Path, Cover], None]] = {
    "mp3": _mp3, "flac": _flac, "ogg": _ogg, "opus": _ogg, "m4a": _m4a,
}  # fmt: skip
