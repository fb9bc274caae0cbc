"""Footnotes that no markup tells: a sign behind a word (`hall.*`, `钱多①`) and a paragraph that begins with it.

A sign alone proves nothing (lists and sums have them too): both must be there, the note behind its marker, and near it
or at the end of the chapter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobs.book_records import SPEAKABLE, Block, Findings

_CIRCLED = "①-⑳"
_NOTE = re.compile(rf"([{_CIRCLED}]|\*{{1,3}}|[†‡])\s*(?=[^\s*†‡{_CIRCLED}])")
_MARKER = re.compile(
    rf"(?<=[^\s，、：；,:;（(图圖表式第步见見如和及{_CIRCLED}])[{_CIRCLED}](?=[^{_CIRCLED}]|$)"
    r"|(?<=[^\s*†‡])(?:\*{1,3}|[†‡])(?=[\s.,;:!?”’)\]—]|$)"
)
_NEAR_BLOCKS = 3


def without_unmarked_notes(blocks: Sequence[Block], keep: bool, findings: Findings) -> list[Block]:
    """The blocks without such markers, and without such notes unless they are to be kept."""
    notes = _notes(blocks)
    if not notes:
        return list(blocks)
    signs = frozenset(notes.values())
    cut = 0

    def unmarked(found: re.Match[str]) -> str:
        nonlocal cut
        cut += found[0] in signs
        return "" if found[0] in signs else found[0]

    kept = []
    for at, block in enumerate(blocks):
        if at not in notes:
            kept.append(replace(block, text=_MARKER.sub(unmarked, block.text)))
        elif keep:
            kept.append(replace(block, text=_NOTE.sub("", block.text, count=1)))
    findings.count("footnote markers left out", cut)
    if not keep:
        findings.count("footnotes left out", len(notes))
    return kept


def _notes(blocks: Sequence[Block]) -> dict[int, str]:
    """Position of each note -> its sign."""
    marked: dict[str, int] = {}
    found: dict[int, str] = {}
    for at, block in enumerate(blocks):
        note = _NOTE.match(block.text) if block.kind in ("paragraph", "verse") else None
        if note and note[1] in marked:
            found[at] = note[1]
            continue
        for marker in _MARKER.finditer(block.text):
            marked[marker[0]] = at
    return {at: sign for at, sign in found.items() if at - marked[sign] <= _NEAR_BLOCKS or _is_end(blocks, found, at)}


def _is_end(blocks: Sequence[Block], notes: dict[int, str], at: int) -> bool:
    """Whether nothing but notes and breaks follows."""
    return all(later in notes or not SPEAKABLE.search(blocks[later].text) for later in range(at + 1, len(blocks)))
