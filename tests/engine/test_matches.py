"""What a result can be turned into."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import augury
from augury import Match, Matches
from augury.plan import FamilyName

EVENTS = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4], pa.timestamp("s", "Europe/Berlin")),
        "type": pa.array(["A", "B", "B", "C"]).dictionary_encode(),
        "x": pa.array([1, 2, 3, 4], pa.uint16()),
        "price": pa.array([Decimal("1.10"), Decimal("2.20"), None, Decimal("4.40")]),
        "meta": pa.array([{"k": 1}, None, {"k": 3}, {"k": 4}]),
    }
)
EVENT = pa.struct(list(EVENTS.schema))
ALL = "PATTERN SEQ(A a, B+ b[], C? c) WITHIN 1 hour"


@pytest.fixture(scope="module")
def matches() -> Matches:
    return augury.match(EVENTS, ALL)


def test_arrow_keeps_the_columns_of_the_input(matches: Matches) -> None:
    table = matches.to_arrow()
    zoned = pa.timestamp("s", "Europe/Berlin")
    assert table.schema == pa.schema(
        [("start", zoned), ("end", zoned), ("a", EVENT), ("b", pa.list_(EVENT)), ("c", EVENT)]
    )
    rows = EVENTS.to_pylist()
    assert table.to_pylist()[1] == {
        "start": rows[0]["ts"],
        "end": rows[2]["ts"],
        "a": rows[0],
        "b": [rows[1], rows[2]],
        "c": None,
    }
    table.validate(full=True)


def test_it_is_a_sequence(matches: Matches) -> None:
    assert len(matches) == 6
    assert bool(matches)
    assert next(iter(matches)).rows == {"a": 0, "b": [1], "c": None}
    assert matches[-1].rows == {"a": 0, "b": [2], "c": 3}
    assert matches[-1] == list(matches)[-1]
    assert [m.rows for m in matches[1:3]] == [m.rows for m in list(matches)[1:3]]
    assert matches[::-1] == matches
    assert matches[1:] != matches
    assert (matches == 3) is False
    assert not matches[:0]
    assert matches[:0].to_arrow().schema == matches.to_arrow().schema
    with pytest.raises(IndexError, match="there are 6 matches, none at 6"):
        matches[6]
    with pytest.raises(TypeError, match="unhashable"):
        hash(matches)


def test_equality_is_that_of_the_match_sets() -> None:
    same = augury.match(EVENTS.to_pandas(), ALL)
    assert same == augury.match(EVENTS, ALL)
    assert same != augury.match(EVENTS, "PATTERN SEQ(A a, B+ b[], C? c)" + " WHERE a.x = 2 WITHIN 1 hour")


def test_frames(matches: Matches) -> None:
    frame = matches.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["start", "end", "a", "b", "c"]
    assert len(frame) == 6
    assert frame["b"][1][1]["x"] == 3
    polars = matches.to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert polars["a"].struct.field("x").to_list() == [1] * 6


def test_python_values(matches: Matches) -> None:
    first = matches.to_pylist()[0]
    assert first["start"] == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert first["start"].utcoffset() == dt.timedelta(hours=1)
    assert first["b"][0]["price"] == Decimal("2.20")
    assert matches[0].events["a"]["meta"] == {"k": 1}
    assert matches[0].values is None
    assert matches[0].count is None
    assert matches[0].probability is None


def test_return_replaces_the_variables() -> None:
    query = (
        "PATTERN SEQ(A a, B+ b[], C? c) WITHIN 1 hour RETURN a.price AS price, b.x AS xs, b[last].x AS final, "
        "b[1].ts AS began, c.x AS closing, b.len AS n, b[last].ts - a.ts AS took, a.ts + 1 hour AS later, "
        "sum(b[].x) AS total"
    )
    matches = augury.match(EVENTS, query)
    zoned = pa.timestamp("s", "Europe/Berlin")
    assert matches.to_arrow().schema == pa.schema(
        [
            ("start", zoned),
            ("end", zoned),
            ("price", EVENTS.schema.field("price").type),
            ("xs", pa.list_(pa.uint16())),
            ("final", pa.uint16()),
            ("began", zoned),
            ("closing", pa.uint16()),
            ("n", pa.int64()),
            ("took", pa.duration("s")),
            ("later", zoned),
            ("total", pa.int64()),
        ]
    )
    row = matches.to_pylist()[1]
    assert (row["price"], row["xs"], row["final"], row["closing"], row["n"]) == (Decimal("1.10"), [2, 3], 3, None, 2)
    assert (row["took"], row["total"]) == (dt.timedelta(seconds=2), 5)
    assert row["later"] == dt.datetime(1970, 1, 1, 1, 0, 1, tzinfo=dt.UTC)
    values = matches[1].values
    assert values is not None
    assert values == {k: v for k, v in row.items() if k not in ("start", "end")}
    assert matches[1].rows == {"a": 0, "b": [1, 2], "c": None}


def test_return_over_what_is_not_bound_is_null() -> None:
    query = "PATTERN OR(A a, C c) RETURN a.x AS ax, c.x + 1 AS cx"
    assert [(r["ax"], r["cx"]) for r in augury.match(EVENTS, query).to_pylist()] == [(1, None), (None, 5)]


def test_count_has_an_end_and_a_count() -> None:
    matches = augury.match(EVENTS, "PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour OUTPUT COUNT")
    assert matches.to_arrow().column_names == ["end", "count"]
    assert [r["count"] for r in matches.to_pylist()] == [1, 2]
    assert [(m.count, m.completed_by) for m in matches] == [(1, 1), (2, 2)]
    assert matches[0].rows == {}
    assert matches[0].end == dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=dt.UTC)


def test_variables_named_like_columns_of_the_result() -> None:
    matches = augury.match(EVENTS, "PATTERN SEQ(A start, C end) WITHIN 1 hour")
    assert matches.to_arrow().column_names == ["start", "end", "start_", "end_"]
    assert matches[0].rows == {"start": 0, "end": 3}


@pytest.mark.parametrize(
    "query",
    [
        ALL,
        "PATTERN SEQ(C c, A+ a[]) WITHIN 1 hour RETURN c.x AS x, a.x AS xs, a.len AS n, c.ts AS t, c.meta AS m",
        "PATTERN SEQ(C c, A a) WITHIN 1 hour OUTPUT COUNT",
        "PATTERN SEQ(C c, A a) WITHIN 1 hour OUTPUT COUNT RETURN sum(c.x) AS x, max(c.ts) AS t, avg(c.x) AS m, a.meta",
    ],
)
def test_zero_matches_have_typed_columns(query: str) -> None:
    some, none = augury.match(EVENTS, query), augury.match(EVENTS, query)[:0]
    assert none.to_arrow().schema == some.to_arrow().schema
    assert none.to_arrow().num_rows == 0
    assert (list(none), none.to_pylist(), repr(none)) == ([], [], "0 matches")


def test_repr_is_an_aligned_table() -> None:
    rows: list[dict[str, Any]] = [{"ts": i, "type": "A", "x": "é" * i} for i in range(12)]
    matches = augury.match(rows, "PATTERN A a RETURN a.x AS x, a.ts AS at")
    assert repr(matches[:3]) == (
        "3 matches\nstart  end  x   at\n-----  ---  --  --\n0      0        0\n1      1    é   1\n2      2    éé  2"
    )
    lines = repr(matches).splitlines()
    assert lines[0] == "12 matches, the first 10:"
    assert len(lines) == 13
    assert repr(matches[1]) == "Match(a=1, start=1, end=1, values={'x': 'é', 'at': 1})"


def test_html_is_escaped() -> None:
    rows = [{"ts": 1, "x": "<script>alert('&')</script>", "<b>": 1}]
    matches = augury.match(rows, "PATTERN a RETURN a.x AS `<i>x`")
    html = matches._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)" in html
    assert "&lt;i&gt;x" in html
    assert html.startswith("<div><p>1 match</p><table>")


def test_terminal_controls_are_escaped_in_text() -> None:
    matches = augury.match([{"ts": 1, "x": "\x1b[31mred\nline"}], "PATTERN a RETURN a.x AS x")
    assert "\x1b" not in repr(matches)
    assert "\\x1b[31mred\\nline" in repr(matches)


def test_match_equality() -> None:
    assert Match({"a": 1}, 1, 2) == Match({"a": 1}, 1, 2)
    assert Match({"a": 1}, 1, 2, probability=0.25).__repr__() == "Match(a=1, start=1, end=2, probability=0.25)"
    assert repr(Match({}, 1, 2, count=7, completed_by=3)) == "Match(start=1, end=2, count=7, completed_by=3)"


@pytest.mark.parametrize("compressed", [False, True])
def test_some_of_the_matches(compressed: bool) -> None:
    events = [{"ts": k, "type": "AB"[k % 2]} for k in range(12)]
    matches = augury.match(events, "SEQ(A a, B b)", compressed=compressed)
    assert matches.count() == len(matches) == 21
    assert list(matches.head(3)) == list(matches)[:3]
    assert len(matches.head(100)) == 21
    chosen = matches.sample(5, seed=3)
    assert len(chosen) == 5
    assert all(m in list(matches) for m in chosen)
    assert list(matches.sample(5, seed=3)) == list(chosen)
    assert matches.sample(99) == matches
    assert matches.sample(0).to_arrow().num_rows == 0
    assert matches.count(matches[4]) == 1
    assert sum(table.num_rows for table in matches.to_batches()) == 21
    with pytest.raises(augury.HostError, match="the argument `size` is a number that is not negative, not -1"):
        matches.sample(-1)


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked"])
def test_every_match_is_as_likely_as_any_other(plan: FamilyName) -> None:
    events = [{"ts": k, "type": t} for k, t in enumerate("AABACBC")]
    matches = augury.match(events, "SEQ(A a, B b, C c)", compressed=True, plan=plan, jit=False)
    everything = [tuple(m.rows.values()) for m in matches]
    assert len(everything) == 9 - 2
    drawn = [tuple(matches.sample(1, seed=s)[0].rows.values()) for s in range(700)]
    # The chance of a count outside these bounds is one in some ten thousand.
    assert all(60 <= drawn.count(m) <= 145 for m in everything)


def test_a_sample_of_more_matches_than_fit_64_bits() -> None:
    events = [{"ts": k, "type": "A"} for k in range(90)] + [{"ts": 90, "type": "B"}]
    matches = augury.match(events, "SEQ(A+ a[], B b)", compressed=True)
    lengths = [len(m.rows["a"]) for m in matches.sample(40, seed=1)]
    # Half of the 90 events each, give or take a few: 4.7 is the deviation of one of them.
    assert abs(sum(lengths) / 40 - 45) < 4
