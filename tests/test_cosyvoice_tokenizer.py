"""Text to ids with a small vocabulary in the official layout; benchmarks/parity_tokens.py checks the full one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.model_parts import write_text_folder
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import Generation
from cosyvoice.tokenizer import TextTokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "CosyVoice-BlankEN"
    write_text_folder(path, "tiny")
    return path


def test_merges_apply_in_order_and_digits_stay_single(folder: Path) -> None:
    tokenizer = TextTokenizer(folder, 2)
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))

    def ids(*entries: str) -> tuple[int, ...]:
        return tuple(vocabulary[entry] for entry in entries)

    assert tokenizer.encode("the thing") == ids("the", "Ġ", "th", "ing")
    assert tokenizer.encode(" the") == ids("Ġthe")
    assert tokenizer.encode("2024") == ids("2", "0", "2", "4")
    assert tokenizer.encode("") == ()


@pytest.mark.parametrize(("generation", "added"), [(2, 20), (3, 281)])
def test_added_tokens_follow_the_vocabulary_in_the_fixed_order(
    folder: Path, generation: Generation, added: int
) -> None:
    tokenizer = TextTokenizer(folder, generation)
    base = len(json.loads((folder / "vocab.json").read_text(encoding="utf-8")))
    assert tokenizer.size == base + added
    # Official ids start at 151643; the distances to it are facts of the reference.
    distance = {"<|endoftext|>": 0, "<|im_end|>": 2, "<|endofprompt|>": 3, "[laughter]": 8, "[mn]": 19}
    if generation == 3:
        distance |= {"<|endofsystem|>": 20, "[AA]": 21, "[ZH]": 104, "[a]": 105, "[ǜ]": 280}
    for text, offset in distance.items():
        assert tokenizer.added_ids[text] == base + offset, text
        assert tokenizer.encode(f"a{text}b")[1] == base + offset
    assert tokenizer.end_of_prompt_id == base + 3


def test_tags_of_the_other_generation_are_plain_text(folder: Path) -> None:
    assert len(TextTokenizer(folder, 2).encode("[ǐ]")) > 1
    assert len(TextTokenizer(folder, 3).encode("[j][ǐ]")) == 2


@settings(max_examples=50, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_has_ids_within_the_vocabulary(folder: Path, text: str) -> None:
    tokenizer = TextTokenizer(folder, 3)
    assert all(0 <= token < tokenizer.size for token in tokenizer.encode(text))


def test_composed_and_decomposed_letters_are_the_same(folder: Path) -> None:
    tokenizer = TextTokenizer(folder, 2)
    assert tokenizer.encode("caf\u00e9") == tokenizer.encode("cafe\u0301")


def test_files_at_fault_are_named(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "text"
    write_text_folder(broken, "tiny")
    (broken / "merges.txt").write_text("q zz\n", encoding="utf-8")
    with pytest.raises(ModelMissing, match="do not fit"):
        TextTokenizer(broken, 2)
    write_text_folder(broken, "tiny")
    (broken / "tokenizer_config.json").write_text('{"added_tokens_decoder": {"5": {"content": "x"}}}', encoding="utf-8")
    with pytest.raises(ModelMissing, match="must have the ids from 262 on"):
        TextTokenizer(broken, 2)
    (broken / "tokenizer_config.json").write_text("[", encoding="utf-8")
    with pytest.raises(ModelMissing, match="cannot be read"):
        TextTokenizer(broken, 2)
    (broken / "vocab.json").unlink()
    with pytest.raises(ModelMissing, match=r"vocab\.json is missing"):
        TextTokenizer(broken, 2)
