"""SES automata as text: what each variable waits for, and which conjuncts its events are tested for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from augury.ir.terms import Strategy
from augury.plan import Component, EventSetsPlan, SetBranch
from augury.planner.describe.parts import AutomatonSource, automata, computed_columns, dropping, event, tests
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import window_text


def describe_event_sets(plan: EventSetsPlan, kernel: AutomatonSource, _counters: object) -> Description:
    """Lines and tables on the automata of a plan, and on the cells of an instance of its `kernel`."""
    query = plan.query
    facts = Table(
        [
            ["strategy", str(query.strategy)],
            ["partition", ", ".join(query.partition_by) or "none"],
            ["window", window_text(query)],
            ["filter", _filter(plan)],
        ],
        indent="",
    )
    branches = automata(plan.branches, lambda b: [*_automaton(plan, b), *dropping(plan, b.absent)])
    cells = [("run_state", "the set of variables that are bound"), ("run_node", "its last node"), *kernel.cells]
    return [facts, *branches, "", "an instance holds", Table(cells), *computed_columns(plan)]


def _filter(plan: EventSetsPlan) -> str:
    if plan.filter:
        return "events that fit no variable are passed over"
    return "none: an event that fits no variable ends instances"


def _automaton(plan: EventSetsPlan, branch: SetBranch) -> Iterator[str | Table]:
    n = len(branch.components)
    if branch.exclusive:
        yield f"  {n} variables, no event fits two of them: an instance never branches"
    else:
        yield f"  {n} variables, an event may fit several: an instance branches for each that takes it"
    for c in branch.components:
        before = [branch.components[k].variable for k in branch.before(c.variable)]
        after = [branch.components[k].variable for k in branch.after(c.variable)]
        when = f"when {', '.join(before)} {'is' if len(before) == 1 else 'are'} complete" if before else "at any time"
        yield f"  {event(c)}  {when}{_list(c, after)}"
        yield from tests(plan, c.alone, "      if ")
        mine = [j for j in branch.conjuncts if c.variable in j.variables and c.variable not in j.whole]
        yield from tests(plan, mine, "      if, once all of it is bound, ")
        yield from tests(
            plan, [j for j in branch.conjuncts if c.variable in j.whole], "      if, when the list is whole, "
        )
    yield f"  ignore   {_ignored(plan.query.strategy)}"
    if branch.sequential:
        yield "  match    as soon as all of them are bound: they are a sequence"
    else:
        yield "  match    when an instance that has bound all of them can take nothing more"


def _list(c: Component, after: list[str]) -> str:
    if not c.iterated:
        return ""
    bounds = f"{c.low} or more" if c.high is None else f"{c.low} to {c.high}"
    return f"; {bounds}, until {' or '.join(after)} begins" if after else f"; {bounds}, until the window closes"


def _ignored(strategy: Strategy) -> str:
    match strategy:
        case Strategy.SKIP_TILL_NEXT_MATCH:
            return "an event that no variable can take"
        case Strategy.PARTITION_CONTIGUITY:
            return "an event of another partition; any other that no variable can take ends the instance"
        case Strategy.STRICT_CONTIGUITY:
            return "nothing; an event that no variable can take ends the instance"
        case Strategy.SKIP_TILL_ANY_MATCH:
            raise AssertionError("sets under skip_till_any_match are no automata")
        case _:
            assert_never(strategy)
