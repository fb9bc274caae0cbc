"""Pieces: nothing lost, nothing over budget, no cut where a voice would stumble, time linear in the text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.measure import NEVER_FIRST, within_grapheme
from jobs.segment import Budget, Piece, split
from jobs.words import WordBreaker, default_model_folder, open_word_breaker

BUDGET = Budget(cjk_chars=60, words=30)
UNPUNCTUATED = (
    "我去查一查什么地方然后再决定是不是应该请那位已经退休在家的老馆长帮我们把所有从南京市长江大桥桥头堡图书馆借来的古籍善本"
    "一本一本地搬到新馆里去并且按照年代顺序重新编号登记造册以便将来的研究人员能够很方便地找到他们需要的资料而不必像我们现在这样"
    "一个柜子一个柜子地翻找"
)


@pytest.fixture(scope="module")
def rjieba() -> WordBreaker:
    return open_word_breaker(None)


@pytest.fixture(scope="module")
def pkuseg() -> WordBreaker:
    breaker = open_word_breaker(default_model_folder())
    if breaker.degraded:
        pytest.fail(f"{breaker.degraded}: these tests need the model: run `cosyvoice-batch models pull pkuseg`")
    return breaker


def pieces_of(text: str, words: WordBreaker, budget: Budget = BUDGET, language: str | None = None) -> list[str]:
    return [text[piece.start : piece.end] for piece in split(text, [], budget, words, language)]


def assert_covers(text: str, pieces: list[Piece]) -> None:
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    assert all(piece.end > piece.start for piece in pieces)
    assert [piece.start for piece in pieces] == [0, *(piece.end for piece in pieces[:-1])][: len(pieces)]


# Texts in which everything difficult is frequent.
TOKENS = [
    *"。！？!?…，；：、,;:.“”‘’「」（）()《》\"'—-～ \u3000\n\r\u200d\ufe0f\u0301",
    *"😀👩🏽🇩🇪가각ᄀ\u1161クーンはがをのひら漢字一二三的了南京市9é",
    *("Mr. ", "e.g. ", "3.14", "1,000", "100元", "5 km", "https://example.com/a?b=1", "[laughter]", "<strong>"),
    *("</strong>", "南京市长江大桥", "他说：“", "。”她问道。", "the quick brown ", "internationalisation", "ภาษาไทย"),
    *("\r\n", "……", "——"),
]
hard_texts = st.lists(st.sampled_from(TOKENS), max_size=80).map("".join)
budgets = st.builds(Budget, cjk_chars=st.integers(8, 70), words=st.integers(4, 35))
any_budgets = st.builds(Budget, cjk_chars=st.integers(1, 70), words=st.integers(1, 35))


@st.composite
def protected_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(hard_texts)
    limits = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(limits, limits).map(lambda span: (min(span), max(span))), max_size=6))
    return text, spans


@settings(deadline=None, max_examples=150)
@given(text=st.text(max_size=200), budget=any_budgets)
def test_any_text_is_covered_exactly(text: str, budget: Budget) -> None:
    pieces = split(text, [], budget, open_word_breaker(None))
    assert_covers(text, pieces)
    assert not text or pieces[-1].boundary == "end"


@settings(deadline=None, max_examples=200)
@given(given_text=protected_texts(), budget=any_budgets)
def test_no_cut_falls_inside_a_protected_span(given_text: tuple[str, list[tuple[int, int]]], budget: Budget) -> None:
    text, spans = given_text
    pieces = split(text, spans, budget, open_word_breaker(None))
    assert_covers(text, pieces)
    for piece in pieces[1:]:
        assert not any(start < piece.start < end for start, end in spans)


@settings(deadline=None, max_examples=300)
@given(text=hard_texts, budget=budgets)
def test_cuts_stay_out_of_graphemes_numbers_and_closing_marks(text: str, budget: Budget) -> None:
    for piece in split(text, [], budget, open_word_breaker(None))[1:]:
        before, after = text[piece.start - 1], text[piece.start]
        assert not within_grapheme(text, piece.start)
        assert not after.isspace()
        assert after not in "”」』）】》)]}"
        if before.isdecimal() and after.isdecimal():
            # A number with its points and commas (`3.143.141,000`) is cut only where it alone is over the budget.
            run = re.findall(r"[\d.,]+$", text[: piece.start])[0] + re.findall(r"^[\d.,]+", text[piece.start :])[0]
            assert sum(char.isdecimal() for char in run) > budget.cjk_chars


@settings(deadline=None, max_examples=300)
@given(text=hard_texts, budget=budgets)
def test_pieces_stay_within_the_budget_unless_they_cannot_be_cut(text: str, budget: Budget) -> None:
    for piece in split(text, [], budget, open_word_breaker(None)):
        written = text[piece.start : piece.end]
        if not budget.holds(budget.share(written)):
            for position in filter(lambda position: may_start(written, position), range(1, len(written))):
                halves = written[:position], written[position:]
                assert not all(map(budget.share, halves)), f"could have been cut into {halves}"


def may_start(text: str, position: int) -> bool:
    after = text[position]
    return (
        not within_grapheme(text, position)
        and not after.isspace()
        and after not in NEVER_FIRST
        and after != "’"
        and text[position - 1] not in "“‘「（《([{<"
        and not re.search(r"[\w.,:/@?=&%<>\[\]\s-]", text[position - 1] + after)
    )


@settings(deadline=None, max_examples=150)
@given(
    sentences=st.lists(
        st.text(alphabet="春眠不觉晓处闻啼鸟夜来风雨声花落知多少", min_size=1, max_size=90).map(
            lambda said: said + "。"
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_piece_of_one_or_two_characters_stays_in_a_longer_paragraph(sentences: list[str]) -> None:
    text = "".join(sentences)
    pieces = pieces_of(text, open_word_breaker(None))
    assert len(pieces) == 1 or min(len(piece.rstrip("。")) for piece in pieces) > 2


def test_white_space_belongs_to_the_piece_before_it(rjieba: WordBreaker) -> None:
    text = "  第一段。\n\n　　第二段。 \n"
    assert pieces_of(text, rjieba) == ["  第一段。\n\n　　", "第二段。 \n"]


@pytest.mark.parametrize(
    ("text", "boundaries"),
    [
        ("", []),
        ("  \n", ["end"]),
        ("一行\n又一行", ["paragraph", "end"]),
        ("一行\r\n\r\n又一行\n", ["paragraph", "end"]),
        ("甲" * 40 + "。" + "乙" * 40 + "。\n丙", ["sentence", "paragraph", "end"]),
        ("甲" * 40 + "，" + "乙" * 40 + "。", ["clause", "end"]),
        ("“" + "甲" * 40 + "。" + "乙" * 40 + "。”", ["sentence", "end"]),
    ],
)
def test_boundaries_say_what_kind_of_pause_follows(text: str, boundaries: list[str], rjieba: WordBreaker) -> None:
    assert [piece.boundary for piece in split(text, [], BUDGET, rjieba)] == boundaries


@pytest.mark.parametrize(
    "marked",
    [
        # Each long enough alone: one piece a sentence.
        "清晨的阳光照进了这间安静的小屋，窗台上落着几只麻雀。|他推开门看见院子里的桂花一夜之间全都开了，满地金黄。",
        # Short ones are joined, also with what they answer to.
        "你好。请坐。喝茶吗？",
        "“你去哪儿？”她问道。“上山。”他说。",
        # A short tail goes to the sentence before it.
        "清晨的阳光照进了这间安静的小屋，窗台上落着几只麻雀。嗯。",
        # A paragraph of its own stays short: headings.
        "第一章\n|清晨的阳光照进了这间安静的小屋。",
        "Chapter 1\n\n|It was a bright cold day in April.",
        # Over budget: clauses, evenly, never a tiny rest.
        "从前有一座很高很高的山，山上有一座很旧很旧的庙，庙里住着一位很老很老的和尚，|和尚每天清早都要走很远的路下山挑水，"
        "挑满了水缸才开始念经，念完经天就黑了。",
        # A clause that fits is not broken at a word, even where that would be more even.
        "他在那张旧书桌前坐了整整一个下午把所有的信一封一封地重新读过然后放回了那只已经褪色的木头匣子，|直到天黑了才慢慢地起身去点灯烧水煮饭。",
    ],
)
def test_chinese_prose_is_cut_as_a_producer_would(marked: str, pkuseg: WordBreaker) -> None:
    text = marked.replace("|", "")
    assert "|".join(pieces_of(text, pkuseg)) == marked


@pytest.mark.parametrize(
    "marked",
    [
        "When the rain finally stopped after three long days, the people of the village came out of their houses, |"
        "looked at the river that had swallowed the road, and went back in without a word.",
        "It was a very long sentence that went on without any punctuation at all |"
        "because the author had decided that commas were a waste of good ink and of the reader's time.",
    ],
)
def test_english_prose_is_cut_as_a_producer_would(marked: str, rjieba: WordBreaker) -> None:
    text = marked.replace("|", "")
    assert "|".join(pieces_of(text, rjieba, Budget(cjk_chars=60, words=22))) == marked


def test_an_unpunctuated_clause_is_cut_between_words_by_the_model(pkuseg: WordBreaker) -> None:
    assert len(UNPUNCTUATED) >= 131
    pieces = pieces_of(UNPUNCTUATED, pkuseg)
    assert all(len(piece) <= 60 for piece in pieces)
    assert len(pieces) == 3
    for whole in ("南京市", "长江大桥", "图书馆", "馆长", "古籍", "善本", "研究人员", "编号"):
        assert sum(whole in piece for piece in pieces) == 1, f"{whole} was cut: {pieces}"
    small = pieces_of(UNPUNCTUATED, pkuseg, Budget(cjk_chars=20, words=10))
    assert all(len(piece) <= 20 for piece in small)
    for whole in ("南京市", "长江大桥", "图书馆", "古籍", "善本"):
        assert sum(whole in piece for piece in small) == 1, f"{whole} was cut: {small}"


def test_without_the_model_the_fallback_cuts_between_words_too(rjieba: WordBreaker) -> None:
    pieces = pieces_of(UNPUNCTUATED, rjieba)
    assert all(len(piece) <= 60 for piece in pieces)
    assert sum("长江大桥" in piece for piece in pieces) == 1


def test_japanese_without_any_comma_is_split_at_its_full_stops(rjieba: WordBreaker) -> None:
    sentence = "きのうの夜はずっと雨がふっていたので私たちは家の中で静かに本を読んでいました。"
    text = sentence * 24
    assert len(text) > 900
    pieces = pieces_of(text, rjieba, language="ja")
    assert all(BUDGET.holds(BUDGET.share(piece)) and piece.endswith("。") for piece in pieces)
    assert {piece.boundary for piece in split(text, [], BUDGET, rjieba, "ja")} == {"sentence", "end"}


def test_long_japanese_is_cut_behind_particles_and_never_inside_katakana(rjieba: WordBreaker) -> None:
    text = (
        "東京の大きなコンピューターセンターで働いている山田さんは毎朝とても早い電車に乗って三つの川を渡りながら"
        "インターナショナルコミュニケーションという分厚い教科書をゆっくりと最後まで読んでから会社に向かうことにしている。"
    )
    pieces = pieces_of(text, rjieba, Budget(cjk_chars=40, words=20), "ja")
    assert 3 <= len(pieces) <= 4
    for whole in ("コンピューターセンター", "インターナショナルコミュニケーション", "教科書", "電車"):
        assert sum(whole in piece for piece in pieces) == 1, f"{whole} was cut: {pieces}"


@pytest.mark.parametrize(
    ("whole", "text"),
    [
        ("3公斤", "我在菜市场的最后一个摊位上买了那种个头特别大的红苹果3公斤又在旁边的铺子里买了两斤花生"),
        (
            "1,234,567.89元",
            "这家公司今年第一季度在全国各地的门店里卖出去的货物总共收入了1,234,567.89元比去年同期多出了不少",
        ),
        (
            "5 km",
            "From the old mill by the river it is about 5 km to the village and another hour to the pass above it",
        ),
        (
            "[laughter]",
            "他站在讲台上说着说着忽然自己先忍不住[laughter]台下的人看见他这个样子也都跟着大声笑了起来没有一个人例外",
        ),
        (
            "No. 10",
            "The answer that the ministry gave to No. 10 on the next day was longer than any letter it had sent before",
        ),
        (
            "三千五百二十一公里",
            "他们骑着两辆旧自行车从家乡一直走到海边一共走了三千五百二十一公里路上换了六条轮胎三副链条",
        ),
        (
            "http://example.com/a,b;c",
            "请大家在今天晚上十点以前登录网址http://example.com/a,b;c按照上面的说明把表格填好再交给自己的班长",
        ),
    ],
)
@pytest.mark.parametrize("limit", range(12, 40, 3))
def test_numbers_units_and_tags_stay_whole(whole: str, text: str, limit: int, pkuseg: WordBreaker) -> None:
    pieces = pieces_of(text, pkuseg, Budget(cjk_chars=max(limit, 14), words=max(6, limit // 3)))
    assert len(pieces) > 1
    assert sum(whole in piece for piece in pieces) == 1, pieces


def test_five_hundred_letters_without_a_space_are_cut_at_last(rjieba: WordBreaker) -> None:
    pieces = pieces_of("x" * 500, rjieba)
    assert [len(piece) for piece in pieces] == [250, 250]
    marked = pieces_of("e\u0301" * 500, rjieba)
    assert len(marked) > 1
    assert all(piece.startswith("e") and piece.endswith("\u0301") for piece in marked)


def test_a_protected_span_over_the_budget_is_left_whole(rjieba: WordBreaker) -> None:
    text = "看这里：" + "甲" * 100 + "。"
    pieces = split(text, [(4, 104)], BUDGET, rjieba)
    assert any(piece.start <= 4 and piece.end >= 104 for piece in pieces)


def test_a_scene_break_is_a_piece_with_nothing_to_speak(rjieba: WordBreaker) -> None:
    text = "他走了。\n\n* * *\n\n第二天，他又来了。"
    pieces = pieces_of(text, rjieba)
    assert pieces == ["他走了。\n\n", "* * *\n\n", "第二天，他又来了。"]
    assert BUDGET.share(pieces[1]) == 0.0


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="budget"):
        Budget(cjk_chars=0, words=10)


NASTY: dict[str, Callable[[int], str]] = {
    "no punctuation": lambda n: (UNPUNCTUATED * (n // len(UNPUNCTUATED) + 1))[:n],
    "no spaces": lambda n: "abcdefghij" * (n // 10),
    "no Latin punctuation": lambda n: "the quick brown fox jumps over " * (n // 31),
    "opening quotes": lambda n: "“" * n,
    "opening quotes and text": lambda n: "“你好。" * (n // 4),
    "nested brackets": lambda n: "（你好。" * (n // 8) + "）好。" * (n // 8),
    "crossed brackets": lambda n: "“（" * (n // 4) + "”）" * (n // 4),
    "straight quotes": lambda n: '"a. ' * (n // 4),
    "dots": lambda n: "." * n,
    "spaced dots": lambda n: ". " * (n // 2),
    "newlines": lambda n: "\n" * n,
    "one-letter lines": lambda n: "a\n" * (n // 2),
    "one-letter clauses": lambda n: "你，" * (n // 2),
    "initials": lambda n: "A. " * (n // 3),
    "digits": lambda n: "1234567890" * (n // 10),
    "grouped digits": lambda n: "1," * (n // 2),
    "numerals": lambda n: "一" * n,
    "katakana": lambda n: "カタカナ" * (n // 4),
    "hiragana": lambda n: "ひらがなをかいた" * (n // 8),
    "Thai": lambda n: "ภาษาไทยไม่มีช่องว่าง" * (n // 20),
    "combining marks": lambda n: "a" + "\u0301" * n,
    "emoji": lambda n: "😀" * n,
    "flags": lambda n: "\U0001f1e9" * n,
    "open tags": lambda n: "<a" * (n // 2),
    "open square tags": lambda n: "[laughter" * (n // 9),
    "almost an e-mail address": lambda n: "a" * n + "@",
}


@pytest.mark.parametrize("kind", NASTY)
def test_time_is_linear_in_the_text(kind: str, rjieba: WordBreaker) -> None:
    """Four times the text in about four times the time: sixteen would be quadratic. Best of three against noise."""
    small, large = (best_seconds(NASTY[kind](size), rjieba) for size in (6_000, 24_000))
    assert large < 9 * max(small, 0.003), f"{small:.3f} s for 6,000 characters, {large:.3f} s for 24,000"


def best_seconds(text: str, words: WordBreaker) -> float:
    taken: list[float] = []
    for _ in range(3):
        start = time.process_time()
        split(text, [], BUDGET, words)
        taken.append(time.process_time() - start)
    return min(taken)


def novel(sentences: int) -> Iterator[str]:
    for number in range(sentences):
        yield (
            "“你去哪儿？”她问道。",
            "清晨的阳光照进了这间安静的小屋，窗台上落着几只麻雀。",
            "他没有回答……只是看着远处的山。\n",
        )[number % 3]


def test_a_novel_is_linear_too(rjieba: WordBreaker) -> None:
    small, large = (best_seconds("".join(novel(count)), rjieba) for count in (500, 2_000))
    assert large < 8 * small
