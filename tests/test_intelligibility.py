"""What the embedded voice says is what it was given: spoken, transcribed by an offline recogniser, compared.

A lost, doubled or reordered word costs more errors than the limits leave room for.
"""

import asr
import numpy as np
import pytest

from cosyvoice import kokoro
from cosyvoice.engine import Speech, Utterance, Voice

ENGLISH_WER_LIMIT = 0.05
CHINESE_PINYIN_ERROR_LIMIT = 0.06

ENGLISH = (
    "Thank you for calling Bright Harbor Bank.",
    "For English, press one. For all other languages, press two.",
    "There are four callers ahead of you. Your estimated wait time is six minutes.",
    "Our office is open Monday through Friday, from nine in the morning until half past five in the afternoon.",
    "Your current balance is two hundred and fifteen dollars and forty cents.",
    "Please enter your sixteen digit card number, followed by the pound key.",
    "Your package will arrive on Tuesday, the fourth of March.",
    "This call may be recorded for quality and training purposes.",
    "To hear these options again, press the star key.",
    "We did not receive your response. Goodbye.",
    "Your appointment with Doctor Miller is confirmed for tomorrow at noon.",
    "Please leave a message after the tone.",
)
CHINESE = (
    "您好，欢迎致电光明银行客户服务中心。",
    "普通话请按一，英语请按二，人工服务请按零。",
    "您前面还有三位客户在等候，预计等待时间约为五分钟。",
    "我们的营业时间是周一至周五，上午九点到下午五点半。",
    "您的账户余额为两千三百五十元六角。",
    "请输入您的十六位卡号，按井号键结束。",
    "您的快递已送达小区东门的自提柜，取件码是八零二七。",
    "本次通话可能会被录音，以保证服务质量。",
    "如需重听本段内容，请按星号键。",
    "感谢您的来电，再见。",
    "航班将于今天下午三点四十分从北京起飞。",
    "VIP客户请按一，其他客户请稍候。",
    "她高兴地说，这件衣服我很喜欢。",
    "请在提示音之后留言。",
)


def speak_all(
    engine: kokoro.KokoroEngine, texts: tuple[str, ...], language: str, speakers: tuple[str, str]
) -> list[Speech]:
    """The texts in two voices by turns."""
    utterances = []
    for number, text in enumerate(texts):
        speaker = speakers[number % 2]
        utterances.append(Utterance(str(number), text, Voice(speaker, speaker, speaker), language=language))
    return list(engine.speak(utterances))


@pytest.fixture(scope="module")
def engine() -> kokoro.KokoroEngine:
    return kokoro.load(model_folder=None, device="cpu", precision="auto", threads=1)


@pytest.mark.timeout(900)
def test_english_is_understood(engine: kokoro.KokoroEngine) -> None:
    speeches = speak_all(engine, ENGLISH, "en", ("af_heart", "am_michael"))
    heard = [asr.transcribe(speech.samples, "en") for speech in speeches]
    counts = [asr.english_wer(text, what) for text, what in zip(ENGLISH, heard, strict=True)]
    errors, words = (sum(column) for column in zip(*counts, strict=True))
    assert errors / words <= ENGLISH_WER_LIMIT, list(zip(counts, heard, strict=True))


@pytest.mark.timeout(900)
def test_chinese_is_understood(engine: kokoro.KokoroEngine) -> None:
    speeches = speak_all(engine, CHINESE, "zh", ("zf_xiaoxiao", "zm_yunxi"))
    heard = [asr.transcribe(speech.samples, "zh") for speech in speeches]
    counts = [asr.chinese_pinyin_error(text, what) for text, what in zip(CHINESE, heard, strict=True)]
    errors, syllables = (sum(column) for column in zip(*counts, strict=True))
    assert errors / syllables <= CHINESE_PINYIN_ERROR_LIMIT, list(zip(counts, heard, strict=True))


def test_the_recogniser_hears_what_is_wrong(engine: kokoro.KokoroEngine) -> None:
    """The comparison itself: a lost sentence, and silence."""
    (speech,) = speak_all(engine, ("For English, press one.",), "en", ("af_heart", "am_michael"))
    errors, words = asr.english_wer(ENGLISH[1], asr.transcribe(speech.samples, "en"))
    assert errors / words > 0.5
    assert asr.transcribe(np.zeros(24_000, np.float32), "en") == ""


@pytest.mark.parametrize(
    ("reference", "heard"),
    [
        ("your balance is two hundred and fifteen dollars and forty cents", "Your balance is $215.40."),
        ("Doctor Miller at ten fifteen", "Dr. Miller at 10:15."),
        ("flight nine zero one two seven", "Flight 90127"),
        ("two thousand five hundred people", "2,500 people"),
        ("on the fourth of March", "on the 4th of March"),
        ("open at nine a m", "Open at 9 a.m."),
    ],
)
def test_english_numbers_are_compared_as_words(reference: str, heard: str) -> None:
    assert asr.english_wer(reference, heard)[0] == 0


@pytest.mark.parametrize(
    ("reference", "heard"),
    [
        ("余额为两千三百五十元", "餘額為2350元"),
        ("取件码是八零二七一", "取件碼是80271"),
        ("下午三点四十分", "下午3點40分"),
        ("增长百分之五点二", "增長5.2%"),
        ("VIP客户", "vip客戶"),
    ],
)
def test_chinese_numbers_are_compared_as_syllables(reference: str, heard: str) -> None:
    assert asr.chinese_pinyin_error(reference, heard)[0] == 0


def test_lost_doubled_and_reordered_words_are_errors() -> None:
    assert asr.english_wer("press one or two", "press one") == (2, 4)
    assert asr.english_wer("press one", "press press one") == (1, 2)
    assert asr.chinese_pinyin_error("请按一", "按一") == (1, 3)
    assert asr.chinese_pinyin_error("请按一", "按请一")[0] == 2
