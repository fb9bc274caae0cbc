"""Subtitles: true to the sound, true to the written text, and readable by others."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from book_run import ROWS, heard, make_run, onset_s
from conftest import call_cli, write_jsonl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.clean import clean
from jobs.cues import LINE_UNITS, LINES, Cue, cues_of, on_one_line, width
from jobs.ffmpeg import ffmpeg_path
from jobs.source_map import map_source
from jobs.subtitle_formats import lrc, srt, vtt
from jobs.subtitles import Line, Track
from jobs.text_fault import TextFault

TOLERANCE_S = 0.05


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose items are MP3 at 44.1 kHz, WAV, and telephone sound, assembled too."""
    folder = tmp_path_factory.mktemp("subtitled")
    make_run(folder)
    assert call_cli(folder, "assemble", "m-out").code == 0
    rows = [
        {**row, "profile": profile, "id": f"{row['id']}-{profile}"}
        for row in ROWS
        for profile in ("acx", "ivr-ulaw", "opus")
    ]
    write_jsonl(folder / "other.jsonl", rows)
    assert call_cli(folder, "run", "other.jsonl", "--engine", "tone", "--workers", "1").code == 0
    return folder


def segments_of(folder: Path) -> list[tuple[Path, dict]]:
    found = []
    for path in sorted(folder.glob("*.segments.json")):
        values = json.loads(path.read_text(encoding="utf-8"))
        found += [(path.parent / values["audio"], segment) for segment in values["segments"]]
    return found


def test_every_segment_starts_when_it_is_heard_and_stops_when_it_is_not(made: Path) -> None:
    for words in (["m-out"], ["other-out"], ["m-out", "--per", "chapter"], ["m-out", "--per", "book"]):
        done = call_cli(made, "subtitles", *words, "--format", "json,srt", "--json")
        assert done.code == 0, done.err
    sounds = {}
    checked = 0
    for folder in ("m-out", "other-out", "m-book"):
        for audio, segment in segments_of(made / folder):
            samples = sounds.setdefault(audio, heard(audio))
            assert abs(onset_s(samples, segment["start_s"]) - segment["start_s"]) < TOLERANCE_S, (audio, segment)
            # A beep fills three quarters of its slot, so silence starts up to 0.1 s before the segment stops.
            stop = round(segment["stop_s"] * 8000)
            assert abs(samples[stop - 2400 : stop]).max() > 0.02 > abs(samples[stop + 400 : stop + 800]).max(initial=0)
            checked += 1
    assert checked == 6 * (1 + 3 + 2)


def test_the_words_are_those_of_the_manifest_with_their_offsets(made: Path) -> None:
    call_cli(made, "subtitles", "m-out", "--format", "json")
    texts = {row["id"]: row["text"] for row in ROWS}
    found = [segment for _, segment in segments_of(made / "m-out")]
    by_item = [segment["text"] for segment in found if segment["item"] == "c1-1"]
    assert by_item == ["The first & best chapter starts here.", "It goes on.", "And ends here."]
    for segment in found:
        source = texts[segment["item"]][segment["source_start"] : segment["source_stop"]]
        plain = re.sub(r"<break[^>]*>", "", source).replace("&amp;", "&").strip()
        assert plain == segment["text"]
        assert all(cue["lines"] for cue in segment["cues"])


def test_a_book_that_was_changed_after_it_was_assembled_is_refused(made: Path, tmp_path: Path) -> None:
    make_run(tmp_path)
    assert call_cli(tmp_path, "subtitles", "m-out", "--per", "book").code == 2, "not assembled yet"
    assert call_cli(tmp_path, "assemble", "m-out", "--format", "chapters").code == 0
    write_jsonl(tmp_path / "m.jsonl", [*ROWS[:3], {**ROWS[3], "text": "另外一章。"}])
    assert call_cli(tmp_path, "run", "m.jsonl", "--engine", "tone", "--workers", "1").code == 0
    done = call_cli(tmp_path, "subtitles", "m-out", "--per", "chapter")
    assert done.code == 2 and "run `assemble` again" in done.err


HOSTILE = ["<b>bold</b> & {\\an8} --> 00:00:01", "第二行 [00:01.00] 结束"]


def track_of(texts: list[str]) -> Track:
    lines = []
    for number, text in enumerate(texts):
        cues = tuple(cues_of(text, 2.0 * number, 2.0 * number + 1.5))
        lines.append(Line("a", 2.0 * number, 2.0 * number + 1.5, text, 0, len(text), "en", "v", cues))
    return Track("a.wav", "A [ti:x] title", 2.0 * len(texts), tuple(lines))


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    track = track_of(HOSTILE)
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; {\\an8} --&gt; 00:00:01" in vtt(track)
    assert srt(track).count("-->") == len(list(track.cues()))
    assert not re.search(r"<[A-Za-z/]|\{\\", srt(track))
    times = re.findall(r"\[\d+:\d\d\.\d\d\]", lrc(track))
    assert len(times) == 2 and lrc(track).splitlines()[0].count("ti:") == 2
    for name, text in (("a.srt", srt(track)), ("a.vtt", vtt(track))):
        (tmp_path / name).write_text(text, encoding="utf-8")
        back = subprocess.run(
            [ffmpeg_path(), "-v", "error", "-i", str(tmp_path / name), "-f", "webvtt", "pipe:1"], capture_output=True
        )
        assert len(re.findall(r"^[\d:.]+ --> [\d:.]+$", back.stdout.decode(), re.MULTILINE)) == 2, back.stderr
        assert "第二行" in back.stdout.decode()


def test_hours_and_long_pauses() -> None:
    cue = Cue(3723.4567, 3725.0, ("late",), False)
    line = Line("a", cue.start_s, cue.stop_s, "late", 0, 4, "en", "v", (cue,))
    assert "01:02:03,457 --> 01:02:05,000" in srt(Track("a.wav", "", 4000.0, (line,)))
    gap = Track("a.wav", "", 4000.0, (line, line.moved(60.0)))
    assert lrc(gap) == "[62:03.46]late\n[62:05.00]\n[63:03.46]late\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Short.", [("Short.",)]),
        ("two lines\nas written", [("two lines", "as written")]),
        (
            "It goes on, and on, for a very long while, past hills.",
            [("It goes on, and on,", "for a very long while, past hills.")],
        ),
        ("终于在２０２４年到达了目的地，大家都很高兴。", [("终于在２０２４年到达了目的地，", "大家都很高兴。")]),
    ],
)
def test_lines_break_where_a_reader_pauses(text: str, lines: list[tuple[str, ...]]) -> None:
    assert [cue.lines for cue in cues_of(text, 0.0, 3.0)] == lines


WORDS = st.text(
    st.sampled_from(list("abcdef ABC,.!?;:’“”—-0123456789\n在第二章里事情变得，。！？：；“”（）《》éΩж한국어あいア")),
    max_size=300,
)


@settings(deadline=None, max_examples=150)
@given(WORDS | st.text(max_size=120))
@example("x" * 500)
@example("字" * 200)
@example("a\u0301" * 90)
def test_cues_lose_nothing_fit_the_screen_and_fill_their_time(text: str) -> None:
    cues = cues_of(text, 10.0, 20.0)
    bare = "".join(text.split())
    assert "".join("".join(line.split()) for cue in cues for line in cue.lines) == bare
    for cue in cues:
        assert 1 <= len(cue.lines) <= LINES and all(width(line) <= LINE_UNITS for line in cue.lines)
        assert on_one_line(cue.lines)
    if bare:
        edges = [10.0, *(cue.stop_s for cue in cues)]
        assert [cue.start_s for cue in cues] == pytest.approx(edges[:-1])
        assert edges == sorted(edges) and edges[-1] == pytest.approx(20.0)


TOKENS = ["Hello", " ", "  ", "\n\n", "　", "&amp;", "&lt;", "😀", "Ａ１", "……", "。。。。", "好", "，，", "ﬁ", "é"]
TOKENS += ["-----", ".", "e\u0301"]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
def test_the_map_keeps_its_order_and_finds_equal_characters(source: str) -> None:
    try:
        cleaned = clean(source)
    except TextFault:
        return
    found = map_source(source, cleaned, frozenset())
    assert len(found.places) == len(cleaned) + 1
    assert list(found.places) == sorted(found.places) and found.places[-1] <= len(source)
    hits = sum(source[place] == char for place, char in zip(found.places, cleaned, strict=False) if char in "Helo好")
    # A single character between two that went may be placed beside itself, no more.
    assert hits >= 0.9 * sum(char in "Helo好" for char in cleaned) - 2


def test_marks_are_left_out_and_places_survive_entities_and_emoji() -> None:
    source = "Ａ😀 &amp; <break time='1s'/>b ……… 好。"
    found = map_source(source, clean(source), frozenset())
    for char in "b好。":
        assert source[found.places[found.cleaned.index(char)]] == char or char == "b"
    (start, stop), *rest = found.marks
    assert found.cleaned[start:stop] == "<break time='1s'/>" and not rest
    first, last = found.span(stop, len(found.cleaned))
    assert source[first:last].startswith("b ") and source[first:last].endswith("好。")
