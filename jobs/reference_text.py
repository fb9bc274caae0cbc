"""Whether a reference text can be what is said in its recording. Leaks of reference words mostly come from here."""

from __future__ import annotations

import re

from jobs.instructions import Generation
from jobs.language import HAN, KANA, size
from jobs.remarks import Remark, in_order

CJK_CHARS_PER_S = (1.5, 9.0)
WORDS_PER_S = (0.8, 5.5)
"""Slowest and fastest reading that is plausible."""
_IMPOSSIBLE = 1.6
"""So many times faster than the fastest plausible reading, no one speaks."""
_MARKER = re.compile(r"<\|[^<>|\n]{0,80}\|>|<endofprompt>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,30}>|\[[A-Za-z_-]{1,30}\]")
_DIGITS = re.compile(r"\d+")
_COMMAS = re.compile(r"[,，、;；]\s*[,，、;；]")
_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile(f"[{KANA}]")
# A kana is one mora, of which Japanese has seven to ten a second.
_KANA_WEIGHT = 0.6


def examine_text(
    text: str, language: str | None, speech_s: float | None, generation: Generation | None = None
) -> tuple[Remark, ...]:
    """Remarks on a reference text; `speech_s` is the time spoken in its recording, None where that is not known."""
    if not any(character.isalnum() for character in text):
        message = (
            f"the reference text {text[:40]!r} has no word in it; write what is said in the recording, or leave the "
            "text out (the voice is then cloned without it, as across languages)"
        )
        return (Remark("refuse", "text", "text_empty", message),)
    remarks: list[Remark] = []
    if marker := _MARKER.search(text):
        message = (
            f"the reference text holds {marker[0]!r}; markers and the system prefix are put in their places by "
            "themselves, write only the words that are heard"
        )
        remarks.append(Remark("refuse", "text", "text_marker", message))
    elif tag := _TAG.search(text):
        message = f"the reference text holds {tag[0]!r}; write only the words that are heard, without tags"
        remarks.append(Remark("warn", "text", "text_tags", message))
    if speech_s:
        remarks += _pace(_MARKER.sub("", text), speech_s)
    remarks += _spelling(text, language, generation)
    return in_order(remarks)


def _pace(text: str, speech_s: float) -> list[Remark]:
    fastest_s, slowest_s = reading_time_s(text)
    cjk, words = size(text)
    count = " and ".join([f"{cjk} characters"] * bool(cjk) + [f"{words} words"] * bool(words))
    pace = f"{cjk / speech_s:.1f} characters/s" if cjk >= words else f"{words / speech_s:.1f} words/s"
    heard = f"the reference text has {count}, but {speech_s:.1f} s are spoken in the recording ({pace})"
    if speech_s < fastest_s:
        severe = speech_s * _IMPOSSIBLE < fastest_s
        message = (
            f"{heard}: nobody speaks so fast, so the text holds words that are not in the recording, and such words "
            "leak into the output; write exactly what is heard"
        )
        return [Remark("refuse" if severe else "warn", "text", "text_too_long", message)]
    if speech_s > slowest_s:
        message = f"{heard}: words are missing in the text, or much in the recording is no speech; write what is heard"
        return [Remark("warn", "text", "text_too_short", message)]
    return []


def reading_time_s(text: str) -> tuple[float, float]:
    """Shortest and longest time in which a text can be read. A number may be one word or one for each digit."""
    cjk, words = size(text)
    kana = len(_KANA.findall(text))
    digits = sum(len(number) - 1 for number in _DIGITS.findall(text))
    weighed = cjk - kana * (1.0 - _KANA_WEIGHT)
    return (
        weighed / CJK_CHARS_PER_S[1] + words / WORDS_PER_S[1],
        weighed / CJK_CHARS_PER_S[0] + (words + digits) / WORDS_PER_S[0],
    )


def _spelling(text: str, language: str | None, generation: Generation | None) -> list[Remark]:
    remarks = []
    if number := _DIGITS.search(text):
        message = f"the reference text holds the number {number[0][:20]}; write numbers out as they are spoken"
        remarks.append(Remark("info", "text", "text_numbers", message))
    if _COMMAS.search(text):
        message = "the reference text has several commas in a row, which make words leak; leave one of them"
        remarks.append(Remark("warn", "text", "text_commas", message))
    if language in ("zh", "yue") and size(text)[0] == 0:
        message = (
            f"the reference text has no Chinese character, but the voice's language is {language}; correct one of them"
        )
        remarks.append(Remark("warn", "text", "text_language", message))
    if language == "ja" and generation == 3 and _HAN.search(text):
        message = "CosyVoice 3 reads the kanji of the reference text as Chinese; write it in katakana"
        remarks.append(Remark("warn", "text", "text_kanji", message))
    return remarks
