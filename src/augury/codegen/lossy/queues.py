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
from inspect import signature

from augury.codegen.common.absence import fits_signature
from augury.codegen.common.calls import call
from augury.codegen.common.inventory import KEEP, NUMS
from augury.codegen.common.naming import heading, remark
from augury.codegen.lossy.conditions import LossyConditions
from augury.native import queues
from augury.native.cells import QueueCell
from augury.plan import Component, LossyEdge, LossyPlan
from augury.plan.lossy import BUCKETS
from augury.runtime.arrays import ArraySpec
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, Signature, functions_as_kernels, kernel_source


@dataclass(frozen=True, slots=True)
class LossySource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    arrays: tuple[ArraySpec, ...]
    """What `advance` takes after the arrays of the stream."""
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
        entries = [self._advance(), self._sweep()]
        awaited = self._awaited()
        entries += (fits_signature(self.stream), self._settled) if awaited else ()
        text = f"{self.out}\n\n\n{queue_functions()}"
        return LossySource(
            kernel_source(
                text,
                entries,
                self.constants.arrays,
                ranks_strings=self.constants.ranks_strings,
                code=f"{self.out.code}\n{queue_functions()}",
            ),
            self.arrays,
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

        The stack holds, for each observed component from the last on, which one it is, the score so far, the component
        before it that is being tried and the next entry of that one's queue.
        """
        out = self.out
        out.add("depth = -1")
        out.add("a = l")
        out.add("j = l")
        out.add("e = i")
        out.add("q = -1")
        out.add("s = 1.0")
        out.add("binds = True")
        with out.block(f"while nums[{QueueCell.FOUND}] <= nums[{QueueCell.LIMIT}] and not stopped(nums):"):
            with out.block("if binds:"):
                self._bind()
            with out.block("if depth < 0:"):
                out.add("break")
            out.add("j = stack_component[depth]")
            out.add("a = stack_before[depth]")
            with out.block("if a < 0:", "no component is left to try before it"):
                self._complete()
                out.add("depth -= 1")
                out.add("continue")
            out.add("q = stack_entry[depth]")
            with out.block(f"if q < 0 or time[entry_event[q]] < t - {self.within}:", "no event is left: it is missing"):
                self._skip()
                out.add("continue")
            out.add("stack_entry[depth] = entry_older[q]")
            out.add("e = entry_event[q]")
            with out.block("if rank[e] < rank[path_event[j]]:"):
                self._count(QueueCell.EXTENSIONS)
                out.add("s = stack_score[depth]")
                if self.tabulated:
                    with out.block("if edge_table[a, j] >= 0:"):
                        out.add(f"s *= {call(queues.score_of, 'edge_table[a, j]', 'time[path_event[j]] - time[e]')}")
                out.add(f"binds = s * entry_bound[q] * tail_score[l] >= {self.hopeful}")

    def _bind(self) -> None:
        """Emit binding event e to component a, and the search before it if the conditions that are decided now hold."""
        out = self.out
        out.add("binds = False")
        out.add("path_event[a] = e")
        out.add("path_entry[a] = q")
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
            out.add("stack_component[depth] = a")
            out.add("stack_score[depth] = s")
            out.add("stack_before[depth] = a - 1")
            out.add("stack_entry[depth] = queue_youngest[base + a - 1] if a > 0 and edge_table[a - 1, a] > -2 else -1")

    def _skip(self) -> None:
        """Emit the case that component a is missing before j, and the search before it if the conditions allow it."""
        out = self.out
        out.add("path_event[a] = -1")
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
            out.add("stack_before[depth] = a - 1")
            out.add("stack_entry[depth] = queue_youngest[base + a - 1] if a > 0 and edge_table[a - 1, j] > -2 else -1")
        with out.block("else:"):
            out.add("depth -= 1")

    def _complete(self) -> None:
        """Emit the end of a path without events before component j: a match, unless its score or events refute it."""
        out = self.out
        with out.block("if lead_table[j] > -2:"):
            out.add("s = stack_score[depth]")
            if any(e.source < 0 or e.target == self.n for e in self.tabulated):
                out.add(f"room = {self.within} - (t - time[path_event[j]])")
                with out.block("if lead_table[j] >= 0:"):
                    out.add(f"s *= {call(queues.score_of, 'lead_table[j]', 'room')}")
                with out.block("if tail_table[l] >= 0:"):
                    out.add(f"s *= {call(queues.score_of, 'tail_table[l]', 'room')}")
            out.add(f"ok = s >= {self.least}")
            for w in self.watch:
                # Before the first event, or where it could not be decided until all components were known.
                waits = self._known_from(w) < self._before(w) - 1
                there = f"path_event[{self.slot[w]}] < 0" if self.slot[w] < self.n else ""
                where = there if waits else f"j >= {self._after(w)}"
                with out.block(f"if {' and '.join(['ok', *filter(None, [where])])}:", remark(f"{w} in a gap")):
                    out.add(f"ok = not {self._was_seen(w)}")
            with out.block("if ok:"):
                self._count(QueueCell.MATCHES)
                with out.block(f"if nums[{QueueCell.FOUND}] < match_events.shape[0]:"):
                    for k in range(self.n):
                        out.add(f"match_events[nums[{QueueCell.FOUND}], {k}] = path_event[{k}]")
                    out.add(f"match_score[nums[{QueueCell.FOUND}]] = min(1.0, s)")
                out.add(f"nums[{QueueCell.FOUND}] += 1")

    # -- forwards -------------------------------------------------------------------------------------------------

    def _advance(self) -> Signature:
        out, plan = self.out, self.plan
        advance = Signature("advance", ("i0", "n", NUMS, *self.stream, *self.arrays))
        self._function(advance.head)
        with out.block("for i in range(i0, n):"):
            out.add("g = part[i]")
            with out.block("if g < 0:"):
                out.add("continue")
            components = (*plan.positive, *plan.negated)
            for k, c in enumerate(components):
                out.add(f"fit_{k} = {self._fits(c)}", remark(c.variable))
            with out.block(f"if not ({' or '.join(f'fit_{k}' for k in range(len(components)))}):"):
                out.add("continue")
            with out.block(f"if nums[{QueueCell.FREE}] < {self.queues}:"):
                out.add("return i", "the caller makes room and comes back")
            out.add("t = time[i]")
            out.add(f"base = g * {self.queues}")
            expired = f"queue_oldest[k] >= 0 and time[entry_event[queue_oldest[k]]] < t - {self.within}"
            with out.block(f"for k in range(base, base + {self.queues}):", "WITHIN"), out.block(f"if {expired}:"):
                out.add(call(queues.expire, "k", f"t - {self.within}"))
            for j in range(self.n):
                self._arrive(j)
            out.add(f"before = nums[{QueueCell.FOUND}]")
            with out.block(f"for l in range({self.n}):"):
                with out.block(f"if arrival_bound[l] * tail_score[l] < {self.hopeful}:"):
                    out.add("continue")
                with out.block(f"for k in range({self.n + len(plan.negated)}):", "a match may end here"):
                    out.add("path_event[k] = -1")
                self._search()
            with out.block(f"if nums[{QueueCell.FOUND}] > match_events.shape[0]:"):
                out.add(f"nums[{QueueCell.NO_ROOM}] = nums[{QueueCell.FOUND}]", "how many there is no place for")
                out.add(f"nums[{QueueCell.FOUND}] = before")
                out.add("return i")
            for j in range(self.n):
                self._enqueue(j)
            for k, w in enumerate(self.watch):
                with out.block(f"if fit_{self.slot[w]}:", remark(f"{w} observed")):
                    out.add(call(queues.push, f"base + {self.n + k}", "i"))
            if self.counters:
                peak = QueueCell.PEAK_ENTRIES
                out.add(f"nums[{peak}] = max(nums[{peak}], free_entries.shape[0] - nums[{QueueCell.FREE}])")
        out.add("return n")
        self._end()
        return advance

    def _sweep(self) -> Signature:
        """Signature of `sweep` of the library, which every kernel has as an entry."""
        known = {spec.name: spec for spec in (NUMS, *self.stream, *self.arrays)}
        return Signature("sweep", tuple(known.get(name, name) for name in signature(queues.sweep).parameters))

    @property
    def _settled(self) -> Signature:
        matches = ArraySpec("found_events", width=self.n)
        candidates = (ArraySpec(f"candidate_{part}") for part in ("start", "part", "event"))
        path = next(spec for spec in self.arrays if spec.name == "path_event")
        return Signature("settled", ("m0", "m1", KEEP, matches, *candidates, NUMS, *self.stream, path))

    def _arrive(self, j: int) -> None:
        """The greatest score with which event i can stand for component j."""
        out, plan = self.out, self.plan
        start = plan.edge(-1, j)
        out.add("u = 0.0")
        with out.block(f"if fit_{j}:", remark(plan.positive[j].variable)):
            best = self.constants.number(("start", j), _bound(start.peak)) if start is not None else "0.0"
            out.add(f"u = {best}", "nothing before it was observed")
            for a in range(j):
                edge = plan.edge(a, j)
                if edge is None:
                    continue
                self._count(QueueCell.BOUNDS)
                with out.block(f"if queue_best[base + {a}] >= 0:", remark(f"from {plan.positive[a].variable}")):
                    most = ""
                    if edge.table is not None:
                        number = self.tabulated.index(edge)
                        scale = BUCKETS / (self.window + 1)
                        gap = f"t - time[entry_event[queue_oldest[base + {a}]]]"
                        most = f" * {call(queues.most_of, str(number), gap, self.constants.number('scale', scale))}"
                    out.add(f"u = max(u, entry_bound[queue_best[base + {a}]]{most})")
        out.add(f"arrival_bound[{j}] = u")

    def _enqueue(self, j: int) -> None:
        out, plan = self.out, self.plan
        best = max((e.peak * plan.best[e.target] for e in plan.edges if e.source == j and e.target < self.n), default=0)
        if best == 0:
            return
        bound = self.constants.number(("best", j), _bound(best))
        with out.block(f"if arrival_bound[{j}] * {bound} >= {self.hopeful}:"):
            self._count(QueueCell.ARRIVALS)
            out.add(f"q = {call(queues.push, f'base + {j}', 'i')}")
            out.add(call(queues.rank_bound, f"base + {j}", "q", f"arrival_bound[{j}]"))
            for k in range(len(self.watch)):
                out.add(f"entry_watched[q, {k}] = queue_youngest[base + {self.n + k}]")

    # -- after the last event -------------------------------------------------------------------------------------

    def _awaited(self) -> list[str]:
        """Write `fits` and `settled` if anything may refute a match after its last event; what may."""
        out, plan = self.out, self.plan
        final = [e for e in plan.edges if e.target == self.n]
        awaited = [w for w in self.watch if any(w in (*e.absent, *e.missing) for e in final)]
        if not awaited:
            return []
        components = {c.variable: c for c in (*plan.positive, *plan.negated)}
        self._function(fits_signature(self.stream).head)
        for k, w in enumerate(awaited):
            with out.block(f"if c == {k}:", w), out.block("for i in range(n):"):
                out.add(f"keep[i] = part[i] >= 0 and {self._fits(components[w])}")
        self._end()
        self._function(self._settled.head)
        with out.block("for m in range(m0, m1):"):
            out.add("first = -1")
            with out.block(f"for k in range({self.n}):"):
                out.add("path_event[k] = found_events[m, k]")
                with out.block("if path_event[k] >= 0:"):
                    out.add("last = path_event[k]")
                    out.add("end = k")
                    with out.block("if first < 0:"):
                        out.add("first = path_event[k]")
            for k in range(self.n, self.n + len(plan.negated)):
                out.add(f"path_event[{k}] = -1")
            out.add("keep[m] = 1")
            for k, w in enumerate(awaited):
                with out.block(f"if keep[m] == 1 and end < {self._before(w)}:", remark(f"{w} after the last event")):
                    out.add(
                        f"j = lower_bound(candidate_part, candidate_start[{k}], candidate_start[{k + 1}], part[first])"
                    )
                    out.add(f"z = upper_bound(candidate_part, j, candidate_start[{k + 1}], part[first])")
                    out.add("j = lower_bound(candidate_event, j, z, last)")
                    with out.block(f"while j < z and time[candidate_event[j]] <= time[first] + {self.within}:"):
                        with out.block("if rank[candidate_event[j]] > rank[last]:"):
                            self._test_on_path(w, "candidate_event[j]")
                            with out.block("if ok:"):
                                out.add("keep[m] = 0")
                                out.add("break")
                        out.add("j += 1")
        self._end()
        return awaited


def _bound(peak: float) -> float:
    """A little more than a best score, so that nothing hangs on the last digit of an integral.

    >>> _bound(0.25), _bound(1.0)
    (0.250001, 1.0)
    """
    return peak if peak == 1.0 else round(peak + 1e-6, 6)
