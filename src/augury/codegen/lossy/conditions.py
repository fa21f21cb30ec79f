"""Conjuncts over a path with missing components, as statements; and what may refute such a path.

A path is the array `path_event`: the event of each positive component, -1 for one that is missing, and one for each
negated one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from augury.codegen.common.calls import call
from augury.codegen.common.constants import constants_of, functions_of
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import columns_of, conjuncts_of, lookup_specs, names_of, stream_specs
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import origin, remark
from augury.codegen.lossy.arrays import path_arrays, queue_arrays, table_arrays
from augury.ir.lossy import with_defaults
from augury.ir.predicate import Conjunct, Expr, Ref, variables, walk
from augury.ir.query import TimeWindow
from augury.loss import PRECISION
from augury.native.cells import QueueCell
from augury.native.queues import earlier_rank, later_event, latest, observed
from augury.plan import Component, LossyPlan

SEARCHED = (
    "time", "rank", "entry_event", "entry_older", "entry_watched", "queue_youngest", "path_event", "path_entry"
)  # fmt: skip
"""What a search for an observed event takes beside the columns that conditions read."""


class LossyConditions:
    """Writes the tests of one kernel; its state is the text so far."""

    def __init__(self, plan: LossyPlan, counters: bool) -> None:
        assert isinstance(plan.query.window, TimeWindow)
        assert plan.query.threshold is not None
        self.plan, self.counters, self.out = plan, counters, Lines()
        self.window = plan.query.window.ticks
        components = (*plan.positive, *plan.negated)
        tested = [*conjuncts_of(components), *plan.conjuncts]
        self.constants = constants_of(components, tested)
        self.within = self.constants.within(plan.query.window)
        least = plan.query.threshold - PRECISION
        self.least = self.constants.number("least", least)
        # A bound is a product of rounded factors: what it must reach lies a little lower.
        self.hopeful = self.constants.number("hopeful", least - PRECISION)
        self.specs, self.columns = columns_of(components, tested, plan.computed)
        self.functions = functions_of(tested)
        self.stream = stream_specs(self.constants, self.specs)
        self.n = len(plan.positive)
        self.slot = {c.variable: k for k, c in enumerate((*plan.positive, *plan.negated))}
        self.watch = (*(c.variable for c in plan.negated), *plan.watched)
        self.queues = self.n + len(self.watch)
        self.tabulated = tuple(e for e in plan.edges if e.table is not None)
        self.missable = {v for e in plan.edges for v in e.missing}
        coefficients = max((e.table.coefficients.shape[1] for e in plan.edges if e.table is not None), default=1)
        self.arrays = (
            *queue_arrays(len(self.watch)),
            *table_arrays(self.n, coefficients),
            *path_arrays(self.n, len(plan.negated)),
        )

    def _function(self, head: str, why: str = "") -> None:
        self.out.add()
        self.out.add()
        self.out.add("@kernel")
        self.out.add(head, why)
        self.out.depth += 1

    def _end(self) -> None:
        self.out.depth -= 1

    def _count(self, counter: QueueCell) -> None:
        if self.counters:
            self.out.add(f"nums[{counter}] += 1", counter.name.lower())

    def _fits(self, c: Component) -> str:
        return fits(c, self.plan.query, self.constants, self.columns.of("i"))

    def _test(self, k: int, known: Mapping[str, bool], name: str = "ok") -> None:
        """Statements that set `name` to false if conjunct k applies to the path path_event and does not hold.

        `known` says of some components that they are observed, or missing.
        """
        c = self.plan.conjuncts[k]
        where = origin(c, self.plan.query.source)
        for tests, text in self._variants(c, known):
            with self.out.block(f"if {' and '.join([name, *tests])}:", where):
                self._count(QueueCell.PREDICATES)
                self.out.add(f"{name} = {text}")

    def _variants(self, c: Conjunct, known: Mapping[str, bool]) -> Iterator[tuple[list[str], str]]:
        """The variants of a condition, one for each set of missing components."""
        read = [v for v in self.slot if v in _read(c.expr)]
        positive = [v for v in read if self.slot[v] < self.n]
        choices = [[known[v]] if v in known else [True, False] if v in self.missable else [True] for v in positive]
        for there in product(*choices):
            missing = frozenset(v for v, t in zip(positive, there, strict=True) if not t)
            filled = with_defaults(c.expr, missing)
            # What a component is tested for by itself holds for whatever is in its queue.
            if filled is None or (len(c.variables) == 1 and c.variables[0] not in missing):
                continue
            absent = [v for v in variables(filled) if self.slot[v] >= self.n]
            if any(v not in known for v in absent):
                continue
            tests = [
                f"path_event[{self.slot[v]}] {'<' if v in missing else '>='} 0"
                for v in positive
                if v in self.missable and v not in known
            ]
            yield tests, self._text(filled)

    def _text(self, expr: Expr, event: str = "") -> str:
        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, event or f"path_event[{self.slot[leaf.variable]}]")

        return true(expr, read, self.constants).value

    def _first(self, c: Conjunct) -> int:
        """The earliest component that a conjunct can read."""
        return min((self.slot[v] for v in _read(c.expr) if self.slot[v] < self.n), default=self.n)

    def _about(self, w: str) -> list[int]:
        """The numbers of the conjuncts that read `w`."""
        return [k for k, c in enumerate(self.plan.conjuncts) if w in _read(c.expr)]

    def _test_on_path(self, w: str, event: str) -> None:
        """Set `ok` to whether the conditions on `w` hold with `event` in its slot of the path; empty the slot."""
        slot = self.slot[w]
        self.out.add(f"path_event[{slot}] = {event}")
        self.out.add("ok = True")
        for k in self._about(w):
            self._test(k, {w: True})
        self.out.add(f"path_event[{slot}] = -1")

    def _known_from(self, w: str) -> int:
        """The earliest component that must be known to say whether an observed `w` refutes a match."""
        mine = self.slot[w] if self.slot[w] < self.n else -1
        others = [self.slot[v] for k in self._about(w) for v in _read(self.plan.conjuncts[k].expr)]
        return min((s for s in others if s < self.n and s != mine), default=self.n)

    def _before(self, w: str) -> int:
        """The number of positive components before `w`."""
        at = self.plan.order.index(w)
        return sum(1 for v in self.plan.order[:at] if self.slot[v] < self.n)

    def _after(self, w: str) -> int:
        """The first positive component after `w`."""
        return self._before(w) + (1 if self.slot[w] < self.n else 0)

    def _was_seen(self, w: str) -> str:
        """Text that is true if an event of `w` was observed where the path has none."""
        if self._about(w):
            names = f"{', '.join(SEARCHED)}, {names_of(lookup_specs(self.constants, self.specs))}"
            return f"seen_{self.slot[w]}(i, base, nums, {names})"
        places = (self.watch.index(w), self._before(w), self._after(w), self.n, self.within)
        return call(observed, *map(str, places))

    def _seen(self, w: str) -> None:
        """The search for an event of `w` that satisfies the conditions on it."""
        out, k = self.out, self.watch.index(w)
        self._function(f"def {self._was_seen(w)}:", remark(f"was {w} observed where the path has none?"))
        after, n = str(self._after(w)), str(self.n)
        out.add(f"q = {call(latest, str(k), after, n)}")
        out.add(f"event = {call(later_event, 'i', after, n)}")
        out.add(f"above = {call(earlier_rank, str(self._before(w)))}")
        with out.block("while q >= 0:"):
            out.add("e = entry_event[q]")
            with out.block(f"if e >= event or rank[e] <= above or time[e] < time[i] - {self.within}:"):
                out.add("return False", "before the gap, or an entry that has expired and been used again")
            with out.block("if rank[e] < rank[event]:"):
                self._test_on_path(w, "e")
                with out.block("if ok:"):
                    out.add("return True")
            out.add("q = entry_older[q]")
        out.add("return False")
        self._end()


def _read(e: Expr) -> set[str]:
    """The variables that an expression reads, defaults included."""
    return {x.variable for x in walk(e) if isinstance(x, Ref)}
