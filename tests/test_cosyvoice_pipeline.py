"""The CosyVoice engines on random checkpoints in the official layout: modes, company, guards, memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.assembly import load
from cosyvoice.engine import EngineError, ModelMissing, Speech, Utterance, Voice
from cosyvoice.guards import sample_flags, token_flags
from cosyvoice.model_folder import Generation
from cosyvoice.pipeline import Pipeline
from cosyvoice.script import lm_request
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.voice import VoicePrompt

REFERENCE = Path(__file__).parent / "data" / "parity" / "zero_shot_prompt.wav"
VOICE = Voice("guest", "guest", audio=str(REFERENCE), text="希望你以后能够做的比我还好呦。")


@pytest.fixture(scope="module", params=[2, 3])
def generation(request: pytest.FixtureRequest) -> Generation:
    found: Generation = request.param
    return found


@pytest.fixture(scope="module")
def folder(generation: Generation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp(f"model{generation}"), generation, "tiny")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Pipeline:
    return load(model_folder=str(folder), device="cpu", precision="fp32", threads=1)


def utterances() -> list[Utterance]:
    texts = [
        "Hi.",
        "今天天气不错，我们去公园走走吧。",
        "A longer sentence, so that lengths differ in a batch.",
        "好的。",
    ]
    modes = ["zero_shot", "cross_lingual", "instruct", "zero_shot"]
    return [
        Utterance(
            str(number), text, VOICE, mode=mode, seed=number, speed=1.0 + number / 10,  # type: ignore[arg-type]
            instruction="用四川话说这句话" if mode == "instruct" else None,
        )
        for number, (text, mode) in enumerate(zip(texts, modes, strict=True))
    ]  # fmt: skip


def spoken(engine: Pipeline, wanted: list[Utterance]) -> dict[str, Speech]:
    return {speech.utterance_id: speech for speech in engine.speak(iter(wanted))}


def test_company_and_order_do_not_change_an_utterance(engine: Pipeline) -> None:
    together = spoken(engine, utterances())
    backwards = spoken(engine, utterances()[::-1])
    for utterance in utterances():
        alone = spoken(engine, [utterance])[utterance.id]
        assert alone.error is None and alone.samples.size > 0
        for other in (together[utterance.id], backwards[utterance.id]):
            assert other.samples.shape == alone.samples.shape, "the speech ids differ"
            assert np.abs(other.samples - alone.samples).max() < 1e-4


def test_the_seed_decides_what_is_drawn(engine: Pipeline) -> None:
    first = utterances()[1]
    again, other = spoken(engine, [first])["1"], spoken(engine, [replace(first, seed=99)])["1"]
    assert np.array_equal(again.samples, spoken(engine, [first])["1"].samples)
    assert other.samples.shape != again.samples.shape or not np.array_equal(other.samples, again.samples)


def test_a_source_that_has_nothing_for_a_while_is_asked_again(engine: Pipeline) -> None:
    def slowly() -> Iterator[Utterance | None]:
        for utterance in utterances():
            yield None
            yield utterance
            yield None

    heard = {speech.utterance_id for speech in engine.speak(slowly())}
    assert heard == {utterance.id for utterance in utterances()}


def test_speed_shortens_the_mel_not_the_pitch_of_time(engine: Pipeline) -> None:
    slow, fast = (spoken(engine, [replace(utterances()[1], speed=speed)])["1"].samples.size for speed in (0.5, 2.0))
    assert 3.8 < slow / fast < 4.2


def test_a_bad_reference_fails_its_utterance_only(engine: Pipeline) -> None:
    bad = Utterance("bad", "Hello.", replace(VOICE, audio="/nowhere.wav"), mode="zero_shot")
    nobody = Utterance("nobody", "Hello.", Voice("x", "x", speaker="nobody"), mode="speaker")
    heard = spoken(engine, [bad, utterances()[0], nobody])
    assert "cannot be read" in (heard["bad"].error or "")
    assert "nobody" in (heard["nobody"].error or "")
    assert heard["0"].error is None


def test_a_device_short_of_memory_makes_do_with_less(engine: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer utterances at once in the language model, smaller flow batches, the same audio.

    The language model's fault is torch's own allocation refusing large blocks. The flow's is injected at our own
    `Flow.mel`: on the CPU it takes a batch one by one and never asks torch for a block of the batch's size.
    """
    calm = spoken(engine, utterances())
    limit, slots, mel, grow = engine.sounding.most_frames, engine._lm.slots, engine.sounding.flow.mel, torch.zeros

    def small_flow(requests: list[object]) -> list[torch.Tensor]:
        if len(requests) > 1:
            raise torch.OutOfMemoryError("no room for a batch")
        return mel(requests)  # type: ignore[arg-type]

    def small_blocks(*shape: int, **options: object) -> torch.Tensor:
        if len(shape) == 4 and shape[0] > 8:  # [rows, kv heads, columns, head width]
            raise torch.OutOfMemoryError("no room for so many rows")
        return grow(*shape, **options)  # type: ignore[no-any-return, call-overload]

    monkeypatch.setattr(engine.sounding.flow, "mel", small_flow)
    monkeypatch.setattr(torch, "zeros", small_blocks)
    engine._lm._reset(slots, 32_768)
    try:
        tight = spoken(engine, utterances())
        assert engine.sounding.most_frames < limit and engine._lm.slots <= 8
        assert "flow batches" in engine.description["notes"] and "language model holds" in engine.description["notes"]
    finally:
        engine.sounding.most_frames = limit
        engine._lm._reset(slots, 32_768)
        engine._notes.clear()
        engine.sounding.notes.clear()
    assert all(np.abs(tight[key].samples - calm[key].samples).max() < 1e-4 for key in calm)


def test_a_wrong_folder_is_refused_with_the_file_and_the_place(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="ModelScope"):
        load(model_folder=str(tmp_path), device="cpu", precision="auto", threads=1)
    torn = tmp_path / "torn"
    torn.mkdir()
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "flow.pt":
            target = torn / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    with pytest.raises(ModelMissing, match=r"flow\.pt"):
        load(model_folder=str(torn), device="cpu", precision="auto", threads=1)
    with pytest.raises(EngineError, match="precision"):
        load(model_folder=str(folder), device="cpu", precision="fp4", threads=1)


def test_every_mode_puts_its_parts_in_their_places(folder: Path, generation: Generation) -> None:
    tokenizer = TextTokenizer(folder / "CosyVoice-BlankEN", generation)
    prompt = VoicePrompt((5, 6, 7), torch.zeros(6, 80), torch.zeros(192))
    end = tokenizer.end_of_prompt_id
    system = () if generation == 2 else tokenizer.encode("You are a helpful assistant.")
    for mode in ("zero_shot", "cross_lingual", "instruct", "speaker"):
        utterance = Utterance("u", "你好", VOICE, mode=mode, instruction="开心")  # type: ignore[arg-type]
        request = lm_request(utterance, prompt, tokenizer, generation)
        assert request.text_ids == tokenizer.encode("你好"), "instruction and prefix never count as spoken text"
        assert request.prompt_text_ids[: len(system)] == system
        assert request.prompt_speech_ids == ((5, 6, 7) if mode == "zero_shot" else ())
        assert request.prompt_text_ids.count(end) == (1 if generation == 3 or mode == "instruct" else 0)
        if mode == "instruct":
            assert request.prompt_text_ids[-1] == end
        if mode == "zero_shot":
            assert request.prompt_text_ids[-len(tokenizer.encode(VOICE.text or "")) :] == tokenizer.encode(
                VOICE.text or ""
            )


def test_token_guards_know_loops_and_leaks_from_speech() -> None:
    chance = np.random.default_rng(3)
    good = chance.integers(0, 6561, 400).tolist()
    reference = chance.integers(0, 6561, 120).tolist()
    silent = frozenset({1, 2})
    assert token_flags(good, reference, silent) == ()
    assert token_flags(good[:50] + good[50:80] * 6, reference, silent) == ("loop",)
    assert token_flags([1] * 200 + good, reference, silent) == (), "silence is not a loop"
    assert token_flags(reference[-20:] + good, reference, silent) == ("leak",)
    assert token_flags(good[:200] + reference[-20:] + good, reference, silent) == ()
    assert token_flags([1] * 12 + good, [*reference, *[1] * 12], silent) == (), "both are silent there, no words leak"
    assert token_flags([], [], silent) == ()


def test_sample_guard_knows_a_gap_from_a_pause() -> None:
    voice = np.sin(np.arange(24_000) / 10).astype(np.float32)
    assert sample_flags(np.concatenate([voice, np.zeros(24_000, np.float32), voice]), 24_000) == ()
    assert sample_flags(np.concatenate([voice, np.zeros(60_000, np.float32), voice]), 24_000) == ("gap",)
    assert sample_flags(np.concatenate([voice, np.zeros(90_000, np.float32)]), 24_000) == (), "edges are trimmed later"
    assert sample_flags(np.zeros(10, np.float32), 24_000) == ()


def test_numbers_that_overflow_are_made_again_in_fp32(folder: Path, generation: Generation, tmp_path: Path) -> None:
    """Weights that fp16 cannot hold the products of, as the reference's users met them: fp32 takes over and says so."""
    spoilt = tmp_path / "spoilt"
    shutil.copytree(folder, spoilt)
    for file, part in (("llm.pt", "layers.0.mlp.down_proj.weight"), ("flow.pt", _WIDE[generation])):
        state = torch.load(spoilt / file, weights_only=True)
        name = next(name for name in state if name.endswith(part))
        state[name] *= 1e7
        torch.save(state, spoilt / file)
    safe = load(model_folder=str(spoilt), device="cpu", precision="fp32", threads=1)
    half = load(model_folder=str(spoilt), device="cpu", precision="fp16", threads=1)
    wanted = utterances()[:2]
    expected, heard = spoken(safe, wanted), spoken(half, wanted)
    for key, speech in heard.items():
        assert speech.error is None and np.isfinite(speech.samples).all()
        assert speech.samples.shape == expected[key].samples.shape
    assert "language model in fp32" in half.description["notes"] and "flow in fp32" in half.description["notes"]
    assert "notes" not in safe.description


_WIDE = {2: "ff.net.2.weight", 3: "ff.ff.2.weight"}


def test_a_model_that_makes_no_speech_is_caught_before_the_work(folder: Path, tmp_path: Path) -> None:
    mute = tmp_path / "mute"
    shutil.copytree(folder, mute)
    state = torch.load(mute / "hift.pt", weights_only=True)
    for name in state:
        if name.startswith("conv_post"):
            state[name] = torch.full_like(state[name], float("nan"))
    torch.save(state, mute / "hift.pt")
    with pytest.raises(EngineError, match="models verify"):
        load(model_folder=str(mute), device="cpu", precision="fp32", threads=1)


def test_the_rehearsal_is_told(engine: Pipeline) -> None:
    assert "gave" in engine.description["self test"]
