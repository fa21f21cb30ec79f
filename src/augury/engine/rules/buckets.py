"""One micro-batch of a stream whose rules may change: every bucket sees all events, and has a share of the rules.

So rules need no key in common, and each version of the table reaches every bucket. The state of a bucket is written to
the host's store before its matches are handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from augury.budget import default_memory
from augury.engine.host import BucketStore
from augury.engine.merging import ticks_of
from augury.engine.results.columns import with_types
from augury.engine.rules.live import LiveRules
from augury.engine.rules.results import DIAGNOSTICS, RuleMatches, match_schema
from augury.engine.rules.saved import RuleBucket, header_bytes, load_bucket, read_head, save_bucket
from augury.engine.rules.table import Rule
from augury.engine.rules.versions import RuleVersion
from augury.engine.sources.schemas import KnownColumns
from augury.engine.state import bucket_cache
from augury.engine.stream import LateEvents, MatchedRows, StreamOutput
from augury.options import Options
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class RuleBuckets:
    """Rules over a stream in so many `buckets`, of which `slots` share the memory of a machine.

    Events are kept for `keep` ticks for rules with `backfill`.
    `result` are the columns of what is found: those of matches, and those of diagnostics, of which either is null.
    """

    arrow: pa.Schema
    schema: EventSchema
    options: Options
    buckets: int
    result: pa.Schema
    keep: int = 0
    slots: int = 1
    cut: None = None
    names: tuple[str | None, ...] = field(default=(None,))

    @property
    def meaning(self) -> dict[str, str]:
        """What must be the same to continue a state, by what it is called in messages."""
        schema = self.schema
        return {
            "columns": ", ".join(f"{column.name} {column.type}" for column in self.arrow),
            "time column": f"{schema.time} ({schema[schema.time]}, ticks of {schema.time_unit})",
            "type column": str(schema.type),
            "order_by": ", ".join(schema.order_by),
            "buckets": str(self.buckets),
        }

    def check(self, stores: Sequence[BucketStore]) -> None:
        """Refuse to continue a checkpoint that something else wrote; in a new one, note what writes it."""
        (store,) = stores
        saved = store.head()
        if saved is None:
            store.write_header(header_bytes(self.meaning))
        else:
            read_head(saved, self.meaning)

    def advance(
        self,
        number: int,
        events: pa.Table | None,
        stores: Sequence[BucketStore],
        passed: int,
        watermark: int,
        newest: RuleVersion | None = None,
    ) -> Iterator[StreamOutput]:
        """Go on with the `newest` version of the rules, then take events in and match those the watermark passes.

        It is at `passed` (ticks) when the events come, which decides what is late, and then goes on to `watermark`.
        """
        (store,) = stores
        bucket = self._load(store)
        live = bucket.live
        if events is not None:
            late = pa.array(ticks_of(events, self.schema) < max(passed, live.events.watermark))
            if late.true_count:
                if number == 0:
                    # Every bucket sees it, and one tells.
                    yield LateEvents(events.filter(late))
                events = events.filter(pc.invert(late))
        if newest is not None and newest.number > bucket.version:
            bucket.version = newest.number
            live.change(rule for rule in newest.rules if self.owner(rule) == number)
        found = live.advance(None if events is None else live.events.arrive(events), watermark)
        saved = save_bucket(bucket, self.meaning)
        store.write(saved)
        bucket_cache.put(bucket, self._name, saved.mark)
        if len(live.events.held):
            store.wake(int(live.events.held.time.min()))
        if live.reports_late:
            store.wake(None)
        rows = self._rows(found)
        if rows.num_rows:
            yield MatchedRows(rows)

    def owner(self, rule: Rule) -> int:
        """The bucket that matches a rule: always the same, so that it finds what the rule remembers."""
        return crc32(rule.id.encode()) % self.buckets

    @property
    def _name(self) -> str:
        return repr((self.meaning, self.options))

    def _load(self, store: BucketStore) -> RuleBucket:
        saved = store.head()
        if saved is None:
            return RuleBucket(self._live())
        head = read_head(saved, self.meaning)
        cached = bucket_cache.take(head.name, self._name, head.mark)
        return cached if isinstance(cached, RuleBucket) else load_bucket(head, store.segment, self._live())

    def _live(self) -> LiveRules:
        memory = default_memory() if self.options.max_memory is None else self.options.max_memory
        options = replace(self.options, max_memory=max(1, memory // self.slots))
        # The host holds events back until its watermark has passed them.
        return LiveRules(KnownColumns(self.arrow, self.schema), options, 0, self.keep)

    def _rows(self, found: RuleMatches) -> pa.Table:
        """Matches, and what went wrong, as rows of the result; hints that have no code would come with every batch."""
        wrong = found.diagnostics.filter(pc.not_equal(found.diagnostics["code"], ""))
        parts = []
        for own in (found.table, wrong):
            columns = [
                own[f.name] if f.name in own.column_names else pa.nulls(own.num_rows, f.type) for f in self.result
            ]
            parts.append(with_types(pa.table(columns, names=self.result.names), self.result))
        return pa.concat_tables(parts)


def rule_rows(time: pa.DataType) -> pa.Schema:
    """The columns of what rules find in a stream, over events whose time is of this type."""
    return pa.unify_schemas([match_schema(time), DIAGNOSTICS])
