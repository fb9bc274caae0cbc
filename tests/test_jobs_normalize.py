from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.measure import word_set
from jobs.segment import Budget
from jobs.text import FrontEnd, TextFault, TextSettings
from jobs.words import open_word_breaker

DATA = Path(__file__).parent / "data"
BUDGET = Budget(200, 100)
FRONT_END = FrontEnd(None, open_word_breaker(None))


def gold(language: str) -> list[tuple[str, str]]:
    lines = (DATA / f"normalize_{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [(row[0], row[1]) for line in lines if not line.startswith("#") and (row := line.split("\t"))]


def spoken(text: str, language: str | None = None, **options: str) -> str:
    settings = TextSettings(budget=BUDGET, language=language, **options)  # type: ignore[arg-type]
    return " | ".join(segment.spoken for segment in FRONT_END.prepare(text, settings).segments)


@pytest.mark.parametrize(("written", "expected"), gold("zh"))
def test_chinese_is_read_as_a_person_would(written: str, expected: str) -> None:
    assert spoken(written, "zh") == expected


@pytest.mark.parametrize(("written", "expected"), gold("en"))
def test_english_is_read_as_a_person_would(written: str, expected: str) -> None:
    assert spoken(written, "en") == expected


@pytest.mark.parametrize(
    ("language", "written", "expected"),
    [
        ("en", "Your balance is $-35.20.", "Your balance is minus thirty-five dollars and twenty cents."),
        ("en", "Stickers are $.99 each.", "Stickers are ninety-nine cents each."),
        ("en", "Your balance as of 12/31 is $10.", "Your balance as of December thirty-first is ten dollars."),
        ("en", "The winter of 1842-3.", "The winter of eighteen forty-two to three."),
        ("en", "The season 1999/00.", "The season nineteen ninety-nine two thousand."),
        ("en", "MR. PENROSE AND DR. J. SMITH OF ST. IVES", "MISTER PENROSE AND DOCTOR J. SMITH OF SAINT IVES"),
        ("en", "12 MAIN ST. CHICAGO", "twelve MAIN ST. CHICAGO"),
        ("en", "Louis XIV. himself, in Chapter II. of it.", "Louis the fourteenth himself, in Chapter two of it."),
        ("en", "Chapter II. Then came 5½ lbs. of it.", "Chapter two. Then came five and a half pounds of it."),
        ("en", "It weighed ½ lb. Half.", "It weighed one half of a pound. Half."),
        ("en", "Messrs. Dodson and John Fogg, Esq., came.", "Messieurs Dodson and John Fogg, Esquire, came."),
        ("en", "The ratio is 1:7.5.", "The ratio is one to seven point five."),
        ("en", "Order no. 100-2003-4 shipped.", "Order number one zero zero, two zero zero three, four shipped."),
        ("en", "It measures 30 x 20 x 15 cm.", "It measures thirty by twenty by fifteen centimeters."),
        (
            "en",
            "A 20x30cm frame, 30cm x 20cm.",
            "A twenty by thirty centimeters frame, thirty centimeters by twenty centimeters.",
        ),
        ("en", "Take it 3x/day or 2x daily.", "Take it three times per day or twice daily."),
        ("en", "Your 401(k) and 403(b) plans.", "Your four oh one K and four oh three B plans."),
        ("en", "Dial *21*5550199#.", "Dial star, two one, star, five five five zero one nine nine, pound."),
        ("zh", "您已欠费¥-35.20。", "您已欠费负三十五点二元。"),
        ("zh", "美元兑人民币汇率为1:7.1042。", "美元兑人民币汇率为一比七点一零四二。"),
        ("zh", "检测时间11-30 08:15。", "检测时间十一月三十日 八点十五分。"),
        ("zh", "请拨*21#，门禁码#0317#。", "请拨星号二幺井号，门禁码井号零三一七井号。"),
        ("zh", "普通话请按1️⃣。", "普通话请按一。"),
    ],
)
def test_prompts_of_banks_and_parcel_services_are_read_right(language: str, written: str, expected: str) -> None:
    assert spoken(written, language) == expected


def test_the_gold_tables_are_as_large_as_promised() -> None:
    assert len(gold("zh")) >= 150
    assert len(gold("en")) >= 120


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("¥99", "九十九元"),
        ("400-820-8820", "四零零，八二零，八八二零"),
        ("2024/10/01", "二零二四年十月一日"),
        ("Hello 你好 world", "Hello 你好 world"),
        ("これは2024年のテストです。", "これは二千二十四年のテストです。"),
        ("価格は1,000円。", "価格は千円。"),
        (
            "我用 Office 365 和 3 台电脑。I said 你好 to 3 people.",
            "我用 Office 三百六十五 和 三 台电脑。I said 你好 to three people.",
        ),
        ("第1章\n从前有一座山", "第一章 | 从前有一座山"),
        ('“你好”，他说:"3个"。', '“你好”，他说:"三个"。'),
    ],
)
def test_without_a_language_the_script_decides(written: str, expected: str) -> None:
    assert spoken(written) == expected


@pytest.mark.parametrize(
    ("language", "written", "expected"),
    [
        (
            "de",
            "Der Preis ist 10 Äpfel und 1.299 Stück.",
            "Der Preis ist zehn Äpfel und eintausendzweihundertneunundneunzig Stück.",
        ),
        ("fr", "Il y a 21 chats", "Il y a vingt et un chats"),
        ("es", "Son 3,5 kilos", "Son tres punto cinco kilos"),
        ("ko", "가격은 3000원", "가격은 삼천원"),
        ("ja", "東京2024年", "東京二千二十四年"),
        ("ja", "確認コードは0451、内線は204です。", "確認コードはゼロ四五一、内線は二ゼロ四です。"),
    ],
)
def test_other_languages_read_their_own_numbers(language: str, written: str, expected: str) -> None:
    assert spoken(written, language) == expected


def test_a_language_without_numbers_keeps_digits_and_warns() -> None:
    prepared = FRONT_END.prepare("bei 5", TextSettings(budget=BUDGET, language="sw"))
    assert prepared.segments[0].spoken == "bei 5"
    assert "digits" in prepared.warnings[0]


def test_date_order_is_a_setting() -> None:
    assert spoken("12/05/2024", "zh", date_order="dmy") == "二零二四年五月十二日"
    assert spoken("12/05/2024", "en", date_order="dmy") == "May twelfth, twenty twenty-four"


def test_normalisation_can_be_switched_off() -> None:
    settings = TextSettings(budget=BUDGET, language="zh", normalize=False)
    prepared = FRONT_END.prepare("取件码０３０７，[digits:12]，3个 & 4", settings)
    assert prepared.segments[0].spoken == "取件码0307，一二，3个 & 4"


WORDS = (
    "0 1 2 10 23 110 0307 1,000 3.5 .5 ￥2000 $1,299.99 2024-12-31 15:30 99:99 GPT-4o v2.1 1.2.3.4 a.b.com x@y.com"
    " 第 个 年 月 号 次 点 元 % ‰ ℃ km/h kg 验证码 房间 航班 拨打 PIN room code May Dr. No. - – ~ / : . , ， 。 ( ) “"
    ' " \\ 你好 hello ① ² ½ IV # * & + = < > ^ _ @ $ € s x e th st'
)
PIECES = st.sampled_from([*sorted(word_set(WORDS)), " ", "\n"])


@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["zh", "en"]), st.sampled_from(["mdy", "dmy"]))
@settings(max_examples=400, deadline=None)
def test_no_ascii_digit_is_left_and_nothing_else_is_raised(text: str, language: str, order: str) -> None:
    try:
        said = spoken(text, language, date_order=order)
    except TextFault:
        return
    assert not re.search(r"[0-9\\]|[\ue000-\uf8ff]", said)


@given(
    st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=60),
    st.sampled_from([None, "zh", "en", "ja", "ko", "de"]),
)
@settings(max_examples=300, deadline=None)
def test_arbitrary_text_raises_nothing_but_text_faults(text: str, language: str | None) -> None:
    try:
        spoken(text, language)
    except TextFault:
        return
