"""What decides how an output sounds, as named digests: the parts that differ are the reason for making it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

_REASONS = {
    "text": "text changed",
    "lexicon": "lexicon changed",
    "front end": "text front end changed",
    "voice": "voice changed",
    "instruction": "instruction changed",
    "mode": "mode changed",
    "speed": "speed changed",
    "seed": "seed changed",
    "engine": "engine changed",
    "profile": "profile changed",
    "pauses": "pauses changed",
    "tags": "title or chapter changed",
    "finishing": "finishing changed",
    "out": "output name changed",
}
# Parts that lead to what is spoken: while that is the same, nothing needs to be made again.
_TEXT_PARTS = {"text", "lexicon", "front end"}


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)


def digest(*values: object) -> str:
    """Short digest of JSON-able values; stable between versions of Python."""
    return hashlib.sha256(_JSON.encode(values).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def changed(now: Mapping[str, str], before: Mapping[str, str]) -> set[str]:
    """Names of the parts that differ; `spoken` is compared only where both sides know it."""
    names = {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
    if "spoken" in names and ("spoken" not in now or "spoken" not in before):
        names.discard("spoken")
    return names


def only_text(names: set[str]) -> bool:
    """True if nothing but the written text (or the way it is read) differs, so that the spoken text may be the same."""
    return bool(names) and names <= _TEXT_PARTS


def reason(names: set[str]) -> str:
    """The differing parts in a person's words, the most telling first."""
    return ", ".join(words for name, words in _REASONS.items() if name in names)


def seed_for(seed: int, segment: int, attempt: int) -> int:
    """The seed of one take: its own for every segment and attempt, the same in every run, on any device."""
    text = f"{seed}/{segment}/{attempt}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1
