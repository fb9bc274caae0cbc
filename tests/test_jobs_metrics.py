"""The metrics file: what Prometheus' own parser reads in it, when it is renewed, and what outlives a failed run."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest
from conftest import ROOT, RunCli, report_run, start_cli, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from jobs.errors import EnvironmentFault, InvalidInput, Locked
from jobs.metrics import METRICS, PREFIX, Figures, Meter, metering, render
from jobs.report import DeviceRow

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
COMMON = {"manifest", "folder"}


def read(text: str) -> Samples:
    """Every sample by its name and its labels, `manifest` and `folder` left out."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (
                sample.name.removeprefix(PREFIX),
                frozenset((k, v) for k, v in sample.labels.items() if k not in COMMON),
            )
            assert key not in found, f"{key} stands there twice"
            assert sample.labels.keys() >= COMMON
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def test_a_run_tells_its_figures(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": f"i{n}", "text": f"Number {n}."} for n in range(3)])
    before = time.time()
    assert cli("run", "m.jsonl", "--engine", "tone", "--workers", "2", "--metrics-file", "m.prom").code == 0
    text = (tmp_path / "m.prom").read_text()
    samples, report = read(text), report_run(tmp_path / "m-out")
    assert value(samples, "running") == 0
    assert value(samples, "exit_code") == 0
    assert before <= (value(samples, "last_success_timestamp_seconds") or 0) <= time.time()
    assert value(samples, "items", state="done") == 3
    assert value(samples, "items", state="failed") == 0
    assert value(samples, "takes_total") == value(samples, "device_takes_total", device="cpu") == 3
    assert value(samples, "retries_total") == 0
    assert value(samples, "audio_seconds_total") == pytest.approx(report["audio_s"], abs=2e-3)
    assert value(samples, "device_workers", device="cpu") == 2 == report["devices"][0]["workers"]
    assert 0 < (value(samples, "device_busy_ratio", device="cpu") or 0) <= 1
    assert (value(samples, "device_memory_peak_bytes", device="cpu", memory="host") or 0) > 2**20
    assert f'manifest="{tmp_path / "m.jsonl"}"' in text
    assert f'folder="{tmp_path / "m-out"}"' in text
    assert [info for info in samples if info[0] == "run_info" and ("engine", "tone") in info[1]]
    assert list(tmp_path.glob(".*.part")) == []


def test_retries_are_counted(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": f"i{n}", "text": f"Number {n}."} for n in range(3)])
    engine = ("--engine", "engines_for_tests:FIRST_TAKE_SILENT", "--workers", "1")
    assert cli("run", "m.jsonl", *engine, "--metrics-file", "m.prom").code == 0
    samples = read((tmp_path / "m.prom").read_text())
    assert value(samples, "takes_total") == 6
    assert value(samples, "retries_total") == value(samples, "device_retries_total", device="cpu") == 3
    assert report_run(tmp_path / "m-out")["devices"][0]["retries"] == 3
    assert "6 takes, 3 retries, 0 restarts" in (tmp_path / "m-out/run.log").read_text()


def test_a_restarted_worker_shows(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": f"i{n}", "text": f"Number {n}."} for n in range(6)])
    engine = ("--engine", "engines_for_tests:DIES_ONCE", "--workers", "1")
    done = cli("run", "m.jsonl", *engine, "--metrics-file", "m.prom", env={"TEST_MARKER": str(tmp_path / "died")})
    assert done.code == 0, done.err
    samples = read((tmp_path / "m.prom").read_text())
    assert value(samples, "device_restarts_total", device="cpu") == 1
    assert value(samples, "items", state="done") == 6


def test_failures_keep_the_last_success(cli: RunCli, tmp_path: Path) -> None:
    row = {"id": "a", "text": "Good."}
    write_jsonl(tmp_path / "m.jsonl", [row])
    command = ("run", "m.jsonl", "--workers", "1", "--metrics-file", "m.prom")
    assert cli(*command, "--engine", "tone").code == 0
    success = value(read((tmp_path / "m.prom").read_text()), "last_success_timestamp_seconds")
    assert success is not None

    write_jsonl(tmp_path / "m.jsonl", [row, {"id": "b", "text": "It goes boom."}])
    assert cli(*command, "--engine", "engines_for_tests:RAISES").code == 3
    samples = read((tmp_path / "m.prom").read_text())
    assert value(samples, "exit_code") == 3
    assert value(samples, "items", state="failed") == 1
    assert value(samples, "last_success_timestamp_seconds") == success

    (tmp_path / "m.jsonl").write_text('{"id": "a", "txt": "A mistake."}\n')
    assert cli(*command, "--engine", "tone").code == 2
    samples = read((tmp_path / "m.prom").read_text())
    assert value(samples, "exit_code") == 2
    assert value(samples, "running") == 0
    assert value(samples, "last_success_timestamp_seconds") == success

    (tmp_path / "m.prom").unlink()
    (tmp_path / "m.jsonl").unlink()  # the nightly export did not come
    assert cli(*command, "--engine", "tone").code == 2
    assert value(read((tmp_path / "m.prom").read_text()), "exit_code") == 2

    (tmp_path / "m.prom").unlink()
    (tmp_path / "cosyvoice-batch.toml").write_text('profle = "ivr-ulaw"\n')
    assert cli(*command, "--engine", "tone").code == 2
    assert value(read((tmp_path / "m.prom").read_text()), "exit_code") == 2


def test_standard_input_has_a_name_of_its_own(tmp_path: Path) -> None:
    for told in ("-", "<stdin>"):
        Meter(tmp_path / "m.prom", told, tmp_path).end(0)
        assert 'manifest="-"' in (tmp_path / "m.prom").read_text()


def test_it_is_there_while_the_run_goes_on_and_tells_its_end(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": f"i{n}", "text": f"Number {n}."} for n in range(50)])
    process = start_cli(
        *("run", "m.jsonl", "--engine", "engines_for_tests:SLOW", "--metrics-file", "m.prom"),
        cwd=tmp_path,
        env={"TEST_SECONDS": "0.5"},
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "m.prom").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    running = read((tmp_path / "m.prom").read_text())
    while not list((tmp_path / "m-out").glob("*.wav")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    ended = read((tmp_path / "m.prom").read_text())
    assert value(running, "running") == 1
    assert value(running, "exit_code") is None
    assert value(ended, "running") == 0
    assert value(ended, "exit_code") == process.returncode == 143
    assert value(ended, "last_success_timestamp_seconds") is None
    assert (value(ended, "items", state="done") or 0) >= 1
    assert (value(ended, "items", state="pending") or 0) >= 1


def test_a_folder_that_is_not_there_is_told_before_the_work(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", [{"id": "a", "text": "Good."}])
    done = cli("run", "m.jsonl", "--engine", "tone", "--workers", "1", "--metrics-file", "nowhere/m.prom")
    assert done.code == 4
    assert "--metrics-file: nowhere/m.prom cannot be written" in done.err
    assert not (tmp_path / "m-out/a.wav").exists()


def test_the_file_is_renewed_at_intervals(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    asked = 0

    def look() -> Figures:
        nonlocal asked
        asked += 1
        return Figures(counts={"done": asked})

    meter = Meter(path, "m.csv", tmp_path, interval_s=0.2)
    meter.tick()
    assert not path.exists()  # the folder may still belong to another run
    meter.watch(look)
    assert value(read(path.read_text()), "items", state="done") is None
    for _ in range(20):
        meter.tick()
    assert asked == 0
    time.sleep(0.25)
    meter.tick()
    meter.tick()
    assert asked == 1
    assert value(read(path.read_text()), "items", state="done") == 1


def test_a_disk_that_refuses_later_does_not_end_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    meter = Meter(folder / "m.prom", "m.csv", tmp_path, interval_s=0.0)
    meter.watch(Figures)
    (folder / "m.prom").unlink()
    folder.rmdir()
    meter.tick()
    meter.tick()
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # once
    folder.mkdir()
    meter.end(0)
    assert value(read((folder / "m.prom").read_text()), "exit_code") == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [(EnvironmentFault("no model"), 4), (InvalidInput([]), 2), (RuntimeError("a fault"), 1), (Locked("held"), None)],
)
def test_every_end_is_told_but_that_of_a_locked_folder(tmp_path: Path, error: Exception, code: int | None) -> None:
    path = tmp_path / "m.prom"
    with pytest.raises(type(error)), metering(path, "m.csv", tmp_path):
        raise error
    if code is None:
        assert not path.exists()
    else:
        assert value(read(path.read_text()), "exit_code") == code


def test_another_jobs_file_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    for manifest, code in (("one.csv", 0), ("two.csv", 3)):
        meter = Meter(path, manifest, tmp_path)
        meter.watch(Figures)
        meter.end(code)
    samples = read(path.read_text())
    assert value(samples, "exit_code") == 3
    assert value(samples, "last_success_timestamp_seconds") is None


def test_a_damaged_file_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    path.write_bytes(b"\xff\xfe not metrics\ncosyvoice_batch_exit_code{ rubbish\n")
    meter = Meter(path, "m.csv", tmp_path)
    meter.watch(Figures)
    meter.end(3)
    assert value(read(path.read_text()), "exit_code") == 3


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30), st.floats(0, 1e9), st.integers(0, 2**40))
def test_labels_survive_the_parser(manifest: str, device: str, seconds: float, count: int) -> None:
    """Quotes, backslashes, line ends: the parser gives back what went in (a lone surrogate becomes `?`)."""
    text = render(
        iter([("device_busy_seconds_total", {"device": device}, seconds), ("exit_code", {}, count)]),
        {"manifest": manifest, "folder": "/f"},
    )
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    by_name = {sample.name: sample for sample in samples}
    busy, code = by_name[PREFIX + "device_busy_seconds_total"], by_name[PREFIX + "exit_code"]
    assert len(samples) == 2
    assert busy.labels == {"manifest": manifest, "folder": "/f", "device": device}
    assert busy.value == pytest.approx(seconds, abs=1e-6)
    assert code.value == count


def test_everything_that_can_be_told_has_the_documented_type(tmp_path: Path) -> None:
    """A run with all figures writes every name of the table, with its type, and no other."""
    row = DeviceRow("npu:0", 2, 3.5, 1.5, 0.4, 1, (), 2, 0.5, 3, 1, 2**30, 2**31)
    info = {"engine": "e", "model": "m", "precision": "p", "version": "v"}
    meter = Meter(tmp_path / "m.prom", "-", tmp_path)
    meter.watch(lambda: Figures({"done": 2}, (row,), 1, info))
    meter.look()
    meter.end(0)
    text = (tmp_path / "m.prom").read_text()
    typed = dict(re.findall(rf"^# TYPE {PREFIX}(\w+) (\w+)$", text, re.MULTILINE))
    assert typed == {name: metric.kind for name, metric in METRICS.items()}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert set(sample.labels) == COMMON | set(METRICS[sample.name.removeprefix(PREFIX)].labels)


def test_names_follow_the_conventions() -> None:
    for name, metric in METRICS.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
        assert name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")


def test_the_page_lists_every_name() -> None:
    page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(cosyvoice_batch_\w+)` \| (\w+) \|([^|]*)\|", page, re.MULTILINE)
    listed = {name.removeprefix(PREFIX): (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    assert listed == {name: (metric.kind, set(metric.labels)) for name, metric in METRICS.items()}
