"""Say-sets hold every file that the phone system's own rules ask for, and their pieces join without click or gap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import RunCli
from finishing_signals import part, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.finish import finish
from jobs.records import Gap
from jobs.say_set import KINDS, PLATFORMS, Kind, Platform, pieces
from presets.catalog import profiles


def names(language: str, kind: Kind, platform: Platform) -> dict[str, str]:
    return {piece.name: piece.text for piece in pieces(language, kind, platform)}


def english(number: int) -> list[str]:
    """Which files Asterisk and FreeSWITCH play for a number in English."""
    for value, word in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= value:
            rest = english(number % value) if number % value else []
            return [*english(number // value), f"digits/{word}", *rest]
    if number < 20:
        return [f"digits/{number}"]
    return [f"digits/{number // 10 * 10}", *([f"digits/{number % 10}"] if number % 10 else [])]


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 999_999_999), st.sampled_from(PLATFORMS))
def test_english_numbers_are_read_from_the_pieces(number: int, platform: Platform) -> None:
    """The texts of the pieces that a phone system plays are the number in words."""
    from jobs.numbers_en import cardinal

    said = names("en", "numbers", platform)
    assert " ".join(said[name] for name in english(number)) == cardinal(str(number)).replace("-", " ")


def chinese(number: int) -> list[str]:
    """Which files FreeSWITCH plays for a number below 10,000 in Chinese (mod_say_zh.c)."""
    played: list[str] = []
    digits = f"{number:04d}"
    for place, digit in zip((1000, 100, 10, 1), digits, strict=True):
        if digit != "0" and not (place == 10 and digit == "1" and number < 20):
            played.append(f"digits/{digit}")
        if place == 10 and digit == "0" and digits[3] != "0" and number > 9:
            played.append("digits/0")
        if digit != "0" and place > 1:
            played.append(f"digits/{place}")
    return played or ["digits/0"]


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 9999))
def test_chinese_numbers_are_read_from_the_pieces(number: int) -> None:
    from jobs.numbers_zh import cardinal

    said = names("zh", "numbers", "freeswitch")
    # mod_say_zh leaves 零 out in 1010 and knows no 两.
    spoken = "".join(said[name] for name in chinese(number))
    assert spoken.strip("零").replace("零", "") == cardinal(str(number)).replace("两", "二").strip("零").replace(
        "零", ""
    )
    assert spoken == "零" or number


@pytest.mark.parametrize(
    ("language", "kind", "platform", "wanted"),
    [
        (
            "zh",
            "numbers",
            "asterisk",
            {"digits/hundred": "百", "digits/wan": "万", "digits/yi": "亿", "digits/90": "九十"},
        ),
        ("zh", "numbers", "freeswitch", {"digits/100000000": "亿", "digits/10": "十", "digits/ordinal": "第"}),
        ("zh", "times", "freeswitch", {"time/2s": "两", "time/hour": "点", "time/minute": "分", "time/pm": "下午"}),
        (
            "en",
            "dates",
            "asterisk",
            {"digits/mon-11": "December", "digits/day-0": "Sunday", "digits/h-20": "twentieth"},
        ),
        ("en", "dates", "freeswitch", {"time/mon-0": "January", "time/day-6": "Saturday", "digits/h-3": "third"}),
        ("en", "letters", "freeswitch", {"ascii/97": "A", "ascii/46": "dot"}),
        ("en", "letters", "asterisk", {"letters/z": "Z", "letters/exclaimation-point": "exclamation point"}),
        ("en", "money", "freeswitch", {"currency/cents": "cents", "digits/hundred": "hundred"}),
        ("en", "digits", "asterisk", {"digits/star": "star", "digits/0": "zero", "digits/9": "nine"}),
    ],
)
def test_names_are_those_that_the_system_looks_for(
    language: str, kind: Kind, platform: Platform, wanted: dict[str, str]
) -> None:
    assert wanted.items() <= names(language, kind, platform).items()


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_piece_is_empty_or_left_as_a_figure(language: str, platform: Platform) -> None:
    for kind in KINDS:
        for name, text in names(language, kind, platform).items():
            assert text and not any(char.isdigit() for char in text), name


def test_the_manifest_is_taken_by_check(tmp_path: Path, cli: RunCli) -> None:
    assert cli("say-set", "zh", "all", "--platform", "freeswitch", "-o", "m.jsonl").code == 0
    rows = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["out"] for row in rows}) == len(rows) >= 80
    seen = cli("check", "m.jsonl", "--engine", "tone", "--json")
    assert seen.code == 0, seen.err
    assert any(row["out"] == "zh/digits/8000/0.wav" for row in seen.json()["to_make"])
    assert cli("say-set", "fr", "digits", "-o", "m.jsonl").code == 2
    assert cli("say-set", "en", "digit", "-o", "m.jsonl").code == 2


def test_pieces_join_without_click_gap_or_jump_in_level(tmp_path: Path) -> None:
    """Takes of different loudness, with silence around, joined end to end as a phone system plays them."""
    profile = profiles()["prompt-pieces"]
    joined, edges = [np.zeros(0)], []
    for number in range(12):
        take = speech(0.35 + 0.05 * (number % 4), seed=number, peak=0.05 + 0.07 * (number % 5), edge_s=0.3)
        path = tmp_path / f"{number}.wav"
        finish([part(tmp_path, take, Gap("end"))], 0, None, profile, {}, path)
        samples, rate_hz = soundfile.read(path)
        assert rate_hz == 8000
        joined.append(samples)
        edges.append(sum(map(len, joined)))
        # Each piece starts and ends at rest.
        assert np.abs(samples[[0, -1]]).max() < 0.01
    whole = np.concatenate(joined)
    steps = np.abs(np.diff(whole))
    inside = np.quantile(steps, 0.9)
    for edge in edges[:-1]:
        assert steps[edge - 2 : edge + 2].max() < inside, "a click at the join"
        frames = np.square(whole[edge - 800 : edge + 800]).reshape(-1, 40).mean(axis=1)
        quiet = np.convolve(frames < 10 ** (-60 / 10), np.ones(13), "valid")
        assert quiet.max() < 13, "60 ms of silence (40 dB below speech) at the join"
