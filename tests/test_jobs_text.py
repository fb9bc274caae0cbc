from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosyvoice.added_tokens import PHONEMES
from jobs.clean import clean
from jobs.lexicon import Lexicon, Rule
from jobs.markup import escape
from jobs.measure import word_set
from jobs.records import Gap, Prepared
from jobs.segment import Budget
from jobs.text import FrontEnd, TextFault, TextSettings
from jobs.words import open_word_breaker

WORDS = open_word_breaker(None)
FRONT_END = FrontEnd(None, WORDS)
ROOM = Budget(60, 30)
TAGS = frozenset({"[laughter]", "<strong>", "</strong>", "<|en|>"}) | PHONEMES


def prepare(
    text: str,
    *,
    front_end: FrontEnd = FRONT_END,
    budget: Budget = ROOM,
    tags: frozenset[str] = frozenset(),
    **options: str,
) -> Prepared:
    return front_end.prepare(text, TextSettings(budget=budget, tags=tags, **options))  # type: ignore[arg-type]


def spoken(prepared: Prepared) -> list[str]:
    return [segment.spoken for segment in prepared.segments]


def written(prepared: Prepared) -> str:
    return "".join(segment.written for segment in prepared.segments)


# The reported cases.


def test_a_pickup_code_is_read_digit_by_digit() -> None:
    assert spoken(prepare("您的取件码是0307，请在今天领取。")) == ["您的取件码是零三零七，请在今天领取。"]


def test_amounts_keep_their_size() -> None:
    assert spoken(prepare("套餐有￥300和￥2000两档")) == ["套餐有三百元和两千元两档"]


def test_a_domain_stays_in_one_sentence() -> None:
    prepared = prepare("详情请看 help.example.cn/faq")
    assert len(prepared.segments) == 1
    assert spoken(prepared)[0].count("点") == 2 and "." not in spoken(prepared)[0]


@pytest.mark.parametrize(
    "text", ["答案是 L U C Y Lucy，姓 B R O W N Brown。", "拼写为 A B C，共3个字母。", "Spell L U C Y, 4 letters."]
)
def test_single_letters_stay_apart(text: str) -> None:
    letters = re.findall(r"(?<![A-Za-z])[A-Z](?![A-Za-z])", text)
    assert re.findall(r"(?<![A-Za-z])[A-Z](?![A-Za-z])", spoken(prepare(text))[0]) == letters


@pytest.mark.parametrize(
    "text",
    ["   ", "（）", "……", "🙂", "。", "\u200b", "", "<break time='1s'/>", "---", "“”", "\n\n", "[pause:1]。[pause:2]"],
)
def test_nothing_to_speak_is_seen_by_both_looks(text: str) -> None:
    assert not FRONT_END.look(text, TextSettings(budget=Budget(60, 30))).speakable
    with pytest.raises(TextFault, match="nothing to speak"):
        prepare(text)


def test_long_japanese_is_split_at_its_full_stops() -> None:
    text = "これは長い文章の試験です。東京の空は今日も青い。" * 38
    prepared = prepare(text)
    assert len(text) > 900 and len(prepared.segments) >= len(text) // 60
    assert {segment.language for segment in prepared.segments} == {"ja"}
    assert all(Budget(60, 30).share(segment.spoken) <= 1 for segment in prepared.segments)
    assert all(segment.spoken.endswith("。") for segment in prepared.segments)


def test_kana_without_any_mark_are_split_too() -> None:
    assert all(len(said) <= 60 for said in spoken(prepare("あいうえおかきくけこ" * 500)))


# Breaks.


def test_breaks_become_silence_of_exactly_their_length() -> None:
    prepared = prepare('Ready. <break time="800ms"/> Go.')
    assert spoken(prepared) == ["Ready.", "Go."]
    assert [segment.gap for segment in prepared.segments] == [Gap("sentence", 800), Gap("end")]


def test_breaks_add_up_and_may_lead_or_end() -> None:
    prepared = prepare("[pause:1]你好，<break time='500ms'/> 。 [pause:1.5]再见。[pause:2]")
    assert prepared.lead_ms == 1000
    assert [(segment.spoken, segment.gap.ms) for segment in prepared.segments] == [("你好，", 2000), ("再见。", 2000)]
    assert written(prepared) == "[pause:1]你好，<break time='500ms'/> 。 [pause:1.5]再见。[pause:2]"


def test_a_break_in_a_sentence_ends_a_clause_and_before_a_newline_a_paragraph() -> None:
    prepared = prepare("一[pause:0.1]二。[pause:1]\n三")
    assert [segment.gap for segment in prepared.segments] == [Gap("clause", 100), Gap("paragraph", 1000), Gap("end")]


def test_breaks_of_more_than_a_minute_in_one_place_are_a_fault() -> None:
    with pytest.raises(TextFault, match="60 s"):
        prepare("一[pause:40] [pause:30]二")
    assert len(prepare("一[pause:40]二[pause:30]三").segments) == 3


def test_paragraphs_are_remembered() -> None:
    prepared = prepare("第1章\n\n从前有一座山。山里有庙。\n后来呢？")
    assert [(segment.spoken, segment.gap.boundary) for segment in prepared.segments] == [
        ("第一章", "paragraph"),
        ("从前有一座山。山里有庙。", "paragraph"),
        ("后来呢？", "end"),
    ]


# Tags.


def test_an_unknown_tag_is_a_fault_and_never_spoken() -> None:
    for text in ("Go. <emphasis>Now</emphasis>", "Go [laughter] now"):
        for act in (prepare, lambda text: FRONT_END.look(text, TextSettings(budget=Budget(60, 30)))):
            with pytest.raises(TextFault):
                act(text)


def test_tags_of_the_engine_survive_and_switch_nothing_off() -> None:
    text = "<|en|>Hello there. You have 3 messages [laughter]. " + "This is a sentence of seven words. " * 6
    prepared = prepare(text, tags=TAGS, budget=Budget(30, 15))
    assert spoken(prepared)[0].startswith("<|en|>Hello")
    assert "three messages [laughter]." in " ".join(spoken(prepared))
    assert len(prepared.segments) >= 4


def test_a_pair_of_tags_is_not_cut_from_its_content() -> None:
    text = "one two three four five six <strong>seven eight nine</strong> ten eleven twelve"
    for words in range(4, 12):
        for said in spoken(prepare(text, tags=TAGS, budget=Budget(20, words))):
            assert ("<strong>" in said) == ("</strong>" in said)


def test_phoneme_tokens_pass_where_the_engine_knows_them() -> None:
    assert spoken(prepare("[j][ǐ]个", tags=TAGS)) == ["[j][ǐ]个"]
    with pytest.raises(TextFault):
        prepare("[j][ǐ]个")


# Say-as.


def test_say_as_by_span_and_by_row() -> None:
    assert spoken(prepare('码<say-as interpret-as="digits" one="幺">0317</say-as>，[phone:10086]')) == [
        "码零三幺七，幺零零八六"
    ]
    assert spoken(prepare("0307", say_as="digits", language="en")) == ["zero three zero seven"]
    assert spoken(prepare("会员号是1203，请记好。", say_as="digits")) == ["会员号是一二零三，请记好。"]
    for text, kind in (("您好", "date"), ("0307", "poem")):
        with pytest.raises(TextFault):
            FRONT_END.look(text, TextSettings(budget=Budget(60, 30), say_as=kind))


# Lexicon.


def test_the_lexicon_fires_on_the_written_text_and_its_reading_is_final(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.csv"
    path.write_bytes("\ufefffeat,featured\r\n5G,五 G 2\r\n重庆,崇庆\r\nnever,once\r\n".encode())
    front_end = FrontEnd(Lexicon.read(path), WORDS)
    prepared = prepare("A feat, not a defeat. 重庆有5G和3G。", front_end=front_end)
    assert " ".join(spoken(prepared)) == "A featured, not a defeat. 崇庆有五 G 2和三G。"
    assert prepared.lexicon_hits == ("feat", "重庆", "5G")


def test_the_digest_changes_only_for_texts_that_a_changed_rule_touches() -> None:
    before, after = (
        FrontEnd(Lexicon([Rule("feat", reading), Rule("重庆", "崇庆")]), WORDS) for reading in ("featured", "feet")
    )
    settings = TextSettings(budget=Budget(60, 30))
    for text, same in (("A feat.", False), ("重庆", True), ("defeat", True)):
        assert (before.look(text, settings).lexicon_digest == after.look(text, settings).lexicon_digest) is same


def test_a_reading_may_hold_tags_of_the_engine_only() -> None:
    front_end = FrontEnd(Lexicon([Rule("好", "[h][ǎo]"), Rule("停", "[pause:1]")]), WORDS)
    assert spoken(prepare("你好", front_end=front_end, tags=TAGS)) == ["你[h][ǎo]"]
    for text, tags in (("你好", frozenset[str]()), ("停", TAGS)):
        with pytest.raises(TextFault, match="lexicon reading"):
            prepare(text, front_end=front_end, tags=tags)
        with pytest.raises(TextFault, match="lexicon reading"):
            front_end.look(text, TextSettings(budget=Budget(60, 30), tags=tags))


def test_a_sign_with_a_reading_is_speakable() -> None:
    front_end = FrontEnd(Lexicon([Rule("→", "go to")]), WORDS)
    assert spoken(prepare("→", front_end=front_end)) == ["go to"]


# Length.


def test_what_grows_when_spoken_still_fits() -> None:
    for text in (
        "共￥12,345,678.90元，" * 12,
        "It costs $12,345,678.90, " * 8,
        "号码是" + "1234567890" * 20,
        "1203 " * 40,
    ):
        prepared = prepare(text, budget=Budget(40, 20))
        assert written(prepared) == clean(text)
        assert max(Budget(40, 20).share(said) for said in spoken(prepared)) <= 1


def test_the_cut_rest_of_a_long_number_carries_no_written_text() -> None:
    prepared = prepare("1234567890" * 12, budget=Budget(40, 20))
    assert [bool(segment.written) for segment in prepared.segments] == [True, False, False]
    assert "".join(spoken(prepared)) == "一二三四五六七八九零" * 12


def test_a_dump_of_numbers_is_read_by_plain_rules_and_says_so() -> None:
    prepared = prepare(" ".join(f"{number}" for number in range(1, 20)) + "号", language="zh")
    assert not re.search("[0-9]", "".join(spoken(prepared)))
    assert "plain rules" in prepared.warnings[0]


def test_numbers_and_addresses_are_never_cut() -> None:
    text = "请在2024年12月31日15:30之前拨打400-820-8820或访问www.example.com/help办理业务" * 3
    for chars in range(12, 40, 3):
        joined = "".join(spoken(prepare(text, budget=Budget(chars, chars // 2))))
        assert joined.count("四零零，八二零，八八二零") == 3
        assert joined.count("二零二四年十二月三十一日十五点三十分") == 3


PIECES = st.sampled_from(
    [
        *sorted(
            word_set(
                "0 12 0307 1,000 ￥2000 $5.50 2024-12-31 15:30 GPT-4o a.b.com x@y.com 第 个 元 % ， 。 ！ … ( ) “ ” 「 "
                "」 你好 世界和平 hello world これは ① IV # & + ± = &lt;"
                " [pause:1] <break/> [digits:12] <break\ttime='1s'/> [laughter] <strong>好</strong> <|en|> [1] \u3000 "
                "\u200b 🙂"
            )
        ),
        " ",
        "\n",
        "\n\n",
        "<break time='1s'/>",
    ]
)


@given(
    st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=60)),
    st.sampled_from([None, "zh", "en", "ja", "de"]),
    st.booleans(),
    st.integers(4, 60),
)
@settings(max_examples=500, deadline=None)
def test_nothing_is_lost_or_doubled_and_look_agrees(
    text: str, language: str | None, normalize: bool, chars: int
) -> None:
    wanted = TextSettings(budget=Budget(chars, max(2, chars // 2)), language=language, normalize=normalize, tags=TAGS)
    try:
        facts = FRONT_END.look(text, wanted)
    except TextFault:
        with pytest.raises(TextFault):
            FRONT_END.prepare(text, wanted)
        return
    if not facts.speakable:
        with pytest.raises(TextFault, match="nothing to speak"):
            FRONT_END.prepare(text, wanted)
        return
    prepared = FRONT_END.prepare(text, wanted)
    assert written(prepared) == facts.cleaned == clean(text)
    assert all(re.search(r"[^\W_]", said) for said in spoken(prepared))
    assert prepared.lead_ms + sum(segment.gap.ms or 0 for segment in prepared.segments) == facts.break_ms
    assert prepared.segments[-1].gap.boundary == "end"


@given(
    st.lists(
        st.sampled_from([*sorted(word_set("春眠不觉晓 处处闻啼鸟 ， 。 ！ “ ” hello wide world and more")), "\n", " "]),
        min_size=1,
        max_size=60,
    ).map("".join)
)
@settings(max_examples=150, deadline=None)
def test_text_without_signs_is_spoken_as_it_stands(text: str) -> None:
    def letters(value: str) -> str:
        return re.sub(r"[\W_]", "", value)

    if letters(text):
        assert letters("".join(spoken(prepare(escape(text), budget=Budget(12, 6))))) == letters(text)


@pytest.mark.parametrize(
    "unit",
    [
        "从前有一座山，山里有3个和尚。他说：“你好。”\n",
        "It was the best of 10 times. ",
        "1-",
        "1:",
        "a-",
        "验证码1、",
        "<break time='1ms'/>好",
    ],
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "开始" + unit * (length // len(unit))
        start = time.process_time()
        prepare(text)
        return time.process_time() - start

    seconds(2_000)
    assert seconds(32_000) < 10 * seconds(8_000) + 0.2


def test_a_look_is_fast() -> None:
    text = "您好，欢迎致电客户服务中心，您的订单已于今天下午发货，预计3天内送达，请保持电话畅通，谢谢您的支持。再见"
    wanted = TextSettings(budget=Budget(60, 30))
    FRONT_END.look(text, wanted)
    times = []
    for _ in range(300):
        start = time.perf_counter()
        FRONT_END.look(text, wanted)
        times.append(time.perf_counter() - start)
    # 30 µs on a quiet core; the machine may be shared.
    assert sorted(times)[len(times) // 4] < 300e-6
