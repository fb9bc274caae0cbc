"""Rows and facts of a report, as the tests of report, page and review vary them."""

from __future__ import annotations

from dataclasses import replace

from jobs.records import Measured
from jobs.report import DeviceRow, ItemRow, RunFacts, TakeRow

MEASURED = Measured(
    duration_s=2.5,
    sample_rate_hz=24_000,
    channels=1,
    loudness_lufs=-19.02,
    rms_db=-22.0,
    true_peak_dbtp=-1.2,
    gain_db=3.0,
    limited_db=0.0,
    size_bytes=120_044,
    waveform=tuple(range(0, 101, 5)),
)
ITEM = ItemRow(
    line=2,
    id="greeting",
    state="done",
    reason="new",
    out="greeting.wav",
    chapter=None,
    title=None,
    written="Press 1.",
    spoken="Press one.",
    segments=1,
    language="en",
    voice="af_heart",
    mode="speaker",
    instruction=None,
    speed=1.0,
    seed=7,
    profile="podcast",
    measured=MEASURED,
    takes=(TakeRow(0, 0, 7),),
    device="cpu",
    seconds=0.5,
)
FAILED = replace(ITEM, line=3, id="hours", state="failed", reason="silent in 3 takes", out="hours.wav", measured=None)
FACTS = RunFacts(
    run_id="20260301T020000-1",
    started="2026-03-01T02:00:00.123456+08:00",
    ended="2026-03-01T02:10:00+08:00",
    wall_s=600.0,
    manifest="ivr.csv",
    command="cosyvoice-batch run ivr.csv",
    version="0.1.0",
    engine={"name": "kokoro"},
    text_front_end={"normaliser": "wetext 0.1.8"},
    devices=(DeviceRow("cpu", 1, 2.5, 0.5, 0.2),),
    libraries={"onnxruntime": "1.32.0"},
    counts={"done": 1, "failed": 1},
    audio_s=2.5,
    synthesis_s=0.5,
    rtf=0.2,
)
