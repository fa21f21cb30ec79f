"""What plain Python does in place of functions of the library gives the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from augury.kernels.common.arranging import spell_plainly, split_plainly
from augury.native.buffer import split
from augury.native.ordering import spell

VARIABLES = 3
MATCHES = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, VARIABLES - 1)), min_size=1, max_size=5))


@given(MATCHES, st.randoms(use_true_random=False))
def test_words_and_lists_are_those_of_the_library(matches: list[list[tuple[int, int]]], random: object) -> None:
    offsets = np.append(0, np.cumsum([len(m) for m in matches])).astype(np.int64)
    events = np.array([e for m in matches for e, _ in m], dtype=np.int64)
    codes = np.array([c for m in matches for _, c in m], dtype=np.int64)
    variable_of = np.array([2, 0, 1])
    order = np.arange(len(matches))
    random.shuffle(order)  # type: ignore[attr-defined]

    starts = np.empty(len(matches) + 1, dtype=np.int64)
    words = np.empty(len(events) + VARIABLES * len(matches), dtype=np.int64)
    spell(offsets, events, codes, variable_of, VARIABLES, starts, words)
    plain = spell_plainly(offsets, events, variable_of[codes], VARIABLES)
    assert [x.tolist() for x in plain] == [starts.tolist(), words.tolist()]

    rows = np.arange(100, 110)
    ends = np.empty((VARIABLES, len(matches) + 1), dtype=np.int64)
    by_variable = np.empty(len(events), dtype=np.int64)
    split(order, offsets, events, codes, variable_of, rows, ends, by_variable)
    entries, bounds = split_plainly(order, offsets, variable_of[codes], VARIABLES)
    assert (bounds.tolist(), rows[events[entries]].tolist()) == (ends.tolist(), by_variable.tolist())
