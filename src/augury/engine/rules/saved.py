"""Saves the state of rules in one bucket of a stream as bytes, and loads it.

For most rules only the events they may still look back at are saved, from which the state of a kernel is rebuilt. The
rules themselves are written when they have changed.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from augury.engine.arrivals import in_order, release
from augury.engine.rules.kept import StartPosition
from augury.engine.rules.live import LiveRules, Resume
from augury.engine.rules.standalone import StandaloneRule
from augury.engine.rules.table import Rule
from augury.engine.rules.versions import rule_facts, rule_of
from augury.engine.stages import FIRST_DERIVED, LAST_DERIVED
from augury.engine.state.checkpoint import SavedBucket
from augury.engine.state.compression import compress, decompress
from augury.engine.state.event_segments import Segment, next_segments, read_segments, segment_bytes
from augury.engine.state.facts import Facts
from augury.engine.state.head import Head, packed_header, unpacked
from augury.engine.state.tables import exactly, get_stages, put_stages
from augury.errors import HostError
from augury.runtime.checks import MAX_COUNT, inconsistent, require
from augury.runtime.state import FOREVER, LONG_AGO, RunState

FAMILY, VERSION = "rule-bucket", 1

RULES = -1  # number of the segment that holds the rules; segments of events have numbers from 0 on

COUNTERS = {
    "version": (0, MAX_COUNT),
    "next_row": (0, MAX_COUNT),
    "watermark": (LONG_AGO, FOREVER),
    "kept_from": (LONG_AGO, FOREVER),
}
"""The numbers in the head of a bucket, with the least and the greatest value of each."""


@dataclass(slots=True, eq=False)
class RuleBucket:
    """The live rules of one bucket of a stream, as of a `version` of the table.

    Its events up to row number `saved` are written in `segments`, and its rules as of `saved_edition`. No other bucket
    has the same `name`.
    """

    live: LiveRules
    version: int = 0
    segments: tuple[Segment, ...] = ()
    saved: int = 0
    saved_edition: int = -1
    name: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def events(self) -> int:
        """How many events are held back or kept for matches to come."""
        return len(self.live.events.held) + len(self.live.events.log)


def header_bytes(meaning: Mapping[str, str]) -> bytes:
    """A head without events, which says which stream writes the checkpoint."""
    return packed_header(FAMILY, VERSION, meaning)


def read_head(data: bytes, meaning: Mapping[str, str]) -> Head:
    """The head of a bucket; one that another stream wrote is refused."""
    help = "give the rules a checkpoint of their own"
    other = HostError("A570", "the checkpoint was written by a query, not by rules", help)
    state = unpacked(data, FAMILY, VERSION, meaning, other)
    return Head(state.tables, Facts(state.facts, "the head"), COUNTERS)


def save_bucket(bucket: RuleBucket, meaning: Mapping[str, str]) -> SavedBucket:
    """The head and the new segments to write of a bucket; updates the bucket's list of segments."""
    live, events = bucket.live, bucket.live.events
    old = {segment.first for segment in bucket.segments}
    kept = events.log.everything()
    kept = kept.where(kept.time >= events.kept_from)
    bucket.segments, fresh = next_segments(bucket.segments, (kept, events.held), bucket.saved, events.next_row)
    bucket.saved = events.next_row
    segments = {} if fresh is None else {bucket.segments[-1].first: segment_bytes(fresh)}
    if bucket.saved_edition != live.edition:
        segments[RULES] = compress(_rules_text(live).encode())
        bucket.saved_edition = live.edition
    tables, alone = dict[str, pa.Table](), list[dict[str, Any]]()
    for running in live.running:
        if isinstance(running.by, StandaloneRule) and not running.by.compiled.replayable:
            own = dict[str, pa.Table]()
            put_stages(own, running.by.at.stages)
            tables |= {f"{len(alone)} {name}": table for name, table in own.items()}
            facts = {"evaluators": running.by.evaluators, "next_derived": running.by.at.next_derived}
            alone.append({"rule": running.rule.id, **facts})
    mark = secrets.token_hex(16)
    facts = {
        "meaning": dict(meaning),
        "name": bucket.name,
        "mark": mark,
        "version": bucket.version,
        "next_row": events.next_row,
        "watermark": events.watermark,
        "kept_from": events.kept_from,
        "segments": [[s.first, s.stop, s.events] for s in bucket.segments],
        "alone": alone,
    }
    gone = old - {segment.first for segment in bucket.segments}
    head = compress(RunState(FAMILY, VERSION, tables, facts).to_bytes())
    return SavedBucket(head, segments, tuple(sorted(gone)), mark)


def load_bucket(head: Head, segment: Callable[[int], bytes], live: LiveRules) -> RuleBucket:
    """Load what `save_bucket` wrote into rules that have seen no event yet."""
    events, columns = live.events, live.events.columns
    segments = head.segments
    kept = read_segments((segment(s.first) for s in segments), columns.arrow, columns.schema)
    events.next_row, events.watermark = head.counter("next_row"), head.counter("watermark")
    events.kept_from = head.counter("kept_from")
    consumed, held = release(kept, events.watermark)
    events.restore(in_order(consumed.where(consumed.time >= events.kept_from), columns.schema), held)
    running, broken = _rules(segment(RULES))
    saved_edition = live.edition
    live.resume(running, broken, _remembered(head, events.watermark))
    return RuleBucket(live, head.counter("version"), segments, events.next_row, saved_edition, head.name)


def _rules_text(live: LiveRules) -> str:
    running = [{"rule": rule_facts(one.rule), "since": [one.since.row, one.since.time]} for one in live.running]
    return json.dumps({"running": running, "broken": [rule_facts(rule) for rule in live.broken]})


def _rules(data: bytes) -> tuple[list[tuple[Rule, StartPosition]], tuple[Rule, ...]]:
    try:
        facts = Facts(json.loads(decompress(data)), "the rules")
    except ValueError as e:
        raise inconsistent(f"its rules are not JSON: {e}") from e
    running = list[tuple[Rule, StartPosition]]()
    for stated in facts.one("running", list):
        one = Facts(stated, "a rule")
        match one.stated.get("since"):
            case [int(row), int(time)] if 0 <= row <= MAX_COUNT and LONG_AGO <= time <= FOREVER:
                running.append((rule_of(one.stated.get("rule")), StartPosition(row, time)))
            case _:
                raise inconsistent("it does not say which events a rule sees")
    return running, tuple(map(rule_of, facts.one("broken", list)))


def _remembered(head: Head, watermark: int) -> dict[str, Resume]:
    """For each rule with a saved state of its own, a function that restores it."""
    found = dict[str, Resume]()
    for k, stated in enumerate(head.facts.one("alone", list)):
        facts = Facts(stated, "a rule")
        tables = {name.removeprefix(f"{k} "): t for name, t in head.tables.items() if name.startswith(f"{k} ")}
        next_derived = facts.one("next_derived", int)
        require(FIRST_DERIVED <= next_derived <= LAST_DERIVED, f"`next_derived` cannot be {next_derived}")

        def resume(
            rule: StandaloneRule,
            tables: Mapping[str, pa.Table] = tables,
            evaluators: tuple[str, ...] = facts.texts("evaluators"),
            next_derived: int = next_derived,
        ) -> bool:
            if list(evaluators) != rule.evaluators:
                return False
            rule.restore(get_stages(tables, rule.at.stages, exactly), next_derived, watermark)
            return True

        found[facts.one("rule", str)] = resume
    return found
