"""Components, conditions and negated parts as text, for the plans of several families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Conjunct, Ref, walk
from augury.ir.query import BoundQuery
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.plan import Absence, Component, Computed
from augury.plan.components import as_written
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import place
from augury.schema import Kind


class KernelPlan(Protocol):
    """A plan whose kernel reads columns that the host computes."""

    @property
    def query(self) -> BoundQuery: ...

    @property
    def computed(self) -> tuple[Computed, ...]: ...


class AutomatonSource(Protocol):
    """Generated code of an automaton, with the cells of a run: names of arrays and their purpose."""

    @property
    def cells(self) -> tuple[tuple[str, str], ...]: ...


B = TypeVar("B")


def automata(branches: Sequence[B], describe: Callable[[B], Iterable[str | Table]]) -> Description:
    """The automaton of each branch, under a heading that numbers it if there are several."""
    out: Description = []
    for k, branch in enumerate(branches, start=1):
        out += ["", f"automaton {k} of {len(branches)}" if len(branches) > 1 else "automaton", *describe(branch)]
    return out


def repeated(c: Component) -> str:
    """The number of events of a component; empty for exactly one."""
    if not c.iterated:
        return ""
    return f", {c.low} or more" if c.high is None else f", {c.low} to {c.high}"


def event(c: Component) -> str:
    """The types and the variable of a component."""
    return f"{'|'.join(c.types) or 'any type'} {c.variable}"


def tests(plan: KernelPlan, conjuncts: Iterable[Conjunct], indent: str) -> Description:
    """Conjuncts with their places in the query, one per line."""
    rows = [[_text(plan, c), place(plan.query.source, c.span)] for c in conjuncts]
    return [Table(rows, indent)] if rows else []


def between(after: Iterable[str], before: Iterable[str]) -> str:
    """The position of an event relative to those already bound.

    >>> between(["a"], []), between(["a", "b"], ["c"])
    ('after a', 'after a, b and before c')
    """
    sides = [
        f"{word} {', '.join(names)}" for word, names in (("after", list(after)), ("before", list(before))) if names
    ]
    return " and ".join(sides)


def absence(plan: KernelPlan, part: Absence, indent: str) -> Iterator[str | Table]:
    """A negated part: what is looked for, and between which events."""
    variables = [v.name for v in plan.query.variables]
    after, before = (sorted(names, key=variables.index) for names in (part.after, part.before))
    events = (", then " if part.order else " and ").join(map(event, part.components))
    yield f"{indent}{events} {between(after, before)}".rstrip()
    conjuncts = [c for x in part.components for c in (*x.alone, *x.take, *x.whole)]
    yield from tests(plan, conjuncts, indent + "  if ")
    for inner in part.inner:
        yield indent + "  and no"
        yield from absence(plan, inner, indent + "    ")


def dropping(plan: KernelPlan, absent: Sequence[Absence]) -> Description:
    """The negated parts that reject a complete match, and when they are searched for."""
    if not absent:
        return []
    out: Description = ["  a match is dropped if a search by type, partition and time finds beside its events"]
    for part in absent:
        out += [*absence(plan, part, "    "), f"      looked for when {when_known(plan, part)}"]
    return out


def when_known(plan: KernelPlan, part: Absence) -> str:
    """The time when it is certain that a negated part does not occur."""
    if not part.open:
        return "the match is complete"
    return f"{'the stream ends' if plan.query.window is None else 'the window has passed'}, since it may still come"


def computed_columns(plan: KernelPlan) -> Description:
    """The columns that the host computes; nothing without any."""
    if not plan.computed:
        return []
    return ["", "computed by the host, for an event e", Table([[c.name, _how_often(c)] for c in plan.computed])]


def _text(plan: KernelPlan, c: Conjunct) -> str:
    """The conjunct as it was written, with computed columns expanded."""
    return expression_text(unbind(as_written(c.expr, plan.computed)))


def _how_often(c: Computed) -> str:
    """The function for which the host computes a column, and how many times."""
    registered = [f"`{e.function}`" for e in walk(c.expr) if isinstance(e, Call) and e.function not in BUILTINS]
    reads = {e.column: e.type.kind for e in walk(c.expr) if isinstance(e, Ref)}
    if list(reads.values()) == [Kind.STRING]:
        often = "once for each distinct string"
    elif isinstance(c.expr, Call) and c.expr.function in ("length", "standardise"):
        often = "for all events of a batch at once"
    else:
        often = "once for each event"
    return f"{often}; {', '.join(registered)} is Python" if registered else often
