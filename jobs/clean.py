"""The first station of a text: characters that cannot be spoken go, variants of one character become one.

Cleaning is idempotent. Its result has a newline for each paragraph end, single spaces, half-width digits and letters.
"""

from __future__ import annotations

import html
import html.entities
import re
import unicodedata

from jobs.text_fault import TextFault, raise_if

# `<`, `>`, `[`, `]` that were written as HTML entities: literal text, never markup. Noncharacters stand in for them
# until the markup has been read; a text cannot hold these code points itself (`_FORBIDDEN`).
LITERALS = {"<": "\ufdd0", ">": "\ufdd1", "[": "\ufdd2", "]": "\ufdd3"}
_RESTORE = {ord(stand_in): char for char, stand_in in LITERALS.items()}

_ENTITY_PASSES = 4
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_AMP_CHAIN = re.compile(r"&(?:(?:amp|AMP|#0*38|#[xX]0*26);)+")

_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
_NEWLINES = re.compile("\r\n|[\r\x85\u2028\u2029]")

# A keycap leaves the key that it shows: a prompt says which one to press. Flags, skin tones, joiners and variation
# selectors lie in the ranges.
_EMOJI = re.compile(
    "[\U0001f000-\U0001f0ff\U0001f10d-\U0001f12f\U0001f16a-\U0001f1ff\U0001f200-\U0001faff"
    "\u2600-\u2775\u2794-\u27bf\u2b05-\u2b55\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u25a0-\u25ff\u20e3]"
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff\ue000-\uf8ff\U000f0000-\U000ffffd"
    "\U00100000-\U0010fffd]"
)
# Compatibility forms that mean the plain character: half-width kana, Kangxi radicals, ligatures, Roman numerals,
# mathematical letters and digits.
_COMPATIBLE = re.compile("[\uff61-\uff9f\uffa1-\uffdc\u2e80-\u2fd5\ufb00-\ufb06\u2160-\u217f\U0001d400-\U0001d7ff]+")

_SPACES = "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_KEPT_WIDE = "！（），：；？～"
_CHARACTERS = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if chr(wide) not in _KEPT_WIDE}
    | dict.fromkeys(_SPACES, " ")
    | {
        "￡": "£",
        "￠": "¢",
        "￢": "¬",
        "￦": "₩",
        "〜": "～",
        "‐": "-",
        "‑": "-",
        "−": "-",
        "∶": ":",
        "﹣": "-",
        "﹪": "%",
    }
    | {"ʼ": "'", "﹒": ".", "﹐": "，", "﹑": "、", "﹔": "；", "﹕": "：", "﹖": "？", "﹗": "！"}
)
_WIDE_COLON = re.compile("(?<=[0-9])：(?=[0-9]{2}(?![0-9]))")

_LINE_END = re.compile(" *\n[ \n]*")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Lines drawn with characters, and scene breaks.
    (re.compile(r"([*=_#~])\1{2,}|-{4,}"), " "),
    (re.compile(r"(?<![./\\])\.{3,}(?![./\\])"), "..."),
    (re.compile("。{3,}|…{2,}"), "……"),
    (re.compile("。。"), "。"),
    (re.compile("—{3,}"), "——"),
    (re.compile("([，、；：,;！？!?～])\\1+"), r"\1"),
    (re.compile("((?:[！？]{2})|(?:[!?]{2}))[！？!?]+"), r"\1"),
    (re.compile("[，、,；;]+([，、；])"), r"\1"),
    (re.compile(" {2,}"), " "),
)
# Anything that one of the steps above would change; most texts have nothing of it.
_ODD = re.compile(
    "[^\n -%'-~¡-¬®-ɏЀ-҂Ҋ-ӿ\u2013-\u2026、-〛ぁ-ゖァ-ヿ一-鿿가-힣！（），：；？～￥]"
    "|[ \n][ \n]|^[ \n]|[ \n]$|([*=_#~])\\1\\1|----|\\.\\.\\.\\.|。。|………|———|([，、；：,;！？!?～])\\2"
    "|[！？!?]{3}|[，、,；;][，、；]|[0-9]：[0-9]"
)


def clean(text: str) -> str:
    """The text with variants unified and unspeakable characters gone. Raises TextFault for control characters."""
    return restore(clean_escaped(text))


def clean_escaped(text: str) -> str:
    """Like `clean`, but `<>[]` that came from HTML entities stay hidden behind their stand-ins (see LITERALS)."""
    if not _ODD.search(text):
        return text
    _refuse_forbidden(text)
    return _tidy(_decode(text))


def restore(escaped: str) -> str:
    """Put `<>[]` back where stand-ins are; positions do not move."""
    return escaped.translate(_RESTORE) if max(escaped, default="") >= "\ufdd0" else escaped


def _refuse_forbidden(text: str) -> None:
    faults = []
    for found in sorted(set(_FORBIDDEN.findall(text))):
        code = f"U+{ord(found):04X}"
        if found == "\ufffd":
            faults.append(f"character {code} (a letter lost by a wrong decoding) in the text: save the file as UTF-8")
        elif "\ud800" <= found <= "\udfff":
            faults.append(f"half of a surrogate pair ({code}) in the text: write the whole character")
        else:
            faults.append(f"control character {code} in the text: remove it")
    raise_if(faults)


def _decode(text: str) -> str:
    """Unify characters and decode HTML entities, also twice encoded ones (`&amp;lt;`)."""
    for _ in range(_ENTITY_PASSES):
        unified = _unify(text)
        text = _ENTITY.sub(_entity, _AMP_CHAIN.sub("&", unified))
        if text == unified:
            return text
    raise TextFault("HTML entities nested into each other: write the characters themselves")


def _unify(text: str) -> str:
    text = _NEWLINES.sub("\n", text)
    text = _EMOJI.sub("", text)
    text = _INVISIBLE.sub("", text).translate(_CHARACTERS)
    text = _COMPATIBLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return unicodedata.normalize("NFC", text)


def _entity(found: re.Match[str]) -> str:
    written = found[0]
    if written[1] != "#" and written[1:] not in html.entities.html5:
        return written
    decoded = html.unescape(written)
    if _FORBIDDEN.search(decoded):
        raise TextFault(f"{written} in the text stands for a control character: remove it")
    return "".join(LITERALS.get(char, char) for char in decoded)


def _tidy(text: str) -> str:
    """Single spaces, one newline a paragraph, no runs of the same punctuation."""
    while True:
        before = text
        text = _WIDE_COLON.sub(":", text)
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        text = _LINE_END.sub("\n", text).strip(" \n")
        if text == before:
            return text
