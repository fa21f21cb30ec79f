"""Streams that come in batches."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury import AuguryWarning, EventSchema, Exponential, HostError, LossModel, Matcher, QueryError, TooManyMatches

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])
PAIR = "PATTERN SEQ(A a, B b) WITHIN 1 minute"
ALARM = "PATTERN SEQ(A a, NOT(B b)) WITHIN 5 seconds"
PROGRAM = (
    "PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 5 seconds RETURN b.x - a.x AS gain INTO Rise;"
    "PATTERN SEQ(Rise r, A a) WITHIN 20 seconds RETURN r.gain AS gain, a.x AS x INTO Again;"
    "PATTERN SEQ(Again g, B b) WITHIN 9 seconds RETURN g.gain AS gain, g.x AS x, b.x AS y"
)
UNBOUNDED = (
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { } RETURN b.x AS x INTO D;"
    "PATTERN SEQ(D d, C c) WHERE skip_till_next_match { } WITHIN 3 EVENTS"
)
COVERS = (
    "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT COVER RETURN b.x AS x INTO D;"
    "PATTERN SEQ(D+ d[], C c) WHERE strict_contiguity { } WITHIN 9 seconds OUTPUT NONOVERLAP"
)
COUNTS = "PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 4 seconds OUTPUT COUNT"
TOTALS = "PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 4 seconds OUTPUT COUNT RETURN sum(a.ts) AS total, b.ts AS own"


def stream(text: str) -> list[dict[str, Any]]:
    return [{"ts": int(e[1:]), "type": e[0].upper(), "x": int(e[1:]) * 10} for e in text.split()]


def rows(matches: augury.Matches) -> list[dict[str, Any]]:
    return [m.rows for m in matches]


def test_matches_come_as_soon_as_they_are_certain() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    assert rows(matcher.feed(stream("a1"))) == []
    assert rows(matcher.feed(stream("b2 a3"))) == [{"a": 0, "b": 1}]
    found = matcher.feed(stream("b4"))
    assert rows(found) == [{"a": 0, "b": 3}, {"a": 2, "b": 3}]
    assert found.to_pylist()[0]["a"] == {"ts": 1, "type": "A", "x": 10}
    assert rows(matcher.finish()) == []


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_an_open_negation_waits_for_the_watermark() -> None:
    matcher = Matcher(ALARM, COLUMNS)
    assert len(matcher.feed(stream("a1"))) == 0
    assert len(matcher.advance(6)) == 0
    assert rows(matcher.advance(7)) == [{"a": 0}]
    matcher.feed(stream("a10"))
    assert rows(matcher.finish()) == [{"a": 1}]


@pytest.mark.parametrize(
    "events",
    [
        pa.Table.from_pylist(stream("a1"), COLUMNS),
        pa.RecordBatch.from_pylist([{"x": 10, "type": "A", "ts": 1}], pa.schema(reversed(list(COLUMNS)))),
        pa.Table.from_pylist(stream("a1"), COLUMNS).to_pandas(),
        pa.table({"ts": pa.array([1], pa.int16()), "type": ["A"], "x": [10.0]}),
        stream("a1"),
        [{"ts": 1, "type": "A"}],
    ],
    ids=["table", "reordered batch", "pandas", "other types", "dicts", "dicts that leave a column out"],
)
def test_batches_of_any_form(events: Any) -> None:
    assert len(Matcher("PATTERN A a", COLUMNS).feed(events)) == 1


@pytest.mark.parametrize(
    "events, message",
    [
        (pa.table({"ts": [1], "type": ["A"]}), "they lack `x`"),
        (pa.table({"ts": [1], "type": ["A"], "x": [1], "y": [2]}), "have `y` besides"),
        ([{"ts": 1, "y": 2}], "have `y` besides"),
        (pa.table({"ts": [1], "type": ["A"], "x": ["one"]}), "`x` is of type string, but the schema has it as int64"),
        (pa.table({"ts": [1], "type": ["A"], "x": [0.5]}), "column `x` is of type double"),
    ],
)
def test_batches_that_do_not_fit(events: Any, message: str) -> None:
    matcher = Matcher("PATTERN A a", COLUMNS)
    with pytest.raises(HostError) as raised:
        matcher.feed(events)
    assert raised.value.code == "A540"
    assert message in str(raised.value)
    assert rows(matcher.feed(stream("a1"))) == [{"a": 0}]


def test_empty_batches() -> None:
    matcher = Matcher("PATTERN A a", COLUMNS)
    assert len(matcher.feed([])) == 0
    assert len(matcher.feed(COLUMNS.empty_table())) == 0
    assert matcher.feed([]).to_arrow().column_names == ["start", "end", "a"]


def test_the_schema_may_be_an_example_or_an_event_schema() -> None:
    example = [{"ts": "2026-03-14T09:00:00", "type": "A"}]
    matcher = Matcher("PATTERN A a", example)
    assert matcher.feed([{"ts": "2026-03-14T10:00:00.5", "type": "A"}])[0].start == dt.datetime(
        2026, 3, 14, 10, 0, 0, 500000
    )
    assert len(Matcher("PATTERN A a", EventSchema.from_arrow(COLUMNS)).feed(stream("a1"))) == 1
    with pytest.raises(HostError, match="of the schema holds strings"):
        Matcher("PATTERN A a", pa.schema([("ts", pa.string())]))
    with pytest.raises(QueryError):
        Matcher("PATTERN A a WHERE a.nothing > 1", COLUMNS)


# -- order -------------------------------------------------------------------------------------------------------------


def test_a_batch_is_sorted_and_rows_count_arrivals() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    assert rows(matcher.feed(stream("b2 a1"))) == [{"a": 1, "b": 0}]
    assert rows(matcher.feed(stream("b3"))) == [{"a": 1, "b": 2}]


def test_late_events_are_handed_out_once_and_counted() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    matcher.feed(stream("a5"))
    found = matcher.feed(stream("a4 b6 b5 b1"))
    assert rows(found) == [{"a": 0, "b": 2}]
    assert (found.late, matcher.late) == (2, 2)
    assert found.late_events.to_pylist() == stream("a4 b1")
    assert matcher.feed(stream("b6")).late == 0
    size = len(matcher.snapshot())
    again = matcher.feed(stream("b5"))
    assert (again.late, again.late_events.to_pylist()) == (1, stream("b5"))
    assert matcher.late == 3
    for _ in range(50):
        assert matcher.feed(stream("b1 b2 b3")).late == 3
    assert matcher.late == 153
    # A digit more or less of the counters, but no events.
    assert len(matcher.snapshot()) <= size + 128
    assert Matcher.restore(matcher.snapshot()).late == 153


def test_equal_times_are_late_only_by_the_whole_order_key() -> None:
    columns = COLUMNS.append(pa.field("seq", pa.string()))
    matcher = Matcher(PAIR, columns, order_by=("ts", "seq"))
    matcher.feed([{"ts": 1, "seq": "b", "type": "A"}])
    assert matcher.feed([{"ts": 1, "seq": "a", "type": "B"}]).late == 1
    assert matcher.feed([{"ts": 1, "seq": "b", "type": "B"}]).late == 0
    assert rows(matcher.feed([{"ts": 1, "seq": "c", "type": "B"}])) == [{"a": 0, "b": 3}]


@pytest.mark.parametrize("time", [-(2**63), -(2**62), 2**62, 2**63 - 1])
def test_a_time_whose_distance_from_others_may_not_fit_64_bits_is_refused(time: int) -> None:
    columns = COLUMNS.append(pa.field("n", pa.int64()))
    with pytest.raises(HostError) as raised:
        Matcher(PAIR, columns, order_by=("ts", "n")).feed([{"ts": t, "type": "A", "n": 2} for t in (0, time)])
    assert raised.value.code == "A508"
    assert f"a time in column `ts` is out of range: {time} s in row 1" in str(raised.value)


def test_events_earlier_than_an_advanced_watermark_are_late() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    matcher.feed(stream("a1"))
    matcher.advance(10)
    assert matcher.advance(5).late == 0
    assert matcher.feed(stream("b9")).late == 1
    assert rows(matcher.feed(stream("b10"))) == [{"a": 0, "b": 2}]


@pytest.mark.parametrize("lateness", [3, dt.timedelta(seconds=3), dt.timedelta(seconds=2, milliseconds=1)])
def test_a_delay_holds_events_back_and_puts_them_in_order(lateness: dt.timedelta | int) -> None:
    matcher = Matcher(PAIR, COLUMNS, lateness=lateness)
    assert rows(matcher.feed(stream("b5"))) == []
    assert rows(matcher.feed(stream("a4"))) == []
    assert rows(matcher.feed(stream("c8"))) == []
    assert rows(matcher.feed(stream("c9"))) == [{"a": 1, "b": 0}]
    assert matcher.late == 0
    assert matcher.feed(stream("a5")).late == 1
    assert rows(matcher.feed(stream("a6 b7"))) == []
    assert rows(matcher.advance(8)) == [{"a": 1, "b": 6}, {"a": 5, "b": 6}]
    assert rows(matcher.finish()) == []


def test_finish_releases_what_is_held() -> None:
    matcher = Matcher(PAIR, COLUMNS, lateness=100)
    matcher.feed(stream("b2 a1"))
    assert rows(matcher.finish()) == [{"a": 1, "b": 0}]
    with pytest.raises(HostError, match="A541"):
        matcher.feed([])
    with pytest.raises(HostError, match="A541"):
        matcher.advance(1)
    with pytest.raises(HostError, match="A541"):
        matcher.finish()


@pytest.mark.parametrize("lateness", [-1, dt.timedelta(seconds=-1), 1.5, True])
def test_bad_delays(lateness: Any) -> None:
    with pytest.raises(HostError, match="A525"):
        Matcher(PAIR, COLUMNS, lateness=lateness)


def test_watermarks_are_values_of_the_time_column() -> None:
    zoned = Matcher(
        "PATTERN SEQ(A a, NOT(B b)) WITHIN 5 seconds",
        pa.schema([("ts", pa.timestamp("ms", "UTC")), ("type", pa.string())]),
    )
    zoned.feed([{"ts": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "type": "A"}])
    berlin = dt.timezone(dt.timedelta(hours=1))
    assert len(zoned.advance(dt.datetime(2026, 1, 1, 1, 0, 5, tzinfo=berlin))) == 0
    assert len(zoned.advance(dt.datetime(2026, 1, 1, 1, 0, 6, tzinfo=berlin))) == 1
    for bad in (7, 1.5, dt.datetime(2026, 1, 1), "2026-01-01", True, None):
        with pytest.raises(HostError, match="A526"):
            zoned.advance(bad)  # type: ignore[arg-type]
    seconds = Matcher(ALARM, pa.schema([("ts", pa.float64()), ("type", pa.string())]))
    seconds.feed([{"ts": 0.5, "type": "A"}])
    assert len(seconds.advance(5.5)) == 0
    assert len(seconds.advance(5.6)) == 1
    with pytest.raises(HostError, match="A526"):
        Matcher(PAIR, COLUMNS).advance(dt.datetime(2026, 1, 1))


def test_ties_across_batches_and_unknown_types_are_reported() -> None:
    matcher = Matcher("PATTERN SEQ(A a, Bee b) WHERE skip_till_next_match { }", COLUMNS)
    assert matcher.feed(stream("a1")).warnings == ()
    with pytest.warns(AuguryWarning, match="1 of the events is concurrent"):
        assert len(matcher.feed(stream("a1")).warnings) == 1
    with pytest.warns(AuguryWarning, match="no event is of type `Bee`"):
        matcher.finish()


def test_an_error_leaves_the_matcher_as_it_was() -> None:
    matcher = Matcher("PATTERN B+ b[] WITHIN 1 hour", COLUMNS, max_matches=50, plan="reference")
    assert len(matcher.feed(stream("b1 b2"))) == 3
    with pytest.raises(TooManyMatches):
        matcher.feed(stream(" ".join(f"b{i}" for i in range(3, 13))))
    assert len(matcher.feed(stream("b3"))) == 4
    assert len(matcher.finish()) == 0


def test_an_error_in_generated_code_ends_the_matcher() -> None:
    matcher = Matcher("PATTERN B+ b[] WITHIN 1 hour", COLUMNS, max_matches=50, plan="eager-nfa")
    assert len(matcher.feed(stream("b1 b2"))) == 3
    saved = matcher.snapshot()
    with pytest.raises(TooManyMatches):
        matcher.feed(stream(" ".join(f"b{i}" for i in range(3, 13))))
    for go_on in (lambda: matcher.feed(stream("b3")), lambda: matcher.advance(9), matcher.finish, matcher.snapshot):
        with pytest.raises(HostError, match="an error interrupted this matcher") as raised:
            go_on()
        assert "restore an earlier snapshot" in str(raised.value)
    again = Matcher.restore(saved)
    assert len(again.feed(stream("b3"))) == 4
    assert len(again.finish()) == 0


def test_an_error_between_two_queries_ends_the_matcher_too() -> None:
    def fail(x: int) -> int:
        raise ValueError(f"{x} is too much")

    program = "PATTERN A a RETURN fail(a.x) AS y INTO D; PATTERN SEQ(D d, B b)"
    matcher = Matcher(program, COLUMNS, functions={"fail": fail})
    with pytest.raises(Exception, match="10 is too much"):
        matcher.feed(stream("a1"))
    with pytest.raises(HostError, match="A549"):
        matcher.feed(stream("b2"))


def test_an_error_in_the_events_does_no_harm() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    matcher.feed(stream("a1"))
    with pytest.raises(HostError, match="they lack `x`"):
        matcher.feed(pa.table({"ts": [2], "type": ["B"]}))
    assert rows(matcher.feed(stream("b2"))) == [{"a": 0, "b": 1}]


def test_old_events_are_forgotten() -> None:
    matcher = Matcher(
        "PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN a.x AS x INTO D; PATTERN SEQ(D d, A a) WITHIN 5 seconds", COLUMNS
    )
    sizes = []
    for i in range(30):
        matcher.feed(stream(f"a{i * 10} b{i * 10 + 1} a{i * 10 + 2}"))
        sizes.append(len(matcher.snapshot()))
    assert max(sizes[20:]) < 1.2 * max(sizes[5:10])


# -- laws --------------------------------------------------------------------------------------------------------------

streams = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 2)), max_size=14)


def timed(steps: list[tuple[str, int]]) -> list[dict[str, Any]]:
    events, now = [], 0
    for type, gap in steps:
        now += gap
        events.append({"ts": now, "type": type, "x": now * 10})
    return events


def everything(matcher: Matcher, batches: list[list[dict[str, Any]]], *, saved: bool) -> list[str]:
    out = []
    for batch in batches:
        out += matcher.feed(batch).to_pylist()
        if saved:
            matcher = Matcher.restore(matcher.snapshot())
    out += matcher.finish().to_pylist()
    return sorted(map(str, out))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("query", [PAIR, ALARM, PROGRAM, UNBOUNDED, COVERS, COUNTS, TOTALS])
@settings(max_examples=25)
@given(steps=streams, cuts=st.sets(st.integers(0, 14)), saved=st.booleans())
def test_batch_boundaries_and_snapshots_are_invisible(
    query: str, steps: list[tuple[str, int]], cuts: set[int], saved: bool
) -> None:
    events = timed(steps)
    whole = sorted(map(str, augury.match(pa.Table.from_pylist(events, COLUMNS), query).to_pylist()))
    bounds = [0, *sorted(c for c in cuts if c <= len(events)), len(events)]
    batches = [events[a:b] for a, b in pairwise(bounds)]
    assert everything(Matcher(query, COLUMNS), batches, saved=saved) == whole


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(max_examples=25)
@given(steps=streams, order=st.randoms(use_true_random=False), saved=st.booleans())
def test_a_sufficient_delay_makes_disorder_invisible(steps: list[tuple[str, int]], order: Any, saved: bool) -> None:
    events = timed(steps)
    whole = sorted(map(str, augury.match(pa.Table.from_pylist(events, COLUMNS), PROGRAM).to_pylist()))
    shuffled = list(events)
    order.shuffle(shuffled)
    matcher = Matcher(PROGRAM, COLUMNS, lateness=100)
    assert everything(matcher, [[e] for e in shuffled], saved=saved) == whole


@pytest.mark.parametrize("query", [UNBOUNDED, COVERS, COUNTS, TOTALS])
def test_the_queries_of_the_laws_have_matches(query: str) -> None:
    assert len(augury.match(stream("a1 b2 c3 a5 b6 c20"), query)) > 0


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_program_is_not_empty_by_accident() -> None:
    events = stream("a1 b2 a9 b10 a30")
    assert augury.match(pa.Table.from_pylist(events, COLUMNS), PROGRAM).to_pylist() == [
        {"start": 9, "end": 10, "gain": 10, "x": 90, "y": 100}
    ]


# -- snapshots ---------------------------------------------------------------------------------------------------------


def test_a_snapshot_holds_everything_but_the_functions() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE b.x > T AND twice(b.x) > D AND b.x IN (L, 30) WITHIN W"
    parameters = {"T": 5, "D": 1.5, "L": 20, "W": dt.timedelta(minutes=1)}

    def twice(x: int) -> float:
        return 2.0 * x

    functions = {"twice": twice}
    matcher = Matcher(
        query, COLUMNS, order_by=("ts", "x"), plan="reference", parameters=parameters, functions=functions, lateness=2
    )
    matcher.feed(stream("b3 a1 a9 b2"))
    data = matcher.snapshot()
    with pytest.raises(HostError, match="the query calls twice"):
        Matcher.restore(data)
    again = Matcher.restore(data, functions=functions)
    assert again.late == matcher.late
    assert rows(again.feed(stream("b8"))) == rows(matcher.feed(stream("b8")))
    assert again.feed(stream("a1")).late == 1
    matcher.feed(stream("a1"))
    assert again.late == matcher.late
    assert rows(again.finish()) == rows(matcher.finish())
    with pytest.raises(HostError, match="A541"):
        Matcher.restore(again.snapshot(), functions=functions).feed([])


def test_a_restored_function_may_be_spelt_otherwise() -> None:
    def twice(x: int) -> int:
        return 2 * x

    data = Matcher("PATTERN A a WHERE TWICE(a.x) > 30", COLUMNS, functions={"Twice": twice}).snapshot()
    assert rows(Matcher.restore(data, functions={"tWICE": twice}).feed(stream("a1 a2"))) == [{"a": 1}]


def test_a_snapshot_keeps_parameters_of_every_type() -> None:
    columns = pa.schema([("ts", pa.timestamp("us")), ("type", pa.string()), ("v", pa.list_(pa.float64()))])
    query = "PATTERN A a WHERE a.ts > T AND a.type != S AND corr(a.v, L) > 0.9 AND B"
    parameters = {
        "T": dt.datetime(2026, 1, 1, 12),
        "S": "é",
        "L": [1.0, 2.0, 4.0],
        "B": True,
    }
    again = Matcher.restore(Matcher(query, columns, parameters=parameters).snapshot())
    events = [{"ts": dt.datetime(2026, 1, 1, h), "type": "A", "v": [2.0, 4.0, 8.0]} for h in (11, 13)]
    assert rows(again.feed(events)) == [{"a": 1}]
    with pytest.raises(HostError, match="the parameter `unused` of type object cannot be saved"):
        Matcher(PAIR, COLUMNS, parameters={"unused": object()}).snapshot()


def test_a_snapshot_of_a_lossy_query() -> None:
    loss = LossModel(0.1, {"b": 0.0}, {"a": Exponential(10.0), "b": augury.Empirical((0.0, 5.0, 9.0), (1.0, 2.0))})
    query = "PATTERN SEQ(A a, B b) WITHIN 1 minute THRESHOLD 0.01"
    matcher = Matcher(query, COLUMNS, loss=loss)
    matcher.feed(stream("a1"))
    again = Matcher.restore(matcher.snapshot())
    found, expected = again.feed(stream("b2")), matcher.feed(stream("b2"))
    assert found == expected
    assert len(found) > 0


class Odd:
    """A delay model of one's own."""

    def density(self, t: float) -> float:
        return 1.0 if 0 <= t <= 1 else 0.0

    def distribution(self, t: float) -> float:
        return min(max(t, 0.0), 1.0)


def test_what_cannot_be_saved() -> None:
    loss = LossModel(0.1, {}, {"a": Odd(), "b": Odd()})
    matcher = Matcher("PATTERN SEQ(A a, B b) WITHIN 1 minute THRESHOLD 0.01", COLUMNS, loss=loss)
    with pytest.raises(HostError, match="the delay of `a`, a Odd, cannot be saved"):
        matcher.snapshot()


def test_damaged_snapshots() -> None:
    matcher = Matcher(PAIR, COLUMNS)
    matcher.feed(stream("a1"))
    data = matcher.snapshot()
    for bad in (b"", b"nonsense"):
        with pytest.raises(HostError, match="A542"):
            Matcher.restore(bad)
    for bad in (data[:-1], data[:100], data[:500] + b"\0" + data[501:], data + b"x"):
        with pytest.raises(HostError, match="A543"):
            Matcher.restore(bad)
    assert rows(Matcher.restore(data).feed(stream("b2"))) == [{"a": 0, "b": 1}]


def test_a_single_event_is_fed_as_a_batch_of_one() -> None:
    one, many = (Matcher("SEQ(A a, B b) WITHIN 5 seconds", COLUMNS) for _ in range(2))
    events = [{"ts": 1, "type": "A"}, {"ts": 3, "type": "B"}, {"ts": 2, "type": "B"}, {"ts": 9, "type": "B"}]
    fed = [one.feed_event(event) for event in events]
    assert [rows(found) for found in fed] == [rows(many.feed([event])) for event in events]
    assert [found.late for found in fed] == [0, 0, 1, 0]
    assert (one.late, rows(one.finish())) == (many.late, rows(many.finish()))


@pytest.mark.parametrize("event", [["ts", 1], "ts", 7, None])
def test_what_is_no_mapping_is_no_event(event: Any) -> None:
    with pytest.raises(HostError) as raised:
        Matcher("SEQ(A a, B b)", COLUMNS).feed_event(event)
    assert raised.value.code == "A532"


def test_warnings_are_those_of_the_line_that_fed_the_events() -> None:
    matcher = Matcher("PATTERN SEQ(A a, B b) WHERE skip_till_next_match { } WITHIN 9 seconds", COLUMNS)
    with pytest.warns(AuguryWarning, match="concurrent") as told:
        matcher.feed(stream("a1 b1"))
    with pytest.warns(AuguryWarning, match="concurrent") as told_of_one:
        matcher.feed_event({"ts": 1, "type": "B"})
    assert [w.filename for w in (*told, *told_of_one)] == [__file__, __file__]
