"""What `book` tells of a book: its chapters, what was left out, how many lines each speaker got."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli.output import complain, result, table, text

if TYPE_CHECKING:
    from jobs.book import BookOrder, Made

UNATTRIBUTED_SHOWN = 10


def list_chapters(made: Made, as_json: bool) -> None:
    """The chapters with their numbers, as `--chapters` takes them."""
    if as_json:
        result({**asdict(made.facts), "chapters": [asdict(one) for one in made.chapters], "findings": made.findings})
        return
    complain(f"{made.facts.title}" + (f", {', '.join(made.facts.authors)}" if made.facts.authors else ""))
    table(
        ("number", "kind", "characters", "title"),
        [(str(one.number or "skipped"), one.kind, str(one.chars), one.title) for one in made.chapters],
    )
    for finding in made.findings:
        complain(f"note: {finding}")


def tell(made: Made, order: BookOrder, as_json: bool) -> None:
    """What was made, what was left out, and who speaks how much."""
    skipped = [one for one in made.chapters if not one.number and one.chars]
    for finding in made.findings:
        complain(f"note: {finding}")
    for one in skipped:
        complain(f"note: left out: {one.kind}{f' ({one.title})' if one.title else ''}, {one.chars:,} characters")
    if as_json:
        result(_as_dict(made, order))
        return
    taken = [one for one in made.chapters if one.rows]
    spoken = f", {' and '.join(made.credits)} credits" if made.credits else ""
    chars = sum(one.chars for one in taken)
    text(f"{order.out}: {len(taken)} chapters{spoken} in {made.rows} rows, {chars:,} characters")
    if order.rows.cast.splits:
        table(("speaker", "lines"), [(name, str(count)) for name, count in made.lines.of.most_common()])
        text(f"{made.lines.unattributed} lines of speech name no speaker of the cast")
        for chapter, beginning in made.lines.examples[:UNATTRIBUTED_SHOWN]:
            text(f"  chapter {chapter}: {beginning}")


def _as_dict(made: Made, order: BookOrder) -> dict[str, Any]:
    return {
        **asdict(made.facts),
        "manifest": str(order.out),
        "sidecar": str(made.sidecar),
        "cover": str(made.cover) if made.cover else None,
        "rows": made.rows,
        "credits": dict(made.credits),
        "chapters": [asdict(one) for one in made.chapters],
        "speakers": dict(made.lines.of),
        "unattributed": made.lines.unattributed,
        "unattributed_examples": [{"chapter": number, "text": said} for number, said in made.lines.examples],
        "findings": made.findings,
    }
