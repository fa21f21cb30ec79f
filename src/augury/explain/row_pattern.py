"""Explanation of a MATCH_RECOGNIZE clause: its pattern as a tree, the program of the search, its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from augury.engine.row_patterns.planned import PlannedRowPattern
from augury.ir.row_expression import RowExpression
from augury.ir.row_pattern import (
    Alternation,
    Anchor,
    BoundRowPattern,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowPattern,
    SkipTo,
    Variable,
    children,
    parts_of,
    quoted,
)
from augury.plan.row_pattern import ACCEPT, AT_FIRST_ROW, ELSEWHERE, FIRST_POSITION, RowPatternPlan
from augury.printable import one_line, printable

MAX_CONDITION_CHARACTERS = 100
"""Characters of a condition after which it is cut off."""


def explain_row_pattern(planned: PlannedRowPattern, split: str) -> str:
    """The explanation of a clause; `split` says how its input is split."""
    bound, plan = planned.bound, planned.plan
    out = ["pattern", *(f"  {line}" for line in _tree(bound.pattern, 0))]
    if plan is None:
        reason = "asked for" if planned.refused is None else planned.refused.reason
        out += ["plan", f"  reference, the slow evaluator: {reason}"]
        out += ["conditions", *(f"  {line}" for line in _aligned(_named_conditions(bound)))]
    else:
        out += ["plan", f"  {plan.family}: {_counted(len(plan.program.positions), 'place')} of the pattern map a row"]
        out += ["program", *(f"  {line}" for line in _program(plan))]
        out += ["conditions", *(f"  {line}" for line in _aligned(_conditions(plan)))]
        out += ["search", f"  {_memory(plan)}"]
    out += ["rows", f"  {bound.rows}, AFTER MATCH SKIP {_skip(bound)}", "split", f"  {split}"]
    return printable("\n".join(out))


def numbered(explained: Sequence[str]) -> str:
    """Explanations of the row patterns of one query, numbered where there are several."""
    if not explained:
        return "there is no MATCH_RECOGNIZE in it"
    if len(explained) == 1:
        return explained[0]
    titles = [f"-- row pattern {k} of {len(explained)}" for k in range(1, len(explained) + 1)]
    return "\n\n".join(f"{title}\n{text}" for title, text in zip(titles, explained, strict=True))


def key_names(bound: BoundRowPattern) -> str:
    """The columns of PARTITION BY as text."""
    return ", ".join(bound.schema.field(c).name for c in bound.partition_by)


def _tree(pattern: RowPattern, depth: int) -> Iterator[str]:
    match pattern:
        case Variable() | Anchor() | Empty():
            label = str(pattern)
        case Concatenation():
            label = "in this order"
        case Alternation():
            label = "the first that matches of"
        case Permutation():
            label = "in any order, earlier parts first preferred"
        case Quantified(_, least, most, reluctant):
            rounds = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
            prefers = "" if least == most else ", rather fewer" if reluctant else ", rather more"
            label = f"{rounds} times{prefers}"
        case Exclusion():
            label = "matched, but not written"
        case _:
            assert_never(pattern)
    yield "  " * depth + label
    for child in children(pattern):
        yield from _tree(child, depth + 1)


def _program(plan: RowPatternPlan) -> list[str]:
    """The places of the program, each with the places that may follow, the preferred first."""
    program = plan.program
    names = ["", "", *(f"{k} {quoted(program.labels[p.label])}" for k, p in enumerate(program.positions, start=1))]

    def following(state: int) -> str:
        reached = ", ".join("end" if s == ACCEPT else names[s] for s in program.follow[state])
        at_end = program.ends[state] and ACCEPT not in program.follow[state]
        return f"-> {reached or 'nothing'}" + (", or end with the last row" if at_end else "")

    starts = [("start", following(ELSEWHERE))]
    if program.follow[AT_FIRST_ROW] != program.follow[ELSEWHERE]:
        starts.insert(0, ("start at the first row", following(AT_FIRST_ROW)))
    places = [(names[state], following(state)) for state in range(FIRST_POSITION, len(program.follow))]
    return _aligned([*starts, *places])


def _conditions(plan: RowPatternPlan) -> list[tuple[str, str]]:
    out = []
    for label, condition in zip(plan.program.labels, plan.conditions, strict=True):
        if condition.bit is None and condition.value is None:
            said = "true for every row"
        else:
            how = "a bit of each row" if condition.bit is not None else "tested during the search"
            said = f"{how}: {_written(plan.bound.conditions[label], plan.bound)}"
        out.append((quoted(label), said))
    return out


def _named_conditions(bound: BoundRowPattern) -> list[tuple[str, str]]:
    names = dict.fromkeys(p.name for p in parts_of(bound.pattern) if isinstance(p, Variable))
    return [
        (quoted(n), _written(bound.conditions[n], bound) if n in bound.conditions else "true for every row")
        for n in names
    ]


def _written(value: RowExpression, bound: BoundRowPattern) -> str:
    """An expression as it stands in the query."""
    return one_line(" ".join(bound.source.text[value.span.start : value.span.end].split()), MAX_CONDITION_CHARACTERS)


def _memory(plan: RowPatternPlan) -> str:
    if all(plan.remembered):
        return "linear: what has failed at a row is not tried there again"
    carried = [f"{_counted(len(plan.bases), 'row')} of the match"] if plan.bases else []
    carried += [_counted(len(plan.running), "running aggregate")] if plan.running else []
    what = f"; it carries {' and '.join(carried)}" if carried else ""
    kept = [k for k, remembered in enumerate(plan.remembered, start=1) if remembered]
    places = f", except at {'place' if len(kept) == 1 else 'places'} {', '.join(map(str, kept))}" if kept else ""
    return f"may try a row again, since conditions look back{places}{what}"


def _skip(bound: BoundRowPattern) -> str:
    named = bound.skip.to in (SkipTo.FIRST, SkipTo.LAST)
    return f"{bound.skip.to} {' or '.join(map(quoted, sorted(bound.skip.variables)))}" if named else str(bound.skip.to)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0) + 2
    return [f"{name:{width}}{text}" for name, text in rows]
