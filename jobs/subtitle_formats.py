"""Cues as SRT, WebVTT, LRC or JSON; text of any book stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jobs.cues import on_one_line

if TYPE_CHECKING:
    from jobs.subtitles import Track

_BREAKER = "\u200b"
"""Zero-width space: SRT and LRC have no escapes, this parts what a player would take for markup."""
_SRT_MARKUP = re.compile(r"(?<=<)(?=[A-Za-z/])|(?<=\{)(?=\\)|(?<=--)(?=>)")
_LRC_MARKUP = re.compile(r"(?<=[\[<])(?=\s*\w+:)")


def srt(track: Track) -> str:
    blocks = []
    for number, (_, cue) in enumerate(track.cues(), 1):
        text = "\n".join(_SRT_MARKUP.sub(_BREAKER, line) for line in cue.lines)
        blocks.append(f"{number}\n{clock(cue.start_s, ',')} --> {clock(cue.stop_s, ',')}\n{text}\n")
    return "\n".join(blocks)


def vtt(track: Track) -> str:
    """W3C WebVTT: `&`, `<` and `>` are escaped, which also takes care of `-->`."""
    blocks = ["WEBVTT\n"]
    for _, cue in track.cues():
        text = "\n".join(cue.lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        blocks.append(f"{clock(cue.start_s, '.')} --> {clock(cue.stop_s, '.')}\n{text}\n")
    return "\n".join(blocks)


def lrc(track: Track) -> str:
    """One line a cue, `[mm:ss.xx]`; an empty line where the sound goes on without words for more than 5 seconds."""
    lines = [f"[ti:{_LRC_MARKUP.sub(_BREAKER, track.title)}]"] if track.title else []
    last_stop_s = 0.0
    for _, cue in track.cues():
        if lines and cue.start_s - last_stop_s > 5.0 and last_stop_s:
            lines.append(_lrc_clock(last_stop_s))
        lines.append(_lrc_clock(cue.start_s) + _LRC_MARKUP.sub(_BREAKER, on_one_line(cue.lines)))
        last_stop_s = cue.stop_s
    return "\n".join(lines) + "\n"


def as_json(track: Track) -> str:
    """Everything that is known, for other programs: docs/audiobooks.md."""
    values: dict[str, Any] = {
        "schema": 1,
        "audio": track.audio,
        "title": track.title,
        "duration_s": _rounded(track.duration_s),
        "segments": [
            {
                "item": line.item,
                "start_s": _rounded(line.start_s),
                "stop_s": _rounded(line.stop_s),
                "text": line.text,
                "source_start": line.source_start,
                "source_stop": line.source_stop,
                "language": line.language,
                "voice": line.voice,
                "words": [
                    {
                        "text": word.text,
                        "start_s": _rounded(word.start_s),
                        "stop_s": _rounded(word.stop_s),
                        "source_start": word.source_start,
                        "source_stop": word.source_stop,
                    }
                    for word in line.words
                ],
                "words_from": "recogniser" if line.words else None,
                "cues": [
                    {
                        "start_s": _rounded(cue.start_s),
                        "stop_s": _rounded(cue.stop_s),
                        "lines": list(cue.lines),
                        "estimated": cue.estimated,
                    }
                    for cue in line.cues
                ],
            }
            for line in track.lines
        ],
    }
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


WRITERS: Mapping[str, Callable[[Track], str]] = {"srt": srt, "vtt": vtt, "lrc": lrc, "json": as_json}


def clock(seconds: float, point: str) -> str:
    """`01:02:03,456`; hours take as many digits as they need."""
    whole, ms = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}{point}{ms:03d}"


def _lrc_clock(seconds: float) -> str:
    whole, hundredths = divmod(round(seconds * 100), 100)
    return f"[{whole // 60:02d}:{whole % 60:02d}.{hundredths:02d}]"


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
