"""What the whole tool says is what was written: the example prompts spoken, transcribed offline, compared.

A lost, doubled or reordered word anywhere between manifest and file costs more errors than the limits leave room for.
"""

from __future__ import annotations

import csv
from pathlib import Path

import asr
import pytest
from conftest import ROOT, RunCli, report_items, write_jsonl

PROMPTS = {
    "zh": ("zh-hours", "zh-balance", "zh-code", "zh-room", "zh-hotline", "zh-flight", "zh-appointment"),
    "en": ("en-hours", "en-balance", "en-bill", "en-code", "en-hotline", "en-flight", "en-goodbye"),
}
"""Of the example prompts those with most to get wrong: hours, amounts, dates, codes, telephone and flight numbers."""
ENGLISH_WER_LIMIT = 0.05
CHINESE_PINYIN_ERROR_LIMIT = 0.06


@pytest.mark.timeout(900)
def test_the_example_prompts_are_understood(cli: RunCli, tmp_path: Path) -> None:
    with (ROOT / "examples/ivr.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    write_jsonl(tmp_path / "ivr.jsonl", [rows[item_id] for ids in PROMPTS.values() for item_id in ids])
    ended = cli("run", "ivr.jsonl", "--engine", "kokoro", "-o", "out", "--strict", timeout=800)
    assert ended.code == 0, ended.err
    items = report_items(tmp_path / "out")
    assert len(items) == 14
    errors, total = {"en": 0, "zh": 0}, {"en": 0, "zh": 0}
    misheard = []
    for item_id, item in items.items():
        language = rows[item_id]["language"]
        compare = asr.english_wer if language == "en" else asr.chinese_pinyin_error
        heard = asr.transcribe(tmp_path / "out" / item["out"], language)
        wrong, length = compare(item["spoken"], heard)
        errors[language] += wrong
        total[language] += length
        misheard += [(item_id, wrong, item["spoken"], heard)] if wrong else []
    assert errors["en"] / total["en"] <= ENGLISH_WER_LIMIT, misheard
    assert errors["zh"] / total["zh"] <= CHINESE_PINYIN_ERROR_LIMIT, misheard


@pytest.mark.parametrize(
    ("compare", "said", "heard"),
    [
        (asr.english_wer, "Press one for sales, two for support.", "Press one for support."),
        (
            asr.english_wer,
            "Press one for sales, two for support.",
            "Press one for sales, two for sales, two for support.",
        ),
        (asr.english_wer, "Press one for sales, two for support.", "Two for support, press one for sales."),
        (asr.chinese_pinyin_error, "中文服务请按一，英文服务请按二。", "中文服务请按一"),
        (asr.chinese_pinyin_error, "您的取件码是零三零七。", "您的取件码是0370"),
        (asr.chinese_pinyin_error, "套餐有三百元和两千元两档。", "套餐有300元和200元两档"),
    ],
)
def test_the_comparison_sees_lost_doubled_and_swapped_words(compare: object, said: str, heard: str) -> None:
    assert callable(compare)
    wrong, length = compare(said, heard)
    assert wrong / length > 0.06
