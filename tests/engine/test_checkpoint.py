"""What a checkpoint may be continued by."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury.engine.job import Job, job_of
from augury.engine.state.bucket import Bucket, advance, new_bucket
from augury.engine.state.checkpoint import check_header, header, load_bucket, read_head, save_bucket
from augury.errors import HostError
from augury.options import Roles, make_options
from augury.runtime.shared import enumerated
from augury.source import Source
from augury.testing.tables import parse_stream

BEFORE = parse_stream("a1@100(k=p,x=1) a2@101(k=q,x=2) b3@102(k=p,x=4) a4@104(k=p,x=3)")
AFTER = parse_stream("b5@106(k=p,x=9) b6@107(k=q,x=1) b7@300(k=p,x=1)")
PATTERN = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds"
RETURN = " RETURN a.id AS a, b.id AS b"


def job(query: str, roles: Roles | None = None, **options: Any) -> Job:
    return job_of(Source(query), BEFORE.schema, roles or Roles(), make_options(**options))


def half_way(given: Job) -> Bucket:
    return advance(new_bucket(given), given, BEFORE, 104)[0]


def continued(before: Job, after: Job, buckets: int = 4) -> Bucket:
    _, saved = save_bucket(half_way(before), before, 4)
    return load_bucket(read_head(saved.head, after, buckets), saved.segments.__getitem__, after)


def rest(bucket: Bucket, given: Job) -> list[dict[str, Any]]:
    _, found = advance(bucket, given, AFTER, 300)
    rows: list[dict[str, Any]] = pa.concat_tables(given.columns(found)).to_pylist()
    return rows


@pytest.mark.parametrize("plan", ["reference", "eager-nfa"])
def test_another_return_and_another_plan_go_on(plan: str) -> None:
    before = job(PATTERN + RETURN, plan="eager-nfa")
    after = job(PATTERN + " RETURN b.id AS b", plan=plan)
    bucket = continued(before, after)
    assert [row["b"] for row in rest(bucket, after)] == ["b5", "b5"]


@pytest.mark.parametrize(
    "changed, buckets, reason",
    [
        (job(PATTERN.replace("20", "30") + RETURN), 4, r"its query is\n.*WITHIN    20 seconds"),
        (job(PATTERN.replace("AND", "AND a.x > 0 AND") + RETURN), 4, "its query is"),
        (job(PATTERN.replace("[k]", "a.k = b.k") + RETURN), 4, "its query is"),
        (job(PATTERN + RETURN, Roles(order_by=("ts", "x"))), 4, "its order_by is"),
        (job(PATTERN + RETURN, Roles(time_unit="ms")), 4, "its time column is"),
        (job(PATTERN + RETURN), 5, r"its buckets is\n    4\nand now is\n    5"),
    ],
)
def test_another_query_is_refused(changed: Job, buckets: int, reason: str) -> None:
    before = job(PATTERN + RETURN)
    for refuse in (
        lambda: continued(before, changed, buckets),
        lambda: check_header(header(before, 4), changed, buckets),
    ):
        with pytest.raises(HostError, match=f"(?s)A570.*{reason}"):
            refuse()


def test_columns_that_were_not_kept_are_missed() -> None:
    before, after = job(PATTERN + " RETURN a.k AS k"), job(PATTERN + " RETURN a.id AS id")
    with pytest.raises(HostError, match=r"A572.*lack `id`"):
        continued(before, after)


def test_another_plan_cannot_go_on_where_it_depends_on_more_than_events() -> None:
    query = PATTERN + " OUTPUT NONOVERLAP"
    before, after = job(query, plan="eager-nfa"), job(query, plan="reference")
    with pytest.raises(HostError, match="A571"):
        continued(before, after)


def test_a_damaged_state_is_told() -> None:
    given = job(PATTERN)
    _, saved = save_bucket(half_way(given), given, 4)
    with pytest.raises(HostError, match="A573"):
        read_head(saved.head[:40], given, 4)
    head = read_head(saved.head, given, 4)
    with pytest.raises(HostError, match="A573"):
        load_bucket(head, lambda number: saved.segments[number][:-40], given)


def test_a_checkpoint_of_an_earlier_build_goes_on() -> None:
    """It is read until the format changes: then `VERSION` is counted up, and it is refused."""
    events = parse_stream("a1 b2 a3 c4 b5 a6 b7 c8 a9 b10 c11 c12")
    saved = json.loads((Path(__file__).parent.parent / "golden/saved/bucket_3.json").read_text())
    given = job_of(Source(saved["query"]), events.schema, Roles(), make_options(jit=False))
    check_header(b64decode(saved["header"]), given, 4)
    head = read_head(b64decode(saved["head"]), given, 4)
    assert head.counter("next_row") == 7
    bucket = load_bucket(head, lambda number: b64decode(saved["segments"][str(number)]), given)
    _, found = advance(bucket, given, events.slice(7), 100)
    # The matches that were certain at the watermark of the checkpoint, 6, were reported before.
    ends = augury.match(events, saved["query"]).to_arrow()["end"].to_pylist()
    assert len(enumerated(found.matches)) == sum(end > 5 for end in ends) == 7
