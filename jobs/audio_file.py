"""Any audio file as it is: what its container says, and its samples in blocks. libsndfile first, ffmpeg for the rest.

A headerless file says nothing about itself: its suffix does, as Asterisk reads it (formats/format_pcm.c, format_sln.c).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import soundfile
from numpy.typing import NDArray

from jobs.blocks import BLOCK_SAMPLES
from jobs.ffmpeg import ffmpeg_path
from jobs.mp3_frames import mp3_rates

Wide: TypeAlias = NDArray[np.float32]
"""Samples [N, channels]."""

_RAW: dict[str, tuple[str, int]] = {
    **dict.fromkeys((".ulaw", ".ul", ".mu", ".ulw", ".mulaw", ".pcmu"), ("ULAW", 8000)),
    **dict.fromkeys((".alaw", ".al", ".alw", ".pcma"), ("ALAW", 8000)),
    **dict.fromkeys((".sln", ".slin", ".raw"), ("PCM_16", 8000)),
    **{f".sln{khz}": ("PCM_16", 1000 * khz) for khz in (12, 16, 24, 32, 48, 96, 192)},
    ".sln44": ("PCM_16", 44100),
    ".gsm": ("GSM610", 8000),
}
_SUBTYPES = {"pcm16": "PCM_16", "ulaw": "ULAW", "alaw": "ALAW", "gsm": "GSM610"}
_CODECS = {
    "PCM_16": ("pcm16", 16), "PCM_24": ("pcm24", 24), "PCM_32": ("pcm32", 32), "PCM_U8": ("pcm8", 8),
    "PCM_S8": ("pcm8", 8), "FLOAT": ("float", 32), "DOUBLE": ("double", 64), "ULAW": ("ulaw", 8), "ALAW": ("alaw", 8),
    "GSM610": ("gsm", None), "VORBIS": ("vorbis", None), "OPUS": ("opus", None), "MPEG_LAYER_III": ("mp3", None),
}  # fmt: skip
_CONTAINERS = {"WAVEX": "wav", "WAV": "wav", "RF64": "wav", "OGG": "ogg", "RAW": "raw"}
_STREAM = re.compile(r"Stream #\d+:\d+.*?: Audio: ([a-z0-9_]+)[^\n]*?, (\d+) Hz, ([^,\n]+)")
_INPUT = re.compile(r"Input #0, ([^\n]+), from ")
_LAYOUTS = {"mono": 1, "stereo": 2, "quad": 4, "hexagonal": 6, "octagonal": 8, "downmix": 2}
READ_TIMEOUT_S = 30


class Unreadable(ValueError):
    """This is no audio that libsndfile or ffmpeg reads; the message says what they found."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file is, before any sample is heard."""

    container: str
    """`wav raw flac ogg opus mp3 m4a …`"""
    codec: str
    """`pcm16 pcm24 float ulaw alaw gsm mp3 vorbis opus aac …`"""
    sample_rate_hz: int
    channels: int
    bits: int | None
    """Per sample; None where the codec has no such thing."""
    size_bytes: int
    bitrate_kbps: float | None = None
    """Of the audio alone; None: to be taken from size and duration."""
    constant_rate: bool | None = None
    """Every frame has the same bit rate. None: not known."""


@dataclass(frozen=True, slots=True)
class AudioFile:
    path: Path
    facts: Facts
    _raw: tuple[str, int] | None
    _sndfile: bool

    def blocks(self) -> Iterator[Wide]:
        """All samples [N, channels]. Raises Unreadable where the audio is damaged."""
        try:
            yield from self._libsndfile() if self._sndfile else _decoded(self.path, self.facts)
        except soundfile.LibsndfileError as error:
            raise Unreadable(f"damaged audio: {error.error_string.strip()}") from None

    def _libsndfile(self) -> Iterator[Wide]:
        with soundfile.SoundFile(self.path, "r", **_options(self._raw)) as file:
            while len(block := file.read(BLOCK_SAMPLES, "float32", always_2d=True)):
                yield block


def open_audio(path: Path, headerless: tuple[str, int] | None = None) -> AudioFile:
    """What the file is. Raises OSError where it cannot be opened, Unreadable where it is no audio.

    `headerless` is (encoding, rate in Hz) of a file that says nothing of itself, where its suffix would mislead.
    """
    with path.open("rb") as file:
        empty = not file.read(1)
    if empty:
        raise Unreadable("the file is empty")
    raw = _RAW.get(path.suffix.lower()) if path.suffix != ".RAW" else None
    if headerless is not None and headerless[0] in _SUBTYPES:
        raw = _SUBTYPES[headerless[0]], headerless[1]
    if raw is not None and _has_header(path):
        raw = None
    try:
        info = soundfile.info(str(path)) if raw is None else None
        if info is None:
            with soundfile.SoundFile(path, "r", **_options(raw)) as file:
                return AudioFile(path, _facts(file, path), raw, True)
        if info.format in ("WAV", "WAVEX") and info.subtype == "MPEG_LAYER_III":
            return _by_ffmpeg(path)
        return AudioFile(path, _facts(info, path), None, True)
    except soundfile.LibsndfileError as error:
        try:
            return _by_ffmpeg(path)
        except Unreadable as second:
            raise Unreadable(f"libsndfile: {error.error_string.strip()} ffmpeg: {second}") from None


def _options(raw: tuple[str, int] | None) -> dict[str, Any]:
    if raw is None:
        return {}
    return {"format": "RAW", "subtype": raw[0], "samplerate": raw[1], "channels": 1, "endian": "LITTLE"}


def _has_header(path: Path) -> bool:
    """A WAV that was only called `.ulaw` must be told as what it is."""
    with path.open("rb") as file:
        return file.read(4) in (b"RIFF", b"RF64", b"fLaC", b"OggS", b".snd")


def _facts(info: Any, path: Path) -> Facts:
    """From soundfile's info or open file, which name things alike."""
    codec, bits = _CODECS.get(info.subtype, (info.subtype.lower(), None))
    container = _CONTAINERS.get(info.format, info.format.lower())
    rate, constant, size = None, None, path.stat().st_size
    if container == "mp3" or codec == "mp3":
        container = codec = "mp3"
        rate, constant = mp3_rates(path)
    elif bits is not None and container != "flac":
        rate, constant = bits * info.samplerate * info.channels / 1000, True
    elif codec == "gsm":
        rate, constant = 13.2 if container == "raw" else 13.0, True
    if codec == "opus":
        container = "opus"
    return Facts(container, codec, info.samplerate, info.channels, bits, size, rate, constant)


def _by_ffmpeg(path: Path) -> AudioFile:
    """What ffmpeg says of the file: it prints the streams of an input even when it is asked for no output."""
    command = [ffmpeg_path(), "-hide_banner", "-nostdin", "-protocol_whitelist", "file,pipe", "-i", f"file:{path}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=READ_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"no answer within {READ_TIMEOUT_S} s") from None
    words = done.stderr.decode("utf-8", "replace")
    found = _STREAM.search(words)
    if found is None:
        raise Unreadable(f"{(words.strip().splitlines() or ['no audio stream'])[-1]}"[:200])
    channels = _channels(found[3].strip())
    kind = (_INPUT.search(words) or ["", ""])[1]
    container = "m4a" if "m4a" in kind else path.suffix.lower().lstrip(".") or kind.split(",")[0]
    kbps = re.search(r", (\d+) kb/s", found[0] + words[found.end() : words.find("\n", found.end())])
    rate = float(kbps[1]) if kbps else None
    size = path.stat().st_size
    if found[1] == "adpcm_g722":
        return AudioFile(path, Facts("raw", "g722", int(found[2]), channels, None, size, 64.0, True), None, False)
    return AudioFile(path, Facts(container, found[1], int(found[2]), channels, None, size, rate), None, False)


def _channels(layout: str) -> int:
    """`mono`, `5.1(side)`, `3 channels` -> how many."""
    if found := re.match(r"(\d+) channels", layout):
        return int(found[1])
    if found := re.match(r"(\d)\.(\d)(?:\.(\d))?", layout):
        return sum(int(digit or 0) for digit in found.groups())
    if layout.split("(")[0] in _LAYOUTS:
        return _LAYOUTS[layout.split("(")[0]]
    raise Unreadable(f"channels called {layout!r} are not understood")


def _decoded(path: Path, facts: Facts) -> Iterator[Wide]:
    command = [ffmpeg_path(), "-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe", "-i", f"file:{path}"]
    command += ["-map", "0:a:0", "-f", "f32le", "pipe:1"]
    frame_bytes = 4 * facts.channels
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints) as process:
            assert process.stdout is not None
            while data := process.stdout.read(BLOCK_SAMPLES * frame_bytes):
                whole = len(data) // frame_bytes * frame_bytes
                yield np.frombuffer(data[:whole], "<f4").reshape(-1, facts.channels)
        complaints.seek(0)
        words = complaints.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise Unreadable(f"ffmpeg could not decode it: {words[-200:] or 'no message'}")
