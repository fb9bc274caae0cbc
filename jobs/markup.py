"""Marks inside a text: breaks, say-as spans, and the control tags of an engine. What looks like a mark and is none of
these is a fault: it would be spoken otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cosyvoice.added_tokens import PHONEMES
from cosyvoice.catalog import ENGINES
from jobs.clean import restore
from jobs.measure import word_set
from jobs.text_fault import excerpt, raise_if

MAX_BREAK_MS = 60_000
SAY_AS_KINDS = (
    "digits",
    "phone",
    "money",
    "date",
    "time",
    "ordinal",
    "flight",
    "room",
    "letters",
    "cardinal",
)  # fmt: skip

# Written in brackets by other tools and by older versions; whatever their case, they are no words to be spoken.
_CUES = word_set(
    "laughter laugh laughs laughing breath breathing inhale exhale sigh sighs cough coughs noise gasp gasps "
    "sniff cry crying"
    " whisper whispers whispering music applause silence pause break clucking accent hissing lipsmack mn giggle chuckle"
    " quick_breath vocalized-noise uv_break lbreak"
)
_COSYVOICE_TAGS = word_set(
    "[laughter] [breath] [quick_breath] [noise] [cough] [clucking] [accent] [hissing] [sigh] "
    "[vocalized-noise] [lipsmack] [mn]"
    " <strong> </strong> <laughter> </laughter>"
)
_CUE_PHRASE = re.compile(r"(?i)(?:\w+ )?(?:pause|breath|laugh(?:s|ter|ing)?|sighs?|coughs?|throat)(?: \w+)?")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\]")
_ENDPOINT = "<|endofprompt|>"
_PIPE_TAG = re.compile(r"<\|[^<>|\n]{0,80}\|>")
_ATTRIBUTE = r"""[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>/]+)"""
_ANGLE_TAG = re.compile(rf"<(/?)([A-Za-z][\w:-]*)((?:\s+{_ATTRIBUTE})*)\s*(/?)>|<[!?][^<>]*>")
_SSML_NAMES = "break|say-as|emphasis|prosody|phoneme|voice|audio|speak|sub|mark|lang"
_MALFORMED = re.compile(rf"</?(?:{_SSML_NAMES})\b[^<>\n]*>?")
_ATTRIBUTES = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/]+))""")
_DURATION = re.compile(r"\s*\+?([0-9]{1,7}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})\s*(ms|s)?\s*", re.IGNORECASE)
_TAGLIKE = re.compile(r"/?[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*(?:\s*[:=：]\s*[^\]]*)?|[A-Za-z][A-Za-z_-]*[:=：][^\]]*")
_PHONEME = re.compile(r"[A-Za-züÜāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜńňǹḿ]{1,6}[0-5]?")
_TONE_MARK = re.compile("[āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜńňǹḿ]")
_SHORT = re.compile(r"([A-Za-z-]+)\s*[:：]\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark at text[start:end]; `inner` is where the content of a say-as span lies."""

    kind: Literal["break", "say-as", "tag"]
    start: int
    end: int
    ms: int = 0
    say_as: str = ""
    inner: tuple[int, int] = (0, 0)
    options: dict[str, str] = field(default_factory=dict)


def parse(escaped: str, tags: frozenset[str]) -> list[Mark]:
    """The marks of a text as `clean_escaped` gives it, in order, not overlapping.

    `tags` are the control tags that the engine understands. Raises TextFault with all faults of the text.
    """
    if "<" not in escaped and "[" not in escaped:
        return []
    reader = _Reader(escaped, tags)
    reader.read()
    raise_if(reader.faults)
    return reader.marks


class _Reader:
    def __init__(self, text: str, tags: frozenset[str]) -> None:
        self.text = text
        self.tags = tags
        self.marks: list[Mark] = []
        self.faults: list[str] = []
        self._open_say_as: tuple[re.Match[str], dict[str, str]] | None = None
        self._open_pairs: list[str] = []

    def read(self) -> None:
        for start, end in self._candidates():
            if self.text[start] == "<":
                self._angle(start, end)
            else:
                self._bracket(start, end)
        if self._open_say_as:
            self._fault(self._open_say_as[0][0], "has no closing </say-as>: add it")
        for name in self._open_pairs:
            self._fault(f"<{name}>", f"has no closing </{name}>: add it")

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """Spans that could be a mark: a whole `<|…|>`, `<tag …>`, `[…]`, or a torn SSML tag."""
        position = 0
        for opening in re.finditer(r"[<\[]", self.text):
            start = opening.start()
            if start < position:
                continue
            patterns = (_BRACKET,) if opening[0] == "[" else (_PIPE_TAG, _ANGLE_TAG, _MALFORMED)
            for pattern in patterns:
                found = pattern.match(self.text, start)
                if found:
                    position = found.end()
                    yield start, position
                    break

    def _angle(self, start: int, end: int) -> None:
        written = self.text[start:end]
        if written == _ENDPOINT:
            self._fault(written, "marks the end of an instruction and is added by the engine: move the part before it"
                        " to the column `instruction` and remove the mark")  # fmt: skip
            return
        if written in self.tags:
            self._tag(start, end)
            return
        found = _ANGLE_TAG.fullmatch(written)
        name = (found[2] or "").lower() if found else ""
        if found and name == "break" and not found[1]:
            self._break(start, end, _attributes(found[3]).get("time"))
        elif found and name == "say-as":
            self._say_as(found, start, end)
        else:
            self._unknown(written)

    def _say_as(self, found: re.Match[str], start: int, end: int) -> None:
        if not found[1]:
            if self._open_say_as:
                self._fault(found[0], "stands inside another <say-as>: close that one first")
            match = _ANGLE_TAG.match(self.text, start)
            assert match is not None
            self._open_say_as = (match, _attributes(match[3]))
            return
        if not self._open_say_as:
            self._fault(found[0], 'closes nothing: remove it or add <say-as interpret-as="…"> before it')
            return
        opening, options = self._open_say_as
        self._open_say_as = None
        kind = options.pop("interpret-as", "")
        self._spoken_as(kind, opening.start(), end, (opening.end(), start), options, opening[0])

    def _bracket(self, start: int, end: int) -> None:
        written, inside = self.text[start:end], self.text[start + 1 : end - 1]
        short = _SHORT.fullmatch(inside)
        name = short[1].lower() if short else inside.lower().strip()
        if short and name in ("pause", "break"):
            self._break(start, end, short[2], seconds=True)
        elif short and name in SAY_AS_KINDS:
            inner = (start + 1 + short.start(2), start + 1 + short.end(2))
            self._spoken_as(name, start, end, inner, {}, written)
        elif written in self.tags:
            self._tag(start, end)
        elif self._looks_like_tag(start, end, inside):
            self._unknown(written)

    def _looks_like_tag(self, start: int, end: int, inside: str) -> bool:
        """`[laughter]`, `[Laughs]`, `[spk=2]`, `[j][ǐ]` do; `[1]`, `[见下文]`, `[see below]`, `[OK]`, "
        "`[t]he` do not."""
        if inside.strip().lower() in _CUES or _CUE_PHRASE.fullmatch(inside.strip()):
            return True
        if _PHONEME.fullmatch(inside):
            beside = self.text[end : end + 1] == "[" or self.text[start - 1 : start] == "]"
            if _TONE_MARK.search(inside) or (beside and inside.islower()):
                return True
        return len(inside) > 1 and inside != "sic" and _TAGLIKE.fullmatch(inside) is not None

    def _break(self, start: int, end: int, value: str | None, seconds: bool = False) -> None:
        written = self.text[start:end]
        duration = _DURATION.fullmatch(value or "")
        unit = (duration[2] or ("s" if seconds else "")).lower() if duration else ""
        if not duration or not unit:
            self._fault(written, 'gives no length: write <break time="800ms"/>, <break time="1.5s"/> or [pause:1.5]')
            return
        ms = round(float(duration[1]) * (1000 if unit == "s" else 1))
        if ms > MAX_BREAK_MS:
            self._fault(written, f"is longer than {MAX_BREAK_MS // 1000} s: shorten it")
            return
        if self._open_say_as:
            self._fault(written, "stands inside <say-as>: move it out")
        self.marks.append(Mark("break", start, end, ms=ms))

    def _spoken_as(
        self, kind: str, start: int, end: int, inner: tuple[int, int], options: dict[str, str], opening: str
    ) -> None:
        if kind not in SAY_AS_KINDS:
            self._fault(opening, f"asks for the unknown kind {kind!r}: use one of {', '.join(SAY_AS_KINDS)}")
        elif any(mark.start >= start for mark in self.marks[-1:]):
            self._fault(opening, "has other marks inside: move them out")
        else:
            self.marks.append(Mark("say-as", start, end, say_as=kind, inner=inner, options=options))

    def _tag(self, start: int, end: int) -> None:
        written = self.text[start:end]
        self.marks.append(Mark("tag", start, end))
        if written.startswith("</"):
            name = written[2:-1]
            if name in self._open_pairs:
                self._open_pairs.remove(name)
            else:
                self._fault(written, f"closes nothing: remove it or add <{name}> before it")
        elif written.startswith("<") and f"</{written[1:]}" in self.tags:
            self._open_pairs.append(written[1:-1])

    def _unknown(self, written: str) -> None:
        if written.startswith("</") and any(f"<{written[2:-1]}" in fault for fault in self.faults):
            return  # its opening tag is told already
        knowing = [facts.name for facts in ENGINES.values() if written in facts.tags]
        if not knowing and (written in _COSYVOICE_TAGS or _PIPE_TAG.fullmatch(written)):
            knowing = ["the CosyVoice engines"]
        entity = {"<": "&lt;", "[": "&#91;"}[written[0]]
        literal = f"write {entity} for {written[0]} if it is text to be spoken"
        if knowing:
            engines = ", ".join(knowing)
            message = f"is a tag that this engine lacks (known to {engines}): choose such an engine, or remove it"
        else:
            own = ", ".join(sorted(self.tags - PHONEMES))
            message = "looks like a tag, and is none" + (f" (this engine knows {own})" if own else "") + ": remove it"
        self._fault(written, f"{message}, or {literal}")

    def _fault(self, written: str, message: str) -> None:
        self.faults.append(f"{excerpt(restore(written), 0, len(written))} {message}")


def _attributes(written: str) -> dict[str, str]:
    return {
        found[1].lower(): next(value for value in found.groups()[1:] if value is not None)
        for found in _ATTRIBUTES.finditer(written)
    }


def escape(text: str) -> str:
    """Write a text so that none of its characters is read as a mark."""
    names = {"<": "&lt;", ">": "&gt;", "[": "&#91;", "]": "&#93;"}
    return "".join(names.get(char, char) for char in text.replace("&", "&amp;"))
