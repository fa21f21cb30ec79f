"""Rules in buckets of a stream, edited and run again after crashes: they find what their history asks for."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from augury import HostError
from augury.engine.cut.by_key import key_shares
from augury.engine.rules import buckets
from augury.engine.rules.buckets import RuleBuckets, rule_rows
from augury.engine.rules.table import read_rules
from augury.engine.rules.versions import RuleVersion, last_version, publish, read_version, rules_text
from augury.engine.state import bucket_cache
from augury.engine.stream import LateEvents, MatchedRows
from augury.options import make_options
from augury.runtime.state import LONG_AGO
from augury.schema import EventSchema
from tests.engine.rule_history import Batch, MatchRow, asked_for
from tests.engine.rule_streams import ALONE, SHAPES, drawn_events, edited
from tests.engine.test_stream import Dictionaries
from tests.thorough import rounds

COLUMNS = drawn_events(Random(0), 4).schema

KEYED = [
    *(shape for shape in SHAPES if "[k]" in shape or "a.k = b.k" in shape),
    "PATTERN SEQ({A} a, {B} b) WHERE [k] AND a.x > {n} WITHIN {w} seconds OUTPUT NONOVERLAP",
    "PATTERN SEQ({A} a, {B} b) WHERE partition_contiguity {{ [k] AND a.x > {n} }} WITHIN {w} seconds RETURN a.x AS x",
    "PATTERN SEQ({A} a, {B} b) WHERE [k] AND a.x > {n} WITHIN 8 EVENTS",
]

DELAY = 4  # ticks that the watermark stays behind the latest event


class RuleHost:
    """A host with its state in dictionaries, which may crash in a micro-batch and run it again."""

    def __init__(self, buckets: int, keep: int = 0, key: tuple[str, ...] = (), **options: Any) -> None:
        schema, result = EventSchema.from_arrow(COLUMNS), rule_rows(COLUMNS.field("ts").type)
        own = make_options(jit=False, **options)
        self.stream = RuleBuckets(COLUMNS, schema, own, buckets, result, keep, key=key)
        self.stores = [Dictionaries() for _ in range(buckets)]
        self.watermark = LONG_AGO
        self.found: list[MatchRow] = []
        self.told: list[tuple[str, str]] = []
        self.spent: list[dict[str, Any]] = []
        self.late = 0

    def feed(self, events: pa.Table | None, newest: RuleVersion | None, rng: Random) -> None:
        passed = self.watermark
        self.watermark = self._after(events, passed)
        for number in range(self.stream.buckets):
            own = self._own(events, number)
            if own is None and newest is None and events is not None:
                # A bucket that gets nothing is not called.
                continue
            # With a key, a bucket is told of the events that it gets itself.
            watermark = self._after(own, passed)
            if rng.random() < 0.3:
                # An attempt whose state the host threw away.
                list(self.stream.advance(number, own, [copy.deepcopy(self.stores[number])], passed, 10**6, newest))
            if rng.random() < 0.3:
                bucket_cache._cached.clear()
            store = self.stores[number]
            for output in self.stream.advance(number, own, [store], passed, watermark, newest):
                match output:
                    case LateEvents(table):
                        self.late += len(table)
                    case MatchedRows(table):
                        self._note(table)

    def _after(self, events: pa.Table | None, passed: int) -> int:
        """The watermark after these events."""
        times: list[int] = [] if events is None else events["ts"].to_pylist()
        return max([passed, *(t - DELAY for t in times)])

    def _own(self, events: pa.Table | None, number: int) -> pa.Table | None:
        """The events of a bucket."""
        if not self.stream.key or events is None:
            return events
        own = events.filter(pa.array(key_shares(events, self.stream.key, self.stream.buckets) == number))
        return own if len(own) else None

    def _note(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            if row["cost"] is not None:
                self.spent.append({"rule": row["rule"], **row["cost"]})
            elif row["level"] is None:
                self.found.append((row["rule"], tuple(row["labels"]), row["start"], row["end"], row["match"]))
            else:
                self.told.append((row["rule"], row["code"]))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("key", [(), ("k",)])
@pytest.mark.parametrize("seed", range(rounds(3, 200)))
def test_rules_find_what_their_history_asks_for(seed: int, key: tuple[str, ...]) -> None:
    rng = Random(seed)
    shapes = rng.sample(KEYED, 3) if key else [*rng.sample(SHAPES, 2), rng.choice(ALONE)]
    keep = rng.choice([0, 6, 30])
    host, history = RuleHost(rng.choice([1, 3]), keep, key), list[Batch]()
    table = dict[str, dict[str, Any]]()
    number, arrived, late = 0, 0, 0
    for k in range(14):
        newest = None
        if rng.random() < 0.7:
            edited(rng, table, shapes, k)
            number += 1
            newest = RuleVersion(number, rules_text(read_rules(table.values())))
        events = drawn_events(rng, rng.choice([0, 5, 14]))
        times = pa.array([10 * k + t + rng.choice([0, 0, -3]) for t in events["ts"].to_pylist()], pa.int64())
        events, passed = events.set_column(0, "ts", times).cast(COLUMNS), host.watermark
        host.feed(events, newest, rng)
        in_time = events.filter(pc.greater_equal(times, passed))
        arrived, late = arrived + len(events), late + len(events) - len(in_time)
        rules = None if newest is None else [dict(row) for row in table.values()]
        history.append(Batch(rules, in_time, host.watermark))
    # Buckets that wait for events are woken.
    host.feed(None, None, rng)
    assert sorted(host.found, key=str) == sorted(asked_for(history, COLUMNS, keep), key=str)
    assert host.late == late
    assert host.told == []
    counted, events = Counter(match[0] for match in host.found), Counter[str]()
    for spent in host.spent:
        counted[spent["rule"]] -= spent["matches"]
        events[spent["rule"]] += spent["events"]
        assert spent["seconds"] > 0
        assert spent["events"] or spent["matches"]
        assert (spent["last_match"] is None) == (not spent["matches"])
    assert not any(counted.values())
    assert not {match[0] for match in host.found} - set(events)


def test_rules_that_are_not_of_the_key_are_refused_once_and_the_others_go_on() -> None:
    rng, host = Random(5), RuleHost(3, key=("k",), max_matches=200)
    rows = [
        {"id": "broken", "query": "PATTERN SEQ("},
        {"id": "keyless", "query": "PATTERN SEQ(A a, B b) WHERE a.x > 3 WITHIN 3 seconds"},
        {"id": "alone", "query": "PATTERN SEQ(A a, B b) WHERE a.x > 3 WITHIN 3 seconds OUTPUT NONOVERLAP"},
        {"id": "many", "query": "PATTERN SEQ(A+ a[], B b) WHERE [k] AND a[i].x >= 0 WITHIN 1 hour"},
        {"id": "fine", "query": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x > 3 WITHIN 3 seconds"},
    ]
    history = []
    for k in range(6):
        batch = {"ts": range(20 * k, 20 * k + 20), "type": ["A"] * 18 + ["B"] * 2, "x": range(20), "y": [1.0] * 20}
        events = pa.table({**batch, "k": ["p", "q"] * 10}, schema=COLUMNS)
        host.feed(events, RuleVersion(1, rules_text(read_rules(rows))) if k == 0 else None, rng)
        history.append(Batch([rows[4]] if k == 0 else None, events, host.watermark))
    host.feed(None, None, rng)
    once = Counter(host.told)
    # A budget holds in a bucket.
    assert once.pop(("many", "A567")) == len(set(key_shares(events, ["k"], 3).tolist()))
    assert once == Counter([("broken", "A101"), ("keyless", "A684"), ("alone", "A684")])
    assert sorted(m for m in host.found if m[0] == "fine") == sorted(asked_for(history, COLUMNS))


def test_rules_that_are_broken_or_explode_are_told_once_and_the_others_go_on() -> None:
    rng, host = Random(5), RuleHost(2, max_matches=200)
    rows = [
        {"id": "broken", "query": "PATTERN SEQ("},
        {"id": "many", "query": "PATTERN SEQ(A+ a[], B b) WHERE a[i].x >= 0 WITHIN 1 hour"},
        {"id": "fine", "query": "PATTERN SEQ(A a, B b) WHERE a.x > 3 WITHIN 3 seconds"},
    ]
    history = []
    for k in range(6):
        times = range(20 * k, 20 * k + 20)
        batch = {"ts": times, "type": ["A"] * 19 + ["B"], "x": range(20), "y": [1.0] * 20, "k": ["p"] * 20}
        events = pa.table(batch, schema=COLUMNS)
        newest = RuleVersion(1, rules_text(read_rules(rows))) if k == 0 else None
        host.feed(events, newest, rng)
        history.append(Batch([rows[2]] if k == 0 else None, events, host.watermark))
    assert sorted(host.told) == [("broken", "A101"), ("many", "A567")]
    assert sorted(m for m in host.found if m[0] == "fine") == sorted(asked_for(history, COLUMNS))


def test_what_is_saved_follows_the_window_whatever_the_number_of_edits() -> None:
    host, rng, sizes = RuleHost(1), Random(1), []
    for k in range(40):
        rows = [{"id": n, "query": f"PATTERN SEQ(A a, B b) WHERE a.x > {k + n} WITHIN 10 seconds"} for n in range(3)]
        times = range(20 * k, 20 * k + 20)
        batch = {"ts": times, "type": ["A", "B"] * 10, "x": range(20), "y": [1.0] * 20, "k": ["p"] * 20}
        host.feed(pa.table(batch, schema=COLUMNS), RuleVersion(k + 1, rules_text(read_rules(rows))), rng)
        sizes.append(sum(map(len, host.stores[0].segments.values())))
    assert max(sizes[20:]) <= 1.2 * max(sizes[5:20])


def test_a_checkpoint_of_other_columns_is_refused() -> None:
    host = RuleHost(2)
    (store,) = stores = [Dictionaries()]
    host.stream.check(stores)
    host.stream.check(stores)
    other = RuleHost(3)
    with pytest.raises(HostError) as error:
        other.stream.check([store])
    assert error.value.code == "A570"


# -- versions ----------------------------------------------------------------------------------------------------------


def test_versions_are_published_once_and_stay_as_they_are(tmp_path: Any) -> None:
    folder = tmp_path / "rules"
    rows = [{"id": "a", "query": "PATTERN A a", "parameters": {"n": 1}, "labels": ["x"], "backfill": True, "more": 1}]
    first = read_rules(rows)
    assert publish(folder, first) == publish(folder, first) == 1
    assert publish(folder, ()) == 2
    assert publish(folder, first) == 3
    (again,) = read_version(folder, 1).rules
    assert again.finds_as(first[0])
    assert (again.labels, again.backfill, again.enabled) == (("x",), True, True)
    last = last_version(folder)
    assert last is not None
    assert last.number == 3
    (folder / ".claimed-0000000004").touch()
    assert publish(folder, ()) == 5
    with pytest.raises(HostError) as error:
        read_version(folder, 4)
    assert error.value.code == "A688"


def test_buckets_of_a_process_read_and_plan_rules_once() -> None:
    rng, host = Random(6), RuleHost(3)
    rows = [{"id": f"r{n}", "query": f"PATTERN SEQ(A a, B b) WHERE a.x > {n} WITHIN 3 seconds"} for n in range(9)]
    events = drawn_events(rng, 20).cast(COLUMNS)
    planned = []
    # Streams of other tests may have the same columns and options.
    buckets._plans.clear()
    for k in range(4):
        # Every bucket is loaded from its store.
        bucket_cache._cached.clear()
        later = events.set_column(0, "ts", pc.add(events["ts"], 20 * k))
        host.feed(later, None if k else RuleVersion(1, rules_text(read_rules(rows))), rng)
        plans = host.stream._plans(host.stream.options)
        planned.append((plans.shapes.bound, [query for _, query in plans._planned.values()]))
    assert planned[0] == planned[-1]
    assert [len(queries) for _, queries in planned] == [1] * 4
    assert planned[-1][0] == 1
