"""Going live: whole versions only, whatever happens in between; nothing of another's is touched."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCli, start_cli
from filelock import FileLock

from jobs.errors import Locked, UserError
from jobs.publish import NotPublishable, publish, rollback


def run_folder(folder: Path, content: str, files: int = 3, **changes: Any) -> Path:
    """A run folder as `run` leaves it."""
    items = []
    for number in range(files):
        out = f"en/{number}.wav"
        path = folder / out
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content * 100)
        size = path.stat().st_size
        items.append({"id": str(number), "state": "done", "out": out, "measured": {"size_bytes": size}} | changes)
    (folder / "report.json").write_text(json.dumps({"run": {"exit_code": 0}, "items": items}))
    (folder / "report.html").write_text("not for callers")
    return folder


def live(dest: Path) -> dict[str, str]:
    return {path.relative_to(dest).as_posix(): path.read_text()[0] for path in dest.rglob("*") if path.is_file()}


def test_a_run_goes_live_and_back_and_older_versions_go(tmp_path: Path) -> None:
    dest = tmp_path / "sounds"
    for content in "abc":
        publish(run_folder(tmp_path / f"run-{content}", content, files=2 if content == "c" else 3), dest)
        assert set(live(dest).values()) == {content}
    assert set(live(dest)) == {"en/0.wav", "en/1.wav"}
    assert sorted(p.name for p in (tmp_path / ".sounds.versions").iterdir() if p.is_dir()) == ["000002", "000003"]
    back = rollback(dest)
    assert (back.version, back.previous) == ("000002", None) and set(live(dest).values()) == {"b"}
    with pytest.raises(UserError, match="no version before"):
        rollback(dest)
    assert publish(tmp_path / "run-a", dest).version == "000004" and set(live(dest).values()) == {"a"}
    assert rollback(dest).version == "000002"


@pytest.mark.parametrize("state", ["failed", "pending"])
def test_a_run_with_failures_is_not_published(tmp_path: Path, state: str) -> None:
    publish(run_folder(tmp_path / "good", "a"), tmp_path / "sounds")
    with pytest.raises(NotPublishable, match=state):
        publish(run_folder(tmp_path / "bad", "b", state=state), tmp_path / "sounds")
    assert set(live(tmp_path / "sounds").values()) == {"a"}


def test_a_run_of_what_was_to_be_made_again_does_not_take_the_rest_off_line(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", "a")
    report = json.loads((folder / "report.json").read_text())
    report["items"][1]["state"] = "removed"
    for manifest in ("run/retry.jsonl", "/home/me/redo.jsonl"):
        report["run"]["manifest"] = manifest
        (folder / "report.json").write_text(json.dumps(report))
        with pytest.raises(NotPublishable, match="1 other files would be left out; run the whole manifest first"):
            publish(folder, tmp_path / "sounds")
    report["run"]["manifest"] = "prompts.csv"
    (folder / "report.json").write_text(json.dumps(report))
    assert publish(folder, tmp_path / "sounds").files == 2


def test_files_must_be_those_of_the_report(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", "a")
    (folder / "en/1.wav").write_text("cut off")
    with pytest.raises(NotPublishable, match=r"en/1.wav has 7 bytes"):
        publish(folder, tmp_path / "sounds")
    (folder / "en/1.wav").unlink()
    with pytest.raises(NotPublishable, match=r"en/1.wav is missing"):
        publish(folder, tmp_path / "sounds")
    with pytest.raises(NotPublishable, match="outside the run folder"):
        publish(run_folder(tmp_path / "hostile", "a", out="../../etc/passwd"), tmp_path / "sounds")
    assert not (tmp_path / "sounds").exists()


def test_a_file_that_was_changed_after_the_run_does_not_go_live(tmp_path: Path, cli: RunCli) -> None:
    (tmp_path / "two.csv").write_text("id,text\na,Yes.\nb,No.\n")
    assert cli("run", "two.csv", "--engine", "tone", "--quiet", "-o", "run").code == 0
    audio = tmp_path / "run/b.wav"
    whole = audio.read_bytes()
    audio.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1, whole[-1]]))
    with pytest.raises(NotPublishable, match=r"b.wav was changed since it was made; run the manifest again"):
        publish(tmp_path / "run", tmp_path / "sounds")
    audio.write_bytes(whole)
    assert publish(tmp_path / "run", tmp_path / "sounds").files == 2


@pytest.mark.parametrize("kind", ["folder", "file", "link", "dangling"])
def test_what_another_made_is_left_alone(tmp_path: Path, kind: str) -> None:
    dest = tmp_path / "sounds"
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/a.wav").write_text("p")
    if kind == "folder":
        (tmp_path / "precious").rename(dest)
    elif kind == "file":
        dest.write_text("p")
    else:
        dest.symlink_to("precious" if kind == "link" else "nowhere")
    before = (dest.is_symlink(), dest.is_dir(), dest.is_file())
    folder = run_folder(tmp_path / "run", "a")
    with pytest.raises(UserError, match="not made by this command"):
        publish(folder, dest)
    with pytest.raises(UserError, match="was not published"):
        rollback(dest)
    assert (dest.is_symlink(), dest.is_dir(), dest.is_file()) == before


def test_a_link_that_was_moved_by_hand_is_not_overwritten(tmp_path: Path) -> None:
    folder, dest = run_folder(tmp_path / "run", "a"), tmp_path / "sounds"
    publish(folder, dest)
    dest.unlink()
    dest.mkdir()
    with pytest.raises(UserError, match="no link of this command"):
        publish(folder, dest)
    dest.rmdir()
    dest.symlink_to("run")
    with pytest.raises(UserError, match="links to run"):
        publish(folder, dest)


@pytest.mark.parametrize("place", [".", "run", "run/live", ".."])
def test_a_place_in_or_around_the_run_is_refused(tmp_path: Path, place: str) -> None:
    folder = run_folder(tmp_path / "run", "a")
    with pytest.raises(UserError):
        publish(folder, tmp_path / place)


def test_one_at_a_time(tmp_path: Path) -> None:
    folder, dest = run_folder(tmp_path / "run", "a"), tmp_path / "sounds"
    publish(folder, dest)
    with FileLock(tmp_path / ".sounds.versions/lock"), pytest.raises(Locked, match="another process"):
        publish(folder, dest)
    with FileLock(folder / ".cosyvoice-batch/lock"), pytest.raises(Locked):
        publish(folder, dest)


def test_readers_never_find_a_mixture_nor_nothing(tmp_path: Path) -> None:
    """While versions are switched, the live name is always there, and what it stands for is one version."""
    dest = tmp_path / "sounds"
    runs = [run_folder(tmp_path / f"run-{content}", content, files=20) for content in "ab"]
    publish(runs[0], dest)
    stop = threading.Event()
    seen: list[set[str]] = []
    gaps: list[str] = []

    def read() -> None:
        while not stop.is_set():
            try:
                version = dest.resolve(strict=True)
            except FileNotFoundError as error:
                gaps.append(str(error))
                continue
            try:
                seen.append(set(live(version).values()))
            except FileNotFoundError:
                continue  # a version that was live two publishes ago is cleared while a slow reader is still in it

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(12):
        publish(runs[(number + 1) % 2], dest)
    stop.set()
    reader.join()
    assert not gaps and seen and all(len(contents) <= 1 for contents in seen)


def test_killed_at_any_moment_a_whole_version_is_live(tmp_path: Path, cli: RunCli) -> None:
    dest = tmp_path / "sounds"
    run_folder(tmp_path / "a", "a", files=400)
    run_folder(tmp_path / "b", "b", files=400)
    publish(tmp_path / "a", dest)
    killed = 0
    for delay_s in (0.0, 0.01, 0.03, 0.06, 0.1):
        process = start_cli("publish", "b", "sounds", cwd=tmp_path)
        versions = tmp_path / ".sounds.versions"
        while process.poll() is None and not list(versions.glob("*.part")):
            time.sleep(0.002)
        time.sleep(delay_s)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        contents = live(dest)
        assert len(contents) == 400 and len(set(contents.values())) == 1
    assert killed >= 2
    ended = cli("publish", "b", "sounds", "--json")
    assert ended.code == 0, ended.err
    assert set(live(dest).values()) == {"b"} and not list((tmp_path / ".sounds.versions").glob("*.part"))
    assert cli("publish", "--rollback", "sounds").code == 0
    assert cli("publish", "sounds").code == 2
