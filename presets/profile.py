"""A profile: how output files are made. Every field, its unit and its limits."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from presets.table import PresetError, Table

Container = Literal["wav", "raw", "mp3", "flac", "ogg", "opus", "m4a"]
LoudnessMethod = Literal["none", "lufs", "rms", "speech"]

ENCODINGS: Mapping[str, tuple[str, ...]] = {
    "wav": ("pcm16", "pcm24", "float", "ulaw", "alaw", "gsm"),
    "raw": ("pcm16", "ulaw", "alaw", "gsm", "g722"),
    "mp3": ("cbr", "vbr"),
    "flac": ("pcm16", "pcm24"),
    "ogg": ("vorbis",),
    "opus": ("opus",),
    "m4a": ("aac",),
}
SUFFIXES: Mapping[str, str] = {
    "wav": ".wav", "raw": ".raw", "mp3": ".mp3", "flac": ".flac", "ogg": ".ogg", "opus": ".opus", "m4a": ".m4a",
}  # fmt: skip
_MP3_RATES_HZ = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
_MP3_KBPS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_LOW_KBPS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_OPUS_RATES_HZ = (8000, 12000, 16000, 24000, 48000)
_NOT_IN_BYTES = frozenset({"name", "description", "suffix", "naming", "name_pattern", "name_max_chars", "name_rule"})
_NOT_IN_BYTES |= {"max_noise_db", "max_minutes", "accept", "folder", "verify_threshold"}
_FIELD = re.compile(r"\{[\w-]+(?::(?:0?[1-9]?[0-9]?d|\.[1-9][0-9]{0,2}))?\}")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the shop or phone system that takes the files demands, beyond the profile's own format and ceiling."""

    level_tolerance_db: float = 1.0
    """How far the level may lie from the target."""
    level_min_db: float | None = None
    """Demanded whatever the target is; takes the tolerance's place on its side."""
    level_max_db: float | None = None
    peak: Literal["true", "sample"] = "true"
    """What the ceiling is held against."""
    min_bitrate_kbps: float | None = None
    """None: the profile's own bit rate."""
    head_min_ms: float | None = None
    head_max_ms: float | None = None
    tail_min_ms: float | None = None
    tail_max_ms: float | None = None
    max_bytes: int | None = None
    """A larger file is refused after it is written."""
    max_s: float | None = None
    """The same of its length."""
    wav_header: Literal["any", "plain"] = "any"
    """`plain`: nothing but `fmt `, `fact` and `data`, in this order, as Asterisk's reader wants it."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How output files are made: format, rate, level, pauses, naming."""

    name: str
    description: str = ""
    container: Container = "wav"
    encoding: str = "pcm16"
    """`pcm16 pcm24 float ulaw alaw gsm` in WAV and raw (also `g722`), `cbr vbr` in MP3, `vorbis`, `opus`, `aac`."""
    suffix: str = ".wav"
    sample_rate_hz: int = 24000
    channels: int = 1
    """2: the same signal twice."""
    bitrate_kbps: int | None = None
    multiple_samples: int | None = None
    """Silence is added until the length is a multiple of this, where the target wants whole packets."""
    tags: bool = True
    """Write title, artist and so on into the file."""
    loudness: LoudnessMethod = "none"
    """What `target_db` means: integrated loudness in LUFS, RMS of the whole file in dB, or active-speech RMS in dB."""
    target_db: float | None = None
    ceiling_dbtp: float = -1.0
    """No true peak lies above."""
    max_gain_db: float = 20.0
    """Quiet takes are not amplified further than this."""
    max_noise_db: float | None = None
    """A noise floor above this is noted in the report."""
    room_tone_db: float | None = None
    """RMS of the low noise under the whole file; None: digital silence."""
    highpass_hz: int | None = None
    lowpass_hz: int | None = None
    head_ms: int = 100
    tail_ms: int = 200
    clause_ms: int = 150
    sentence_ms: int = 400
    paragraph_ms: int = 800
    fade_ms: int = 5
    naming: str = "{id}"
    """Template of the file name without its suffix; `/` makes folders."""
    name_pattern: str | None = None
    """A regular expression that each part of the name must match as a whole, where the target system asks for it."""
    name_max_chars: int | None = None
    """Longest file name with its suffix."""
    name_rule: str | None = None
    """What `name_pattern` means, in words."""
    folder: str | None = None
    """A folder that goes between the others and the file: FreeSWITCH's rates, `ivr/8000/welcome.wav`."""
    max_minutes: float | None = None
    """A longer file is noted in the report."""
    verify_threshold: float = 0.3
    """Wrong words (syllables in Chinese) over those of the text above which `--verify` calls a segment misheard."""
    accept: Acceptance = Acceptance()

    @property
    def digest(self) -> str:
        """Changes exactly when the bytes of the files may change: names and descriptions do not count."""
        values = {key: value for key, value in dataclasses.asdict(self).items() if key not in _NOT_IN_BYTES}
        if self.multiple_samples is None:
            del values["multiple_samples"]  # profiles of before there was this field keep their digest
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def read_profile(name: str, values: Mapping[str, Any], file: str, base: Profile | None = None) -> Profile:
    """A profile from a file's tables; what it leaves out comes from `base`. Raises PresetError with all mistakes."""
    base = base or Profile(name)
    problems: list[str] = []
    root = Table(values, file, problems)
    root.text("extends")
    description = root.text("description", base.description) or ""
    fields: dict[str, Any] = {"name": name, "description": description}
    fields |= _format(root.table("format"), base) | _level(root.table("level"), base)
    fields |= _silence(root.table("silence"), base) | _names(root.table("names"), base)
    fields |= _verify(root.table("verify"), base)
    fields["accept"] = _acceptance(root.table("accept"), base.accept)
    root.end()
    profile = Profile(**fields)
    if not problems:
        _agree(profile, Table({}, file, problems))
    if problems:
        raise PresetError(problems)
    return profile


def _format(table: Table, base: Profile) -> dict[str, Any]:
    container = cast(Container, table.choice("container", tuple(ENCODINGS), base.container))
    same = container == base.container
    encoding = table.choice("encoding", ENCODINGS[container], base.encoding if same else ENCODINGS[container][0])
    suffix = table.text("suffix", base.suffix if same else SUFFIXES[container]) or ""
    if not re.fullmatch(r"\.[A-Za-z0-9]{1,12}", suffix):
        table.refuse("suffix", f"found {suffix!r}, write a dot and up to 12 letters or digits")
    kbps = table.number("bitrate_kbps", 6, 512, base.bitrate_kbps if same else None)
    multiple = table.number("multiple_samples", 1, 100_000, base.multiple_samples)
    fields = {
        "container": container,
        "encoding": encoding,
        "suffix": suffix,
        "bitrate_kbps": None if kbps is None else round(kbps),
        "multiple_samples": None if multiple is None else round(multiple),
        "sample_rate_hz": table.whole("sample_rate_hz", 8000, 192_000, base.sample_rate_hz),
        "channels": table.whole("channels", 1, 2, base.channels),
        "tags": table.flag("tags", base.tags),
        "max_minutes": table.number("max_minutes", 0.1, 10_000, base.max_minutes),
    }
    table.end()
    return fields


def _level(table: Table, base: Profile) -> dict[str, Any]:
    high = table.number("highpass_hz", 10, 1000, base.highpass_hz)
    low = table.number("lowpass_hz", 1000, 96_000, base.lowpass_hz)
    fields = {
        "loudness": cast(LoudnessMethod, table.choice("loudness", ("none", "lufs", "rms", "speech"), base.loudness)),
        "target_db": table.number("target_db", -60, 0, base.target_db),
        "ceiling_dbtp": table.number("ceiling_dbtp", -40, 0, base.ceiling_dbtp),
        "max_gain_db": table.number("max_gain_db", 0, 60, base.max_gain_db),
        "max_noise_db": table.number("max_noise_db", -120, 0, base.max_noise_db),
        "highpass_hz": None if high is None else round(high),
        "lowpass_hz": None if low is None else round(low),
    }
    table.end()
    return fields


def _silence(table: Table, base: Profile) -> dict[str, Any]:
    fields: dict[str, Any] = {
        key: table.whole(key, 0, 600_000, getattr(base, key))
        for key in ("head_ms", "tail_ms", "clause_ms", "sentence_ms", "paragraph_ms")
    }
    fields["fade_ms"] = table.whole("fade_ms", 0, 100, base.fade_ms)
    fields["room_tone_db"] = table.number("room_tone_db", -120, -50, base.room_tone_db)
    table.end()
    return fields


def _names(table: Table, base: Profile) -> dict[str, Any]:
    naming = table.text("template", base.naming) or ""
    pattern = table.text("pattern", base.name_pattern)
    try:
        re.compile(pattern or "")
    except re.error as error:
        table.refuse("pattern", f"is not a regular expression: {error}")
    left, fields_found = _FIELD.subn("", naming)
    if "{" in left or "}" in left or not fields_found:
        table.refuse("template", f"found {naming!r}, write fields such as {{id}}, {{chapter:02d}} or {{title:.20}}")
    if naming.startswith(("/", "\\")) or ".." in naming.replace("\\", "/").split("/"):
        table.refuse("template", f"found {naming!r}, stay inside the run folder")
    most = table.number("max_chars", 1, 255, base.name_max_chars)
    folder = table.text("folder", base.folder)
    if folder is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", folder):
        table.refuse("folder", f"found {folder!r}, write one name of letters, digits, underscore and hyphen")
    fields = {
        "folder": folder,
        "naming": naming,
        "name_pattern": pattern,
        "name_rule": table.text("rule", base.name_rule),
        "name_max_chars": None if most is None else round(most),
    }
    table.end()
    return fields


def _verify(table: Table, base: Profile) -> dict[str, Any]:
    fields = {"verify_threshold": table.number("threshold", 0, 1, base.verify_threshold)}
    table.end()
    return fields


def _acceptance(table: Table, base: Acceptance) -> Acceptance:
    levels = {key: table.number(key, -70, 0, getattr(base, key)) for key in ("level_min_db", "level_max_db")}
    keys = ("head_min_ms", "head_max_ms", "tail_min_ms", "tail_max_ms")
    times = {key: table.number(key, 0, 600_000, getattr(base, key)) for key in keys}
    size = table.number("max_bytes", 1, 1e12, base.max_bytes)
    accept = Acceptance(
        level_tolerance_db=table.number("level_tolerance_db", 0, 30, base.level_tolerance_db) or 0.0,
        peak=cast(Literal["true", "sample"], table.choice("peak", ("true", "sample"), base.peak)),
        min_bitrate_kbps=table.number("min_bitrate_kbps", 6, 10_000, base.min_bitrate_kbps),
        max_bytes=None if size is None else round(size),
        max_s=table.number("max_s", 0.1, 1e6, base.max_s),
        wav_header=cast(Literal["any", "plain"], table.choice("wav_header", ("any", "plain"), base.wav_header)),
        **levels,
        **times,
    )
    table.end()
    return accept


def _agree(profile: Profile, table: Table) -> None:
    """Refuse what no encoder or phone system takes."""
    rate, kbps = profile.sample_rate_hz, profile.bitrate_kbps
    if profile.loudness != "none" and profile.target_db is None:
        table.refuse("level.target_db", f"is missing, loudness = {profile.loudness!r} needs a level in dB")
    if profile.loudness == "none" and profile.target_db is not None:
        table.refuse("level.loudness", "is none although target_db is set, write lufs, rms or speech")
    if profile.encoding in ("ulaw", "alaw", "gsm") and rate != 8000:
        table.refuse(
            "format.sample_rate_hz", f"found {rate}, {'GSM' if profile.encoding == 'gsm' else 'G.711'} is 8000"
        )
    if profile.encoding == "g722" and rate != 16000:
        table.refuse("format.sample_rate_hz", f"found {rate}, G.722 is 16000")
    if profile.encoding in ("gsm", "g722") and profile.channels != 1:
        table.refuse(
            "format.channels", f"found {profile.channels}, {'GSM' if profile.encoding == 'gsm' else 'G.722'} is mono"
        )
    if profile.container == "opus" and rate not in _OPUS_RATES_HZ:
        table.refuse("format.sample_rate_hz", f"found {rate}, Opus takes {_OPUS_RATES_HZ}")
    if profile.container == "mp3" and rate not in _MP3_RATES_HZ:
        table.refuse("format.sample_rate_hz", f"found {rate}, MP3 takes {_MP3_RATES_HZ}")
    allowed = _MP3_KBPS if rate >= 32_000 else _MP3_LOW_KBPS
    if profile.container == "mp3" and profile.encoding == "cbr" and kbps not in allowed:
        table.refuse("format.bitrate_kbps", f"found {kbps}, MP3 at {rate} Hz takes one of {allowed}")
    if profile.container in ("opus", "m4a") and kbps is None:
        table.refuse("format.bitrate_kbps", "is missing, write the bit rate in kbit/s")
    if profile.lowpass_hz is not None and profile.highpass_hz is not None and profile.lowpass_hz <= profile.highpass_hz:
        table.refuse("level.lowpass_hz", f"found {profile.lowpass_hz}, it must lie above highpass_hz")
