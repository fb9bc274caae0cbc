"""Where sentences end: a gold table, written by hand. `|` marks the expected ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from jobs.measure import Budget, Guard
from jobs.sentences import brackets, stops

BUDGET = Budget(cjk_chars=60, words=30)

CHINESE = [
    "今天天气很好。|我们去公园吧！|你来吗？",
    "“你去哪儿？”她问道。|没有人回答。",
    "“你去哪儿？”她抬起头来，轻声问道。|我没有说话。",
    "“走吧。”老王笑着说。|大家都站了起来。",
    "“好。”他答应了一声，“我这就去。”|说完他出了门。",
    "“我们知道了。”|门外的人又敲了三下。",
    "他说：“你好。我是小李。”|屋里安静下来。",
    "“走！”|“去哪里？”|“上山。”",
    "「你要去哪裡？」她問道。|「回家。」",
    "『真的嗎？』|天色暗了。",
    "你说什么？！|我没听清……",
    "我不知道……也许吧。|算了。",
    "（他当时不在。）|这是后来才知道的。",
    "《你好，李焕英！》是一部电影。|很好看。",
    "他看完《为什么？》这本书就睡了。|第二天又看了一遍。",
    "圆周率是3.14159。|记住它。",
    "版本v2.10.3已经发布。|请尽快更新。",
    "请访问https://example.com/a?b=1&c=2。|谢谢！",
    "邮箱是foo.bar@example.com。|请写信。",
    "第1.2节讲的是数学。|第1.3节讲的是物理。",
    "1.打开电源。|2.按下开关。",
    "1. 打开电源。|2. 按下开关。",
    "我用Node.js写程序。|他用Python。",
    "你好.|我来了.|你走吧.",
    "真的?|Yes!|太好了!",
    "他喊「救命！」的时候，没有人听见。|风太大了。",
    "“去哪儿？”，他问。|“回家。”",
    "他愣住了——“是你！”——然后笑了。|大家都笑了。",
    "啊！！！|真疼。。。|没事。",
    "他是U.S.公民。|住在北京。",
    "“第一句。第二句。第三句。”他一口气说完。|没人听懂。",
    "他问：“为什么？”|我想了想，没有回答。",
    "好呀！～|走吧。",
    '他说:"今天不去了。"|然后挂了电话。',
    '"你来吗?"他问。|"来。"',
    "“难道是他？”她想。|门开了。",
    "“走吧。”|他想了想，又坐下了。",
    "“这……这是怎么回事？”他结结巴巴地问。|谁也不知道。",
    "（一）总则。|（二）分则。",
]

ENGLISH = [
    "Hello there. |How are you? |Fine!",
    "Mr. Smith met Dr. Jones at St. Mary's. |They talked.",
    "J. R. R. Tolkien wrote it. |He was English.",
    "The U.S. Government said so. |It was 1990.",
    "He moved to the U.S. |He never came back.",
    "It starts at 5 p.m. |The doors open at four.",
    "It starts at 5 p.m. on Monday. |Be there.",
    "It costs 3.14 dollars. |Version 2.10.3 is out.",
    "1. First item. |2. Second item.",
    "a. First item. |b. Second item.",
    "Visit https://example.com/a?b=1. |Then log in.",
    "Write to foo.bar@example.com. |We answer.",
    "“Where are you going?” she asked. |Nobody knew.",
    "“Where are you going?” Tom asked. |Nobody knew.",
    '"Stop!" he cried. |"I will not."',
    "'Stop!' he cried. |'I will not.'",
    "“Stop.” |The door closed.",
    "Wait… what? |I thought… maybe not.",
    "I don't know... |Perhaps.",
    "I don't know... perhaps not. |Well.",
    "He left (I did not see it!) and came back. |She stayed.",
    "(He left.) |She stayed.",
    "See e.g. Figure 3, i.e. the map, vs. Fig. 4. |It is clear.",
    "Bring pens, paper, etc. |The test is long.",
    "No. 5 is alive. |I said no. |Then I left.",
    "We chose plan B. |Then it rained.",
    "Acme Inc. was founded in 1990. |The owner, Bob Jr., left.",
    "Smith et al. found it. |Others did not.",
    "What?! |No way!! |Yes.",
    "He said, “I am tired. I want to sleep.” |Then he slept.",
    "The file is config.yaml. |Open it.",
    "‘It’s late,’ he said. |‘Don’t go.’",
    "She has a Ph.D. in physics. |He has none.",
    "He was born on Jan. 5 in St. Louis. |His mother was a nurse.",
    "Yahoo! is a company. |So is Google.",
    "Really . . . |I see.",
]

JAPANESE = [
    "これはテストです。|つぎのぶんです。",
    "「どこへ行くの？」と彼女は聞いた。|誰も答えなかった。",
    "「行こう。」|そう決めた。",
    "「本当ですか！」彼は叫んだ。|静かだった。",
    "彼は『こころ。』を読んだ。|面白かった。",
    "え？！|まさか。",
    "（笑い声がした。）|私は振り返った。",
    "円周率は3.14です。|覚えてください。",
    "えっ……そうなの。|知らなかった。",
]

KOREAN = [
    "안녕하세요. |반갑습니다!",
    "“어디 가니?”라고 그녀가 물었다. |아무도 대답하지 않았다.",
    '"가자." 그가 말했다. |우리는 떠났다.',
    "가격은 3.5유로입니다. |비쌉니다.",
    "정말요? |네.",
]


def sentence_ends(text: str) -> list[int]:
    pairs = brackets(text, 0, len(text), BUDGET)
    return [stop.position for stop in stops(text, 0, len(text), pairs, Guard([])) if stop.kind == "end"]


@pytest.mark.parametrize("marked", CHINESE + ENGLISH + JAPANESE + KOREAN)
def test_sentences_end_where_a_reader_would_end_them(marked: str) -> None:
    text = marked.replace("|", "")
    ends = sentence_ends(text)
    found = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert "|".join(found) == marked


def test_an_unbalanced_quote_does_not_swallow_what_follows() -> None:
    text = "“他走了。" + "没有人说话。" * 200
    assert len(sentence_ends(text)) == 200


def test_a_forgotten_straight_quote_costs_at_most_one_budget_of_sentences() -> None:
    text = '"他走了。' + '没有人说话，灯也灭了。"好。"' * 100
    lengths = [there - here for here, there in pairwise([0, *sentence_ends(text)])]
    assert len(lengths) >= 90
    assert max(lengths) < 3 * BUDGET.cjk_chars


def test_sentences_inside_a_quotation_over_budget_are_ends_of_their_own() -> None:
    quotation = "“" + "这是很长的一段话里的一句。" * 8 + "”他说完了。"
    assert len(sentence_ends(quotation)) >= 7


def test_a_protected_span_hides_its_marks() -> None:
    text = "请看图。甲。乙。"
    hidden = Guard([(2, 6)])
    found = stops(text, 0, len(text), brackets(text, 0, len(text), BUDGET), hidden)
    assert [stop.position for stop in found] == [6]
