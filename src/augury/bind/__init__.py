"""Binding: from syntax to a typed query, with checks of names, types and legality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from augury.bind.clauses import (
    check_timeouts,
    conjuncts_of,
    each_of,
    event_named,
    every_of,
    partition_of,
    returns_of,
    window_of,
)
from augury.bind.counted import completing
from augury.bind.groups import check_groups, check_read_in_rounds
from augury.bind.legality import check_bounds, check_branches, check_negated_together, check_order, check_presence
from augury.bind.lossy import check_lossy, threshold_of
from augury.bind.negations import check_negations
from augury.bind.patterns import check_repeated, check_types, declarations, pattern_of, variables_of
from augury.bind.registered import register
from augury.bind.scope import Problems, Scope
from augury.bind.strategies import check_reluctant, steps_of
from augury.bind.until import check_until
from augury.errors import QueryError
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode, Strategy
from augury.schema import EventSchema
from augury.source import Source

__all__ = ["bind"]

_NONE: Mapping[str, Any] = {}


def bind(
    query: syntax.Query,
    schema: EventSchema,
    source: Source,
    *,
    parameters: Mapping[str, object] = _NONE,
    functions: Mapping[str, Callable[..., Any]] = _NONE,
) -> BoundQuery:
    """Resolve and type every name of `query`; raises one `QueryError` with all errors in it.

    >>> import pyarrow as pa
    >>> schema = EventSchema.from_arrow(pa.schema([("ts", pa.int64()), ("type", pa.string())]))
    >>> part = syntax.Component("a", (syntax.TypeName("A"),))
    >>> bind(syntax.Query(part), schema, Source("A a")).variables
    (Variable(name='a', types=('A',), iterated=False, negated=False, group=None),)
    """
    problems = Problems([])
    declared = list(declarations(query.pattern))
    pattern = pattern_of(query.pattern)
    scope = Scope(
        source=source,
        schema=schema,
        variables=variables_of(declared),
        parameters=parameters,
        functions=register(functions),
        lossy=query.threshold is not None,
        completing=completing(pattern) if query.output is OutputMode.COUNT and query.returns else None,
        problems=problems,
    )
    check_types(declared, schema, problems)
    check_bounds(declared, problems)
    check_presence(pattern, problems)
    check_negations(query.pattern, pattern, scope)
    check_groups(query, pattern, scope)
    if check_repeated(declared, problems) and check_branches(pattern, problems):
        check_order(pattern, problems)
        check_reluctant(query, pattern, scope)

    partition_by = partition_of(query.where, scope)
    conjuncts = conjuncts_of(query.where, scope)
    check_negated_together(conjuncts, declared, problems)
    check_until(pattern, conjuncts, scope)
    if not problems.found:
        check_read_in_rounds(conjuncts, pattern, scope)
    steps = steps_of(query, pattern, scope)
    window = window_of(query.within, scope)
    each = each_of(query.each, scope)
    threshold = threshold_of(query.threshold, scope)
    if query.threshold is not None:
        check_lossy(query, pattern, conjuncts, scope)
    skip_to = event_named(query.skip_to, scope)
    every = every_of(query, scope)
    check_timeouts(query, pattern, scope)
    returns = returns_of(query, scope)

    if problems.found:
        raise QueryError(problems.found, source)
    return BoundQuery(
        source=source,
        schema=schema,
        pattern=pattern,
        variables=tuple(scope.variables.values()),
        conjuncts=conjuncts,
        strategy=query.strategy or Strategy.SKIP_TILL_ANY_MATCH,
        window=window,
        partition_by=partition_by,
        output=query.output or OutputMode.ALL,
        threshold=threshold,
        returns=returns,
        into=query.into,
        steps=steps,
        skip_to=skip_to,
        each=each,
        every=every,
        once=query.once,
    )
