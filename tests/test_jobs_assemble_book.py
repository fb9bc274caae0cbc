"""From a run folder to an audiobook, through the real command line; read back by ffmpeg."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from book_run import ROWS, heard, make_run, metadata, onset_s
from conftest import call_cli, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import m4b
from jobs.assembly_facts import Book
from jobs.assembly_plan import chapters_of, place
from jobs.assembly_remarks import remarks
from jobs.assembly_signal import Gains, book_signal, chapter_signal, find_gains
from jobs.blocks import zeros
from jobs.cover import Cover
from jobs.errors import UserError
from jobs.ffmpeg import ffmpeg_path
from jobs.finished_items import Finished, SpokenSegment, read_run
from presets.catalog import profiles

PROFILES = profiles()
CHAPTERS = ["01 - Opening credits.mp3", "02 - 第一章：..-兔子洞.mp3", "03 - Two = 2 # - end.mp3"]
BOOK = "爱丽丝 - a=b #1.m4b"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    make_run(folder)
    done = call_cli(folder, "assemble", "m-out", "--cover", "cover.jpg", "--json")
    assert done.code == 0, done.err
    assert done.json()["made"] == [*CHAPTERS, BOOK]
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def test_chapter_files_are_what_acx_asks_for_and_say_what_they_are(made: Path) -> None:
    record = json.loads((made / "m-book/assembly.json").read_text(encoding="utf-8"))
    for number, name in enumerate(CHAPTERS, 1):
        tags = metadata(made / "m-book" / name)
        assert tags["album"] == "爱丽丝: a=b; #1"
        assert tags["artist"] == tags["album_artist"] == "Lewis Carroll, B"
        assert tags["track"] == f"{number}/3" and tags["disc"] == "1/1"
        assert tags["comment"] == "AI-generated voice" and tags["genre"] == "Audiobook" and tags["date"] == "1865"
        assert "heart" in tags["composer"]
        file = next(file for file in record["files"] if file["name"] == name)
        assert -23 <= file["measured"]["rms_db"] <= -18 and file["measured"]["true_peak_dbtp"] <= -3
        samples = heard(made / "m-book" / name, 44100)
        assert abs(len(samples) / 44100 - file["duration_s"]) < 0.03
        head = samples[4410 : round(0.6 * 44100)]
        assert -76 < 10 * np.log10(np.mean(head.astype(float) ** 2)) < -60, "room tone, neither zeros nor noise"
        assert abs(onset_s(samples, 0.75, 44100) - 0.75) < 0.05
    assert metadata(made / "m-book" / CHAPTERS[1])["title"] == "第一章：../兔子洞"


def picture(path: Path) -> bytes:
    command = [ffmpeg_path(), "-v", "error", "-i", str(path), "-map", "0:v", "-c", "copy", "-f", "mjpeg", "pipe:1"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def test_every_file_shows_the_cover(made: Path) -> None:
    for name in (*CHAPTERS, BOOK):
        assert picture(made / "m-book" / name) == (made / "cover.jpg").read_bytes()


def test_the_m4b_holds_marks_cover_and_tags_and_speech_starts_where_a_mark_says(made: Path) -> None:
    path = made / "m-book" / BOOK
    tags = metadata(path)
    assert tags["title"] == tags["album"] == "爱丽丝: a=b; #1"
    assert tags["description"] == "A girl. She falls." and tags["comment"] == "AI-generated voice"
    assert tags["media_type"] == "2" and tags["artist"] == "Lewis Carroll, B" and "michael" in tags["composer"]
    marks = m4b.read_marks(path)
    assert [title for _, title in marks] == ["Opening credits", "第一章：../兔子洞", "Two = 2; # \\ end"]
    samples = heard(path)
    for start_s, _ in marks:
        assert abs(onset_s(samples, start_s + 0.75) - start_s - 0.75) < 0.05


def test_nothing_is_made_again_until_something_changes(copy: Path) -> None:
    def stamps() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (copy / "m-book").iterdir()}

    before = stamps()
    again = call_cli(copy, "assemble", "m-out", "--cover", "cover.jpg", "--json")
    assert again.code == 0 and again.json()["made"] == []
    assert stamps() == before
    write_jsonl(copy / "m.jsonl", [*ROWS[:3], {**ROWS[3], "text": "第二章换了别的内容。"}])
    assert call_cli(copy, "run", "m.jsonl", "--engine", "tone", "--workers", "1").code == 0
    done = call_cli(copy, "assemble", "m-out", "--cover", "cover.jpg", "--json").json()
    assert done["made"] == [CHAPTERS[2], BOOK] and done["unchanged"] == CHAPTERS[:2]
    write_jsonl(copy / "m.jsonl", ROWS[:3])
    assert call_cli(copy, "run", "m.jsonl", "--engine", "tone", "--workers", "1").code == 0
    done = call_cli(copy, "assemble", "m-out", "--format", "chapters", "--json").json()
    assert done["removed"] == [CHAPTERS[2]] and not (copy / "m-book" / CHAPTERS[2]).exists()
    assert (copy / "m-book" / BOOK).exists(), "a format that was not asked for stays"


def test_unfinished_runs_are_refused_with_what_is_missing(copy: Path) -> None:
    (copy / "m-out/c2.wav").unlink()
    (copy / "m-out/c1-2.wav").write_bytes(b"RIFF, torn")
    done = call_cli(copy, "assemble", "m-out", "-o", "part", "--format", "chapters")
    assert done.code == 2 and not (copy / "part").exists()
    assert "c2 (line 4): its file c2.wav is gone" in done.err and "c1-2 (line 3)" in done.err
    done = call_cli(copy, "assemble", "m-out", "-o", "part", "--format", "chapters", "--partial", "--json")
    assert done.code == 3
    assert [missing["id"] for missing in done.json()["missing"]] == ["c1-2", "c2"]
    assert done.json()["made"] == CHAPTERS[:2]


def test_files_of_others_are_left_alone(copy: Path) -> None:
    (copy / "mine").mkdir()
    (copy / "mine" / CHAPTERS[0]).write_text("my recording")
    done = call_cli(copy, "assemble", "m-out", "-o", "mine", "--format", "chapters")
    assert done.code == 2 and "was not made by" in done.err
    assert (copy / "mine" / CHAPTERS[0]).read_text() == "my recording"
    assert call_cli(copy, "assemble", "m-out", "--cover", "m.jsonl").code == 2
    assert "no run folder" in call_cli(copy, "assemble", "mine").err


def test_more_chapters_than_the_old_atom_holds(tmp_path: Path) -> None:
    shape, titles = PROFILES["m4b"], ["第{}章；=#", "C\\ {}", "🎧 {}", "\u0627\u0644\u0641\u0635\u0644 {}"]
    marks = [m4b.Mark(number * 4411, titles[number % 4].format(number)) for number in range(700)]
    samples = 700 * 4411
    m4b.write(zeros(samples), samples, marks, shape, {"title": "Long"}, None, tmp_path / "b.m4b")
    m4b.check_marks(tmp_path / "b.m4b", marks, shape.sample_rate_hz)
    with pytest.raises(RuntimeError, match="699 chapters were written, 700 read back"):
        m4b.check_marks(tmp_path / "b.m4b", marks[:-1], shape.sample_rate_hz)
    with pytest.raises(RuntimeError, match="reads back as"):
        m4b.check_marks(tmp_path / "b.m4b", [*marks[:-1], m4b.Mark(marks[-1].start + 2205, "x")], shape.sample_rate_hz)


def item_of(tmp_path: Path, name: str, level: float, gain_db: float, **values: object) -> Finished:
    """0.2 s of silence, 2 s of a tone whose level the run has raised by `gain_db`, 0.3 s of silence."""
    rate_hz = 24000
    tone = level * 10 ** (gain_db / 20) * np.sin(np.arange(2 * rate_hz) / 10)
    soundfile.write(tmp_path / f"{name}.wav", np.concatenate([np.zeros(4800), tone, np.zeros(7200)]), rate_hz)
    item = Finished(
        id=name, line=1, out=f"{name}.wav", path=tmp_path / f"{name}.wav", text=name, chapter=1, title=None, voice="a",
        extra={}, profile=PROFILES["wav24k"], rate_hz=rate_hz, samples=60000, gain_db=gain_db,
        segments=(SpokenSegment(name, "en", 0.2, 2.2),), lead_s=0.0, rest_s=0.0, pause_ms=None, fingerprint=name,
    )  # fmt: skip
    return replace(item, **values)  # type: ignore[arg-type]


def test_a_whisper_stays_a_whisper_and_voices_are_made_equally_loud(tmp_path: Path) -> None:
    items = [
        item_of(tmp_path, "loud", 0.1, 3.0),
        item_of(tmp_path, "whisper", 0.025, 15.0),
        item_of(tmp_path, "other", 0.05, 9.0, voice="b"),
    ]
    shape = replace(PROFILES["acx"], room_tone_db=None)
    book = [place(chapter, shape) for chapter in chapters_of(items)]
    gains = find_gains(book, shape)
    sound = np.concatenate(list(book_signal(book, 44100, gains)))
    assert len(sound) == book[0].samples
    assert 20 * np.log10(np.sqrt(np.mean(sound**2))) == pytest.approx(-20, abs=0.1)
    tops = [np.abs(sound[round((t + 0.5) * 44100) : round((t + 1.5) * 44100)]).max() for t in (0.75, 3.75, 6.75)]
    assert 20 * np.log10(tops[0] / tops[1]) == pytest.approx(12.04, abs=0.1), "the run had made them equal"
    # Voice b is as loud as voice a on the average of what each says: between its loud part and its whisper.
    assert tops[1] < tops[2] < tops[0] * 1.05


def test_a_file_that_is_shorter_than_the_journal_says_is_no_silence(tmp_path: Path) -> None:
    item = item_of(tmp_path, "torn", 0.1, 0.0, samples=90000, segments=(SpokenSegment("torn", "en", 0.2, 3.4),))
    placed = place(chapters_of([item])[0], PROFILES["acx"])
    with pytest.raises(UserError, match="shorter than the run made it"):
        list(chapter_signal(placed, 44100, Gains(0.0, {})))
    item.path.write_bytes(bytes(item.path.stat().st_size))
    with pytest.raises(UserError, match="cannot be decoded"):
        list(chapter_signal(placed, 44100, Gains(0.0, {})))


def test_a_chapter_in_two_places_is_a_mistake(tmp_path: Path) -> None:
    one = item_of(tmp_path, "one", 0.1, 0.0)
    with pytest.raises(UserError, match="chapter 1 starts in line 1 and again in line 9"):
        chapters_of([one, replace(one, chapter=2), replace(one, line=9)])
    alone = [replace(one, chapter=None, title=None, id=name) for name in ("a", "b")]
    assert [chapter.title for chapter in chapters_of(alone)] == ["a", "b"]


def test_credits_are_the_first_and_the_last_file(tmp_path: Path) -> None:
    one = item_of(tmp_path, "one", 0.1, 0.0)

    def row(said: str, line: int, **values: object) -> Finished:
        return replace(one, **{"chapter": None, "line": line, "extra": {"credits": said}, **values})  # type: ignore[arg-type]

    opening, closing = row("opening", 1), row(" Closing ", 9, title="The End")
    found = chapters_of([opening, row("opening", 2, voice="b"), replace(one, line=3), closing])
    assert [(c.number, c.kind, c.title, len(c.items)) for c in found] == [
        (1, "opening", "Opening credits", 2),
        (2, "chapter", "Chapter 1", 1),
        (3, "closing", "The End", 1),
    ]
    for rows, why in (
        ([one, opening], "line 1.*opening credits are not the first row"),
        ([closing, one], "line 9.*closing credits are not the last row"),
        ([opening, one, row("opening", 5), closing], "the opening credits starts in line 1 and again in line 5"),
        ([row("end", 4)], "line 4.*credits: found 'end'; write opening or closing"),
        ([row("closing", 4, chapter=7)], "credits are no part of chapter 7"),
    ):
        with pytest.raises(UserError, match=why):
            chapters_of(rows)


def test_what_a_shop_would_miss_is_said(made: Path, tmp_path: Path) -> None:
    content = read_run(made / "m-out", PROFILES)
    shapes = {"chapters": PROFILES["acx"], "m4b": PROFILES["m4b"]}
    chapters = chapters_of(content.items)
    told = remarks(content, Book("T"), shapes, chapters)
    assert len(told) == 1 and told[0].startswith("there are no opening and no closing credits: ACX asks for both")
    whole = (replace(chapters[0], kind="opening"), *chapters[1:-1], replace(chapters[-1], kind="closing"))
    assert remarks(content, Book("T"), shapes, whole) == []
    cover = Cover(tmp_path / "c.png", "png", bytes(1_500_000), 9, 9)
    assert "1.5 MB and goes into each of 3 files (4 MB)" in remarks(content, Book("T", cover=cover), shapes, whole)[0]
    no_room = {"chapters": PROFILES["wav24k"]}
    assert "take no cover" in remarks(content, Book("T", cover=cover), no_room, chapters)[0]


TIMES = st.tuples(
    st.floats(0, 1.5), st.floats(0.05, 4), st.floats(0, 1.5), st.sampled_from([8000, 22050, 24000, 48000])
)


@settings(deadline=None, max_examples=60)
@given(st.lists(TIMES, min_size=1, max_size=6), st.sampled_from(["", "0", "700", "2500"]))
def test_pauses_are_counted_from_speech_to_speech_at_any_rate(times: list[tuple[float, ...]], asked: str) -> None:
    shape = PROFILES["acx"]
    items = []
    for number, (head_s, speech_s, tail_s, rate) in enumerate(times):
        samples = round((head_s + speech_s + tail_s) * rate)
        segments = (SpokenSegment("x", "en", head_s, head_s + speech_s),)
        item = Finished(
            id=str(number), line=number, out="", path=Path(), text="", chapter=1, title=None, voice="",
            extra={"gap_ms": asked}, profile=PROFILES["wav24k"], rate_hz=int(rate), samples=samples, gain_db=0.0,
            segments=segments, lead_s=0.0, rest_s=0.0, pause_ms=None, fingerprint="",
        )  # fmt: skip
        items.append(item)
    placed = place(chapters_of(items)[0], shape)
    offsets = [offset / shape.sample_rate_hz for offset in placed.offsets()]
    starts = [offset + time[0] for offset, time in zip(offsets, times, strict=True)]
    stops = [start + time[1] for start, time in zip(starts, times, strict=True)]
    assert starts[0] == pytest.approx(0.75, abs=0.001)
    pause_s = int(asked) / 1000 if asked else 1.0
    for stop_s, next_s in zip(stops, starts[1:], strict=False):
        assert next_s - stop_s == pytest.approx(pause_s, abs=0.002) or (pause_s < 0.32 and next_s >= stop_s)
    assert placed.samples / shape.sample_rate_hz - stops[-1] == pytest.approx(2.0, abs=0.002)
