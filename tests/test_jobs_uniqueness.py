"""Names that were seen before are found, across batches, whatever their length."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.uniqueness import Seen


def test_the_first_line_is_named_within_and_across_batches() -> None:
    with Seen() as seen:
        assert seen.add([("a", 1), ("b", 2), ("a", 3)]) == {("a", 3): 1}
        assert seen.add([("c", 4), ("b", 5), ("c", 6)]) == {("b", 5): 2, ("c", 6): 4}
        assert seen.add([]) == {}


def test_long_names_are_told_apart_by_their_ends() -> None:
    with Seen() as seen:
        assert seen.add([("x" * 200 + "1", 1), ("x" * 200 + "2", 2)]) == {}
        assert seen.add([("x" * 200 + "1", 3)]) == {("x" * 200 + "1", 3): 1}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=20), max_size=5))
def test_it_finds_what_a_dictionary_finds(batches: list[list[str]]) -> None:
    first: dict[str, int] = {}
    line = 0
    with Seen() as seen:
        for batch in batches:
            names = [(name, line + index) for index, name in enumerate(batch)]
            line += len(batch)
            expected = {}
            for name, at in names:
                if first.setdefault(name, at) != at:
                    expected[name, at] = first[name]
            assert seen.add(names) == expected
