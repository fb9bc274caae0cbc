"""Which encoding bytes are in: told apart where it is clear, refused where it is not, never decoded with losses."""

from __future__ import annotations

import codecs
import io

import pytest

from jobs.encoding import LINE_LIMIT_BYTES, EncodingFault, decode, detect
from jobs.encoding_guess import guess

LEGACY = {
    "gb18030": [
        "欢迎致电，请按1。",
        "您好",
        "您的验证码是307，请勿泄露。谢谢您的来电，再见。",
        "航班CA1234次取消",
        "前方排队3位",
    ],
    "big5": ["歡迎致電，請按1。", "您的驗證碼是307，請勿洩露。謝謝您的來電，再見。"],
    "cp932": ["お電話ありがとうございます。番号を押してください。", "東京駅に行きます"],
    "euc_jp": ["お電話ありがとうございます。番号を押してください。", "東京駅に行きます"],
    "cp949": ["전화해 주셔서 감사합니다. 번호를 눌러 주세요.", "안녕하세요"],
    "cp1252": ["Grüße aus München, schöne Straße", "Déjà vu, café crème à l’hôtel", "Señor Muñoz", "für"],
    "cp1250": ["Zażółć gęślą jaźń", "Dziękuję za telefon. Proszę wcisnąć jeden", "Příliš žluťoučký kůň"],
    "cp1251": ["Спасибо за звонок, нажмите один.", "Привет", "Глава Первая"],
    "koi8_r": ["Спасибо за звонок, нажмите один.", "Привет"],
    "cp1253": ["Καλημέρα σας. Ευχαριστούμε που καλέσατε. Πατήστε ένα για πωλήσεις."],
}
HEADER = "id,text,voice\nwelcome-1,"


@pytest.mark.parametrize(("codec", "text"), [(codec, text) for codec, texts in LEGACY.items() for text in texts])
@pytest.mark.parametrize("before", ["", HEADER])
def test_a_sentence_is_enough_to_tell_a_legacy_encoding(codec: str, text: str, before: str) -> None:
    decoded, encoding = decode((before + text).encode(codec))
    assert decoded == before + text
    assert encoding.guessed


@pytest.mark.parametrize(
    ("codec", "text"),
    [("gb18030", "朝花"), ("gb18030", "蓬隙荒村"), ("cp932", "第一章"), ("euc_jp", "第一章"), ("cp949", "서울")],
)
def test_too_little_to_tell_is_refused_rather_than_misread(codec: str, text: str) -> None:
    with pytest.raises(EncodingFault, match="unclear") as caught:
        decode((HEADER + text).encode(codec))
    assert caught.value.unclear and caught.value.line == 2


def test_a_long_text_of_each_is_never_read_as_another() -> None:
    for codec, texts in LEGACY.items():
        sample = "\n".join(texts * 20).encode(codec)
        found = guess(sample)
        assert found is not None and sample.decode(found) == "\n".join(texts * 20), codec


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_disappears(mark: bytes, codec: str) -> None:
    text, encoding = decode(mark + "id,text\n1,你好".encode(codec))
    assert text == "id,text\n1,你好"
    assert not encoding.guessed


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_seen(codec: str) -> None:
    assert decode("id,text\n1,你好".encode(codec))[0] == "id,text\n1,你好"


def test_utf8_needs_no_mark_even_where_the_first_megabyte_is_ascii() -> None:
    text = "a" * 2_000_003 + "你好"
    assert decode(text.encode())[0] == text


def test_damaged_utf8_is_not_taken_for_something_else() -> None:
    data = "id,text\n1,您好，欢迎致电\n2,再见".encode() + b"\xe4\xbd\n3,x"
    with pytest.raises(EncodingFault, match="damaged") as caught:
        decode(data)
    assert caught.value.line == 3


def test_the_line_of_a_fault_counts_every_kind_of_line_end() -> None:
    data = "a\r\nb\rc\n您好，欢迎致电。".encode() + b"\xff"
    with pytest.raises(EncodingFault) as caught:
        decode(data)
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04rest", "Excel"),
        (b"\xd0\xcf\x11\xe0rest", "Office"),
        (b"%PDF-1.7", "PDF"),
        (b"RIFF\x00\x00\x00\x00WAVE", "audio"),
        (b"SQLite format 3\x00", "database"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(data: bytes, what: str) -> None:
    with pytest.raises(EncodingFault, match=what):
        decode(data)


def test_an_encoding_named_by_hand_is_used_strictly() -> None:
    assert decode("鲁迅".encode("gbk"), "gb2312")[0] == "鲁迅"
    assert decode(b"\xef\xbb\xbfx", "utf-8")[0] == "x"
    with pytest.raises(EncodingFault, match="is not valid big5") as caught:
        decode(b"a\n\xff\xff", "big5")
    assert caught.value.line == 2


@pytest.mark.parametrize("name", ["utf-9", "base64", "rot13", ""])
def test_a_name_that_is_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(EncodingFault, match="no encoding is called"):
        decode(b"abc", name)


def test_a_line_beyond_all_bounds_ends_the_search() -> None:
    class Zeros(io.BytesIO):
        given = 0

        def read(self, size: int | None = -1, /) -> bytes:
            Zeros.given += size or 0
            return bytes(size or 0)

    with pytest.raises(EncodingFault, match="hardly a manifest"):
        detect(Zeros)
    assert Zeros.given < 2 * LINE_LIMIT_BYTES
