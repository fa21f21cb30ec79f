"""The automata of an eager plan as text: states, edges, and where each conjunct is tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from augury.codegen.eager_nfa import EagerNfaSource
from augury.explain.layout import aligned, place, window_text
from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Conjunct, Element, Expr, Ref, map_children, walk
from augury.ir.terms import Strategy
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.plan import Absence, Component, Computed, EagerNfaPlan, NfaBranch
from augury.schema import Kind


def explain_eager_nfa(plan: EagerNfaPlan, kernel: EagerNfaSource) -> list[str]:
    """Lines about a plan, and about what the runs of its `kernel` hold."""
    query = plan.query
    key = ", ".join(query.partition_by)
    out = aligned(
        [
            ["strategy", str(query.strategy)],
            ["partition", f"{key}; {_partitioned(plan)}" if key else "none"],
            ["window", window_text(query) + ("" if query.window is None else ", on every edge")],
            ["runs", "merged when equivalent" if plan.merge else f"not merged: {plan.unmerged}"],
        ],
        indent="",
    )
    for k, branch in enumerate(plan.branches, start=1):
        out += ["", f"automaton {k} of {len(plan.branches)}" if len(plan.branches) > 1 else "automaton"]
        out += _automaton(plan, branch)
        if branch.absent:
            out += ["  a match is dropped if a search by type, partition and time finds beside its events"]
            for part in branch.absent:
                out += [*_absence(plan, part, "    "), f"      looked for when {_known(plan, part)}"]
    cells = [("RN", "its last node"), *kernel.cells]
    out += ["", "a run holds", *aligned([[array, holds] for array, holds in cells])]
    if plan.computed:
        out += ["", "computed by the host, for an event e"]
        out += aligned([[c.name, _how_often(c)] for c in plan.computed])
    if kernel.functions:
        out += ["", "registered functions in the kernel, which stays plain Python if one of them does not compile"]
        out += [f"  {name}" for name in kernel.functions]
    return out


def _partitioned(plan: EagerNfaPlan) -> str:
    if plan.query.strategy is Strategy.STRICT_CONTIGUITY:
        return "the events of a run agree on it, and any other event ends the run"
    return "each value has runs of its own"


def _automaton(plan: EagerNfaPlan, branch: NfaBranch) -> Iterator[str]:
    first = branch.components[0]
    yield "  start"
    yield from _edge(plan, "begin", f"{_event(first)}  {_to(branch, 0)}", _entering(first))
    for j, c in enumerate(branch.components):
        if j > 0 and not branch.components[j - 1].iterated:
            yield f"  waiting for {c.variable}"
            yield from _edge(plan, "take", f"{_event(c)}  {_to(branch, j)}", _entering(c))
            yield _ignore(plan)
        if c.iterated:
            yield f"  looping over {c.variable}"
            bound = "" if c.high is None else f", {c.high} at most"
            more = (*c.alone, *(j for j in c.take if c.variable in j.each))
            yield from _edge(plan, "take", f"{_event(c)}{bound}", more)
            yield from _leaving(plan, branch, j)
            yield _ignore(plan)


def _leaving(plan: EagerNfaPlan, branch: NfaBranch, j: int) -> Iterator[str]:
    """How a list ends: with an event of the next component, or with each event when it is the last."""
    c = branch.components[j]
    enough = f"{c.low} or more" if c.low > 1 else ""
    if j + 1 == len(branch.components):
        yield from _edge(plan, "match", f"after {enough} events" if enough else "after each event", c.whole)
        return
    after = branch.components[j + 1]
    text = f"{_event(after)}{f', after {enough} {c.variable}' if enough else ''}  {_to(branch, j + 1)}"
    yield from _edge(plan, "proceed", text, (*c.whole, *_entering(after)))


def _entering(c: Component) -> tuple[Conjunct, ...]:
    """What the first event of a component is tested for."""
    return (*c.alone, *(j for j in c.take if c.variable not in j.from_second))


def _edge(plan: EagerNfaPlan, word: str, text: str, conjuncts: Iterable[Conjunct]) -> list[str]:
    return [f"    {word:<8} {text}", *_tests(plan, conjuncts, " " * 13 + "if ")]


def _tests(plan: EagerNfaPlan, conjuncts: Iterable[Conjunct], indent: str) -> list[str]:
    rows = [[_text(plan, c), place(plan.query.source, c.span)] for c in conjuncts]
    return aligned(rows, indent) if rows else []


def _ignore(plan: EagerNfaPlan) -> str:
    match plan.query.strategy:
        case Strategy.SKIP_TILL_ANY_MATCH:
            return "    ignore   any event, also one that is taken"
        case Strategy.SKIP_TILL_NEXT_MATCH:
            return "    ignore   an event that cannot be taken"
        case Strategy.PARTITION_CONTIGUITY:
            return "    ignore   an event of another partition; any other that cannot be taken ends the run"
        case Strategy.STRICT_CONTIGUITY:
            return "    ignore   nothing; an event that cannot be taken ends the run"
        case _:
            assert_never(plan.query.strategy)


def _event(c: Component) -> str:
    return f"{'|'.join(c.types) or 'any type'} {c.variable}"


def _to(branch: NfaBranch, j: int) -> str:
    """Where a run is once component j has got an event."""
    c = branch.components[j]
    if c.iterated:
        return f"-> looping over {c.variable}"
    return "-> match" if j + 1 == len(branch.components) else f"-> waiting for {branch.components[j + 1].variable}"


def _absence(plan: EagerNfaPlan, part: Absence, indent: str) -> Iterator[str]:
    """A negated part: what is looked for, and between which events."""
    variables = [v.name for v in plan.query.variables]
    after, before = (sorted(names, key=variables.index) for names in (part.after, part.before))
    events = (", then " if part.order else " and ").join(map(_event, part.components))
    between = [f"after {', '.join(after)}"] if after else []
    between += [f"before {', '.join(before)}"] if before else []
    yield f"{indent}{events} {' and '.join(between)}".rstrip()
    conjuncts = [c for x in part.components for c in (*x.alone, *x.take, *x.whole)]
    yield from _tests(plan, conjuncts, indent + "  if ")
    for inner in part.inner:
        yield indent + "  and no"
        yield from _absence(plan, inner, indent + "    ")


def _known(plan: EagerNfaPlan, part: Absence) -> str:
    if not part.open:
        return "the match is complete"
    return f"{'the stream ends' if plan.query.window is None else 'the window has passed'}, since it may still come"


def _text(plan: EagerNfaPlan, c: Conjunct) -> str:
    """The conjunct as it was written, computed columns spelt out."""
    computed = {x.name: x.expr for x in plan.computed}

    def spelt(e: Expr) -> Expr:
        if isinstance(e, Ref) and e.column in computed:
            return _of(computed[e.column], e.variable, e.element)
        return map_children(spelt, e)

    return expression_text(unbind(spelt(c.expr)))


def _of(e: Expr, variable: str, element: Element) -> Expr:
    if isinstance(e, Ref):
        return replace(e, variable=variable, element=element)
    return map_children(lambda child: _of(child, variable, element), e)


def _how_often(c: Computed) -> str:
    """Which function makes the host compute it, and how many times."""
    registered = [f"`{e.function}`" for e in walk(c.expr) if isinstance(e, Call) and e.function not in BUILTINS]
    reads = {e.column: e.type.kind for e in walk(c.expr) if isinstance(e, Ref)}
    if list(reads.values()) == [Kind.STRING]:
        often = "once for each distinct string"
    elif isinstance(c.expr, Call) and c.expr.function in ("length", "standardise"):
        often = "for all events of a batch at once"
    else:
        often = "once for each event"
    return f"{often}; {', '.join(registered)} is Python" if registered else often
