"""Bytes of an input file -> text: which encoding they are in, and a clear refusal where that cannot be told.

Order: byte order mark, UTF-16 without one, strict UTF-8, a guess that is only acted on when it is clear. Whatever was
chosen decodes the whole input strictly, so nothing is replaced or dropped on the way. It knows no manifests.
"""

from __future__ import annotations

import codecs
import io
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_LIMIT_CHARS = 8_000_000
"""Longest line that is read: a text of a million characters, written as JSON escapes, fits."""
LINE_LIMIT_BYTES = 4 * LINE_LIMIT_CHARS
_CHUNK_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_NOT_TEXT = (
    (b"PK\x03\x04", "an Excel workbook or another zip file; save it as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "an old Office file; save it as CSV UTF-8"),
    (b"%PDF", "a PDF; save its text as a plain text file"),
    (b"{\\rtf", "a rich text file; save it as plain text"),
    (b"RIFF", "an audio file"),
    (b"SQLite format 3", "a database; export it as CSV"),
    (b"\x1f\x8b", "gzip inside gzip; unpack it once"),
)
_TITLES = {"gb18030": "GB18030", "big5": "Big5", "cp932": "Shift-JIS", "euc_jp": "EUC-JP", "cp949": "CP949"}
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "ascii": "utf-8", "utf-8": "utf-8-sig", "shift_jis": "cp932"}

logger = logging.getLogger(__name__)


class EncodingFault(ValueError):
    """The bytes are no text that can be read safely; the message says what was found and what to do."""

    def __init__(self, message: str, line: int = 0, *, unclear: bool = False) -> None:
        super().__init__(message)
        self.line = line
        """1-based; 0 where the whole file is meant."""
        self.unclear = unclear
        """It may well be text: the encoding only has to be named."""


@dataclass(frozen=True, slots=True)
class Encoding:
    codec: str
    """Name to open the file with."""
    title: str
    """Name to show to people."""
    guessed: bool = False
    """Neither a mark nor UTF-8 nor the user said so: worth a note."""


def detect(reopen: Callable[[], BinaryIO], asked: str | None = None) -> Encoding:
    """The encoding of what `reopen()` gives from its start, each time it is called; `asked` names it by hand.

    Reads all of it once or twice, in memory that does not grow with it. Raises EncodingFault.
    """
    with reopen() as stream:
        head = stream.read(_CHUNK_BYTES)
    for magic, what in _NOT_TEXT:
        if head.startswith(magic):
            raise EncodingFault(f"this is not text but {what}")
    if asked is not None:
        return _as_asked(reopen, asked)
    for mark, codec, title in _MARKS:
        if head.startswith(mark):
            _demand(reopen, codec, f"starts with the mark of {title}, but is not valid {title}")
            return Encoding(codec, title)
    if codec_without_mark := _wide_without_mark(head):
        _demand(reopen, codec_without_mark, "looks like UTF-16, but is not valid UTF-16")
        return Encoding(codec_without_mark, "UTF-16", guessed=True)
    fault = _first_fault(reopen, "utf-8")
    return Encoding("utf-8", "UTF-8") if fault is None else _legacy(reopen, fault)


def decode(data: bytes, asked: str | None = None) -> tuple[str, Encoding]:
    """The text of a whole file that is in memory already, without its byte order mark."""
    encoding = detect(lambda: io.BytesIO(data), asked)
    return data.decode(encoding.codec).removeprefix("\ufeff"), encoding


def _as_asked(reopen: Callable[[], BinaryIO], asked: str) -> Encoding:
    try:
        codec = codecs.lookup(asked).name
        "".encode(codec)  # codecs from bytes to bytes, such as base64, refuse this
    except LookupError as error:
        raise EncodingFault(
            f"no encoding is called {asked!r}; use a name such as utf-8, gb18030, big5, cp1252"
        ) from error
    codec = _WIDER.get(codec, codec)
    _demand(reopen, codec, f"is not valid {asked}")
    return Encoding(codec, asked)


def _legacy(reopen: Callable[[], BinaryIO], fault: _Fault) -> Encoding:
    from jobs.encoding_guess import guess

    sample = _foreign_lines(reopen)
    if _is_damaged_utf8(sample):
        raise EncodingFault(
            f"byte 0x{fault.byte:02X} is not valid UTF-8, though the rest of the file is: it is damaged, or was put"
            " together from files in different encodings; save it anew as UTF-8",
            fault.line,
        )
    codec = guess(sample)
    if codec is None or _first_fault(reopen, codec) is not None:
        raise EncodingFault(
            f"byte 0x{fault.byte:02X} is not UTF-8, and its real encoding is unclear; save the file as UTF-8",
            fault.line,
            unclear=True,
        )
    title = _TITLES.get(codec, codec)
    logger.info("read as %s", title)
    return Encoding(codec, title, guessed=True)


@dataclass(frozen=True, slots=True)
class _Fault:
    line: int
    byte: int


def _first_fault(reopen: Callable[[], BinaryIO], codec: str) -> _Fault | None:
    """Where the input stops being valid `codec`, or None; also refuses lines beyond the limit."""
    decoder = codecs.getincrementaldecoder(codec)()
    lines = 1
    with reopen() as stream:
        for chunk in _chunks(stream):
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(codec, "ignore")
                return _Fault(lines + _line_ends(before), error.object[error.start])
            lines += _line_ends(text)
    return None


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The input in pieces, an empty one last; a line beyond all bounds (a gzip bomb, a disk image) ends it early."""
    line_bytes = 0
    while chunk := stream.read(_CHUNK_BYTES):
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        line_bytes = line_bytes + len(chunk) if end < 0 else len(chunk) - end - 1
        if line_bytes > LINE_LIMIT_BYTES:
            raise EncodingFault(f"holds a line of more than {LINE_LIMIT_CHARS:,} characters; this is hardly a manifest")
        yield chunk
    yield b""


def _line_ends(text: str) -> int:
    """Ends of lines, where CR, LF and CRLF count as one each."""
    return text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)


def _demand(reopen: Callable[[], BinaryIO], codec: str, otherwise: str) -> None:
    fault = _first_fault(reopen, codec)
    if fault is not None:
        raise EncodingFault(f"{otherwise} (byte 0x{fault.byte:02X}); save the file anew as UTF-8", fault.line)


def _wide_without_mark(head: bytes) -> str | None:
    """UTF-16 without a mark: manifests start with ASCII, so every other one of the first bytes is zero."""
    start = head[:8]
    if len(start) < 8 or start.count(0) != 4:
        return None
    return "utf-16-le" if not any(start[1::2]) else "utf-16-be" if not any(start[::2]) else None


def _foreign_lines(reopen: Callable[[], BinaryIO]) -> bytes:
    """Up to 64 KiB of the lines that hold bytes beyond ASCII, from anywhere in the input."""
    kept: list[bytes] = []
    room = _SAMPLE_BYTES
    with reopen() as stream:
        while room > 0 and (line := stream.readline(LINE_LIMIT_BYTES)):
            if not line.isascii():
                whole = line if len(line) <= room or kept else line[:room]
                kept.append(whole)
                room -= len(whole)
    return b"".join(kept)


def _is_damaged_utf8(sample: bytes) -> bool:
    """Whether most of what is beyond ASCII is valid UTF-8: in no other encoding does that happen by chance."""
    text = sample.decode("utf-8", "surrogateescape")
    good = sum(char >= "\x80" and not "\udc80" <= char <= "\udcff" for char in text)
    bad = sum("\udc80" <= char <= "\udcff" for char in text)
    return good >= 4 * bad
