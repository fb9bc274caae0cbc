"""`models list|pull|verify` as a person or a script uses it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from conftest import RunCli, environment, start_cli
from hub_server import COMMIT, Hub
from test_jobs_pull_model import small_files


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    return small_files(tmp_path / "text")


@pytest.fixture
def store(tmp_path: Path) -> dict[str, str]:
    return {"COSYVOICE_BATCH_MODELS": str(tmp_path / "store"), "COSYVOICE_BATCH_PKUSEG": str(tmp_path / "pkuseg")}


@pytest.mark.parametrize("hub_name", ["modelscope", "huggingface"])
def test_pull_verify_list(
    hub_name: str, cli: RunCli, files: dict[str, bytes], store: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "store" / "cosyvoice3"
    with Hub(files) as hub:
        ended = cli("models", "pull", "cosyvoice3", "--from", hub_name, "--revision", "main", env=store | hub.environ)
    assert (ended.code, ended.out) == (0, f"{folder}\n")
    assert "fetching llm.pt" in ended.err and "is ready in" in ended.err
    ended = cli("models", "verify", "cosyvoice3", env=store)
    assert ended.code == 0 and ended.out.startswith(f"{folder}: whole, 10 files")
    rows = {row["name"]: row for row in cli("models", "list", "--json", env=store).json()}
    assert rows["cosyvoice3"]["complete"] and rows["cosyvoice3"]["source"] == hub_name
    assert rows["cosyvoice3"]["revision"] == ("main" if hub_name == "modelscope" else COMMIT)
    assert {"cosyvoice2", "kokoro", "pkuseg"} <= rows.keys()
    (folder / "llm.pt").write_bytes(b"x")
    ended = cli("models", "verify", str(folder), env=store)
    assert ended.code == 4 and ended.out == f"llm.pt\t1 bytes, expected {len(files['llm.pt'])}\n"
    assert f"--from {hub_name} --revision" in ended.err


def test_other_files_than_the_pinned_ones_are_not_taken(
    cli: RunCli, files: dict[str, bytes], store: dict[str, str], tmp_path: Path
) -> None:
    with Hub(files) as hub:
        ended = cli("models", "pull", "cosyvoice3", env=store | hub.environ)
    assert ended.code == 4 and ended.out == ""
    assert "llm.pt (163000 bytes, expected 2024669519)" in ended.err and "--revision master" in ended.err
    assert not (tmp_path / "store" / "cosyvoice3").exists()


def test_a_dry_run_and_offline_need_no_network(cli: RunCli, store: dict[str, str], tmp_path: Path) -> None:
    nowhere = store | {"MODELSCOPE_ENDPOINT": "http://hub.invalid", "HF_ENDPOINT": "http://hub.invalid"}
    ended = cli("models", "pull", "cosyvoice3", "--with", "llm.rl.pt", "--dry-run", env=nowhere)
    assert ended.code == 0 and "llm.rl.pt\t2024.7\tto fetch" in ended.out and "cosyvoice3.yaml\t0.0" in ended.out
    assert "6.46 of 6.46 GB" in ended.err and "revision master" in ended.err
    ended = cli("models", "pull", "cosyvoice2", "--offline", env=nowhere)
    assert ended.code == 4 and "llm.pt  2023316821 bytes  sha256 b144ef55" in ended.err
    ended = cli("models", "pull", "pkuseg", "--offline", env=nowhere)
    assert ended.code == 4 and "--from FILE" in ended.err
    ended = cli("models", "pull", "pkuseg", "--dry-run", env=nowhere)
    assert ended.code == 0 and "pkuseg==0.0.25" in ended.out
    assert not (tmp_path / "store").exists() or not list((tmp_path / "store").glob("cosyvoice*"))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["pull", "cosyvoice9"], 2, "nothing is called 'cosyvoice9'"),
        (["pull", "pkuseg", "--revision", "x"], 2, "leave --revision"),
        (["pull", "cosyvoice2", "--with", "llm.rl.pt", "--offline"], 2, "no extra file"),
        (["pull", "cosyvoice3", "--offline", "--revision", "main"], 2, "--revision"),
        (["pull", "cosyvoice3", "--from", "hugingface"], 4, "give `modelscope`, `huggingface` or a folder"),
        (["verify", "cosyvoice3"], 4, "models pull cosyvoice3"),
        (["verify", "nothing"], 4, "neither a folder nor a name"),
    ],
)
def test_mistakes_are_said_with_the_next_step(
    words: list[str], code: int, told: str, cli: RunCli, store: dict[str, str]
) -> None:
    ended = cli("models", *words, env=store)
    assert ended.code == code and told in ended.err and "Traceback" not in ended.err


def test_ctrl_c_keeps_what_came(files: dict[str, bytes], store: dict[str, str], tmp_path: Path) -> None:
    part = tmp_path / "store" / "cosyvoice3" / "llm.pt.part"
    with Hub(files) as hub:
        hub.faults["llm.pt"] = ["slow"]
        words = ("models", "pull", "cosyvoice3", "--revision", "main")
        with start_cli(*words, cwd=tmp_path, env=store | hub.environ) as process:
            while not part.exists() or part.stat().st_size < 8192:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        assert process.returncode == 130 and "the same command goes on from here" in said
        kept = part.stat().st_size
        with start_cli(*words, cwd=tmp_path, env=store | hub.environ) as process:
            assert process.wait() == 0
        assert hub.starts("llm.pt") == [0, kept]


def test_a_terminal_gets_a_bar(files: dict[str, bytes], store: dict[str, str], tmp_path: Path) -> None:
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with Hub(files) as hub:
        hub.faults["llm.pt"] = ["cut:5000", "slow"]
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "models", "pull", "cosyvoice3", "--revision", "main"],
            env=environment(store | hub.environ),
            stdout=subprocess.PIPE,
            stderr=writer,
        )
        os.close(writer)
        shown = b""
        try:
            while piece := os.read(reader, 65536):
                shown += piece
        except OSError:  # the other side of the terminal is closed
            pass
        finally:
            os.close(reader)
        out = process.communicate()[0]
    assert process.returncode == 0 and out.decode().strip() == str(tmp_path / "store" / "cosyvoice3")
    assert re.search(rb"llm\.pt: +\d+%\|", shown) and b"100%" in shown
    assert b"trying again in 1 s" in shown and b"Traceback" not in shown
