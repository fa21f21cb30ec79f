"""The events of a partition in shares of the keys and in steps: the matches are those of all events at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from augury.engine import matching
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.codes import with_codes
from augury.engine.group import Group, groups, one_group
from augury.engine.job import Job, job_of
from augury.engine.matching import matches_of, shared_out
from augury.engine.merging import by_time, in_steps, ticks_of
from augury.options import Roles, make_options
from augury.source import Source
from tests.engine.streams import QUERIES, local_rows, stream, table_rows

ORDER = ("ts", "seq")
KEYED = [name for name, query in QUERIES.items() if "k]" in query or "a.k = b.k" in query]
MORE = {
    "whole events": "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 seconds",
    "counted by key": "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 20 seconds OUTPUT COUNT RETURN sum(a.x) AS s, b.k",
    "trailing NOT": "PATTERN SEQ(A a, B b, NOT(C n)) WHERE [k] WITHIN 8 seconds",
    "strings": "PATTERN SEQ(A a, B b) WHERE [k] AND a.k > 'k1' AND upper(a.k) != 'K3' WITHIN 9 seconds",
    "a set by key": "PATTERN AND(A a, B b) WHERE skip_till_next_match { [k] } WITHIN 20 seconds",
    "a program": (
        "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 40 seconds RETURN a.k AS k, b.x AS x INTO Pair; "
        "PATTERN SEQ(Pair p, C c) WHERE [k] AND p.x < c.x WITHIN 60 seconds"
    ),
}
SHARED = {name: QUERIES[name] for name in KEYED} | MORE


def job(query: str, events: pa.Table, **options: Any) -> Job:
    return job_of(Source(query), events.schema, Roles(order_by=ORDER), make_options(jit=False, **options))


def pieces_of(events: pa.Table, group: Group, number: int) -> list[tuple[pa.Table, Any]]:
    """Every so many-th event in a piece of its own, as tasks read or are sent them."""
    if group.arrival_matters:
        events = events.append_column(ARRIVAL, pa.array(np.arange(len(events))))
    wanted = [name for name in events.column_names if name in (*group.arrow.names, ARRIVAL)]
    found = []
    for k in range(number):
        part = with_codes(events.select(wanted).take(pa.array(np.arange(k, len(events), number))), group.coded)
        found.append(by_time(part, ticks_of(part, group.schema)))
    return found


def found_in(events: pa.Table, group: Group, pieces: int = 3) -> Counter[str]:
    return table_rows(
        pa.concat_tables([group.result.empty_table(), *matches_of(group, pieces_of(events, group, pieces))])
    )


@pytest.fixture(params=[(16, 1 << 20), (16, 64), (1, 50), (1 << 16, 40)], ids=str)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Events in a share, and in a slab or a step."""
    share, slab = request.param
    monkeypatch.setattr(matching, "SHARE_EVENTS", share)
    monkeypatch.setattr(matching, "SLAB_EVENTS", slab)
    monkeypatch.setattr(matching, "TASK_STEP_EVENTS", min(slab, 1 << 18))
    return share, slab


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("query", SHARED.values(), ids=list(SHARED))
def test_shares_and_steps_are_invisible(query: str) -> None:
    events = stream()
    expected = local_rows(events, query, order_by=ORDER)
    group = one_group(job(query, events))
    assert group.key
    assert found_in(events, group) == expected
    assert expected


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("plan", ["reference", "eager-nfa", "linked"])
def test_every_plan_takes_codes_and_shares(plan: str) -> None:
    events, query = stream(), MORE["whole events"]
    assert found_in(events, one_group(job(query, events, plan=plan))) == local_rows(events, query, order_by=ORDER)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("condition", ["a.x > b.x + 100", "a.x > b.x + 7"])
def test_steps_of_which_nothing_is_left_are_no_steps(condition: str) -> None:
    events = stream()
    query = f"PATTERN SEQ(A a, B b) WHERE [k] AND {condition} WITHIN 9 seconds"
    group = one_group(job(query, events))
    assert group.requirements
    assert found_in(events, group) == local_rows(events, query, order_by=ORDER)


@pytest.mark.usefixtures("sizes")
def test_compressed_matches_are_written_out() -> None:
    events = stream()
    query = "PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 30 seconds"
    found = found_in(events, one_group(job(query, events, compressed=True)))
    assert found == local_rows(events, query, order_by=ORDER)


@pytest.mark.usefixtures("sizes")
def test_queries_of_a_group_see_the_same_shares() -> None:
    events = stream()
    queries = {name: SHARED[name] for name in ("by key", "strings", "whole events")}
    (group,) = groups([(name, job(query, events)) for name, query in queries.items()], events.schema)
    found = pa.concat_tables(matches_of(group, pieces_of(events, group, 2)))
    for name, query in queries.items():
        own = found.filter(pc.equal(found["query"], name))
        expected = local_rows(events, query, order_by=ORDER)
        assert table_rows(pa.table({"start": own["start"], "end": own["end"], **_fields(own[name])})) == expected


def _fields(column: pa.ChunkedArray) -> dict[str, pa.Array]:
    structs = column.combine_chunks()
    return dict(zip(structs.type.names, structs.flatten(), strict=True))


def test_a_share_has_all_events_of_its_keys() -> None:
    events = stream(2_000, keys=40)
    group = one_group(job(MORE["whole events"], events))
    ((arrivals, last),) = in_steps(pieces_of(events, group, 3), group.schema)
    assert last
    parts = list(shared_out(arrivals, ["k", "x"], ["k"], 6))
    assert len(parts) == 6
    assert sum(map(len, parts)) == len(events)
    keys = [set(part.table["k"].to_pylist()) - {None} for part in parts]
    assert all(keys)
    assert sum(map(len, keys)) == 40
    for part in parts:
        assert part.table.column_names == ["k", "x"]
        assert (np.diff(part.rows) > 0).all()
        there = arrivals.table.take(pa.array(arrivals.positions(part.rows)))
        assert there["x"].to_pylist() == part.table["x"].to_pylist()
