"""Which gain takes a signal to its profile's level, and what to change when the finished file is not there yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobs.limiter import RELEASE_DB_PER_S

if TYPE_CHECKING:
    from jobs.join import Layout
    from jobs.loudness import Meter
    from presets.catalog import Profile

SHORT_SPEECH_S = 0.4
"""BS.1770 gates blocks of 400 ms: speech shorter than one is measured as a single ungated block."""
LEVEL_TOLERANCE_DB = 0.15
PEAK_MARGIN_DB = {"wav": 0.1, "raw": 0.1, "flac": 0.1, "mp3": 0.25, "ogg": 0.5, "opus": 0.5, "m4a": 0.5}
G711_MARGIN_DB = 0.25
GSM_MARGIN_DB = 1.5
"""How far under the ceiling the limiter works: other true-peak meters differ a little, lossy codecs overshoot."""
QUIETEST_DB = -70.0
HEARD_LIMIT_DB = 10.0
"""A limiter that takes more than this may be heard: worth a remark."""


def level_db(meter: Meter, profile: Profile, speech_s: float) -> float | None:
    """What the profile's method shows for a signal with so much speech; None for (near) silence."""
    if profile.loudness == "rms":
        rms = meter.rms_db()
        return None if rms is None or rms < QUIETEST_DB else rms
    if profile.loudness == "speech":
        return meter.speech_db()
    return meter.ungated_lufs(speech_s) if speech_s < SHORT_SPEECH_S else meter.integrated_lufs()


@dataclass(frozen=True, slots=True)
class Setting:
    """How one round of writing is done."""

    gain_db: float
    limit_dbtp: float
    held: bool = False
    """The gain stopped at the profile's greatest."""


def first_setting(meter: Meter, profile: Profile, speech_s: float) -> Setting:
    """The gain for a signal not yet finished, the limiter's share foreseen; none for silence, which must stay quiet."""
    of_codec = {"ulaw": G711_MARGIN_DB, "alaw": G711_MARGIN_DB, "gsm": GSM_MARGIN_DB}
    limit = profile.ceiling_dbtp - of_codec.get(profile.encoding, PEAK_MARGIN_DB[profile.container])
    level = None if profile.target_db is None else level_db(meter, profile, speech_s)
    if level is None or profile.target_db is None:
        return Setting(0.0, limit)
    gain_db = profile.target_db - level
    for _ in range(16):
        foreseen = level_db(
            meter.limited(min(gain_db, profile.max_gain_db), limit, RELEASE_DB_PER_S), profile, speech_s
        )
        if foreseen is None or abs(profile.target_db - foreseen) < 0.02:
            break
        gain_db += profile.target_db - foreseen
    return _held(gain_db, limit, profile)


def next_setting(
    tried: list[tuple[Setting, float | None]], peak_dbtp: float | None, profile: Profile
) -> Setting | None:
    """What to change after the rounds so far (setting, level reached), or None if the last file is right."""
    setting, level = tried[-1]
    over = 0.0 if peak_dbtp is None else peak_dbtp - profile.ceiling_dbtp
    error = 0.0 if level is None or profile.target_db is None else profile.target_db - level
    limit = setting.limit_dbtp - (over + 0.05 if over > 0 else 0.0)
    if abs(error) <= LEVEL_TOLERANCE_DB or (error > 0 and setting.held):
        return replace(setting, limit_dbtp=limit) if over > 0 else None
    return _held(setting.gain_db + error / _slope(tried), limit, profile)


def is_above(peak_dbtp: float | None, profile: Profile) -> bool:
    return peak_dbtp is not None and peak_dbtp > profile.ceiling_dbtp


def lowered(setting: Setting, peak_dbtp: float | None, profile: Profile) -> Setting | None:
    """The level gives way so that the ceiling holds; None if it does."""
    if peak_dbtp is None or not is_above(peak_dbtp, profile):
        return None
    drop = peak_dbtp - profile.ceiling_dbtp + 0.1
    return Setting(setting.gain_db - drop, setting.limit_dbtp - drop, setting.held)


def _slope(tried: list[tuple[Setting, float | None]]) -> float:
    """How much level one dB of gain brings: less than 1 where the limiter takes its share."""
    if len(tried) < 2:
        return 1.0
    (before, low), (after, high) = tried[-2:]
    step = after.gain_db - before.gain_db
    if low is None or high is None or abs(step) < 0.01:
        return 1.0
    return min(1.0, max(0.25, (high - low) / step))


def _held(gain_db: float, limit_dbtp: float, profile: Profile) -> Setting:
    return Setting(min(gain_db, profile.max_gain_db), limit_dbtp, gain_db > profile.max_gain_db)


def remarks(
    meter: Meter,
    duration_s: float,
    layout: Layout,
    last: tuple[Setting, float | None],
    limited_db: float,
    profile: Profile,
) -> list[str]:
    """What a person may want to know about a finished file."""
    setting, level = last
    notes = []
    if level is None and profile.target_db is not None and layout.pieces:
        notes.append("nothing loud enough to measure: not amplified")
    if setting.held:
        notes.append(f"gain held at {profile.max_gain_db:+.0f} dB")
    if level is not None and profile.target_db is not None and abs(level - profile.target_db) > 0.3:
        notes.append(f"level is {level:.1f} dB, the profile asks for {profile.target_db:.1f}")
    if limited_db > HEARD_LIMIT_DB:
        notes.append(f"the limiter took up to {limited_db:.1f} dB off the peaks")
    if profile.loudness == "lufs" and layout.pieces and layout.speech_s < SHORT_SPEECH_S:
        notes.append("less than 400 ms of speech: loudness taken over the speech alone, ungated")
    floor = meter.noise_floor_db()
    if profile.max_noise_db is not None and floor is not None and floor > profile.max_noise_db:
        notes.append(f"noise floor is {floor:.1f} dB, the profile allows {profile.max_noise_db:.0f}")
    if profile.max_minutes is not None and duration_s > profile.max_minutes * 60:
        notes.append(f"{duration_s / 60:.1f} minutes long, the profile allows {profile.max_minutes:g}")
    return notes
