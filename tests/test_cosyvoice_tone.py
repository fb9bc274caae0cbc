"""The tone engine: the pace of speech, a voice's pitch, equal bytes for equal utterances."""

import dataclasses
import time
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice import tone
from cosyvoice.catalog import TONE, load
from cosyvoice.engine import EngineError, Speech, Utterance, Voice

VOICE = Voice("any", "digest of any")
CHINESE = Utterance("zh", "您好欢迎致电光明银行", VOICE, language="zh", seed=7)
ENGLISH = Utterance("en", "Thank you for calling Bright Harbor Bank", VOICE, seed=7)


def beep_all(*utterances: Utterance) -> list[Speech]:
    engine = load(TONE, model_folder=None, device="cpu", precision="auto", threads=1)
    return list(engine.speak(utterances))


def loudest_hz(samples: np.ndarray) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(samples))) * tone.SAMPLE_RATE_HZ / len(samples))


def test_duration_follows_the_text_and_the_speed() -> None:
    chinese, english, fast = beep_all(CHINESE, ENGLISH, dataclasses.replace(ENGLISH, speed=2.0))
    assert len(chinese.samples) / 24_000 == pytest.approx(10 / 4.5, rel=0.01)
    assert len(english.samples) / 24_000 == pytest.approx(7 / 2.8, rel=0.01)
    assert len(fast.samples) == pytest.approx(len(english.samples) / 2, rel=0.01)


def test_the_voice_sets_the_pitch_and_the_seed_detunes_it() -> None:
    voices = [Voice(str(number), f"digest {number}") for number in range(12)]
    pitches = {round(loudest_hz(s.samples)) for s in beep_all(*(dataclasses.replace(ENGLISH, voice=v) for v in voices))}
    assert len(pitches) > 5
    one, other = beep_all(ENGLISH, dataclasses.replace(ENGLISH, seed=8))
    assert not np.array_equal(one.samples, other.samples)
    assert loudest_hz(one.samples) == pytest.approx(loudest_hz(other.samples), rel=0.05)


def test_a_beep_has_no_click_and_real_level() -> None:
    (speech,) = beep_all(ENGLISH)
    assert speech.samples.dtype == np.float32
    assert 0.2 < np.abs(speech.samples).max() <= 0.25
    assert np.abs(np.diff(speech.samples)).max() < 0.05
    assert speech.samples[0] == speech.samples[-1] == 0


@given(st.text(max_size=60), st.integers(0, 2**63 - 1), st.floats(0.5, 2.0))
@settings(deadline=None, max_examples=60)
def test_any_text_beeps_the_same_alone_and_in_company_or_says_why_not(text: str, seed: int, speed: float) -> None:
    utterance = Utterance("x", text, VOICE, speed=speed, seed=seed)
    (alone,) = beep_all(utterance)
    _, among, _ = beep_all(CHINESE, utterance, ENGLISH)
    assert alone.samples.tobytes() == among.samples.tobytes()
    assert (alone.error is None) == (len(alone.samples) > 0)
    if all(unicodedata.category(character)[0] in "PZ" for character in text):
        assert alone.error is not None


def test_nothing_at_the_moment_is_not_the_end() -> None:
    engine = tone.load(model_folder=None, device="cpu", precision="auto", threads=1)
    assert [speech.utterance_id for speech in engine.speak([None, CHINESE, None, None, ENGLISH, None])] == ["zh", "en"]


def test_cloning_and_instruction_are_accepted() -> None:
    clone = dataclasses.replace(ENGLISH, mode="instruct", instruction="slowly", voice=Voice("v", "d", audio="a.wav"))
    assert beep_all(clone)[0].error is None


@pytest.mark.parametrize(("device", "precision"), [("cuda:0", "auto"), ("cpu", "fp16")])
def test_what_it_does_not_have_is_refused(device: str, precision: str) -> None:
    with pytest.raises(EngineError, match="tone engine"):
        tone.load(model_folder=None, device=device, precision=precision, threads=1)


def test_an_utterance_takes_less_than_a_millisecond() -> None:
    engine = tone.load(model_folder=None, device="cpu", precision="auto", threads=1)
    utterances = [dataclasses.replace(ENGLISH, seed=number) for number in range(300)]
    start = time.process_time()
    assert sum(speech.error is None for speech in engine.speak(utterances)) == 300
    assert time.process_time() - start < 0.3
