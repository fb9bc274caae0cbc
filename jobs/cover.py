"""The cover of a book: a JPEG or PNG file, looked into, so that a wrong one is refused before a book is made."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import UserError

MAX_BYTES = 16_000_000
"""A FLAC picture block counts 24 bits; no store takes a larger cover."""
HEAVY_BYTES = 1_000_000
"""More than this in every chapter file deserves a word."""
_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_FOREIGN = ((b"GIF8", "a GIF"), (b"RIFF", "a WebP"), (b"BM", "a BMP"), (b"II*\x00", "a TIFF"), (b"MM\x00*", "a TIFF"))
_NO_LENGTH = (0x01, *range(0xD0, 0xD8))
_FRAME_STARTS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Cover:
    """A picture that players can show."""

    path: Path
    kind: str
    """`jpeg` or `png`."""
    data: bytes
    width: int
    height: int

    @property
    def mime(self) -> str:
        return f"image/{self.kind}"


def read_cover(path: Path) -> Cover:
    """Raises UserError for a file that cannot be read, is no whole JPEG or PNG, or is too large."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UserError(
                f"{path}: the cover has {size / 1e6:.1f} MB, {MAX_BYTES // 1_000_000} MB is the most; make it smaller "
                "(a JPEG of 2,400 × 2,400 pixels has about 1 MB)"
            )
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: the cover cannot be read ({error.strerror}); correct --cover or book.json") from error
    try:
        kind, width, height = _looked_into(data)
    except (ValueError, IndexError, struct.error) as error:
        raise UserError(f"{path}: the cover {error if type(error) is ValueError else 'is damaged'}") from error
    return Cover(path, kind, data, width, height)


def _looked_into(data: bytes) -> tuple[str, int, int]:
    """(kind, width, height). Raises ValueError that says what the data is."""
    if data.startswith(_PNG):
        width, height = struct.unpack_from(">II", data, 16)
        whole = data[12:16] == b"IHDR" and data.rstrip(b"\x00").endswith(b"IEND\xaeB`\x82")
        kind = "png"
    elif data.startswith(_JPEG):
        width, height = _jpeg_size(data)
        whole = b"\xff\xd9" in data[-4096:]
        kind = "jpeg"
    else:
        what = next(
            (f"is {name} file" for start, name in _FOREIGN if data.startswith(start)), "is no picture known here"
        )
        raise ValueError(f"{what}; players show JPEG and PNG: convert it")
    if not whole or not width or not height:
        raise ValueError(f"is a {kind.upper()} file that is cut off or damaged; export it again")
    return kind, width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height in the first frame header (ITU-T T.81, B.2)."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _NO_LENGTH:
            at += 2
        elif marker in _FRAME_STARTS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            at += 2 + max(2, int(struct.unpack_from(">H", data, at + 2)[0]))
    raise ValueError("is a JPEG file that is cut off or damaged; export it again")
