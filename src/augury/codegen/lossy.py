"""LossyPlan -> source of its kernel: arrival queues, and matches generated backwards from their last event.

`advance` bounds the score with which an event can arrive at each component, and enqueues it if that can reach the
threshold (paper 004, sections 4.1 and 5.1). Where a match may end, `from_<component>` extends it backwards, each
function to the components before its own (section 4.2). docs/decisions/0012 says where this departs from the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product

from augury.codegen.expressions import Code, Leaf, true
from augury.codegen.inventory import columns_of, emitted_names, functions_of, strings_of
from augury.codegen.lines import Lines
from augury.codegen.source import KernelSource, kernel_source
from augury.ir.lossy import with_defaults
from augury.ir.predicate import Conjunct, Expr, Ref, variables, walk
from augury.ir.query import TimeWindow
from augury.loss import PRECISION
from augury.plan import Component, EagerNfaPlan, LossyEdge, LossyPlan, NfaBranch
from augury.plan.lossy import BUCKETS
from augury.runtime.columns import ColumnSpec

STREAM = ("time", "rank", "place", "type_", "part")
QUEUES = ("QE", "QU", "QO", "QY", "QN", "MO", "MY", "FREE", "HEAD", "TAIL", "MF", "MB")
TABLES = ("S_first", "S_start", "S_coef", "S_most")
PATH = ("B", "QB", "OUT", "OUT_score")
ARGUMENTS = "nums, E, Q, S, P"
"""What most functions take: numbers, and tuples of arrays that hold events, queues, score tables and the path."""

FOUND, FREED, LIMIT = 0, 1, 2
"""Cells of `nums`: matches written, free entries, and how many matches end the work."""

COUNTERS = ("bounds", "arrivals", "peak_entries", "extensions", "predicates", "matches")
"""What the kernel counts, in cells 8 and following of `nums`."""


@dataclass(frozen=True, slots=True)
class LossySource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    functions: Mapping[str, tuple[str, ...]]
    tabulated: tuple[LossyEdge, ...]
    """The edges that have a table, in the order of their numbers."""
    queues: int
    watching: int
    awaited: tuple[Component, ...]
    """Components that may still be observed after the last event of a match, and then refute it."""

    @property
    def orders_strings(self) -> bool:
        """Whether strings are compared by more than equality."""
        return "string_rank[" in self.source.text


def emit_lossy(plan: LossyPlan, *, counters: bool = False) -> LossySource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


@cache
def queue_functions() -> str:
    """The functions of `augury.codegen.queues` as part of a kernel."""
    text = files("augury.codegen").joinpath("queues.py").read_text(encoding="utf-8")
    # Without its imports: what they name is in the prelude.
    return re.sub(r"^def ", "@kernel\ndef ", text[text.index("\ndef ") + 1 :], flags=re.M)


class _Emitter:
    """Writes one kernel; its state is the text so far."""

    def __init__(self, plan: LossyPlan, counters: bool) -> None:
        assert isinstance(plan.query.window, TimeWindow) and plan.query.threshold is not None
        self.plan, self.counters, self.out = plan, counters, Lines()
        self.window, self.least = plan.query.window.ticks, plan.query.threshold - PRECISION
        # A bound is a product of rounded factors: what it must reach lies a little lower.
        self.hopeful = self.least - PRECISION
        everything = EagerNfaPlan(
            plan.query,
            (NfaBranch((*plan.positive, *plan.negated), ()), NfaBranch((_reading(plan),), ())),
            plan.computed,
            merge=False,
        )
        self.strings = strings_of(everything)
        self.specs, self.columns = columns_of(everything)
        self.functions = functions_of(everything)
        self.columns_text = ", ".join([*STREAM, "string_rank", *emitted_names(self.specs)])
        self.n = len(plan.positive)
        self.slot = {c.variable: k for k, c in enumerate((*plan.positive, *plan.negated))}
        self.watch = (*(c.variable for c in plan.negated), *plan.watched)
        self.queues = self.n + len(self.watch)
        self.tabulated = tuple(e for e in plan.edges if e.table is not None)
        final = [e for e in plan.edges if e.target == self.n]
        # Where no match has anything after its last event, nobody needs to carry that score along.
        self.ending = ", end, tail" if any(e.table is not None for e in final) else ""
        self.missable = {v for e in plan.edges for v in e.missing}

    def emit(self) -> LossySource:
        self._header()
        for k, c in enumerate(self.plan.conjuncts):
            self._where(k, c)
        for w in self.watch:
            self._seen(w)
        for j in range(self.n):
            self._from(j)
        self._advance()
        awaited = self._awaited()
        text = f"{self.out}\n\n\n{queue_functions()}"
        return LossySource(
            kernel_source(text, ("advance", "sweep", *(("fits", "settled") if awaited else ()))),
            self.specs,
            self.strings,
            self.functions,
            self.tabulated,
            self.queues,
            len(self.watch),
            tuple(c for v in awaited for c in (*self.plan.positive, *self.plan.negated) if c.variable == v),
        )

    # -- words ----------------------------------------------------------------------------------------------------

    def _header(self) -> None:
        out, plan = self.out, self.plan
        for line in str(plan.query.source.text).strip().splitlines():
            out.add(f"# {line}".rstrip())
        out.add("#")
        out.add(f"# {plan.model.scoring} scores; queues by {', '.join(plan.hash_by) or 'nothing'}")
        for k, c in enumerate(plan.positive):
            out.add(f"# component {k}: {c.variable}")
        for k, e in enumerate(self.tabulated):
            source = plan.positive[e.source].variable if e.source >= 0 else "the start of the window"
            target = plan.positive[e.target].variable if e.target < self.n else "its end"
            hidden = [*(f"{v} missing" for v in e.missing), *(f"no {v}" for v in e.absent)]
            out.add(f"# table {k}: from {source} to {target}, {', '.join(hidden)}; at most {e.peak:.3g}")

    def _function(self, head: str) -> None:
        self.out.add()
        self.out.add()
        self.out.add("@kernel")
        self.out.add(head)
        self.out.depth += 1

    def _unpack(self, bundles: str = "EQSP") -> None:
        """Statements that give the arrays of the tuples their names."""
        names = {"E": self.columns_text, "Q": ", ".join(QUEUES), "S": ", ".join(TABLES), "P": ", ".join(PATH)}
        for bundle in bundles:
            self.out.add(f"{names[bundle]} = {bundle}")

    def _end(self) -> None:
        self.out.depth -= 1

    def _count(self, counter: str) -> None:
        if self.counters:
            self.out.add(f"nums[{8 + COUNTERS.index(counter)}] += 1", counter)

    def _score(self, edge: LossyEdge, length: str) -> str:
        return f"score_of({self.tabulated.index(edge)}, {length}, S_first, S_start, S_coef)"

    # -- conditions -----------------------------------------------------------------------------------------------

    def _where(self, k: int, c: Conjunct) -> None:
        """A function that says whether conjunct k allows the path B, as far as it applies."""
        line, column = self.plan.query.source.position(c.span.start)
        self._function(f"def where_{k}(nums, E, B):  # {c}   ({self.plan.query.source.name} {line}:{column})")
        self._unpack("E")
        self._count("predicates")
        for test, text in self._variants(c):
            if test == "True":
                self.out.add(f"return {text}")
                self._end()
                return
            with self.out.block(f"if {test}:"):
                self.out.add(f"return {text}")
        self.out.add("return True")
        self._end()

    def _variants(self, c: Conjunct) -> Iterator[tuple[str, str]]:
        """What is tested, by which components are missing."""
        read = [v for v in self.slot if v in _read(c.expr)]
        positive = [v for v in read if self.slot[v] < self.n]
        for there in product(*([True, False] if v in self.missable else [True] for v in positive)):
            missing = frozenset(v for v, t in zip(positive, there, strict=True) if not t)
            filled = with_defaults(c.expr, missing)
            # What a component is tested for by itself holds for whatever is in its queue.
            if filled is None or (len(c.variables) == 1 and c.variables[0] not in missing):
                continue
            tests = [f"B[{self.slot[v]}] {'<' if v in missing else '>='} 0" for v in positive if v in self.missable]
            tests += [f"B[{self.slot[v]}] >= 0" for v in variables(filled) if self.slot[v] >= self.n]
            yield " and ".join(tests) or "True", self._text(filled)

    def _text(self, expr: Expr, event: str = "") -> str:
        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, event or f"B[{self.slot[leaf.variable]}]")

        return true(expr, read, self.strings)

    def _first(self, c: Conjunct) -> int:
        """The earliest component that a conjunct can read."""
        return min((self.slot[v] for v in _read(c.expr) if self.slot[v] < self.n), default=self.n)

    def _tests(self, low: int, high: int) -> list[str]:
        """The conjuncts whose earliest component is one of [low, high), as calls."""
        return [
            f"where_{k}(nums, E, B)"
            for k, c in enumerate(self.plan.conjuncts)
            if low <= self._first(c) < high
        ]

    def _about(self, w: str) -> list[int]:
        return [k for k, c in enumerate(self.plan.conjuncts) if w in _read(c.expr)]

    def _known_from(self, w: str) -> int:
        """The earliest component that must be known to say whether an observed `w` refutes a match."""
        mine = self.slot[w] if self.slot[w] < self.n else -1
        others = [self.slot[v] for k in self._about(w) for v in _read(self.plan.conjuncts[k].expr)]
        return min((s for s in others if s < self.n and s != mine), default=self.n)

    def _before(self, w: str) -> int:
        """How many positive components come before `w`."""
        at = self.plan.order.index(w)
        return sum(1 for v in self.plan.order[:at] if self.slot[v] < self.n)

    def _seen(self, w: str) -> None:
        """A function that looks for an event of `w` between the events of the path around its place."""
        out, k, slot, before = self.out, self.watch.index(w), self.slot[w], self._before(w)
        after = before + (1 if slot < self.n else 0)
        self._function(f"def seen_{slot}(i, base, {ARGUMENTS}):  # was {w} observed where the path has none?")
        self._unpack("EQP")
        out.add("q = -1")
        out.add("event = i")
        with out.block(f"for k in range({after}, {self.n}):", "the next component that was observed"):
            with out.block("if B[k] >= 0:"):
                out.add("event = B[k]")
                out.add(f"q = QN[QB[k], {k}] if QB[k] >= 0 else HEAD[base + {self.n + k}]")
                out.add("break")
        out.add("above = -1")
        with out.block(f"for k in range({before - 1}, -1, -1):", "the one before it"):
            with out.block("if B[k] >= 0:"):
                out.add("above = rank[B[k]]")
                out.add("break")
        with out.block("while q >= 0:"):
            out.add("e = QE[q]")
            with out.block("if e >= event:", "an entry that has expired and been used again"):
                out.add("return False")
            with out.block(f"if rank[e] <= above or time[e] < time[i] - {self.window}:"):
                out.add("return False")
            with out.block("if rank[e] < rank[event]:"):
                if self._about(w):
                    out.add(f"B[{slot}] = e")
                    out.add(f"ok = {' and '.join(f'where_{c}(nums, E, B)' for c in self._about(w))}")
                    out.add(f"B[{slot}] = -1")
                    with out.block("if ok:"):
                        out.add("return True")
                else:
                    out.add("return True")
            out.add("q = QO[q]")
        out.add("return False")
        self._end()

    def _refutations(self, edge: LossyEdge, low: int, high: int) -> list[str]:
        """Searches in the gap of an edge that can be decided once component `low` is known, and not before `high`."""
        inside = [w for w in self.watch if w in (*edge.absent, *edge.missing)]
        return [f"seen_{self.slot[w]}(i, base, {ARGUMENTS})" for w in inside if low <= self._known_from(w) < high]

    # -- backwards ------------------------------------------------------------------------------------------------

    def _from(self, j: int) -> None:
        """A function that extends the path, which begins with component j, to every earlier start."""
        out, plan = self.out, self.plan
        head = f"def from_{j}(i, base, s{self.ending}, {ARGUMENTS}):"
        self._function(f"{head}  # the path begins with {plan.positive[j].variable}")
        self._unpack()
        out.add(f"b = B[{j}]")
        start = plan.edge(-1, j)
        if start is not None:
            self._complete(j, start)
        for a in range(j - 1, -1, -1):
            edge = plan.edge(a, j)
            if edge is not None:
                self._extend(a, j, edge)
        if start is None and not any(plan.edge(a, j) for a in range(j)):
            out.add("return")
        self._end()

    def _complete(self, j: int, edge: LossyEdge) -> None:
        out = self.out
        out.add("p = s", "nothing before this one was observed")
        if edge.table is not None or self.ending:
            out.add(f"room = {self.window} - (time[i] - time[b])")
        if edge.table is not None:
            out.add(f"p *= {self._score(edge, 'room')}")
        if self.ending:
            with out.block("if tail >= 0:"):
                out.add("p *= score_of(tail, room, S_first, S_start, S_coef)")
        with out.block(f"if p >= {self.least!r}:"):
            for k in range(j):
                out.add(f"B[{k}] = -1")
            tests = self._tests(0, j)
            refuting = self._refutations(edge, 0, self.n + 1) + self._deferred(j)
            tests += [f"not {call}" for call in refuting]
            out.add(f"ok = {' and '.join(tests) or 'True'}")
            with out.block("if ok:"):
                self._count("matches")
                with out.block("if nums[0] < OUT.shape[0]:"):
                    for k in range(self.n):
                        out.add(f"OUT[nums[0], {k}] = B[{k}]")
                    out.add("OUT_score[nums[0]] = min(1.0, p)")
                out.add("nums[0] += 1")

    def _deferred(self, j: int) -> list[str]:
        """Searches in later gaps that had to wait until it was known which earlier components are missing.

        Which gap that is, and so whether the search was possible earlier, is known only when the kernel runs.
        """
        waited = [w for w in self.watch if self._known_from(w) < self._before(w) - 1 and self._before(w) > j]
        return [f"(B[{self.slot[w]}] < 0 and seen_{self.slot[w]}(i, base, {ARGUMENTS}))" for w in waited]

    def _extend(self, a: int, j: int, edge: LossyEdge) -> None:
        out, plan = self.out, self.plan
        for k in range(a + 1, j):
            out.add(f"B[{k}] = -1")
        hoisted = self._tests(a + 1, j)
        depth = out.depth
        if hoisted:
            out.add(f"if {' and '.join(hoisted)}:")
            out.depth += 1
        out.add(f"q = HEAD[base + {a}]", f"{plan.positive[a].variable} before it")
        with out.block(f"while q >= 0 and time[QE[q]] >= time[i] - {self.window}:"):
            with out.block(f"if nums[{FOUND}] > nums[{LIMIT}]:"):
                out.add("return")
            out.add("e = QE[q]")
            with out.block("if rank[e] < rank[b]:"):
                self._count("extensions")
                score = f" * {self._score(edge, 'time[b] - time[e]')}" if edge.table is not None else ""
                out.add(f"r = s{score}")
                with out.block(f"if r * QU[q]{' * end' if self.ending else ''} >= {self.hopeful!r}:"):
                    out.add(f"B[{a}] = e")
                    out.add(f"QB[{a}] = q")
                    tests = self._tests(a, a + 1)
                    tests += [f"not {call}" for call in self._refutations(edge, a, self.n + 1)]
                    if tests:
                        out.add(f"ok = {' and '.join(tests)}")
                        out.add("if ok:")
                        out.depth += 1
                    out.add(f"from_{a}(i, base, r{self.ending}, {ARGUMENTS})")
                    if tests:
                        out.depth -= 1
            out.add("q = QO[q]")
        out.depth = depth

    # -- forwards -------------------------------------------------------------------------------------------------

    def _fits(self, c: Component, event: str = "i") -> str:
        tests = []
        if c.types and self.plan.query.schema.type is not None:
            codes = [self.strings.index(t) for t in c.types]
            tests.append(" or ".join(f"type_[{event}] == {code}" for code in codes))
        tests += [self._text(j.expr, event) for j in c.alone]
        return " and ".join(f"({t})" for t in tests) or "True"

    def _advance(self) -> None:
        out, plan = self.out, self.plan
        self._function(f"def advance(i0, n, {ARGUMENTS}):")
        self._unpack()
        with out.block("for i in range(i0, n):"):
            out.add("g = part[i]")
            with out.block("if g < 0:"):
                out.add("continue")
            components = (*plan.positive, *plan.negated)
            for k, c in enumerate(components):
                out.add(f"fit_{k} = {self._fits(c)}", c.variable)
            with out.block(f"if not ({' or '.join(f'fit_{k}' for k in range(len(components)))}):"):
                out.add("continue")
            with out.block(f"if nums[{FREED}] < {self.queues}:"):
                out.add("return i", "the caller makes room and comes back")
            out.add("t = time[i]")
            out.add(f"base = g * {self.queues}")
            with out.block(f"for s in range(base, base + {self.queues}):", "WITHIN"):
                arrays = "nums, time, QE, QO, QY, MO, MY, FREE, HEAD, TAIL, MF, MB"
                out.add(f"expire(s, t - {self.window}, {arrays})")
            out.add(f"before = nums[{FOUND}]")
            for j in range(self.n):
                self._arrive(j)
            with out.block(f"if nums[{FOUND}] > OUT.shape[0]:"):
                out.add(f"nums[{LIMIT} + 1] = nums[{FOUND}]", "how many there is no place for")
                out.add(f"nums[{FOUND}] = before")
                out.add("return i")
            for j in range(self.n):
                self._enqueue(j)
            for k, w in enumerate(self.watch):
                with out.block(f"if fit_{self.slot[w]}:", f"{w} observed"):
                    out.add(f"push(base + {self.n + k}, i, nums, QE, QO, QY, FREE, HEAD, TAIL)")
            if self.counters:
                peak = 8 + COUNTERS.index("peak_entries")
                out.add(f"nums[{peak}] = max(nums[{peak}], FREE.shape[0] - nums[{FREED}])")
        out.add("return n")
        self._end()

    def _arrive(self, j: int) -> None:
        """The greatest score with which event i can stand for component j, and the matches that end with it."""
        out, plan = self.out, self.plan
        start = plan.edge(-1, j)
        out.add(f"u_{j} = 0.0")
        with out.block(f"if fit_{j}:", plan.positive[j].variable):
            out.add(f"u_{j} = {start.peak if start is not None else 0.0!r}", "nothing before it was observed")
            for a in range(j):
                edge = plan.edge(a, j)
                if edge is None:
                    continue
                self._count("bounds")
                with out.block(f"if MF[base + {a}] >= 0:", f"from {plan.positive[a].variable}"):
                    most = ""
                    if edge.table is not None:
                        number = self.tabulated.index(edge)
                        scale = BUCKETS / (self.window + 1)
                        most = f" * most_of({number}, t - time[QE[TAIL[base + {a}]]], {scale!r}, S_most)"
                    out.add(f"u_{j} = max(u_{j}, QU[MF[base + {a}]]{most})")
            final = plan.edge(j, self.n)
            if final is None:
                return
            with out.block(f"if u_{j} * {final.peak!r} >= {self.hopeful!r}:", "a match may end here"):
                for k in range(self.n + len(plan.negated)):
                    out.add(f"B[{k}] = {'i' if k == j else -1}")
                out.add(f"QB[{j}] = -1")
                tail = self.tabulated.index(final) if final.table is not None else -1
                tests = self._tests(j, j + 1)
                if tests:
                    out.add(f"ok = {' and '.join(tests)}")
                    out.add("if ok:")
                    out.depth += 1
                ending = f", {final.peak!r}, {tail}" if self.ending else ""
                out.add(f"from_{j}(i, base, 1.0{ending}, {ARGUMENTS})")
                if tests:
                    out.depth -= 1

    def _enqueue(self, j: int) -> None:
        out, plan = self.out, self.plan
        best = max((e.peak * plan.best[e.target] for e in plan.edges if e.source == j and e.target < self.n), default=0)
        if best == 0:
            return
        with out.block(f"if u_{j} * {best!r} >= {self.hopeful!r}:"):
            self._count("arrivals")
            out.add(f"q = push(base + {j}, i, nums, QE, QO, QY, FREE, HEAD, TAIL)")
            out.add(f"rank_bound(base + {j}, q, u_{j}, QU, MO, MY, MF, MB)")
            for k in range(len(self.watch)):
                out.add(f"QN[q, {k}] = HEAD[base + {self.n + k}]")

    # -- after the last event -------------------------------------------------------------------------------------

    def _awaited(self) -> list[str]:
        """Write `fits` and `settled` if anything may refute a match after its last event; what may."""
        out, plan = self.out, self.plan
        final = [e for e in plan.edges if e.target == self.n]
        awaited = [w for w in self.watch if any(w in (*e.absent, *e.missing) for e in final)]
        if not awaited:
            return []
        components = {c.variable: c for c in (*plan.positive, *plan.negated)}
        self._function("def fits(c, n, keep, E):")
        self._unpack("E")
        for k, w in enumerate(awaited):
            with out.block(f"if c == {k}:", w), out.block("for i in range(n):"):
                out.add(f"keep[i] = part[i] >= 0 and {self._fits(components[w])}")
        self._end()
        self._function("def settled(m0, m1, keep, MATCH, C_start, C_part, C_event, nums, E, B):")
        self._unpack("E")
        with out.block("for m in range(m0, m1):"):
            out.add("first = -1")
            with out.block(f"for k in range({self.n}):"):
                out.add("B[k] = MATCH[m, k]")
                with out.block("if B[k] >= 0:"):
                    out.add("last = B[k]")
                    out.add("end = k")
                    with out.block("if first < 0:"):
                        out.add("first = B[k]")
            for k in range(self.n, self.n + len(plan.negated)):
                out.add(f"B[{k}] = -1")
            out.add("keep[m] = 1")
            for k, w in enumerate(awaited):
                slot = self.slot[w]
                with out.block(f"if keep[m] == 1 and end < {self._before(w)}:", f"{w} after the last event"):
                    out.add(f"j = lower_bound(C_part, C_start[{k}], C_start[{k + 1}], part[first])")
                    out.add(f"z = upper_bound(C_part, j, C_start[{k + 1}], part[first])")
                    out.add("j = lower_bound(C_event, j, z, last)")
                    with out.block(f"while j < z and time[C_event[j]] <= time[first] + {self.window}:"):
                        with out.block("if rank[C_event[j]] > rank[last]:"):
                            out.add(f"B[{slot}] = C_event[j]")
                            tests = " and ".join(f"where_{c}(nums, E, B)" for c in self._about(w)) or "True"
                            out.add(f"ok = {tests}")
                            out.add(f"B[{slot}] = -1")
                            with out.block("if ok:"):
                                out.add("keep[m] = 0")
                                out.add("break")
                        out.add("j += 1")
        self._end()
        return awaited


def _read(e: Expr) -> set[str]:
    """The variables that an expression reads, defaults included."""
    return {x.variable for x in walk(e) if isinstance(x, Ref)}


def _reading(plan: LossyPlan) -> Component:
    """All conjuncts over several events at one place, for the inventory of what they read."""
    return Component("", (), 1, 1, False, (), plan.conjuncts, ())
