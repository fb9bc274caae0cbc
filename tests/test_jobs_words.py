"""Word boundaries: pkuseg with its model, the fallback without, and nothing said on stderr by either."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.pull import pkuseg_state
from jobs.words import BLOCK_CHARS, WordBreaker, align, default_model_folder, open_word_breaker

REPOSITORY = Path(__file__).resolve().parent.parent
HAN = "我们从南京市长江大桥走到图书馆去查古籍善本然后再决定要不要请老馆长帮忙"


@pytest.fixture(scope="module")
def pkuseg() -> WordBreaker:
    breaker = open_word_breaker(default_model_folder())
    if breaker.degraded:
        pytest.fail(f"{breaker.degraded}: these tests need the model: run `cosyvoice-batch models pull pkuseg`")
    return breaker


def words_of(text: str, breaker: WordBreaker) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *breaker.cuts(text), len(text)])]


def test_pkuseg_keeps_the_yangtze_bridge_whole(pkuseg: WordBreaker) -> None:
    assert pkuseg.name.startswith("pkuseg (mixed)")
    words = words_of(HAN, pkuseg)
    assert {"长江", "大桥"} <= set(words) or "长江大桥" in words
    assert "南京市" in words
    assert {"图书馆", "古籍", "然后"} <= set(words)


def test_the_fallback_says_that_it_is_one_and_how_to_get_the_real_thing(tmp_path: Path) -> None:
    for folder in (None, tmp_path, tmp_path / "missing"):
        breaker = open_word_breaker(folder)
        assert breaker.name.startswith("rjieba")
        assert breaker.degraded is not None and "cosyvoice-batch models pull pkuseg" in breaker.degraded
        assert "长江大桥" in words_of(HAN, breaker)


def test_an_incomplete_model_folder_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "weights.npz").write_bytes(b"PK")
    assert "damaged" in (open_word_breaker(tmp_path).degraded or "")


@pytest.mark.parametrize("kind", ["pkuseg", "rjieba"])
def test_offsets_are_ascending_inside_the_text(kind: str, pkuseg: WordBreaker) -> None:
    breaker = pkuseg if kind == "pkuseg" else open_word_breaker(None)
    assert breaker.cuts("") == []
    assert breaker.cuts("字") == []
    for text in (HAN, HAN * 3, "𠮷野家𠮷野家", "一" * 50):
        cuts = breaker.cuts(text)
        assert cuts == sorted(set(cuts))
        assert all(0 < cut < len(text) for cut in cuts)


def test_a_long_run_is_cut_in_blocks_as_if_it_were_one(pkuseg: WordBreaker) -> None:
    """Blocks meet at a word boundary, so the cuts are those of the repeated text but for a few near the seams."""
    text = HAN * (3 * BLOCK_CHARS // len(HAN))
    period = set(pkuseg.cuts(HAN * 3))
    inner = {cut - len(HAN) for cut in period if len(HAN) <= cut < 2 * len(HAN)}
    expected = {start + cut for start in range(0, len(text), len(HAN)) for cut in inner} - {0}
    found = set(pkuseg.cuts(text))
    assert len(found ^ expected) <= 2


@settings(deadline=None, max_examples=100)
@given(words=st.lists(st.text(alphabet="甲乙丙", min_size=1, max_size=3), max_size=12), data=st.data())
def test_words_are_found_again_where_white_space_was_dropped(words: list[str], data: st.DataObject) -> None:
    text, starts = "", []
    for word in words:
        text += data.draw(st.sampled_from(["", " ", "\u3000 "]))
        starts.append(len(text))
        text += word
    assert align(text, words) == [start for start in starts if start > 0]


def test_a_word_that_is_not_in_the_text_is_a_fault() -> None:
    with pytest.raises(ValueError, match="not in the rest"):
        align("甲乙", ["乙", "甲"])


def test_the_environment_variable_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COSYVOICE_BATCH_PKUSEG", str(tmp_path / "elsewhere"))
    assert default_model_folder() == tmp_path / "elsewhere"
    monkeypatch.delenv("COSYVOICE_BATCH_PKUSEG")
    assert default_model_folder().name == "pkuseg"
    assert default_model_folder().is_absolute()


LOAD_SCRIPT = """
import sys
from jobs.words import default_model_folder, open_word_breaker
breaker = open_word_breaker(default_model_folder())
heavy = {"numpy", "spacy_pkuseg", "srsly", "rjieba"} & set(sys.modules)
assert not heavy, f"opening loaded {heavy}"
print(len(breaker.cuts("南京市长江大桥")), breaker.degraded)
"""


def test_loading_is_lazy_and_silent_and_reads_no_network_and_no_pickled_model(pkuseg: WordBreaker) -> None:
    environment = dict(
        os.environ, PYTHONPATH=str(REPOSITORY), https_proxy="http://127.0.0.1:1", PYTHONWARNINGS="default"
    )
    done = subprocess.run([sys.executable, "-c", LOAD_SCRIPT], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("None")
    assert not list(default_model_folder().glob("*.pkl"))


def test_the_state_names_sizes_and_hashes(pkuseg: WordBreaker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    state = pkuseg_state(default_model_folder(), check_hashes=True)
    assert state.state == "present"
    assert state.sha256["weights.npz"].startswith("95d1632a")
    assert state.sizes_bytes["features.msgpack"] > 60_000_000
