"""Output names: relative, inside the run folder, and good on Linux, Windows, macOS and a phone system alike.

A name comes from the row's `out` or from the profile's naming template. Characters that some system cannot take are
replaced and the change is told; what would leave the run folder, or sit on a file of ours, is refused.
"""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

MAX_PART_BYTES = 200
"""Longest name of a file or folder in UTF-8: leaves room for a temporary suffix below the 255 of file systems."""
MAX_PATH_BYTES = 240
"""Longest path below the run folder."""
MAX_DEPTH = 8
RESERVED = frozenset(("report.html", "report.json", "report.csv", "retry.jsonl", "run.log", ".cosyvoice-batch"))
"""Names at the top of a run folder that are ours."""
_SUFFIX_LIST = (
    ".wav .wave .mp3 .flac .ogg .oga .opus .ulaw .ul .mulaw .pcmu .alaw .al .pcma .sln .sln12 .sln16 .sln24 .sln32 "
    ".sln44 .sln48 .sln96 .sln192 .slin .pcm .raw .m4a .m4b .mp4 .aac .amr .awb .gsm .g722 .g723 .g726 .g729 .vox .au "
    ".snd .aif .aiff .wma .caf .webm .mka .w64 .rf64 .wv .ape .ac3 .spx"
)
AUDIO_SUFFIXES = frozenset(_SUFFIX_LIST.split())
_DEVICE_NAMES = r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)"
_DEVICE = re.compile(_DEVICE_NAMES, re.IGNORECASE)
# What nothing has to be changed in: up to 120 of the characters that every system takes, and no device of Windows.
_PLAIN = re.compile(rf"(?!{_DEVICE_NAMES})[A-Z0-9_](?:[A-Z0-9_.-]{{0,118}}[A-Z0-9_-])?", re.IGNORECASE | re.ASCII)
_REPLACED = str.maketrans(
    # Separators of paths and of Windows streams read well as dashes; `&` `,` `;` part the arguments of a dial plan.
    {"/": "-", "\\": "-", ":": "-", "|": "-", "&": "+", ",": "", ";": "", **dict.fromkeys('<>"?*$`', "_")}
)
_INVISIBLE = frozenset(
    map(chr, (0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
_SPEC = re.compile(r"(0?[1-9]?[0-9]?)d|(?:\.([1-9][0-9]{0,2}))?")
HASH_CHARS = 10


@dataclass(frozen=True, slots=True)
class NameRule:
    """What the system that plays the files asks of their names, beyond what every file system does."""

    pattern: str | None = None
    """A regular expression for each part of the path without the suffix."""
    words: str | None = None
    """What `pattern` means."""
    max_chars: int | None = None
    """Longest file name, with its suffix."""
    folder: str | None = None
    """Put between the other folders and the file, unless it stands there already."""


ANY_NAME = NameRule()


@dataclass(frozen=True, slots=True)
class Name:
    """An output name, and whether it had to differ from what was asked for."""

    path: str
    changed: bool


def safe_part(text: str, max_bytes: int = MAX_PART_BYTES) -> str:
    """One name of a file or folder that every system takes, made from any text; never empty, never longer.

    A cut name ends with a hash of the whole, so that two long titles with the same start stay apart.
    """
    if len(text) <= max_bytes and _PLAIN.fullmatch(text):
        return text
    name = unicodedata.normalize("NFC", text)
    name = "".join(
        char for char in name.replace(": ", " - ").translate(_REPLACED) if char.isspace() or not _unusable(char)
    )
    name = " ".join(name.split()).rstrip(". ")
    if name[:1] in (".", "-", "~", "") or _DEVICE.match(name):
        name = "_" + name.lstrip(".-~ ") if name[:1] in (".", "-", "~") else "_" + name
    # Dropping characters can bring combining marks together anew.
    name = unicodedata.normalize("NFC", name)
    if len(name.encode()) <= max_bytes:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()[:HASH_CHARS]
    return f"{cut(name, max_bytes - HASH_CHARS - 1).rstrip('. -')}-{digest}"


def _unusable(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Cn") or char in _INVISIBLE


def cut(text: str, max_bytes: int) -> str:
    """The longest start of `text` in at most `max_bytes` of UTF-8 that does not part what is seen as one character."""
    end = len(text.encode()[: max(0, max_bytes)].decode("utf-8", "ignore"))
    while 0 < end < len(text) and _joined(text, end):
        end -= 1
    return text[:end]


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and after `at` belong together: marks, emoji sequences, flags, Hangul letters."""
    before, after = text[at - 1], text[at]
    if unicodedata.category(after)[0] == "M" or after == "\u200d" or before == "\u200d":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff":
        flags = 0
        while flags < at and "\U0001f1e6" <= text[at - 1 - flags] <= "\U0001f1ff":
            flags += 1
        return flags % 2 == 1
    return "\u1160" <= after <= "\u11ff"


@dataclass(frozen=True, slots=True)
class Template:
    """A profile's naming, such as `{chapter:02d}/{id}`; `/` in it makes folders, `/` in a value never does."""

    source: str
    parts: tuple[tuple[tuple[str, str | None, str], ...], ...]
    """For each folder and the file: (literal text, field that follows it or None, its format)."""

    @classmethod
    def parse(cls, source: str) -> Template:
        """Raises ValueError with what is wrong: only `{field}`, `{field:02d}` and `{field:.20}` are understood."""
        try:
            parsed = list(string.Formatter().parse(source.replace("\\", "/")))
        except ValueError as error:
            raise ValueError(f"naming {source!r}: {error}; write each field as {{name}}") from error
        parts: list[list[tuple[str, str | None, str]]] = [[]]
        for literal, field, spec, conversion in parsed:
            if field is not None and not field.replace("_", "a").replace("-", "a").isalnum():
                raise ValueError(f"naming {source!r}: {{{field}}} is no field; write a plain name such as {{id}}")
            if conversion or (spec and not _SPEC.fullmatch(spec)):
                raise ValueError(f"naming {source!r}: {{{field}}} has a format other than 02d or .20 (digits, length)")
            *folders, last = literal.split("/")
            for folder in folders:
                parts[-1].append((folder, None, ""))
                parts.append([])
            parts[-1].append((last, field, spec or ""))
        if not any(field for part in parts for _, field, _ in part):
            raise ValueError(f"naming {source!r} holds no field: every file would have the same name; add {{id}}")
        shape = "/".join("".join(literal + ("x" if field else "") for literal, field, _ in part) for part in parts)
        if refusal := _refusal(shape):
            raise ValueError(f"naming {source!r}: {refusal}")
        return cls(source, tuple(tuple(part) for part in parts))

    def render(self, values: Mapping[str, object]) -> list[str]:
        """The parts of the path, not yet made safe; raises ValueError naming the field that the row lacks."""
        if self.source == "{id}" and values.get("id"):  # nearly every row of nearly every run
            return [str(values["id"])]
        return ["".join(self._text(piece, values) for piece in part) for part in self.parts]

    def _text(self, piece: tuple[str, str | None, str], values: Mapping[str, object]) -> str:
        literal, field, spec = piece
        if field is None:
            return literal
        value = values.get(field)
        if value is None or value == "":
            raise ValueError(f"the naming {self.source!r} needs {field!r}, which this row lacks; fill it in or set out")
        return literal + _formatted(field, value, spec)


def _formatted(field: str, value: object, spec: str) -> str:
    if spec.endswith("d"):
        digits = str(value).strip()
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(
                f"the naming wants digits for {{{field}:{spec}}}, found {digits[:40]!r}; write a whole number"
            )
        return digits.lstrip("0").rjust(1, "0").zfill(int(spec[:-1] or 0))
    return cut(str(value), 4 * int(spec[1:]))[: int(spec[1:])] if spec else str(value)


def name_from_template(
    template: Template, values: Mapping[str, object], suffix: str, rule: NameRule = ANY_NAME
) -> Name:
    """Raises ValueError with the reason where the row cannot be named."""
    return _finished(template.render(values), suffix, rule)


def name_from_out(out: str, suffix: str, rule: NameRule = ANY_NAME) -> Name:
    """The row's own wish, with `/` or `\\` between parts; raises ValueError with what is wrong with it."""
    if refusal := _refusal(out):
        raise ValueError(refusal)
    parts = [part for part in out.replace("\\", "/").split("/") if part != "."]
    if parts and parts[0].casefold() in RESERVED:
        raise ValueError(f"{parts[0]!r} is a name that the run keeps for itself; choose another")
    if not parts:
        raise ValueError("names no file; write a relative path such as menu/main.wav")
    last = parts[-1].lower()
    if not last.endswith(suffix.lower()):
        found = "." + last.rpartition(".")[2]
        if "." in last and found in AUDIO_SUFFIXES:
            raise ValueError(
                f"ends in {found!r}, but the profile makes {suffix!r} files; drop the suffix or choose a profile"
            )
    return _finished(parts, suffix, rule)


def _refusal(path: str) -> str | None:
    """Why a path is not taken at all."""
    if path.startswith(("/", "\\")):
        return "is absolute; write a path relative to the run folder, such as menu/main.wav"
    if len(path) >= 2 and path[1] == ":" and path[0].isascii() and path[0].isalpha():
        return "starts with a drive letter; write a path relative to the run folder"
    if path.startswith("~"):
        return "starts with ~, which is not expanded; write a path relative to the run folder"
    parts = path.replace("\\", "/").split("/")
    if any(part.strip() == ".." for part in parts):
        return "leaves the run folder by '..'; write a path below it"
    if not all(part.strip() for part in parts):
        return "holds an empty part ('//' or a '/' at the end); name a file"
    if len(parts) > MAX_DEPTH:
        return f"is {len(parts)} folders deep; at most {MAX_DEPTH} are allowed"
    return None


def _finished(parts: list[str], suffix: str, rule: NameRule) -> Name:
    """Parts -> safe path with its suffix, within all limits."""
    stem = parts[-1]
    if stem.lower().endswith(suffix.lower()) and len(stem) > len(suffix):
        stem = stem[: -len(suffix)]
    if rule is ANY_NAME and len(parts) == 1 and _PLAIN.fullmatch(stem):
        return Name(stem + suffix, changed=stem + suffix not in (parts[0], parts[0] + suffix))
    folders = [safe_part(part) for part in parts[:-1]]
    if rule.folder is not None and folders[-1:] != [rule.folder]:
        folders.append(rule.folder)
    if folders and folders[0].casefold() in RESERVED:
        raise ValueError(f"the folder {folders[0]!r} is a name that the run keeps for itself; choose another")
    for folder in folders:
        if "." in folder and "." + folder.lower().rpartition(".")[2] in AUDIO_SUFFIXES | {suffix.lower()}:
            raise ValueError(f"the folder {folder!r} is named like an audio file; rename it")
    used_bytes = sum(len(folder.encode()) + 1 for folder in folders) + len(suffix)
    room = min(MAX_PART_BYTES - len(suffix), MAX_PATH_BYTES - used_bytes)
    if room < 40:
        raise ValueError(f"is in folders with names too long together; at most {MAX_PATH_BYTES} bytes are allowed")
    if rule.max_chars is not None:
        room = max(HASH_CHARS + 2, min(room, rule.max_chars - len(suffix)))
    leaf = safe_part(stem, room)
    for part in (*folders, leaf):
        if rule.pattern is not None and not re.fullmatch(rule.pattern, part):
            raise ValueError(f"{part[:60]!r} is no name for this profile; use {rule.words or rule.pattern}")
    path = "/".join([*folders, leaf + suffix])
    plain = "/".join([*parts[: len(parts) - 1], *folders[len(parts) - 1 :], parts[-1]])
    return Name(path, changed=path not in (plain, plain + suffix))


def collision_key(path: str) -> str:
    """Equal for two paths that some file system takes for one: case and Unicode composition do not count."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
