"""LossyPlan -> source of its kernel: arrival queues, and matches generated backwards from their last event.

`advance` bounds the score with which an event can arrive at each component (paper 004, sections 4.1 and 5.1), searches
backwards from it for the matches that end there (section 4.2), and enqueues it if a later match can hold it.
docs/decisions/0020 says where this departs from the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from augury.codegen.common.naming import heading, remark
from augury.codegen.lossy.conditions import COUNTERS, LossyConditions
from augury.plan import Component, LossyEdge, LossyPlan
from augury.plan.lossy import BUCKETS
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, functions_as_kernels, kernel_source

QUEUES = ("QE", "QU", "QO", "QY", "QN", "MO", "MY", "FREE", "HEAD", "TAIL", "MF", "MB")
TABLES = ("S_first", "S_start", "S_coef", "S_most", "S_edge", "S_lead", "S_tail", "S_end")
PATH = ("B", "QB", "U", "PC", "PA", "PX", "PS", "OUT", "OUT_score")

FOUND, FREED, LIMIT = 0, 1, 2
"""Cells of `nums`: matches written, free entries, and how many matches end the work."""


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


def emit_lossy(plan: LossyPlan, *, counters: bool = False) -> LossySource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


@cache
def queue_functions() -> str:
    """The functions of `augury.native.queues` as part of a kernel."""
    return functions_as_kernels(files("augury.native").joinpath("queues.py").read_text(encoding="utf-8"))[0]


class _Emitter(LossyConditions):
    """Emits the kernel of one lossy plan; its state is the text so far."""

    def emit(self) -> LossySource:
        self._header()
        for w in self.watch:
            if self._about(w):
                self._seen(w)
        self._advance()
        awaited = self._awaited()
        text = f"{self.out}\n\n\n{queue_functions()}"
        return LossySource(
            kernel_source(
                text,
                ("advance", "sweep", *(("fits", "settled") if awaited else ())),
                self.constants.arrays,
                ranks_strings=self.constants.ranks_strings,
            ),
            self.specs,
            self.constants.strings,
            self.functions,
            self.tabulated,
            self.queues,
            len(self.watch),
            tuple(c for v in awaited for c in (*self.plan.positive, *self.plan.negated) if c.variable == v),
        )

    # -- text -----------------------------------------------------------------------------------------------------

    def _header(self) -> None:
        out, plan = self.out, self.plan
        for line in heading(plan.query.source):
            out.comment(line)
        out.comment()
        out.comment(remark(f"{plan.model.scoring} scores; queues by {', '.join(plan.hash_by) or 'nothing'}"))
        for k, c in enumerate(plan.positive):
            out.comment(remark(f"component {k}: {c.variable}"))
        for k, e in enumerate(self.tabulated):
            source = plan.positive[e.source].variable if e.source >= 0 else "the start of the window"
            target = plan.positive[e.target].variable if e.target < self.n else "its end"
            hidden = [*(f"{v} missing" for v in e.missing), *(f"no {v}" for v in e.absent)]
            out.comment(remark(f"table {k}: from {source} to {target}, {', '.join(hidden)}; at most {e.peak:.3g}"))

    # -- backwards ------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        """Every match that ends with event i at component l, by depth-first search from its end to its start.

        The stack holds, for each observed component from the last on, which one it is (PC), the score so far (PS), the
        component before it that is being tried (PA) and the next entry of that one's queue (PX).
        """
        out = self.out
        out.add("depth = -1")
        out.add("a = l")
        out.add("j = l")
        out.add("e = i")
        out.add("q = -1")
        out.add("s = 1.0")
        out.add("binds = True")
        with out.block(f"while nums[{FOUND}] <= nums[{LIMIT}] and not stopped(nums):"):
            with out.block("if binds:"):
                self._bind()
            with out.block("if depth < 0:"):
                out.add("break")
            out.add("j = PC[depth]")
            out.add("a = PA[depth]")
            with out.block("if a < 0:", "no component is left to try before it"):
                self._complete()
                out.add("depth -= 1")
                out.add("continue")
            out.add("q = PX[depth]")
            with out.block(f"if q < 0 or time[QE[q]] < t - {self.window}:", "no event is left: it is missing"):
                self._skip()
                out.add("continue")
            out.add("PX[depth] = QO[q]")
            out.add("e = QE[q]")
            with out.block("if rank[e] < rank[B[j]]:"):
                self._count("extensions")
                out.add("s = PS[depth]")
                if self.tabulated:
                    with out.block("if S_edge[a, j] >= 0:"):
                        out.add("s *= score_of(S_edge[a, j], time[B[j]] - time[e], S_first, S_start, S_coef)")
                out.add(f"binds = s * QU[q] * S_end[l] >= {self.hopeful!r}")

    def _bind(self) -> None:
        """Component a gets event e: go on from there if the conditions that are known now allow it."""
        out = self.out
        out.add("binds = False")
        out.add("B[a] = e")
        out.add("QB[a] = q")
        out.add("ok = True")
        word = "if"
        for a, c in enumerate(self.plan.positive):
            tests = [k for k, x in enumerate(self.plan.conjuncts) if self._first(x) == a]
            searches = [w for w in self.watch if self._before(w) > a and self._known_from(w) >= a]
            mark = len(out.lines)
            with out.block(f"{word} a == {a}:", remark(f"{c.variable} observed")):
                for k in tests:
                    self._test(k, {c.variable: True})
                for w in searches:
                    with out.block(f"if ok and depth >= 0 and j >= {self._after(w)}:", remark(f"{w} in the gap")):
                        out.add(f"ok = not {self._was_seen(w)}")
            if len(out.lines) == mark + 1:
                out.lines.pop()
            else:
                word = "elif"
        with out.block("if ok:"):
            out.add("depth += 1")
            out.add("PC[depth] = a")
            out.add("PS[depth] = s")
            out.add("PA[depth] = a - 1")
            out.add("PX[depth] = HEAD[base + a - 1] if a > 0 and S_edge[a - 1, a] > -2 else -1")

    def _skip(self) -> None:
        """Component a is missing before component j: try the one before it if the conditions allow it."""
        out = self.out
        out.add("B[a] = -1")
        out.add("ok = True")
        word = "if"
        for a, c in enumerate(self.plan.positive):
            tests = [k for k, x in enumerate(self.plan.conjuncts) if self._first(x) == a]
            mark = len(out.lines)
            with out.block(f"{word} a == {a}:", remark(f"{c.variable} missing")):
                if c.variable not in self.missable:
                    out.add("ok = False", "it is never lost")
                else:
                    for k in tests:
                        self._test(k, {c.variable: False})
            if len(out.lines) == mark + 1:
                out.lines.pop()
            else:
                word = "elif"
        with out.block("if ok:"):
            out.add("PA[depth] = a - 1")
            out.add("PX[depth] = HEAD[base + a - 1] if a > 0 and S_edge[a - 1, j] > -2 else -1")
        with out.block("else:"):
            out.add("depth -= 1")

    def _complete(self) -> None:
        """Nothing before component j was observed: a match, if its score and what else was observed allow it."""
        out = self.out
        with out.block("if S_lead[j] > -2:"):
            out.add("s = PS[depth]")
            if any(e.source < 0 or e.target == self.n for e in self.tabulated):
                out.add(f"room = {self.window} - (t - time[B[j]])")
                with out.block("if S_lead[j] >= 0:"):
                    out.add("s *= score_of(S_lead[j], room, S_first, S_start, S_coef)")
                with out.block("if S_tail[l] >= 0:"):
                    out.add("s *= score_of(S_tail[l], room, S_first, S_start, S_coef)")
            out.add(f"ok = s >= {self.least!r}")
            for w in self.watch:
                # Before the first event, or where it could not be decided until all components were known.
                waits = self._known_from(w) < self._before(w) - 1
                there = f"B[{self.slot[w]}] < 0" if self.slot[w] < self.n else ""
                where = there if waits else f"j >= {self._after(w)}"
                with out.block(f"if {' and '.join(['ok', *filter(None, [where])])}:", remark(f"{w} in a gap")):
                    out.add(f"ok = not {self._was_seen(w)}")
            with out.block("if ok:"):
                self._count("matches")
                with out.block(f"if nums[{FOUND}] < OUT.shape[0]:"):
                    for k in range(self.n):
                        out.add(f"OUT[nums[{FOUND}], {k}] = B[{k}]")
                    out.add(f"OUT_score[nums[{FOUND}]] = min(1.0, s)")
                out.add(f"nums[{FOUND}] += 1")

    # -- forwards -------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        out, plan = self.out, self.plan
        self._function(f"def advance(i0, n, nums, {self.columns_text}, {', '.join((*QUEUES, *TABLES, *PATH))}):")
        with out.block("for i in range(i0, n):"):
            out.add("g = part[i]")
            with out.block("if g < 0:"):
                out.add("continue")
            components = (*plan.positive, *plan.negated)
            for k, c in enumerate(components):
                out.add(f"fit_{k} = {self._fits(c)}", remark(c.variable))
            with out.block(f"if not ({' or '.join(f'fit_{k}' for k in range(len(components)))}):"):
                out.add("continue")
            with out.block(f"if nums[{FREED}] < {self.queues}:"):
                out.add("return i", "the caller makes room and comes back")
            out.add("t = time[i]")
            out.add(f"base = g * {self.queues}")
            with out.block(f"for k in range(base, base + {self.queues}):", "WITHIN"):
                arrays = "nums, time, QE, QO, QY, MO, MY, FREE, HEAD, TAIL, MF, MB"
                with out.block(f"if TAIL[k] >= 0 and time[QE[TAIL[k]]] < t - {self.window}:"):
                    out.add(f"expire(k, t - {self.window}, {arrays})")
            for j in range(self.n):
                self._arrive(j)
            out.add(f"before = nums[{FOUND}]")
            with out.block(f"for l in range({self.n}):"):
                with out.block(f"if U[l] * S_end[l] < {self.hopeful!r}:"):
                    out.add("continue")
                with out.block(f"for k in range({self.n + len(plan.negated)}):", "a match may end here"):
                    out.add("B[k] = -1")
                self._search()
            with out.block(f"if nums[{FOUND}] > OUT.shape[0]:"):
                out.add(f"nums[{LIMIT} + 1] = nums[{FOUND}]", "how many there is no place for")
                out.add(f"nums[{FOUND}] = before")
                out.add("return i")
            for j in range(self.n):
                self._enqueue(j)
            for k, w in enumerate(self.watch):
                with out.block(f"if fit_{self.slot[w]}:", remark(f"{w} observed")):
                    out.add(f"push(base + {self.n + k}, i, nums, QE, QO, QY, FREE, HEAD, TAIL)")
            if self.counters:
                peak = 8 + COUNTERS.index("peak_entries")
                out.add(f"nums[{peak}] = max(nums[{peak}], FREE.shape[0] - nums[{FREED}])")
        out.add("return n")
        self._end()

    def _arrive(self, j: int) -> None:
        """The greatest score with which event i can stand for component j."""
        out, plan = self.out, self.plan
        start = plan.edge(-1, j)
        out.add("u = 0.0")
        with out.block(f"if fit_{j}:", remark(plan.positive[j].variable)):
            out.add(f"u = {_bound(start.peak) if start is not None else '0.0'}", "nothing before it was observed")
            for a in range(j):
                edge = plan.edge(a, j)
                if edge is None:
                    continue
                self._count("bounds")
                with out.block(f"if MF[base + {a}] >= 0:", remark(f"from {plan.positive[a].variable}")):
                    most = ""
                    if edge.table is not None:
                        number = self.tabulated.index(edge)
                        scale = BUCKETS / (self.window + 1)
                        most = f" * most_of({number}, t - time[QE[TAIL[base + {a}]]], {scale!r}, S_most)"
                    out.add(f"u = max(u, QU[MF[base + {a}]]{most})")
        out.add(f"U[{j}] = u")

    def _enqueue(self, j: int) -> None:
        out, plan = self.out, self.plan
        best = max((e.peak * plan.best[e.target] for e in plan.edges if e.source == j and e.target < self.n), default=0)
        if best == 0:
            return
        with out.block(f"if U[{j}] * {_bound(best)} >= {self.hopeful!r}:"):
            self._count("arrivals")
            out.add(f"q = push(base + {j}, i, nums, QE, QO, QY, FREE, HEAD, TAIL)")
            out.add(f"rank_bound(base + {j}, q, U[{j}], QU, MO, MY, MF, MB)")
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
        self._function(f"def fits(c, n, keep, {self.columns_text}):")
        for k, w in enumerate(awaited):
            with out.block(f"if c == {k}:", w), out.block("for i in range(n):"):
                out.add(f"keep[i] = part[i] >= 0 and {self._fits(components[w])}")
        self._end()
        head = f"def settled(m0, m1, keep, MATCH, C_start, C_part, C_event, nums, {self.columns_text}, B):"
        self._function(head)
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
                with out.block(f"if keep[m] == 1 and end < {self._before(w)}:", remark(f"{w} after the last event")):
                    out.add(f"j = lower_bound(C_part, C_start[{k}], C_start[{k + 1}], part[first])")
                    out.add(f"z = upper_bound(C_part, j, C_start[{k + 1}], part[first])")
                    out.add("j = lower_bound(C_event, j, z, last)")
                    with out.block(f"while j < z and time[C_event[j]] <= time[first] + {self.window}:"):
                        with out.block("if rank[C_event[j]] > rank[last]:"):
                            out.add(f"B[{slot}] = C_event[j]")
                            out.add("ok = True")
                            for c in self._about(w):
                                self._test(c, {w: True})
                            out.add(f"B[{slot}] = -1")
                            with out.block("if ok:"):
                                out.add("keep[m] = 0")
                                out.add("break")
                        out.add("j += 1")
        self._end()
        return awaited


def _bound(peak: float) -> str:
    """A little more than a best score, so that the text does not hang on the last digit of an integral.

    >>> _bound(0.25), _bound(1.0)
    ('0.250001', '1.0')
    """
    return repr(peak) if peak == 1.0 else f"{peak + 1e-6:.6f}"
