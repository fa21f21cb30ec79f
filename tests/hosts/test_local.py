"""`match` and `match_all` over whole streams."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury import AuguryWarning, Exponential, HostError, LossModel, QueryError, TooManyMatches, UnsupportedPlan
from augury.engine.sources.schemas import event_schema, table_columns
from augury.hosts.local.query import run
from augury.options import Roles, make_options
from augury.plan import FamilyName
from augury.source import Source


def stream(text: str) -> list[dict[str, Any]]:
    """`a1 b2` as events: type by letter, time by number."""
    return [{"ts": int(e[1:]), "type": e[0].upper(), "x": int(e[1:]) * 10} for e in text.split()]


def found(matches: augury.Matches) -> list[dict[str, Any]]:
    return [m.rows for m in matches]


def test_unsorted_events_are_sorted_and_rows_are_those_of_the_input() -> None:
    matches = augury.match(stream("c5 b2 a1 b4"), "PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour")
    assert found(matches) == [
        {"a": 2, "b": [1], "c": 0},
        {"a": 2, "b": [1, 3], "c": 0},
        {"a": 2, "b": [3], "c": 0},
    ]
    assert [e["ts"] for e in matches[1].events["b"]] == [2, 4]


def test_concurrent_events_do_not_follow_one_another_until_a_column_orders_them() -> None:
    events = [{"ts": 1, "seq": 2, "type": "B"}, {"ts": 1, "seq": 1, "type": "A"}]
    query = "PATTERN SEQ(A a, B b) WITHIN 1 hour"
    assert len(augury.match(events, query)) == 0
    assert found(augury.match(events, query, order_by=("ts", "seq"))) == [{"a": 1, "b": 0}]


def test_ties_are_a_warning_only_where_arrival_counts() -> None:
    events = stream("a1 b2 b2 b2 c3")
    with pytest.warns(AuguryWarning, match=r'2 of the events are concurrent.*order_by=\("ts", "seq"\)') as record:
        matches = augury.match(events, "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { } WITHIN 1 hour")
    assert [str(w.message) for w in record] == list(matches.warnings)
    assert record[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert augury.match(events, "PATTERN SEQ(A a, B b) WITHIN 1 hour").warnings == ()


def test_a_type_that_no_event_has_is_a_warning_with_a_suggestion() -> None:
    events = [{"ts": 1, "type": "Shelf"}]
    with pytest.warns(AuguryWarning, match="no event is of type `Shelv`; did you mean `Shelf`"):
        matches = augury.match(events, "PATTERN Shelv s")
    assert len(matches) == 0


@pytest.mark.parametrize(
    "events, options, code, message",
    [
        (stream("a1"), {"time": "when"}, "A502", "no time column `when`"),
        (stream("a1"), {"type": "kind"}, "A503", "no type column `kind`"),
        (stream("a1"), {"order_by": ("ts", "n")}, "A504", "no column `n` to order by"),
        (stream("a1"), {"order_by": "x"}, "A505", "order_by must start with the time column"),
        (stream("a1"), {"time_unit": "h"}, "A506", "unknown time unit"),
        (stream("a1"), {"max_matches": 0}, "A522", "max_matches"),
        ([{"ts": 1, "type": "A"}, {"ts": None, "type": "A"}], {}, "A509", "the first is row 1"),
        ([{"ts": 1, "n": None}], {"order_by": ("ts", "n")}, "A536", "row 0 has no value in `n`"),
        ([{"ts": 1.0, "n": float("nan")}], {"order_by": ("ts", "n")}, "A536", "row 0 has no value in `n`"),
        ([{"ts": 1, "n": [1]}, {"ts": 1, "n": [0]}], {"order_by": ("ts", "n")}, "A537", "cannot be ordered by `n`"),
        ([{"ts": True}], {}, "A507", "holds values of type boolean"),
    ],
)
def test_bad_events(events: Any, options: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(HostError) as raised:
        augury.match(events, "PATTERN a", **options)
    assert raised.value.code == code
    assert message in str(raised.value)


def test_no_events_at_all_only_check_the_syntax() -> None:
    matches = augury.match([], "PATTERN SEQ(A a, B b) WHERE a.whatever > 3")
    assert (len(matches), list(matches), matches.to_pylist(), repr(matches)) == (0, [], [], "0 matches")
    assert matches.to_arrow().column_names == ["start", "end"]
    found = augury.match_all([], {"a": "PATTERN A a", "b": "PATTERN B b"})
    assert {name: len(matches) for name, matches in found.items()} == {"a": 0, "b": 0}
    with pytest.raises(QueryError):
        augury.match([], "PATTERN SEQ(")


def test_no_events_of_a_known_schema() -> None:
    empty = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float32())]).empty_table()
    query = "PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour"
    with pytest.warns(AuguryWarning, match="no event is of type"):
        table = augury.match(empty, query).to_arrow()
    event = pa.struct(list(empty.schema))
    assert table.schema == pa.schema([("start", pa.int64()), ("end", pa.int64()), ("a", event), ("b", pa.list_(event))])
    with pytest.raises(QueryError, match="`y`"):
        augury.match(empty, "PATTERN A a WHERE a.y > 3")


def test_the_events_may_have_no_type_column() -> None:
    matches = augury.match([{"ts": 1, "x": 1}, {"ts": 2, "x": 5}], "PATTERN SEQ(a, b) WHERE a.x < b.x WITHIN 1 hour")
    assert found(matches) == [{"a": 0, "b": 1}]


def test_a_type_column_of_numbers_and_null_types() -> None:
    events = pa.table({"ts": [1, 2, 3], "kind": pa.array([7, None, 7], pa.uint8())})
    assert found(augury.match(events, "PATTERN `7` a", type="kind")) == [{"a": 0}, {"a": 2}]
    assert found(augury.match(events, "PATTERN a", type="kind")) == [{"a": 0}, {"a": 1}, {"a": 2}]


def test_non_ascii_names() -> None:
    events = [{"zeit": 1, "größe": 3, "type": "Tür"}]
    matches = augury.match(events, "PATTERN Tür türe WHERE türe.größe > 2 RETURN türe.größe AS größe", time="zeit")
    assert matches.to_pylist() == [{"start": 1, "end": 1, "größe": 3}]


def test_the_query_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "q.augury").write_text("PATTERN A a -- é\n", encoding="utf-8")
    assert len(augury.match(stream("a1"), tmp_path / "q.augury")) == 1
    with pytest.raises(HostError, match="no query file"):
        augury.match(stream("a1"), tmp_path / "none.augury")
    (tmp_path / "bad.augury").write_text("PATTERN SEQ(A a,")
    with pytest.raises(QueryError, match=r"bad\.augury:1:"):
        augury.match(stream("a1"), tmp_path / "bad.augury")


def test_plans_by_name() -> None:
    assert len(augury.match(stream("a1"), "PATTERN A a", plan="reference")) == 1
    assert len(augury.match(stream("a1"), "PATTERN A a", plan="lazy-chain")) == 1
    with pytest.raises(
        UnsupportedPlan, match="plan `event-sets` cannot run this query: skip_till_any_match binds sets"
    ):
        augury.match(stream("a1"), "PATTERN A a", plan="event-sets")
    with pytest.raises(UnsupportedPlan, match="plan `lazy-chain` cannot run this query: strict_contiguity selects"):
        augury.match(stream("a1"), "PATTERN A a WHERE strict_contiguity {}", plan="lazy-chain")
    with pytest.raises(UnsupportedPlan, match="there is no plan `fast`"):
        augury.match(stream("a1"), "PATTERN A a", plan="fast")  # type: ignore[arg-type]


def test_parameters_and_functions() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE b.x > T AND near(a.x, b.x) WITHIN 1 hour RETURN near(a.x, b.x) AS n"

    def near(a: int, b: int) -> bool:
        return abs(a - b) < 15

    matches = augury.match(stream("a1 b2 b3"), query, parameters={"T": 5}, functions={"near": near})
    assert matches.to_pylist() == [{"start": 1, "end": 2, "n": True}]


@pytest.mark.parametrize("spelling", ["score", "Score", "SCORE"])
def test_names_of_functions_do_not_distinguish_case(spelling: str) -> None:
    def score(x: int) -> float:
        return x / 10

    query = f"PATTERN A a WHERE {spelling}(a.x) > 1 RETURN {spelling}(a.x) AS s"
    assert augury.match(stream("a1 a2"), query, functions={"Score": score}).to_pylist() == [
        {"start": 2, "end": 2, "s": 2.0}
    ]


@pytest.mark.parametrize(
    "annotation, value, expected",
    [
        (float, 1, 1.0),
        (float, np.float32(0.5), 0.5),
        (float, 10**400, None),
        (float, None, None),
        (int, np.int64(3), 3),
        (int, True, 1),
        (int, 2**63, None),
        (bool, np.True_, True),
        (str, "é", "é"),
    ],
)
def test_what_a_function_returns_has_the_type_of_its_annotation(annotation: Any, value: Any, expected: Any) -> None:
    def f(x: int) -> Any:
        return value

    f.__annotations__["return"] = annotation
    (found,) = augury.match(stream("a1"), "PATTERN A a RETURN f(a.x) AS y", functions={"f": f})
    assert found.values == {"y": expected}


@pytest.mark.parametrize("annotation, value", [(float, "1"), (int, 1.5), (bool, 1), (str, 1), (float, [1.0])])
@pytest.mark.parametrize("query", ["PATTERN A a WHERE f(a.x) = f(a.x)", "PATTERN A a RETURN f(a.x) AS y"])
def test_a_function_that_breaks_its_annotation(query: str, annotation: Any, value: Any) -> None:
    def f(x: int) -> Any:
        return value

    f.__annotations__["return"] = annotation
    with pytest.raises(HostError, match=r"A527.*`f\(\w\.x\)` is of type \w+, but one of its values is not") as raised:
        augury.match(stream("a1"), query, functions={"f": f}).to_arrow()
    assert repr(value) in raised.value.message


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked", "reference"])
def test_a_registered_function_is_called_for_events_of_the_types_that_are_asked_for_it(plan: FamilyName) -> None:
    def inverse(x: float) -> float:
        return 1 / x

    events = pa.table({"ts": range(5), "type": list("ACBAB"), "x": [1.0, 0.0, 0.0, 4.0, 0.0]})
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { inverse(a.x) > 0.3 } WITHIN 1 minute"
    assert len(augury.match(events, query, functions={"inverse": inverse}, plan=plan)) == 2


def test_a_derived_number_of_days_is_a_duration_to_the_next_query() -> None:
    days = [{"ts": i, "type": t, "day": dt.date(2026, 3, d)} for i, (t, d) in enumerate([("A", 1), ("B", 4), ("B", 6)])]
    first = "PATTERN SEQ(A a, B b) RETURN b.day - a.day AS days INTO Gap;"
    three, five = augury.match(days, first + "PATTERN Gap g RETURN g.days, g.days * 2 AS twice")
    assert (three.values, five.values) == (
        {"days": dt.timedelta(days=3), "twice": dt.timedelta(days=6)},
        {"days": dt.timedelta(days=5), "twice": dt.timedelta(days=10)},
    )
    assert len(augury.match(days, first + "PATTERN Gap g WHERE g.days = 3 days")) == 1
    assert len(augury.match(days, first + "PATTERN SEQ(Gap g, Gap h) WHERE h.days - g.days = 48 hours")) == 1
    columns = augury.match(days, first + "PATTERN Gap g").to_arrow().schema.field("g").type
    assert columns.field("days").type == pa.duration("s")


def test_a_derived_duration_that_does_not_fit_is_null() -> None:
    days = [{"ts": i, "type": t, "day": dt.date(2026, 3, i + 1)} for i, t in enumerate("AB")]
    query = "PATTERN SEQ(A a, B b) RETURN (b.day - a.day) * 1000000000000000 AS days"
    assert augury.match(days, query)[0].values == {"days": None}


def test_an_explosion_is_refused() -> None:
    with pytest.raises(TooManyMatches):
        augury.match(stream(" ".join(f"b{i}" for i in range(12))), "PATTERN B+ b[] WITHIN 1 hour", max_matches=100)


def test_threshold_needs_a_loss_model() -> None:
    query = "PATTERN SEQ(A a, B b) WITHIN 1 minute THRESHOLD 0.01"
    with pytest.raises(HostError, match="A550"):
        augury.match(stream("a1 b2"), query)
    loss = LossModel(rate=0.1, delays={"a": Exponential(10.0), "b": Exponential(10.0)})
    matches = augury.match(stream("a1 b2"), query, loss=loss)
    assert matches.to_arrow().schema.field("probability").type == pa.float64()
    assert {"a": 0, "b": 1} in found(matches)
    complete = next(m for m in matches if m.rows == {"a": 0, "b": 1})
    assert complete.probability == 1.0
    missing = next(m for m in matches if m.rows == {"a": None, "b": 1})
    assert missing.events["a"] is None
    assert missing.probability is not None
    assert 0 < missing.probability < 0.1


def test_a_reader_that_fails() -> None:
    def batches() -> Any:
        yield pa.record_batch({"ts": [1]})
        raise pa.ArrowInvalid("the disk is gone")

    with pytest.raises(HostError, match="the disk is gone"):
        augury.match(pa.RecordBatchReader.from_batches(pa.schema([("ts", pa.int64())]), batches()), "PATTERN a")


def test_parse_and_compile() -> None:
    assert str(augury.parse("pattern a; pattern b")) == "PATTERN   a;\n\nPATTERN   b"
    compiled = augury.compile("PATTERN A a", pa.schema([("at", pa.int64()), ("type", pa.string())]), time="at")
    assert compiled.program.last.bound.schema.time == "at"
    again = augury.compile("PATTERN A a", compiled.program.last.bound.schema)
    assert again.program.last.bound.pattern == compiled.program.last.bound.pattern


# -- programs ----------------------------------------------------------------------------------------------------------

RISE_THEN_FALL = """
PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN a.x AS first, b.x - a.x AS gain INTO Rise;
PATTERN SEQ(Rise r, C c) WHERE c.x > r.gain WITHIN 1 minute RETURN r.gain AS gain, c.ts AS at
"""


def test_matches_of_one_query_are_events_of_the_next() -> None:
    events = stream("a1 b2 b4 c5 c30")
    rises, falls = augury.compile(RISE_THEN_FALL, events).match_each(events)
    assert rises.to_pylist() == [
        {"start": 1, "end": 2, "first": 10, "gain": 10},
        {"start": 1, "end": 4, "first": 10, "gain": 30},
    ]
    assert sorted((r["gain"], r["at"]) for r in falls.to_pylist()) == [(10, 5), (10, 30), (30, 5), (30, 30)]
    # Derived events are numbered after the five events of the input.
    assert {m.rows["r"] for m in falls} == {5, 6}
    assert falls[0].events["r"] == {"ts": 2, "type": "Rise", "x": None, "first": 10, "gain": 10}
    assert augury.match(stream("a1 b2 b4 c5 c30"), RISE_THEN_FALL) == falls


def test_a_derived_event_is_concurrent_with_the_last_event_of_its_match() -> None:
    program = "PATTERN A a RETURN a.x AS v INTO D; PATTERN SEQ(D d, A a) WITHIN 1 minute"
    assert found(augury.match(stream("a1 a2"), program)) == [{"d": 2, "a": 1}]
    follow = "PATTERN A a RETURN a.x AS v INTO D; PATTERN SEQ(A a, D d) WHERE strict_contiguity { }"
    # In arrival order the derived event comes right after its own, which it does not follow in time.
    assert found(augury.match(stream("a1 a5"), follow)) == []


def test_derived_types_may_be_chained() -> None:
    program = (
        "PATTERN SEQ(A a, B b) WITHIN 9 seconds RETURN a.x AS v INTO D; "
        "PATTERN SEQ(D d, C c) WITHIN 9 seconds RETURN d.v AS w INTO E; "
        "PATTERN SEQ(E e, A a) WITHIN 9 seconds RETURN e.w AS w, a.x AS x"
    )
    last = augury.match(stream("a1 b2 c3 a4"), program)
    assert last.to_pylist() == [{"start": 3, "end": 4, "w": 10, "x": 40}]


def test_derived_columns_share_a_column_of_the_input() -> None:
    table = pa.table({"ts": [1, 2], "type": ["A", "B"], "n": pa.array([1, 2], pa.int16())})
    program = "PATTERN A a RETURN a.n + 70000 AS n INTO D; PATTERN OR(D d, B b)"
    matches = augury.match(table, program)
    assert [row["d"] and row["d"]["n"] for row in matches.to_pylist()] == [70001, None]
    assert [row["b"] and row["b"]["n"] for row in matches.to_pylist()] == [None, 2]


def test_a_number_type_column_takes_derived_types() -> None:
    table = pa.table({"ts": [1, 2], "kind": [7, 8]})
    program = "PATTERN `7` a RETURN a.ts AS since INTO D; PATTERN SEQ(D d, `8` b) WITHIN 1 hour"
    assert found(augury.match(table, program, type="kind")) == [{"d": 2, "b": 1}]


@pytest.mark.parametrize("name", ["ts", "type"])
def test_a_derived_event_cannot_name_its_own_time_or_type(name: str) -> None:
    with pytest.raises(HostError, match=f"A512.*AS {name}"):
        augury.match(stream("a1"), f"PATTERN A a RETURN a.{name} AS {name} INTO D; PATTERN D d")


def test_into_needs_a_type_column() -> None:
    with pytest.raises(HostError, match="A510"):
        augury.match([{"ts": 1}], "PATTERN a RETURN a.ts AS x INTO D; PATTERN d")


@pytest.mark.parametrize(
    "query, relevant",
    [
        ("PATTERN SEQ(A a, B b) WITHIN 3 seconds", 50),
        ("PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 3 seconds", 60),
        (
            "PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 3 seconds RETURN a.x AS x INTO D; PATTERN SEQ(D d, A a) WITHIN 5 s",
            60,
        ),
    ],
)
def test_slices_for_the_progress_bar_change_nothing(query: str, relevant: int) -> None:
    table = pa.Table.from_pylist(stream(" ".join(f"{'abacab'[i % 6]}{i}" for i in range(60))))
    options = make_options(max_matches=1000)
    known = table_columns(table, event_schema(table.schema, Roles()))
    whole = run(known, Source(query), options)
    told: list[tuple[int, int]] = []
    telling = make_options(max_matches=1000, progress=lambda done, total: told.append((done, total)))
    sliced = run(known, Source(query), telling, every=7)
    assert told[0] == (7, relevant)
    assert told[-1] == (relevant, relevant)
    assert [len(m) for m in sliced] == [len(m) for m in whole]
    assert [sorted(map(str, m.to_pylist())) for m in sliced] == [sorted(map(str, m.to_pylist())) for m in whole]
    assert len(whole[-1]) > 0


EPOCH = dt.datetime(1970, 1, 1)
UTC_EPOCH = EPOCH.replace(tzinfo=dt.UTC)

# -- times -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "times, expected",
    [
        (pa.array([1, 2], pa.int32()), (1, 2)),
        (pa.array([0.1, 1700000000.3]), (0.1, 1700000000.3)),
        (pa.array([1, 2], pa.timestamp("ms")), (EPOCH.replace(microsecond=1000), EPOCH.replace(microsecond=2000))),
        (pa.array([0, 1500], pa.timestamp("ns", "UTC")), (UTC_EPOCH, UTC_EPOCH.replace(microsecond=1))),
        (pa.array([0, 1], pa.int32()).cast(pa.date32()), (dt.date(1970, 1, 1), dt.date(1970, 1, 2))),
        (pa.array([dt.date(1970, 1, 1), dt.date(1970, 1, 2)], pa.date64()), (dt.date(1970, 1, 1), dt.date(1970, 1, 2))),
    ],
    ids=str,
)
def test_start_and_end_are_values_of_the_time_column(times: pa.Array, expected: tuple[Any, Any]) -> None:
    table = pa.table({"ts": times})
    matches = augury.match(table, "PATTERN SEQ(a, b)")
    (only,) = matches
    assert (only.start, only.end) == expected
    assert matches.to_arrow().schema.field("start").type == times.type


def test_slices_together_respect_max_matches() -> None:
    table = pa.Table.from_pylist(stream(" ".join(f"a{i}" for i in range(20))))
    options = make_options(max_matches=12, progress=lambda done, total: None)
    known = table_columns(table, event_schema(table.schema, Roles()))
    with pytest.raises(TooManyMatches, match="more than 12 matches"):
        run(known, Source("PATTERN A a WITHIN 1 second"), options, every=5)
