"""What holds inside an element of HTML: whether it is read at all, a verse, a footnote, a heading, emphasised."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobs.book_markup import Tag
from jobs.book_records import Findings, Reading
from jobs.book_semantics import class_says, matter_of_markup
from jobs.measure import word_set

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SKIPPED = word_set(
    "head script style template noscript svg object iframe audio video canvas button select textarea nav rp rtc"
    " math figcaption del"
)
_EMPHASIS = frozenset(("em", "strong", "i", "b"))
_NOTE_ELEMENTS = frozenset(("p", "li", "dd", "dt", "aside", "div", "section"))
_PLAIN = word_set("p div span em i b strong a li td tr small blockquote section h1 h2 h3")
_CACHED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """An open element and what holds inside it. Compared by identity: it is a key of a cache."""

    name: str
    skip: bool = False
    verse: bool = False
    pre: bool = False
    note: bool = False
    row: bool = False
    heading: int = 0
    emphasis: bool = False
    matter: str = ""


class Judge:
    """Judges the elements of one document; counts in the findings what is not read."""

    def __init__(self, reading: Reading, findings: Findings, document: str, note_targets: set[str]) -> None:
        self._reading, self._findings, self._name, self._note_targets = reading, findings, document, note_targets
        self._known: dict[tuple[str, Open, str], Open] = {}

    def inside(self, tag: Tag, above: Open) -> Open:
        """What holds inside a new element; most have no attribute but a class and are settled once."""
        if tag.name not in _PLAIN or len(tag.attributes) > 1 or (tag.attributes and "class" not in tag.attributes):
            return self._judged(tag, above)
        key = (tag.name, above, tag.get("class"))
        if key not in self._known:
            here = self._judged(tag, above)
            if here.skip or len(self._known) >= _CACHED:
                return here
            self._known[key] = here
        return self._known[key]

    def _judged(self, tag: Tag, above: Open) -> Open:
        name = tag.name
        kind = tag.get("epub:type", "role")
        matter = matter_of_markup(kind, name) or above.matter
        verse = above.verse or class_says(tag, "verse") or "verse" in kind.split()
        heading = (
            HEADINGS.get(name) or above.heading or (2 if class_says(tag, "heading") and name in ("p", "div") else 0)
        )
        here = Open(
            name=name,
            skip=self._skips(tag, kind),
            verse=verse,
            pre=above.pre or name == "pre",
            note=above.note or matter_of_markup(kind, name) == "notes" or self._is_note(tag),
            row=(above.row or name == "tr") and name != "table",
            heading=heading if name not in ("body", "section", "article") else 0,
            emphasis=above.emphasis or name in _EMPHASIS or (name == "span" and class_says(tag, "emphasis")),
            matter=matter,
        )
        if here.note and not above.note and self._reading.notes == "drop":
            self._findings.count("footnotes left out")
            return replace(here, skip=True)
        return here

    def _skips(self, tag: Tag, kind: str) -> bool:
        """Whether nothing of the element is read; counts why."""
        name, findings = tag.name, self._findings
        kinds = kind.split()
        if "pagebreak" in kinds or "doc-pagebreak" in kinds or class_says(tag, "page"):
            findings.count("page numbers left out")
            return True
        if "noteref" in kinds or "doc-noteref" in kinds:
            if link := tag.get("href"):
                self._note_targets.add(note_address(link, self._name))
            findings.count("footnote markers left out")
            return True
        if class_says(tag, "boilerplate") or tag.get("id") in ("pg-header", "pg-footer"):
            findings.say("the header, licence and transcriber's notes of Project Gutenberg are left out")
            return True
        if name == "rt":
            findings.count("ruby readings " + ("left out" if self._reading.ruby == "base" else "read for their base"))
            return self._reading.ruby == "base"
        if name == "table" and self._reading.tables == "drop":
            findings.count("tables left out")
            return True
        if name in ("svg", "math"):
            findings.count("images left out" if name == "svg" else "formulas left out")
        if name == "figcaption":
            findings.count("captions of images left out")
        hidden = "hidden" in tag.attributes or "display:none" in tag.get("style").replace(" ", "").lower()
        return name in _SKIPPED or hidden

    def _is_note(self, tag: Tag) -> bool:
        """Whether a footnote marker pointed here, at an element that a footnote can be; or its class says so."""
        if tag.name in _NOTE_ELEMENTS and class_says(tag, "footnote"):
            return True
        anchor = f"{self._name}#{tag.get('id', 'name')}"
        if anchor not in self._note_targets:
            return False
        return tag.name in _NOTE_ELEMENTS - {"div", "section"} or (tag.name == "div" and class_says(tag, "note"))


def note_address(link: str, document: str) -> str:
    """`document#id` of a link, by the document's file name."""
    path, _, anchor = link.partition("#")
    return f"{path.rpartition('/')[2] or document}#{anchor}"
