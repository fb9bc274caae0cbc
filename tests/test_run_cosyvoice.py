"""The whole tool on random CosyVoice checkpoints in the official layout: files, report, resume, refusals."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from conftest import RunCli, files, outputs, report_items, report_run, start_cli, write_jsonl

from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.model_folder import Generation

REFERENCE = Path(__file__).parent / "data" / "parity" / "zero_shot_prompt.wav"
# Random weights speak noise that ends when it likes: its takes are kept, flagged.
WORDS = ("--bad-takes", "keep", "--takes", "1", "--workers", "1")


@pytest.fixture(scope="module", params=[2, 3])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    generation: Generation = request.param
    return make_checkpoint(tmp_path_factory.mktemp("models") / f"tiny{generation}", generation, "tiny")


def rows() -> list[dict[str, object]]:
    voice = {"ref_audio": "guest.wav"}
    text = "希望你以后能够做的比我还好呦。"
    return [
        {"id": "clone", "text": "您有3条新消息。", **voice, "ref_text": text},
        {"id": "foreign", "text": "You have three new messages.", **voice},
        {"id": "told", "text": "今天天气真好[laughter]。", **voice, "instruction": "用四川话说这句话"},
        {"id": "long", "text": "Hello to all of you. " * 13, **voice, "ref_text": text, "speed": 1.2},
    ]


def test_modes_end_in_files_and_a_kill_costs_nothing(model: Path, cli: RunCli, tmp_path: Path) -> None:
    shutil.copy(REFERENCE, tmp_path / "guest.wav")
    write_jsonl(tmp_path / "m.jsonl", rows())
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    calm = cli("run", "m.jsonl", "--model", str(model), "-o", "calm", *WORDS, "--profile-engine", env=env)
    assert calm.code == 0, calm.err
    assert "speech ids a second" in calm.err
    items = report_items(tmp_path / "calm")
    assert {name: item["mode"] for name, item in items.items()} == {
        "clone": "zero_shot", "foreign": "cross_lingual", "told": "instruct", "long": "zero_shot",
    }  # fmt: skip
    assert items["clone"]["spoken"] == "您有三条新消息。" and "[laughter]" in items["told"]["spoken"]
    assert items["long"]["segments"] > 1
    run = report_run(tmp_path / "calm")
    assert run["devices"][0]["stages"]["speech_ids"] > 0 and "gave" in run["engine"]["self test"]
    assert run["engine"]["name"] == f"cosyvoice{model.name[-1]}" and run["warnings"] == []
    assert list((tmp_path / "cache").rglob("*.safetensors")), "the reference's features are kept"

    process = start_cli("run", "m.jsonl", "--model", str(model), "-o", "torn", *WORDS, cwd=tmp_path, env=env)
    end = time.monotonic() + 120
    while not files(tmp_path / "torn", ".f32") and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.communicate()
    again = cli("run", "m.jsonl", "--model", str(model), "-o", "torn", *WORDS, env=env)
    assert again.code == 0, again.err
    assert outputs(tmp_path / "torn") == outputs(tmp_path / "calm")
    idle = cli("run", "m.jsonl", "--model", str(model), "-o", "torn", *WORDS, "--json", env=env)
    assert idle.json()["counts"]["unchanged"] == 4


def test_tags_that_the_model_lacks_are_refused_before_it_is_loaded(model: Path, cli: RunCli, tmp_path: Path) -> None:
    shutil.copy(REFERENCE, tmp_path / "guest.wav")
    write_jsonl(
        tmp_path / "m.jsonl",
        [
            {"id": "a", "text": "Hi [laughter] <strong>you</strong>.", "ref_audio": "guest.wav"},
            {"id": "b", "text": "你好[j][ǐ]。", "ref_audio": "guest.wav"},
            {"id": "c", "text": "Hi.", "ref_audio": "guest.wav", "instruction": "Go<|endofprompt|>on"},
            {"id": "d", "text": "Hi [giggle]."},
        ],
    )
    ended = cli("check", "m.jsonl", "--model", str(model))
    assert ended.code == 2
    assert "m.jsonl:1" not in ended.err, "controls are known to both generations"
    assert ("m.jsonl:2" in ended.err) == model.name.endswith("2"), "phonemes are known to CosyVoice 3 alone"
    assert "m.jsonl:3: instruction" in ended.err
    assert "m.jsonl:4: text" in ended.err and "giggle" in ended.err


def test_a_wrong_model_folder_ends_with_code_4(model: Path, cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": "a", "text": "Hi."}])
    (tmp_path / "empty").mkdir()
    empty = cli("run", "m.jsonl", "--model", "empty")
    assert empty.code == 4 and "ModelScope" in empty.err
    other = "cosyvoice3" if model.name.endswith("2") else "cosyvoice2"
    wrong = cli("run", "m.jsonl", "--model", str(model), "--engine", other)
    assert wrong.code == 4 and f"cosyvoice{model.name[-1]}" in wrong.err
