"""One M4B: AAC in MP4 with chapter marks, cover and tags, streamed through ffmpeg, and its marks read back.

Marks stand twice in the file: in the old atom of Nero players, which holds 255, and in a text track, which holds any
number (ffmpeg, libavformat/movenc.c). Sizes past 4 GiB and lengths past 2^32 samples take the 64-bit fields.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobs import ffmpeg
from jobs.blocks import Block
from jobs.cover import Cover

if TYPE_CHECKING:
    from presets.catalog import Profile

_SPECIAL = re.compile(r"([=;#\\\n])")
MARK_TOLERANCE_S = 0.002
"""The text track counts milliseconds."""
_AUDIOBOOK = "2"
"""iTunes' number for the kind of media."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a chapter starts, in samples of the file, and what it is called."""

    start: int
    title: str


def write(
    blocks: Iterable[Block],
    samples: int,
    marks: Sequence[Mark],
    profile: Profile,
    tags: Mapping[str, str],
    cover: Cover | None,
    path: Path,
) -> None:
    """Encode `samples` mono samples into `path`. Raises OSError, EnvironmentFault (no ffmpeg), RuntimeError."""
    words = path.with_name(path.name + ".words")
    try:
        words.write_text(_metadata(samples, marks, profile.sample_rate_hz, tags), encoding="utf-8")
        inputs = ["-f", "ffmetadata", "-i", f"file:{words}"]
        picture: list[str] = []
        if cover is not None:
            inputs += ["-f", f"{cover.kind}_pipe", "-i", f"file:{cover.path}"]
            picture = ["-map", "2:v", "-c:v", "copy", "-disposition:v:0", "attached_pic"]
        codec = ["-map", "0:a", "-c:a", "aac", "-b:a", f"{profile.bitrate_kbps}k", *picture]
        codec += ["-map_metadata", "1", "-map_chapters", "1", "-f", "ipod"]
        ffmpeg.encode(blocks, profile.sample_rate_hz, profile.channels, codec, path, inputs)
    finally:
        words.unlink(missing_ok=True)


def _metadata(samples: int, marks: Sequence[Mark], rate_hz: int, tags: Mapping[str, str]) -> str:
    """Tags and chapters in ffmpeg's own notation (ffmpeg-formats, section Metadata)."""
    lines = [";FFMETADATA1", f"media_type={_AUDIOBOOK}"]
    lines += [f"{name}={_escaped(text)}" for name, text in tags.items() if text]
    stops = [mark.start for mark in marks[1:]] + [samples]
    for mark, stop in zip(marks, stops, strict=True):
        lines += ["[CHAPTER]", f"TIMEBASE=1/{rate_hz}", f"START={mark.start}", f"END={stop}"]
        lines.append(f"title={_escaped(mark.title)}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def check_marks(path: Path, marks: Sequence[Mark], rate_hz: int) -> None:
    """Read the marks of a finished file. Raises RuntimeError if one is missing, misnamed or displaced."""
    found = read_marks(path)
    if len(found) != len(marks):
        raise RuntimeError(f"{path.name}: {len(marks)} chapters were written, {len(found)} read back")
    for mark, (start_s, title) in zip(marks, found, strict=True):
        if abs(start_s - mark.start / rate_hz) > MARK_TOLERANCE_S or title != mark.title:
            raise RuntimeError(f"{path.name}: chapter {mark.title!r} reads back as {title!r} at {start_s:.3f} s")


def read_marks(path: Path) -> list[tuple[float, str]]:
    """(start in seconds, title) of each chapter of any file that ffmpeg reads."""
    command = [ffmpeg.ffmpeg_path(), "-v", "error", "-nostdin", "-i", str(path), "-f", "ffmetadata", "pipe:1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()
        raise RuntimeError(f"ffmpeg could not read {path.name} back: {words}")
    found: list[tuple[float, str]] = []
    base = 1.0
    for section in done.stdout.decode("utf-8").split("\n[CHAPTER]\n")[1:]:
        values = dict(re.findall(r"^(\w+)=((?:\\.|[^\\\n])*)$", section, re.MULTILINE | re.DOTALL))
        above, below = map(int, values["TIMEBASE"].split("/"))
        base = above / below
        found.append((int(values["START"]) * base, re.sub(r"\\(.)", r"\1", values.get("title", ""), flags=re.DOTALL)))
    return found
