"""Files that a row names: reference audio and text files. They are only read, so they may lie anywhere."""

from __future__ import annotations

from pathlib import Path

from jobs.encoding import EncodingFault, decode
from jobs.fields import shown

HEAD_BYTES = 64
_AUDIO_STARTS = (
    b"fLaC", b"OggS", b"ID3", b"RF64", b"BW64", b"FORM", b"\x1aE\xdf\xa3", b"caff", b".snd", b"#!AMR", b"wvpk", b"MAC ",
    b"\x30\x26\xb2\x75", b"riff\x2e\x91\xcf\x11",
)  # fmt: skip
_NO_AUDIO_STARTS = (
    (b"version https://git-lfs", "a Git LFS pointer; run `git lfs pull` to fetch the recording"),
    (b"<!doctype", "a web page, perhaps a failed download; fetch the recording again"),
    (b"<html", "a web page, perhaps a failed download; fetch the recording again"),
    (b"{", "JSON, perhaps the answer of a failed download; fetch the recording again"),
    (b"PK\x03\x04", "a zip file; unpack it"),
    (b"\x1f\x8b", "a gzip file; unpack it"),
)


def find(folder: Path, written: str) -> Path:
    """Absolute path of an input; `written` is absolute or relative to `folder`. Raises ValueError if absent."""
    path = folder / written
    try:
        if not path.exists() and "\\" in written:
            path = folder / written.replace("\\", "/")
        if path.is_file():
            return path.absolute()
        if path.is_dir():
            raise ValueError(f"{shown(written)} is a folder; name a file")
    except OSError as error:
        raise ValueError(f"{shown(written)} cannot be read: {error.strerror}; correct the path") from error
    relative = "" if Path(written).is_absolute() else f", which is relative to {str(folder)!r}"
    raise ValueError(f"there is no file {written[:300]!r}; correct the path{relative}")


def reference_audio(folder: Path, written: str) -> tuple[str | None, str]:
    """(absolute path, "") of a recording, or (None, what is wrong with it); judged by its first bytes, not decoded."""
    try:
        path = find(folder, written)
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except ValueError as error:
        return None, str(error)
    except OSError as error:
        return None, f"{shown(written)} cannot be read: {error.strerror}; check its permissions"
    fault = no_audio(head)
    return (None, f"{shown(written)} is {fault}") if fault else (str(path), "")


def no_audio(head: bytes) -> str | None:
    """What the file is instead of audio, with what to do; None if it starts like audio."""
    if not head:
        return "empty; record it again or fetch it anew"
    if head.startswith(b"RIFF"):
        return None if head[8:12] == b"WAVE" else "a RIFF file without sound in it; convert it to WAV"
    if head.startswith(_AUDIO_STARTS) or head[4:8] == b"ftyp":
        return None
    if len(head) > 2 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 and head[1] != 0xFF:  # MPEG audio, AAC in ADTS
        return None
    for start, what in _NO_AUDIO_STARTS:
        if head.lstrip().lower().startswith(start.lower()):
            return what
    if all(byte >= 0x20 or byte in b"\t\r\n" for byte in head):
        return "text, not a recording; name the audio file"
    return "no audio file that is known here, or raw audio without a header; convert it to WAV or FLAC"


def text_file(folder: Path, written: str, max_chars: int) -> tuple[str, str | None]:
    """(text, name of the encoding if it was guessed) of a file named by a row. Raises ValueError with what to do."""
    path = find(folder, written)
    limit = 4 * max_chars + 4
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise ValueError(f"{shown(written)} cannot be read: {error.strerror}; check its permissions") from error
    if len(data) > limit:
        raise ValueError(f"{shown(written)} holds more than {max_chars:,} characters; split it into several rows")
    try:
        text, encoding = decode(data)
    except EncodingFault as error:
        where = f", line {error.line}" if error.line else ""
        raise ValueError(f"{shown(written)}{where}: {error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding.title if encoding.guessed else None
