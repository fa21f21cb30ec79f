"""Rules of one shape over a stream: matched together, edited under way, switched off when they fail."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import augury
from augury import Rules
from augury.engine import compiling
from augury.engine.rules import grouping
from augury.engine.rules.table import Rule
from augury.jit.compile import _loaded
from augury.kernels import stream as kernels
from augury.kernels.stream import StreamKernel
from augury.plan import FamilyName
from augury.runtime.state import LONG_AGO
from tests.engine.rule_history import Batch, MatchRow, asked_for
from tests.engine.rule_streams import ALONE, SHAPES, drawn_events, drawn_rules, edited, found_alone, listed
from tests.thorough import rounds

COLUMNS = drawn_events(Random(0), 4).schema


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("shape", SHAPES)
def test_batches_find_what_the_reference_finds_at_once(shape: str) -> None:
    rng, lateness = Random(shape), "3 seconds" if SHAPES.index(shape) % 2 else None
    rows, events = drawn_rules(rng, shape, 4), drawn_events(rng, 40).sort_by("ts")
    stream = Rules.read(rows).stream(COLUMNS, jit=False, lateness=lateness)
    found, first = [], 0
    while first < len(events):
        size = rng.choice([1, 3, 9])
        found += listed(stream.feed(events.slice(first, size)))
        first += size
    found += listed(stream.finish())
    assert sorted(found, key=str) == sorted(found_alone(rows, events), key=str)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_edits_give_what_the_history_of_the_rules_asks_for() -> None:
    """The reference, rule by rule and version by version, over the events that each version has seen."""
    for seed in range(2):
        rng = Random(seed)
        shapes = rng.sample(SHAPES[:4], 2)
        events = drawn_events(rng, 120).sort_by("ts")
        table: dict[str, dict[str, Any]] = {}
        since: dict[str, int] = {}
        wanted, found = [], []
        stream = Rules.read([]).stream(COLUMNS, jit=False)
        for first in range(0, 120, 6):
            for row in drawn_rules(rng, rng.choice(shapes), rng.choice([0, 1, 3])):
                row["id"] = f"{rng.randrange(6)}"
                if row["id"] in table and table[row["id"]]["query"] != row["query"]:
                    # A version that is replaced has seen the events up to here.
                    part = events.slice(since[row["id"]], first - since[row["id"]])
                    wanted += certain(table[row["id"]], part)
                if table.get(row["id"], {}).get("query") != row["query"]:
                    since[row["id"]] = first
                table[row["id"]] = {**row, "labels": [str(first)]}
            stream.update(Rules.read(table.values()))
            found += listed(stream.feed(events.slice(first, 6)))
        found += listed(stream.finish())
        for id, row in table.items():
            wanted += found_alone([row], events.slice(since[id]))
        assert sorted(found, key=str) == sorted(wanted, key=str)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_rule_is_put_into_a_stream_as_an_update_would() -> None:
    rng = Random(8)
    rows = [*drawn_rules(rng, SHAPES[1], 5), {"id": "broken", "query": "PATTERN SEQ("}]
    alone = {"id": "alone", "query": "PATTERN SEQ(A a, B b) WITHIN 9 seconds OUTPUT NONOVERLAP"}
    events, table = drawn_events(rng, 90).sort_by("ts"), {row["id"]: row for row in rows[:3]}
    updated, put = (Rules.read(table.values()).stream(COLUMNS, jit=False) for _ in range(2))
    changes = [rows[3], {**rows[0], "enabled": False}, rows[5], {**rows[1], "query": rows[4]["query"]}, alone, rows[5]]
    changes += [{**alone, "labels": ["new"]}, {**alone, "enabled": False}, rows[0]]
    for k, change in enumerate(changes):
        table[change["id"]] = change
        updated.update(Rules.read(table.values()))
        (rule,) = Rules.read([change])
        put.put(rule)
        found, same = updated.feed(events.slice(10 * k, 10)), put.feed(events.slice(10 * k, 10))
        assert sorted(listed(found)) == sorted(listed(same))
        assert found.diagnostics == same.diagnostics
        assert {rule.id for rule in put.running} == {rule.id for rule in updated.running}
    assert len(put._live.groups) == len(updated._live.groups)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("case", ["at once", "in order", "late"])
@pytest.mark.parametrize("seed", range(rounds(3, 60)))
def test_rules_that_change_between_concurrent_events_see_what_their_history_says(seed: int, case: str) -> None:
    """Several events have one time, and batches end between them; rules of any kind start there, some with backfill."""
    rng = Random(seed)
    shapes, keep = rng.sample([*SHAPES, *ALONE], 3), rng.choice([0, 2, 8, 20])
    events = drawn_events(rng, 70)
    times = sorted(rng.randint(0, rng.choice([12, 40])) for _ in range(70))
    order: dict[str, Any] = {}
    lateness = None
    if case == "late":
        lateness, times = rng.choice([0, 3]), [t - rng.choice([0, 0, 1, 3]) for t in times]
    events = events.set_column(0, "ts", pa.array(times, pa.int64()))
    if case == "in order":
        order = {"order_by": ("ts", "x")}
        events = events.set_column(2, "x", pa.array([rng.randrange(10) for _ in times], pa.int64()))
        events = events.sort_by([("ts", "ascending"), ("x", "ascending")])
    stream = Rules.read([]).stream(COLUMNS, jit=False, keep=keep, lateness=lateness, **order)
    table, history, found = dict[str, dict[str, Any]](), list[Batch](), list[MatchRow]()
    first, highest, watermark = 0, LONG_AGO, LONG_AGO
    while first < len(events):
        rules = None
        if rng.random() < 0.6:
            edited(rng, table, shapes, first)
            rules = [dict(row) for row in table.values()]
            stream.update(Rules.read(rules))
        batch = events.slice(first, rng.choice([0, 1, 2, 5, 9]))
        first += len(batch)
        in_time = batch.filter(pc.greater_equal(batch["ts"], watermark))
        highest = max([highest, *in_time["ts"].to_pylist()])
        watermark = highest if highest == LONG_AGO else max(watermark, highest - (lateness or 0))
        history.append(Batch(rules, in_time, watermark))
        rows = stream.feed(batch).table.to_pylist()
        found += [(row["rule"], tuple(row["labels"]), row["start"], row["end"], row["match"]) for row in rows]
    wanted = asked_for(history, COLUMNS, keep, **order, **({"lateness": None} if lateness is None else {}))
    assert sorted(found, key=str) == sorted(wanted, key=str)


def certain(row: dict[str, Any], events: pa.Table) -> list[tuple[str, Any, Any, str]]:
    """What a matcher of its own has found by the end of these events, which is not the end of the stream."""
    table = augury.Matcher(row["query"], COLUMNS, plan="reference").feed(events).to_arrow()
    return [(row["id"], m.pop("start"), m.pop("end"), json.dumps(m)) for m in table.to_pylist()]


def test_a_rule_that_explodes_is_switched_off_and_the_others_keep_what_they_know() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE a[i].x > {n} WITHIN 1 hour RETURN a.len AS len"
    events = pa.table({"ts": range(40), "type": (["A"] * 9 + ["B"]) * 4, "x": range(40)})
    rows = [{"id": f"over {n}", "query": text.format(n=n)} for n in (35, 15, 0, 37, 36)]
    stream = Rules.read(rows).stream(events, jit=False, max_matches=200)
    results = [stream.feed(events.slice(first, 4)) for first in range(0, 40, 4)] + [stream.finish()]
    told = [(row["rule"], row["level"]) for some in results for row in some.diagnostics.to_pylist()]
    assert sorted(told) == [("over 0", "error"), ("over 15", "error")]
    assert [rule.id for rule in stream.running] == ["over 35", "over 37", "over 36"]
    of_others = [m for some in results for m in listed(some) if m[0] not in ("over 0", "over 15")]
    assert of_others
    assert sorted(of_others) == sorted(found_alone([rows[0], rows[3], rows[4]], events))


def test_what_is_kept_follows_the_window_whatever_the_number_of_edits() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.x > {n} WITHIN 10 seconds"
    stream = Rules.read([]).stream(COLUMNS, jit=False)
    kept = []
    for k in range(60):
        stream.update(Rules.read([{"id": n, "query": text.format(n=k + n)} for n in range(3)]))
        times = range(20 * k, 20 * k + 20)
        batch = {"ts": times, "type": ["A", "B"] * 10, "x": range(20), "y": [1.0] * 20, "k": ["p"] * 20}
        stream.feed(pa.table(batch, schema=COLUMNS))
        kept.append(len(stream._live.events.log))
    assert max(kept[5:]) <= 40
    assert len(stream._live.groups) == 1


def test_another_return_goes_on_and_backfill_sees_what_is_kept() -> None:
    """Of rules that are matched together, alone, and alone with a state of their own."""
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > 0 WITHIN 9 seconds"
    texts = [pair, f"{pair} OUTPUT COUNT", f"{pair} OUTPUT NONOVERLAP", f"{pair} OUTPUT FIRST"]
    events = pa.table({"ts": range(30), "type": ["A", "B", "B"] * 10, "x": range(30)})
    for text in texts:
        shown = "count() AS n" if "COUNT" in text else "a.x AS x"
        before = {"id": "r", "query": text}
        after: dict[str, Any] = {"id": "r", "query": f"{text} RETURN {shown}", "labels": ["new"]}
        stream = Rules.read([before]).stream(events, jit=False, keep="8 seconds")
        stream.feed(events.slice(0, 14))
        stream.update(Rules.read([after, {"id": "back", "query": text, "backfill": True}]))
        found = stream.feed(events.slice(14)).table.to_pylist() + stream.finish().table.to_pylist()
        whole = augury.match(events, after["query"], plan="reference").to_arrow().to_pylist()
        told = augury.Matcher(after["query"], events.schema, plan="reference").feed(events.slice(0, 14))
        gone = [m["end"] for m in told.to_arrow().to_pylist()]
        wanted = [m for m in whole if m["end"] > max(gone)]
        assert [(m["end"], m["labels"]) for m in found if m["rule"] == "r"] == [(m["end"], ["new"]) for m in wanted]
        assert len(wanted) > 5
        # The last event consumed was that of time 13.
        seen = augury.match(events.slice(5), text, plan="reference").to_arrow().to_pylist()
        assert [m["end"] for m in found if m["rule"] == "back"] == [m["end"] for m in seen]


@pytest.mark.parametrize("output", ["", " OUTPUT COUNT"])
@pytest.mark.parametrize("pattern", ["SEQ(NOT(B b), A a, NOT(C c))", "AND(A a, NOT(B b))", "SEQ(AND(A a, NOT(B b)))"])
def test_a_match_that_waits_remembers_what_it_must_not_come_after(pattern: str, output: str) -> None:
    """`b` is two windows before the time at which the match of `a` would be certain, and forbids it."""
    text = f"PATTERN {pattern} WITHIN 5 seconds{output}"
    events = pa.table({"ts": [1, 6, 11, 12], "type": ["B", "A", "D", "D"]})
    for change in ({"id": "r", "query": f"{text} RETURN 1 AS one"}, {"id": "new", "query": text}):
        stream = Rules.read([{"id": "r", "query": text}]).stream(events, jit=False)
        found = listed(stream.feed(events.slice(0, 3)))
        stream.update(Rules.read([{"id": "r", "query": text}, change] if change["id"] == "new" else [change]))
        assert found + listed(stream.feed(events.slice(3))) + listed(stream.finish()) == []


@pytest.mark.parametrize("output", ["", " OUTPUT LATEST"])
def test_concurrent_events_that_came_one_by_one_may_do_so_again(output: str) -> None:
    """Each finds as many matches as a step may find; a rule of the same shape is changed between two of them."""
    pair = f"PATTERN SEQ(A a, B b) WITHIN 9 seconds{output}"
    events = pa.table({"ts": [0, 0, 0, 0, 1, 1, 1], "type": ["A"] * 4 + ["B"] * 3, "x": range(7)})
    stream = Rules.read([{"id": "r", "query": pair}]).stream(events, jit=False, max_matches=4)
    found = []
    for k in range(7):
        if k == 6:
            stream.update(Rules.read([{"id": "r", "query": f"{pair} RETURN b.x AS x"}]))
        some = stream.feed(events.slice(k, 1))
        assert some.diagnostics.num_rows == 0
        found += listed(some)
    wanted = [("r", 0, 1, json.dumps({"x": 6}))]
    assert [match for match in found if match[3] == wanted[0][3]] == wanted * (1 if output else 4)


def test_kernels_that_get_many_events_are_compiled_whatever_they_took_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_COMPILE", 30)
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_LOAD", 20)
    text = "PATTERN SEQ(A a, B b) WHERE a.x > {n} WITHIN 7 seconds RETURN a.x AS x, b.x AS y"
    rows, events = [{"id": f"r{n}", "query": text.format(n=n)} for n in range(5)], drawn_events(Random(4), 90)
    events = events.sort_by("ts")
    stream = Rules.read(rows).stream(COLUMNS, cache_dir=tmp_path)
    found = listed(stream.feed(events.slice(0, 2)))
    (group,) = stream._live.groups
    assert group.options.jit is None
    found += listed(stream.feed(events.slice(2)))
    assert group.options.jit
    assert list(tmp_path.glob("*/kernel_*.bin"))
    found += listed(stream.finish())
    assert sorted(found, key=str) == sorted(found_alone(rows, events), key=str)


def test_texts_of_rules_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MAX_TEXTS", 4)
    stream = Rules.read([]).stream(COLUMNS, jit=False)
    for k in range(1, 20):
        stream.update(Rules.read([{"id": "r", "query": f"PATTERN SEQ(A a, B b) WITHIN {k} seconds"}]))
        assert len(stream.running) == 1
    assert len(stream._live._plans.shapes._parsed) <= 4


def test_rules_that_are_too_many_together_give_way_until_the_others_fit() -> None:
    """Each finds 30 matches in a step, of which a step may find 100: the last of them give way, and one that fails."""
    text = "PATTERN SEQ(A a, B b) WHERE b.x >= {n} WITHIN 1 hour RETURN b.x AS x"
    events = pa.table({"ts": range(31), "type": ["A"] + ["B"] * 30, "x": range(31)})
    rows = [{"id": f"r{n}", "query": text.format(n=n % 2)} for n in range(9)]
    many = {"id": "many", "query": text.format(n=0).replace("a, B", "a, B+ b[], B").replace("B b)", "B c)")}
    stream = Rules.read([*rows, many]).stream(events, jit=False, max_matches=100)
    found = stream.feed(events)
    left = [rule.id for rule in stream.running]
    assert left == ["r0", "r1", "r2"][: len(left)] != []
    assert sorted(listed(found)) == sorted(found_alone(rows[: len(left)], events))
    assert {row["rule"] for row in found.diagnostics.to_pylist()} == {"many", *(row["id"] for row in rows[len(left) :])}


def remembered(stream: augury.RuleStream) -> Counter[str]:
    """How much a stream of rules holds, of everything that it holds."""
    live = stream._live
    shapes, events = live._plans.shapes, live.events
    held = Counter(
        running=len(live.running),
        alone=len(live._alone),
        broken=len(live.broken),
        groups=len(live.groups) + len(live._newest),
        places=len(live._places),
        costs=len(live._costs),
        texts=len(shapes._parsed) + sum(map(len, shapes._open.values())) + sum(map(len, shapes._known.values())),
        log=len(events.log) + len(events.held) + len(events._batches),
        kernels=len(_loaded),
    )
    for group in live.groups:
        assert isinstance(group._going.kernel, StreamKernel)
        held.update(group._going.kernel.remembered(group._going.state))
        held["opened"] += len(group._going.opened.rule)
    return held


@pytest.mark.slow
def test_what_is_remembered_follows_the_window_whatever_the_number_of_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ever new rules, texts, strings and shapes; what is kept for later is less than usual, so that it is full soon."""
    monkeypatch.setattr(grouping, "MAX_TEXTS", 8)
    monkeypatch.setattr(kernels, "MIN_EVENTS_TO_DROP", 32)
    monkeypatch.setattr(kernels, "MIN_KEYS_TO_FORGET", 16)
    stream, at = Rules.read([]).stream(COLUMNS, jit=False), list[Counter[str]]()
    before: tuple[Rule, ...] = ()
    for k in range(160):
        pair = f"PATTERN SEQ(A a, B b) WHERE a.k != 'name {k}' AND a.x < {{n}} WITHIN 9 seconds"
        rows = [
            {"id": f"pair {k}", "query": pair.format(n=k), "labels": [str(k)]},
            {"id": f"shown {k}", "query": pair.format(n=k % 7) + f" RETURN {k} AS k", "backfill": True},
            {"id": f"alone {k}", "query": pair.format(n=k) + " OUTPUT NONOVERLAP"},
            {"id": f"broken {k}", "query": f"PATTERN {k}"},
        ]
        rules = Rules.read(rows)
        if k % 2:
            stream.update(rules)
        else:
            for rule in (*rules, *(replace(rule, enabled=False) for rule in before)):
                stream.put(rule)
        before = rules.rules
        batch = {"ts": range(8 * k, 8 * k + 8), "type": ["A", "B"] * 4, "x": range(8), "y": [1.0] * 8}
        found = stream.feed(pa.table({**batch, "k": [f"key {8 * k + n}" for n in range(8)]}, schema=COLUMNS))
        assert len(found) or not k
        at.append(remembered(stream))
    early, late = at[40:90], at[90:]
    most = {name: max(held[name] for held in early) for name in early[0]}
    assert {name for name, count in most.items() if max(held[name] for held in late) > count} == set()
    assert most["running"] == most["costs"] == 3
    assert most["places"] <= 5


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain"])
def test_partial_matches_are_those_that_are_open_now(plan: FamilyName) -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {n} AND b.x > a.x WITHIN 9 seconds"
    rows = [{"id": n, "query": pair.format(n=n)} for n in (2, 5)]
    rows.append({"id": "alone", "query": pair.format(n=4) + " OUTPUT NONOVERLAP"})
    stream = Rules.read(rows).stream(COLUMNS, jit=False, plan=plan)

    def fed(first: int, type: str) -> dict[str, int]:
        batch = {"ts": range(first, first + 8), "type": [type] * 8, "x": range(8), "y": [1.0] * 8, "k": ["k"] * 8}
        costs = stream.feed(pa.table(batch, schema=COLUMNS)).costs.to_pylist()
        return {row["rule"]: row["partial_matches"] for row in costs}

    opened = fed(0, "A")
    assert (opened["2"], opened["5"]) == (5, 2)
    assert opened["alone"] == 3
    # Events that no rule has a use for, long after the window.
    fed(100, "C")
    assert fed(200, "A") == opened
