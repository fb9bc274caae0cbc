"""Clips for the measurements of the checks: phone prompts, traps for them, and book sentences, by the embedded voice.

    python benchmarks/quality_clips.py FOLDER

Writes 24 kHz float32 files and `index.jsonl`; what is there is not made again. 213 clips, 13 minutes of audio, and for
`quality_joins.py` each segment of the example book in both voices of its language. About 20 minutes on one core.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cosyvoice.catalog import KOKORO, load  # noqa: E402
from cosyvoice.engine import Utterance, Voice  # noqa: E402
from jobs.segment import Budget  # noqa: E402
from jobs.text import FrontEnd, TextSettings  # noqa: E402
from jobs.words import open_word_breaker  # noqa: E402

RATE_HZ = 24_000
SPEAKERS = {"zh": ("zf_xiaoxiao", "zm_yunxi"), "en": ("af_heart", "am_michael")}
SPEEDS = (1.0, 1.0, 1.0, 0.8, 1.25, 1.5)
BOOK_SENTENCES = 75
SHORTEST_AGAIN = slice(8, 62)
"""Short clips are the hardest to judge: these are made once more, in the other voice and at another speed."""

CHINESE = """好的。|是。|您好！|请稍候。|谢谢，再见。|请按一。|不，不，不。|哈哈哈哈。|零零零零。|
您的验证码是八八八八八八。|一二三四五六七八九十。|一只猫要喂，两只猫要喂，三只猫就不用喂了，要养。|快跑，快跑！|他走啊走，走啊走，走了一整天。|
您好，欢迎致电阳光银行客户服务中心。|中文服务请按一，英文服务请按二。|
查询余额请按一，转账汇款请按二，信用卡业务请按三，人工服务请按零。|您的取件码是零三零七，请在今天领取。|
套餐有三百元和两千元两档。|对不起，您的输入有误，请重新输入。|会议改到下午四点。|第十二章，风雪山神庙。|
慢慢地，慢慢地，天黑了下来。|一个，两个，三个，四个，五个。|请输入您的银行卡号，以井号键结束。|系统正忙，请您稍后再拨。|
您的航班因天气原因延误，预计起飞时间为下午三点二十分。|电话号码是一三八零零一三八零零零。|好好学习，天天向上。|
高高兴兴上学去，平平安安回家来。"""
ENGLISH = """Yes.|No.|Hello!|Please hold.|Goodbye.|Press one.|No, no, no.|Ha ha ha.|Zero zero zero zero.|
Your code is eight eight eight eight.|One, two, three, four, five, six, seven, eight, nine, ten.|
One cat to feed, two cats to feed, three cats need no feeding.|Run, run, run!|
He walked and walked and walked all day long.|
Thank you for calling Sunshine Bank.|For service in English, press one. For Chinese, press two.|
To hear your balance, press one; to transfer money, press two; for all other questions, press zero.|
Your pickup code is zero three zero seven.|Plans start at three hundred dollars.|
Sorry, that is not a valid choice. Please try again.|The meeting is moved to four o'clock in the afternoon.|
Chapter twelve. The storm.|Slowly, slowly, it grew dark.|A rose is a rose is a rose.|
Please enter your card number, followed by the pound key.|All our agents are busy. Please call again later.|
Your flight is delayed by weather. It now leaves at twenty past three.|
The number is five five five, zero one, zero one.|
Tomorrow, and tomorrow, and tomorrow, creeps in this petty pace from day to day.|Knock knock. Who is there?"""


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip of the index."""

    name: str
    language: str
    text: str
    speaker: str
    speed: float
    place: int = -1
    """Number of its segment in the book; -1 for those that are no part of a book."""

    def samples(self, folder: Path) -> NDArray[np.float32]:
        """Mono [N] at 24 kHz."""
        return np.fromfile(folder / f"{self.name}.f32", "<f4")


def read_clips(folder: Path) -> list[Clip]:
    """All clips of a folder, in the order in which they were made."""
    lines = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [Clip(**json.loads(line)) for line in lines]


def wanted() -> Iterator[Clip]:
    """The single clips, short ones twice, then the book."""
    texts = [("zh", text) for text in CHINESE.replace("\n", "").split("|")]
    texts += [("en", text) for text in ENGLISH.replace("\n", "").split("|")]
    sentences = list(_book_sentences())
    random.Random(1).shuffle(sentences)
    for language in SPEAKERS:
        texts += [(lang, text) for lang, text in sentences if lang == language][:BOOK_SENTENCES]
    with (ROOT / "examples" / "ivr.csv").open(encoding="utf-8-sig") as file:
        texts += [(row["language"], row["text"]) for row in csv.DictReader(file) if not re.search(r"\d", row["text"])]
    clips = [
        Clip(str(number), language, text, SPEAKERS[language][number // 2 % 2], SPEEDS[number % len(SPEEDS)])
        for number, (language, text) in enumerate(texts)
    ]
    yield from clips
    for clip in sorted(clips, key=lambda clip: len(clip.text))[SHORTEST_AGAIN]:
        ours = SPEAKERS[clip.language]
        other = ours[1 - ours.index(clip.speaker)]
        yield Clip(
            f"{clip.name}b", clip.language, clip.text, other, {0.8: 1.0, 1.0: 1.25, 1.25: 0.8}.get(clip.speed, 1.0)
        )
    yield from _book()


def _book_rows() -> list[dict[str, str]]:
    return [json.loads(line) for line in (ROOT / "examples" / "book.jsonl").read_text(encoding="utf-8").splitlines()]


def _book_sentences() -> Iterator[tuple[str, str]]:
    for row in _book_rows():
        for sentence in re.findall(r'[^。！？.!?\n]+[。！？.!?”"]+', row["text"]):
            if 2 < len(sentence.strip()) < (70 if row["language"] == "zh" else 220):
                yield row["language"], sentence.strip()


def _book() -> Iterator[Clip]:
    """The example book as a run cuts it, and cut at every sentence; each with both voices of its language."""
    front_end = FrontEnd(None, open_word_breaker(None))
    for cut, budget in (("run", Budget(KOKORO.max_cjk_chars, KOKORO.max_words)), ("short", Budget(24, 12))):
        for row in _book_rows():
            settings = TextSettings(language=row["language"], budget=budget)
            for place, segment in enumerate(front_end.prepare(row["text"], settings).segments):
                for speaker in SPEAKERS[row["language"]]:
                    name = f"{cut}-{row['id']}-{speaker}-{place}"
                    yield Clip(name, segment.language, segment.spoken, speaker, 1.0, place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    engine = load(KOKORO, model_folder=None, device="cpu", precision="auto", threads=1)
    index = folder / "index.jsonl"
    made = {clip.name for clip in read_clips(folder)} if index.exists() else set()
    with index.open("a", encoding="utf-8") as file:
        for clip in wanted():
            if clip.name in made:
                continue
            voice = Voice(clip.speaker, clip.speaker, speaker=clip.speaker)
            utterance = Utterance(clip.name, clip.text, voice, language=clip.language, speed=clip.speed)
            (speech,) = engine.speak([utterance])
            if speech.error is None:
                speech.samples.astype("<f4").tofile(folder / f"{clip.name}.f32")
                file.write(json.dumps(asdict(clip), ensure_ascii=False) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
