"""How lazy chains find their candidates: by key, by group, by value, and among many that are concurrent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, permutations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from augury.kernels.lazy.kernel import LazyKernel
from augury.options import Options
from augury.plan import LazyChainPlan, Negation
from augury.planner.chain_steps import changed
from augury.runtime.batch import EventBatch
from augury.runtime.shared import SharedMatches
from augury.runtime.state import FOREVER
from augury.testing.evaluate import compiled, reference_matches, run
from tests.kernels.lazy_feed import COUNTING, Feed, eager_matches, events, kernel, pieces, plan_of, ticks

# -- comparisons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("size", [50, pytest.param(1_000, marks=pytest.mark.slow)])
def test_negated_events_that_fit_the_first_one_are_looked_for_once(jit: bool, size: int, tmp_path: Path) -> None:
    """Of 400 B before each of ten C, four fit. That is found out once for a C, not once for each of the 400 A."""
    stream = events("AB" * 400 + "C" * 10, [*([1.0, 9.0] * 99 + [1.0, 1.2]) * 4, *[1.5] * 10])
    text = "PATTERN SEQ(A a, NOT(B b), C c) WHERE a.x < b.x AND a.x < c.x AND b.x < c.x"
    options = replace(COUNTING, jit=jit, cache_dir=tmp_path)
    plan = changed(plan_of(text, stream, "ca", Negation.FIRST_CHANCE), selected=frozenset("ab"))
    one_by_one, once = (
        Feed(LazyKernel(changed(plan, kept=frozenset(kept)), options)).all(pieces(stream, size)) for kept in ("", "b")
    )
    assert one_by_one.matches == once.matches == eager_matches(text, stream)
    assert once.counters["predicates"] <= 10 * 400 + 10 * 400 + 4_000 * 4
    assert one_by_one.counters["predicates"] > 200_000


def test_what_is_kept_for_the_first_event_is_not_read_where_nothing_is_kept() -> None:
    """With B first, A is found twice: from the buffers, and when a C of the stream has gone on with a partial match."""
    text = "PATTERN AND(A a, B b, C c) WHERE a.x < b.x WITHIN 20 seconds"
    stream = events("BAACBCAAC", [2.0, 1.0, 3.0, 0.0, 2.0, 0.0, 1.5, 4.0, 0.0])
    plan = plan_of(text, stream, "bca")
    plan = changed(plan, selected=frozenset("abc"), kept=frozenset("abc"))
    for size in (1, 3, 9):
        fed = Feed(LazyKernel(plan, COUNTING)).all(pieces(stream, size))
        assert fed.matches == reference_matches(plan.query, stream)


def test_what_follows_from_other_comparisons_is_not_tested() -> None:
    """Of a, b and c in ascending order, a is only compared with b; a sum is the same sum wherever it stands."""
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND a.x < c.x AND b.x < a.x + 4 AND c.x <= a.x + 4"
    stream = events("ABC" * 3, [1.0, 2.0, 3.0, 0.0, 2.5, 4.0, 9.0, 9.0, float("nan")])
    plan = changed(plan_of(text, stream, "cba"), kept=frozenset())
    (branch,) = plan.branches
    *_, last = branch.steps
    assert [str(j) for j in last.component.take] == ["a.x < b.x", "c.x <= a.x + 4"]
    assert Feed(LazyKernel(plan, COUNTING)).all(pieces(stream, 2)).matches == reference_matches(plan.query, stream)


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["a.k = b.k", "[k]"])
@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_events_with_other_keys_cost_nothing(condition: str, order: str, size: int) -> None:
    """Predicates are evaluated for the pairs of one key, however many other keys there are."""
    cost = []
    for others in (0, 10, 400):
        stream = events(
            "A" * others + "AABAB" + "B" * others,
            [0.0] * (2 * others + 5),
            [*(f"a{i}" for i in range(others)), *("k" * 5), *(f"b{i}" for i in range(others))],
        )
        text = f"PATTERN SEQ(A a, B b) WHERE {condition} AND a.x <= b.x"
        fed = Feed(kernel(text, stream, order)).all(pieces(stream, size))
        assert len(fed.matches) == 5
        cost.append(fed.counters["predicates"])
    assert cost == [cost[0]] * 3
    assert cost[0] == (5 if condition == "[k]" else 10), "one for each pair and condition; the key is not one of them"


def test_without_an_index_they_cost_much() -> None:
    """The measure of the test above can tell the difference."""
    stream = events("A" * 400 + "AB", k=[*map(str, range(400)), "k", "k"])
    plan = plan_of("PATTERN SEQ(A a, B b) WHERE a.k = b.k", stream, "ba")
    indexed, plain = (Feed(LazyKernel(changed(plan, indexed=i), COUNTING)).all([stream]) for i in (True, False))
    assert indexed.matches == plain.matches
    assert (indexed.counters["predicates"], plain.counters["predicates"]) == (1, 401)


def test_matches_that_need_more_room_leave_the_keys_in_order() -> None:
    """One A with ten B makes so many matches that it has to be taken again; what had been kept for it is forgotten."""
    stream = events("A" + "B" * 10 + "C" * 60 + "CBC", k=["k"] * 74)
    fed = Feed(kernel("PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k", stream, "abc"))
    fed.step(stream.slice(0, 71))
    # Not longer than a chain can be: a list that leads back to itself never ends.
    for pool in fed.live.source.pools:
        waiting = int(fed.live.arrays["pool_fill"][pool.node, 0])
        for child in pool.heads:
            following = fed.live.arrays[f"pool{pool.node}_next{child}"][:waiting]
            assert (following < np.arange(waiting)).all()
    fed.all(pieces(stream.slice(71), 1))
    assert [len(found) for found in fed.found] == [600, 10, 0, 11]


def test_lists_whose_elements_agree_are_made_group_by_group() -> None:
    """Three events of a group make one list of three, found with four comparisons: 1 2, then 1 2 3, 1 3 and 2 3."""
    text = "PATTERN SEQ(A a, B{3} b[], C c) WHERE b[i].k = b[i-1].k"
    for groups in (1, 5, 50):
        stream = events("A" + "B" * (3 * groups) + "C", k=["", *(f"k{i % groups}" for i in range(3 * groups)), ""])
        plan = plan_of(text, stream)
        fed = Feed(LazyKernel(plan, COUNTING)).all([stream])
        expected = [tuple(range(1 + g, 1 + 3 * groups, groups)) for g in range(groups)]
        assert sorted(m.rows[1] for m in fed.matches) == expected
        assert fed.counters["predicates"] == 4 * groups
    plain = Feed(LazyKernel(changed(plan, indexed=False), COUNTING)).all([stream])
    assert plain.matches == fed.matches
    assert plain.counters["predicates"] > 50 * fed.counters["predicates"]


# -- many candidates ---------------------------------------------------------------------------------------------------

CROWDED = [
    ("SEQ(A a, B b) WHERE a.x < b.x - 7 AND a.y > b.y", "ab"),
    ("SEQ(A a, B b, C c) WHERE b.y > a.y + 7 AND c.y < b.y - 6 AND b.x = c.x", "abc"),
    ("SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.y < c.y", "abc"),
    ("SEQ(A a, A b, A c) WHERE b.y > a.y + 5 AND c.y > b.y + 2.5 AND c.k != a.k", "abc"),
    ("SEQ(A a, NOT(B n), C c) WHERE n.k = a.k AND n.y > c.y AND a.y + c.y > 16", "ac"),
    ("SEQ(NOT(A n), B b, C c, NOT(A m)) WHERE n.x > b.x + 5 AND m.x < c.x - 5 AND c.k = b.k", "bc"),
    ("SEQ(A a, B{2,3} b[], C c) WHERE b[i].y > b[i-1].y + 4 AND b[1].y > a.y + 3 AND c.x = b[last].x", "ac"),
    ("OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE a.y > b.y + 4 AND c.y > a.y + 4 AND [k]", "abc"),
]
"""Queries with their single variables."""


def crowded(size: int) -> pa.Table:
    """Twenty events a second, which are concurrent, with nulls, ties and strings."""
    rng = np.random.default_rng(11)
    x, y = rng.integers(-1, 10, size), rng.integers(-1, 40, size) / 4
    return pa.table(
        {
            "ts": np.arange(size) // 20,
            "type": rng.choice(["A", "B", "C"], size),
            "k": pa.array([None if i == 0 else f"k{i}" for i in rng.integers(0, 30, size)]),
            "x": pa.array([None if i < 0 else int(i) for i in x], pa.int64()),
            "y": pa.array([None if i < 0 else float(i) for i in y], pa.float64()),
        }
    )


def by_key_and_value(plan: LazyChainPlan) -> LazyKernel:
    by_value = frozenset(v for b in plan.branches for v in b.evaluation)
    return LazyKernel(changed(plan, sorted=by_value), Options(jit=False))


def all_at_once(plan: LazyChainPlan) -> LazyKernel:
    return LazyKernel(changed(plan, indexed=False), Options(jit=False))


def kept_for_the_first(plan: LazyChainPlan) -> LazyKernel:
    kept = frozenset(v for b in plan.branches for v in b.evaluation)
    return LazyKernel(changed(plan, indexed=False, kept=kept), Options(jit=False))


def one_by_one(plan: LazyChainPlan) -> LazyKernel:
    return LazyKernel(changed(plan, indexed=False, selected=frozenset()), COUNTING)


def counted(plan: LazyChainPlan) -> LazyKernel:
    return LazyKernel(changed(plan, indexed=False), COUNTING)


@pytest.mark.parametrize(
    "way",
    [
        by_key_and_value,
        all_at_once,
        pytest.param(kept_for_the_first, marks=pytest.mark.slow),
        pytest.param(one_by_one, marks=pytest.mark.slow),
        pytest.param(counted, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("text, singles", CROWDED)
def test_many_candidates_and_concurrent_events(
    text: str, singles: str, way: Callable[[LazyChainPlan], LazyKernel]
) -> None:
    """In every order, with negation either way, in batches of several sizes."""
    stream = crowded(600)
    text = f"PATTERN {text} WITHIN 9 seconds"
    expected = eager_matches(text, stream)
    assert len(expected) > 50
    ways = product(permutations(singles), Negation if "NOT" in text else (None,))
    for (order, negation), size in zip(ways, cycle((600, 64, 7)), strict=False):
        plan = plan_of(text, stream, [*order, *("b" if "b[]" in text else "")], negation)
        assert run(way(plan), plan.query.schema, pieces(stream, size)) == expected, (order, negation, size)


# -- lists -------------------------------------------------------------------------------------------------------------

CORRELATED = [
    ("SEQ(A a, B b) WHERE corr(a.h, b.h) > 0.8", "ab"),
    ("SEQ(A a, B b) WHERE corr(a.h, b.h) >= 1", "ab"),
    ("SEQ(A a, B b) WHERE -0.75 >= corr(b.h, a.h) AND a.x < b.x", "ab"),
    ("SEQ(A a, B b, C c) WHERE corr(a.h, b.h) > 0.5 AND corr(b.h, c.h) > 0.5 AND corr(a.h, c.h) > 0.5", "abc"),
    ("AND(A a, A b, C c) WHERE corr(a.h, c.h) > 0.7 AND corr(b.h, c.h) < -0.7", "abc"),
    ("SEQ(A a, NOT(B n), C c) WHERE corr(a.h, n.h) > 0.6 AND corr(n.h, c.h) > 0.6 AND corr(a.h, c.h) > 0.5", "ac"),
    ("SEQ(NOT(A n), B b, C c) WHERE corr(n.h, b.h) > 0.9 AND corr(b.h, c.h) > 0.7", "bc"),
    ("OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE corr(a.h, b.h) > 0.8 AND corr(a.h, c.h) <= -0.8", "abc"),
]


def histories(size: int, seed: int = 13) -> pa.Table:
    """Lists of small integers, so that many are equal, some constant; some null, with a null or a NaN, or shorter.

    Lists become longer halfway through the stream.
    """
    rng = np.random.default_rng(seed)
    usual = np.where(np.arange(size) < size // 2, 5, 6)
    lists: list[list[float | None] | None] = []
    for length, odd in zip(usual, rng.integers(0, 20, size), strict=True):
        values: list[float | None] = rng.integers(0, 3, length).astype(float).tolist()
        match odd:
            case 0:
                lists.append(None)
            case 1:
                lists.append([None, *values[1:]])
            case 2:
                lists.append([*values[1:], float("nan")])
            case 3:
                lists.append(values[: int(rng.integers(0, 4))])
            case _:
                lists.append(values)
    return pa.table(
        {
            "ts": np.arange(size) // 3,
            "type": rng.choice(["A", "B", "C"], size),
            "x": rng.integers(0, 9, size),
            "h": pa.array(lists, pa.list_(pa.float64())),
        }
    )


@pytest.mark.parametrize("text, singles", CORRELATED)
def test_lists_that_are_compared_in_blocks_find_the_same(text: str, singles: str) -> None:
    """In every order, with negation either way, in batches of several sizes; nothing hangs on the plan's guess."""
    stream = histories(500)
    sequential = not text.startswith("AND")
    text = f"PATTERN {text} WITHIN {40 if sequential else 9} seconds"
    expected = eager_matches(text, stream) if sequential else None
    ways = product(permutations(singles), Negation if "NOT" in text else (None,))
    for (order, negation), size in zip(ways, cycle((500, 64, 7)), strict=False):
        plan = plan_of(text, stream, order, negation)
        blocked = frozenset(v.name for v in plan.query.variables)
        for options, led in ((Options(jit=False), frozenset[str]()), (COUNTING, blocked)):
            blocks = changed(plan, blocked=blocked, led=led)
            found = run(LazyKernel(blocks, options), plan.query.schema, pieces(stream, size))
            if expected is None:
                expected = run(LazyKernel(changed(plan, blocked=frozenset()), options), plan.query.schema, [stream])
            assert len(expected) > 5
            assert found == expected, (order, negation, size)


@pytest.mark.slow
def test_compiled_code_compares_the_same_lists(tmp_path: Path) -> None:
    stream = histories(900)
    text = f"PATTERN {CORRELATED[5][0]} WITHIN 100 seconds"
    plan = plan_of(text, stream, "ca", Negation.FIRST_CHANCE)
    one, *others = (
        run(LazyKernel(changed(plan, blocked=blocked, led=led), options), plan.query.schema, pieces(stream, size))
        for blocked, led, options, size in (
            (frozenset[str](), frozenset[str](), Options(jit=False), 900),
            (frozenset("an"), frozenset[str](), Options(jit=True, cache_dir=tmp_path), 333),
            (frozenset("an"), frozenset("an"), Options(jit=True, cache_dir=tmp_path), 250),
        )
    )
    assert others == [one, one]
    assert len(one) > 100


def test_blocks_take_the_length_that_most_lists_have() -> None:
    """Null at first, as histories are that have only begun; what is expected then changes when events are forgotten."""
    n = 40
    rng = np.random.default_rng(1)
    lists = [None if i < n else rng.normal(size=5).tolist() for i in range(3 * n)]
    stream = pa.table({"ts": range(3 * n), "type": ["A", "B", "B"] * n, "h": pa.array(lists, pa.list_(pa.float64()))})
    plan = plan_of("PATTERN SEQ(A a, B b) WHERE corr(a.h, b.h) > 0.1", stream, "ba")
    fed = Feed(LazyKernel(changed(plan, blocked=frozenset("ab")), COUNTING))
    widths = []
    for piece in pieces(stream, n):
        fed.step(piece)
        widths.append(fed.live.arrays["block_width"].tolist())
    (a,) = fed.live.source.layout.turned.values()
    assert [w[a] for w in widths] == [[1, 14], [5, 27], [5, 40]]
    plain = Feed(LazyKernel(changed(plan, blocked=frozenset()), COUNTING)).all(pieces(stream, n))
    assert fed.matches == plain.matches
    assert len(fed.matches) > 100


def test_a_comparison_of_lists_is_counted_as_one_by_one() -> None:
    """All candidates once, and what is found again: it is tested in full."""
    stream = histories(400)
    plan = plan_of("PATTERN SEQ(A a, B b) WHERE corr(a.h, b.h) > 0.9 WITHIN 60 seconds", stream, "ba")
    one, many = (
        Feed(LazyKernel(changed(plan, blocked=blocked), COUNTING)).all([stream])
        for blocked in (frozenset(), frozenset("a"))
    )
    assert many.matches == one.matches
    again = many.counters["predicates"] - one.counters["predicates"]
    assert len(many.matches) <= again < one.counters["predicates"]


WALKS = [
    ("SEQ(A a, B b) WHERE corr(a.h, b.h) > 0.9", "ba"),
    ("SEQ(A a, B b) WHERE corr(a.h, b.h) < -0.9", "ba"),
    ("SEQ(A a, B b, C c) WHERE corr(a.h, b.h) > 0.9 AND corr(b.h, c.h) > 0.9 AND corr(a.h, c.h) > 0.9", "cba"),
    ("SEQ(A a, NOT(B b), C c) WHERE corr(a.h, b.h) > 0.9 AND corr(b.h, c.h) > 0.9 AND corr(a.h, c.h) > 0.9", "ca"),
]


@pytest.mark.parametrize("text, order", WALKS)
@pytest.mark.parametrize("size", [pytest.param(2_000, marks=pytest.mark.slow), 90])
def test_leading_coefficients_spare_most_products_of_long_lists(text: str, order: str, size: int) -> None:
    """All candidates are bounded, few compared: those of walks that are not near one another are ruled out."""
    rng = np.random.default_rng(3)
    walks = rng.normal(size=(2_000, 30)).cumsum(axis=1)
    stream = pa.table({"ts": range(2_000), "type": rng.choice(["A", "B", "C"], 2_000), "h": pa.array(walks.tolist())})
    plan = plan_of(f"PATTERN {text} WITHIN 300 seconds", stream, order, Negation.FIRST_CHANCE)
    blocked = frozenset("abc")
    whole, led = (
        Feed(LazyKernel(changed(plan, blocked=blocked, led=led), COUNTING)).all(pieces(stream, size))
        for led in (frozenset[str](), blocked)
    )
    assert led.matches == whole.matches
    assert len(led.matches) > 100
    assert "bounds" not in whole.counters
    assert led.counters["bounds"] > 0.8 * whole.counters["predicates"]
    assert led.counters["predicates"] < 0.1 * whole.counters["predicates"]


def test_what_is_near_the_first_event_is_compared_once_for_it() -> None:
    """Each of 20 A meets all 20 B of one C, but whether it is near that C is found out once."""
    up, down = [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 1.0, 2.0]
    types, lists = "AD" * 20 + "B" * 20 + "C", [*[up, down] * 20, *[up] * 21]
    stream = pa.table({"ts": range(len(types)), "type": list(types), "h": pa.array(lists)})
    text = "PATTERN SEQ(A|D a, B b, C c) WHERE corr(b.h, c.h) > 0.9 AND corr(a.h, c.h) > 0.9 WITHIN 1 hour"
    fed = Feed(LazyKernel(changed(plan_of(text, stream, "cba"), blocked=frozenset("ab")), COUNTING)).all([stream])
    assert len(fed.matches) == 20 * 20
    # In blocks 20 B and 40 A or D, then each that is near: 20 and 20.
    assert fed.counters["predicates"] == 20 + 40 + 20 + 20


# -- sorted searches ---------------------------------------------------------------------------------------------------

SELECTIVE = [
    ("PATTERN SEQ(A a, B b) WHERE a.x > b.x + 45 WITHIN 2400 seconds", "ba"),
    ("PATTERN SEQ(A a, B b) WHERE b.x + 3 >= a.x AND a.x >= b.x WITHIN 2400 seconds", "ab"),
    ("PATTERN AND(A a, B b) WHERE a.x < b.x / 2 - 22 WITHIN 2400 seconds", "ba"),
    ("PATTERN SEQ(A a, A c, B b) WHERE a.x > b.x + 47 AND c.x > b.x + 47 WITHIN 1800 seconds", "bac"),
    ("PATTERN SEQ(A a, A c, B b) WHERE a.x > b.x + 47 AND c.x > b.x + 47 WITHIN 1800 seconds", "bca"),
]


def one_in(each: int, rare: str, size: int, rng: np.random.Generator) -> str:
    """Types of which the others fill some sorted blocks."""
    frequent = "AB".replace(rare, "")
    return "".join(np.where(rng.integers(0, each, size) == 0, rare, frequent))


@pytest.mark.parametrize("text, order", SELECTIVE)
@pytest.mark.parametrize("size", [100, 10_000])
def test_sorted_searches_find_the_same(text: str, order: str, size: int) -> None:
    rng = np.random.default_rng(3)
    n = 4_000
    x = [None if r == 0 else float("nan") if r == 1 else float(r % 100) / 2 for r in rng.integers(0, 700, n)]
    stream = events(one_in(20, order[0].upper(), n, rng), x)
    plan = plan_of(text, stream, order)
    plain = Feed(LazyKernel(plan, COUNTING)).all(pieces(stream, size))
    by_value = changed(plan, sorted=frozenset(order))
    fed = Feed(LazyKernel(by_value, COUNTING)).all(pieces(stream, size))
    assert fed.matches == plain.matches
    assert len(fed.matches) > 100
    if size > n:
        assert fed.counters["predicates"] < plain.counters["predicates"] / 2


TENTHS = [
    ("a.x < b.x AND a.x + 0.3 > b.x", "ba"),
    ("b.x < a.x AND 0.3 + b.x >= a.x", "ab"),
    ("a.x - 0.7 <= b.x AND b.x - 0.1 < a.x AND a.x - b.x > -0.1", "ba"),
    ("a.x + b.x >= 30.3 AND a.x + b.x <= 30.4", "ba"),
    ("a.x + a.y > b.x AND a.x + b.y < b.x + 0.5", "ba"),
]
"""Conditions with sums; in tenths, many of them are true or not only by how a sum is rounded."""


@pytest.mark.parametrize("condition, order", TENTHS)
def test_sorted_searches_with_sums_find_the_same(condition: str, order: str) -> None:
    rng = np.random.default_rng(7)
    n = 2_400
    x, y = (rng.integers(-200, 400, n) / 10 for _ in range(2))
    x[:6] = [np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 5e-324]
    types = one_in(2, "B", 6, rng) + one_in(10, order[0].upper(), n - 6, rng)
    stream = events(types, x.tolist()).append_column("y", pa.array(y))
    plan = plan_of(f"PATTERN AND(A a, B b) WHERE {condition} WITHIN 900 seconds", stream, order)
    plain = Feed(LazyKernel(changed(plan, selected=frozenset()), COUNTING)).all([stream])
    by_value = changed(plan, sorted=frozenset(order))
    ((_, step),) = (branch.steps for branch in by_value.branches)
    fed = Feed(LazyKernel(by_value, COUNTING)).all([stream])
    assert fed.matches == plain.matches
    assert len(fed.matches) > 50
    assert step.bounds
    assert fed.counters["predicates"] < plain.counters["predicates"]


# -- compressed matches ------------------------------------------------------------------------------------------------

SEQUENCE = "PATTERN SEQ(A a, B b, C c) WHERE a.x > 2 AND b.x < 8"


def test_compressed_matches_are_counted_without_being_written_out() -> None:
    stream = ticks(3_000)
    k = kernel(SEQUENCE, stream, options=Options(jit=False, compressed=True, max_matches=10))
    _, found = k.step(k.start(), EventBatch(stream, np.arange(3_000), np.arange(3_000)), FOREVER)
    assert isinstance(found, SharedMatches)
    types, x = stream["type"].to_pylist(), stream["x"].to_pylist()
    a = ab = abc = 0
    for kind, value in zip(types, x, strict=True):
        abc += ab if kind == "C" else 0
        ab += a if kind == "B" and value < 8 else 0
        a += 1 if kind == "A" and value > 2 else 0
    assert found.count() == abc > 10**7
    first = next(iter(found))
    assert [types[row] for (row,) in first.rows] == ["A", "B", "C"]


@pytest.mark.parametrize("size", [1, 17, 1_000])
def test_compressed_matches_are_the_same_matches(size: int) -> None:
    stream = ticks(200)
    text = f"{SEQUENCE} WITHIN 15 seconds"
    compressed = Feed(kernel(text, stream, options=Options(jit=False, compressed=True))).all(pieces(stream, size))
    assert compressed.matches == eager_matches(text, stream)
    assert len(compressed.matches) > 300


# -- what queries may say ----------------------------------------------------------------------------------------------


NAMES = ["q", "g", "k", "m", "s", "w", "id1", "next1", "buffer0", "found1", "passed2", "pool0", "v0", "größe", "if"]
"""Names that generated code might have a use of its own for, and two that it could not use."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("SEQ(A {}, B y, C z)", marks=pytest.mark.slow),
        "SEQ(A y, B {}, C z)",
        pytest.param("AND(A y, B z, C {})", marks=pytest.mark.slow),
    ],
)
def test_variables_may_have_any_name(name: str, pattern: str) -> None:
    stream = events("ABCABCCBA", range(9), [0] * 9)
    text = f"PATTERN {pattern.format(name)} WHERE y.k = {name}.k AND {name}.k = z.k AND {name}.x != z.x"
    expected = reference_matches(compiled(text, stream).bound, stream)
    assert len(expected) >= 7
    for order in permutations([name, "y", "z"]):
        k = kernel(text, stream, order)
        assert run(k, k.plan.query.schema, pieces(stream, 2)) == expected, order


@pytest.mark.parametrize("name", NAMES)
def test_variables_with_many_candidates_may_have_any_name(name: str) -> None:
    x = np.random.default_rng(5).integers(0, 100, 120).tolist()
    stream = events("A" * 40 + "B" * 40 + "C" * 40, x)
    text = f"PATTERN SEQ(A y, B {name}, C z) WHERE y.x < {name}.x - 70 AND z.x < {name}.x - 70"
    expected = eager_matches(text, stream)
    assert len(expected) > 50
    for order in permutations([name, "y", "z"]):
        k = kernel(text, stream, order, options=Options(jit=False))
        assert run(k, k.plan.query.schema, [stream]) == expected, order


def test_strings_keep_their_order_when_new_ones_come_between() -> None:
    stream = pa.table({"ts": range(6), "type": ["A", "A", "B", "A", "B", "B"], "s": ["m", "c", "n", "x", "d", "y"]})
    text = "PATTERN SEQ(A a, B b) WHERE a.s < b.s"
    for order in ("ab", "ba"):
        k = kernel(text, stream, order)
        found = run(k, k.plan.query.schema, pieces(stream, 1), save=True)
        assert found == reference_matches(compiled(text, stream).bound, stream)
        assert len(found) == 6


@pytest.mark.slow
def test_registered_functions() -> None:
    stream = events("ABABABAB", [1.0, 2.5, None, 3.0, 4.0, 4.5, 9.0, 9.5])

    def near(a: float, b: float) -> bool:
        return abs(a - b) < 2

    def odd(a: float, b: float) -> bool:
        return bool({"a": a}.get("a") == b - 1.5)

    def half(a: float) -> float:
        return a / 2

    functions: dict[str, Callable[..., object]] = {"Near": near, "odd": odd, "half": half}
    predicates = {
        "near(half(b.x), a.x)": True,
        "ODD(a.x, b.x)": True,
        "near(a.x, b.x)": False,
        "half(a.x) < b.x": False,
    }
    for predicate, also_compiled in predicates.items():
        text = f"PATTERN SEQ(A a, B b) WHERE {predicate}"
        options = Options(functions=functions)
        expected = reference_matches(compiled(text, stream, options).bound, stream, options)
        assert len(expected) > 0
        for jit in (False, True) if also_compiled else (False,):
            k = kernel(text, stream, "ba", options=Options(functions=functions, jit=jit))
            assert run(k, k.plan.query.schema, [stream]) == expected, (predicate, jit)
