"""Times of words: true to the sound, in order, inside their segments, at their place in the source."""

from __future__ import annotations

from pathlib import Path

import asr
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cosyvoice.engine import Utterance, Voice
from cosyvoice.kokoro import load
from jobs.cues import Cue, cues_of
from jobs.errors import EnvironmentFault
from jobs.finished_items import Finished, SpokenSegment
from jobs.recogniser import Recogniser, require
from jobs.subtitle_formats import as_json
from jobs.subtitles import Line, Track, lines_of
from jobs.word_times import LONGEST_S, Listener, Word, _groups, _words, with_words
from presets.catalog import profiles

SOURCE = 'The “old clock” [digits:12] struck <break time="9s"/> eleven. &quot;Then&quot; the rain stopped.'
SPOKEN = "The old clock one two struck eleven. Then the rain stopped."
WRITTEN = SOURCE.replace("&quot;", '"')


def longest_pause_s(samples: NDArray[np.float32], rate_hz: int) -> tuple[float, float]:
    """Where the longest silence between sounds starts and stops."""
    frame = rate_hz // 200
    level = np.sqrt(np.mean(samples[: len(samples) // frame * frame].reshape(-1, frame) ** 2, axis=1))
    loud = np.flatnonzero(level > 0.02 * level.max())
    gap = int(np.argmax(np.diff(loud)))
    return float(loud[gap] + 1) / 200, float(loud[gap + 1]) / 200


def line_of(text: str, start_s: float = 1.0, stop_s: float = 3.0, source: str | None = None) -> Line:
    cues = tuple(cues_of(text, start_s, stop_s))
    return Line("a", start_s, stop_s, text, 0, len(source or text), "en", "v", cues)


def test_words_are_where_they_are_heard(tmp_path: Path) -> None:
    engine = load(model_folder=None, device="cpu", precision="auto", threads=1)
    (speech,) = engine.speak([Utterance("u", SPOKEN, Voice("heart", "heart", speaker="af_heart"), language="en")])
    rate_hz, samples = speech.sample_rate_hz, speech.samples
    soundfile.write(tmp_path / "a.wav", samples, rate_hz)
    segments = (SpokenSegment(WRITTEN, "en", 0.3, len(samples) / rate_hz - 0.1),)
    item = Finished(
        id="a", line=1, out="a.wav", path=tmp_path / "a.wav", text=SOURCE, chapter=None, title=None, voice="heart",
        extra={}, profile=profiles()["wav24k"], rate_hz=rate_hz, samples=len(samples), gain_db=0.0, segments=segments,
        lead_s=0.0, rest_s=0.0, pause_ms=None, fingerprint="a",
    )  # fmt: skip
    (line,) = lines_of(item, Listener(Recogniser(asr.model_folder(), 1)))
    words = {word.text: word for word in line.words}
    assert list(words) == ["The", "old", "clock", "12", "struck", "eleven", "Then", "the", "rain", "stopped"]
    for word in line.words:
        assert SOURCE[word.source_start : word.source_stop] == word.text
    pause_s, sound_s = longest_pause_s(samples, rate_hz)
    assert words["Then"].start_s == pytest.approx(sound_s, abs=0.15) and sound_s - pause_s > 0.1
    assert words["eleven"].stop_s == pytest.approx(pause_s, abs=0.25)
    told = as_json(Track("a.wav", "", 4.0, (line,)))
    assert '"words_from": "recogniser"' in told and '"text": "struck"' in told


def test_without_a_listener_nothing_is_claimed() -> None:
    told = as_json(Track("a.wav", "", 4.0, (line_of("No words here."),)))
    assert '"words": [],' in told and '"words_from": null' in told


TIMES = st.lists(st.floats(-1, 6), min_size=40, max_size=40)


@given(TIMES, st.sampled_from(["One, two. Three 4.5 don't", "雨下得很大，2024年", "a"]))
@settings(deadline=None, max_examples=80)
def test_words_stand_in_order_within_their_segment(times: list[float], text: str) -> None:
    line = line_of(text)
    words = list(_words(line, text, times, text))
    edges = [edge for word in words for edge in (word.start_s, word.stop_s)]
    assert edges == sorted(edges) and edges[0] == line.start_s and edges[-1] == line.stop_s
    assert [text[word.source_start : word.source_stop] for word in words] == [word.text for word in words]


def test_long_and_foreign_neighbours_are_looked_at_apart() -> None:
    lines = [line_of("a", at, at + 9.5) for at in range(0, 60, 10)]
    assert [len(group) for group in _groups(lines)] == [2, 2, 2]
    assert all(group[-1].stop_s - group[0].start_s <= LONGEST_S for group in _groups(lines))
    alone = line_of("a", 10, 90)
    assert [len(group) for group in _groups([lines[0], alone, line_of("b", 91, 99)])] == [1, 1, 1]


def test_cues_start_with_their_words() -> None:
    cues = (Cue(1.0, 2.0, ("He left,",), True), Cue(2.0, 3.0, ("she", "stayed."), True))
    line = Line("a", 1.0, 3.0, "He left, she stayed.", 0, 20, "en", "v", cues)
    said = (("He", 1.0), ("left", 1.2), ("she", 1.6), ("stayed", 2.8))
    words = [Word(text, at, at + 0.2, None, None) for text, at in said]
    timed = with_words(line, tuple(words))
    assert [(cue.start_s, cue.stop_s) for cue in timed.cues] == [(1.0, 1.4), (1.6, 3.0)]
    moved = timed.moved(10.0)
    assert moved.words[2].start_s == pytest.approx(11.6) and moved.cues[1].start_s == pytest.approx(11.6)


def test_a_model_that_is_none_is_named_by_the_option_that_asked(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"--words-model .*model\.bin.* missing"):
        require(tmp_path, "--words-model", "--words-model")
