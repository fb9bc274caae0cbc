"""Text to phonemes: scripts parted, polyphones by context, letters as letters, nothing lost without a word."""

import json
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice.kokoro_text import Phonemizer, UnspeakableText, sort_characters
from cosyvoice.kokoro_zh import HanReader

PHONEMIZER = Phonemizer()
HAN = HanReader()
VOCABULARY = frozenset(json.loads((files("hibari") / "assets" / "vocab.json").read_text(encoding="utf-8")))


def phonemes(text: str, language: str) -> str:
    read, dropped = PHONEMIZER.phonemize(text, language)
    assert dropped == ()
    return read


@pytest.mark.parametrize(
    ("han", "pinyin"),
    [
        ("重拨请按一", "chong2 bo1 qing3 an4 yi1"),
        ("如需重听", "ru2 xu1 chong2 ting1"),
        ("箱子很重", "xiang1 zi5 hen3 zhong4"),
        ("她高兴地说", "ta1 gao1 xing4 de5 shuo1"),
        ("此地", "ci3 di4"),
        ("我得走", "wo3 dei3 zou3"),
        ("跑得很快", "pao3 de5 hen3 kuai4"),
        ("长五米", "chang2 wu3 mi3"),
        ("余额为三百元", "yu2 e2 wei2 san1 bai3 yuan2"),
        ("为您转接", "wei4 nin2 zhuan3 jie1"),
        ("两只猫", "liang3 zhi1 mao1"),
        ("只有一个", "zhi3 you3 yi2 ge4"),
        ("银行行长", "yin2 hang2 hang2 zhang3"),
        ("请还款", "qing3 huan2 kuan3"),
        ("还有", "hai2 you3"),
        ("重新输入", "chong2 xin1 shu1 ru4"),
        ("多长时间", "duo1 chang2 shi2 jian1"),
        ("谁", "shei2"),
        ("二〇二四年", "er4 ling2 er4 si4 nian2"),
    ],
)
def test_polyphones_are_read_by_their_neighbours(han: str, pinyin: str) -> None:
    assert " ".join(HAN.pinyin(han)) == pinyin


def test_every_common_character_has_a_reading_within_the_vocabulary() -> None:
    """GB 2312: the 6,763 characters in daily use."""
    rows = range(0xB0, 0xF8)
    common = [bytes((high, low)).decode("gb2312", "ignore") for high in rows for low in range(0xA1, 0xFF)]
    unread = []
    for character in filter(None, common):
        read = HAN.read(character)
        assert VOCABULARY.issuperset(read.phonemes)
        unread += read.unread
    assert unread == []


@pytest.mark.parametrize("name", ["VIP", "V I P", "V，I，P"])
def test_letters_inside_chinese_are_letters(name: str) -> None:
    read = phonemes(f"{name}客户", "zh").replace(",", "")
    assert read == "vi→ ai↘ pʰi→ kʰɤ↘xu↘."


def test_words_inside_chinese_are_words_and_digits_are_chinese() -> None:
    assert phonemes("下载APP", "zh").endswith("ei→ pʰi→ pʰi→.")
    assert "nˈæsə" in phonemes("NASA宣布", "zh")
    assert "ˈIfˌOn" in phonemes("用iPhone支付", "zh")
    assert phonemes("A座12。", "zh") == phonemes("A座一二。", "zh")
    assert phonemes("3.5元", "zh") == phonemes("三点五元", "zh")


def test_letters_and_articles_in_english() -> None:
    assert phonemes("Press A.", "en") == "pɹˈɛs ˈA."
    assert phonemes("A man", "en").startswith("ɐ ")
    assert phonemes("Code A B C", "en") == "kˈOd ˈA bˈi sˈi."
    assert phonemes("Open at 9 a.m.", "en").endswith("nˈIn ˌAˈɛm.")


def test_chinese_inside_english_is_read() -> None:
    assert phonemes("Welcome to 北京, friends.", "en") == "wˈɛlkəm tu pei↓ʨi→ŋ, fɹˈɛndz."


@pytest.mark.parametrize(
    ("text", "language", "read"),
    [
        ("三、四。。。五……六", "zh", "sa→n, sɨ↘. u↓… ljou↘."),
        ("，三", "zh", "sa→n."),
        ("三（四）“五”", "zh", "sa→n (sɨ↘) “u↓”"),
        ("三\n\n四\t五", "zh", "sa→n sɨ↘ u↓."),
        ("yes—no", "en", "jˈɛs — nˈO."),
    ],
)
def test_marks_become_those_the_model_knows(text: str, language: str, read: str) -> None:
    assert phonemes(text, language) == read


@pytest.mark.parametrize(
    ("accented", "plain"), [("cafe\u0301", "café"), ("Łódź", "Lodz"), ("ＡＢＣ", "ABC"), ("ﬁne", "fine")]
)
def test_letters_in_other_clothes_are_the_same_letters(accented: str, plain: str) -> None:
    assert phonemes(accented, "en") == phonemes(plain, "en")


@pytest.mark.parametrize(
    ("text", "dropped"),
    [("好☎好", ["☎"]), ("a\u200bb\u202e", []), ("50%", []), ("1°", ["°"]), ("👨\u200d👩", ["👨", "👩"])],
)
def test_what_has_no_sound_goes_and_what_is_lost_is_named(text: str, dropped: list[str]) -> None:
    assert sort_characters(text)[1] == dropped


def test_a_character_without_reading_is_named() -> None:
    assert PHONEMIZER.phonemize("兙你", "zh")[1] == ("兙",)
    assert PHONEMIZER.phonemize("价格50%", "zh")[1] == ("%",)


def test_hibari_notation_in_the_text_is_text() -> None:
    """The reader takes `[word](/phonemes/)`; brackets of the text never get that far."""
    assert "z z z" not in phonemes("[yes](/z z z/)", "en")
    assert phonemes("[yes](/zzz/)", "en").startswith("(jˈɛ")


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.sampled_from(("zh", "en")))
@settings(deadline=None, max_examples=150)
def test_any_text_is_read_within_the_vocabulary_or_refused(text: str, language: str) -> None:
    try:
        read, _dropped = PHONEMIZER.phonemize(text, language)
    except UnspeakableText:
        return
    assert VOCABULARY.issuperset(read)
    assert PHONEMIZER.phonemize(text, language)[0] == read


@given(st.text("abAZ 我你好一行长，。,.!-'\"“”()（）0159%é", min_size=1, max_size=40), st.sampled_from(("zh", "en")))
@settings(deadline=None, max_examples=150)
def test_sentences_of_two_scripts_keep_every_han_character(text: str, language: str) -> None:
    han = sum(character in "我你好一行长" for character in text)
    try:
        read, _dropped = PHONEMIZER.phonemize(text, language)
    except UnspeakableText:
        assert not any(character.isalnum() for character in text)
        return
    assert sum(read.count(tone) for tone in "→↗↓↘") >= han
