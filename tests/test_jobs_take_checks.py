"""Takes spoiled on purpose are suspected, good ones are not: on speech-like signals and on the embedded voice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from finishing_signals import Block, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice import kokoro
from cosyvoice.engine import Utterance, Voice
from cosyvoice.tone import load as load_tone
from jobs.checks import badness, best, level_steps, only_suspected, told
from jobs.records import Take
from jobs.speech_rate import expected_seconds, units
from jobs.take_checks import repeats_itself, said_twice, speech_level_db, suspicions

RATE_HZ = 24_000
TAKE = Take(path="t.f32", sample_rate_hz=RATE_HZ, samples=RATE_HZ, attempt=0, seed=1)
XIAOXIAO, MICHAEL = Voice("x", "x", speaker="zf_xiaoxiao"), Voice("m", "m", speaker="am_michael")
TEXTS = (
    Utterance("zh", "请输入您的银行卡号，以井号键结束。", XIAOXIAO, language="zh"),
    Utterance("en", "All our agents are busy, please call again later.", MICHAEL),
)


@pytest.fixture(scope="module")
def spoken() -> list[tuple[str, Block]]:
    """(text, samples) of two real clips."""
    engine = kokoro.load(model_folder=None, device="cpu", precision="auto", threads=1)
    return [(utterance.text, next(iter(engine.speak([utterance]))).samples) for utterance in TEXTS]


def silence(seconds: float) -> Block:
    return np.zeros(round(seconds * RATE_HZ), np.float32)


def loud_places(samples: Block) -> list[int]:
    """Sample positions within words: 30 ms before them are as loud as the loudest part but 10 dB."""
    frames = samples[: len(samples) // 240 * 240].reshape(-1, 240)
    level = 10 * np.log10(np.mean(frames**2, axis=1) + 1e-12)
    top = np.percentile(level, 95)
    return [k * 240 for k in range(40, len(level) - 40) if level[k - 3 : k].min() > top - 10]


def test_good_takes_pass(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        assert suspicions(samples, RATE_HZ, text, 1.0) == ()
        assert suspicions(samples * np.float32(0.02), RATE_HZ, text, 1.0) == ()


def test_a_take_cut_within_a_word(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        places = loud_places(samples)
        for place in (places[len(places) // 2], places[-1]):
            assert "cut_end" in suspicions(samples[:place], RATE_HZ, text, 1.0)


def test_a_passage_said_twice(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        for start_s, length_s, apart_s in ((0.4, 0.9, 0.0), (0.5, 1.4, 0.2)):
            start, stop = round(start_s * RATE_HZ), round((start_s + length_s) * RATE_HZ)
            again = np.concatenate([samples[:stop], silence(apart_s), 0.8 * samples[start:stop], samples[stop:]])
            assert said_twice(again.astype(np.float32), RATE_HZ)
            assert "said_twice" in suspicions(again.astype(np.float32), RATE_HZ, text, 1.0)
            assert "said_twice" not in suspicions(again.astype(np.float32), RATE_HZ, "快跑，快跑，再快一点跑", 1.0)


def test_a_hole_in_the_middle(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        half = len(samples) // 2
        for hole_s, suspected in ((1.0, False), (2.0, True)):
            torn = np.concatenate([samples[:half], silence(hole_s), samples[half:]])
            assert ("long_pause" in suspicions(torn, RATE_HZ, text, 1.0)) is suspected


def test_a_sudden_change_of_level(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        half = len(samples) // 2
        for first, second in ((1.0, 0.1), (0.1, 1.0)):
            uneven = np.concatenate([samples[:half] * first, samples[half:] * second]).astype(np.float32)
            assert "level_jump" in suspicions(uneven, RATE_HZ, text, 1.0)


def test_noise_after_the_last_word_and_a_click_before_the_first(spoken: list[tuple[str, Block]]) -> None:
    random = np.random.default_rng(3)
    for text, samples in spoken:
        loud = float(np.abs(samples).max())
        hiss = (0.01 * loud * random.normal(0, 1, RATE_HZ // 2)).astype(np.float32)
        assert suspicions(np.concatenate([samples, hiss]), RATE_HZ, text, 1.0) == ("hiss_tail",)
        clicked = samples.copy()
        clicked[60:84] = 0.5 * loud
        assert suspicions(clicked, RATE_HZ, text, 1.0) == ("edge_click",)


def test_another_text_than_was_said(spoken: list[tuple[str, Block]]) -> None:
    for text, samples in spoken:
        assert suspicions(samples, RATE_HZ, text * 3, 1.0) == ("too_fast",)
        assert suspicions(np.concatenate([samples] * 3), RATE_HZ, text, 1.0)[0] == "too_slow"
        assert suspicions(samples, RATE_HZ, text * 3, 2.0) == ()


@pytest.mark.parametrize("text", ["好的。", "Press one, two, three, four, five.", "，。", "a a a a a a a a a a a a"])
def test_beeps_are_no_repetition(text: str) -> None:
    engine = load_tone(model_folder=None, device="cpu", precision="auto", threads=1)
    for speech_ in engine.speak([Utterance("u", text * 3, XIAOXIAO)]):
        if speech_.error is None:
            assert suspicions(speech_.samples, RATE_HZ, "one two three four five six", 1.0)[:1] in ((), ("too_slow",))
            assert not said_twice(speech_.samples, RATE_HZ)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 6.0), st.sampled_from([8_000, 16_000, 22_050, 24_000, 48_000]))
def test_any_speech_of_any_rate_is_judged(seed: int, duration_s: float, rate_hz: int) -> None:
    samples = speech(duration_s, rate_hz, seed=seed)
    assert set(suspicions(samples, rate_hz, "x", 1.0)) <= {"said_twice", "too_slow"}
    level = speech_level_db(samples, rate_hz)
    assert level is not None
    assert -60 < level < 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), max_size=600))
def test_any_samples_are_judged(values: list[float]) -> None:
    suspicions(np.array(values * 8, np.float32), RATE_HZ, "text", 1.0)


def test_texts_that_repeat_themselves() -> None:
    for text in ("No, no, no, no.", "快跑，快跑！", "888888", "to be or to be or not"):
        assert repeats_itself(text)
    for text in ("", "One cat to feed, two cats to feed.", "一只猫要喂，两只猫要喂", "Banana", "高高兴兴", "看看"):
        assert not repeats_itself(text)


def test_units_and_seconds_of_a_text() -> None:
    assert units("It's 5 o'clock，快跑 abc中文!") == ["it's", "5", "o'clock", "快", "跑", "abc", "中", "文"]
    assert expected_seconds("一二三四", 2.0) == pytest.approx(4 / 4.3 / 2)


def test_suspected_takes_are_kept_only_for_want_of_better_ones() -> None:
    suspected = replace(TAKE, faults=("cut_end",))
    certain = replace(TAKE, attempt=1, faults=("too_long",))
    misheard = [replace(TAKE, attempt=n, faults=("misheard",), error_rate=rate) for n, rate in ((0, 0.5), (1, 0.3))]
    assert badness(suspected) > 0
    assert only_suspected(suspected)
    assert not only_suspected(replace(certain, faults=("too_long", "cut_end")))
    assert best([certain, suspected]) is suspected
    assert best(misheard) is misheard[1]
    strange = [
        replace(TAKE, attempt=n, faults=("timbre_drift",), likeness=like) for n, like in ((0, 0.1), (1, 0.3), (2, 0.3))
    ]
    assert best(strange) is strange[1]
    assert told(suspected) == ["ends within a word: listen to it"]


def test_steps_of_level_between_segments_are_named() -> None:
    levels = (-20.0, -22.0, None, -21.0, -33.0, -20.5)
    kept = [replace(TAKE, level_db=level) for level in levels]
    assert level_steps(kept) == [
        "segment 5 is 12 dB quieter than the one before: listen to it",
        "segment 6 is 12 dB louder than the one before: listen to it",
    ]


@pytest.mark.parametrize(("first_s", "second_s", "step_db", "named"), [
    (2, 2, 5, False), (2, 2, 7, True), (2, 1, 7, False), (1, 2, -7, False), (1, 1, 10, True), (2, 2, -7, True),
])  # fmt: skip
def test_short_segments_may_differ_more(first_s: int, second_s: int, step_db: float, named: bool) -> None:
    before = replace(TAKE, samples=first_s * RATE_HZ, level_db=-25.0)
    after = replace(TAKE, samples=second_s * RATE_HZ, level_db=-25.0 + step_db)
    assert bool(level_steps([before, after])) == named
