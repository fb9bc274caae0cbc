"""Pulling a model folder: from either hub, over bad networks, killed and gone on with; never a mixed or half folder."""

from __future__ import annotations

import errno
import hashlib
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

import pytest
from conftest import ROOT, environment
from hub_server import COMMIT, Hub
from hypothesis import given, settings
from hypothesis import strategies as st

import jobs.pull_model
import jobs.web
from benchmarks.model_parts import settings_yaml, write_text_folder
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import PUBLISHED, Generation, find_files
from jobs.errors import EnvironmentFault, UserError
from jobs.fetch import Pace, Wanted, fetch_file
from jobs.hub import FolderSource, Source, is_inside
from jobs.model_catalog import COSYVOICE2, COSYVOICE3, PublishedFile, PublishedModel
from jobs.model_store import look, read_record
from jobs.pull_model import open_source, pull_model
from jobs.pull_plan import plan_pull
from jobs.web import Body, NetworkTrouble, Refused

BRISK = Pace(failures=4, listings=3, first_wait_s=0.0)
HubName = Literal["modelscope", "huggingface"]
HUBS: tuple[HubName, ...] = ("modelscope", "huggingface")


def small_files(place: Path, seed: int = 0, generation: int = 3) -> dict[str, bytes]:
    """The official layout with small content, and files beside it that nobody asks for."""
    write_text_folder(place, "tiny")
    rng = random.Random(seed)
    files = {f"CosyVoice-BlankEN/{path.name}": path.read_bytes() for path in sorted(place.iterdir())}
    files[f"cosyvoice{generation}.yaml"] = settings_yaml(generation, "tiny").encode()
    names = ("campplus.onnx", "hift.pt", f"speech_tokenizer_v{generation}.onnx", "flow.pt", "llm.pt", "llm.rl.pt")
    files |= {name: rng.randbytes(3_000 + 40_000 * index) for index, name in enumerate(names)}
    return files | {"README.md": b"read me", "flow.decoder.estimator.fp32.onnx": b"x" * 99_000}


def published(files: dict[str, bytes]) -> PublishedModel:
    """CosyVoice 3 as if it had been published with these files."""

    def pin(file: PublishedFile) -> PublishedFile:
        content = files[file.path]
        return PublishedFile(file.path, len(content), hashlib.sha256(content).hexdigest())

    return PublishedModel(
        COSYVOICE3.name,
        COSYVOICE3.title,
        COSYVOICE3.repositories,
        {"modelscope": "master", "huggingface": COMMIT},
        tuple(pin(file) for file in COSYVOICE3.files),
        tuple(pin(file) for file in COSYVOICE3.extras),
    )


class Log:
    """Hears a pull and keeps what it heard."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.total = self.done = 0
        self.files: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)

    def starts(self, total_bytes: int, done_bytes: int) -> None:
        self.total, self.done = total_bytes, done_bytes

    def file(self, path: str) -> None:
        self.files.append(path)

    def moved(self, count_bytes: int) -> None:
        self.done += count_bytes

    def ends(self) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    return small_files(tmp_path / "text")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store" / "cosyvoice3"


def source_of(hub: Hub, model: PublishedModel, name: HubName = "modelscope") -> Source:
    return open_source(model, name, hub.environ)


def assert_whole(folder: Path, files: dict[str, bytes], extra: tuple[str, ...] = ()) -> None:
    wanted = {file.path for file in COSYVOICE3.files} | set(extra)
    here = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert here.pop("pulled.json")
    assert here == {path: files[path] for path in wanted}
    assert look(folder).state == "complete"
    find_files(folder)


def test_the_catalog_names_what_the_engine_needs_and_where_it_lies(tmp_path: Path) -> None:
    generations: tuple[tuple[Generation, PublishedModel], ...] = ((2, COSYVOICE2), (3, COSYVOICE3))
    for generation, model in generations:
        place = tmp_path / model.name
        for file in model.files:
            assert is_inside(file.path) and len(file.sha256) == 64 and file.size_bytes > 0
            (place / file.path).parent.mkdir(parents=True, exist_ok=True)
            (place / file.path).write_bytes(b"x")
        assert find_files(place).generation == generation
        for file in model.files:
            (place / file.path).unlink()
            with pytest.raises(ModelMissing):
                find_files(place)
            (place / file.path).write_bytes(b"x")
        first, second = PUBLISHED[generation]
        assert first == f"{model.repositories['modelscope']} on ModelScope"
        assert second == f"{model.repositories['huggingface']} on Hugging Face"
    sizes = {file.path: file.size_bytes for file in COSYVOICE3.files}
    assert (sizes["llm.pt"], sizes["flow.pt"], sizes["hift.pt"]) == (2_024_669_519, 1_329_116_148, 83_202_622)


@pytest.mark.parametrize("name", HUBS)
def test_a_model_comes_from_either_hub_and_a_second_pull_asks_nobody(
    name: HubName, files: dict[str, bytes], folder: Path
) -> None:
    model = published(files)
    with Hub(files) as hub:
        log = Log()
        assert pull_model(model, source_of(hub, model, name), folder, log, pace=BRISK) == folder
        assert_whole(folder, files)
        assert log.done == log.total == model.size_bytes
        assert {asked.path for asked in hub.asked} == {"listing"} | {file.path for file in model.files}
        assert all("cosyvoice-batch" in asked.agent for asked in hub.asked)
        record = read_record(folder)
        assert record is not None and record.source == name and record.complete
        assert {file.known_from for file in record.files.values()} == {"pinned"}
        hub.asked.clear()
        again = Log()
        pull_model(model, source_of(hub, model, name), folder, again, pace=BRISK)
        assert hub.asked == [] and "nothing to do" in again.said[-1]


@pytest.mark.parametrize("name", HUBS)
def test_a_named_revision_takes_its_hashes_from_the_hub(name: HubName, files: dict[str, bytes], folder: Path) -> None:
    with Hub(files) as hub:
        pull_model(COSYVOICE3, source_of(hub, COSYVOICE3, name), folder, Log(), revision="main", pace=BRISK)
        assert_whole(folder, files)
        record = read_record(folder)
        assert record is not None and {file.known_from for file in record.files.values()} == {"hub"}
        assert record.revision == (COMMIT if name == "huggingface" else "main")
        assert record.files["llm.pt"].sha256 == hashlib.sha256(files["llm.pt"]).hexdigest()
        hub.faults["llm.pt"] = ["damage"]
        hub.faults["CosyVoice-BlankEN/config.json"] = ["damage"]
        for path in ("llm.pt", "CosyVoice-BlankEN/config.json"):  # known by sha256, and by Git's id
            (folder / path).unlink()
            with pytest.raises(EnvironmentFault, match=f"{path} from .* came damaged"):
                pull_model(COSYVOICE3, source_of(hub, COSYVOICE3, name), folder, Log(), revision="main", pace=BRISK)
            pull_model(COSYVOICE3, source_of(hub, COSYVOICE3, name), folder, Log(), revision="main", pace=BRISK)


def test_extras_come_when_asked_for(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        hub.asked.clear()
        pull_model(model, source_of(hub, model), folder, Log(), extras=("llm.rl.pt",), pace=BRISK)
        assert [asked.path for asked in hub.asked] == ["listing", "llm.rl.pt"]
    assert_whole(folder, files, ("llm.rl.pt",))
    with pytest.raises(UserError, match=r"no extra file 'x'.*llm\.rl\.pt"):
        pull_model(model, None, folder, Log(), extras=("x",))


@pytest.mark.parametrize(
    ("faults", "starts"),
    [
        (["cut:50000", "cut:1000"], [0, 50_000, 51_000]),
        (["cut:50000", "503", "500", "slow"], [0, 50_000, 50_000, 50_000]),
        (["429", "cut:0", "longer"], [0, 0, 0]),
        (["cut:50000", "no range"], [0, 50_000]),
        (["cut:50000", "wrong range"], [0, 50_000, 50_000]),
    ],
)
def test_a_bad_network_is_outlasted_from_where_it_broke(
    faults: list[str], starts: list[int], files: dict[str, bytes], folder: Path
) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.faults["flow.pt"] = list(faults)
        log = Log()
        pull_model(model, source_of(hub, model), folder, log, pace=BRISK)
        assert hub.starts("flow.pt") == starts
        assert log.done == log.total
        assert any("flow.pt" in line and ("trying again" in line or "starting it over" in line) for line in log.said)
    assert_whole(folder, files)


def test_a_silent_server_is_left_and_asked_again(
    files: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.web.open_url, "__defaults__", (0, 0.2))
    model = published(files)
    with Hub(files) as hub:
        hub.faults["hift.pt"] = ["stall"]
        log = Log()
        pull_model(model, source_of(hub, model), folder, log, pace=BRISK)
        assert any("was silent for too long" in line for line in log.said)
    assert_whole(folder, files)


@pytest.mark.parametrize("name", HUBS)
def test_a_listing_that_fails_is_asked_for_again(name: HubName, files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.faults["listing"] = ["503", "500"]
        pull_model(model, source_of(hub, model, name), folder, Log(), pace=BRISK)
        assert_whole(folder, files)
        (folder / "llm.pt").unlink()
        hub.faults["listing"] = ["503"] * 9
        with pytest.raises(NetworkTrouble, match="503"):
            pull_model(model, source_of(hub, model, name), folder, Log(), pace=BRISK)
        assert len(hub.faults["listing"]) == 6


def test_a_server_that_stays_broken_ends_the_pull_and_the_next_one_goes_on(
    files: dict[str, bytes], folder: Path
) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.faults["llm.pt"] = ["cut:70000", *["500"] * 9]
        with pytest.raises(NetworkTrouble, match=r"llm\.pt.*0\.1 of 0\.2 MB are kept, the same command goes on"):
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert (folder / "llm.pt.part").stat().st_size == 70_000
        assert look(folder).state == "incomplete"
        with pytest.raises(ModelMissing, match=r"llm\.pt \(download not finished\)"):
            find_files(folder)
        hub.faults.clear()
        hub.asked.clear()
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert [(asked.path, asked.start) for asked in hub.asked] == [("listing", 0), ("llm.pt", 70_000)]
    assert_whole(folder, files)


def test_a_damaged_file_is_deleted_and_named(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.faults["flow.pt"] = ["damage"]
        with pytest.raises(EnvironmentFault, match=r"flow\.pt .*damaged.*sha256 \w{64}, expected \w{64}.*pull again"):
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert not (folder / "flow.pt").exists() and not (folder / "flow.pt.part").exists()
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
    assert_whole(folder, files)


@pytest.mark.parametrize("left", [b"of another file", b"", b"x" * 300_000])
def test_a_part_that_does_not_fit_is_started_over(left: bytes, files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    folder.mkdir(parents=True)
    (folder / "llm.pt.part").write_bytes(left)
    with Hub(files) as hub:
        log = Log()
        pull_model(model, source_of(hub, model), folder, log, pace=BRISK)
        assert hub.starts("llm.pt") == ([len(left), 0] if left == b"of another file" else [0])
        assert log.done == log.total
    assert_whole(folder, files)


def test_a_part_that_is_all_there_is_not_asked_for(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    folder.mkdir(parents=True)
    (folder / "llm.pt.part").write_bytes(files["llm.pt"])
    with Hub(files) as hub:
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert hub.starts("llm.pt") == []
    assert_whole(folder, files)


@pytest.mark.parametrize("name", HUBS)
@pytest.mark.parametrize(
    "path", ["../llm.pt", "/etc/cron.d/x", "a/../../x", "C:/x", "a\\..\\..\\x", "a//x", ".", "CosyVoice-BlankEN/.."]
)
def test_a_listing_that_climbs_out_is_refused(name: HubName, path: str, files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.listed.append({"path": path, "size": 3})
        with pytest.raises(EnvironmentFault, match=r"outside of the model's folder"):
            pull_model(model, source_of(hub, model, name), folder, Log(), pace=BRISK)
        assert {asked.path for asked in hub.asked} == {"listing"}
    assert not folder.exists()


@given(st.text(alphabet="ab./\\:~ \0", max_size=12))
@settings(deadline=None, max_examples=300)
def test_no_accepted_path_leaves_the_folder(path: str) -> None:
    if is_inside(path):
        for kind, base in ((PurePosixPath, "/base"), (PureWindowsPath, "C:/base")):
            whole = kind(base) / path
            assert whole.is_relative_to(kind(base)) and ".." not in whole.parts and whole != kind(base)


@pytest.mark.parametrize("name", HUBS)
def test_a_revision_that_is_not_there_is_named(name: HubName, files: dict[str, bytes], folder: Path) -> None:
    with Hub(files) as hub, pytest.raises(Refused, match=r"Hub|hub|no revision 'v9'"):
        pull_model(COSYVOICE3, source_of(hub, COSYVOICE3, name), folder, Log(), revision="v9", pace=BRISK)
    assert len(hub.asked) == 1


def test_a_repository_without_the_model_is_refused_before_anything_comes(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    del files["flow.pt"]
    files["llm.pt"] += b"x"
    files["hift.pt"] = bytes(len(files["hift.pt"]))
    with Hub(files) as hub:
        with pytest.raises(EnvironmentFault) as caught:
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        for told in (
            "flow.pt (not there)",
            "llm.pt (163001 bytes, expected 163000)",
            "hift.pt (sha256",
        ):
            assert told in str(caught.value)
        assert "--revision master" in str(caught.value)
        assert {asked.path for asked in hub.asked} == {"listing"}
        with pytest.raises(EnvironmentFault, match=r"no flow\.pt in revision main"):
            pull_model(model, source_of(hub, model), folder, Log(), revision="main", pace=BRISK)


def test_a_file_that_vanishes_is_refused_at_once(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.faults["flow.pt"] = ["404"]
        with pytest.raises(Refused, match="HTTP 404, status 404 as asked"):
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert len(hub.starts("flow.pt")) == 1


def test_another_revision_replaces_our_files_and_keeps_those_of_others(tmp_path: Path, folder: Path) -> None:
    old, new = small_files(tmp_path / "a", seed=1), small_files(tmp_path / "b", seed=2)
    with Hub(old) as hub:
        pull_model(published(old), source_of(hub, COSYVOICE3), folder, Log(), pace=BRISK)
    (folder / "llm.pt").write_bytes(b"tuned for weeks")
    (folder / "spk2info.pt").write_bytes(b"own speakers")
    with Hub(new) as hub:
        hub.faults["flow.pt"] = ["404"]
        with pytest.raises(Refused):
            pull_model(published(new), source_of(hub, COSYVOICE3), folder, Log(), pace=BRISK)
        assert look(folder).state == "incomplete" and not (folder / "flow.pt").exists()
        log = Log()
        pull_model(published(new), source_of(hub, COSYVOICE3), folder, log, pace=BRISK)
    assert (folder / "llm.pt.old1").read_bytes() == b"tuned for weeks"
    assert (folder / "spk2info.pt").read_bytes() == b"own speakers"
    (folder / "llm.pt.old1").unlink()
    (folder / "spk2info.pt").unlink()
    assert_whole(folder, new)


def test_a_folder_in_place_of_a_hub_is_copied_and_checked(
    tmp_path: Path, files: dict[str, bytes], folder: Path
) -> None:
    model = published(files)
    disk = tmp_path / "disk"
    for path, content in files.items():
        (disk / path).parent.mkdir(parents=True, exist_ok=True)
        (disk / path).write_bytes(content)
    pull_model(model, open_source(model, str(disk), {}), folder, Log())
    assert_whole(folder, files)
    (disk / "flow.pt").write_bytes(b"damaged in the post")
    (disk / "llm.pt").unlink()
    with pytest.raises(EnvironmentFault, match=r"flow\.pt \(19 bytes.*llm\.pt \(not there\).*--model"):
        pull_model(model, open_source(model, str(disk), {}), tmp_path / "second", Log())
    with pytest.raises(UserError, match="--revision"):
        pull_model(model, open_source(model, str(disk), {}), folder, Log(), revision="main")
    with pytest.raises(EnvironmentFault, match="not a folder"):
        open_source(model, "hugingface", {})


def test_offline_says_what_is_missing_and_takes_note_of_what_was_carried_here(
    files: dict[str, bytes], folder: Path
) -> None:
    model = published(files)
    for file in model.files[1:]:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(files[file.path])
    with pytest.raises(EnvironmentFault) as caught:
        pull_model(model, None, folder, Log())
    missing = model.files[0]
    assert f"{missing.path}  {missing.size_bytes} bytes  sha256 {missing.sha256}" in str(caught.value)
    assert "llm.pt" not in str(caught.value) and str(folder) in str(caught.value)
    assert "on ModelScope" in str(caught.value) and "on Hugging Face" in str(caught.value)
    (folder / missing.path).write_bytes(files[missing.path])
    pull_model(model, None, folder, Log())
    assert_whole(folder, files)
    record = read_record(folder)
    assert record is not None and record.source == "files brought by hand"


def test_a_dry_plan_asks_nobody_and_writes_nothing(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    (folder / "CosyVoice-BlankEN").mkdir(parents=True)
    (folder / "hift.pt").write_bytes(files["hift.pt"])
    (folder / "flow.pt").write_bytes(b"x")
    (folder / "llm.pt.part").write_bytes(files["llm.pt"][:1000])
    before = sorted(folder.rglob("*"))
    with Hub(files) as hub:
        plan = plan_pull(model, source_of(hub, model), folder, Log(), dry=True)
        assert hub.asked == []
    states = {file.wanted.path: file.state for file in plan.files}
    assert (states["hift.pt"], states["flow.pt"], states["llm.pt"]) == ("here", "other", "partly")
    assert states["campplus.onnx"] == "absent"
    assert plan.to_fetch_bytes == model.size_bytes - len(files["hift.pt"]) - 1000
    assert sorted(folder.rglob("*")) == before


def test_too_little_room_is_said_before_anything_comes(
    files: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.pull_model, "SPARE_BYTES", 10**18)
    model = published(files)
    with Hub(files) as hub:
        with pytest.raises(EnvironmentFault, match=r"GB free.*takes.*--folder"):
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert {asked.path for asked in hub.asked} == {"listing"}


class FullDisk(FolderSource):
    """Meets a full disk with the first byte."""

    def open(self, revision: str, path: str, offset: int) -> Body:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_said_with_what_to_do(tmp_path: Path, files: dict[str, bytes], folder: Path) -> None:
    for path, content in files.items():
        (tmp_path / "disk" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "disk" / path).write_bytes(content)
    with pytest.raises(EnvironmentFault, match=r"no room left.*goes on from here"):
        pull_model(published(files), FullDisk(tmp_path / "disk"), folder, Log())


def test_a_place_that_cannot_be_written_is_an_environment_fault(tmp_path: Path, files: dict[str, bytes]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot write"):
        pull_model(published(files), None, tmp_path / "file" / "cosyvoice3", Log())


def test_a_token_goes_to_the_hub_alone_and_is_never_said(
    files: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret_token")
    model = published(files)
    for name in HUBS:
        with Hub(files) as store, Hub(files) as hub:
            hub.elsewhere = f"http://localhost:{store.port}"
            environ = {**hub.environ, "MODELSCOPE_API_TOKEN": "ms_secret_token"}
            log = Log()
            source = open_source(model, name, environ)
            pull_model(model, source, folder.with_name(name), log, pace=BRISK)
            own = {"huggingface": "Bearer hf_secret_token", "modelscope": "Bearer ms_secret_token"}[name]
            assert {asked.authorization for asked in hub.asked} == {own}
            assert len(store.asked) == len(model.files)
            assert {asked.authorization for asked in store.asked} == {None}
            hub.faults["listing"] = ["401"]
            (folder.with_name(name) / "llm.pt").unlink()
            with pytest.raises(Refused) as caught:
                pull_model(model, source, folder.with_name(name), log, pace=BRISK)
            assert "secret" not in str(caught.value) + "".join(log.said)


def test_a_redirect_to_anything_but_the_web_is_refused(files: dict[str, bytes], folder: Path) -> None:
    model = published(files)
    with Hub(files) as hub:
        hub.elsewhere = "ftp://127.0.0.1"
        with pytest.raises(Refused, match="no web address"):
            pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)


@pytest.mark.parametrize("name", HUBS)
def test_no_network_and_dead_proxies_are_named(
    name: HubName, files: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = published(files)
    with Hub(files) as hub:
        dead = hub.environ
    with pytest.raises(NetworkTrouble, match=r"127\.0\.0\.1.*(network|--from)"):
        pull_model(model, open_source(model, name, dead), folder, Log(), pace=BRISK)
    monkeypatch.setenv("http_proxy", f"http://user:secret@{dead['HF_ENDPOINT'].removeprefix('http://')}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    nowhere = {"MODELSCOPE_ENDPOINT": "http://hub.invalid", "HF_ENDPOINT": "http://hub.invalid"}
    with pytest.raises(NetworkTrouble, match=r"proxy|PROXY") as caught:
        pull_model(model, open_source(model, name, nowhere), folder, Log(), pace=BRISK)
    assert "secret" not in str(caught.value)


@given(cuts=st.lists(st.integers(0, 400), max_size=6), size=st.integers(1, 1000))
@settings(deadline=None, max_examples=25)
def test_however_often_it_breaks_the_file_is_the_one_that_was_sent(cuts: list[int], size: int) -> None:
    import tempfile

    content = random.Random(size).randbytes(size)
    wanted = Wanted("llm.pt", size, hashlib.sha256(content).hexdigest())
    with Hub({"llm.pt": content}) as hub, tempfile.TemporaryDirectory() as place:
        hub.faults["llm.pt"] = [f"cut:{min(cut, size - 1)}" for cut in cuts]
        target = Path(place) / "llm.pt"
        log = Log()
        fetch_file(source_of(hub, COSYVOICE3), "main", wanted, target, log, Pace(failures=9, first_wait_s=0.0))
        assert target.read_bytes() == content
        assert log.done == size


PULL_SCRIPT = """
import sys
from pathlib import Path
from test_jobs_pull_model import BRISK, Log, published, small_files
from jobs.pull_model import open_source, pull_model
model = published(small_files(Path(sys.argv[3])))
pull_model(model, open_source(model, "modelscope", {"MODELSCOPE_ENDPOINT": sys.argv[2]}), Path(sys.argv[1]), Log())
"""


def start_pull(hub: Hub, folder: Path, text: Path, limit_bytes: int = 0) -> subprocess.Popen[str]:
    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.Popen(
        [sys.executable, "-c", PULL_SCRIPT, str(folder), hub.url, str(text)],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=small_files_only if limit_bytes else None,
    )


def test_a_killed_pull_is_never_taken_for_whole_and_goes_on(
    tmp_path: Path, files: dict[str, bytes], folder: Path
) -> None:
    with Hub(files) as hub:
        hub.faults["flow.pt"] = ["slow"]
        with start_pull(hub, folder, tmp_path / "text") as running:
            part = folder / "flow.pt.part"
            while not part.exists() or part.stat().st_size < 8192:
                assert running.poll() is None
                time.sleep(0.01)
            running.send_signal(signal.SIGKILL)
        assert look(folder).state == "incomplete"
        with pytest.raises(ModelMissing):
            find_files(folder)
        kept = part.stat().st_size
        assert 0 < kept < len(files["flow.pt"])
        hub.asked.clear()
        model = published(files)
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
        assert [(asked.path, asked.start) for asked in hub.asked] == [("listing", 0), ("flow.pt", kept), ("llm.pt", 0)]
    assert_whole(folder, files)


def test_two_pulls_at_once_bring_everything_once(tmp_path: Path, files: dict[str, bytes], folder: Path) -> None:
    with Hub(files) as hub:
        hub.faults["hift.pt"] = ["slow"]
        both = [start_pull(hub, folder, tmp_path / f"text{number}") for number in range(2)]
        assert [(process.wait(), process.communicate()[1]) for process in both] == [(0, ""), (0, "")]
        assert sorted(asked.path for asked in hub.asked) == sorted(
            ["listing", *(file.path for file in COSYVOICE3.files)]
        )
    assert_whole(folder, files)


def test_a_write_that_fails_midway_leaves_a_folder_that_can_be_gone_on_with(
    tmp_path: Path, files: dict[str, bytes], folder: Path
) -> None:
    with Hub(files) as hub:
        process = start_pull(hub, folder, tmp_path / "text", limit_bytes=100_000)
        said = process.communicate()[1]
        assert process.returncode != 0 and "EnvironmentFault: cannot write" in said
        assert look(folder).state == "incomplete"
        model = published(files)
        pull_model(model, source_of(hub, model), folder, Log(), pace=BRISK)
    assert_whole(folder, files)
