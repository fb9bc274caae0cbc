"""Bringing the pkuseg model: from hostile or broken sources nothing comes through, and nothing half-made stays."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jobs.pull
from jobs.errors import EnvironmentFault
from jobs.pull import ModelSource, pkuseg_state, pull_pkuseg, verify_pkuseg
from jobs.words import open_word_breaker

REPOSITORY = Path(__file__).resolve().parent.parent
TAGS = {"B": 0, "B_single": 1, "I": 2, "I_end": 3, "I_first": 4}
DICTIONARY = {
    "unigram": ["南京", "大桥"],
    "bigram": ["南京*大桥"],
    "feature_to_idx": {"$$": 0, "c.南": 1},
    "tag_to_idx": TAGS,
}


def weights_file() -> bytes:
    stream = io.BytesIO()
    features = len(DICTIONARY["feature_to_idx"])
    np.savez(stream, sizes=np.array([len(TAGS), features]), w=np.zeros(len(TAGS) * (features + len(TAGS))))
    return stream.getvalue()


WEIGHTS = weights_file()
FEATURES = pickle.dumps(DICTIONARY)


def known(features: bytes = FEATURES, weights: bytes = WEIGHTS) -> ModelSource:
    """A model source whose known files are these bytes."""
    return ModelSource(
        requirement="pkuseg==0.0.25",
        archive_sha256="0" * 64,
        features_bytes=len(features),
        features_sha256=hashlib.sha256(features).hexdigest(),
        weights_bytes=len(weights),
        weights_sha256=hashlib.sha256(weights).hexdigest(),
    )


def folder_source(place: Path, features: bytes = FEATURES, weights: bytes = WEIGHTS) -> Path:
    inner = place / "source" / "pkuseg" / "models" / "default"
    inner.mkdir(parents=True)
    (inner / "features.pkl").write_bytes(features)
    (inner / "weights.npz").write_bytes(weights)
    return place / "source"


def tar_source(place: Path, members: list[tuple[str, bytes | str]]) -> Path:
    """A .tar.gz; a member given as text is a symbolic link to it."""
    path = place / "source.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


def zip_source(place: Path, members: list[tuple[str, bytes]]) -> Path:
    path = place / "source.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


GOOD_MEMBERS: list[tuple[str, bytes]] = [
    ("pkuseg-0.0.25/setup.py", b"raise SystemExit('never run')"),
    ("pkuseg-0.0.25/pkuseg/models/default/features.pkl", FEATURES),
    ("pkuseg-0.0.25/pkuseg/models/default/weights.npz", WEIGHTS),
]


def make_folder(place: Path) -> Path:
    return folder_source(place)


def make_tar(place: Path) -> Path:
    return tar_source(place, [*GOOD_MEMBERS])


def make_zip(place: Path) -> Path:
    return zip_source(place, GOOD_MEMBERS)


@pytest.mark.parametrize("make", [make_folder, make_tar, make_zip])
def test_a_local_source_becomes_a_model_that_loads(make: Callable[[Path], Path], tmp_path: Path) -> None:
    destination = tmp_path / "data" / "pkuseg"
    said: list[str] = []
    assert pull_pkuseg(destination, make(tmp_path), said.append, model=known()) == destination
    state = pkuseg_state(destination, check_hashes=True)
    assert (state.state, set(state.sizes_bytes)) == ("present", {"features.msgpack", "weights.npz"})
    assert state.sha256["weights.npz"] == hashlib.sha256(WEIGHTS).hexdigest()
    assert sorted(path.name for path in destination.iterdir()) == ["features.msgpack", "model.json", "weights.npz"]
    assert open_word_breaker(destination).degraded is None
    assert open_word_breaker(destination).cuts("南京大桥") == []
    assert "is ready" in said[-1]


def test_a_second_pull_leaves_a_whole_model_alone(tmp_path: Path) -> None:
    destination, source = tmp_path / "pkuseg", folder_source(tmp_path)
    pull_pkuseg(destination, source, model=known())
    before = {path.name: path.stat().st_mtime_ns for path in destination.iterdir()}
    said: list[str] = []
    pull_pkuseg(destination, tmp_path / "gone", said.append, model=known())
    assert {path.name: path.stat().st_mtime_ns for path in destination.iterdir()} == before
    assert len(said) == 1 and "nothing to do" in said[0]


@pytest.mark.parametrize("harm", ["cut short", "flipped", "record gone"])
def test_damage_is_seen_and_mended_by_another_pull(harm: str, tmp_path: Path) -> None:
    destination, source = tmp_path / "pkuseg", folder_source(tmp_path)
    pull_pkuseg(destination, source, model=known())
    weights = destination / "weights.npz"
    if harm == "cut short":
        weights.write_bytes(WEIGHTS[:-7])
    elif harm == "flipped":
        weights.write_bytes(WEIGHTS[:-1] + bytes([WEIGHTS[-1] ^ 1]))
    else:
        (destination / "model.json").unlink()
    assert pkuseg_state(destination, check_hashes=True).state == "damaged"
    with pytest.raises(EnvironmentFault, match="models pull pkuseg"):
        verify_pkuseg(destination)
    if harm != "flipped":
        assert "damaged" in (open_word_breaker(destination).degraded or "")
    pull_pkuseg(destination, source, model=known())
    assert pkuseg_state(destination, check_hashes=True).state == "present"


class Evil:
    """Runs a command when it is unpickled by an ordinary unpickler."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("place", ["whole", "inside"])
def test_a_pickle_that_wants_to_run_code_is_refused_unrun(place: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    content: object = Evil(marker) if place == "whole" else {**DICTIONARY, "bigram": [Evil(marker)]}
    evil = pickle.dumps(content)
    with pytest.raises(EnvironmentFault, match=r"system"):
        pull_pkuseg(tmp_path / "pkuseg", folder_source(tmp_path, evil), model=known(features=evil))
    assert not marker.exists()
    assert not (tmp_path / "pkuseg").exists()


@pytest.mark.parametrize(
    "content", [pickle.dumps([1, 2]), pickle.dumps({"unigram": []}), b"\x80\x04 nonsense", b"\x80"]
)
def test_a_pickle_of_anything_else_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"features\.pkl"):
        pull_pkuseg(tmp_path / "pkuseg", folder_source(tmp_path, content), model=known(features=content))


def test_other_files_than_the_known_ones_are_refused_before_they_are_read(tmp_path: Path) -> None:
    changed = FEATURES[:-3] + bytes([FEATURES[-3] ^ 1]) + FEATURES[-2:]
    with pytest.raises(EnvironmentFault, match=r"sha256 [0-9a-f]{64}, expected"):
        pull_pkuseg(tmp_path / "pkuseg", folder_source(tmp_path, changed), model=known())


NAME = "pkuseg-0.0.25/pkuseg/models/default/features.pkl"
HOSTILE: list[tuple[str, list[tuple[str, bytes | str]], str]] = [
    ("climbs out", [("../../features.pkl", FEATURES), ("weights.npz", WEIGHTS)], "points outside"),
    ("absolute", [("/elsewhere/features.pkl", FEATURES), ("weights.npz", WEIGHTS)], "points outside"),
    ("link", [(NAME, "/etc/passwd"), ("weights.npz", WEIGHTS)], "not a plain file"),
    ("two of them", [("a/features.pkl", FEATURES), ("b/features.pkl", FEATURES)], "2 files called"),
    ("same name twice", [(NAME, FEATURES), (NAME, b"other")], "2 files called"),
    ("none", [("readme.txt", b"hello")], r"no features\.pkl"),
    ("too long", [(NAME, FEATURES + b"x"), ("weights.npz", WEIGHTS)], "bytes, the known file has"),
    ("too short", [(NAME, FEATURES[:-1]), ("weights.npz", WEIGHTS)], "bytes, the known file has"),
]


@pytest.mark.parametrize(("members", "message"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_hostile_tar_is_refused(members: list[tuple[str, bytes | str]], message: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = tar_source(tmp_path / "in", members)
    with pytest.raises(EnvironmentFault, match=message):
        pull_pkuseg(tmp_path / "out" / "pkuseg", source, model=known())
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".pkuseg.lock"]
    assert not list(tmp_path.rglob("features.pkl"))


@pytest.mark.parametrize("name", ["../features.pkl", "..\\features.pkl", "C:\\features.pkl", "/features.pkl"])
def test_a_hostile_zip_is_refused(name: str, tmp_path: Path) -> None:
    source = zip_source(tmp_path, [(name, FEATURES), ("weights.npz", WEIGHTS)])
    with pytest.raises(EnvironmentFault, match=r"points outside|no features\.pkl"):
        pull_pkuseg(tmp_path / "out" / "pkuseg", source, model=known())


def test_an_archive_that_unpacks_to_far_too_much_is_not_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.archive.MOST_BYTES", 3_000_000)
    source = tar_source(tmp_path, [("filler", b"\0" * 4_000_000), *GOOD_MEMBERS])
    with pytest.raises(EnvironmentFault, match="far more than a model"):
        pull_pkuseg(tmp_path / "out" / "pkuseg", source, model=known())


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08\x00garbage"])
def test_a_file_that_is_no_archive_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    source = tmp_path / "model.tar.gz"
    source.write_bytes(content)
    with pytest.raises(EnvironmentFault, match=r"is no \.tar\.gz|cannot be unpacked"):
        pull_pkuseg(tmp_path / "pkuseg", source, model=known())


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    source = tar_source(tmp_path, [("filler", rng.randbytes(200_000)), *GOOD_MEMBERS])
    source.write_bytes(source.read_bytes()[:100_000])
    with pytest.raises(EnvironmentFault, match="cannot be unpacked"):
        pull_pkuseg(tmp_path / "out" / "pkuseg", source, model=known())


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    destination = tmp_path / "documents"
    destination.mkdir()
    (destination / "thesis.txt").write_text("ten years")
    with pytest.raises(EnvironmentFault, match=r"thesis\.txt"):
        pull_pkuseg(destination, folder_source(tmp_path), model=known())
    assert (destination / "thesis.txt").read_text() == "ten years"


def test_too_little_room_is_said_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.pull, "ROOM_BYTES", 10**18)
    with pytest.raises(EnvironmentFault, match="MB free"):
        pull_pkuseg(tmp_path / "pkuseg", folder_source(tmp_path), model=known())


def test_a_destination_that_cannot_be_made_is_an_environment_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot write"):
        pull_pkuseg(tmp_path / "file" / "pkuseg", folder_source(tmp_path), model=known())


PULL_SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]) / "tests")]
from test_jobs_pull import known
from jobs.pull import pull_pkuseg
source = Path(sys.argv[3])
features, weights = (next(source.rglob(name)).read_bytes() for name in ("features.pkl", "weights.npz"))
print("started", flush=True)
pull_pkuseg(Path(sys.argv[2]), source, model=known(features, weights))
"""


def big_source(place: Path) -> Path:
    words = [f"{number:x}*{number * 7919 % 1_000_003:x}" for number in range(300_000)]
    return folder_source(place, pickle.dumps({**DICTIONARY, "bigram": words}))


def test_a_pull_that_is_killed_leaves_nothing_half_made(tmp_path: Path) -> None:
    destination, source = tmp_path / "data" / "pkuseg", big_source(tmp_path)
    command = [sys.executable, "-c", PULL_SCRIPT, str(REPOSITORY), str(destination), str(source)]
    for delay_s in (0.0, 0.02, 0.06, 0.12, 0.25):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"started\n"
            time.sleep(delay_s)
            running.send_signal(signal.SIGKILL)
        assert pkuseg_state(destination, check_hashes=True).state in ("absent", "present")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert pkuseg_state(destination, check_hashes=True).state == "present"
    assert sorted(path.name for path in destination.parent.iterdir()) == [".pkuseg.lock", "pkuseg"]


def test_a_write_that_fails_midway_leaves_nothing_behind(tmp_path: Path) -> None:
    destination, source = tmp_path / "data" / "pkuseg", big_source(tmp_path)

    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    command = [sys.executable, "-c", PULL_SCRIPT, str(REPOSITORY), str(destination), str(source)]
    done = subprocess.run(command, preexec_fn=small_files_only, capture_output=True, text=True)
    assert "EnvironmentFault: cannot write" in done.stderr
    assert [path.name for path in destination.parent.iterdir()] == [".pkuseg.lock"]


def test_two_pulls_at_once_end_with_one_model(tmp_path: Path) -> None:
    destination, source = tmp_path / "data" / "pkuseg", big_source(tmp_path)
    command = [sys.executable, "-c", PULL_SCRIPT, str(REPOSITORY), str(destination), str(source)]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert pkuseg_state(destination, check_hashes=True).state == "present"


def empty_wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def only_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_a_changed_file_on_the_index_is_refused_before_any_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    empty_wheel(index, "setuptools", "99.0")
    empty_wheel(index, "cython", "3.99")
    marker = tmp_path / "marker"
    setup = f"open({str(marker)!r}, 'w')\nfrom setuptools import setup\nsetup(name='pkuseg', version='0.0.25')\n"
    tar_source(index, [("pkuseg-0.0.25/setup.py", setup.encode()), *GOOD_MEMBERS[1:]]).rename(
        index / "pkuseg-0.0.25.tar.gz"
    )
    only_index(index, monkeypatch)
    with pytest.raises(EnvironmentFault, match=r"another file as pkuseg==0\.0\.25 than the known one"):
        pull_pkuseg(tmp_path / "pkuseg")
    assert not marker.exists()
    assert not (tmp_path / "pkuseg").exists()


def test_without_a_network_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index").mkdir()
    only_index(tmp_path / "index", monkeypatch)
    with pytest.raises(
        EnvironmentFault,
        match=r"bring pkuseg-0\.0\.25\.tar\.gz .* `cosyvoice-batch models pull pkuseg --from FILE`",
    ):
        pull_pkuseg(tmp_path / "pkuseg")


def test_a_python_without_pip_is_said_with_the_way_out(tmp_path: Path) -> None:
    """As environments made by uv are."""
    import filelock

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "filelock").symlink_to(Path(filelock.__file__).parent)
    destination = str(tmp_path / "pkuseg")
    script = f"from pathlib import Path; from jobs.pull import pull_pkuseg; pull_pkuseg(Path({destination!r}))"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(REPOSITORY), str(libraries)]))
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run([str(python), "-c", script], env=environment, capture_output=True, text=True)
    assert "EnvironmentFault: this Python has no pip" in done.stderr
    assert "uv pip install pip" in done.stderr
