"""A reference audio in figures: read once, mixed down, measured. It judges nothing; `reference.py` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.inputs import HEAD_BYTES, no_audio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cosyvoice.reference_end import Ending

    Floats = NDArray[np.float32]
    Levels = NDArray[np.float64]

READ_AT_MOST_S = 600.0
MAX_FILE_BYTES = 256 << 20
MAX_CHANNELS = 16
MAX_RATE_HZ = 384_000
MAX_SAMPLE = 16.0
"""Of full scale; more is a file of floats that holds whole numbers."""
_READ_BY_FFMPEG = (b"\x30\x26\xb2\x75", b"\x1aE\xdf\xa3")
_FRAME_S = 0.01
_BLOCK_SAMPLES = 1 << 16
_SHORTEST_SOUND_S = 0.03
_PAUSE_S = 0.1
"""Quiet shorter than this lies between the sounds of running speech."""


class Unreadable(Exception):
    """No audio that can be measured; the message says what the file is instead."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A quiet stretch between two stretches of speech."""

    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured. Levels in dB of full scale."""

    seconds: float
    rate_hz: int
    channels: int
    peak_db: float
    mix_loss_db: float
    """How much quieter the mix of all channels is than the loudest channel."""
    offset: float
    """Mean of the samples: a DC offset."""
    clipped_share: float
    """Share of the samples that stand at full scale or on a flat top."""
    speech_db: float
    floor_db: float
    """The noise behind the speech: level of the quietest fiftieth between the first and the last sound.

    Steady noise varies by about 1 dB from one 10 ms to the next, which is put back on.
    """
    speech_s: float
    """Time in which someone speaks, the short gaps in it included."""
    lead_s: float
    """Silence before the first sound."""
    tail_s: float
    """Silence after the last sound."""
    pauses: tuple[Pause, ...]
    above_4k_db: float
    """Energy of the speech above 4 kHz against that between 300 and 3400 Hz."""
    ending: Ending


def measure(audio: Path) -> Measures:
    """Read and measure a recording. Raises Unreadable."""
    samples, rate_hz, facts = load(audio)
    return measures_of(samples, rate_hz, facts)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the mix does not show."""

    seconds: float
    channels: int
    mix_loss_db: float
    format: str


def load(audio: Path) -> tuple[Floats, int, FileFacts]:
    """(mono mean of the channels [N], its rate, facts of the file). Raises Unreadable."""
    import soundfile

    try:
        size = audio.stat().st_size
        if size > MAX_FILE_BYTES:
            raise Unreadable(f"is larger than {MAX_FILE_BYTES >> 20} MB; a reference audio is at most 30 s long")
        with audio.open("rb") as stream, soundfile.SoundFile(stream) as file:
            return _read(file)
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror or error}); check the path and its permissions") from error
    except (soundfile.SoundFileError, TypeError, ValueError) as error:  # the library's words for a file it cannot read
        raise Unreadable(_what_instead(audio, str(error))) from error


def _what_instead(audio: Path, words: str) -> str:
    """What a file is that the library cannot read, and what to do."""
    with audio.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if fault := no_audio(head):
        return f"is {fault}"
    if head[4:8] == b"ftyp" or head.startswith(_READ_BY_FFMPEG):
        wav = audio.with_suffix(".wav").name
        return f"is M4A, AAC, WMA or WebM, which cloning does not read; convert it: ffmpeg -i {audio.name!r} {wav!r}"
    # The library names the stream that it was given: `Error opening <_io.BufferedReader name='x'>: reason`.
    reason = " ".join(words.rpartition(">: ")[2].split()).rstrip(".")
    return f"is no audio file that can be read ({reason[:160]}); convert it to WAV or FLAC"


def _read(file: Any) -> tuple[Floats, int, FileFacts]:
    import numpy as np

    rate_hz, channels = int(file.samplerate), int(file.channels)
    if channels > MAX_CHANNELS or not 1 <= rate_hz <= MAX_RATE_HZ:
        raise Unreadable(
            f"has {channels} channels at {rate_hz} Hz, which is no recording of a voice; convert it to mono"
        )
    limit = int(READ_AT_MOST_S * rate_hz)
    mixed: list[Floats] = []
    power = np.zeros(channels)
    total = 0
    while total < limit:
        block = file.read(min(_BLOCK_SAMPLES, limit - total), dtype="float32", always_2d=True)
        if not len(block):
            break
        total += len(block)
        if not np.isfinite(block).all():
            raise Unreadable("holds samples that are not finite numbers; record or convert it again")
        if np.abs(block).max() > MAX_SAMPLE:
            raise Unreadable(
                f"holds samples of {np.abs(block).max():.3g} times full scale; convert it with the right scale"
            )
        power += np.einsum("nc,nc->c", block, block, dtype=np.float64)
        mixed.append(block.mean(axis=1))
    samples = np.concatenate(mixed) if mixed else np.zeros(0, dtype=np.float32)
    told = float(file.frames) if 0 <= file.frames < 1 << 48 else 0.0
    seconds = (max(told, total) if total == limit else total) / rate_hz
    mix = float(np.dot(samples, samples.astype(np.float64)))
    loss = 10.0 * float(np.log10((power.max() + 1e-9) / (mix + 1e-9))) if channels > 1 else 0.0
    return samples, rate_hz, FileFacts(seconds, channels, max(0.0, loss), str(file.format))


def measures_of(samples: Floats, rate_hz: int, facts: FileFacts) -> Measures:
    """Measure a mono recording [N]."""
    import numpy as np

    from cosyvoice.reference_end import ending_of, frame_levels_db

    offset = float(samples.mean(dtype=np.float64)) if len(samples) else 0.0
    centred = samples - np.float32(offset)
    peak = float(np.abs(samples).max()) if len(samples) else 0.0
    levels = frame_levels_db(centred, rate_hz)
    speaking = _speaking(levels)
    sounding = np.flatnonzero(speaking)
    first, last = (int(sounding[0]), int(sounding[-1]) + 1) if len(sounding) else (0, 0)
    inner = levels[first:last]
    top = float(np.percentile(inner, 95)) if len(inner) else -120.0
    loud = inner[inner >= top - 20.0]
    return Measures(
        seconds=facts.seconds,
        rate_hz=rate_hz,
        channels=facts.channels,
        peak_db=20.0 * float(np.log10(max(peak, 1e-6))),
        mix_loss_db=facts.mix_loss_db,
        offset=offset,
        clipped_share=_clipped(samples, peak),
        speech_db=10.0 * float(np.log10(np.mean(10.0 ** (loud / 10.0)))) if len(loud) else -120.0,
        floor_db=float(np.percentile(inner, 2)) + 1.0 if len(inner) else -120.0,
        speech_s=float(speaking.sum()) * _FRAME_S,
        lead_s=first * _FRAME_S,
        tail_s=(len(levels) - last) * _FRAME_S,
        pauses=_pauses(speaking),
        above_4k_db=_above_4k(centred, rate_hz),
        ending=ending_of(centred, rate_hz),
    )


def _threshold(levels: Levels) -> float:
    """What is louder than this is sound: 35 dB below the speech, but over the noise, and within reach of the speech."""
    import numpy as np

    top, floor = (float(value) for value in np.percentile(levels, [95, 5]))
    return max(min(max(top - 35.0, floor + 6.0), top - 6.0), -70.0)


def _speaking(levels: Levels) -> NDArray[np.bool_]:
    """Which frames [F] are speech, short gaps in it included, clicks left out."""
    import numpy as np

    if not len(levels):
        return np.zeros(0, dtype=bool)
    sound = levels >= _threshold(levels)
    sound = _without_runs(sound, True, _SHORTEST_SOUND_S)
    return _without_runs(sound, False, _PAUSE_S, inner=True)


def _without_runs(
    flags: NDArray[np.bool_], value: bool, shorter_than_s: float, inner: bool = False
) -> NDArray[np.bool_]:
    """Flip runs of `value` that are shorter; `inner` leaves those at the ends as they are."""
    flipped = flags.copy()
    for start, end in _runs(flags, value):
        if (end - start) * _FRAME_S < shorter_than_s and not (inner and (start == 0 or end == len(flags))):
            flipped[start:end] = not value
    return flipped


def _runs(flags: NDArray[np.bool_], value: bool) -> list[tuple[int, int]]:
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags == value, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _pauses(speaking: NDArray[np.bool_]) -> tuple[Pause, ...]:
    runs = _runs(speaking, False)
    return tuple(Pause(a * _FRAME_S, b * _FRAME_S) for a, b in runs if a > 0 and b < len(speaking))


def _clipped(samples: Floats, peak: float) -> float:
    """Share of samples at full scale, or on a flat top: three and more equal ones in a row near the peak.

    The second finds what was clipped first and turned down later.
    """
    import numpy as np

    if peak < 0.01:
        return 0.0
    magnitude = np.abs(samples)
    near = magnitude >= 0.985 * peak
    equal = near[1:] & near[:-1] & (np.abs(np.diff(samples)) <= 1e-6)
    pairs = equal[1:] & equal[:-1]
    flat = np.zeros(len(samples), dtype=bool)
    for shift in range(3):
        flat[shift : shift + len(pairs)] |= pairs
    full = magnitude >= 0.9999
    return float((flat | full).mean())


def _above_4k(samples: Floats, rate_hz: int) -> float:
    """Long-term spectrum of the loud frames: telephone audio has nothing above 3.4 kHz, whatever its rate."""
    import numpy as np

    size = 1 << max(8, round(np.log2(0.032 * rate_hz)))
    count = len(samples) // size
    if count == 0 or rate_hz < 8_000:
        return 0.0
    frames = samples[: count * size].reshape(count, size) * np.hanning(size)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    loudness = power.sum(axis=1)
    heard = power[loudness >= loudness.max() * 1e-3].sum(axis=0)
    hz = np.fft.rfftfreq(size, 1.0 / rate_hz)
    low = heard[(hz >= 300) & (hz <= 3400)].sum()
    high = heard[(hz >= 4200) & (hz <= 8000)].sum()
    return 10.0 * float(np.log10((high + 1e-12) / (low + 1e-12)))
