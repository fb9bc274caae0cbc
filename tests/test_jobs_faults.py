"""What goes wrong at night: kill -9, dead and hung workers, SIGTERM, a second run, a full disk, a read-only folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import RunCli, files, outputs, report_items, report_run, start_cli, write_jsonl

SLOW = ("--engine", "engines_for_tests:SLOW", "--workers", "2")


def rows(count: int, words: str = "Press one for sales and two for support, please.") -> list[dict[str, object]]:
    return [{"id": f"p{number:03d}", "text": f"Prompt {number}. {words}"} for number in range(count)]


def pieces(folder: Path) -> int:
    """Outputs and takes that are there."""
    return files(folder, ".wav") + files(folder, ".f32")


def wait_for(condition: object, seconds: float = 60.0) -> None:
    """Wait until `condition()` holds."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run makes that nothing happens to, one item of many segments among the short ones."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_jsonl(folder / "m.jsonl", crash_rows())
    process = start_cli("run", "m.jsonl", *SLOW, cwd=folder, env={"TEST_SECONDS": "0"})
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return outputs(folder / "m-out")


def crash_rows() -> list[dict[str, object]]:
    sentence = "This is sentence number {} of a long chapter that has to be resumed in the middle."
    book = " ".join(sentence.format(number) for number in range(30))
    return [{"id": "chapter", "text": book}, *rows(12)]


def test_kill_9_at_random_moments_loses_nothing_and_redoes_nothing(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    write_jsonl(tmp_path / "m.jsonl", crash_rows())
    folder = tmp_path / "m-out"
    chance = random.Random(7)
    stamps: dict[str, int] = {}
    for _ in range(4):
        process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0.1"})
        already = pieces(folder)
        wait_for(lambda run=process, seen=already: run.poll() is not None or pieces(folder) > seen + 2)
        time.sleep(chance.uniform(0.0, 1.0))
        process.kill()
        process.communicate()
        for name, data in outputs(folder).items():
            assert data == undisturbed[name], f"{name} is torn or different"
            stamp = (folder / name).stat().st_mtime_ns
            stamps.setdefault(name, stamp)
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0"})
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert outputs(folder) == undisturbed
    redone = [name for name, stamp in stamps.items() if (folder / name).stat().st_mtime_ns != stamp]
    assert len(redone) <= 4, "at most the item of each kill's instant is made twice"
    assert report_run(folder)["resumed_from"] is not None
    assert not list(folder.rglob("*.f32")) and not list(folder.rglob("*.part"))


def test_a_long_item_goes_on_from_its_last_segment(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    write_jsonl(tmp_path / "m.jsonl", crash_rows()[:1])
    folder = tmp_path / "m-out"
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0.2"})
    wait_for(lambda: files(folder, ".f32") >= 6)
    process.kill()
    process.communicate()
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0"})
    assert process.wait(200) == 0
    process.communicate()
    assert outputs(folder) == {"chapter.wav": undisturbed["chapter.wav"]}
    log = (folder / "run.log").read_text(encoding="utf-8")
    assert "done chapter" in log
    assert report_items(folder)["chapter"]["segments"] > 10


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_run_cleanly_and_the_next_goes_on(tmp_path: Path, number: int, code: int) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(40))
    folder = tmp_path / "m-out"
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0.2"})
    wait_for(lambda: files(folder, ".wav") >= 2)
    sent = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert time.monotonic() - sent < 20
    run = report_run(folder)
    assert run["interrupted"] and run["counts"]["pending"] > 0 and run["exit_code"] == code
    made = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.wav")}
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0"})
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert len(outputs(folder)) == 40
    assert {name: (folder / name).stat().st_mtime_ns for name in made} == made


def test_children_die_with_their_parent(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(20))
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0.3"})
    wait_for(lambda: files(tmp_path / "m-out", ".wav") > 0)
    children = _descendants(process.pid)
    assert len(children) >= 3
    process.kill()
    process.communicate()
    wait_for(lambda: not any(_alive(pid) for pid in children), 20)


def _descendants(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    children = [int(word) for word in found.stdout.split()]
    return children + [deeper for child in children for deeper in _descendants(child)]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_second_run_is_refused_and_names_the_holder(tmp_path: Path, cli: RunCli) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(30))
    first = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "0.6"})
    wait_for(lambda: files(tmp_path / "m-out", ".wav") > 0)
    second = cli("run", "m.jsonl", *SLOW)
    assert second.code == 5 and f"process {first.pid}" in second.err
    waiting = start_cli("run", "m.jsonl", *SLOW, "--wait", "120", "--json", cwd=tmp_path, env={"TEST_SECONDS": "0"})
    assert first.wait(120) == 0
    first.communicate()
    out, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 0, err
    assert '"unchanged": 30' in out


def test_a_worker_that_dies_on_one_text_costs_that_item_only(tmp_path: Path, cli: RunCli) -> None:
    write_jsonl(tmp_path / "m.jsonl", [*rows(6), {"id": "poison", "text": "This text is deadly."}])
    ended = cli("run", "m.jsonl", "--engine", "engines_for_tests:DIES", "--workers", "1")
    assert ended.code == 3, ended.err
    items = report_items(tmp_path / "m-out")
    assert items["poison"]["state"] == "failed" and "died" in items["poison"]["reason"]
    assert sum(item["state"] == "done" for item in items.values()) == 6
    assert "SIGKILL" in ended.err and report_run(tmp_path / "m-out")["devices"][0]["restarts"] >= 1


@pytest.mark.parametrize(("engine", "words"), [("DIES_ONCE", "507015"), ("HANGS_ONCE", "no progress")])
def test_a_lost_or_hung_worker_is_replaced_and_the_result_is_the_same(
    tmp_path: Path, cli: RunCli, engine: str, words: str, undisturbed: dict[str, bytes]
) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(12))
    ended = cli(
        "run", "m.jsonl", "--engine", f"engines_for_tests:{engine}", "--workers", "2", "--heartbeat", "5",
        env={"TEST_MARKER": str(tmp_path / "marker")},
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert (tmp_path / "marker").exists() and words in ended.err
    assert outputs(tmp_path / "m-out") == {k: v for k, v in undisturbed.items() if k != "chapter.wav"}


def test_an_engine_that_cannot_be_loaded_ends_with_code_4(tmp_path: Path, cli: RunCli) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(3))
    ended = cli("run", "m.jsonl", "--engine", "engines_for_tests:UNLOADABLE")
    assert ended.code == 4 and "this engine never loads" in ended.err


def test_a_killed_finisher_is_replaced(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    write_jsonl(tmp_path / "m.jsonl", rows(12))
    process = start_cli("run", "m.jsonl", *SLOW, cwd=tmp_path, env={"TEST_SECONDS": "1.0"})
    wait_for(lambda: files(tmp_path / "m-out", ".wav") > 0)
    os.kill(max(_descendants(process.pid)), signal.SIGKILL)  # the finisher is started after the workers
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert outputs(tmp_path / "m-out") == {k: v for k, v in undisturbed.items() if k != "chapter.wav"}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root; CI runs as root")
def test_a_full_disk_stops_cleanly_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        write_jsonl(tmp_path / "m.jsonl", rows(40))
        words = ("run", "m.jsonl", *SLOW, "-o", str(small / "out"))
        process = start_cli(*words, cwd=tmp_path, env={"TEST_SECONDS": "0"})
        _, err = process.communicate(timeout=120)
        assert process.returncode == 4 and "disk is full" in err, err
        import soundfile

        for path in (small / "out").glob("*.wav"):
            assert soundfile.info(path).duration > 1.0
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        process = start_cli(*words, cwd=tmp_path, env={"TEST_SECONDS": "0"})
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert len(outputs(small / "out")) == 40
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only file system needs root; CI runs as root")
def test_a_read_only_folder_ends_with_code_4(tmp_path: Path, cli: RunCli) -> None:
    fixed = tmp_path / "fixed"
    fixed.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(fixed)], check=True)
    try:
        write_jsonl(tmp_path / "m.jsonl", rows(2))
        ended = cli("run", "m.jsonl", "--engine", "tone", "-o", str(fixed / "out"))
        assert ended.code == 4 and "--out" in ended.err
    finally:
        subprocess.run(["umount", "-l", str(fixed)], check=True)
