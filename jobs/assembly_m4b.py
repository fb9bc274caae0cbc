"""A whole book into one M4B: written, decoded and measured until no peak is above the ceiling, its marks compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs import m4b
from jobs.assembly_plan import Placed
from jobs.assembly_signal import Gains, book_signal
from jobs.cover import Cover
from jobs.ffmpeg import decode
from jobs.level import PEAK_MARGIN_DB
from jobs.limiter import Limiter
from jobs.loudness import Meter
from jobs.room_tone import with_room_tone

if TYPE_CHECKING:
    from presets.catalog import Profile

ROUNDS = 4


def bind(
    book: Sequence[Placed],
    marks: Sequence[m4b.Mark],
    gains: Gains,
    profile: Profile,
    tags: Mapping[str, str],
    cover: Cover | None,
    path: Path,
) -> dict[str, Any]:
    """Make the file and return what was measured on it; a peak may still be above the ceiling after the last round.

    Raises OSError, EnvironmentFault, or RuntimeError where the file does not read back as it was written.
    """
    rate_hz, total = profile.sample_rate_hz, sum(placed.samples for placed in book)
    limit_dbtp = profile.ceiling_dbtp - PEAK_MARGIN_DB["m4a"]
    facts: dict[str, Any] = {}
    for _ in range(ROUNDS):
        limiter = Limiter(rate_hz, limit_dbtp)
        signal = with_room_tone(book_signal(book, rate_hz, gains), rate_hz, profile.room_tone_db)
        m4b.write(limiter.limited(signal), total, marks, profile, tags, cover, path)
        facts = {**_measured(path, total, profile), "limited_db": limiter.deepest_db}
        peak = facts["true_peak_dbtp"]
        if peak is None or peak <= profile.ceiling_dbtp:
            break
        limit_dbtp -= peak - profile.ceiling_dbtp + 0.1
    m4b.check_marks(path, marks, rate_hz)
    return facts


def _measured(path: Path, samples: int, profile: Profile) -> dict[str, Any]:
    """The finished book, decoded again."""
    meter = Meter(profile.sample_rate_hz, profile.channels)
    for block in decode(path, profile.sample_rate_hz, profile.channels):
        meter.feed(block)
    meter.finish()
    if abs(meter.samples - samples) > profile.sample_rate_hz // 10:
        raise RuntimeError(f"{path.name}: {samples} samples were written, {meter.samples} read back")
    return {
        "loudness_lufs": meter.integrated_lufs(),
        "rms_db": meter.rms_db(),
        "true_peak_dbtp": meter.true_peak_dbtp(),
        "noise_floor_db": meter.noise_floor_db(),
    }
