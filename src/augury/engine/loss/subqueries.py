"""Subqueries of a lossy query: some of its components, matched exactly as if the others did not exist."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from augury.compiler import CompiledQuery, emit, load
from augury.engine.arrivals import Arrivals
from augury.families import FAMILIES
from augury.ir.lossy import with_defaults
from augury.ir.pattern import Absent, Pattern, Seq, components, variable_of
from augury.ir.predicate import conjunct, variables
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.planner import choose
from augury.rewrite import rewrite
from augury.runtime.batch import Integers
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER


def part_of(query: BoundQuery, kept: Collection[str], *, negations: bool = False) -> BoundQuery:
    """The query reduced to the components `kept`, each of which must be observed.

    A negated component among them becomes a positive one, unless `negations` stay: then all NOTs are kept.
    """
    parts = query.pattern.parts if isinstance(query.pattern, Seq) else (query.pattern,)
    chosen: list[Pattern] = []
    for part in parts:
        (event,) = components(part)
        if isinstance(part, Absent) and negations:
            chosen.append(part)
        elif variable_of(event) in kept:
            chosen.append(event)
    pattern = chosen[0] if len(chosen) == 1 else Seq(tuple(chosen))
    there = {variable_of(c) for c in components(pattern)}
    positive = {variable_of(c) for c in components(pattern, negated=False)}
    left_out = frozenset(v.name for v in query.variables if v.name not in there)
    filled = (with_defaults(c.expr, left_out) for c in query.conjuncts)
    conjuncts = tuple(conjunct(e, query.pattern_order) for e in filled if e is not None and variables(e) <= there)
    known = tuple(replace(v, negated=v.name not in positive) for v in query.variables if v.name in there)
    return replace(
        query,
        pattern=pattern,
        variables=known,
        conjuncts=conjuncts,
        threshold=None,
        output=OutputMode.ALL,
        returns=(),
        into=None,
    )


def exact_rows(query: BoundQuery, compiled: CompiledQuery, events: Arrivals, options: Options) -> dict[str, Integers]:
    """The matches of a query without THRESHOLD over events in order: the positions of each variable's events."""
    exact = replace(options, plan=None, loss=None, counters=False, compressed=False)
    choice = choose(rewrite(query), FAMILIES)
    kernel = load(replace(compiled, choice=choice, kernel=emit(choice.plan, exact)), exact)
    positions = replace(events, rows=np.arange(len(events)))
    _, found = kernel.step(kernel.start(), positions.batch(query.schema), FOREVER)
    matches = enumerated(found)
    return {
        v: column.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        for v, column in zip(matches.variables, matches.rows, strict=True)
    }
