"""A model folder is read as data: the right files, the right sizes, and a clear word on what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.model_parts import Size, settings_yaml, write_text_folder
from cosyvoice.config import DitConfig, EncoderConfig, ModelConfig, UnetConfig
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import Generation, find_files, find_generation
from cosyvoice.model_yaml import Tagged, read_model_yaml
from cosyvoice.read_config import read_config

GENERATIONS: tuple[Generation, ...] = (2, 3)


def make_folder(folder: Path, generation: Generation, size: Size = "tiny") -> Path:
    """A folder that is complete as far as names go; its networks hold one byte each."""
    folder.mkdir()
    (folder / f"cosyvoice{generation}.yaml").write_text(settings_yaml(generation, size), encoding="utf-8")
    write_text_folder(folder / "CosyVoice-BlankEN", size)
    for name in ("llm.pt", "flow.pt", "hift.pt", "campplus.onnx", f"speech_tokenizer_v{generation}.onnx"):
        (folder / name).write_bytes(b"x")
    return folder


def read(folder: Path) -> ModelConfig:
    return read_config(find_files(folder))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_official_sizes_come_out_of_the_official_layout(tmp_path: Path, generation: Generation) -> None:
    config = read(make_folder(tmp_path / "model", generation, "full"))
    lm = config.lm
    assert (lm.qwen.width, lm.qwen.layers, lm.qwen.heads, lm.qwen.kv_heads, lm.qwen.head_width) == (896, 24, 14, 2, 64)
    assert (lm.head_rows, lm.start_id, lm.task_id) == {2: (6564, 0, 1), 3: (6761, 6561, 6563)}[generation]
    assert (lm.sampling.top_p, lm.sampling.top_k, lm.sampling.window, lm.sampling.repeat_share) == (0.8, 25, 10, 0.1)
    assert (config.sample_rate_hz, config.token_rate_hz, config.flow.frames_per_token) == (24_000, 25, 2)
    assert config.mel.top_hz == {2: 8000.0, 3: None}[generation]
    assert config.vocoder.lookahead_frames == {2: None, 3: 4}[generation]
    assert config.vocoder.upsample_rates == (8, 5, 3)
    if generation == 2:
        assert config.flow.encoder == EncoderConfig(512, 8, 2048, 6)
        assert config.flow.estimator == UnetConfig(320, 80, (256,), 64, 4, 12, 8)
    else:
        assert config.flow.encoder is None
        assert config.flow.estimator == DitConfig(1024, 22, 16, 64, 2, 80, 80, 80, 80, lookahead_channels=1024)


def test_tags_never_construct_anything(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    path = tmp_path / "evil.yaml"
    path.write_text(
        f"a: !apply:pathlib.Path.touch ['{touched}']\n"
        f"b: !new:pathlib.Path\n    value: 1\n"
        f"c: !name:os.system\n"
        "d: !ref <e> * 2 + 1\ne: 4\nf: !ref <a>\ng: !ref <g>\nh: !ref __import__('os')\n",
        encoding="utf-8",
    )
    values = read_model_yaml(path)
    assert not touched.exists()
    assert values["a"] == Tagged("apply:pathlib.Path.touch", [str(touched)])
    assert values["b"] == {"class": "pathlib.Path", "value": 1}
    assert values["c"] == {"class": "os.system"}
    assert values["d"] == 9
    assert values["f"] == values["a"]
    assert isinstance(values["g"], Tagged) and isinstance(values["h"], Tagged)
    path.write_text("a: !!python/object/apply:os.system ['true']\n", encoding="utf-8")
    with pytest.raises(ModelMissing, match="no valid yaml"):
        read_model_yaml(path)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("speech_token_size: 200", "speech_token_size: many", "llm.speech_token_size must be a whole number"),
        ("        top_p: 0.8\n", "", "llm.sampling.top_p is missing"),
        ("solver: 'euler'", "solver: 'midpoint'", "solver must be 'euler', found 'midpoint'"),
        ("    nb_harmonics: 8", "    nb_harmonics: 8\n    subharmonics: 2", "hift has values unknown .*: subharmonics"),
        ("llm.Qwen2LM", "llm.TransformerLM", "llm must be a Qwen2LM, found TransformerLM"),
        ("llm_input_size: 64", "llm_input_size: 96", "llm.llm_input_size must be 64, found 96"),
        (
            "spk_embed_dim: !ref <spk_embed_dim>",
            "spk_embed_dim: !ref <nothing>",
            "spk_embed_dim .* found !ref <nothing>",
        ),
        ("use_cnn_module: False", "use_cnn_module: True", "use_cnn_module must be False"),
    ],
)
def test_a_value_at_fault_is_named(tmp_path: Path, before: str, after: str, complaint: str) -> None:
    folder = make_folder(tmp_path / "model", 2)
    settings = folder / "cosyvoice2.yaml"
    text = settings.read_text(encoding="utf-8")
    assert before in text
    settings.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ModelMissing, match=complaint) as caught:
        read(folder)
    assert "cosyvoice2.yaml" in str(caught.value)


def test_qwen_settings_at_fault_are_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", 3)
    path = folder / "CosyVoice-BlankEN" / "config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    for change, complaint in (
        ({"tie_word_embeddings": False}, "tie_word_embeddings must be True"),
        ({"num_attention_heads": 3}, "must divide each other"),
        ({"hidden_size": None}, "hidden_size must be a whole number"),
    ):
        path.write_text(json.dumps(values | change), encoding="utf-8")
        with pytest.raises(ModelMissing, match=complaint):
            read(folder)


def test_files_missing_empty_or_unfinished_are_listed_with_where_to_get_them(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", 3)
    (folder / "llm.pt").unlink()
    (folder / "llm.pt.incomplete").write_bytes(b"x")
    (folder / "flow.pt").write_bytes(b"")
    (folder / "CosyVoice-BlankEN" / "merges.txt").unlink()
    with pytest.raises(ModelMissing) as caught:
        find_files(folder)
    message = str(caught.value)
    assert "llm.pt (download not finished)" in message
    assert "flow.pt (empty)" in message
    assert "merges.txt (missing)" in message
    assert "hift.pt" not in message
    assert "FunAudioLLM/Fun-CosyVoice3-0.5B-2512" in message and "models pull" in message


def test_the_generation_follows_from_the_settings_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", 2)
    assert find_generation(folder) == 2
    (folder / "cosyvoice3.yaml").write_text("", encoding="utf-8")
    with pytest.raises(ModelMissing, match="both"):
        find_generation(folder)
    first = tmp_path / "first"
    first.mkdir()
    with pytest.raises(ModelMissing, match="neither"):
        find_generation(first)
    (first / "cosyvoice.yaml").write_text("", encoding="utf-8")
    with pytest.raises(ModelMissing, match="CosyVoice 1"):
        find_generation(first)
    with pytest.raises(ModelMissing, match="does not exist"):
        find_generation(tmp_path / "nowhere")


def test_safetensors_stand_in_for_a_missing_pt(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", 2)
    (folder / "llm.safetensors").write_bytes(b"x")
    assert find_files(folder).llm.name == "llm.pt"
    (folder / "llm.pt").unlink()
    assert find_files(folder).llm.name == "llm.safetensors"
    assert find_files(folder).stored_speakers is None
