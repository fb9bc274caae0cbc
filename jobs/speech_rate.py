"""How long a text takes to say, roughly, and what it is made of: for the checks of takes."""

from __future__ import annotations

import re
import unicodedata

_UNIT = re.compile(r"[^\W_]['’\w]*")


def expected_seconds(spoken: str, speed: float) -> float:
    """Rough duration of a spoken text, from its characters: 4.3 CJK characters or 14 other letters a second."""
    cjk = other = 0
    for char in spoken:
        if unicodedata.category(char)[0] not in "LN":
            continue
        if unicodedata.east_asian_width(char) in "WF":
            cjk += 1
        else:
            other += 1
    return (cjk / 4.3 + other / 14.0) / speed


def units(text: str) -> list[str]:
    """The text's words in lower case; one character each where the script has no spaces, and figures."""
    found: list[str] = []
    for match in _UNIT.finditer(text.casefold()):
        word = ""
        for char in match[0]:
            if char.isdigit() or unicodedata.east_asian_width(char) in "WF":
                found += [word, char] if word else [char]
                word = ""
            else:
                word += char
        found += [word] if word else []
    return found
