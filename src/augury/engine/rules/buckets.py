"""One micro-batch of a stream whose rules may change: every bucket sees all events, and has a share of the rules.

So rules need no common key, and every version of the table reaches every bucket. If the stream is given a key, a bucket
sees the events of its share of the keys, and has all rules. The state of a bucket is written to the host's store before
its matches are handed out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from augury.budget.machine import default_memory
from augury.engine.host import BucketStore
from augury.engine.merging import ticks_of
from augury.engine.results.columns import with_types
from augury.engine.rules.live import KeyShare, LiveRules
from augury.engine.rules.results import DIAGNOSTICS, RuleMatches, cost_fields, match_schema
from augury.engine.rules.saved import RuleBucket, header_bytes, load_bucket, read_head, save_bucket
from augury.engine.rules.stream import StreamPlans
from augury.engine.rules.versions import RuleVersion
from augury.engine.sources.schemas import KnownColumns
from augury.engine.state import bucket_cache
from augury.engine.state.head import claim
from augury.engine.stream import LateEvents, MatchedRows, StreamOutput
from augury.options import Options
from augury.schema import EventSchema

COST = "cost"
"""The column with the cost of a rule in a micro-batch; such a row holds nothing else."""

COSTLIEST = "__augury_costliest"
"""The column with the costliest rules of a bucket, as JSON, in one row of a micro-batch; users do not see it."""

MAX_COSTLIEST = 50  # rules a bucket reports per micro-batch: the driver keeps this progress in memory


MAX_PLANNED_STREAMS = 8  # streams of rules whose plans a worker process keeps for its buckets

_plans: dict[str, StreamPlans] = {}


@dataclass(frozen=True, slots=True, eq=False)
class RuleBuckets:
    """Rules over a stream in a number of `buckets`, of which `slots` share the memory of a machine.

    Events are kept for `keep` ticks for rules with `backfill`. With a `key`, events go to the bucket of their values.
    `result` are the columns of all rows that come out: a row is a match, a diagnostic or a cost.
    """

    arrow: pa.Schema
    schema: EventSchema
    options: Options
    buckets: int
    result: pa.Schema
    keep: int = 0
    slots: int = 1
    key: tuple[str, ...] = ()
    cut: None = None
    names: tuple[str | None, ...] = field(default=(None,))

    @property
    def meaning(self) -> dict[str, str]:
        """Facts that must be equal to continue a saved state, by their names in messages."""
        schema = self.schema
        keyed = {"key": ", ".join(self.key)} if self.key else {}
        return keyed | {
            "columns": ", ".join(f"{column.name} {column.type}" for column in self.arrow),
            "time column": f"{schema.time} ({schema[schema.time]}, ticks of {schema.time_unit})",
            "type column": str(schema.type),
            "order_by": ", ".join(schema.order_by),
            "buckets": str(self.buckets),
        }

    def check(self, stores: Sequence[BucketStore]) -> None:
        """Refuse to continue a checkpoint of another stream; in a new one, note which stream writes it."""
        (store,) = stores
        claim(store, header_bytes(self.meaning), lambda saved: read_head(saved, self.meaning))

    def advance(
        self,
        number: int,
        events: pa.Table | None,
        stores: Sequence[BucketStore],
        passed: int,
        watermark: int,
        newest: RuleVersion | None = None,
    ) -> Iterator[StreamOutput]:
        """Switch to the `newest` version of the rules, then add events and match those that the watermark passes.

        The watermark is at `passed` (ticks) when the events come, which decides what is late, and then moves on to
        `watermark`.
        """
        (store,) = stores
        bucket = self._load(store, number)
        live, found, costs = bucket.live, list[RuleMatches](), list[pa.Table]()
        if events is not None:
            late = pa.array(ticks_of(events, self.schema) < max(passed, live.events.watermark))
            if late.true_count:
                if self.key or number == 0:
                    # Without a key every bucket sees a late event, and bucket 0 reports it.
                    yield LateEvents(events.filter(late))
                events = events.filter(pc.invert(late))
        if newest is not None and newest.number > bucket.version:
            bucket.version = newest.number
            if self.key:
                # A bucket without events may be behind the watermark, which the old rules have to reach first.
                found.append(live.advance(None, passed))
                costs.append(live.take_costs())
            live.change(rule for rule in newest.rules if self.key or rule.share(self.buckets) == number)
        found.append(live.advance(None if events is None else live.events.arrive(events), watermark))
        costs.append(live.take_costs())
        saved = save_bucket(bucket, self.meaning)
        store.write(saved)
        bucket_cache.put(bucket, self._name, saved.mark)
        if len(live.events.held):
            store.wake(int(live.events.held.time.min()))
        if live.reports_late:
            store.wake(None)
        rows = self._rows(number, found, pa.concat_tables(costs))
        if rows.num_rows:
            yield MatchedRows(rows)

    @property
    def _name(self) -> str:
        return repr((self.meaning, self.options))

    def _load(self, store: BucketStore, number: int) -> RuleBucket:
        saved = store.head()
        if saved is None:
            return RuleBucket(self._live(number))
        head = read_head(saved, self.meaning)
        cached = bucket_cache.take(head.name, self._name, head.mark)
        return cached if isinstance(cached, RuleBucket) else load_bucket(head, store.segment, self._live(number))

    def _live(self, number: int) -> LiveRules:
        memory = default_memory() if self.options.max_memory is None else self.options.max_memory
        options = replace(self.options, max_memory=max(1, memory // self.slots))
        # No lateness here: the watermark of the host decides when events are due.
        share = KeyShare(self.key, number, self.buckets) if self.key else None
        return LiveRules(KnownColumns(self.arrow, self.schema), options, 0, self.keep, share, self._plans(options))

    def _plans(self, options: Options) -> StreamPlans:
        """The plans that the buckets of this process share."""
        known = _plans.get(self._name)
        if known is None:
            if len(_plans) >= MAX_PLANNED_STREAMS:
                del _plans[next(iter(_plans))]
            known = _plans[self._name] = StreamPlans(self.schema, options)
        return known

    def _rows(self, number: int, found: Sequence[RuleMatches], costs: pa.Table) -> pa.Table:
        """Matches, diagnostics and costs of rules, as rows of the result.

        Warnings without a code are left out, since they would come with every batch.
        """
        matches, told = (pa.concat_tables(t) for t in ([f.table for f in found], [f.diagnostics for f in found]))
        wrong = told.filter(pc.not_equal(told["code"], ""))
        cost = costs.drop_columns(["rule"]).to_struct_array()
        spent = pa.table({"rule": costs["rule"], COST: cost, COSTLIEST: _costliest(number, costs)})
        parts = []
        for own in (matches, wrong, spent):
            columns = [
                own[f.name] if f.name in own.column_names else pa.nulls(own.num_rows, f.type) for f in self.result
            ]
            parts.append(with_types(pa.table(columns, names=self.result.names), self.result))
        return pa.concat_tables(parts)


def rule_rows(time: pa.DataType) -> pa.Schema:
    """The columns of all rows that rules give in a stream; `time` is the type of the time column."""
    costs = pa.schema([(COST, pa.struct(cost_fields(time))), (COSTLIEST, _TOLD)])
    return pa.unify_schemas([match_schema(time), DIAGNOSTICS, costs])


_TOLD = pa.struct([("bucket", pa.int32()), ("rules", pa.string())])


def _costliest(bucket: int, costs: pa.Table) -> pa.Array:
    """The costliest rules of a bucket as JSON, in the first of the rows of its costs."""
    if not costs.num_rows:
        return pa.nulls(0, _TOLD)
    most = costs.sort_by([("seconds", "descending")]).slice(0, MAX_COSTLIEST).to_pylist()
    text = json.dumps([{**row, "last_match": _shown(row["last_match"])} for row in most])
    return pa.array([{"bucket": bucket, "rules": text}, *[None] * (costs.num_rows - 1)], _TOLD)


def _shown(time: object) -> str | None:
    return None if time is None else str(time)
