"""One signal into one file of a profile's format, and back: what is measured is what was written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile

from jobs import ffmpeg, ogg
from jobs.blocks import BLOCK_SAMPLES, Block, gathered, scaled
from jobs.tags import completed, id3

if TYPE_CHECKING:
    from presets.catalog import Profile

WAV_LIMIT_BYTES = (1 << 32) - (1 << 16)
_SUBTYPES = {
    "pcm16": "PCM_16", "pcm24": "PCM_24", "float": "FLOAT", "ulaw": "ULAW", "alaw": "ALAW", "vorbis": "VORBIS",
    "opus": "OPUS", "gsm": "GSM610",
}  # fmt: skip
_SAMPLE_BYTES = {"pcm16": 2, "pcm24": 3, "float": 4, "ulaw": 1, "alaw": 1, "gsm": 1}
_TAGS = {"title": "title", "artist": "artist", "album": "album", "track": "tracknumber", "genre": "genre"}
_TAGS |= {"date": "date", "comment": "comment"}


def lame_loss_db(profile: Profile) -> float:
    """What LAME takes off before it encodes at a constant bit rate (measured; its preset table scales by 0.95-0.98)."""
    if profile.container != "mp3" or profile.encoding != "cbr" or profile.bitrate_kbps is None:
        return 0.0
    steps = ((256, 0.0), (224, 0.1755), (192, 0.2646))
    return next((loss for kbps, loss in steps if profile.bitrate_kbps >= kbps), 0.4455)


def write(blocks: Iterable[Block], samples: int, profile: Profile, tags: Mapping[str, str], path: Path) -> list[str]:
    """Encode `samples` mono samples at the profile's rate into `path`, closed and on the disk. Returns notes.

    Raises OSError (full, read-only), EnvironmentFault (no ffmpeg), ValueError (too long for the format).
    """
    words = completed(tags) if profile.tags else {}
    blocks = _whole(blocks, profile.multiple_samples or 1)
    notes: list[str] = []
    if profile.container == "mp3":
        _mp3(blocks, profile, words, path)
    elif profile.container == "m4a":
        _m4a(blocks, profile, words, path)
    elif profile.encoding == "g722":
        ffmpeg.encode(blocks, profile.sample_rate_hz, 1, ["-c:a", "g722", "-f", "g722"], path)
    else:
        notes = _libsndfile(blocks, samples, profile, words, path)
    if profile.container in ("ogg", "opus"):
        ogg.set_serial(path)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return notes


def read_back(path: Path, profile: Profile) -> Iterator[Block]:
    """The first channel of a finished file, decoded, in blocks."""
    if profile.container == "m4a":
        yield from ffmpeg.decode(path, profile.sample_rate_hz, profile.channels)
        return
    if profile.encoding == "g722":
        yield from ffmpeg.decode(path, profile.sample_rate_hz, 1, "g722")
        return
    with soundfile.SoundFile(path, "r", **_raw(profile)) as file:
        if (file.samplerate, file.channels) != (profile.sample_rate_hz, profile.channels):
            raise RuntimeError(f"{path.name} reads back as {file.samplerate} Hz, {file.channels} channels")
        while len(block := file.read(BLOCK_SAMPLES, "float32", always_2d=True)):
            yield np.ascontiguousarray(block[:, 0])


def _whole(blocks: Iterable[Block], multiple: int) -> Iterator[Block]:
    """The signal, then silence up to a multiple of so many samples."""
    samples = 0
    for block in blocks:
        samples += len(block)
        yield block
    if missing := -samples % multiple:
        yield np.zeros(missing, np.float32)


def _raw(profile: Profile) -> dict[str, Any]:
    """A headerless file says nothing about itself."""
    if profile.container != "raw":
        return {}
    return {
        "format": "RAW",
        "subtype": _SUBTYPES[profile.encoding],
        "samplerate": profile.sample_rate_hz,
        "channels": profile.channels,
        "endian": "LITTLE",
    }


def _libsndfile(
    blocks: Iterable[Block], samples: int, profile: Profile, tags: Mapping[str, str], path: Path
) -> list[str]:
    options, notes = _options(profile), []
    if options["format"] == "WAV" and samples * profile.channels * _SAMPLE_BYTES[profile.encoding] > WAV_LIMIT_BYTES:
        if profile.encoding in ("ulaw", "alaw", "gsm"):
            raise ValueError("longer than a WAV file of 4 GiB can hold: split the item")
        options["format"] = "RF64"
        notes.append("longer than 4 GiB: written as RF64")
    with path.open("wb+", buffering=0) as raw:
        target = _Target(raw)
        try:
            with soundfile.SoundFile(target, "w", **options) as file:
                for name, text in tags.items():
                    if name in _TAGS:
                        setattr(file, _TAGS[name], text)
                for block in gathered(blocks):
                    _put(file, block, profile)
        except (soundfile.LibsndfileError, AssertionError) as error:
            raise target.error or error from None
        if target.error:
            raise target.error
    return notes


class _Target:
    """A file as libsndfile's callbacks want it: they must not raise, so the first error is kept for afterwards."""

    def __init__(self, raw: FileIO) -> None:
        self.error: OSError | None = None
        self.seek, self.tell, self.read = raw.seek, raw.tell, raw.read
        self._raw = raw

    def write(self, data: bytes) -> int:
        try:
            done = 0
            while done < len(data):
                done += self._raw.write(data[done:])
        except OSError as error:
            self.error = self.error or error
            self.error.filename = self._raw.name
        return done

    def flush(self) -> None:
        """Nothing is held back; the caller syncs once, after the header is final."""


def _options(profile: Profile) -> dict[str, Any]:
    if profile.container == "raw":
        return _raw(profile)
    form = {"wav": "WAV", "flac": "FLAC", "ogg": "OGG", "opus": "OGG"}[profile.container]
    options: dict[str, Any] = {
        "format": form,
        "subtype": _SUBTYPES[profile.encoding],
        "samplerate": profile.sample_rate_hz,
        "channels": profile.channels,
    }
    if profile.container == "opus" and profile.bitrate_kbps:
        # libsndfile spreads 6 to 256 kbit/s per channel over its compression levels 1 to 0.
        per_channel = profile.bitrate_kbps / profile.channels
        options["compression_level"] = min(0.999, max(0.0, 1 - (per_channel - 6) / 250))
    if profile.container == "ogg":
        options["compression_level"] = 0.5
    return options


def _put(file: soundfile.SoundFile, block: Block, profile: Profile) -> None:
    """Samples as the file stores them. 16 bit is rounded, not dithered: pauses stay silent, speech is noise enough."""
    if profile.encoding in ("pcm16", "ulaw", "alaw", "gsm"):
        block = _pcm16(block)
    file.write(np.repeat(block, profile.channels).reshape(-1, profile.channels) if profile.channels > 1 else block)


def _pcm16(block: Block) -> Any:
    return np.clip(np.rint(block * 32768.0), -32768, 32767).astype("<i2")


def _mp3(blocks: Iterable[Block], profile: Profile, tags: Mapping[str, str], path: Path) -> None:
    rate = ["-b:a", f"{profile.bitrate_kbps}k"] if profile.encoding == "cbr" else ["-q:a", "4"]
    codec = ["-c:a", "libmp3lame", *rate, "-compression_level", "5", "-id3v2_version", "0", "-write_id3v1", "0"]
    bare = path.with_name(path.name + ".bare")
    try:
        loud = scaled(blocks, lame_loss_db(profile))
        ffmpeg.encode(loud, profile.sample_rate_hz, profile.channels, [*codec, "-f", "mp3"], bare)
        with path.open("wb") as file, bare.open("rb") as body:
            file.write(id3(tags))
            while data := body.read(1 << 20):
                file.write(data)
    finally:
        bare.unlink(missing_ok=True)


def _m4a(blocks: Iterable[Block], profile: Profile, tags: Mapping[str, str], path: Path) -> None:
    """AAC by pydub, from a memory map of the PCM: pydub wants the whole signal, the system pages it."""
    segment_class, could_not_encode = _pydub()
    raw = path.with_name(path.name + ".pcm")
    try:
        with raw.open("wb") as file:
            for block in blocks:
                file.write(np.repeat(_pcm16(block), profile.channels).tobytes())
        segment_class(
            data=np.memmap(raw, "u1", "r"),
            sample_width=2,
            frame_rate=profile.sample_rate_hz,
            channels=profile.channels,
        ).export(
            path,
            format="ipod",
            codec="aac",
            bitrate=f"{profile.bitrate_kbps}k",
            tags=dict(tags),
            parameters=["-fflags", "+bitexact", "-flags", "+bitexact", "-threads", "1"],
        ).close()
    except could_not_encode as error:
        ffmpeg.raise_disk_fault(str(error), 1, path)
        raise RuntimeError(f"pydub could not write {path.name}: {error}") from error
    finally:
        raw.unlink(missing_ok=True)


def _pydub() -> tuple[Any, type[Exception]]:
    """pydub's AudioSegment, pointed at our ffmpeg, and its error. Its warnings about ffmpeg would mislead."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pydub import AudioSegment
        from pydub.exceptions import CouldntEncodeError

    AudioSegment.converter = ffmpeg.ffmpeg_path()
    return AudioSegment, CouldntEncodeError
