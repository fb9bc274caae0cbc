"""The fields of a manifest: names, aliases, defaults, and how each value is read and checked.

One table; `docs/manifest.md` shows the same table and a test keeps them equal. It knows single values only: how fields
of one row bear on each other is in `row_check.py`.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jobs.language_codes import language_code
from jobs.markup import SAY_AS_KINDS

MAX_ID_CHARS = 200
MAX_SEED = 2**63 - 1
MODES = ("zero_shot", "cross_lingual", "instruct", "speaker")
EMPTY = ("error", "skip", "silence")
_MODE_ALIASES = {"sft": "speaker", "instruct2": "instruct"}
_TRUE = frozenset(("true", "yes", "y", "on", "1", "是"))
_FALSE = frozenset(("false", "no", "n", "off", "0", "否"))
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_INTEGER = re.compile(r"[+-]?\d{1,30}(\.0{1,6})?")


def shown(value: object) -> str:
    """`value` for a message: quoted, control characters escaped, cut to 40 characters."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean X?`, or the names there are."""
    names = sorted(known)
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if near:
        return f"did you mean {lowered[near[0]]!r}?"
    return "known: " + ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _scalar(value: object) -> str:
    """One line of text from what a cell or a JSON value may hold."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, (dict, list)):
        raise ValueError(f"found {'an object' if isinstance(value, dict) else 'a list'}; write one plain value")
    raise ValueError(f"found {str(value).lower()}; put it in quotes if it is meant as a text")


def _line(value: object) -> str:
    word = value.strip() if isinstance(value, str) else _scalar(value)
    if not word.isprintable() and (found := _CONTROL.search(word)):
        raise ValueError(f"holds the control character U+{ord(found[0]):04X}; remove it")
    return word


def _id(value: object) -> str:
    word = _line(value)
    word = word if word.isascii() else unicodedata.normalize("NFC", word)
    if len(word) > MAX_ID_CHARS:
        raise ValueError(f"has {len(word)} characters; at most {MAX_ID_CHARS} are allowed")
    return word


def _text(value: object) -> str:
    """Text to be spoken or followed, as it stands; only what no text can hold is refused."""
    text = value if isinstance(value, str) else _scalar(value)
    if "\x00" in text:
        raise ValueError(f"holds a NUL character at position {text.index(chr(0)) + 1}; remove it")
    return text


def _title(value: object) -> str:
    word = _line(value)
    if len(word) > 1000:
        raise ValueError(f"has {len(word)} characters; at most 1000 are allowed")
    return word


def _number(value: object, low: float, high: float, unit: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e300 else math.inf
    else:
        word = unicodedata.normalize("NFKC", _scalar(value))
        try:
            number = float(word)
        except ValueError:
            hint = "write a decimal point, not a comma" if "," in word else f"write {unit} from {low:g} to {high:g}"
            raise ValueError(f"{shown(value)} is not a number; {hint}") from None
    if not low <= number <= high:
        raise ValueError(f"{shown(value)} is outside {low:g} to {high:g}; write {unit} in that range")
    return number


def _whole(value: object, high: int, unit: str) -> int:
    word = unicodedata.normalize("NFKC", _scalar(value) if not isinstance(value, float) else repr(value))
    if not _INTEGER.fullmatch(word):
        raise ValueError(f"{shown(value)} is not a whole number; write {unit} from 0 to {high}")
    number = int(word.split(".")[0])
    if not 0 <= number <= high:
        raise ValueError(f"{shown(value)} is outside 0 to {high}; write {unit} in that range")
    return number


def _speed(value: object) -> float:
    return _number(value, 0.5, 2.0, "a factor")


def _seed(value: object) -> int:
    return _whole(value, MAX_SEED, "a number")


def _pause_ms(value: object) -> int:
    return _whole(value, 60_000, "milliseconds")


def _chapter(value: object) -> int:
    return _whole(value, 99_999, "a number")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = _scalar(value).lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError(f"{shown(value)} is neither yes nor no; write true or false")


def _choice(value: object, choices: tuple[str, ...], aliases: dict[str, str]) -> str:
    word = _scalar(value).lower().replace("-", "_").replace(" ", "_")
    word = aliases.get(word, word)
    if word not in choices:
        raise ValueError(f"unknown value {shown(value)}; {suggestion(word, choices)}")
    return word


def _mode(value: object) -> str:
    return _choice(value, MODES, _MODE_ALIASES)


def _say_as(value: object) -> str:
    return _choice(value, SAY_AS_KINDS, {})


def _empty(value: object) -> str:
    return _choice(value, EMPTY, {})


def _language(value: object) -> str:
    return language_code(_line(value))


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    aliases: tuple[str, ...]
    type: str
    default: str
    meaning: str
    example: str
    parse: Callable[[object], object]
    """A cell or a JSON value -> the value, or ValueError with what was found and what to do."""


TABLE: tuple[Field, ...] = (
    Field("id", ("key", "utt", "utt_id", "utterance_id"), "text, 1-200 characters", "the row's number",
          "Names the item in logs and report; unique in the manifest", "welcome-01", _id),
    Field("text", ("tts_text",), "text, up to 1,000,000 characters", "",
          "What to say; this or `text_file`", "您好，欢迎致电。", _text),
    Field("text_file", ("text_path",), "path", "",
          "File that holds the text; relative to the manifest's folder", "chapters/01.txt", _line),
    Field("voice", ("spk_id", "spk", "speaker", "speaker_id", "voice_id", "voice_name"), "name", "the run's voice",
          "Name of a voice (`voices list`)", "xiaoxiao", _line),
    Field("ref_audio", ("prompt_wav", "prompt_audio", "ref_wav", "wav", "reference_audio"), "path", "",
          "Recording whose voice is cloned; relative to the manifest's folder", "voices/anna.wav", _line),
    Field("ref_text", ("prompt_text", "reference_text"), "text", "",
          "What is said in `ref_audio`", "It was a bright morning.", _text),
    Field("instruction", ("instruct_text", "instruct"), "text", "",
          "How to say it, for engines that follow instructions", "用四川话说这句话", _text),
    Field("mode", (), "`zero_shot`, `cross_lingual`, `instruct` or `speaker`", "inferred",
          "How the engine is asked; see below", "cross_lingual", _mode),
    Field("language", ("lang", "language_code"), "ISO 639-1 code or name", "the run's, else by script",
          "Language of the text; `zh-CN`, `Chinese` and `中文` all mean `zh`", "zh", _language),
    Field("speed", (), "number, 0.5-2.0", "1.0", "Speaking rate; 2.0 halves the duration", "0.9", _speed),
    Field("seed", (), "whole number, 0 to 2^63-1", "the run's",
          "Start of the random stream: the same seed gives the same take", "42", _seed),
    Field("profile", (), "name", "the run's", "How the file is made (`profiles list`)", "ivr-ulaw", _line),
    Field("out", ("output", "out_file", "output_file", "filename"), "relative path", "the profile's naming",
          "Output file in the run folder", "menu/main.wav", _line),
    Field("pause_ms", (), "whole number, 0-60000", "the profile's", "Silence between sentences", "350", _pause_ms),
    Field("chapter", (), "whole number, 0-99999", "", "Chapter of a book: naming and tags", "3", _chapter),
    Field("title", (), "text, up to 1,000 characters", "", "Title: naming and tags", "The Pool of Tears", _title),
    Field("enabled", (), "yes or no", "yes", "`no` leaves the row out", "no", _flag),
    Field("text_normalize", (), "yes or no", "yes",
          "`no` switches off the reading of numbers, dates and money", "no", _flag),
    Field("say_as", (), ", ".join(f"`{word}`" for word in SAY_AS_KINDS), "",
          "How to read the whole text", "phone", _say_as),
    Field("empty", (), "`error`, `skip` or `silence`", "the run's, else `error`",
          "What to do if nothing in the text can be spoken", "skip", _empty),
)  # fmt: skip

FIELDS: dict[str, Field] = {field.name: field for field in TABLE}
ALIASES: dict[str, str] = {alias: field.name for field in TABLE for alias in field.aliases}


def table_markdown() -> str:
    """The table as `docs/manifest.md` shows it."""
    head = ("Field", "Aliases", "Value", "Default", "Meaning", "Example")
    rows = [head, ("---",) * len(head)]
    for field in TABLE:
        aliases = ", ".join(f"`{alias}`" for alias in field.aliases)
        rows.append((f"`{field.name}`", aliases, field.type, field.default, field.meaning, f"`{field.example}`"))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
