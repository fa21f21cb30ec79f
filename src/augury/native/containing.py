"""Matches that are contained in another one, for OUTPUT LONGEST.

Compiled once for all queries, like `augury.native.buffer`; the functions of the prelude are there by name.
"""

from __future__ import annotations

from augury.native.kinds import Bytes, Ints
from augury.native.prelude import stopped


def mark_contained(
    stop: Ints,
    begin: Ints,
    end: Ints,
    larger: Ints,
    offsets: Ints,
    words: Ints,
    larger_offsets: Ints,
    larger_words: Ints,
    found: Bytes,
) -> None:
    """Set `found` for each match whose words all occur in a larger match.

    The words of a match ascend. `larger[begin[m]:end[m]]` are the matches that may contain match m, the largest first.
    """
    for m in range(begin.shape[0]):
        if stopped(stop):
            return
        size = offsets[m + 1] - offsets[m]
        for k in range(begin[m], end[m]):
            other = larger[k]
            at, last = larger_offsets[other], larger_offsets[other + 1]
            if last - at <= size:
                break
            missing = False
            for w in range(offsets[m], offsets[m + 1]):
                while at < last and larger_words[at] < words[w]:
                    at += 1
                if at == last or larger_words[at] != words[w]:
                    missing = True
                    break
            if not missing:
                found[m] = 1
                break
