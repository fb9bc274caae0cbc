"""Checkpoints: read safely, folded rightly, handed over strictly."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from cosyvoice.engine import ModelMissing
from cosyvoice.weights import check_tensors, fold_weight_norm, load_strict, read_checkpoint


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", "old"])
def test_every_file_kind_gives_the_same_tensors(tmp_path: Path, suffix: str) -> None:
    state = {"generator.conv.weight": torch.randn(3, 2), "m.generator.bias": torch.randn(4)}
    path = tmp_path / f"hift{'.pt' if suffix == 'old' else suffix}"
    if suffix == ".safetensors":
        save_file(state, path)
    else:
        torch.save({**state, "epoch": 3, "step": 9}, path, _use_new_zipfile_serialization=suffix != "old")
    found = read_checkpoint(path)
    assert list(found) == ["conv.weight", "m.bias"]
    assert all(torch.equal(a, b) for a, b in zip(found.values(), state.values(), strict=True))


class _Evil:
    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self._target,)


def test_code_inside_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    touched, path = tmp_path / "touched", tmp_path / "llm.pt"
    torch.save({"a": torch.zeros(1), "evil": _Evil(touched)}, path)
    for content in (None, *(pickle.dumps(_Evil(touched), protocol=protocol) for protocol in (2, 4))):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(
            ModelMissing, match=r"llm\.pt (holds getattr|is no checkpoint).*nothing of it was run"
        ) as caught:
            read_checkpoint(path)
        # torch advises to load it with code and all, which is no advice for who was sent this file.
        assert "weights_only" not in str(caught.value) and not touched.exists()


@settings(max_examples=20, deadline=None)
@given(share=st.floats(0.0, 0.999))
def test_a_cut_off_checkpoint_is_refused_wherever_it_ends(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    for name in ("llm.pt", "llm.safetensors"):
        path = folder / name
        state = {"a": torch.randn(50, 20), "b": torch.randn(7)}
        save_file(state, path) if path.suffix == ".safetensors" else torch.save(state, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ModelMissing, match=name.replace(".", r"\.")):
            read_checkpoint(path)


def test_pointers_and_strange_contents_are_named(tmp_path: Path) -> None:
    path = tmp_path / "flow.pt"
    with pytest.raises(ModelMissing, match="does not exist"):
        read_checkpoint(path)
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", encoding="utf-8")
    with pytest.raises(ModelMissing, match="Git LFS pointer"):
        read_checkpoint(path)
    path.write_text("<!DOCTYPE html><title>404</title>", encoding="utf-8")
    with pytest.raises(ModelMissing, match="a web page"):
        read_checkpoint(path)
    torch.save({"a": torch.zeros(1), "note": "hello"}, path)
    with pytest.raises(ModelMissing, match="no tensors: note"):
        read_checkpoint(path)
    torch.save([torch.zeros(1)], path)
    with pytest.raises(ModelMissing, match="holds a list"):
        read_checkpoint(path)


@pytest.mark.parametrize("layer", [nn.Conv1d(6, 4, 3), nn.ConvTranspose1d(6, 4, 3), nn.Linear(6, 4)])
def test_weight_norm_folds_to_the_weight_that_torch_uses(layer: nn.Module) -> None:
    torch.manual_seed(0)
    normed = weight_norm(layer)
    with torch.no_grad():
        normed.parametrizations["weight"].original0.uniform_(0.5, 2)
    state = normed.state_dict()
    expected = normed.weight.detach()
    old_names = {
        "weight_g": state["parametrizations.weight.original0"],
        "weight_v": state["parametrizations.weight.original1"],
        "bias": state["bias"],
    }
    for spelled in (state, old_names):
        folded = fold_weight_norm({f"ups.0.{name}": tensor for name, tensor in spelled.items()})
        assert set(folded) == {"ups.0.weight", "ups.0.bias"}
        assert torch.allclose(folded["ups.0.weight"], expected, atol=1e-7)
    with pytest.raises(ModelMissing, match="no partner"):
        fold_weight_norm({"a.weight_g": torch.ones(4, 1, 1)})


def test_missing_surplus_and_misshapen_tensors_are_all_named() -> None:
    state = {"a": torch.zeros(2, 3), "b": torch.zeros(4), "extra": torch.zeros(1)}
    with pytest.raises(ModelMissing) as caught:
        check_tensors(state, {"a": (2, 3), "b": (5,), "c": ()}, "flow.pt")
    message = str(caught.value)
    assert "flow.pt" in message
    assert "1 missing: c" in message and "1 surplus: extra" in message and "b is 4, expected 5" in message


def test_a_module_takes_exactly_its_tensors_without_copying() -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    state = {name: torch.randn(tensor.shape) for name, tensor in module.state_dict().items()}
    load_strict(module, state, "test")
    assert module.get_parameter("0.weight").data_ptr() == state["0.weight"].data_ptr()
    with pytest.raises(ModelMissing, match=r"surplus: 2\.weight"):
        load_strict(module, state | {"2.weight": torch.zeros(1)}, "test")
