"""What rules save of a bucket, with something changed: refused, or gone on with."""

from __future__ import annotations

import random
from functools import cache

import pytest

from augury.engine.rules.buckets import RuleBuckets, rule_rows
from augury.engine.rules.saved import load_bucket, read_head
from augury.engine.rules.table import read_rules
from augury.engine.rules.versions import RuleVersion, rules_text
from augury.engine.state import bucket_cache
from augury.engine.state.checkpoint import SavedBucket
from augury.errors import AuguryError
from augury.options import make_options
from augury.schema import EventSchema
from tests.engine.test_corrupt_checkpoint import AFTER, BEFORE, PATTERN, corrupted
from tests.engine.test_stream import Dictionaries
from tests.fuzz.children import many
from tests.thorough import rounds

ROWS = [
    {"id": "together", "query": PATTERN, "backfill": True},
    {"id": "state of its own", "query": PATTERN + " OUTPUT NONOVERLAP"},
    {"id": "several", "query": f"{PATTERN} RETURN b.x AS x INTO P; PATTERN P p WHERE p.x > 1"},
    {"id": "broken", "query": "PATTERN SEQ("},
]


def rules() -> RuleBuckets:
    schema, time = EventSchema.from_arrow(BEFORE.schema), BEFORE.schema.field("ts").type
    return RuleBuckets(BEFORE.schema, schema, make_options(jit=False), 1, rule_rows(time), 10)


@cache
def half_way() -> SavedBucket:
    """What rules save in the middle of a stream."""
    store = Dictionaries()
    list(rules().advance(0, BEFORE, [store], 0, 104, RuleVersion(1, rules_text(read_rules(ROWS)))))
    assert store.saved is not None
    return SavedBucket(store.saved, dict(store.segments), (), "")


def run(number: int) -> str:
    bucket_cache._cached.clear()
    stream, changed = rules(), corrupted(half_way(), random.Random(number))
    try:
        load_bucket(read_head(changed.head, stream.meaning), changed.segments.__getitem__, stream._live(0))
    except (AuguryError, KeyError) as e:
        # A segment that is not there is missing in the state store.
        return "refused" if isinstance(e, AuguryError) or isinstance(e.args[0], int) else repr(e)
    store = Dictionaries(changed.head, dict(changed.segments))
    try:
        for output in stream.advance(0, AFTER, [store], 104, 300):
            output.table.validate(full=True)
    except AuguryError:
        return "stopped"
    return "ended"


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_corrupted_rules_are_refused_or_gone_on_with() -> None:
    half_way()
    outcomes, wrong = many(run, 0, 60)
    assert wrong == []
    assert min(outcomes["refused"], outcomes["ended"]) > 10
    assert outcomes.keys() <= {"refused", "ended", "stopped"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_many_corrupted_rules() -> None:
    assert many(run, 1_000, 1_000 + rounds(1_000, 10_000))[1] == []
