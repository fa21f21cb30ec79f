"""Negated parts as searches: does one occur beside a match that is known? (SEMANTICS section 3, rule 5)

`absent(m, ...)` answers for match `m`, whose events are given by variable as offsets and events. Candidates for a
negated component are sorted by partition, then in stream order, so that a search starts with two binary searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.inventory import KEEP, NUMS, names_of
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import Columns
from augury.ir.pattern import BoundEvent
from augury.ir.predicate import Aggregate, Conjunct, Element, ListLength, Nth, Ref
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.native.cells import Cell
from augury.plan import Absence, Component
from augury.runtime.arrays import ArraySpec
from augury.runtime.identifiers import identifiers
from augury.runtime.kernel_source import Signature

MAX_NESTED_COMPONENTS = 12
"""Components whose loops stand in one function: CPython nests 20, and tests may loop over the elements of lists."""

MATCH = (
    ArraySpec("M_branch"),
    ArraySpec("M_offsets"),
    ArraySpec("M_events"),
    ArraySpec("V_offsets", rows=1),
    ArraySpec("V_events"),
    ArraySpec("C_start"),
    ArraySpec("C_part"),
    ArraySpec("C_event"),
)
"""The matches: all events of each, those of each variable, and the candidates of each negated component."""


def fits_signature(stream: Sequence[ArraySpec]) -> Signature:
    """Signature of the function that selects the events that a negated component could bind."""
    return Signature("fits", ("c", "n", KEEP, *stream))


def absent_signature(stream: Sequence[ArraySpec]) -> Signature:
    """Signature of the function that selects the matches that no negated part rejects."""
    return Signature("absent", ("m0", "n", KEEP, NUMS, *stream, *MATCH))


def absence_entries(negated: Sequence[Component], stream: Sequence[ArraySpec]) -> tuple[Signature, ...]:
    """The functions that `emit_absences` has written, if it has."""
    return (absent_signature(stream), fits_signature(stream)) if negated else ()


def emit_absences(
    out: Lines,
    query: BoundQuery,
    branches: Sequence[Sequence[Absence]],
    columns: Columns,
    constants: Constants,
    stream: Sequence[ArraySpec],
    *,
    counters: bool = False,
) -> tuple[Component, ...]:
    """Write `fits` and `absent` if a branch negates anything; the negated components in the order of their numbers.

    With `counters`, predicates that are evaluated to look for a part are counted with the others, in `Cell.PREDICATES`.
    """
    if not any(branches):
        return ()
    names = identifiers("v", [v.name for v in query.variables])
    emitter = _Absences(out, query, columns, constants, stream, counters, names)
    emitter.functions(branches)
    return tuple(emitter.negated)


@dataclass(slots=True)
class _Absences:
    out: Lines
    query: BoundQuery
    columns: Columns
    constants: Constants
    stream: Sequence[ArraySpec]
    counters: bool
    names: Mapping[str, str]
    negated: list[Component] = field(default_factory=list)
    count: int = 0
    rest: Lines = field(default_factory=Lines)
    """Functions that go on with the components of a long part."""

    @property
    def arguments(self) -> str:
        return names_of(self.stream)

    def functions(self, branches: Sequence[Sequence[Absence]]) -> None:
        calls = [[self._part(part, {}) for part in absent] for absent in branches]
        self.out.lines += self.rest.lines
        self._fits()
        out = self.out
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(absent_signature(self.stream).head), out.block("for m in range(m0, n):"):
            with out.block("if stopped(nums):"):
                out.add("return")
            out.add("keep[m] = 1")
            for b, parts in enumerate(calls):
                for call in parts:
                    with out.block(f"if M_branch[m] == {b} and {call}:"):
                        out.add("keep[m] = 0")

    def _fits(self) -> None:
        out = self.out
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(fits_signature(self.stream).head):
            for k, c in enumerate(self.negated):
                with out.block(f"if c == {k}:", remark(c.variable)), out.block("for i in range(n):"):
                    tests = ["part[i] >= 0"]
                    if c.types and self.query.schema.type is not None:
                        types = " or ".join(f"type_[i] == {self.constants.type_code(c.variable, t)}" for t in c.types)
                        tests.append(f"({types})")
                    tests += [self._text(j, {c.variable: "i"}, {}) for j in c.alone]
                    out.add(f"keep[i] = {' and '.join(tests)}")

    def _part(self, part: Absence, outer: dict[str, str]) -> str:
        """Write the function that looks for one part; the text that calls it."""
        number = self.count
        self.count += 1
        bound = dict(outer)
        inner = []
        for c in part.components:
            bound[c.variable] = f"e_{self.names[c.variable]}"
        for p in part.inner:
            inner.append(self._part(p, bound))
        extra = "".join(f", {e}" for e in outer.values())
        out = self.out
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(f"def occurs_{number}(m{extra}, nums, {self.arguments}, {names_of(MATCH)}):"):
            out.add("first = M_events[M_offsets[m]]")
            out.add("last = M_events[M_offsets[m + 1] - 1]")
            for e in outer.values():
                out.add(f"first = min(first, {e})")
                out.add(f"last = max(last, {e})")
            self._search(part, number, 0, dict(outer), inner)
            out.add("return False")
        return f"occurs_{number}(m{extra}, nums, {self.arguments}, {names_of(MATCH)})"

    def _search(self, part: Absence, number: int, at: int, bound: dict[str, str], inner: Sequence[str]) -> None:
        """A loop over the candidates of component `at` and those after it; inside all of them, the part occurs."""
        out = self.out
        if at == len(part.components):
            if inner:
                with out.block(f"if not ({' or '.join(inner)}):"):
                    out.add("return True")
            else:
                out.add("return True")
            return
        c, candidates = part.components[at], len(self.negated)
        self.negated.append(c)
        variable, v = c.variable, self.names[c.variable]
        e = f"e_{v}"
        out.add(f"lo_{v} = 0")
        out.add(f"hi_{v} = rank.shape[0]")
        if part.among is not None:
            self._among(part.among, v)
        for u in sorted(self._earlier(part, variable)) if part.among is None else ():
            event = bound.get(u) or (self._named(part.since) if part.since is not None else self._last(u))
            # The last round of a group may bind another variable instead.
            k = self._number(u) if u not in bound and self.query[u].group is not None else None
            with nullcontext() if k is None else out.block(f"if V_offsets[{k}, m] < V_offsets[{k}, m + 1]:"):
                out.add(
                    f"lo_{v} = max(lo_{v}, upper_bound(rank, 0, rank.shape[0], rank[{event}]))", remark(f"after {u}")
                )
        for u in sorted(self._later(part, variable)) if part.among is None else ():
            # A later component of the part itself is not bound yet; its own search will look after this one.
            if u in bound or u in self._positive:
                event = bound.get(u) or self._first(u)
                out.add(
                    f"hi_{v} = min(hi_{v}, lower_bound(rank, 0, rank.shape[0], rank[{event}]))", remark(f"before {u}")
                )
        if part.beside is not None:
            self._beside(part, v)
        if part.silence is not None:
            self._silent(part, v)
        elif isinstance(self.query.window, TimeWindow):
            w = self.constants.within(self.query.window)
            out.add(f"lo_{v} = max(lo_{v}, lower_bound(time, 0, rank.shape[0], time[last] - {w}))", "WITHIN")
            out.add(f"hi_{v} = min(hi_{v}, upper_bound(time, 0, rank.shape[0], time[first] + {w}))", "WITHIN")
        out.add(f"j_{v} = lower_bound(C_part, C_start[{candidates}], C_start[{candidates + 1}], part[first])")
        out.add(f"z_{v} = upper_bound(C_part, j_{v}, C_start[{candidates + 1}], part[first])")
        out.add(f"j_{v} = lower_bound(C_event, j_{v}, z_{v}, lo_{v})")
        out.add(f"z_{v} = lower_bound(C_event, j_{v}, z_{v}, hi_{v})")
        with out.block(f"while j_{v} < z_{v}:"):
            out.add(f"{e} = C_event[j_{v}]")
            out.add(f"j_{v} += 1")
            for other in bound.values():
                with out.block(f"if {e} == {other}:"):
                    out.add("continue")
            if part.among is not None:
                self._not_between(part.among, e)
            else:
                with out.block(f"if contains(M_events, M_offsets[m], M_offsets[m + 1], {e}):", "an event of the match"):
                    out.add("continue")
            window = self._window(e, [*bound.values()])
            if window and part.silence is None:
                with out.block(f"if {window}:", "WITHIN"):
                    out.add("continue")
            bound = {**bound, variable: e}
            for j in c.take:
                self._test(j, bound)
            if at + 1 < len(part.components) and (at + 1) % MAX_NESTED_COMPONENTS == 0:
                self._search_rest(part, number, at + 1, bound, inner)
            else:
                self._search(part, number, at + 1, bound, inner)

    def _named(self, event: BoundEvent) -> str:
        return self._last(event.variable) if event.last else self._first(event.variable)

    def _silent(self, part: Absence, v: str) -> None:
        """Narrow the search to the time that FOR asks to be silent."""
        out, ticks = self.out, part.silence
        if part.after:
            times = [f"time[{self._last(u)}]" for u in sorted(part.after)]
            latest = f"max({', '.join(times)})" if len(times) > 1 else times[0]
            out.add(f"hi_{v} = min(hi_{v}, upper_bound(time, 0, rank.shape[0], {latest} + {ticks}))", "FOR")
        else:
            times = [f"time[{self._first(u)}]" for u in sorted(part.before)]
            earliest = f"min({', '.join(times)})" if len(times) > 1 else times[0]
            out.add(f"lo_{v} = max(lo_{v}, lower_bound(time, 0, rank.shape[0], {earliest} - {ticks}))", "FOR")

    def _among(self, list_variable: str, v: str) -> None:
        """Narrow the search to the time from the first element of a list to its last, both included."""
        out, first, last = self.out, self._first(list_variable), self._last(list_variable)
        out.add(f"lo_{v} = lower_bound(rank, 0, rank.shape[0], rank[{first}])", remark(f"among {list_variable}"))
        out.add(f"hi_{v} = upper_bound(rank, 0, rank.shape[0], rank[{last}])")

    def _not_between(self, list_variable: str, e: str) -> None:
        """Pass over an event that is no element, and not behind the first of them and before the last."""
        k, first, last = self._number(list_variable), self._first(list_variable), self._last(list_variable)
        outside = f"(rank[{e}] == rank[{first}] or rank[{e}] == rank[{last}])"
        element = f"contains(V_events, V_offsets[{k}, m], V_offsets[{k}, m + 1], {e})"
        with self.out.block(f"if {outside} and not {element}:"):
            self.out.add("continue")

    def _beside(self, part: Absence, v: str) -> None:
        """Narrow the search to one event: the next one behind what precedes the part, or before what follows it."""
        out = self.out
        if part.after:
            last = [self._last(u) for u in sorted(part.after)]
            events = last if part.since is None else [self._named(part.since)]
            nearest, step, inside = "max", "+", f"at_{v} < rank.shape[0]"
        else:
            events = [self._first(u) for u in sorted(part.before)]
            nearest, step, inside = "min", "-", f"at_{v} >= 0"
        event = f"{nearest}({', '.join(events)})" if len(events) > 1 else events[0]
        out.add(f"at_{v} = {event} {step} 1")
        if part.beside is Strategy.PARTITION_CONTIGUITY:
            with out.block(f"while {inside} and part[at_{v}] != part[first]:"):
                out.add(f"at_{v} {step}= 1")
        out.add(f"lo_{v} = max(lo_{v}, at_{v})")
        out.add(f"hi_{v} = min(hi_{v}, at_{v} + 1)")

    def _search_rest(self, part: Absence, number: int, at: int, bound: dict[str, str], inner: Sequence[str]) -> None:
        """Call a function that goes on with component `at`, and write it."""
        name = f"occurs_{number}_from_{at}"
        given = ", ".join(["m", "first", "last", *bound.values(), "nums", self.arguments, names_of(MATCH)])
        with self.out.block(f"if {name}({given}):"):
            self.out.add("return True")
        caller, self.out = self.out, Lines()
        self.out.add()
        self.out.add()
        self.out.add("@kernel")
        with self.out.block(f"def {name}({given}):"):
            self._search(part, number, at, bound, inner)
            self.out.add("return False")
        self.rest.lines += self.out.lines
        self.out = caller

    def _earlier(self, part: Absence, v: str) -> set[str]:
        names = [c.variable for c in part.components]
        return set(part.after) | {a for a, b in part.order if b == v and names.index(a) < names.index(v)}

    def _later(self, part: Absence, v: str) -> set[str]:
        return set(part.before) | {b for a, b in part.order if a == v}

    def _window(self, e: str, others: Sequence[str]) -> str:
        """Text of the condition that `e` is outside the window of the match and the part's other events."""

        def spread(clock: str) -> str:
            least = ", ".join(f"{clock}[{x}]" for x in ("first", *others, e))
            most = ", ".join(f"{clock}[{x}]" for x in ("last", *others, e))
            return f"max({most}) - min({least})"

        match self.query.window:
            case TimeWindow() as window if others:
                return f"{spread('time')} > {self.constants.within(window)}"
            case CountWindow() as window:
                return f"{spread('place')} >= {self.constants.within(window)}"
            case _:
                return ""

    def _test(self, c: Conjunct, bound: dict[str, str]) -> None:
        """Emit the test of `c` for every element of the lists it reads; if it fails, the next candidate is tried."""
        out = self.out
        lists = sorted(c.each - bound.keys())
        out.add("ok = True", remark(c.brief))
        depth = out.depth
        walked: dict[str, tuple[str, str]] = {}
        for v in lists:
            first = 1 if v in c.from_second else 0
            k, at = self._number(v), f"k_{self.names[v]}"
            out.add(f"for {at} in range(V_offsets[{k}, m] + {first}, V_offsets[{k}, m + 1]):")
            out.depth += 1
            walked[v] = (f"V_events[{at}]", f"V_events[{at} - 1]")
        if self.counters:
            out.add(f"nums[{Cell.PREDICATES}] += 1", "predicate evaluations")
        out.add(f"ok = ok and {self._text(c, bound, walked)}")
        out.depth = depth
        with out.block("if not ok:"):
            out.add("continue")

    def _text(self, c: Conjunct, bound: dict[str, str], walked: dict[str, tuple[str, str]]) -> str:
        def read(leaf: Leaf) -> Code:
            match leaf:
                case Ref(variable, column, type, element):
                    if variable in bound:
                        event = bound[variable]
                    elif element in (Element.EACH, Element.PREVIOUS):
                        event = walked[variable][0 if element is Element.EACH else 1]
                    elif element is Element.LAST:
                        event = self._last(variable)
                    elif isinstance(element, Nth):
                        return self._nth(leaf, element.number)
                    else:
                        event = self._first(variable)
                    return self.columns.at(column, type, event)
                case ListLength(variable):
                    k = self._number(variable)
                    return Code(f"(V_offsets[{k}, m + 1] - V_offsets[{k}, m])", "i", reads=("V_offsets",))
                case Aggregate():
                    raise AssertionError("the planner refuses aggregates in conditions on negated events")

        return true(c.expr, read, self.constants).value

    def _nth(self, ref: Ref, number: int) -> Code:
        """An attribute of the element of that number, or null where the list is shorter."""
        k = self._number(ref.variable)
        at = f"V_offsets[{k}, m] + {number - 1}"
        present = f"({at} < V_offsets[{k}, m + 1])"
        code = self.columns.at(ref.column, ref.type, f"V_events[{at} if {present} else V_offsets[{k}, m]]")
        if code.kind in "fs":
            return replace(code, value=f"({code.value} if {present} else {'nan' if code.kind == 'f' else '-1'})")
        return replace(code, null=f"({code.null} or not {present})" if code.null else f"(not {present})")

    @property
    def _positive(self) -> list[str]:
        return [v.name for v in self.query.variables if not v.negated]

    def _number(self, variable: str) -> int:
        return self._positive.index(variable)

    def _first(self, variable: str) -> str:
        return f"V_events[V_offsets[{self._number(variable)}, m]]"

    def _last(self, variable: str) -> str:
        return f"V_events[V_offsets[{self._number(variable)}, m + 1] - 1]"
