"""The chains of a lazy plan as text: evaluation order, what each step takes and tests, estimates and counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from augury.plan import ChainBranch, ChainStep, LazyChainPlan, LazyTreePlan, NearLists, Negation, StreamStatistics
from augury.planner.describe.parts import absence, between, computed_columns, event, tests, when_known
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import window_text
from augury.planner.expected import (
    conjunct_text,
    partition_selectivity,
    partition_text,
    selectivity,
    window_events,
    windows,
)
from augury.runtime.cosines import LEADING

Counters = Mapping[str, int]

NEGATION_TEXTS = {
    Negation.POST_PROCESSING: "a search once a match is complete",
    Negation.FIRST_CHANCE: "a search as soon as all that it depends on is bound",
}


def describe_lazy_chain(plan: LazyChainPlan, _kernel: object, counters: Counters | None) -> Description:
    """The steps of each chain; `counters` of a run are shown beside the estimates."""
    order = "by cost; another one when the stream leaves the statistics" if plan.adaptive else "as asked for"
    return _chains(plan, order, counters)


def describe_lazy_tree(plan: LazyTreePlan, _kernel: object, counters: Counters | None) -> Description:
    """The steps of each chain in the order that a tree starts with."""
    return _chains(plan.chain, "as below to begin with, then by what the window holds", counters)


def _chains(chain: LazyChainPlan, order: str, counters: Counters | None) -> Description:
    key = ", ".join(chain.query.partition_by)
    facts = [
        ["partition", f"{key}; each value has input buffers of its own" if key else "none"],
        ["window", window_text(chain.query)],
        ["order", order],
    ]
    if any(b.absent for b in chain.branches):
        facts.append(["negation", f"{chain.negation}: {NEGATION_TEXTS[chain.negation]}"])
    out: Description = [Table(facts, indent=""), "", *_statistics(chain)]
    for k, branch in enumerate(chain.branches):
        title = f"chain {k + 1} of {len(chain.branches)}" if len(chain.branches) > 1 else "chain"
        out += ["", f"{title}: partial matches, for timeouts" if branch.partial else title]
        out += _chain(chain, k, branch, counters)
    return [*out, *computed_columns(chain)]


def _statistics(plan: LazyChainPlan) -> Description:
    """The statistics behind the estimates, with assumed ones marked as such."""
    known, query = plan.statistics, plan.query
    events = window_events(query, known, [v.name for v in query.variables])
    rows = [[v, f"{number:.3g} events a window", "" if v in known.rates else "assumed"] for v, number in events.items()]
    conditions = [(conjunct_text(c, plan.computed), selectivity(c, known, plan.computed)) for c in plan.conjuncts]
    if partition_text(query):
        conditions.append((partition_text(query), partition_selectivity(query, known)))
    rows += [
        [text, f"true for {100 * true:.3g}%", "" if text in known.selectivities else "assumed"]
        for text, true in conditions
    ]
    return [f"statistics: {known.source}", Table(_without_echo(rows, known))]


def _without_echo(rows: list[list[str]], known: StreamStatistics) -> list[list[str]]:
    """The rows without the note that repeats the heading, when nothing is known."""
    return rows if known.rates or known.selectivities else [row[:2] for row in rows]


def _chain(plan: LazyChainPlan, k: int, branch: ChainBranch, counters: Counters | None) -> Iterator[str | Table]:
    for j, step in enumerate(branch.steps):
        yield f"  {j + 1}  {_taken(step)}"
        c = step.component
        yield from tests(plan, (*c.alone, *c.take), "       if ")
        yield from tests(plan, c.whole, "       with all of them, if ")
        for part, search in zip(step.absent, step.searches, strict=True):
            near = search.near
            yield f"       dropped if there is{'' if near is None else f', {in_blocks(near)}'}"
            yield from absence(plan, part, "         ")
        yield f"       {_partial(plan, k, j, counters)}"
    if branch.at_the_end:
        yield "  a match is dropped if there is"
        for part in branch.at_the_end:
            yield from absence(plan, part, "    ")
            yield f"      looked for when {when_known(plan, part)}"


def _taken(step: ChainStep) -> str:
    """The component, the ordering filters and the index by which its events are found."""
    c = step.component
    what = event(c)
    if c.iterated:
        high = " or more" if c.high is None else "" if c.high == c.low else f" to {c.high}"
        what += f", every list of {c.low}{high}"
    text = f"{what} {between(step.after, step.before)}".rstrip()
    key = step.key
    if key is not None:
        return f"{text}, found by {c.variable}.{key.column} = {key.other}.{key.other_column}"
    if step.bounds:
        return f"{text}, found by a sorted search for {c.variable}.{step.bounds[0].column}"
    return f"{text}, {in_blocks(step.near)}" if step.near is not None else text


def in_blocks(near: NearLists) -> str:
    """How a list is compared with many others at once."""
    first = f", {LEADING} leading coefficients of them first" if near.led else ""
    return f"64 lists at a time compared with that of {near.other.variable}{first}"


def _partial(plan: LazyChainPlan, k: int, j: int, counters: Counters | None) -> str:
    text = f"{_number(plan.estimated[k][j])} partial matches a window expected"
    found = None if counters is None else counters.get(f"partial_matches[{k},{j}]")
    if found is None:
        return text
    number = windows(plan.query, plan.statistics)
    return f"{text}, {_number(found)} found in all" if number is None else f"{text}, {_number(found / number)} found"


def _number(x: float) -> str:
    """A number with three digits, without an exponent where that is short.

    >>> _number(4500.0), _number(0.1234), _number(1.5e9)
    ('4500', '0.123', '1.5e+09')
    """
    return f"{x:.0f}" if 100 <= x < 1e6 else f"{x:.3g}"
