"""A file's figures held against a profile: one row for each demand, found, wanted and verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jobs.inspect import Inspected
    from presets.profile import Profile

Verdict = Literal["pass", "fail", "unclear"]
CODEC_OF = {"cbr": "mp3", "vbr": "mp3"}
BITRATE_TOLERANCE = 0.02
"""Mean bit rates of short files lie a little off."""


@dataclass(frozen=True, slots=True)
class Check:
    """One demand."""

    what: str
    found: str
    wanted: str
    verdict: Verdict


def check_file(file: Inspected, profile: Profile) -> list[Check]:
    """Every demand of the profile on one file; `unclear` where the file is too short to be measured."""
    return [
        *_format(file, profile),
        *_level(file, profile),
        *_times(file, profile),
        *_name(PurePath(file.path).name, profile),
    ]


def check_set(files: Sequence[Inspected]) -> list[Check]:
    """What a shop demands of all files of one book or prompt set together."""
    checks = []
    for what, values in (
        ("same channels", sorted({file.facts.channels for file in files})),
        ("same sample rate", sorted({file.facts.sample_rate_hz for file in files})),
        ("same format", sorted({f"{file.facts.container} {file.facts.codec}" for file in files})),
    ):
        found = ", ".join(map(str, values))
        checks.append(Check(what, found, "one for all files", _verdict(len(values) <= 1)))
    return checks


def _verdict(good: bool) -> Verdict:
    return "pass" if good else "fail"


def _format(file: Inspected, profile: Profile) -> Iterator[Check]:
    facts = file.facts
    yield Check("container", facts.container, profile.container, _verdict(facts.container == profile.container))
    codec = CODEC_OF.get(profile.encoding, profile.encoding)
    yield Check("codec", facts.codec, codec, _verdict(facts.codec == codec))
    rate = profile.sample_rate_hz
    # An Opus file is always decoded at 48 kHz, whatever rate went in.
    same_rate = facts.sample_rate_hz == rate or codec == "opus"
    yield Check("sample rate", f"{facts.sample_rate_hz} Hz", f"{rate} Hz", _verdict(same_rate))
    yield Check("channels", str(facts.channels), str(profile.channels), _verdict(facts.channels == profile.channels))
    least = profile.accept.min_bitrate_kbps
    if profile.encoding == "cbr":
        least = least if least is not None else profile.bitrate_kbps
        kind = {True: "constant", False: "varying", None: "unknown"}[facts.constant_rate]
        yield Check("bit rate kind", kind, "constant", _verdict(facts.constant_rate is True))
    if least is not None:
        good = file.bitrate_kbps >= least * (1 - BITRATE_TOLERANCE)
        yield Check("bit rate", f"{file.bitrate_kbps:.0f} kbit/s", f"at least {least:g} kbit/s", _verdict(good))
    if profile.accept.max_bytes is not None:
        most = profile.accept.max_bytes
        yield Check("size", f"{facts.size_bytes} bytes", f"at most {most} bytes", _verdict(facts.size_bytes <= most))


def _level(file: Inspected, profile: Profile) -> Iterator[Check]:
    accept = profile.accept
    if profile.loudness != "none" and profile.target_db is not None:
        found = {"lufs": file.loudness_lufs, "rms": file.rms_db, "speech": file.speech_db}[profile.loudness]
        name = {"lufs": "loudness", "rms": "RMS", "speech": "active-speech level"}[profile.loudness]
        unit = "LUFS" if profile.loudness == "lufs" else "dB"
        low = profile.target_db - accept.level_tolerance_db if accept.level_min_db is None else accept.level_min_db
        high = profile.target_db + accept.level_tolerance_db if accept.level_max_db is None else accept.level_max_db
        yield _between(name, found, low, high, unit, silent="fail" if file.duration_s >= 0.4 else "unclear")
    sample = accept.peak == "sample"
    peak = file.sample_peak_dbfs if sample else file.true_peak_dbtp
    name, unit = ("sample peak", "dBFS") if sample else ("true peak", "dBTP")
    yield _between(name, peak, None, profile.ceiling_dbtp, unit, silent="pass")
    if profile.max_noise_db is not None:
        yield _between("noise floor", file.noise_floor_db, None, profile.max_noise_db, "dB", silent="pass")


def _times(file: Inspected, profile: Profile) -> Iterator[Check]:
    accept = profile.accept
    limits = [limit for limit in (accept.max_s, profile.max_minutes and 60 * profile.max_minutes) if limit]
    if limits:
        yield _between("duration", file.duration_s, None, min(limits), "s", silent="fail")
    for name, found, low, high in (
        ("head silence", file.head_silence_s, accept.head_min_ms, accept.head_max_ms),
        ("tail silence", file.tail_silence_s, accept.tail_min_ms, accept.tail_max_ms),
    ):
        if low is not None or high is not None:
            low_s, high_s = (None if ms is None else ms / 1000 for ms in (low, high))
            yield _between(name, found, low_s, high_s, "s", silent="fail")


def _between(
    what: str, found: float | None, low: float | None, high: float | None, unit: str, silent: Verdict
) -> Check:
    """`silent`: the verdict where there is nothing to measure. Bounds hold to the second digit, as they are shown."""
    if low is not None and high is not None:
        wanted = f"{low:g} to {high:g} {unit}"
    else:
        wanted = f"at most {high:g} {unit}" if high is not None else f"at least {low:g} {unit}"
    if found is None:
        return Check(what, "silence or too short", wanted, silent)
    rounded = round(found, 2)
    good = (low is None or rounded >= low) and (high is None or rounded <= high)
    return Check(what, f"{found:.2f} {unit}", wanted, _verdict(good))


def _name(name: str, profile: Profile) -> Iterator[Check]:
    suffix = profile.suffix
    yield Check("suffix", PurePath(name).suffix, suffix, _verdict(name.endswith(suffix)))
    stem = name.removesuffix(suffix) if name.endswith(suffix) else PurePath(name).stem
    if profile.name_pattern is not None:
        wanted = profile.name_rule or profile.name_pattern
        yield Check("file name", name, wanted, _verdict(re.fullmatch(profile.name_pattern, stem) is not None))
    if profile.name_max_chars is not None:
        good = len(name) <= profile.name_max_chars
        yield Check("name length", str(len(name)), f"at most {profile.name_max_chars}", _verdict(good))
