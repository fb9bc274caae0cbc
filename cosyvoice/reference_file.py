"""A reference audio from its file: bytes, then samples. Knows no network and no torch."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from cosyvoice.features import Floats
from cosyvoice.reference_end import with_quiet_end

MAX_REFERENCE_S = 30.0
MIN_REFERENCE_S = 0.1
_MAX_FILE_BYTES = 256 << 20


class BadReference(ValueError):
    """A reference audio from which no voice can be made; the message is for the person who chose it."""


def read_bytes(audio: Path) -> bytes:
    """The file's content. Raises BadReference where it cannot be read or is far too large."""
    try:
        if audio.stat().st_size > _MAX_FILE_BYTES:
            raise BadReference(f"{audio} is larger than {_MAX_FILE_BYTES >> 20} MB: a reference is at most 30 s long")
        return audio.read_bytes()
    except OSError as error:
        raise BadReference(f"{audio} cannot be read: {error.strerror or error}") from error


def decode(audio: Path, content: bytes) -> tuple[Floats, int]:
    """Mono samples [N], a quiet end added where there is none, and their rate. Raises BadReference."""
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            seconds = file.frames / file.samplerate
            if seconds > MAX_REFERENCE_S:
                raise BadReference(f"{audio} is {seconds:.1f} s long, the model takes at most {MAX_REFERENCE_S:.0f} s")
            if seconds < MIN_REFERENCE_S:
                raise BadReference(f"{audio} is only {seconds:.3f} s long; 3 to 10 s are good")
            samples = file.read(dtype="float32", always_2d=True).mean(axis=1)
            rate_hz = int(file.samplerate)
    except soundfile.SoundFileError as error:
        raise BadReference(f"{audio} is no audio file that can be read: {error}") from error
    if not np.isfinite(samples).all():
        raise BadReference(f"{audio} holds samples that are not finite numbers")
    return with_quiet_end(samples, rate_hz)[: int(MAX_REFERENCE_S * rate_hz)], rate_hz
