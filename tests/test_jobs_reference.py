"""The reference linter: a good recording passes, each fault is found by itself, nothing makes it crash."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spoiled_recordings import (
    GOOD,
    GOOD_TEXT,
    LONGER,
    RATE_HZ,
    good,
    hot,
    longer,
    noise,
    silence,
    without_pauses,
    write,
)

from cosyvoice.reference_end import PAD_S, ending_of, with_quiet_end
from jobs.reference import Remark, examine

DOCS = Path(__file__).parent.parent / "docs" / "voices.md"


def codes(remarks: tuple[Remark, ...], *severities: str) -> list[str]:
    return [remark.code for remark in remarks if not severities or remark.severity in severities]


def heard(path: Path, text: str | None = None, language: str | None = "zh") -> tuple[Remark, ...]:
    return examine(path, text, None, language)


def test_a_good_recording_passes_without_a_remark() -> None:
    assert examine(GOOD, GOOD_TEXT, "请非常开心地说一句话。", "zh", 3) == ()
    assert codes(heard(LONGER)) == ["resampled"]


Spoil = Callable[[np.ndarray], np.ndarray]

FAULTS: list[tuple[str, str, Spoil, str]] = [
    ("silent", "refuse", lambda x: x * 1e-4, "peak is -8"),
    ("silent", "refuse", lambda x: np.zeros(RATE_HZ), "peak is -120"),
    ("too_short", "refuse", lambda x: np.concatenate((x[7_700:20_000], silence(0.5))), "0.5 s of speech"),
    ("short", "warn", lambda x: np.concatenate((x[7_700:50_000], silence(0.4))), "of 2.2 s holds 1.8 s"),
    ("clipped", "warn", lambda x: np.clip(6 * x, -1, 1), "4.97%"),
    ("clipped", "warn", lambda x: 0.4 * np.clip(6 * x, -1, 1), "of its samples"),
    ("noisy", "warn", lambda x: x + noise(len(x) / RATE_HZ, -38), "above the noise"),
    ("faint", "warn", lambda x: x * 0.05, "at -46 dB"),
    ("offset", "warn", lambda x: x + 0.05, "+0.050"),
    ("leading_silence", "warn", lambda x: np.concatenate((silence(0.9), x)), "begins with 1.2 s"),
    ("inner_silence", "warn", lambda x: np.concatenate((x, silence(1.5), x)), "for 2.2 s from 3.1 s on"),
    ("telephone", "warn", lambda x: soxr.resample(soxr.resample(x, RATE_HZ, 8000), 8000, RATE_HZ), "above 4 kHz"),
    ("hot_end", "warn", hot, "200 ms of silence"),
    ("channels_cancel", "warn", lambda x: np.stack((x, -0.7 * x), axis=1), "2 channels"),
    ("mixed_down", "info", lambda x: np.stack((x, x), axis=1), "2 channels"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "severity", "spoil", "figure"), FAULTS)
def test_each_fault_is_found_with_its_figure(
    code: str, severity: str, spoil: Spoil, figure: str, tmp_path: Path
) -> None:
    spoiled = spoil(good())
    remarks = heard(write(tmp_path / "x.wav", spoiled, subtype="PCM_16" if code == "clipped" else "FLOAT"))
    found = next(remark for remark in remarks if remark.code == code)
    assert found.severity == severity
    assert figure in found.message and "; " in found.message + "; "
    # One fault is one remark; a cut recording may be short as well.
    assert set(codes(remarks)) <= {code, "short"}


def test_pauses_cut_out_are_noticed_and_natural_ones_are_not(tmp_path: Path) -> None:
    cut = without_pauses(longer())
    remarks = heard(write(tmp_path / "cut.wav", np.concatenate((cut, silence(0.3)))))
    assert codes(remarks) == ["no_pauses"]
    assert "no_pauses" not in codes(heard(LONGER))


def test_length_and_rate_limits_of_the_model(tmp_path: Path) -> None:
    long = np.tile(longer(), 3)
    (refusal,) = heard(write(tmp_path / "long.wav", long))
    assert (refusal.severity, refusal.code) == ("refuse", "too_long")
    assert "41.2 s" in refusal.message and "--trim-reference" in refusal.message
    assert codes(heard(write(tmp_path / "two.wav", np.tile(longer(), 2)))) == ["long"]
    low = heard(write(tmp_path / "low.wav", soxr.resample(good(), RATE_HZ, 8_000), 8_000))
    assert codes(low, "refuse") == ["low_rate"] and "8000" in low[0].message
    wide = heard(write(tmp_path / "wide.wav", soxr.resample(good(), RATE_HZ, 48_000), 48_000))
    assert codes(wide) == ["resampled"]
    edge = heard(write(tmp_path / "edge.wav", soxr.resample(good(), RATE_HZ, 16_000), 16_000))
    assert codes(edge) == ["resampled"], "16 kHz is the lowest rate that is taken"


def test_a7_a_recording_that_stops_dead_on_its_last_word(tmp_path: Path) -> None:
    seven_s = hot(longer()[: 7 * RATE_HZ])
    remarks = heard(write(tmp_path / "a7.wav", seven_s), "语" * 30)
    assert codes(remarks, "refuse", "warn") == ["hot_end"]
    # What the linter promises is what the engine does.
    samples = seven_s.astype(np.float32)
    padded = with_quiet_end(samples, RATE_HZ)
    assert len(padded) - len(samples) == round(PAD_S * RATE_HZ)
    assert not padded[len(samples) :].any() and np.array_equal(padded[: len(samples) - 120], samples[:-120])
    assert abs(padded[len(samples) - 1]) < 1e-3, "no click"
    assert with_quiet_end(padded, RATE_HZ) is padded


@pytest.mark.parametrize("level_db", [-55, -42, -36])
def test_noise_after_the_last_word_is_no_hot_end(level_db: float) -> None:
    noisy = (good() + noise(len(good()) / RATE_HZ, level_db)).astype(np.float32)
    assert ending_of(noisy, RATE_HZ).missing_silence_s == 0.0
    cut = (hot(good()) + noise(len(hot(good())) / RATE_HZ, level_db)).astype(np.float32)
    assert ending_of(cut, RATE_HZ).missing_silence_s == PAD_S


@pytest.mark.parametrize(
    ("text", "language", "code", "severity"),
    [
        (GOOD_TEXT * 2, "zh", "text_too_long", "warn"),
        (GOOD_TEXT * 4, "zh", "text_too_long", "refuse"),
        ("你好", "zh", "text_too_short", "warn"),
        ("word " * 20, "en", "text_too_long", "warn"),
        ("word " * 40, "en", "text_too_long", "refuse"),
        ("Hello", "en", "text_too_short", "warn"),
        ("", "zh", "text_empty", "refuse"),
        ("……！？", "zh", "text_empty", "refuse"),
        ("You are a helpful assistant.<|endofprompt|>" + GOOD_TEXT, "zh", "text_marker", "refuse"),
        ("希望你以后<strong>能够</strong>做的比我还好呦。", "zh", "text_tags", "warn"),
        ("希望你以后，，能够做的比我还好呦。", "zh", "text_commas", "warn"),
        ("I hope that you will do better than me.", "zh", "text_language", "warn"),
        ("希望你在2024年做的比我还好呦。", "zh", "text_numbers", "info"),
        ("もっと上手にできることを願います。", "ja", "text_kanji", "warn"),
    ],
)
def test_texts_that_cannot_be_what_is_said(text: str, language: str, code: str, severity: str) -> None:
    found = {remark.code: remark for remark in examine(GOOD, text, None, language, 3)}
    assert found[code].severity == severity and found[code].about == "text"
    assert set(found) <= {code, "text_too_long"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GOOD_TEXT, "zh"),
        ("I hope that you will do better than me.", "en"),
        ("モットジョウズニデキルコトヲネガイマス。", "ja"),
        ("앞으로 저보다 더 잘하시기를 바랍니다.", "ko"),
        ("我希望你 do better than me。", "zh"),
    ],
)
def test_texts_that_can_be_what_is_said(text: str, language: str) -> None:
    assert examine(GOOD, text, None, language, 3) == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "that can be read (Error in WAV"),
        (b"<!doctype html>", "a web page"),
        (b"Dear diary,\n" * 9, "text, not a recording"),
        (b"\x00\x00\x00\x20ftypM4A " + bytes(99), "ffmpeg -i 'x.wav'"),
        (b"ID3\x04\x00\x00\x00\x00\x00\x0a" + b"\xff" * 400, "no audio file"),
    ],
)
def test_what_is_no_audio_is_refused_with_the_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.wav").write_bytes(content)
    (remark,) = heard(tmp_path / "x.wav")
    assert (remark.severity, remark.code) == ("refuse", "unreadable") and reason in remark.message
    assert "BufferedReader" not in remark.message
    (gone,) = heard(tmp_path / "gone.wav")
    assert gone.code == "unreadable" and "No such file" in gone.message


def test_a_header_that_promises_too_much_costs_nothing(tmp_path: Path) -> None:
    """600 channels at 4 GHz: refused before a sample is read."""
    fmt = struct.pack("<HHIIHH", 1, 600, 0xFFFFFFF0, 0xFFFFFFF0, 1200, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", 0x7FFFFFF0) + b"\0" * 2400
    (tmp_path / "x.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    assert codes(heard(tmp_path / "x.wav")) == ["unreadable"]


def test_samples_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    samples = good().copy()
    samples[5000] = np.nan
    (remark,) = heard(write(tmp_path / "x.wav", samples, subtype="FLOAT"))
    assert remark.code == "unreadable" and "not finite" in remark.message


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seconds=st.floats(0.0, 3.0),
    rate_hz=st.sampled_from([1, 8, 11_025, 16_000, 24_000, 44_100, 192_000]),
    channels=st.integers(1, 3),
    shape=st.sampled_from(["noise", "square", "impulse", "constant", "huge", "tiny", "bursts"]),
    seed=st.integers(0, 1000),
)
def test_no_audio_makes_it_crash(
    seconds: float, rate_hz: int, channels: int, shape: str, seed: int, tmp_path: Path
) -> None:
    count = min(round(seconds * rate_hz), 200_000)
    rng = np.random.default_rng(seed)
    samples = {
        "noise": rng.uniform(-1, 1, (count, channels)),
        "square": np.sign(rng.uniform(-1, 1, (count, channels))),
        "impulse": np.eye(count, channels) if count < 4000 else np.zeros((count, channels)),
        "constant": np.full((count, channels), rng.uniform(-1, 1)),
        "huge": rng.standard_normal((count, channels)) * 1e30,
        "tiny": rng.standard_normal((count, channels)) * 1e-30,
        "bursts": rng.standard_normal((count, channels)) * (np.arange(count) // max(1, rate_hz // 5) % 2)[:, None],
    }[shape]
    soundfile.write(tmp_path / "x.wav", samples, rate_hz, subtype="FLOAT")
    remarks = examine(tmp_path / "x.wav", "text 文本 12", "quickly", None)
    assert all(remark.message and "nan" not in remark.message for remark in remarks)
    order = [("refuse", "warn", "info").index(remark.severity) for remark in remarks]
    assert order == sorted(order)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=20), keep=st.integers(0, 3000))
def test_no_damaged_file_makes_it_crash(damage: list[tuple[int, int]], keep: int, tmp_path: Path) -> None:
    content = bytearray(LONGER.read_bytes()[:3000])
    for place, byte in damage:
        content[place % len(content)] = byte
    (tmp_path / "x.flac").write_bytes(content[:keep])
    assert all(remark.message for remark in heard(tmp_path / "x.flac"))


def test_thirty_seconds_are_heard_in_no_time(tmp_path: Path) -> None:
    path = write(tmp_path / "x.wav", np.tile(longer(), 3)[: 30 * RATE_HZ - 10])
    heard(path)
    started = time.process_time()
    assert "too_long" not in codes(heard(path, "文" * 100))
    assert time.process_time() - started < 0.3


def test_the_docs_name_every_finding() -> None:
    import re

    jobs = DOCS.parent.parent / "jobs"
    text = DOCS.read_text(encoding="utf-8")
    sources = [
        (jobs / f"{name}.py").read_text(encoding="utf-8") for name in ("reference", "reference_text", "instructions")
    ]
    made = set(re.findall(r'_(?:refuse|warn|info)\(\s*"([a-z_]+)"', sources[0]))
    for source in sources:
        made |= set(re.findall(r'"((?:text|instruction|consent)_[a-z]+)"', source))
    assert len(made) > 25
    assert {code for code in made if f"`{code}`" not in text} == set()
