"""The options of a run with their defaults: the one place where a default stands. Flags and config files fill it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jobs.records import EmptyPolicy

BadTakes = Literal["fail", "keep"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person may choose for a run; each field is an option of `run` and a key of the config file."""

    out: Path | None = None
    """Run folder; None: `<manifest name>-out` beside the manifest."""
    engine: str = "auto"
    model: Path | None = None
    """Folder of a CosyVoice model."""
    devices: str = "auto"
    precision: Literal["auto", "fp32", "bf16", "fp16", "int8"] = "auto"
    min_free_memory: float | None = None
    """GiB that must be free on an accelerator; None: what the engine needs."""
    cpu_fallback: bool = True
    """Whether the CPU goes on when no accelerator is left."""
    workers: int | None = None
    """Worker processes on the CPU; None: cores / threads."""
    workers_per_device: int | None = None
    """Workers on each accelerator; None: as many as its free memory holds, four at most."""
    recycle_memory: float | None = None
    """GiB after which a worker is replaced by a fresh one; None: when it has doubled."""
    threads: int = 1
    """CPU threads per worker."""
    voice: str | None = None
    """Voice of rows that name none; None: a stock voice of the row's language."""
    language: str | None = None
    date_order: Literal["mdy", "dmy"] = "mdy"
    """How 12/05/2024 is read in an English text."""
    empty: EmptyPolicy = "error"
    """What becomes of a row with nothing to speak that does not say so itself."""
    seed: int = 0
    profile: str = "wav24k"
    lexicon: Path | None = None
    profiles_folder: Path | None = None
    voices_folder: Path | None = None
    segmenter_model: Path | None = None
    """Folder of the pkuseg model; None: where `models pull pkuseg` puts it."""
    encoding: str | None = None
    """Encoding of the manifest; None: detected."""
    takes: int = 3
    """Attempts at a segment before it counts as failed."""
    bad_takes: BadTakes = "fail"
    verify: Literal["none", "asr"] = "none"
    """Whether every take is transcribed and compared with its text."""
    verify_model: Path | None = None
    """Folder of a whisper model for CTranslate2."""
    verify_threshold: float | None = None
    """Wrong words (syllables in Chinese) over those of the text, above which a take was not understood; None: what the
    item's profile says."""
    verify_policy: Literal["flag", "fail"] = "flag"
    listeners: int | None = None
    """Most processes that listen to takes; None: one for every four cores, 16 at most."""
    timbre_threshold: float = 0.31
    """Likeness to the voice's reference below which a take is another voice; 0: not compared."""
    max_failures: int | None = None
    """Stop after so many failed items; None: never."""
    keep_going: bool = False
    fresh: bool = False
    prune: bool = False
    strict: bool = False
    only: str | None = None
    limit: int | None = None
    wait_s: float = 0.0
    """How long to wait for another run on the same folder to end."""
    metrics_file: Path | None = None
    """Where figures for Prometheus go; None: nowhere."""
    heartbeat_s: float = 600.0
    """A worker that makes no progress for so long is taken for hung."""
