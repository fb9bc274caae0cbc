"""What no markup tells apart from a book's text goes out of its chapters, whatever kind of file they came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobs.book_ads import is_ad, without_plea
from jobs.book_footnotes import without_unmarked_notes
from jobs.book_records import Chapter, Findings, Reading, one_line

_ADS_SHOWN = 3
_TRANSCRIBER = re.compile(r"[\[(]?Transcriber['’]?s?['’]? notes?\s*[:.]", re.IGNORECASE)


def tidied(chapters: Iterable[Chapter], reading: Reading, findings: Findings) -> Iterator[Chapter]:
    """The chapters without advertising, notes of transcribers, and footnotes that only a sign tells."""
    shown: list[str] = []
    for chapter in chapters:
        if reading.ads == "drop":
            ads = _without_ads(chapter, findings)
            shown += [f"“{one_line(text, 24)}”" for text in ads[: max(0, _ADS_SHOWN - len(shown))]]
        if chapter.kind != "notes":
            kept = [block for block in chapter.blocks if not _TRANSCRIBER.match(block.plain)]
            if len(kept) < len(chapter.blocks):
                findings.count("transcriber's notes left out", len(chapter.blocks) - len(kept))
                chapter.blocks = kept
        chapter.blocks = without_unmarked_notes(chapter.blocks, reading.notes == "keep", findings)
        yield chapter
    if shown:
        findings.say(f"taken for advertising: {', '.join(shown)} …")


def _without_ads(chapter: Chapter, findings: Findings) -> list[str]:
    """Take them out; returns what was taken."""
    ads, kept = [], []
    for block in chapter.blocks:
        if block.kind == "paragraph" and is_ad(block.plain):
            ads.append(block.plain)
        else:
            kept.append(replace(block, text=without_plea(block.text)) if block.kind == "heading" else block)
    if ads:
        findings.count("paragraphs of advertising left out (--ads keep reads them)", len(ads))
    chapter.blocks = kept
    chapter.title = without_plea(chapter.title)
    return ads
