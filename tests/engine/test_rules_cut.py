"""Rules over a finite stream find the same however its events are cut for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from augury import Rules
from augury.engine.cut.by_time import CutAt
from augury.engine.exchange.shuffle import PARTITION, PackEachTask
from augury.engine.host import THIS_PROCESS, Totals
from augury.engine.rules.cutting import parts_of
from augury.engine.rules.finite import CutRules, MatchRulesTask, coded_columns
from augury.engine.rules.planned import PlannedRules, plan_rules
from augury.errors import BudgetExceeded
from augury.options import Roles, make_options
from augury.schema import EventSchema
from tests.engine.rule_streams import ALONE, SHAPES, drawn_events, drawn_rules


@dataclass(frozen=True, slots=True)
class TableStream:
    """A finite stream of a table in memory, of which every second event is a sample."""

    table: pa.Table

    def sample(self, names: Any) -> pa.Table:
        return self.table.take(pa.array(range(0, len(self.table), 2))).select(list(names))

    def totals(self, schema: EventSchema) -> Totals | None:
        times = self.table[schema.time]
        return Totals(len(times), pc.max(times).as_py() - pc.min(times).as_py())


def planned(rows: list[dict[str, Any]], events: pa.Table, **options: Any) -> PlannedRules:
    chosen = make_options(jit=False, **options)
    return plan_rules(Rules.read(rows).enabled, events.schema, Roles(), chosen, TableStream(events))


def cut_and_matched(plan: PlannedRules, events: pa.Table, shares: int, bounds: tuple[int, ...], **options: Any) -> Any:
    """What tasks find, the events of each part cut into shares of its keys, or by time, where that is possible."""
    parts = []
    for part in parts_of(plan):
        cut = None if part.key or part.halo is None else CutAt(bounds, part.halo)
        parts.append(CutRules(part, shares if part.key else 1, cut))
    pack = PackEachTask(tuple(part.pack(plan.schema, coded_columns(plan.arrow)) for part in parts))
    given = events.select(plan.arrow.names)
    packed = pa.Table.from_batches([b for k in (0, 1) for b in pack(given.slice(k * 40, [40, None][k]).to_batches())])
    chosen = make_options(jit=False, **options)
    match = MatchRulesTask(tuple(parts), plan.arrow, plan.schema, chosen, THIS_PROCESS)
    found = []
    for number in range(pack.partitions):
        own = packed.filter(pc.equal(packed[PARTITION], number))
        found += [row for batch in match(own.to_batches()) for row in batch.to_pylist()]
    return Counter(map(str, found))


def in_one_pass(rows: list[dict[str, Any]], events: pa.Table) -> Any:
    return Counter(map(str, Rules.read(rows).match(events, jit=False).table.to_pylist()))


def drawn_table(rng: Random, shapes: list[str]) -> list[dict[str, Any]]:
    drawn = [(k, row) for k, shape in enumerate(shapes) for row in drawn_rules(rng, shape, 3)]
    return [{**row, "id": f"{k} {row['id']}", "labels": [str(k)]} for k, row in drawn]


def distinct_times(rng: Random, count: int) -> pa.Table:
    """Events in any order of which no two have the same time, so that the order of arrival is not needed."""
    times = list(range(count))
    rng.shuffle(times)
    return drawn_events(rng, count).set_column(0, "ts", pa.array(times))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_of_the_events_is_invisible(seed: int) -> None:
    rng = Random(seed)
    shapes = [*rng.sample(SHAPES, 6), *ALONE]
    rows, events = drawn_table(rng, shapes), distinct_times(rng, 90)
    found = cut_and_matched(planned(rows, events), events, 3, (20, 50))
    assert found == in_one_pass(rows, events)
    assert found


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_with_a_common_key_are_one_part() -> None:
    rng = Random(5)
    rows, events = drawn_table(rng, [shape for shape in SHAPES if "[k]" in shape]), distinct_times(rng, 90)
    plan = planned(rows, events)
    (part,) = parts_of(plan)
    assert part.key == ("k",)
    assert cut_and_matched(plan, events, 4, ()) == in_one_pass(rows, events)


PAIR = "PATTERN SEQ({a} a, {b} b) WHERE a.x > {n} WITHIN 9 seconds RETURN a.x AS x"
KEYED = "PATTERN SEQ({a} a, {b} b) WHERE [k] AND a.x > {n} RETURN a.x AS x"
ENDLESS = "PATTERN SEQ({a} a, {b} b) WHERE a.x > {n} AND b.x = 3 RETURN a.x AS x"


def rules_of(text: str, name: str, count: int = 3) -> list[dict[str, Any]]:
    return [{"id": f"{name} {n}", "query": text.format(a="AB"[n % 2], b="C", n=n)} for n in range(count)]


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_that_cannot_be_cut_in_one_way_are_several_parts() -> None:
    rows = [*rules_of(PAIR, "pair"), *rules_of(KEYED, "keyed"), *rules_of(ENDLESS, "endless")]
    events = distinct_times(Random(2), 60)
    plan = planned(rows, events)
    by_time, by_key, whole = parts_of(plan)
    assert (by_time.key, by_time.halo) == ((), 9)
    assert (by_key.key, by_key.halo) == (("k",), None)
    assert (whole.key, whole.halo) == ((), None)
    assert [part.names[0] for part in (by_time, by_key, whole)] == ["pair 0", "keyed 0", "endless 0"]
    assert whole.why_not_by_time == "without WITHIN a match may span the whole stream"
    assert cut_and_matched(plan, events, 2, (20, 40)) == in_one_pass(rows, events)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_long_window_does_not_lengthen_the_chunks_of_the_others() -> None:
    rows = [*rules_of(PAIR, "short"), *rules_of(PAIR.replace("9 seconds", "1 hour"), "long")]
    events = distinct_times(Random(2), 60)
    plan = planned(rows, events)
    short, long = parts_of(plan)
    assert (short.halo, long.halo) == (9, 3600)
    assert cut_and_matched(plan, events, 1, (20, 40)) == in_one_pass(rows, events)


def test_a_plan_says_what_its_rules_need() -> None:
    events = distinct_times(Random(2), 60)
    plan = planned([*rules_of(PAIR, "pair"), {"id": "broken", "query": "PATTERN SEQ("}], events)
    assert plan.arrow.names == ["ts", "type", "x"]
    assert plan.types == frozenset("ABC")
    assert [row[:3] for row in plan.told] == [("broken", "error", "A101")]
    assert not plan.arrival_matters
    anything = planned([*rules_of(PAIR, "pair"), *rules_of("PATTERN SEQ(a, b) WHERE a.x > {n}", "any")], events)
    assert anything.types is None
    assert anything.arrow == events.schema


def test_no_rules_have_no_parts() -> None:
    assert parts_of(planned([], distinct_times(Random(2), 60))) == ()


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_budget_is_that_of_a_rule() -> None:
    events = distinct_times(Random(2), 60)
    rows = rules_of(PAIR, "pair", 6)
    counts = Counter(row["rule"] for row in Rules.read(rows).match(events, jit=False).table.to_pylist())
    most = max(counts.values())
    assert sum(counts.values()) > most + 1
    plan = planned(rows, events)
    assert cut_and_matched(plan, events, 1, (), max_matches=most + 1) == in_one_pass(rows, events)
    with pytest.raises(BudgetExceeded, match=r"rule `pair [0-9]`: max_matches=2 is reached") as error:
        cut_and_matched(plan, events, 1, (), max_matches=2)
    assert error.value.code == "A567"
