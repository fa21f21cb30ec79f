"""Labels of edges: events, conditions, negated parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from augury.ir.predicate import Conjunct
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.plan import Absence, Component
from augury.plan.components import as_written
from augury.planner.describe.parts import KernelPlan, between, event, repeated


def conditions(plan: KernelPlan, conjuncts: Iterable[Conjunct]) -> tuple[str, ...]:
    """Conditions as they were written, with computed columns expanded."""
    return tuple(expression_text(unbind(as_written(c.expr, plan.computed))) for c in conjuncts)


def taken(c: Component) -> str:
    """The types, the variable and the number of events of a component."""
    return event(c) + repeated(c)


def absences(plan: KernelPlan, absent: Sequence[Absence]) -> Iterator[str]:
    """The negated parts that reject a match, one per line."""
    order = [v.name for v in plan.query.variables]
    for part in absent:
        after, before = (sorted(names, key=order.index) for names in (part.after, part.before))
        events = (", then " if part.order else " and ").join(map(event, part.components))
        tested = conditions(plan, [c for x in part.components for c in (*x.alone, *x.take, *x.whole)])
        text = f"rejected by {events} {between(after, before)}".rstrip()
        yield text + (f" if {' and '.join(tested)}" if tested else "")
        for inner in absences(plan, part.inner):
            yield f"  not {inner}"


def numbered(title: str, k: int, count: int) -> str:
    """A title, numbered where there are several.

    >>> numbered("automaton", 0, 1), numbered("automaton", 1, 2)
    ('automaton', 'automaton 2 of 2')
    """
    return title if count == 1 else f"{title} {k + 1} of {count}"
