"""The end of a run: reports taken over or written anew, what --prune removes, and that nothing leaves the folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_examples import FACTS, FAILED, ITEM, MEASURED
from test_jobs_report import page_items

from jobs.closing import leave_reports, removed_files
from jobs.errors import EnvironmentFault
from jobs.files import STATE_FOLDER, leads_out, open_fresh, refuse_links, replacing
from jobs.journal import Journal, values_of
from jobs.progress import ItemEnd, Totals
from jobs.records import Item
from jobs.report import renew_reports
from jobs.report_items import NAMES
from jobs.report_rows import ItemRow, RunFacts

NIGHTS = [
    replace(FACTS, run_id=str(n), started=f"2026-03-0{n}T02:00:00+08:00", counts={"unchanged": 2}) for n in (1, 2)
]


class Night:
    """Runs that leave their reports in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.note: str | None = None
        self.passes = 0

    def __call__(self, facts: RunFacts, items: str, *rows: ItemRow) -> int:
        """How often the items were gone through."""
        self.passes = 0

        def counted() -> Any:
            self.passes += 1
            return iter(rows)

        self.note = renew_reports(self.folder, facts, counted, items, self.note)
        return self.passes

    def told(self) -> tuple[str, list[str], list[str]]:
        """The run that report.json tells of, its items, and the page's."""
        document = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        page = (self.folder / "report.html").read_text(encoding="utf-8")
        assert f"{document['run']['run_id']} {document['run']['started']}" in page
        return (
            document["run"]["run_id"],
            [item["id"] for item in document["items"]],
            [item["id"] for item in page_items(page)],
        )


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def test_a_note_of_another_version_is_not_read(night: Night) -> None:
    night(NIGHTS[0], "its digest", ITEM)
    assert night.note is not None
    night.note = json.dumps({"items": "of another version", "other": "keys"})
    assert night(NIGHTS[1], "our digest", ITEM) > 0
    assert night.told() == ("2", ["greeting"], ["greeting"])


def test_items_that_did_not_change_are_taken_over_and_the_rest_tells_of_this_night(night: Night) -> None:
    rows = (ITEM, replace(ITEM, id="second", extra={"team": "Sales"}))
    assert night(NIGHTS[0], "same", *rows) > 0
    first = {name: (night.folder / name).read_bytes() for name in NAMES}
    csv_time = (night.folder / "report.csv").stat().st_mtime_ns
    assert night(NIGHTS[1], "same", *rows) == 0
    assert night.told() == ("2", ["greeting", "second"], ["greeting", "second"])
    assert (night.folder / "report.csv").stat().st_mtime_ns == csv_time, "it says nothing of the night"
    assert night(NIGHTS[0], "same", *rows) == 0
    assert {name: (night.folder / name).read_bytes() for name in NAMES} == first, "taken over twice, byte for byte"


def test_other_items_are_written_anew(night: Night) -> None:
    night(NIGHTS[0], "before", ITEM, FAILED)
    assert night(NIGHTS[1], "after", ITEM) > 0
    assert night.told() == ("2", ["greeting"], ["greeting"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("harm", ["edited", "removed", "a link"])
def test_a_report_that_is_not_ours_any_more_is_written_anew(night: Night, name: str, harm: str) -> None:
    night(NIGHTS[0], "same", ITEM)
    path = night.folder / name
    whole = path.read_bytes()
    if harm == "edited":
        path.write_bytes(whole[:-40] + b"x" * 40)
    else:
        path.rename(night.folder / "elsewhere")
        if harm == "a link":
            path.symlink_to("elsewhere")
    assert night(NIGHTS[0], "same", ITEM) > 0
    assert path.read_bytes() == whole and not path.is_symlink()
    if harm != "edited":
        assert (night.folder / "elsewhere").read_bytes() == whole


def test_what_is_to_be_made_again_is_there_after_every_night(night: Night) -> None:
    asked = {"out": "hours.wav", "mode": "speaker", "profile": "podcast"}
    night(NIGHTS[0], "same", ITEM, replace(FAILED, asked=asked))
    (night.folder / "retry.jsonl").unlink()
    night(NIGHTS[1], "same", ITEM, replace(FAILED, asked=asked))
    assert json.loads((night.folder / "retry.jsonl").read_text(encoding="utf-8"))["id"] == "hours"
    night(NIGHTS[1], "well again", ITEM)
    assert not (night.folder / "retry.jsonl").exists()


class Told:
    """A progress that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def planned(self, totals: Totals) -> None: ...
    def audio(self, seconds: float) -> None: ...
    def item(self, end: ItemEnd) -> None: ...
    def finished(self) -> None: ...

    def note(self, message: str) -> None:
        self.said.append(message)

    def warn(self, message: str) -> None:
        self.said.append(message)


def made(folder: Path, journal: Journal, *outs: str) -> None:
    """Files of rows that a run made, and a later run that asks for none of them but `kept.wav`."""
    journal.begin_run("2026-03-01T02:00:00+08:00", "run")
    for line, out in enumerate((*outs, "kept.wav"), start=1):
        path = folder / out
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"sound")
        item = Item(line=line, id=out, text="Hello.", out=out, profile="wav24k")
        journal.plan_item(1, item, "pending", "new", {}, 1.0)
        journal.done(item, {}, 5, {"measured": values_of(MEASURED), "lexicon_hits": ["SQL"]})
    journal.begin_run("2026-03-02T02:00:00+08:00", "run")
    journal.plan_item(2, item, "unchanged", "", {}, 1.0)


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    (tmp_path / "out" / STATE_FOLDER).mkdir(parents=True)
    journal = Journal(tmp_path / "out")
    yield journal
    journal.close()


def test_prune_removes_the_folders_that_it_emptied_and_no_others(tmp_path: Path, journal: Journal) -> None:
    folder, away = tmp_path / "out", tmp_path / "away"
    made(folder, journal, "a/b/one.wav", "a/b/two.wav", "c/d/three.wav", "linked/four.wav")
    (folder / "c/notes.txt").write_text("mine", encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / "linked").rename(away)
    (folder / "linked").symlink_to(away)
    told = Told()
    left = removed_files(folder, journal, 2, told, prune=True, problems_count=0)
    assert left == [("linked/four.wav", "linked/four.wav")]
    assert (away / "four.wav").exists() and any("leads out" in said for said in told.said)
    assert sorted(path.name for path in folder.iterdir()) == [STATE_FOLDER, "c", "empty", "kept.wav", "linked"]
    assert [path.name for path in (folder / "c").iterdir()] == ["notes.txt"]


def test_the_journal_tells_a_night_by_its_items(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "out"
    made(folder, journal, "one.wav")
    assert journal.ready_s(1) == 2.5 and journal.ready_s(2) == 2.5
    assert journal.lexicon_hits(2) == {"SQL"}
    leave_reports(folder, NIGHTS[0], journal, 2, [])
    before = journal.note("reports")
    page = (folder / "report.csv").stat().st_mtime_ns
    leave_reports(folder, NIGHTS[1], journal, 2, [])
    assert (folder / "report.csv").stat().st_mtime_ns == page
    leave_reports(folder, NIGHTS[1], journal, 2, [("one.wav", "one.wav")])
    assert journal.note("reports") != before
    ids = [item["id"] for item in json.loads((folder / "report.json").read_text(encoding="utf-8"))["items"]]
    assert ids == ["kept.wav", "one.wav"], "a file that no row asks for is told, though no item changed"


@pytest.mark.parametrize("name", ["run.log", STATE_FOLDER, f"{STATE_FOLDER}/takes", f"{STATE_FOLDER}/journal.sqlite"])
def test_a_run_writes_through_no_link_in_its_folder(tmp_path: Path, name: str) -> None:
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    refuse_links(tmp_path / "out")
    link.symlink_to(tmp_path / "away")
    with pytest.raises(EnvironmentFault, match="is a link"):
        refuse_links(tmp_path / "out")


def test_files_beside_their_place_replace_links(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.write_text("mine", encoding="utf-8")
    for name in (".x.json.part", "x.json", "fresh"):
        (tmp_path / name).symlink_to(away)
    with replacing(tmp_path / "x.json") as stream:
        stream.write(b"new")
    with open_fresh(tmp_path / "fresh", "utf-8") as file:
        file.write("new")
    assert away.read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "x.json").read_bytes() == b"new" and not (tmp_path / "fresh").is_symlink()


def test_only_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out/inside").mkdir(parents=True)
    (tmp_path / "out/here").symlink_to("inside")
    (tmp_path / "out/away").symlink_to(tmp_path)
    (tmp_path / "through").symlink_to("out")
    assert not leads_out(tmp_path / "out/here/a.wav", tmp_path / "out")
    assert not leads_out(tmp_path / "through/new/a.wav", tmp_path / "through")
    assert leads_out(tmp_path / "out/away/new/a.wav", tmp_path / "out")
