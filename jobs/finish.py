"""From takes to one finished file: join, band-limit, resample, level, limit, encode, and measure what was written.

Heavy imports stay inside: a plan needs `FINISH_VERSION` and must start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.records import Gap, Measured

if TYPE_CHECKING:
    from jobs.blocks import Block
    from jobs.join import Layout
    from jobs.level import Setting
    from jobs.loudness import Meter
    from presets.catalog import Profile

FINISH_VERSION = "2"
"""Part of every fingerprint: a change that alters finished bytes raises it."""
ROUNDS = 3
LENGTH_ROUNDING = 64
"""Samples: each take of another rate rounds its own length."""
KEPT_SAMPLES = 1 << 21
"""A signal up to this length (8 MiB) is kept between rounds, a longer one is made anew."""


@dataclass(frozen=True, slots=True)
class Part:
    """One segment's accepted take: a raw little-endian float32 mono file, and the silence after it."""

    path: str
    sample_rate_hz: int
    samples: int
    gap: Gap


def finish(
    parts: Sequence[Part],
    lead_ms: int,
    pause_ms: int | None,
    profile: Profile,
    tags: Mapping[str, str],
    temporary: Path,
) -> Measured:
    """Make the file of one item under the name `temporary`, closed and synced; the caller renames it.

    `lead_ms` stands before the first part, beside the profile's head; `pause_ms` replaces the profile's pause between
    sentences. Raises OSError (disk), EnvironmentFault (ffmpeg missing), ValueError (no parts, a take that
    is not what its record says, or no audio), RuntimeError (the file does not read back), Refused (the profile's target
    would not take it).
    """
    from jobs.join import joined, lay_out

    if not parts:
        raise ValueError("an item needs at least one part; silence has its own function")
    layout = lay_out(parts, lead_ms, pause_ms, profile)
    return _settled(lambda: joined(layout), layout, profile, tags, temporary)


def silence(duration_ms: int, profile: Profile, tags: Mapping[str, str], temporary: Path) -> Measured:
    """A file of `duration_ms` with nothing in it (room tone, where the profile has it), otherwise as `finish`."""
    from jobs.blocks import zeros
    from jobs.join import Layout

    samples = max(1, round(duration_ms * profile.sample_rate_hz / 1000))
    layout = Layout((), samples, profile.sample_rate_hz, 0)
    return _settled(lambda: zeros(samples), layout, profile, tags, temporary)


def finish_signal(
    signal: Callable[[], Iterator[Block]],
    samples: int,
    rate_hz: int,
    profile: Profile,
    tags: Mapping[str, str],
    temporary: Path,
) -> Measured:
    """A file of a ready signal of `samples` samples, otherwise as `finish`; `signal()` may be asked several times."""
    from jobs.join import Layout

    return _settled(signal, Layout((), samples, rate_hz, 0), profile, tags, temporary)


def _kept(made: Callable[[], Iterator[Block]], samples: float) -> Callable[[], Iterable[Block]]:
    """A signal that may be asked for several times: short ones are kept, long ones made anew."""
    if samples > KEPT_SAMPLES:
        return made
    blocks = list(made())
    return lambda: blocks


def _settled(
    signal: Callable[[], Iterator[Block]], layout: Layout, profile: Profile, tags: Mapping[str, str], temporary: Path
) -> Measured:
    """The finished file, or an error and no file."""
    from jobs.acceptance import demand

    try:
        measured = _rounds(signal, layout, profile, tags, temporary)
        demand(temporary, profile, measured.duration_s)
        return measured
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _rounds(
    signal: Callable[[], Iterator[Block]], layout: Layout, profile: Profile, tags: Mapping[str, str], temporary: Path
) -> Measured:
    """Measure, then write and measure the file until level and ceiling are right: nearly always once or twice."""
    from jobs.blocks import band_limited, resampled
    from jobs.level import first_setting, is_above, level_db, lowered, next_setting

    rate_hz, speech_s = layout.rate_hz, layout.speech_s
    heard = _kept(lambda: band_limited(signal(), rate_hz, profile.highpass_hz, profile.lowpass_hz), layout.samples)
    length = layout.samples * profile.sample_rate_hz / rate_hz
    master = _kept(lambda: resampled(iter(heard()), rate_hz, profile.sample_rate_hz), length)
    before, _ = _measured(heard(), rate_hz, profile, draft=True)
    level = level_db(before, profile, speech_s) if profile.loudness != "none" else None
    setting: Setting | None = first_setting(before, profile, speech_s)
    tried: list[tuple[Setting, float | None]] = []
    while setting is not None:
        limited_db, notes = _write(master(), round(length), setting, profile, tags, temporary)
        after, samples = _read(temporary, profile, round(length))
        peak = after.true_peak_dbtp()
        tried.append((setting, None if level is None else level_db(after, profile, speech_s)))
        if len(tried) < ROUNDS:
            setting = next_setting(tried, peak, profile)
        elif len(tried) < 2 * ROUNDS:
            setting = lowered(setting, peak, profile)
        elif is_above(peak, profile):
            raise RuntimeError(f"the {profile.container} encoder lifts peaks to {peak:.1f} dBTP whatever it is given")
        else:
            setting = None
    return _report(after, samples, layout, tried[-1], limited_db, notes, profile, temporary)


def _measured(blocks: Iterable[Block], rate_hz: int, profile: Profile, draft: bool = False) -> tuple[Meter, int]:
    """Meter and sample count of a signal.

    Low rates are metered at 24 kHz, where K-weighting is true. A draft looks at nothing but the profile's level.
    """
    from jobs.blocks import resampled
    from jobs.loudness import Meter

    method = profile.loudness
    meter_hz = rate_hz if rate_hz >= 22_050 or (draft and method != "lufs") else 24_000
    loudness = method == "lufs" or not draft
    meter = Meter(meter_hz, profile.channels, loudness=loudness, speech=method == "speech", true_peak=not draft)
    samples = 0

    def counted() -> Iterator[Block]:
        nonlocal samples
        for block in blocks:
            samples += len(block)
            yield block

    for block in resampled(counted(), rate_hz, meter_hz):
        meter.feed(block)
    return meter.finish(), samples


def _write(
    blocks: Iterable[Block], samples: int, setting: Setting, profile: Profile, tags: Mapping[str, str], temporary: Path
) -> tuple[float, list[str]]:
    """One round of writing. Returns the limiter's deepest reduction and the encoder's notes."""
    from jobs.blocks import scaled
    from jobs.encode import write
    from jobs.limiter import Limiter
    from jobs.room_tone import with_room_tone

    limiter = Limiter(profile.sample_rate_hz, setting.limit_dbtp)
    toned = with_room_tone(scaled(blocks, setting.gain_db), profile.sample_rate_hz, profile.room_tone_db)
    notes = write(limiter.limited(toned), samples, profile, tags, temporary)
    return limiter.deepest_db, notes


def _read(temporary: Path, profile: Profile, samples: int) -> tuple[Meter, int]:
    """The finished file, measured, and its length, which is `samples` within rounding; lossy codecs may add 0.1 s."""
    from jobs.encode import read_back

    meter, found = _measured(read_back(temporary, profile), profile.sample_rate_hz, profile)
    lossless = profile.container in ("wav", "raw", "flac") and profile.encoding not in ("gsm", "g722")
    padded = profile.multiple_samples or 0
    if abs(found - samples) > padded + (LENGTH_ROUNDING if lossless else profile.sample_rate_hz // 10):
        raise RuntimeError(f"{temporary.name}: {samples} samples were written, {found} read back")
    return meter, found if lossless else samples


def _report(
    meter: Meter,
    samples: int,
    layout: Layout,
    last: tuple[Setting, float | None],
    limited_db: float,
    notes: list[str],
    profile: Profile,
    temporary: Path,
) -> Measured:
    from jobs.level import remarks

    setting, level = last
    lufs = level if profile.loudness == "lufs" else meter.integrated_lufs()
    return Measured(
        duration_s=samples / profile.sample_rate_hz,
        sample_rate_hz=profile.sample_rate_hz,
        channels=profile.channels,
        loudness_lufs=lufs,
        rms_db=meter.rms_db(),
        true_peak_dbtp=meter.true_peak_dbtp(),
        gain_db=setting.gain_db,
        limited_db=limited_db,
        size_bytes=temporary.stat().st_size,
        waveform=meter.waveform(),
        segment_starts_s=layout.starts_s,
        notes=(*notes, *remarks(meter, samples / profile.sample_rate_hz, layout, last, limited_db, profile)),
    )
