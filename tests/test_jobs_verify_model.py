"""Verifying a folder byte by byte, and which folder a name means."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path

import pytest
from hub_server import Hub
from test_jobs_pull_model import BRISK, Log, published, small_files, source_of

from jobs.errors import EnvironmentFault
from jobs.examine import named_or_pulled
from jobs.inventory import models
from jobs.model_catalog import COSYVOICE3, MODELS, PublishedModel
from jobs.model_store import find_model, look, models_folder, read_record
from jobs.pull_model import pull_model
from jobs.verify_model import verify_model


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    return small_files(tmp_path / "text")


@pytest.fixture
def model(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> PublishedModel:
    """CosyVoice 3 as if small files were the published ones."""
    small = published(files)
    monkeypatch.setitem(MODELS, "cosyvoice3", small)
    return small


@pytest.fixture
def store(tmp_path: Path, files: dict[str, bytes], model: PublishedModel) -> Path:
    """A models folder with CosyVoice 3 pulled."""
    with Hub(files) as hub:
        pull_model(model, source_of(hub, model), tmp_path / "store" / "cosyvoice3", Log(), pace=BRISK)
    return tmp_path / "store"


def nobody(message: str) -> None:
    pass


def faults(folder: Path) -> dict[str, str]:
    return {file.path: file.fault for file in verify_model(folder, nobody).faults}


def test_a_whole_model_has_no_faults_and_every_file_is_read(store: Path, model: PublishedModel) -> None:
    told: list[str] = []
    verdict = verify_model(store / "cosyvoice3", told.append)
    assert verdict.faults == [] and "on ModelScope, revision master" in verdict.held_against
    assert [file.path for file in verdict.files] == [file.path for file in model.files]
    assert len(told) == len(model.files)


def test_every_kind_of_harm_is_named_and_another_pull_mends_it(
    store: Path, files: dict[str, bytes], model: PublishedModel
) -> None:
    folder = store / "cosyvoice3"
    flipped = bytearray(files["llm.pt"])
    flipped[random.Random(4).randrange(len(flipped))] ^= 0x10
    (folder / "llm.pt").write_bytes(flipped)
    (folder / "flow.pt").write_bytes(files["flow.pt"][:-1])
    (folder / "hift.pt").unlink()
    (folder / "campplus.onnx").rename(folder / "campplus.onnx.part")
    found = faults(folder)
    assert found.keys() == {"llm.pt", "flow.pt", "hift.pt", "campplus.onnx"}
    assert "sha256" in found["llm.pt"] and found["flow.pt"] == "122999 bytes, expected 123000"
    assert (found["hift.pt"], found["campplus.onnx"]) == ("missing", "only 3000 of 3000 bytes came")
    assert "models pull cosyvoice3" in verify_model(folder, nobody).advice
    with Hub(files) as hub:
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
    assert faults(folder) == {}


def test_pinned_hashes_are_not_taken_from_the_folder(store: Path) -> None:
    folder = store / "cosyvoice3"
    (folder / "llm.pt").write_bytes(b"planted")
    record = json.loads((folder / "pulled.json").read_text())
    record["files"]["llm.pt"] |= {"bytes": 7, "sha256": hashlib.sha256(b"planted").hexdigest()}
    (folder / "pulled.json").write_text(json.dumps(record))
    assert faults(folder).keys() == {"llm.pt"}


def test_hashes_of_the_hub_are_kept_in_the_folder(tmp_path: Path, files: dict[str, bytes]) -> None:
    folder = tmp_path / "cosyvoice3"
    with Hub(files) as hub:
        pull_model(COSYVOICE3, source_of(hub, COSYVOICE3), folder, Log(), revision="main", pace=BRISK)
    assert faults(folder) == {}
    (folder / "CosyVoice-BlankEN" / "merges.txt").write_bytes(b"")
    assert faults(folder).keys() == {"CosyVoice-BlankEN/merges.txt"}
    assert "--from modelscope --revision main" in verify_model(folder, nobody).advice


def test_a_folder_nobody_pulled_is_held_against_the_published_model(store: Path) -> None:
    folder = store / "cosyvoice3"
    (folder / "pulled.json").unlink()
    assert faults(folder) == {}
    (folder / "llm.pt").write_bytes(b"of our own")
    verdict = verify_model(folder, nobody)
    assert [file.path for file in verdict.faults] == ["llm.pt"]
    assert "the published" in verdict.held_against and "a model of your own is expected to differ" in verdict.advice


def test_settings_that_cannot_be_read_are_a_fault_even_with_the_hubs_hash(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    files["cosyvoice3.yaml"] = b"sample_rate: [nonsense"
    with Hub(files) as hub:
        pull_model(COSYVOICE3, source_of(hub, COSYVOICE3), tmp_path / "m", Log(), revision="main", pace=BRISK)
    assert "cosyvoice3.yaml" in faults(tmp_path / "m")["settings"]


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"neither cosyvoice2\.yaml nor cosyvoice3\.yaml"):
        verify_model(tmp_path, nobody)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"files": {"a": 1}}', '{"files": {}}'])
def test_a_record_that_cannot_be_read_is_said_with_what_to_do(content: str, store: Path) -> None:
    folder = store / "cosyvoice3"
    (folder / "pulled.json").write_text(content)
    with pytest.raises(EnvironmentFault, match=r"pulled\.json cannot be read.*delete it"):
        read_record(folder)
    assert look(folder).state == "incomplete"


def test_doctor_names_the_model_that_a_run_would_take(store: Path, tmp_path: Path) -> None:
    environ = {"COSYVOICE_BATCH_MODELS": str(store)}
    found = named_or_pulled(environ)
    assert found.ok and found.found == str(store / "cosyvoice3")
    (store / "cosyvoice3" / "llm.pt").unlink()
    found = named_or_pulled(environ)  # none was asked for: the embedded voice speaks
    assert not found.ok and not found.needed and "models pull cosyvoice3" in found.fix
    for named, told in ((str(store / "cosyvoice3"), r"llm\.pt"), ("none", "neither a folder nor a name")):
        found = named_or_pulled(environ | {"COSYVOICE_BATCH_MODEL": named})
        assert not found.ok and found.needed and re.search(told, found.fix)


def test_names_folders_and_the_default_lead_to_a_model(store: Path, tmp_path: Path) -> None:
    environ = {"COSYVOICE_BATCH_MODELS": str(store)}
    pulled = store / "cosyvoice3"
    assert find_model(None, environ) == pulled
    assert find_model("cosyvoice3", environ) == pulled
    assert find_model(str(tmp_path), environ) == tmp_path
    assert find_model(None, environ | {"COSYVOICE_BATCH_MODEL": str(tmp_path)}) == tmp_path
    assert find_model("cosyvoice3", environ | {"COSYVOICE_BATCH_MODEL": str(tmp_path)}) == pulled
    for wrong, told in (("cosyvoice2", "models pull cosyvoice2"), ("cosyvoice4", "neither a folder nor a name")):
        with pytest.raises(EnvironmentFault, match=told):
            find_model(wrong, environ)
        with pytest.raises(EnvironmentFault, match=f"COSYVOICE_BATCH_MODEL='{wrong}'"):
            find_model(None, environ | {"COSYVOICE_BATCH_MODEL": wrong})
    (pulled / "llm.pt").unlink()
    assert find_model(None, environ) is None
    assert find_model("cosyvoice3", environ) == pulled
    assert find_model(None, {"COSYVOICE_BATCH_MODELS": str(tmp_path / "none")}) is None


def test_the_models_folder_is_the_users_own_unless_named() -> None:
    assert models_folder({}).is_absolute() and models_folder({}).name == "models"
    assert models_folder({"COSYVOICE_BATCH_MODELS": "~/m"}) == Path.home() / "m"


def test_the_inventory_tells_complete_incomplete_and_absent(store: Path, tmp_path: Path) -> None:
    environ = {"COSYVOICE_BATCH_MODELS": str(store), "COSYVOICE_BATCH_MODEL": str(tmp_path / "gone")}
    rows = {row["name"]: row for row in models(environ)}
    assert rows["cosyvoice3"]["complete"] and rows["cosyvoice3"]["revision"] == "master"
    assert "complete" in rows["cosyvoice3"]["state"] and str(store) in rows["cosyvoice3"]["state"]
    assert rows["cosyvoice2"]["state"].startswith("absent; `models pull cosyvoice2`")
    assert "neither a folder nor a name" in rows["COSYVOICE_BATCH_MODEL"]["state"]
    (store / "cosyvoice3" / "hift.pt").unlink()
    rows = {row["name"]: row for row in models(environ | {"COSYVOICE_BATCH_MODEL": "cosyvoice3"})}
    assert not rows["cosyvoice3"]["complete"] and "hift.pt (missing)" in rows["cosyvoice3"]["state"]
    assert rows["COSYVOICE_BATCH_MODEL"]["folder"] == str(store / "cosyvoice3")
