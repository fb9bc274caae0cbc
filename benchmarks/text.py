"""How fast the text front end is: characters per second of the fast look, of normalising, and of the whole way to
segments, in Chinese and English; and a novel of 2 MB against a quarter of it, to show that time is linear.

    python benchmarks/text.py [--repeat 5]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jobs.segment import Budget
from jobs.text import FrontEnd, TextSettings
from jobs.words import default_model_folder, open_word_breaker

PLAIN_ZH = "从前有一座山，山里有一座庙，庙里有个老和尚在给小和尚讲故事。他说：“明天一早，我们下山去。”小和尚点点头。"
PLAIN_EN = "It was a bright cold day in April, and the old clock in the square was striking again. Nobody looked up. "
NUMBERS_ZH = "您的订单{n}共3件商品，合计￥1,299.50元，请于2024年10月1日15:30前领取，咨询400-820-8820。"
NUMBERS_EN = (
    "Your order number {n} of 3 items comes to $1,299.50; "
    "pick it up by 3:30 pm on May 12, 2024 or call 1-800-555-0199. "
)


SETTINGS = TextSettings(budget=Budget(60, 30))


def each(act: Callable[[str, TextSettings], object], rows: list[str]) -> None:
    for row in rows:
        act(row, SETTINGS)


def best_seconds(work: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def rates(repeat: int) -> dict[str, float]:
    """Characters per second over 300 rows that all differ, so that no cache helps."""
    found: dict[str, float] = {}
    for name, row in (
        ("zh plain", PLAIN_ZH),
        ("en plain", PLAIN_EN),
        ("zh numbers", NUMBERS_ZH),
        ("en numbers", NUMBERS_EN),
    ):
        rows = [row.format(n=10_000 + number) if "{n}" in row else f"{row}{row}" for number in range(300)]
        characters = sum(map(len, rows))
        front_end = FrontEnd(None, open_word_breaker(default_model_folder()))
        front_end.prepare(rows[0], SETTINGS)
        look = best_seconds(partial(each, front_end.look, rows), repeat)
        whole = best_seconds(partial(each, front_end.prepare, rows), repeat)
        found[f"{name}: look, µs a row"] = round(look / len(rows) * 1e6, 1)
        found[f"{name}: look, characters/s"] = round(characters / look)
        found[f"{name}: prepare, µs a row"] = round(whole / len(rows) * 1e6, 1)
        found[f"{name}: prepare, characters/s"] = round(characters / whole)
    return found


def novel(characters: int) -> str:
    paragraph = PLAIN_ZH + "那年他3岁，家里有2头牛。" + PLAIN_EN + "\n"
    return paragraph * (characters // len(paragraph))


def linearity(repeat: int) -> dict[str, float]:
    """A novel of 2 MB (UTF-8) and a quarter of it: the ratio of times is 4 where time is linear."""
    front_end = FrontEnd(None, open_word_breaker(default_model_folder()))
    small, large = novel(265_000), novel(1_060_000)
    front_end.prepare(small[:2_000], SETTINGS)
    quarter = best_seconds(lambda: front_end.prepare(small, SETTINGS), repeat)
    whole = best_seconds(lambda: front_end.prepare(large, SETTINGS), repeat)
    return {
        "novel: bytes": len(large.encode()),
        "novel: characters": len(large),
        "novel: prepare, s": round(whole, 2),
        "novel: characters/s": round(len(large) / whole),
        "novel: time ratio for 4 times the text": round(whole / quarter, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="take the best of this many")
    arguments = parser.parse_args()
    json.dump(
        rates(arguments.repeat) | linearity(max(1, arguments.repeat // 2)), sys.stdout, ensure_ascii=False, indent=2
    )
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
