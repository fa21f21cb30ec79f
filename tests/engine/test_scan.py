"""What tasks read of files: the row groups and rows that can matter, and no more."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury.engine.cut.by_time import TimeChunk
from augury.engine.group import Group, one_group
from augury.engine.job import job_of
from augury.engine.scan.arrow_filter import read_filter
from augury.engine.scan.needed import ComponentFilter
from augury.engine.scan.parquet import CannotSplit, read_footers
from augury.engine.scan.tasks import ScanAndMatch, ScanPlan, plan_scan
from augury.options import Roles, make_options
from augury.source import Source
from tests.engine.streams import QUERIES, local_rows, stream, table_rows

BY_TIME = ["by key", "by a derived key", "without a key", "leading and trailing NOT", "latest", "counted", "optional"]
ORDER = ("ts", "seq")


def write(events: pa.Table, folder: Path, files: int, row_group: int) -> Path:
    """The events in so many files, each of a range of time and in no order of its own."""
    folder.mkdir()
    ordered = events.sort_by("ts")
    cuts = np.linspace(0, len(ordered), files + 1).astype(int)
    for k, (a, b) in enumerate(pairwise(cuts)):
        part = ordered.slice(a, b - a)
        pq.write_table(part, folder / f"part {k}.parquet", row_group_size=row_group)
    return folder


def group_of(query: str, events: pa.Table) -> Group:
    return one_group(job_of(Source(query), events.schema, Roles(order_by=ORDER), make_options(jit=False)))


def plan_of(query: str, events: pa.Table, folder: Path, tasks: int) -> ScanPlan | CannotSplit:
    footers = read_footers(sorted(map(str, folder.glob("*.parquet"))))
    assert not isinstance(footers, CannotSplit)
    return plan_scan(footers, group_of(query, events), tasks, tasks)


@pytest.mark.parametrize("name", BY_TIME)
def test_the_tasks_of_a_plan_find_every_match_once(name: str, tmp_path: Path) -> None:
    events, query = stream(), QUERIES[name]
    folder = write(events, tmp_path / "events", files=3, row_group=13)
    plan = plan_of(query, events, folder, 3)
    assert isinstance(plan, ScanPlan)
    assert len(plan.tasks) > 1
    numbers = pa.record_batch({"task": list(range(len(plan.tasks)))})
    group = group_of(query, events)
    found = pa.Table.from_batches(ScanAndMatch(group, plan)([numbers]), group.result)
    assert table_rows(found) == local_rows(events, query, order_by=ORDER)


def test_no_task_reads_everything(tmp_path: Path) -> None:
    events = stream()
    folder = write(events, tmp_path / "events", files=4, row_group=10)
    plan = plan_of("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 seconds", events, folder, 4)
    assert isinstance(plan, ScanPlan)
    assert len(plan.tasks) == 4
    assert max(sum(g.rows for g in part.groups) for part in plan.tasks) < 0.5 * len(events)


def test_a_cut_is_made_where_nothing_is_read_twice(tmp_path: Path) -> None:
    days = pa.table({"ts": [*range(100), *range(1_000, 1_140)], "type": ["A", "B"] * 120, "seq": range(240)})
    folder = tmp_path / "events"
    folder.mkdir()
    pq.write_table(days, folder / "days.parquet", row_group_size=20)
    plan = plan_of("PATTERN SEQ(A a, B b) WITHIN 50 seconds", days, folder, 2)
    assert isinstance(plan, ScanPlan)
    assert [task.chunk for task in plan.tasks] == [TimeChunk(None, 1_000, 50), TimeChunk(1_000, None, 50)]
    assert [sum(g.rows for g in part.groups) for part in plan.tasks] == [100, 140]


@pytest.mark.parametrize(
    "condition",
    ["a.x > 4", "NOT (a.x > 4)", "a.x IN (1, 7)", "a.x IS NULL", "a.y < 0.5 OR a.k = 'k1'", "a.k != 'k1'", "a.y > a.x"],
)
def test_rows_that_a_condition_is_true_for_are_read(condition: str) -> None:
    events = stream().set_column(5, "y", pa.array([float("nan"), 0.25, None, 0.75] * 75))
    query = f"PATTERN SEQ(A a) WHERE {condition} WITHIN 1 second"
    group = group_of(query, events)
    assert group.relevant is not None
    test = read_filter(group.relevant, group.schema)
    assert test is not None
    kept = events.filter(test)
    assert len(kept) < len(events)
    assert local_rows(kept, query) == local_rows(events, query)


def test_what_arrow_cannot_tell_is_read() -> None:
    group = group_of("PATTERN SEQ(a) WHERE a.x + 1 > 4 WITHIN 1 second", stream())
    assert isinstance(group.relevant, tuple)
    assert isinstance(group.relevant[0], ComponentFilter)
    assert read_filter(group.relevant, group.schema) is None
