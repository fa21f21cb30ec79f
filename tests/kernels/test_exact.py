"""Counts and sums over matches are exact up to 2^63 - 1 and an error beyond; nothing saturates."""

from __future__ import annotations

import re
from itertools import accumulate

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import augury
from augury.errors import HostError
from augury.native.counting import OVERFLOWED, plus, times
from augury.plan import FamilyName

INT_MAX = 2**63 - 1

numbers = st.one_of(st.integers(0, 10), st.integers(0, INT_MAX), st.integers(2**62 - 3, 2**62 + 3), st.just(OVERFLOWED))


def fitted(n: int | None) -> int:
    return OVERFLOWED if n is None or n > INT_MAX else n


@given(numbers, numbers)
@example(3037000500, 3037000499)
@example(INT_MAX, 1)
@example(2**32, 2**31 - 1)
def test_sums_and_products_of_counts_are_right_or_many(a: int, b: int) -> None:
    known = OVERFLOWED not in (a, b)
    assert plus(a, b) == fitted(a + b if known else None)
    assert times(a, b) == (0 if 0 in (a, b) else fitted(a * b if known else None))


def events(types: str) -> pa.Table:
    return pa.table({"ts": range(len(types)), "type": list(types), "x": [2**40] * len(types)})


def counts(types: str, query: str, **options: object) -> list[int | None]:
    return [m.count for m in augury.match(events(types), query, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("jit", [False, True])
def test_lists_are_counted_up_to_the_last_number_of_64_bits(jit: bool) -> None:
    query = "SEQ(A+ a[], B b) OUTPUT COUNT"
    assert counts("A" * 62 + "B", query, jit=jit) == [4611686018427387903]
    assert counts("A" * 63 + "B", query, jit=jit) == [9223372036854775807]
    for n in (64, 65, 200, 1100):
        with pytest.raises(HostError, match="the number of matches that an event completes") as raised:
            counts("A" * n + "B", query, jit=jit)
        assert raised.value.code == "A563"


@pytest.mark.parametrize("jit", [False, True])
def test_a_window_keeps_a_long_stream_within_64_bits(jit: bool) -> None:
    # Some 2^40 lists for each B: the nodes that were counted before the window must not spoil it.
    query = "SEQ(A+ a[], B b) WITHIN 40 seconds OUTPUT COUNT"
    assert counts("A" * 500 + "B", query, jit=jit) == [2**40 - 1]
    assert counts("A" * 63 + "B" + "A" * 62 + "B", "SEQ(A+ a[], B b) WITHIN 63 seconds OUTPUT COUNT", jit=jit) == [
        INT_MAX,
        2**62 - 1,
    ]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [500, 1448, 1449])
def test_sequences_are_counted_up_to_the_last_number_of_64_bits(size: int, jit: bool) -> None:
    # size^6 sequences before the last event: 1448^6 < 2^63 < 1449^6.
    types = "".join(t * size for t in "ACDEFG") + "B"
    query = "SEQ(A a, C c, D d, E e, F f, G g, B b) OUTPUT COUNT"
    if size**6 <= INT_MAX:
        assert counts(types, query, plan="lazy-chain", jit=jit) == [size**6]
    else:
        with pytest.raises(HostError, match="does not fit 64 bits"):
            counts(types, query, plan="lazy-chain", jit=jit)


@given(st.text("ABC", min_size=60, max_size=140), st.booleans())
@settings(max_examples=40, deadline=None)
def test_counts_agree_with_integers_of_any_size(types: str, sequences: bool) -> None:
    """By dynamic programming in Python's integers, which have no limit, over streams that reach past 2^63."""
    types += "B"
    if sequences:
        query, plan = "SEQ(A a, A b, A c, A d, A e, A f, A g, A h, A i, A j, A k, A l, B z) OUTPUT COUNT", "lazy-chain"
        ways, expected = [1] + [0] * 12, []
        for t in types:
            if t == "A":
                ways = [1, *(ways[k] + ways[k - 1] for k in range(1, 13))]
            elif t == "B":
                expected.append(ways[12])
    else:
        query, plan = "SEQ(A+ a[], B b) OUTPUT COUNT", "eager-nfa"
        expected = [2**n - 1 for n, t in zip(accumulate(t == "A" for t in types), types, strict=True) if t == "B"]
    expected = [n for n in expected if n]
    if max(expected, default=0) <= INT_MAX:
        assert counts(types, query, plan=plan, jit=False) == expected
    else:
        with pytest.raises(HostError, match="does not fit 64 bits"):
            counts(types, query, plan=plan, jit=False)


def test_matches_of_one_event_are_added_up_over_branches() -> None:
    query = "OR(SEQ(A+ a[], B b), SEQ(C+ c[], B d)) OUTPUT COUNT"
    assert counts("A" * 62 + "C" * 62 + "B", query) == [2**63 - 2]
    with pytest.raises(HostError, match=re.escape(f"is {2**63 + 2**62 - 2:.6g}")):
        counts("A" * 63 + "C" * 62 + "B", query)


@pytest.mark.parametrize("plan", ["reference", "eager-nfa", "lazy-chain"])
def test_sums_over_matches_fit_or_are_an_error(plan: FamilyName) -> None:
    query = "SEQ(A a, B b) OUTPUT COUNT RETURN sum(a.x) AS s"
    table = pa.table({"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [2**62, 2**62 - 1, 0]})
    assert augury.match(table, query, plan=plan, jit=False).to_pylist()[0]["s"] == INT_MAX
    table = pa.table({"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [2**62, 2**62, 0]})
    with pytest.raises(HostError, match=r"sum\(a\) that an event completes is 9.22337e\+18") as raised:
        augury.match(table, query, plan=plan, jit=False)
    assert raised.value.code == "A563"


def test_numbers_of_bound_events_fit_or_are_an_error() -> None:
    # 2^58 - 1 lists of 29 events each, on the average, are bound to `a`.
    query = "SEQ(A+ a[], B b) OUTPUT COUNT RETURN count(a[]) AS n"
    (row,) = augury.match(events("A" * 57 + "B"), query).to_pylist()
    assert row == {"end": 57, "count": 2**57 - 1, "n": 57 * 2**56}
    with pytest.raises(HostError, match=r"count\(a\)"):
        augury.match(events("A" * 60 + "B"), query)


# -- matches that stay compressed --------------------------------------------------------------------------------------

NINE = "".join(t * 300 for t in "ABCDEFGHI")
SEQUENCE_OF_NINE = f"SEQ({', '.join(f'{t} {t.lower()}' for t in 'ABCDEFGHI')})"


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "types, query, plan, expected",
    [
        ("A" * 62 + "B", "SEQ(A+ a[], B b)", "eager-nfa", 2**62 - 1),
        ("A" * 200 + "BB", "SEQ(A+ a[], B b)", "eager-nfa", 2 * (2**200 - 1)),
        ("A" * 200 + "BB", "SEQ(A+ a[], B b) WITHIN 100 seconds", "eager-nfa", 2**100 - 1 + 2**99 - 1),
        (NINE, SEQUENCE_OF_NINE, "lazy-chain", 300**9),
        (NINE, SEQUENCE_OF_NINE, "linked", 300**9),
    ],
)
def test_compressed_matches_are_counted_whatever_their_number(
    types: str, query: str, plan: FamilyName, expected: int, jit: bool
) -> None:
    matches = augury.match(events(types), query, plan=plan, compressed=True, jit=jit)
    assert matches.count() == expected
    assert matches
    if expected > INT_MAX:
        with pytest.raises(HostError, match=r"too many matches for len\(\)") as raised:
            len(matches)
        assert raised.value.code == "A564"
    else:
        assert len(matches) == expected
    assert matches.head(3).count() == 3
    assert len(matches.sample(5, seed=1)) == 5
    assert repr(matches).startswith(f"{expected} matches, the first 10:")
    with pytest.raises(HostError, match="too many matches for a slice"):
        matches[3:]
    with pytest.raises(IndexError, match=f"there are {expected} matches"):
        matches[expected]
