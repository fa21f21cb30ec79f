"""A rule of a stream that is matched by itself: with contiguity, an OUTPUT other than ALL, or several queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.arrivals import Arrivals
from augury.engine.progress import Progress, advance
from augury.engine.replaying import ReplayedStep, replayed
from augury.engine.results.matches import Matches
from augury.engine.rules.grouping import options_of, source_of
from augury.engine.rules.kept import Portion, StartPosition
from augury.engine.rules.reach import reach_of
from augury.engine.rules.table import Rule
from augury.engine.sources.schemas import KnownColumns
from augury.engine.stages import Stage, stages
from augury.engine.state.bucket import replayable
from augury.engine.state.compatibility import evaluators, meaning
from augury.engine.state.expiry import needs_timer
from augury.engine.warnings import consuming, tie_warnings, type_warnings
from augury.kernels.ahead import compile_ahead
from augury.kernels.stream import StreamKernel
from augury.options import Options
from augury.runtime.state import RunState


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """The compiled queries of a standalone rule, for events of these columns.

    An event more than `reach` ticks before the watermark makes no difference to any of the queries.
    """

    rule: Rule
    program: CompiledProgram
    columns: KnownColumns
    options: Options
    reach: int

    @classmethod
    def of(cls, rule: Rule, columns: KnownColumns, options: Options) -> CompiledRule:
        own = replace(options_of(options, rule), live=True).watched()
        with within(own.watching):
            program = compile_program(source_of(rule), columns.schema, own, live=True)
        return cls(rule, program, columns, own, max(map(reach_of, program.rewritten), default=0))

    @property
    def meaning(self) -> str:
        """The text that decides what it finds: its queries without the last RETURN."""
        return meaning(self.program)

    @property
    def replayable(self) -> bool:
        """Whether its state can be rebuilt from the events of its last window."""
        return replayable(self.program)


class StandaloneRule:
    """A rule of a stream with kernels of its own; `since` is the first event that it sees."""

    def __init__(self, compiled: CompiledRule, since: StartPosition) -> None:
        self.compiled, self.since = compiled, since
        self._consuming = consuming(compiled.program, compiled.columns.schema)
        with within(compiled.options.watching):
            self.at = self._beginning()
            for stage in self.at.stages:
                if compiled.options.jit and isinstance(stage.kernel, StreamKernel):
                    # Compiled now, so that no batch has to wait for it.
                    compile_ahead(stage.kernel)

    def _beginning(self) -> Progress:
        arrow = self.compiled.columns.arrow
        return Progress(stages=stages(self.compiled.program, arrow, self.compiled.options), held=Arrivals.none(arrow))

    @property
    def reports_late(self) -> bool:
        """Whether a match may become certain by the watermark alone."""
        remembers = any(len(stage.held) or len(stage.log) for stage in self.at.stages)
        return remembers and needs_timer(self.compiled.program)

    @property
    def partial_matches(self) -> int:
        """How many partial matches are open."""
        kernels = [(stage.kernel, stage.state) for stage in self.at.stages]
        return sum(len(k.waiting(k.live(state))) for k, state in kernels if isinstance(k, StreamKernel))

    def step(self, portion: Portion, *, types: frozenset[str] | None = None) -> Matches:
        """Consume the events of a portion; at the end of the stream, all `types` that have occurred are given."""
        notes = tie_warnings(self._consuming, portion.ready, self.compiled.columns.schema, portion.last)
        if types is not None:
            notes += type_warnings(self.compiled.program, types)
        return self._consume(portion.ready, portion.watermark, notes)

    def backfill(self, past: Arrivals, watermark: int) -> Matches:
        """Consume past events, which other rules have consumed before."""
        return self._consume(past, watermark, ())

    def replay(self, past: Arrivals, watermark: int) -> None:
        """Consume events again to rebuild the state of a new rule; their matches have been reported before."""
        if not len(past):
            return
        beginning = self.at

        def consume(steps: Iterator[ReplayedStep]) -> None:
            began = (replace(stage, state=stage.kernel.start()) for stage in beginning.stages)
            self.at = replace(beginning, stages=tuple(began))
            for start, stop, mark in steps:
                self._consume(past.slice(start, stop), mark, ())

        replayed(past.time, watermark, consume)

    def _consume(self, events: Arrivals, watermark: int, notes: tuple[str, ...]) -> Matches:
        events = self.since.seen(events)
        at, options = replace(self.at, watermark=max(self.at.watermark, watermark)), self.compiled.options
        with within(options.watching):
            self.at, found = advance(at, events, at.held, options)
        final = found[-1]
        nothing = Arrivals.none(self.compiled.columns.arrow).table
        return Matches(
            final.matches, final.log, final.query.bound, options.callables, notes, nothing, final.counters, final.query
        )

    @property
    def evaluators(self) -> list[str]:
        """Names of the plans and kernels that can continue its state."""
        return evaluators(self.compiled.program)

    def continues(self, other: StandaloneRule) -> bool:
        """Take over the state of another rule; False if another plan wrote it, so that it cannot be read."""
        if self.evaluators != other.evaluators:
            return False
        saved = tuple(replace(stage, state=RunState.from_bytes(stage.state.to_bytes())) for stage in other.at.stages)
        self.restore(saved, other.at.next_derived, other.at.watermark)
        return True

    def restore(self, saved: tuple[Stage, ...], next_derived: int, watermark: int) -> None:
        """Continue from saved stages of this rule."""
        chain = tuple(
            replace(own, held=old.held, log=old.log, state=own.kernel.restore(old.state))
            for own, old in zip(self.at.stages, saved, strict=True)
        )
        self.at = replace(self.at, stages=chain, next_derived=next_derived, watermark=watermark)
