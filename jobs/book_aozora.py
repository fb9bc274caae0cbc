"""Plain texts of Aozora Bunko: ruby as 漢字《かんじ》, annotations as ［＃…］, a legend before and a colophon behind.

The notation is described at https://www.aozora.gr.jp/annotation/.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from jobs.book_records import BookFacts, Findings, one_line

_KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc・"
_RUBY = re.compile(
    f"(?:[｜|]([^《》｜|\\n]{{1,30}})|([\u3400-\u4dbf\u4e00-\u9fff々〆ヶ]{{1,12}}))《([{_KANA}]{{1,30}})》"
)
_ANNOTATION = re.compile("※?［＃[^［］\\n]{1,200}］")
_LEGEND = re.compile(r"^-{20,}\n【テキスト中に現れる記号について】.{0,4000}?^-{20,}\n", re.MULTILINE | re.DOTALL)
_COLOPHON = re.compile(r"^底本[：:].{0,4000}\Z", re.MULTILINE | re.DOTALL)
_HEAD_CHARS = 4000


def is_aozora(text: str) -> bool:
    """By its legend, or by both signs of its notation."""
    if _LEGEND.search(text, 0, _HEAD_CHARS):
        return True
    return _ANNOTATION.search(text) is not None and _RUBY.search(text) is not None


def aozora_facts(text: str, facts: BookFacts) -> BookFacts:
    """Title and author are the first two lines; the language needs no word."""
    lines = text[:_HEAD_CHARS].lstrip("\n").split("\n\n")[0].split("\n")
    title, author = (one_line(lines[0], 200), one_line(lines[-1], 100)) if len(lines) > 1 else ("", "")
    return replace(facts, title=title, authors=(author,) if author else (), language="ja")


def plain_aozora(text: str, ruby: Literal["base", "reading"], findings: Findings) -> str:
    """The text with ruby read as asked, without annotations, legend and colophon."""
    text = _LEGEND.sub("", text, count=1)
    text, ends = _COLOPHON.subn("", text)
    if ends:
        findings.say("the colophon of Aozora Bunko is left out")
    text, notes = _ANNOTATION.subn("", text)
    text, readings = _RUBY.subn(lambda found: found[3] if ruby == "reading" else found[1] or found[2], text)
    findings.count("annotations left out", notes)
    findings.count("ruby readings " + ("left out" if ruby == "base" else "read for their base"), readings)
    return text
