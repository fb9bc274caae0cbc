from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.language import size, zones


def seen(text: str, language: str | None = None) -> list[tuple[str, str]]:
    return [(text[zone.start : zone.end], zone.language) for zone in zones(text, language)]


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("你好。Hello there.", None, ["zh", "en"]),
        ("欢迎致电。For English, press 2.", "zh", ["zh", "en"]),
        ("iPhone 15", "zh", ["zh"]),
        ("400-820-8820", "zh", ["zh"]),
        ("400-820-8820", "en", ["en"]),
        ("¥99", None, ["zh"]),
        ("$1,299.99", None, ["en"]),
        ("我用 Office 365", None, ["zh"]),
        ("I said 你好 to 3 people.", None, ["en"]),
        ("これは2024年のテストです。東京都。", None, ["ja"]),
        ("東京都2024年", "ja", ["ja"]),
        ("鲜の味餐厅在三楼", None, ["zh"]),
        ("안녕하세요 3개", None, ["ko"]),
        ("Привет, 3 раза", None, ["ru"]),
        ("Der Preis ist 10", "de", ["de"]),
        ("see help.example.cn/faq?b=1 now", None, ["en"]),
        ("详情请看 help.example.cn/faq", None, ["zh"]),
        ("3. 5.", None, ["zh"]),
        ("第一。2。", None, ["zh"]),
    ],
)
def test_script_decides_and_the_row_wins(text: str, row: str | None, expected: list[str]) -> None:
    assert [language for _, language in seen(text, row)] == expected


@given(st.text("a好のB한. 。!?\n”1", max_size=40), st.sampled_from([None, "zh", "en", "ja"]))
@settings(max_examples=300, deadline=None)
def test_zones_cover_the_text_and_neighbours_differ(text: str, row: str | None) -> None:
    found = zones(text, row)
    assert "".join(text[zone.start : zone.end] for zone in found) == text
    assert all(zone.end > zone.start for zone in found)
    assert all(a.language != b.language for a, b in pairwise(found))


def test_size_counts_characters_and_words() -> None:
    assert size("你好 world, it's テスト 12") == (5, 3)
