"""How a query is run: options that change nothing about its matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import HostError, Matcher, TooManyMatches
from augury.hosts.local.snapshot import load_snapshot
from augury.options import make_options
from augury.plan import StreamStatistics

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])
RISING = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { a[i].x > a[i-1].x } WITHIN 1 minute"


def stream(text: str) -> pa.Table:
    rows = [{"ts": t, "type": e[0].upper(), "x": int(e[1:])} for t, e in enumerate(text.split(), start=1)]
    return pa.Table.from_pylist(rows, COLUMNS)


EVENTS = stream("a3 a1 a5 b1 a4 a6 a6 b2 a9 b3")


@pytest.mark.parametrize("jit", [None, False, True])
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("counters", [False, True])
def test_the_matches_are_the_same(jit: bool | None, merge: bool, counters: bool) -> None:
    found = augury.match(EVENTS, RISING, jit=jit, merge=merge, counters=counters)
    assert found == augury.match(EVENTS, RISING, plan="reference")
    assert (found.counters is not None) == counters
    again = augury.match_all(EVENTS, {"q": RISING}, jit=jit, merge=merge, counters=counters)["q"]
    # A second query of the same shape finds its kernel compiled.
    assert (again.counters or {}) | {"compilations": 0} == (found.counters or {}) | {"compilations": 0}


def test_counters_tell_what_the_kernel_did() -> None:
    merged = augury.match(EVENTS, RISING, counters=True).counters
    alone = augury.match(EVENTS, RISING, counters=True, merge=False).counters
    assert merged is not None
    assert alone is not None
    assert merged.keys() == {"predicates", "runs", "peak_runs", "buffer_writes", "merged", "compilations"}
    assert alone["merged"] == 0
    assert alone["runs"] == EVENTS["type"].to_pylist().count("A"), "each event of the first component begins a run"
    assert alone["peak_runs"] > merged["peak_runs"] > 0
    assert merged["merged"] > 0
    assert alone["buffer_writes"] > alone["runs"], "each run begins with a node, and some go on"
    assert merged["buffer_writes"] > 0
    assert alone["predicates"] > merged["predicates"] > 0


def test_counters_count_on_from_batch_to_batch() -> None:
    whole = augury.match(EVENTS, RISING, counters=True).counters
    matcher = Matcher(RISING, COLUMNS, counters=True)
    for row in range(len(EVENTS)):
        last = matcher.feed(EVENTS.slice(row, 1)).counters
    assert last == whole
    assert Matcher(RISING, COLUMNS).feed(EVENTS).counters is None
    assert augury.match(EVENTS, RISING, counters=True, plan="reference").counters is None


def kernels(folder: Path, entry: str = "advance") -> list[str]:
    return sorted(path.name for path in folder.rglob(f"*.{entry}.*.bin"))


@pytest.mark.slow
def test_compiled_kernels_are_kept_where_they_should_be(tmp_path: Path) -> None:
    augury.match(EVENTS, RISING, jit=True, cache_dir=tmp_path / "a")
    (kept,) = kernels(tmp_path / "a")
    saved = Matcher(RISING, COLUMNS, jit=True, cache_dir=str(tmp_path / "a")).snapshot()
    Matcher.restore(saved, cache_dir=tmp_path / "a").feed(EVENTS)
    assert kernels(tmp_path / "a") == [kept], "the same kernel has the same name"
    Matcher.restore(saved, cache_dir=tmp_path / "b").feed(EVENTS)
    assert kernels(tmp_path / "b") == [kept]
    augury.match(EVENTS, RISING, jit=False, cache_dir=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["max_matches", "max_partial_matches"])
def test_limits_are_positive(name: str) -> None:
    with pytest.raises(HostError, match=f"{name} is a positive integer, not 0"):
        make_options(**{name: 0})  # type: ignore[arg-type]


def test_each_evaluator_has_its_limit() -> None:
    many: dict[str, Any] = {"events": stream(" ".join(["a1"] * 40)), "query": "PATTERN SEQ(A+ a[], B b)"}
    with pytest.raises(TooManyMatches, match="raise max_partial_matches"):
        augury.match(**many, plan="eager-nfa", max_partial_matches=100, merge=False)
    with pytest.raises(TooManyMatches, match="max_partial_matches"):
        augury.match(**many, plan="reference", max_partial_matches=100)


def test_a_snapshot_keeps_the_options() -> None:
    many = stream(" ".join(["a1"] * 40))
    automaton: dict[str, Any] = {"plan": "eager-nfa", "max_partial_matches": 100, "merge": False}
    matcher = Matcher("PATTERN SEQ(A+ a[], B b)", COLUMNS, **automaton, jit=False, counters=True)
    again = Matcher.restore(matcher.snapshot())
    assert again.feed(many.slice(0, 3)).counters == matcher.feed(many.slice(0, 3)).counters is not None
    with pytest.raises(TooManyMatches, match="more than 100 partial matches"):
        again.feed(many.slice(3))


def test_a_snapshot_keeps_the_order_and_limit_of_a_chain() -> None:
    """In the order of the pattern all pairs of A wait for a B; with B first there would be none."""
    many = stream(" ".join(["a1"] * 40))
    matcher = Matcher(
        "PATTERN SEQ(A a, A b, B c)", COLUMNS, order=["a", "b", "c"], max_partial_matches=100, counters=True
    )
    again = Matcher.restore(matcher.snapshot())
    counters = again.feed(many.slice(0, 5)).counters
    assert counters == matcher.feed(many.slice(0, 5)).counters
    assert counters is not None
    assert counters["peak_partial_matches"] == 5 + 10
    for one in (matcher, again):
        with pytest.raises(TooManyMatches, match="more than 100 partial matches"):
            one.feed(many.slice(5))


@pytest.mark.parametrize(
    "statistics",
    [{"rates": {"A": 3.0, "b": 1.0}}, StreamStatistics({"a": 1.0}, {"a[i].x > a[i-1].x": 0.5}, 2.0, 3.0, "elsewhere")],
)
def test_a_snapshot_keeps_what_the_planner_was_told(statistics: dict[str, Any] | StreamStatistics) -> None:
    saved = Matcher(RISING, COLUMNS, statistics=statistics).snapshot()
    restored, _ = load_snapshot(saved, {})
    assert restored.options == make_options(statistics=statistics)
    assert restored.options.statistics is not None


@pytest.mark.parametrize("option", [{"merge": False}, {"counters": True}])
def test_compile_and_explain_take_the_options_too(option: dict[str, bool]) -> None:
    kernel = augury.compile(RISING, COLUMNS, jit=False, max_partial_matches=10, **option).program.last.kernel  # type: ignore[arg-type]
    assert kernel is not None
    text = augury.explain(RISING, COLUMNS, stage="kernel", **option)  # type: ignore[arg-type]
    assert kernel.source.text == text + "\n"
    assert text != augury.explain(RISING, COLUMNS, stage="kernel")


PAIRS = "PATTERN SEQ(A a, A b, B c) WHERE b.x > a.x AND c.x > a.x + b.x WITHIN"
LONG = stream(" ".join("b6" if i == 100 else f"a{i % 7}" for i in range(2_000)))


def test_a_kernel_is_compiled_once_that_pays(tmp_path: Path) -> None:
    short = stream(" ".join(["a1 b2"] * 10))
    augury.match(short, RISING, cache_dir=tmp_path)
    assert not kernels(tmp_path), "a few events do not pay for compilation"
    pairs = f"{PAIRS} 1 minute"
    found = augury.match(LONG, pairs, plan="eager-nfa", merge=False, cache_dir=tmp_path)
    assert len(kernels(tmp_path)) == 1
    assert found == augury.match(LONG, pairs, plan="reference")
    assert len(found) > 0


def test_a_chain_is_compiled_once_that_pays(tmp_path: Path) -> None:
    pairs = f"{PAIRS} 10 minutes"
    rare_first = augury.match(LONG, pairs, order=["c", "a", "b"], cache_dir=tmp_path)
    assert not kernels(tmp_path, "start_0"), "the few events before the one B do not pay for compilation"
    found = augury.match(LONG, pairs, order=["a", "b", "c"], cache_dir=tmp_path)
    assert len(kernels(tmp_path, "start_0")) == 1
    assert found == rare_first
    assert len(found) > 0


def test_compressed_matches_are_counted_and_looked_at_one_by_one() -> None:
    events = [{"ts": i, "type": "A"} for i in range(50)] + [{"ts": 50, "type": "B"}]
    matches = augury.match(events, "PATTERN SEQ(A+ a[], B b)", compressed=True)
    assert len(matches) == 2**50 - 1
    first = next(iter(matches))
    assert first.rows["b"] == 50
    assert matches[0] == first
    assert len(matches[3:6]) == 3
    assert next(matches.to_batches()).num_rows < 10**6
    assert "1125899906842623 matches, the first 10:" in repr(matches)


def test_compressed_matches_are_the_same_matches() -> None:
    events = [{"ts": i, "type": "AAB"[i % 3]} for i in range(12)]
    query = "PATTERN SEQ(A+ a[], B b) WITHIN 7 seconds"
    compressed, plain = augury.match(events, query, compressed=True), augury.match(events, query)
    assert compressed == plain
    assert sorted(map(repr, compressed)) == sorted(map(repr, plain))
    assert compressed.to_arrow().num_rows == len(plain)
    with pytest.raises(TooManyMatches):
        augury.match(events, query, max_matches=3)
