"""A take in another voice is caught, whoever listens and in whatever order; good takes pass."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from conftest import RunCli, report_items, report_run, write_jsonl
from numpy.typing import NDArray
from stand_in_encoder import write_encoder

from benchmarks.model_parts import settings_yaml, write_text_folder
from cosyvoice import kokoro
from cosyvoice.catalog import COSYVOICE3, KOKORO
from cosyvoice.engine import Utterance, Voice
from jobs.check_facts import check_facts, thresholds
from jobs.checks import TIMBRE_STEP, timbre_steps
from jobs.crew import listen
from jobs.errors import EnvironmentFault
from jobs.listener import Heard, ListenerSpec, ListenJob
from jobs.records import Take
from jobs.settings import Settings
from jobs.timbre import MOST_S, VoiceJudge
from jobs.verify import Ears, Limits
from presets.catalog import profiles

RATE_HZ = 24_000
LIMIT = Settings().timbre_threshold
TAKE = Take(path="t.f32", sample_rate_hz=RATE_HZ, samples=RATE_HZ, attempt=0, seed=1)
TEXTS = ("All our agents are busy, please call again later.", "The meeting is moved to four in the afternoon.")
SPEAKERS = ("af_heart", "am_michael")
Samples = NDArray[np.float32]


@dataclass(frozen=True)
class Studio:
    """Two voices, each with a reference on the disk and a take of another text; an encoder that knows both."""

    folder: Path
    encoder: Path
    voices: tuple[Voice, ...]
    takes: tuple[Samples, ...]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    folder = tmp_path_factory.mktemp("studio")
    engine = kokoro.load(model_folder=None, device="cpu", precision="auto", threads=1)
    said = [
        [next(iter(engine.speak([Utterance("u", text, Voice(who, who, speaker=who))]))).samples for text in TEXTS]
        for who in SPEAKERS
    ]
    voices = []
    for who, (reference, take) in zip(SPEAKERS, said, strict=True):
        soundfile.write(folder / f"{who}.wav", reference, RATE_HZ, subtype="FLOAT")
        take.astype("<f4").tofile(folder / f"{who}.f32")
        voices.append(Voice(who, who, audio=str(folder / f"{who}.wav")))
    encoder = write_encoder(folder / "campplus.onnx", [(reference, RATE_HZ) for reference, _ in said])
    return Studio(folder, encoder, tuple(voices), tuple(take for _, take in said))


def test_its_own_voice_passes_and_another_is_caught_in_any_order(studio: Studio) -> None:
    pairs = [(take, voice) for take in (0, 1) for voice in (0, 1)]
    found = []
    for order in (pairs, pairs[::-1]):
        judge = VoiceJudge(studio.encoder, None, 1)
        found.append({(t, v): judge.likeness(studio.takes[t], RATE_HZ, studio.voices[v]) for t, v in order})
    assert found[0] == found[1]
    for (take, voice), likeness in found[0].items():
        assert likeness is not None
        assert (likeness >= LIMIT) == (take == voice), (take, voice, likeness)


def test_too_little_speech_is_not_judged_and_of_a_long_take_the_middle(studio: Studio) -> None:
    judge = VoiceJudge(studio.encoder, None, 1)
    own, other = studio.takes
    assert judge.likeness(own[: RATE_HZ + RATE_HZ // 4], RATE_HZ, studio.voices[0]) is None
    assert judge.likeness(np.pad(own[:RATE_HZ], RATE_HZ), RATE_HZ, studio.voices[0]) is None
    middle = np.tile(own, 4)[: round(MOST_S * RATE_HZ)]
    longer = np.concatenate([other[:RATE_HZ], middle, other[:RATE_HZ]])
    assert judge.likeness(longer, RATE_HZ, studio.voices[0]) == judge.likeness(middle, RATE_HZ, studio.voices[0])


def test_a_speaker_of_the_model_folder_is_held_against_its_stored_embedding(studio: Studio, tmp_path: Path) -> None:
    judge = VoiceJudge(studio.encoder, None, 1)
    encoded = {who: torch.from_numpy(judge._reference(voice)) for who, voice in zip("ab", studio.voices, strict=True)}
    torch.save({who: {"embedding": embedding[None]} for who, embedding in encoded.items()}, tmp_path / "spk2info.pt")
    stored = VoiceJudge(studio.encoder, tmp_path / "spk2info.pt", 1)
    for number, who in enumerate("ab"):
        voice = Voice(who, f"stored {who}", speaker=who)
        assert stored.likeness(studio.takes[number], RATE_HZ, voice) == judge.likeness(
            studio.takes[number], RATE_HZ, studio.voices[number]
        )


def test_several_listeners_hear_what_one_hears(studio: Studio) -> None:
    judge = VoiceJudge(studio.encoder, None, 1)
    jobs = [
        ListenJob(
            f"{n}", str(studio.folder / f"{SPEAKERS[n % 2]}.f32"), RATE_HZ, "", "en", (), studio.voices[n // 2 % 2]
        )
        for n in range(16)
    ]
    alone = {
        job.key: judge.likeness(studio.takes[n % 2], RATE_HZ, studio.voices[n // 2 % 2]) for n, job in enumerate(jobs)
    }
    ears = Ears(ListenerSpec(None, 1, str(studio.encoder)), 2, Limits(likeness=LIMIT))
    try:
        for job in jobs:
            ears.listen(job)
        assert len(ears.children) == 2
        answers: dict[str, Heard | str] = {}
        deadline = time.monotonic() + 120
        while len(answers) < len(jobs) and time.monotonic() < deadline:
            listen(ears.children, 1.0)
            answers |= dict(ears.answers())
    finally:
        ears.end()
    assert answers == {key: Heard(None, likeness=likeness) for key, likeness in alone.items()}


def test_an_encoder_that_cannot_be_loaded_ends_the_run(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "campplus.onnx").write_bytes(b"x")
    ears = Ears(ListenerSpec(None, 1, str(tmp_path / "campplus.onnx")), 1, Limits(likeness=LIMIT))
    try:
        with pytest.raises(EnvironmentFault, match=r"campplus\.onnx cannot be loaded .*: download it again"):
            for _ in range(60):
                listen(ears.children, 1.0)
                list(ears.answers())
    finally:
        ears.end()


def test_a_segment_unlike_the_others_of_its_item_is_named() -> None:
    kept = [replace(TAKE, likeness=likeness) for likeness in (0.8, 0.75, None, 0.78 - TIMBRE_STEP - 0.1, 0.78)]
    (told,) = timbre_steps(kept)
    assert told.startswith("segment 4 sounds less like its voice than the others (0.38, they 0.77")
    assert told.endswith("listen to it")
    assert timbre_steps([replace(take, faults=("timbre_drift",)) for take in kept]) == []
    assert timbre_steps(kept[2:4] * 5) == []
    assert timbre_steps(kept[:2]) == []


def test_limits_and_where_they_come_from_are_told() -> None:
    shipped = profiles()
    used = ["ivr-ulaw", "acx"]
    by_profile = Settings(verify="asr", verify_model=Path("models/whisper-small"))
    assert check_facts(by_profile, COSYVOICE3, shipped, used) == {
        "takes": "at most 3 of a segment",
        "listening": "whisper-small, error rate at most 0.35 (profile acx), 0.2 (profile ivr-ulaw), then flag",
        "timbre": "likeness to the voice's reference at least 0.31 (--timbre-threshold), "
        "where a take speaks 1.5 s or more",
    }
    chosen = replace(by_profile, verify_threshold=0.1, timbre_threshold=0.0)
    assert set(thresholds(chosen, shipped).values()) == {0.1}
    told = check_facts(chosen, COSYVOICE3, shipped, used)
    assert "0.1 (--verify-threshold)" in told["listening"]
    assert told["timbre"] == "off: --timbre-threshold is 0"
    assert check_facts(Settings(), KOKORO, shipped, used)["timbre"].startswith("not available: embedded voice")


def test_a_run_asks_again_for_its_own_voice(cli: RunCli, studio: Studio, tmp_path: Path) -> None:
    """The engine replays clips: another voice at the first take of "swap", at every take of "wrong"."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "cosyvoice3.yaml").write_text(settings_yaml(3, "tiny"), encoding="utf-8")
    write_text_folder(folder / "CosyVoice-BlankEN", "tiny")
    for name in ("llm.pt", "flow.pt", "hift.pt", "speech_tokenizer_v3.onnx"):
        (folder / name).write_bytes(b"x")
    (folder / "campplus.onnx").write_bytes(studio.encoder.read_bytes())
    spoken = {"ref_audio": studio.voices[0].audio, "ref_text": TEXTS[0]}
    rows = [
        {"id": "good", "text": "The meeting is moved to four o'clock.", **spoken},
        {"id": "once", "text": "Please swap the meeting to four o'clock.", **spoken},
        {"id": "never", "text": "It is wrong to meet at four o'clock.", **spoken},
    ]
    write_jsonl(tmp_path / "m.jsonl", rows)
    words = ("--engine", "engines_for_tests:SWAPS_VOICE", "--model", "model", "--workers", "1", "--listeners", "2")
    ended = cli("run", "m.jsonl", *words, "--takes", "2", env={"TEST_CLIPS": str(studio.folder)})
    assert ended.code == 0, ended.err
    items = report_items(tmp_path / "m-out")
    assert [take["faults"] for take in items["good"]["takes"]] == [[]]
    assert [take["faults"] for take in items["once"]["takes"]] == [["timbre_drift"], []]
    assert [take["kept"] for take in items["once"]["takes"]] == [False, True]
    assert [take["faults"] for take in items["never"]["takes"]] == [["timbre_drift"]] * 2
    assert items["once"]["takes"][0]["likeness"] < LIMIT <= items["once"]["takes"][1]["likeness"]
    assert items["never"]["state"] == "done"
    assert any("does not sound like its voice: listen to it" in warning for warning in items["never"]["warnings"])
    assert '"never"' in (tmp_path / "m-out/retry.jsonl").read_text(encoding="utf-8")
    assert "at least 0.31" in report_run(tmp_path / "m-out")["checks"]["timbre"]
