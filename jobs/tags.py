"""Tags: what a player shows. ID3v2.4 written here, since libsndfile writes its text as Latin-1."""

from __future__ import annotations

from collections.abc import Mapping

NOTICE = "AI-generated voice"
"""The comment of every file whose caller brings none: listeners and stores ask for it."""

_FRAMES = {"title": "TIT2", "artist": "TPE1", "album": "TALB", "track": "TRCK", "genre": "TCON", "composer": "TCOM"}
_FRAMES |= {"album_artist": "TPE2", "date": "TDRC", "disc": "TPOS"}
_THREE_LETTERS = {
    "zh": "zho", "yue": "yue", "en": "eng", "ja": "jpn", "ko": "kor", "de": "deu", "fr": "fra", "es": "spa",
    "it": "ita", "pt": "por", "ru": "rus", "nl": "nld", "pl": "pol", "tr": "tur", "ar": "ara", "hi": "hin",
}  # fmt: skip
TAGS = (*_FRAMES, "language", "comment")


def completed(tags: Mapping[str, str]) -> dict[str, str]:
    """Only tags with text, control characters taken out, and the notice where there is no comment.

    An unknown name is a ValueError.
    """
    if unknown := sorted(set(tags) - set(TAGS)):
        raise ValueError(f"no tag is called {unknown[0]!r}; there are {', '.join(TAGS)}")
    kept = {name: "".join(c for c in text if c.isprintable()).strip() for name, text in tags.items()}
    return {"comment": NOTICE} | {name: text for name, text in kept.items() if text}


def id3(tags: Mapping[str, str]) -> bytes:
    """An ID3v2.4 tag in UTF-8 (id3.org, id3v2.4.0-structure and -frames), to stand before the first MP3 frame."""
    language = _THREE_LETTERS.get(tags.get("language", "").lower().split("-")[0], "und")
    frames = b"".join(
        _frame(_FRAMES[name], b"\x03" + text.encode("utf-8")) for name, text in tags.items() if name in _FRAMES
    )
    if "language" in tags:
        frames += _frame("TLAN", b"\x03" + language.encode("ascii"))
    if "comment" in tags:
        frames += _frame("COMM", b"\x03eng\x00" + tags["comment"].encode("utf-8"))
    return b"ID3\x04\x00\x00" + synchsafe(len(frames)) + frames if frames else b""


def _frame(name: str, body: bytes) -> bytes:
    return name.encode("ascii") + synchsafe(len(body)) + b"\x00\x00" + body


def synchsafe(number: int) -> bytes:
    """28 bits, seven to a byte. Raises ValueError for more."""
    if number >= 1 << 28:
        raise ValueError(f"{number} bytes are more than a tag can hold")
    return bytes((number >> shift) & 0x7F for shift in (21, 14, 7, 0))
