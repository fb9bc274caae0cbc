from __future__ import annotations

import pytest

from jobs.markup import SAY_AS_KINDS
from jobs.say_as import places, say_as
from jobs.text_fault import TextFault


@pytest.mark.parametrize(
    ("kind", "content", "zh", "en"),
    [
        ("digits", "0307", "零三零七", "zero three zero seven"),
        ("digits", "1234", "一二三四", "one two three four"),
        ("phone", "400-820-8811", "四零零，八二零，八八幺幺", "four zero zero, eight two zero, eight eight one one"),
        (
            "phone",
            "+44 20 7946 0958",
            "加四四，二零，七九四六，零九五八",
            "plus four four, two zero, seven nine four six, zero nine five eight",
        ),
        ("money", "￥2,000", "两千元", "two thousand yuan"),
        ("money", "$5.50", "五点五美元", "five dollars and fifty cents"),
        ("money", "-€3", "负三欧元", "minus three euros"),
        ("date", "2024-12-31", "二零二四年十二月三十一日", "December thirty-first, twenty twenty-four"),
        ("date", "20240501", "二零二四年五月一日", "May first, twenty twenty-four"),
        ("date", "12/05/2024", "二零二四年十二月五日", "December fifth, twenty twenty-four"),
        ("time", "15:30", "十五点三十分", "fifteen thirty"),
        ("time", "9:05", "九点零五分", "nine oh five"),
        ("ordinal", "3", "第三", "third"),
        ("flight", "CA1234", "C A幺二三四", "C A one two three four"),
        ("flight", "mu 5101", "M U五幺零幺", "M U five one zero one"),
        ("room", "1203", "幺二零三", "one two zero three"),
        ("letters", "Lucy", "L U C Y", "L U C Y"),
        ("letters", "B2B", "B 二 B", "B two B"),
        ("cardinal", "1,203", "一千二百零三", "one thousand two hundred three"),
        ("cardinal", "-3.5", "负三点五", "minus three point five"),
    ],
)
def test_kinds_in_both_languages(kind: str, content: str, zh: str, en: str) -> None:
    assert say_as(kind, content, "zh", {}) == zh
    assert say_as(kind, content, "en", {}) == en


@pytest.mark.parametrize(("one", "expected"), [("幺", "幺零零"), ("yao", "幺零零"), ("一", "一零零"), ("yi", "一零零")])
def test_one_is_yao_where_asked(one: str, expected: str) -> None:
    assert say_as("digits", "100", "zh", {"one": one}) == expected
    assert say_as("phone", "100", "zh", {"one": one}) == expected


def test_date_order_by_option_and_by_setting() -> None:
    assert say_as("date", "12/05/2024", "en", {"format": "dmy"}) == "May twelfth, twenty twenty-four"
    assert say_as("date", "12/05/2024", "en", {}, "dmy") == "May twelfth, twenty twenty-four"
    assert say_as("date", "31/12/2024", "en", {"format": "mdy"}) == "December thirty-first, twenty twenty-four"


def test_money_without_a_currency_takes_the_option() -> None:
    assert say_as("money", "20", "zh", {}) == "二十元"
    assert say_as("money", "20", "en", {"currency": "USD"}) == "twenty US dollars"
    with pytest.raises(TextFault, match="currency"):
        say_as("money", "20", "en", {})


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("digits", "12a"),
        ("digits", ""),
        ("phone", "abc"),
        ("money", "cheap"),
        ("date", "letters"),
        ("date", "2024-13-01"),
        ("date", "2024-02-30"),
        ("time", "25:00"),
        ("time", "9:75"),
        ("time", "noon"),
        ("ordinal", "third"),
        ("flight", "我们"),
        ("room", "12 34 56"),
        ("letters", "你好"),
        ("cardinal", "1.2.3"),
    ],
)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_content_that_does_not_fit_is_a_fault_naming_it(kind: str, content: str, language: str) -> None:
    with pytest.raises(TextFault) as caught:
        say_as(kind, content, language, {})
    assert repr(content) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("digits", {"two": "x"}),
        ("digits", {"one": "x"}),
        ("date", {"format": "x"}),
        ("money", {"currency": "x"}),
        ("time", {"one": "yao"}),
    ],
)
def test_unknown_options_are_faults(kind: str, options: dict[str, str]) -> None:
    with pytest.raises(TextFault, match=r"write|remove"):
        say_as(kind, "1", "zh", options)


def test_every_kind_that_a_manifest_may_name_can_be_read() -> None:
    for kind in SAY_AS_KINDS:
        with pytest.raises(TextFault, match="cannot be read as"):
            say_as(kind, "no, never", "en", {})
    with pytest.raises(TextFault, match="is unknown"):
        say_as("colour", "red", "en", {})


def test_other_languages_and_kinds_are_refused() -> None:
    with pytest.raises(TextFault, match="zh and en"):
        say_as("digits", "1", "de", {})
    with pytest.raises(TextFault, match="use one of"):
        say_as("poem", "1", "zh", {})


def test_places_finds_what_the_row_asks_for() -> None:
    text = "取件码0307，尾号12"
    assert [text[start:end] for start, end in places("digits", text)] == ["0307", "12"]
    with pytest.raises(TextFault, match="nothing to be read so"):
        places("date", "您好")
