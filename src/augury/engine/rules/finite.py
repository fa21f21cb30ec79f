"""The task that matches rules over one partition of a finite stream."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.arrivals import Arrivals
from augury.engine.batches import RESULT_ROWS
from augury.engine.compiling import compiled_if_worth
from augury.engine.cut.by_time import CutAt, TimeChunk, owned, owned_by_end
from augury.engine.exchange.codes import coded_schema
from augury.engine.exchange.kernels import CompiledFile, provide_kernels
from augury.engine.exchange.shuffle import PackTask, received
from augury.engine.host import Host
from augury.engine.merging import in_steps
from augury.engine.results.columns import with_types
from augury.engine.results.matches import Matches
from augury.engine.rules.cutting import RulePart
from augury.engine.rules.group import SharedEvents
from augury.engine.rules.grouping import options_of, source_of
from augury.engine.rules.matching import FiniteGroup, GroupMatches
from augury.engine.rules.planned import PlannedGroup
from augury.engine.rules.results import match_rows, match_schema
from augury.engine.rules.table import Rule
from augury.engine.sources.column_types import conform
from augury.engine.stages import FIRST_DERIVED, stages, step
from augury.errors import HostError
from augury.options import Options
from augury.runtime.state import FOREVER
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class CutRules:
    """A part of the rules, whose events are cut into `shares` of the keys, and each of these at the times of `cut`."""

    part: RulePart
    shares: int = 1
    cut: CutAt | None = None

    @property
    def partitions(self) -> int:
        """How many partitions there are."""
        return self.shares * (1 if self.cut is None else len(self.cut))

    def chunk(self, number: int) -> TimeChunk | None:
        """The chunk of time of a partition; None if events are not cut by time."""
        return None if self.cut is None else self.cut.chunk(number % len(self.cut))

    def pack(self, schema: EventSchema, coded: tuple[str, ...]) -> PackTask:
        """The task that packs events for the partitions."""
        return PackTask(schema, self.part.key, self.shares, self.cut, coded)


@dataclass(frozen=True, slots=True, eq=False)
class MatchRulesTask:
    """The blobs of one partition -> the matches of all rules of its part, with the columns of `match_schema`.

    The partitions of the parts are numbered one after the other. `arrow` are the columns of the events, `kernels` are
    compiled already. The `slots` of an executor share its memory.
    """

    parts: tuple[CutRules, ...]
    arrow: pa.Schema
    schema: EventSchema
    options: Options
    host: Host
    kernels: tuple[CompiledFile, ...] = ()
    slots: int = 1

    @property
    def result(self) -> pa.Schema:
        """The columns of the result."""
        return self.host.result_types(match_schema(self.time))

    @property
    def time(self) -> pa.DataType:
        """The type of the time column."""
        return self.arrow.field(self.schema.time).type

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryFile(dir=self.host.scratch_folder()) as file:
            partition, pieces = received(batches, self.schema, file)
            if not pieces:
                return
            total = sum(len(time) for _, time in pieces)
            ((events, _),) = in_steps(pieces, self.schema, total, coded_columns(self.arrow))
            provide_kernels(self.kernels)
            result = self.result
            for table in self._matches(partition, events):
                yield from with_types(table, result).to_batches(max_chunksize=RESULT_ROWS)

    def _matches(self, partition: int, events: Arrivals) -> Iterator[pa.Table]:
        number = partition
        for cut in self.parts:
            if number < cut.partitions:
                break
            number -= cut.partitions
        chunk = cut.chunk(number)
        plain = conform(events.table, coded_schema(self.arrow, coded_columns(self.arrow)))
        running = RunningRules(self, replace(events, table=plain), chunk)
        # Tasks that begin with different groups compile different kernels first, and find the others in the cache.
        first = len(cut.part.groups) * number // max(1, cut.partitions)
        for group in (*cut.part.groups[first:], *cut.part.groups[:first]):
            yield from running.together(group)
        for one in cut.part.alone:
            yield running.alone(one.rule, one.program)


class RunningRules:
    """Matches rules over the events of one partition; with a `chunk`, the matches are those that it owns."""

    def __init__(self, task: MatchRulesTask, events: Arrivals, chunk: TimeChunk | None) -> None:
        self.task, self.events, self.chunk = task, events, chunk
        self.options = task.options.watched(task.slots)
        self._shared: SharedEvents | None = None
        self._plain: Arrivals | None = None

    def together(self, group: PlannedGroup) -> Iterator[pa.Table]:
        """The matches of rules of one shape; a rule that exceeds a budget is an error, which names it."""
        if self._shared is None:
            self._shared = SharedEvents(self.events, self.task.schema)
        finite = FiniteGroup(group.rules, self._shared, self.options, compiled_if_worth, query=group.query)
        found = finite.matches()
        while True:
            # Limits hold for each step, not for all rules together.
            with within(self.options.watching):
                part = next(found, None)
                table = None if part is None else self._table(part)
            if table is None:
                break
            yield table
        for one in finite.failed:
            with _named(one.rule):
                own = options_of(self.options, one.rule)
                program = compile_program(source_of(one.rule), self.task.schema, own)
            yield self.alone(one.rule, program)

    def _table(self, part: GroupMatches) -> pa.Table:
        if self.chunk is not None:
            part = part.where(self.chunk.owns(part.found.start))
        query = part.query
        matches = Matches(part.found, self.events, query.bound, self.options.callables, compiled=query)
        return match_rows([one.rule for one in part.rules], part.rule, matches.to_arrow(), self.task.time)

    def alone(self, rule: Rule, program: CompiledProgram) -> pa.Table:
        """The matches of a rule that is matched alone."""
        if self._plain is None:
            self._plain = replace(self.events, table=conform(self.events.table, self.task.arrow))
        events, options = self._plain, self.options
        with _named(rule):
            for query in program.queries:
                options = compiled_if_worth(query, len(events), options)
            chain = stages(program, self.task.arrow, options)
            _, steps, _ = step(chain, events, FOREVER, FIRST_DERIVED, options)
            found = steps[-1]
            if self.chunk is not None:
                found = owned(found, self.chunk, by_end=owned_by_end(program))
            table = Matches(found.matches, found.log, found.query.bound, options.callables).to_arrow()
        return match_rows([rule], np.zeros(table.num_rows, dtype=np.int64), table, self.task.time)


def coded_columns(arrow: pa.Schema) -> tuple[str, ...]:
    """The columns of strings, which are sent as dictionary codes."""
    return tuple(field.name for field in arrow if pa.types.is_string(field.type))


@contextmanager
def _named(rule: Rule) -> Iterator[None]:
    """Name the rule in an error that it raises."""
    try:
        yield
    except HostError as error:
        raise type(error)(error.code, f"rule `{rule.id}`: {error.message}", error.help) from error
