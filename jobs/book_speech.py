"""The text of a block as a row carries it: no note markers, nothing that could be read as a mark, emphasis as a tag."""

from __future__ import annotations

import re

from jobs.book_records import CJK, EMPHASIS, END_EMPHASIS, SPEAKABLE, Findings
from jobs.clean import clean
from jobs.markup import escape
from jobs.text_fault import TextFault

STRONG = ("<strong>", "</strong>")
_MAX_EMPHASIS_CHARS = 60
_EMPHASISED = re.compile(f"{EMPHASIS}([^{EMPHASIS}{END_EMPHASIS}]*){END_EMPHASIS}")
_MARKS = re.compile(f"[{EMPHASIS}{END_EMPHASIS}]")
# [1], 〔2〕, ［注3］ after a word; at the start of a paragraph they are part of it.
_NOTE_MARK = re.compile(
    r"(?<=[^\s\[〔［])\s?(?:\[(?:\d{1,3}|\*{1,3}|[a-z]|[注註]\d{0,3})\]|[〔［](?:\d{1,3}|[注註]\d{0,3})[〕］])"
)
_RAISED_MARK = re.compile(r"(?<=[.,!?;:”’\"')。，！？；：」』）])[¹²³⁴-⁹⁰†‡]+|(?<=[^\W\d_]{3})[¹²³⁴-⁹⁰†‡]+(?![\w⁻⁺])")
_SOFT_HYPHEN = "\u00ad"
# Cleaning makes these half-width: they would be marks then.
_WIDE = str.maketrans("＜＞［］＆｛｝", "<>[]&{}")
_MARKUP = re.compile(r"[&<>\[\]{}]")
_SENTENCE_END = re.compile(r"[。！？!?….]+[”’」』）)\"']*\s*")


def rendered(text: str, tags: frozenset[str], findings: Findings) -> str:
    """One line of a row's text. What a person reads is the same; no character of the book is read as a mark."""
    text, markers = _NOTE_MARK.subn("", " ".join(text.replace(_SOFT_HYPHEN, "").split()).translate(_WIDE))
    text, raised = _RAISED_MARK.subn("", text)
    if markers + raised:
        findings.count("footnote markers left out", markers + raised)
    escaped = _escaped(text)
    if "&" in text:
        try:
            clean(_MARKS.sub("", escaped))
        except TextFault:
            findings.count("texts with nested HTML entities read without their ampersands")
            escaped = _escaped(text.replace("&", " "))
    if EMPHASIS not in escaped:
        return escaped.replace(END_EMPHASIS, "")
    wanted = tags.issuperset(STRONG)
    length = len(_MARKS.sub("", text))
    said = _EMPHASISED.sub(lambda found: _strong(found[1], length) if wanted else found[1], escaped)
    return " ".join(_MARKS.sub("", said).split())


def _strong(words: str, length: int) -> str:
    """A few words of a longer text; a whole paragraph in italics is a letter or a thought, not a stress."""
    inner = words.strip()
    if not SPEAKABLE.search(inner) or len(inner) > _MAX_EMPHASIS_CHARS or 2 * len(inner) > length:
        return words
    lead, tail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    return f"{lead}{STRONG[0]}{inner}{STRONG[1]}{tail}"


def _escaped(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    return escape(text).replace("{", "&#123;").replace("}", "&#125;")


def speakable(rendered_text: str) -> bool:
    """Whether anything of it is left to be spoken after cleaning; an emoji is not."""
    return SPEAKABLE.search(clean(rendered_text.replace(STRONG[0], "").replace(STRONG[1], ""))) is not None


def halves(text: str) -> tuple[str, str]:
    """A long text in two, at the sentence end, the space or the character nearest to its middle."""
    middle = len(text) // 2
    ends = [found.end() for found in _SENTENCE_END.finditer(text, len(text) // 4, len(text) * 3 // 4)]
    ends = ends or [found.end() for found in re.compile(r"\s").finditer(text, len(text) // 4, len(text) * 3 // 4)]
    at = min(ends, key=lambda end: abs(end - middle), default=middle)
    return text[:at], text[at:]


def is_mostly_cjk(text: str) -> bool:
    return 3 * len(CJK.findall(text)) > len(re.findall(r"[^\W\d_]", text))
