"""The road of a run through the real command line, with tones instead of speech: what is made, kept, redone, told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import RunCli, outputs, report_items, report_run, write_jsonl

ROWS = [
    {"id": "hello", "text": "Hello and welcome.", "language": "en"},
    {"id": "menu", "text": "Press one for sales. Press two for support.", "language": "en"},
    {"id": "bye", "text": "感谢您的来电，再见。", "language": "zh"},
]


def make(cli: RunCli, tmp_path: Path, *words: str, rows: list[dict[str, object]] | None = None, engine: str = "tone"):
    write_jsonl(tmp_path / "m.jsonl", ROWS if rows is None else rows)
    return cli("run", "m.jsonl", "--engine", engine, "--workers", "1", *words)


def test_run_makes_every_item_and_tells_it(cli: RunCli, tmp_path: Path) -> None:
    ended = make(cli, tmp_path, "--json", "--workers", "2")
    assert ended.code == 0, ended.err
    folder = tmp_path / "m-out"
    assert set(outputs(folder)) == {"hello.wav", "menu.wav", "bye.wav"}
    assert ended.json()["counts"]["done"] == 3
    items = report_items(folder)
    assert [items[row["id"]]["state"] for row in ROWS] == ["done"] * 3
    assert items["hello"]["measured"]["duration_s"] > 0.5
    assert "done hello -> hello.wav" in (folder / "run.log").read_text(encoding="utf-8")


def test_only_what_changed_is_made_again_and_the_reason_is_named(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path)
    folder = tmp_path / "m-out"
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.wav")}
    again = make(cli, tmp_path, "--json")
    assert again.code == 0 and again.json()["counts"] == {**again.json()["counts"], "done": 0, "unchanged": 3}
    changed = [{**ROWS[0], "text": "Hello and good evening."}, {**ROWS[1], "speed": 1.2}, ROWS[2]]
    (folder / "bye.wav").unlink()
    assert make(cli, tmp_path, rows=changed).code == 0
    reasons = {item_id: item["reason"] for item_id, item in report_items(folder).items()}
    assert reasons == {"hello": "text changed", "menu": "speed changed", "bye": "output missing"}
    assert {name for name, stamp in before.items() if (folder / name).stat().st_mtime_ns == stamp} == set()
    make(cli, tmp_path, rows=[{**changed[0], "text": "  Hello and   good evening. "}, *changed[1:]])
    assert report_items(folder)["hello"]["state"] == "unchanged", "the written text changed, what is spoken did not"


def test_a_file_of_the_same_size_with_something_else_in_it_is_made_again_one_with_another_time_is_not(
    cli: RunCli, tmp_path: Path
) -> None:
    rows: list[dict[str, object]] = [{"id": name, "text": f"Press {name}."} for name in ("one", "two", "three")]
    make(cli, tmp_path, rows=rows)
    folder = tmp_path / "m-out"
    before = outputs(folder)
    damaged = bytearray((folder / "two.wav").read_bytes())
    damaged[1000] ^= 0x55
    (folder / "two.wav").write_bytes(damaged)
    (folder / "three.wav").touch()
    assert make(cli, tmp_path, rows=rows).code == 0
    states = {item_id: (item["state"], item["reason"]) for item_id, item in report_items(folder).items()}
    assert states == {"one": ("unchanged", ""), "two": ("done", "output changed on disk"), "three": ("unchanged", "")}
    assert outputs(folder) == before


def test_a_removed_row_leaves_its_file_until_prune(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path)
    ended = make(cli, tmp_path, rows=ROWS[:2])
    assert ended.code == 0 and "--prune" in ended.err
    assert (tmp_path / "m-out/bye.wav").exists()
    assert report_items(tmp_path / "m-out")["bye"]["state"] == "removed"
    assert make(cli, tmp_path, "--prune", rows=ROWS[:2]).code == 0
    assert not (tmp_path / "m-out/bye.wav").exists()
    assert make(cli, tmp_path, rows=ROWS[:2]).err.count("--prune") == 0


def test_after_a_run_of_what_was_to_be_made_again_the_rest_counts_as_missing(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path)
    write_jsonl(tmp_path / "retry.jsonl", [{**ROWS[0], "seed": 7}])
    ended = cli("run", "retry.jsonl", "-o", "m-out", "--engine", "tone")
    assert ended.code == 0 and "2 files belong to no row" in ended.err
    for command in ("subtitles", "publish"):
        ended = cli(command, "m-out", *(["live"] if command == "publish" else []))
        assert ended.code in (2, 3) and "run the whole manifest" in ended.err
    assert make(cli, tmp_path).code == 0 and cli("publish", "m-out", "live").code == 0


def test_no_file_leaves_the_run_folder_through_a_link_in_it(cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "m-out").mkdir()
    (tmp_path / "m-out/part").symlink_to(tmp_path / "away")
    ended = make(cli, tmp_path, rows=[{**ROWS[0], "out": "part/hello.wav"}, ROWS[1]])
    assert ended.code == 3 and "the folder part lies behind a link" in ended.err
    assert list((tmp_path / "away").iterdir()) == []
    assert report_items(tmp_path / "m-out")["menu"]["state"] == "done"


def test_a_changed_reference_recording_redoes_its_rows_only(cli: RunCli, tmp_path: Path) -> None:
    import numpy as np
    import soundfile

    tone = np.sin(np.arange(48_000) / 20).astype("float32") / 4
    soundfile.write(tmp_path / "a.wav", tone, 16_000)
    soundfile.write(tmp_path / "b.wav", tone, 16_000)
    rows = [{"id": name, "text": "A test.", "ref_audio": f"{name}.wav", "ref_text": "Words."} for name in "ab"]
    make(cli, tmp_path, rows=rows)
    soundfile.write(tmp_path / "a.wav", tone * 0.5, 16_000)
    assert make(cli, tmp_path, rows=rows).code == 0
    items = report_items(tmp_path / "m-out")
    assert (items["a"]["state"], items["a"]["reason"]) == ("done", "voice changed")
    assert items["b"]["state"] == "unchanged"


def test_selection_makes_a_part_and_leaves_the_rest_for_later(cli: RunCli, tmp_path: Path) -> None:
    assert make(cli, tmp_path, "--only", "m*").code == 0
    assert set(outputs(tmp_path / "m-out")) == {"menu.wav"}
    assert make(cli, tmp_path, "--limit", "1").code == 0
    assert len(outputs(tmp_path / "m-out")) == 2
    assert make(cli, tmp_path).code == 0
    assert len(outputs(tmp_path / "m-out")) == 3


def test_bad_rows_stop_the_run_before_any_work(cli: RunCli, tmp_path: Path) -> None:
    rows = [*ROWS, {"id": "x", "text": "（）"}, {"id": "x", "text": "again", "speed": 9}, {"id": "z", "txt": "typo"}]
    ended = make(cli, tmp_path, rows=rows)
    assert ended.code == 2
    assert "m.jsonl:4: text" in ended.err and "m.jsonl:5: speed" in ended.err and "m.jsonl:6" in ended.err
    assert not (tmp_path / "m-out").exists()


def test_keep_going_makes_the_good_rows_and_exits_3(cli: RunCli, tmp_path: Path) -> None:
    rows = [ROWS[0], {"id": "mute", "text": "……"}, {"id": "ref", "text": "Hi.", "ref_audio": "no.wav"}, ROWS[1]]
    ended = make(cli, tmp_path, "--keep-going", rows=rows)
    assert ended.code == 3, ended.err
    assert set(outputs(tmp_path / "m-out")) == {"hello.wav", "menu.wav"}
    run = report_run(tmp_path / "m-out")
    assert run["counts"]["failed"] == 2 and run["counts"]["done"] == 2
    assert "m.jsonl:2: text" in ended.err and "m.jsonl:3: ref_audio" in ended.err


def test_a_row_with_nothing_to_speak_may_be_skipped_or_silence(cli: RunCli, tmp_path: Path) -> None:
    rows = [{"id": "skip", "text": "🙂", "empty": "skip"}, {"id": "gap", "text": "（）", "empty": "silence"}]
    assert make(cli, tmp_path, rows=rows).code == 0
    import soundfile

    audio, rate = soundfile.read(tmp_path / "m-out/gap.wav")
    assert len(audio) > rate * 0.3 and abs(audio).max() < 1e-3
    assert report_items(tmp_path / "m-out")["skip"]["state"] == "skipped"
    assert make(cli, tmp_path, "--json", rows=rows).json()["counts"]["unchanged"] == 1


def test_a_silent_first_take_is_made_again_with_another_seed(cli: RunCli, tmp_path: Path) -> None:
    ended = make(cli, tmp_path, engine="engines_for_tests:FIRST_TAKE_SILENT", rows=ROWS[:1])
    assert ended.code == 0, ended.err
    item = report_items(tmp_path / "m-out")["hello"]
    assert [(take["faults"], take["kept"]) for take in item["takes"]] == [(["silent"], False), ([], True)]
    assert item["takes"][0]["seed"] != item["takes"][1]["seed"]
    assert item["retries"] == 1


def test_takes_that_stay_bad_fail_the_item_or_are_kept_by_choice(cli: RunCli, tmp_path: Path) -> None:
    ended = make(cli, tmp_path, engine="engines_for_tests:BABBLES", rows=ROWS[:1])
    assert ended.code == 3 and "too_long" in ended.err
    assert not (tmp_path / "m-out/hello.wav").exists()
    assert make(cli, tmp_path, "--bad-takes", "keep", engine="engines_for_tests:BABBLES", rows=ROWS[:1]).code == 0
    assert [take["kept"] for take in report_items(tmp_path / "m-out")["hello"]["takes"]].count(True) == 1
    silent = make(cli, tmp_path, "--bad-takes", "keep", engine="engines_for_tests:ALWAYS_SILENT", rows=ROWS[1:2])
    assert silent.code == 3, "a silent take is never kept"


def test_an_exception_in_the_engine_fails_the_row_with_its_text(cli: RunCli, tmp_path: Path) -> None:
    rows = [ROWS[0], {"id": "bad", "text": "This goes boom."}]
    ended = make(cli, tmp_path, engine="engines_for_tests:RAISES", rows=rows)
    assert ended.code == 3
    items = report_items(tmp_path / "m-out")
    assert items["hello"]["state"] == "done" and items["bad"]["state"] == "failed"
    assert "the text says boom" in items["bad"]["reason"]
    assert set(outputs(tmp_path / "m-out")) == {"hello.wav"}, "no zero-second file"


def test_max_failures_stops_early(cli: RunCli, tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "boom"} for n in range(20)]
    ended = make(cli, tmp_path, "--fail-fast", "--workers", "1", engine="engines_for_tests:RAISES", rows=rows)
    assert ended.code == 3 and "--max-failures" in ended.err
    assert report_run(tmp_path / "m-out")["counts"]["failed"] < 20


def test_check_plans_without_making_anything(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", ROWS)
    ended = cli("check", "m.jsonl", "--engine", "tone", "--json")
    assert ended.code == 0 and ended.json()["reasons"] == {"new": 3}
    assert not (tmp_path / "m-out").exists()
    assert ended.json()["audio_s"] > 3
    make(cli, tmp_path, "--only", "hello")
    seen = cli("check", "m.jsonl", "--engine", "tone", "--json").json()
    assert seen["counts"] == {"unchanged": 1, "pending": 2} and seen["wall_s"] is not None
    spoken = cli("check", "m.jsonl", "--engine", "tone", "--spoken")
    assert "Press one for sales" in spoken.out


def test_strict_refuses_a_substitution(cli: RunCli, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "m.jsonl", ROWS[:1])
    ended = cli("run", "m.jsonl", "--strict")
    assert ended.code == 4 and "embedded voice" in ended.err
    assert not (tmp_path / "m-out").exists()


def test_a_config_file_fills_options_and_flags_win(cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "cosyvoice-batch.toml").write_text('engine = "tone"\nprofile = "ivr-ulaw"\nworkers = 1\n')
    write_jsonl(tmp_path / "m.jsonl", ROWS[:1])
    assert cli("run", "m.jsonl").code == 0
    assert report_items(tmp_path / "m-out")["hello"]["profile"] == "ivr-ulaw"
    assert cli("run", "m.jsonl", "--profile", "wav24k").code == 0
    assert report_items(tmp_path / "m-out")["hello"]["reason"] == "profile changed"
    (tmp_path / "cosyvoice-batch.toml").write_text('engin = "tone"\nworkers = "two"\n')
    ended = cli("run", "m.jsonl")
    assert ended.code == 2 and "did you mean 'engine'" in ended.err and "expected int" in ended.err
    (tmp_path / "cosyvoice-batch.toml").write_text('engine = "engines_for_tests:RAISES"\n')
    assert cli("run", "m.jsonl").code == 2, "a config file beside a stranger's manifest runs no code"


def test_standard_input_is_a_manifest(cli: RunCli, tmp_path: Path) -> None:
    ended = cli("run", "-", "--engine", "tone", "--workers", "1", "-o", "piped", stdin="id,text\na,Hello there.\n")
    assert ended.code == 0, ended.err
    assert set(outputs(tmp_path / "piped")) == {"a.wav"}


def test_say_speaks_one_text_into_one_file(cli: RunCli, tmp_path: Path) -> None:
    ended = cli("say", "Your code is 0307.", "--engine", "tone", "-o", "x.wav", "--json")
    assert ended.code == 0, ended.err
    told = ended.json()
    assert (tmp_path / "x.wav").exists() and told["out"] == "x.wav"
    assert "zero three zero seven" in told["spoken"]
    refused = cli("say", "Hi <emphasis>you</emphasis>", "--engine", "tone")
    assert refused.code == 2 and "emphasis" in refused.err


@pytest.mark.parametrize("field", ["ref_audio", "instruction"])
def test_the_embedded_engine_refuses_what_it_cannot_do(cli: RunCli, tmp_path: Path, field: str) -> None:
    (tmp_path / "ref.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt ")
    row = {"id": "a", "text": "Hi.", field: "ref.wav" if field == "ref_audio" else "Speak angrily."}
    write_jsonl(tmp_path / "m.jsonl", [row])
    ended = cli("run", "m.jsonl", "--engine", "kokoro")
    assert ended.code == 2 and f"m.jsonl:1: {field}" in ended.err and "cosyvoice" in ended.err


def test_a_lexicon_rule_rebuilds_only_the_rows_it_touches(cli: RunCli, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("sales\tsails\nnever\tnot ever\n", encoding="utf-8-sig")
    assert make(cli, tmp_path, "--lexicon", "lexicon.tsv").code == 0
    assert "sails" in report_items(tmp_path / "m-out")["menu"]["spoken"]
    assert report_run(tmp_path / "m-out")["lexicon_unused"] == ["never"]
    lexicon.write_text("sales\tsayles\nnever\tnot ever\n", encoding="utf-8")
    assert make(cli, tmp_path, "--lexicon", "lexicon.tsv").code == 0
    states = {item_id: (item["state"], item["reason"]) for item_id, item in report_items(tmp_path / "m-out").items()}
    assert states["menu"] == ("done", "lexicon changed")
    assert states["hello"][0] == states["bye"][0] == "unchanged"


def test_report_shows_a_run_again(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path)
    shown = cli("report", "m-out")
    assert shown.code == 0 and "3 done" in shown.out and "hello.wav" in shown.out
    assert json.loads(cli("report", "m-out", "--json").out)["run"]["exit_code"] == 0
    assert cli("report", "nowhere").code == 2


def test_a_folder_in_an_outputs_place_fails_that_item_only(cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "m-out" / "menu.wav" / "inside").mkdir(parents=True)
    ended = make(cli, tmp_path)
    assert ended.code == 3, ended.err
    items = report_items(tmp_path / "m-out")
    assert items["menu"]["state"] == "failed" and "a folder stands where menu.wav belongs" in items["menu"]["reason"]
    assert items["hello"]["state"] == items["bye"]["state"] == "done"


def test_mistakes_of_a_manifest_are_json_where_json_is_asked_for(cli: RunCli, tmp_path: Path) -> None:
    ended = make(cli, tmp_path, "--json", rows=[*ROWS, {"id": "x", "text": "Hi.", "speed": 9}])
    assert ended.code == 2 and ended.json()["problems_count"] == 1
    assert "m.jsonl:4: speed" in ended.json()["problems"][0]
