"""Rules of one shape, matched in one stream, find what each finds alone."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from augury import Rules
from augury.engine.rules import candidates, event_columns
from augury.engine.rules.candidates import OpenKeys, RuleIndex
from augury.engine.rules.event_columns import EventsByKey
from augury.engine.rules.group import SharedEvents
from augury.engine.rules.grouping import RuleShapes, grouped
from augury.engine.rules.matching import FiniteGroup
from augury.engine.sources.schemas import known_events
from augury.options import read_options
from tests.engine.rule_streams import SHAPES, drawn_events, drawn_rules, found_alone, listed


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("shape", SHAPES)
def test_rules_find_what_each_finds_alone(shape: str) -> None:
    for seed in range(3):
        rng = Random(f"{shape}{seed}")
        rows, events = drawn_rules(rng, shape, rng.choice([2, 7])), drawn_events(rng, 40)
        roles, options = read_options({"jit": False})
        known = known_events(events, roles)
        assert known is not None
        groups, alone = grouped(Rules.read(rows), known.schema, options)
        found = Rules.read(rows).match(events, jit=False)
        wanted = found_alone(rows, events)
        assert not [row for row in found.diagnostics.to_pylist() if row["level"] == "error"]
        assert sorted(listed(found), key=str) == sorted(wanted, key=str)
        assert sum(map(len, groups)) + len(alone) == len(rows)
        # The matches of a rule come in their order.
        for row in rows:
            assert [m[:3] for m in listed(found) if m[0] == row["id"]] == [m[:3] for m in wanted if m[0] == row["id"]]


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("shape", [*SHAPES[:4], SHAPES[6], SHAPES[11], SHAPES[12]])
def test_places_are_the_same_in_tables_and_by_search(shape: str, tables: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many events numbers are looked up by value and places by key in tables, unless these would be too large."""
    monkeypatch.setattr(event_columns, "MIN_EVENTS_BY_VALUE", 1 if tables else 1 << 30)
    monkeypatch.setattr(candidates, "MAX_TABLE", 1 << 18 if tables else 0)
    rng = Random(shape)
    rows, events = drawn_rules(rng, shape, 8), drawn_events(rng, 60)
    found = Rules.read(rows).match(events, jit=False)
    assert sorted(listed(found), key=str) == sorted(found_alone(rows, events), key=str)


@pytest.mark.parametrize("table", [True, False])
def test_events_by_key_are_found_from_any_position_on(table: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_columns, "MIN_EVENTS_BY_VALUE", 1 if table else 1 << 30)
    keys = np.array([7, 3, 7, 7, 5, 3])
    events = EventsByKey.of(keys)
    assert (events.table is not None) == table
    there, known = events.find(np.array([7, 4, 3]))
    assert known.tolist() == [True, False, True]
    for key in (there[0], there[2]):
        for position in range(len(keys) + 1):
            (place,) = events.places(np.array([key]), np.array([position]))
            (end,) = events.places(np.array([key]), np.array([len(keys)]))
            wanted = [k for k in range(position, len(keys)) if keys[k] == events.distinct[key]]
            assert events.by_key[place:end].tolist() == wanted


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("max_pairs", [1, 40])
def test_how_many_are_matched_at_a_time_makes_no_difference(max_pairs: int) -> None:
    rng = Random(max_pairs)
    rows, events = drawn_rules(rng, SHAPES[1], 12), drawn_events(rng, 60)
    roles, options = read_options({"jit": False})
    known = known_events(events, roles)
    assert known is not None
    assert known.scan is not None
    options = options.watched()
    groups, _ = grouped(Rules.read(rows), known.schema, options)
    shared, counted = SharedEvents(known.scan.ordered, known.schema), 0
    for rules in groups:
        group = FiniteGroup(rules, shared, options, lambda _query, _events, given: given, max_pairs)
        for part in group.matches():
            assert len(part.rules) == 1 or part.touched.sum() <= max_pairs
            counted += len(part.found)
        assert not group.failed
    together = {rule.rule.id for rules in groups for rule in rules}
    assert counted == len(found_alone([row for row in rows if row["id"] in together], events)) > 0


def test_an_event_touches_the_rules_that_it_can_concern() -> None:
    """Pairs of events and rules are counted: 1,000 rules with bounds over 2,000 events are not two million."""
    n = 2_000
    events = pa.table(
        {"ts": range(n), "type": ["A", "B"] * (n // 2), "x": range(n), "k": [str(k % 50) for k in range(n)]}
    )
    text = "PATTERN SEQ(A a, B b) WHERE a.x > low AND a.k = key AND b.x > a.x WITHIN 10 seconds"
    parameters: list[dict[str, Any]] = [{"low": n - 2 * k % 100, "key": str(k % 50)} for k in range(1_000)]
    rules = Rules.read([{"id": k, "query": text, "parameters": given} for k, given in enumerate(parameters)])
    found = rules.match(events, jit=False)
    touched = sum(found.costs["events"].to_pylist())
    opening = sum(e > p["low"] and str(e % 50) == p["key"] for p in parameters for e in range(0, n, 2))
    assert opening <= touched <= 6 * opening
    assert len(set(found.costs["shape"].to_pylist())) == 1
    roles, options = read_options({})
    known = known_events(events, roles)
    assert known is not None
    shapes = RuleShapes(known.schema, options)
    assert all(shapes.shape(rule) is not None for rule in rules)
    assert shapes.bound == 1
    wanted = found_alone([{"id": "7", "query": text, "parameters": parameters[7]}], events)
    assert [m for m in listed(found) if m[0] == "7"] == wanted


@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_that_is_known_is_not_bound_again_and_means_the_same(shape: str) -> None:
    rng = Random(shape)
    with_parameters = shape.replace("'{k}'", "{k}").replace("{f}", "f").replace("{k}", "k")
    rows = drawn_rules(rng, shape, 12) + drawn_rules(rng, with_parameters, 12)
    for number, row in enumerate(rows):
        row["id"] = number
        row["parameters"] = {"f": rng.choice([1, 2.5, 1e300]), "k": rng.choice(["p", "it's"])}
    rows += [{**rows[0], "id": "odd", "query": rows[0]["query"].replace("A", "NOT").replace("B", "seq")}]
    rows += [{**rows[0], "id": "long", "query": rows[0]["query"].replace("> ", "> 12345678901234567890")}]
    roles, options = read_options({})
    known = known_events(drawn_events(rng, 5), roles)
    assert known is not None
    together = RuleShapes(known.schema, options)
    for rule in Rules.read(rows):
        found, alone = together.shape(rule), RuleShapes(known.schema, options).shape(rule)
        assert (found is None) == (alone is None)
        if found is not None and alone is not None:
            ours, theirs = found.shaped, alone.shaped
            assert (ours.shape, ours.values, ours.types) == (theirs.shape, theirs.values, theirs.types)
            assert [type(v) for v in ours.values] == [type(v) for v in theirs.values]
    before = together.bound
    alone_again = sum(together.shape(rule) is None for rule in Rules.read(rows))
    assert together.bound == before + alone_again


@pytest.mark.parametrize(
    "clauses",
    ["OUTPUT NONOVERLAP", "OUTPUT COVER", "OUTPUT ALL ONCE", "OUTPUT ALL EVERY 5 seconds", "OUTPUT FIRST"],
)
def test_rules_that_say_more_stand_alone(clauses: str) -> None:
    rng = Random(clauses)
    text = f"PATTERN SEQ(A a, B b) WHERE a.x > least WITHIN 5 seconds {clauses}"
    rows = [{"id": f"{n}", "query": text, "parameters": {"least": n}} for n in range(3)]
    events = drawn_events(rng, 40).sort_by("ts")
    roles, options = read_options({})
    known = known_events(events, roles)
    assert known is not None
    groups, alone = grouped(Rules.read(rows), known.schema, options)
    assert (groups, len(alone)) == ([], 3)


def test_an_exploding_rule_is_told_and_the_others_of_its_shape_go_on() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE a[i].x > {n} WITHIN 1 hour RETURN a.len AS len"
    events = pa.table({"ts": range(40), "type": ["A"] * 39 + ["B"], "x": range(40)})
    rows = [{"id": f"over {n}", "query": text.format(n=n)} for n in (35, 36, 0, 37)]
    found = Rules.read(rows).match(events, jit=False, max_matches=50)
    assert [(row["rule"], row["level"]) for row in found.diagnostics.to_pylist()] == [("over 0", "error")]
    assert listed(found) == found_alone([rows[0], rows[1], rows[3]], events)


def test_what_is_open_goes_over_to_the_next_events() -> None:
    """Candidates that are found at once are found batch by batch as well."""
    rng = Random(5)
    rows = drawn_rules(rng, SHAPES[1], 9)
    events = drawn_events(rng, 80).sort_by("ts")
    roles, options = read_options({})
    known = known_events(events, roles)
    assert known is not None
    assert known.scan is not None
    groups, _ = grouped(Rules.read(rows), known.schema, options)
    rules = max(groups, key=len)
    ordered = known.scan.ordered
    shared = SharedEvents(ordered, known.schema)
    group = FiniteGroup(rules, shared, options.watched(), lambda _query, _events, given: given).group
    index = RuleIndex(group.tests, group.values(), shared.columns)
    at_once = index.candidates(shared.columns, OpenKeys.none())
    assert at_once is not None
    opened, pairs = OpenKeys.none(), set()
    for first in range(0, 80, 7):
        part = SharedEvents(ordered.slice(first, min(first + 7, 80)), known.schema)
        some = index.candidates(part.columns, opened)
        assert some is not None
        event, rule, opened = some
        pairs |= set(zip((event + first).tolist(), rule.tolist(), strict=True))
    assert pairs >= set(zip(at_once[0].tolist(), at_once[1].tolist(), strict=True))
    assert len(pairs) < 80 * len(rules) / 2
    assert np.all(opened.until >= ordered.time[-1])
