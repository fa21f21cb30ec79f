"""The order in which matches are reported, against a sort of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.compiler import compile_program
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import Bindings, Reporting
from augury.native.support import support_source
from augury.options import Options
from augury.schema import EventSchema
from augury.source import Source

SIZE, MANY = 5, 1 << 20
VARIABLES = "abcde"
RANK = np.arange(MANY) // 2
"""Every two events are concurrent."""
TIME, ROWS = RANK + 100, np.arange(MANY)[::-1].copy()

SCHEMA = EventSchema.from_arrow(pa.schema({"ts": pa.int64(), "type": pa.string()}))
QUERY = compile_program(Source("SEQ(A a, B b, C c, D d, E e)"), SCHEMA, Options()).last.rewritten


@pytest.fixture(scope="module", params=["numpy", "text", "compiled"])
def tier(request: pytest.FixtureRequest) -> Tier:
    made = Tier(support_source(), Options(jit=request.param == "compiled"))
    # "text" is what is compiled as the plain Python that it is, rather than what stands in for it.
    made.plain = request.param == "numpy"
    return made


Match = tuple[tuple[int, int], ...]
"""Events, ascending, and the codes that they are bound to."""


def bound(events: list[int]) -> Match:
    return tuple(zip(events, range(SIZE), strict=True))


events = st.integers(0, 7) | st.sampled_from([MANY // 2, MANY // 2 + 1, MANY - 2, MANY - 1])
alike = st.lists(events, min_size=SIZE, max_size=SIZE, unique=True).map(lambda some: bound(sorted(some)))
lists = st.dictionaries(events, st.integers(0, SIZE - 1), min_size=1).map(lambda some: tuple(sorted(some.items())))
in_sequence = lists.map(lambda m: tuple(zip((event for event, _ in m), sorted(code for _, code in m), strict=True)))


def reporting(tier: Tier, codes: str, fixed: int, *, in_time: bool = True) -> Reporting:
    bindings = Bindings(tuple(codes), (0,) * SIZE, ((),), 0, fixed, in_time=in_time)
    return Reporting(QUERY, bindings, tier, tier, few=0, few_alike=0)


def reported(of: Reporting, matches: list[Match], *, in_time: bool = True) -> list[Any]:
    """Rows by variable, start and end of the matches, as they are reported."""
    sizes = [len(m) for m in matches]
    flat = np.array([pair for m in matches for pair in m], dtype=np.int64).reshape(-1, 2)
    found = Expanded(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy())
    if of.fixed:
        found = Expanded.alike(of.fixed, found.events, in_time=in_time)
    return [(m.rows, m.start, m.end) for m in of.match_set(found, RANK, TIME, ROWS)]


def by_variable(match: Match, codes: str) -> list[list[int]]:
    return [[event for event, code in match if codes[code] == v] for v in VARIABLES]


def span(match: Match) -> tuple[int, int]:
    return min(event for event, _ in match), max(event for event, _ in match)


def report_key(match: Match, codes: str) -> Any:
    first, last = span(match)
    return RANK[last], RANK[first], by_variable(match, codes)


def expected(matches: list[Match], codes: str) -> list[Any]:
    return [
        (
            tuple(tuple(ROWS[events].tolist()) for events in by_variable(match, codes)),
            TIME[span(match)[0]],
            TIME[span(match)[1]],
        )
        for match in sorted(matches, key=lambda m: report_key(m, codes))
    ]


@given(st.lists(alike, min_size=1, unique=True), st.permutations(VARIABLES), st.booleans())
def test_matches_that_are_alike(tier: Tier, matches: list[Match], codes: list[str], by_end: bool) -> None:
    """In any order, and in the order of their ends, as chains mostly find them."""
    if by_end:
        matches = sorted(matches, key=lambda m: int(RANK[m[-1][0]]))
    of = "".join(codes)
    for binds in (of, VARIABLES):
        assert reported(reporting(tier, binds, SIZE), matches) == expected(matches, binds)


@given(
    st.lists(st.lists(events, min_size=SIZE, max_size=SIZE, unique=True).map(bound), min_size=1, unique=True),
    st.permutations(VARIABLES),
)
def test_events_in_the_order_of_the_variables(tier: Tier, matches: list[Match], codes: list[str]) -> None:
    """As a conjunction binds them, where any event may be the first or the last."""
    for binds in ("".join(codes), VARIABLES):
        of = reporting(tier, binds, SIZE, in_time=False)
        assert reported(of, matches, in_time=False) == expected(matches, binds)


@given(st.lists(lists, min_size=1, unique=True), st.booleans())
def test_lists_of_different_lengths(tier: Tier, matches: list[Match], by_end: bool) -> None:
    if by_end:
        matches = sorted(matches, key=lambda m: int(RANK[m[-1][0]]))
    assert reported(reporting(tier, VARIABLES, 0), matches) == expected(matches, VARIABLES)


@given(st.lists(in_sequence, min_size=1, unique=True))
def test_lists_that_are_found_in_order(tier: Tier, matches: list[Match]) -> None:
    """As a chain finds them that begins with the last event."""
    found = sorted(matches, key=lambda m: report_key(m, VARIABLES))
    assert reported(reporting(tier, VARIABLES, 0), found) == expected(matches, VARIABLES)


@pytest.mark.parametrize("stride", [1, MANY // 64], ids=["near", "far"])
def test_runs_are_merged(tier: Tier, stride: int) -> None:
    """Many runs of different lengths for each end: they fit in a key if events are near to each other."""
    random = np.random.default_rng(1)
    drawn = [
        (*sorted(random.choice(60, SIZE - 1, replace=False).tolist()), end) for end in (60, 63) for _ in range(900)
    ]
    matches = [bound([stride * event for event in match]) for match in dict.fromkeys(drawn)]
    # Those of an end and a third event lie together in order, as nested loops find them.
    in_runs = sorted(matches, key=lambda m: (m[-1], -m[2][0], m))
    for found in (matches, in_runs):
        assert reported(reporting(tier, VARIABLES, SIZE), found) == expected(found, VARIABLES)
