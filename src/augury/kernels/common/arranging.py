"""The order in which matches are reported, told by the ranks of their ends and the words that they compare by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from augury.jit.tier import Tier
from augury.runtime.batch import Integers

Words: TypeAlias = "tuple[Integers, Integers]"
"""Where those of each match begin, and the words; see `augury.native.ordering.spell`."""

NOTHING: Integers = np.empty(0, dtype=np.int64)

MAX_PLAIN_MATCHES = 32
"""Matches up to which compiled code is not worth a call, let alone the second and a half it takes to compile."""

MAX_PLAIN_ALIKE = 512
"""The same for matches of as many words each, which NumPy sorts: 50 microseconds for so many."""


def arrange(support: Tier, ends: Integers, first: Integers, words: Callable[[], Words], few: int) -> Integers:
    """The places of matches by their `ends`, what comes `first` if it is not empty, and their words."""
    if support.plain or len(ends) <= few:
        return support.timed_call(_plainly, ends, first, words)
    starts, spelled = words()
    n = len(ends)
    keys, groups, order = np.empty(n, dtype=np.int64), np.empty((n, 2), dtype=np.int64), np.empty(n, dtype=np.int64)
    lists = starts[:-1], starts[1:]
    count = support("pack_keys", ends, first, *lists, spelled, keys, groups)
    if count >= 0:
        support("merge_keys", count, groups, keys, *lists, spelled, order)
        return order
    # Equal ends keep their places, so that what is in order among them stays so.
    by_end = np.argsort(ends, kind="stable")
    lists = starts[:-1][by_end], starts[1:][by_end]
    first = first[by_end] if len(first) else first
    count = support("pack_keys", ends[by_end], first, *lists, spelled, keys, groups)
    support("merge_keys", count, groups, keys, *lists, spelled, order)
    return by_end[order]


def _plainly(ends: Integers, first: Integers, words: Callable[[], Words]) -> Integers:
    """The same without a compiler; as plain Python, what compiles well would take ten times as long as this."""
    order = np.lexsort((first, ends) if len(first) else (ends,))
    ties = ends[order[1:]] == ends[order[:-1]]
    if len(first):
        ties &= first[order[1:]] == first[order[:-1]]
    if not ties.any():
        return order
    starts, words_of = words()
    sizes = np.diff(starts)
    if (sizes == sizes[0]).all():
        columns = words_of.reshape(len(ends), -1).T[::-1]
        return np.lexsort((*columns, first, ends) if len(first) else (*columns, ends))
    starts, spelled = starts.tolist(), words_of.tolist()
    before = list(zip(ends.tolist(), first.tolist() if len(first) else ends.tolist(), strict=True))
    return np.array(sorted(order.tolist(), key=lambda m: (before[m], spelled[starts[m] : starts[m + 1]])))


def split_plainly(order: Integers, offsets: Integers, variable: Integers, variables: int) -> tuple[Integers, Integers]:
    """The entries of matches variable by variable, matches in `order`, and where those of each match begin and end.

    As `augury.native.buffer.split`, without a compiler. `variable` is that of each entry.
    """
    matches = len(order)
    place = np.empty(matches, dtype=np.int64)
    place[order] = np.arange(matches)
    cell = variable * matches + np.repeat(place, np.diff(offsets))
    sizes = np.bincount(cell, minlength=variables * matches)
    ends = np.append(0, np.cumsum(sizes))
    begins = matches * np.arange(variables)[:, None] + np.arange(matches + 1)
    return np.argsort(cell, kind="stable"), ends[begins]


def spell_plainly(offsets: Integers, events: Integers, variable: Integers, variables: int) -> Words:
    """The words of matches as `augury.native.ordering.spell` writes them, without a compiler."""
    matches = len(offsets) - 1
    match = np.repeat(np.arange(matches), np.diff(offsets))
    order = np.lexsort((variable, match))
    words = np.full(len(events) + variables * matches, -1, dtype=np.int64)
    # Before each event there are as many ends of variables as variables are over.
    words[np.arange(len(events)) + match[order] * variables + variable[order]] = events[order]
    return offsets + variables * np.arange(matches + 1), words
