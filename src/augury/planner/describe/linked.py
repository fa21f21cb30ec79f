"""Linked chains as text: what each component takes, and what joins its events to those before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from augury.ir.terms import OutputMode
from augury.plan import LinkedPlan
from augury.planner.describe.parts import absence, computed_columns, event, repeated, tests
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import window_text


def describe_linked(plan: LinkedPlan, _kernel: object, _counters: object) -> Description:
    """The components of a sequence, and the conditions that join their chains."""
    query = plan.query
    facts = Table(
        [
            ["output", f"{query.output}: {_output(query.output)}"],
            ["partition", ", ".join(query.partition_by) or "none"],
            ["window", window_text(query)],
        ],
        indent="",
    )
    out: Description = [facts]
    out += ["", "chains", *_chains(plan)]
    if plan.absent:
        out += ["  a match does not count if a search by type, partition and time finds beside its events"]
        for part in plan.absent:
            out += absence(plan, part, "    ")
    return out + computed_columns(plan)


def _chains(plan: LinkedPlan) -> Iterator[str | Table]:
    names = [c.variable for c in plan.components]
    for k, c in enumerate(plan.components):
        yield f"  {event(c)}{repeated(c)}{f'  after the chains of {names[k - 1]}' if k else ''}"
        yield from tests(plan, c.alone, "      if ")
        joined = [j for j in plan.conjuncts if max(map(names.index, j.variables)) == k]
        yield from tests(plan, joined, "      joined if ")


def _output(output: OutputMode) -> str:
    match output:
        case OutputMode.COVER:
            return "for each combination of chains its latest match, when no chain of it can grow"
        case OutputMode.LATEST:
            return "with each event that completes matches the latest of them"
        case OutputMode.ALL:
            return "all matches, by joining the chains backwards from each event that completes some"
        case (
            OutputMode.NONOVERLAP
            | OutputMode.COUNT
            | OutputMode.FIRST
            | OutputMode.LONGEST
            | OutputMode.LONGEST_NONOVERLAP
            | OutputMode.NONOVERLAP_FROM
            | OutputMode.TIMEOUTS
            | OutputMode.ALL_WITH_TIMEOUTS
            | OutputMode.FIRST_WITH_TIMEOUTS
        ):
            raise AssertionError(f"no chains for OUTPUT {output}")
        case _:
            assert_never(output)
