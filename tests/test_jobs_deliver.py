"""A finished run in several formats: the same takes, each format as its own profile makes and checks it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import RunCli, write_jsonl
from finishing_signals import part, speech

from jobs.audio_file import open_audio
from jobs.blocks import resampled
from jobs.deliver import deliver
from jobs.errors import UserError
from jobs.finish import finish
from jobs.inspect import inspect_file
from jobs.publish import NotPublishable, publish
from jobs.records import Gap
from jobs.report_rows import plain
from jobs.requirements import check_file
from presets.catalog import profiles

PROFILES = profiles()
RATES = ["freeswitch-8k", "freeswitch-16k", "freeswitch-32k", "freeswitch-48k"]


def finished(folder: Path, master: str = "wav48k", outs: tuple[str, ...] = ("en/ivr/welcome", "en/ivr/bye")) -> Path:
    """A run folder with finished files."""
    items = []
    for number, out in enumerate(outs):
        profile = PROFILES[master]
        path = folder / f"{out}{profile.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        measured = finish([part(folder, speech(1.5, seed=number), Gap("end"))], 0, None, profile, {}, path)
        row = {"id": out, "state": "done", "out": f"{out}{profile.suffix}", "title": None, "measured": plain(measured)}
        items.append(row)
    (folder / "report.json").write_text(json.dumps({"run": {"exit_code": 0}, "items": items}))
    return folder


def mono(path: Path, rate_hz: int = 8000) -> np.ndarray:
    audio = open_audio(path)
    return np.concatenate(list(resampled((b[:, 0] for b in audio.blocks()), audio.facts.sample_rate_hz, rate_hz)))


def test_freeswitch_gets_its_four_rate_folders_from_one_take(tmp_path: Path) -> None:
    done = deliver(finished(tmp_path / "run"), tmp_path / "out", [PROFILES[name] for name in RATES])
    assert (done.files, done.failures) == (8, ())
    reference = mono(tmp_path / "out/en/ivr/8000/welcome.wav")
    for name in RATES:
        profile = PROFILES[name]
        path = tmp_path / f"out/en/ivr/{profile.folder}/welcome.wav"
        assert {check.verdict for check in check_file(inspect_file(path), profile)} == {"pass"}
        other = mono(path)
        size = min(len(reference), len(other))
        assert abs(len(reference) - len(other)) <= 80
        lags = [
            np.corrcoef(reference[20 : size - 20], other[20 + lag : size - 20 + lag])[0, 1] for lag in range(-12, 13)
        ]
        assert max(lags) > 0.9, "the same take, but for the band"
    assert publish(tmp_path / "out", tmp_path / "live").files == 8
    assert (tmp_path / "live/en/ivr/48000/bye.wav").is_file()
    assert not list((tmp_path / "out").rglob("*.part"))


def test_it_may_be_repeated_but_not_into_anothers_folder(tmp_path: Path) -> None:
    run = finished(tmp_path / "run", outs=("a",))
    wanted = [PROFILES["asterisk-ulaw"], PROFILES["asterisk-gsm"]]
    first = deliver(run, tmp_path / "out", wanted)
    before = (tmp_path / "out/a.ulaw").read_bytes()
    assert deliver(run, tmp_path / "out", wanted).files == first.files == 2
    assert (tmp_path / "out/a.ulaw").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.ulaw").write_bytes(b"precious")
    for place in ("mine", "run", "run/sub", "."):
        with pytest.raises(UserError):
            deliver(run, tmp_path / place, wanted)
    assert (tmp_path / "mine/a.ulaw").read_bytes() == b"precious"


def test_names_that_meet_or_are_not_taken_are_told_before_anything_is_made(tmp_path: Path) -> None:
    run = finished(tmp_path / "run", outs=("main-menu",))
    with pytest.raises(UserError, match=r"main-menu\.wav would be made by 3cx and by asterisk-wav"):
        deliver(run, tmp_path / "out", [PROFILES["asterisk-wav"], PROFILES["3cx"]])
    with pytest.raises(UserError, match=r"main-menu under cisco-cvp: .* is no name"):
        deliver(run, tmp_path / "out", [PROFILES["cisco-cvp"]])
    with pytest.raises(UserError, match="8000 Hz, too few for portsip"):
        deliver(finished(tmp_path / "low", "ivr-pcm8k", ("a",)), tmp_path / "out", [PROFILES["portsip"]])
    assert not (tmp_path / "out").exists()


def test_what_a_system_would_not_take_fails_alone_and_is_not_published(tmp_path: Path, cli: RunCli) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/short.toml").write_text('extends = "yeastar"\n[accept]\nmax_s = 1\n')
    write_jsonl(tmp_path / "m.jsonl", [{"id": "welcome", "text": "Welcome to the house of many rooms."}])
    assert cli("run", "m.jsonl", "-o", "run", "--engine", "tone", "--workers", "1").code == 0
    words = ("deliver", "run", "out", "-p", "asterisk-alaw", "-p", "short", "--profiles-folder", "own", "--json")
    ended = cli(*words)
    assert ended.code == 3, ended.err
    assert ended.json()["files"] == 1 and "at most 1 s are taken" in ended.json()["failures"][0]
    assert cli("report", "out", "--failed").code == 0
    assert (tmp_path / "out/welcome.alaw").is_file() and not (tmp_path / "out/welcome.wav").exists()
    with pytest.raises(NotPublishable):
        publish(tmp_path / "out", tmp_path / "live")
