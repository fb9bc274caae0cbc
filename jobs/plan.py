"""Each manifest row against the journal: what is to be made and why. Reads text only as far as that needs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cosyvoice.catalog import EngineFacts
from jobs.casting import Casting, Miscast, Role
from jobs.errors import Problem
from jobs.files import is_as_made
from jobs.fingerprint import changed, digest, only_text, reason
from jobs.journal import Built
from jobs.records import Item, Prepared
from jobs.segment import Budget
from jobs.settings import Settings
from jobs.text import VERSION as TEXT_VERSION
from jobs.text import FrontEnd, TextFacts, TextFault, TextSettings

if TYPE_CHECKING:
    from presets.catalog import Profile

# Speaking rates for estimates: Mandarin read aloud runs at 4 to 5 characters a second, English at 2.5 to 3 words.
CJK_CHARS_PER_S = 4.3
WORDS_PER_S = 2.6
_digest_of_one = lru_cache(maxsize=1024, typed=True)(digest)
"""For a value that many rows share: text or a number. `typed`, as 1, 1.0 and True are three in JSON."""
_CJK = {"zh", "yue", "ja"}
_HAN = re.compile("[\u4e00-\u9fff]")


class Memory(Protocol):
    """What the planner asks the journal."""

    def built(self, item_id: str) -> Built | None: ...


class NoMemory:
    """A run folder that does not exist yet."""

    def built(self, item_id: str) -> Built | None:
        return None


@dataclass(frozen=True, slots=True)
class Planned:
    """One row with its verdict."""

    item: Item
    state: str
    """`pending` (to be made), `unchanged`, `skipped` (nothing to speak), `waiting` (not selected)."""
    reason: str
    parts: Mapping[str, str]
    seconds: float
    """Estimated duration of the audio."""
    refreshed: bool = False
    """The text changed but what is spoken did not: the journal learns the new fingerprint."""


class Planner:
    """Decides row by row; knows the run's engine, profiles, voices and lexicon."""

    def __init__(
        self,
        *,
        settings: Settings,
        engine: EngineFacts,
        revision: str,
        casting: Casting,
        profiles: Mapping[str, Profile],
        front_end: FrontEnd,
        finish_version: str,
        folder: Path,
    ) -> None:
        self._settings = settings
        self.engine = engine
        self._casting = casting
        self._profile_parts = {name: profile.digest for name, profile in profiles.items()}
        self._front_end = front_end
        self._folder = str(folder)
        self.engine_part = digest(engine.name, revision, settings.precision)
        self._finishing_part = digest(finish_version)
        self._front_end_part = digest(TEXT_VERSION, engine.max_cjk_chars, engine.max_words)
        self._selected = 0
        self._references: dict[tuple[str, str | None], str] = {}

    def text_settings(self, item: Item) -> TextSettings:
        """How this row's text is to be read."""
        return TextSettings(
            language=item.language or self._settings.language,
            normalize=item.text_normalize,
            say_as=item.say_as,
            tags=self.engine.tags,
            budget=Budget(self.engine.max_cjk_chars, self.engine.max_words),
            date_order=self._settings.date_order,
        )

    def language(self, item: Item, facts: TextFacts) -> str:
        """The language that an item is mostly in."""
        return item.language or self._settings.language or _main_language(facts)

    def speakable(self, item: Item) -> bool:
        """Whether the item's text has anything to speak."""
        return self._front_end.look(item.text, self.text_settings(item)).speakable

    def prepare(self, item: Item) -> Prepared:
        """The item's text, normalised and cut. Raises TextFault."""
        prepared = self._front_end.prepare(item.text, self.text_settings(item))
        if self.engine.katakana and any(s.language == "ja" and _HAN.search(s.spoken) for s in prepared.segments):
            warning = "Japanese text with kanji: this model reads katakana only and may speak the kanji as Chinese"
            prepared = replace(prepared, warnings=(*prepared.warnings, warning))
        return prepared

    def read(self, item: Item) -> tuple[Prepared, Role] | None:
        """What is spoken and by whom; None where there is nothing to speak. Raises TextFault, Miscast."""
        facts = self._front_end.look(item.text, self.text_settings(item))
        if not facts.speakable:
            return None
        return self.prepare(item), self._cast(item, facts)

    def _cast(self, item: Item, facts: TextFacts) -> Role:
        """Who speaks the item, what is said in the reference audio spelled out as the text is. Raises Miscast."""
        role = self._casting.cast(item, self.language(item, facts))
        if not role.voice.text:
            return role
        return replace(role, voice=replace(role.voice, text=self._spoken(role.voice.text, role.voice.language)))

    def _spoken(self, text: str, language: str | None) -> str:
        """A reference text in one piece, as it was spoken: the model has to find every sound of it in its ids."""
        if (text, language) not in self._references:
            whole = TextSettings(language=language, budget=Budget(1_000_000, 1_000_000))
            segments = self._front_end.prepare(text, whole).segments
            self._references[text, language] = "".join(segment.spoken for segment in segments)
        return self._references[text, language]

    def plan(self, rows: Iterator[Item | Problem], source: str, memory: Memory) -> Iterator[Planned | Problem]:
        """Verdicts and problems in the order of the rows."""
        for row in rows:
            if isinstance(row, Problem):
                yield row
                continue
            try:
                yield self._judge(row, memory)
            except TextFault as fault:
                for message in fault.faults:
                    yield Problem(source, row.line, "text", message)
            except Miscast as miscast:
                yield Problem(source, row.line, miscast.field, str(miscast))

    def _judge(self, item: Item, memory: Memory) -> Planned:
        text = self.text_settings(item)
        facts = self._front_end.look(item.text, text)
        if not facts.speakable and item.empty == "skip":
            return Planned(item, "skipped", "nothing to speak", {}, 0.0)
        if not facts.speakable and item.empty == "error":
            raise TextFault(
                "there is nothing to speak; write some text, or say empty=skip or empty=silence in this row"
            )
        language = self.language(item, facts)
        if facts.speakable and self.engine.languages is not None and language not in self.engine.languages:
            known = ", ".join(sorted(self.engine.languages))
            raise Miscast("language", f"the engine {self.engine.name!r} does not speak {language!r}, only {known}")
        role = self._casting.cast(item, language)
        parts = self._parts(item, text, facts, role)
        seconds = (facts.cjk_chars / CJK_CHARS_PER_S + facts.words / WORDS_PER_S) / item.speed
        why, refreshed = self._why(item, parts, memory)
        if not why:
            return Planned(item, "unchanged", "", parts, seconds, refreshed)
        if not self._select(item):
            return Planned(item, "waiting", "not selected", parts, seconds)
        return Planned(item, "pending", why, parts, seconds)

    def _select(self, item: Item) -> bool:
        if self._settings.only is not None and not fnmatch.fnmatchcase(item.id, self._settings.only):
            return False
        self._selected += 1
        return self._settings.limit is None or self._selected <= self._settings.limit

    def _parts(self, item: Item, text: TextSettings, facts: TextFacts, role: Role) -> dict[str, str]:
        return {
            "text": digest(item.text, text.language, text.normalize, text.say_as, text.date_order, item.empty),
            "lexicon": facts.lexicon_digest,
            "front end": self._front_end_part,
            "voice": role.voice.digest,
            "instruction": _digest_of_one(role.instruction),
            "mode": role.mode,
            "speed": _digest_of_one(item.speed),
            "seed": _digest_of_one(item.seed),
            "engine": self.engine_part,
            "profile": self._profile_parts[item.profile],
            "pauses": _digest_of_one(item.pause_ms),
            "tags": digest(item.title, item.chapter),
            "finishing": self._finishing_part,
            "out": digest(item.out),
        }

    def _why(self, item: Item, parts: dict[str, str], memory: Memory) -> tuple[str, bool]:
        """The reason to make the item, "" if what stands will do; and whether only its written text changed."""
        if self._settings.fresh:
            return "asked for by --fresh", False
        built = memory.built(item.id)
        if built is None or built.out is None or built.bytes is None:
            return ("failed last time" if built is not None and built.state == "failed" else "new"), False
        differing = changed(parts, built.parts)
        if only_text(differing) and "spoken" in built.parts and self._speaks_the_same(item, built):
            parts["spoken"] = built.parts["spoken"]
            differing = set()
            refreshed = True
        else:
            refreshed = False
        if differing:
            return reason(differing), False
        if built.state == "failed":
            return "failed last time", False
        return self._standing(built.out, built.bytes, built.result.get("marks", {})), refreshed

    def _speaks_the_same(self, item: Item, built: Built) -> bool:
        prepared = self.prepare(item) if self.speakable(item) else None
        return prepared is not None and spoken_digest(prepared) == built.parts["spoken"]

    def _standing(self, out: str, made_bytes: int, marks: Mapping[str, Any]) -> str:
        try:
            return "" if is_as_made(f"{self._folder}/{out}", made_bytes, marks) else "output changed on disk"
        except OSError:
            return "output missing"


def _main_language(facts: TextFacts) -> str:
    """The language that most of a text is in; a word weighs about as much as 1.6 CJK characters."""
    cjk = [language for language in facts.languages if language in _CJK]
    spaced = [language for language in facts.languages if language not in _CJK]
    if cjk and (not spaced or facts.cjk_chars / 1.6 >= facts.words):
        return cjk[0]
    return spaced[0] if spaced else "en"


def spoken_digest(prepared: Prepared) -> str:
    """Digest of what the engine and the joining are given for an item."""
    return digest(
        [(s.spoken, s.language, s.gap.boundary, s.gap.ms) for s in prepared.segments],
        prepared.lead_ms,
    )
