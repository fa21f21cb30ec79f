"""Matches -> Arrow columns (SEMANTICS section 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from augury.engine.arrivals import Arrivals, EventLog
from augury.engine.sources.column_types import engine_table
from augury.ir.evaluate import evaluate
from augury.ir.predicate import Aggregate, Element, Expr, Nth, Ref, inner_variables, map_children, variables, walk
from augury.ir.query import RESULT_COLUMNS, BoundQuery, Returned
from augury.ir.rounds import name_in_round
from augury.ir.terms import OutputMode
from augury.runtime.arrow_numbers import to_arrow, to_numpy
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.values import arrow_type, from_values, to_values
from augury.schema import Kind


def match_columns(
    found: MatchSet, log: EventLog, query: BoundQuery, functions: Mapping[str, Callable[..., Any]]
) -> dict[str, pa.Array]:
    """The columns of a result: times, then the items of RETURN or else one column a variable."""
    end = times(found.end, log, query)
    if query.output is OutputMode.COUNT:
        counted = {"end": end, "count": pa.array(found.count)}
        return counted | return_columns(found, log, query, functions)
    columns = {"start": times(found.start, log, query), "end": end}
    if query.returns:
        columns |= return_columns(found, log, query, functions)
    else:
        columns |= variable_columns(found, log, query)
    if query.output.has_timeouts:
        columns["reached"] = reached_column(found)
    if query.output in (OutputMode.ALL_WITH_TIMEOUTS, OutputMode.FIRST_WITH_TIMEOUTS):
        columns["complete"] = pa.array(found.count > 0)
    if query.threshold is not None:
        columns["probability"] = pa.array(found.probability if found.probability is not None else [], pa.float64())
        columns["missing"] = missing_column(found)
    return columns


def reached_column(found: MatchSet) -> pa.Array:
    """For each match, or partial match, the name of the last component that is bound."""
    there = np.stack([np.asarray(column.value_lengths()) for column in found.rows], axis=1) > 0
    last = there.shape[1] - 1 - there[:, ::-1].argmax(axis=1)
    return pa.array(np.array(found.variables, dtype=object)[last], pa.string())


def missing_column(found: MatchSet) -> pa.Array:
    """For each match the names of the components that no event was observed for, in pattern order."""
    there = np.stack([np.asarray(column.value_lengths()) for column in found.rows], axis=1) > 0
    offsets = np.concatenate([[0], np.cumsum((~there).sum(axis=1))]).astype(np.int32)
    names = np.array(found.variables, dtype=object)[np.nonzero(~there)[1]]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(names, pa.string()))


def column_name(variable: str) -> str:
    """The column of a variable; one named like a column of the result itself gets an underscore.

    >>> column_name("a"), column_name("end")
    ('a', 'end_')
    """
    return variable + "_" if variable in RESULT_COLUMNS else variable


def times(ticks: Integers, log: EventLog, query: BoundQuery) -> pa.Array:
    """Convert ticks to values of the time column."""
    arrow = log.arrow.field(query.schema.time).type
    if query.schema[query.schema.time].kind is Kind.FLOAT:
        # Ticks are rounded to the nanosecond: the value itself is that of an event of the same tick.
        log = log.everything()
        sorter = np.argsort(log.time, kind="stable")
        place = np.minimum(np.searchsorted(log.time, ticks, sorter=sorter), max(len(log) - 1, 0))
        if len(log) and (log.time[sorter[place]] == ticks).all():
            return _take(log.table[query.schema.time], sorter[place])
        return pa.array(ticks / 1e9).cast(arrow.value_type if pa.types.is_dictionary(arrow) else arrow)
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if pa.types.is_null(arrow):
        return pa.nulls(len(ticks))
    if pa.types.is_date(arrow):
        return pa.array(ticks.astype(np.int32)).cast(pa.date32()).cast(arrow)
    return to_arrow(ticks).cast(arrow)


def variable_columns(found: MatchSet, log: EventLog, query: BoundQuery) -> dict[str, pa.Array]:
    """The events of each variable: structs, or lists of structs when it is iterated; null where it is not bound.

    A group is a list of structs too, with the variables inside it as their fields.
    """
    shown = shown_variables(query)
    bound = {v: _rows(found, v) for v in shown if v not in query.group_names}
    # One fetch for all variables: each fetch reads the files again if events are still there.
    rows = np.concatenate([np.empty(0, np.int64), *(flat for flat, _ in bound.values())])
    events = log.fetch(rows)
    fields, attributes = list(events.schema), [_one(c) for c in events.columns]
    columns, at = {}, 0
    for v in shown:
        if v in query.group_names:
            columns[column_name(v)] = group_column(found, log, query, v)
            continue
        flat, offsets = bound[v]
        # Attributes are sliced, not structs: DuckDB takes no list of structs that begin at an offset.
        structs = pa.StructArray.from_arrays([a.slice(at, len(flat)) for a in attributes], fields=fields)
        columns[column_name(v)] = _shaped(structs, offsets, query[v].iterated)
        at += len(flat)
    return columns


def shown_variables(query: BoundQuery) -> tuple[str, ...]:
    """The variables with a column, or an entry, of their own: variables inside a group are part of the group's."""
    return tuple(v.name for v in query.variables if not v.negated and v.group is None)


def group_column(found: MatchSet, log: EventLog, query: BoundQuery, group: str) -> pa.Array:
    """The rounds of a group: lists of structs with the variables that each round binds."""
    _, offsets = _rows(found, group)
    inside = [v for v in query.variables if v.group == group and not v.negated]
    fields = []
    for v in inside:
        flat, _ = _rows(found, v.name)
        events = log.fetch(flat)
        structs = pa.StructArray.from_arrays([_one(c) for c in events.columns], fields=list(events.schema))
        fields.append(_shaped(structs, offsets_in_rounds(found, log, query, v.name), v.iterated))
    return _shaped(pa.StructArray.from_arrays(fields, [v.name for v in inside]), offsets, True)


def bound_rows(found: MatchSet, log: EventLog, query: BoundQuery, variable: str) -> list[Any]:
    """For each match the row of the variable's event, a list of rows, or for a group one dict per round."""
    flat, offsets = _rows(found, variable)
    if variable not in query.group_names:
        return _cut(flat.tolist(), offsets, query[variable].iterated)
    inside = [v for v in query.variables if v.group == variable and not v.negated]
    parts = [
        _cut(_rows(found, v.name)[0].tolist(), offsets_in_rounds(found, log, query, v.name), v.iterated) for v in inside
    ]
    rounds = [dict(zip((v.name for v in inside), values, strict=True)) for values in zip(*parts, strict=True)]
    return _cut(rounds, offsets, True)


def _cut(values: list[Any], offsets: Integers, iterated: bool) -> list[Any]:
    """Cut `values` at `offsets` into lists, or single values; None where there is none."""
    pieces = (values[low:high] for low, high in pairwise(offsets.tolist()))
    return [(piece if iterated else piece[0]) if piece else None for piece in pieces]


def offsets_in_rounds(found: MatchSet, log: EventLog, query: BoundQuery, variable: str) -> Integers:
    """The offsets at which the events of a variable inside a group begin in each round of each match, and their end.

    A match holds the first event of each round, and rounds follow one another: an event belongs to the last round that
    does not begin after it.
    """
    firsts, of_group = _rows(found, query[variable].group or "")
    flat, of_variable = _rows(found, variable)
    order = _order(log, query, np.concatenate([firsts, flat]))
    # Matches follow one another, so that one search finds the places in all of them.
    width = int(order.max(initial=0)) + 1
    begins = order[: len(firsts)] + width * np.repeat(np.arange(len(found)), np.diff(of_group))
    at = order[len(firsts) :] + width * np.repeat(np.arange(len(found)), np.diff(of_variable))
    return np.append(np.searchsorted(at, begins), len(flat))


def _order(log: EventLog, query: BoundQuery, rows: Integers) -> Integers:
    """The rank of each row among these rows by the order key; concurrent events share one."""
    distinct, places = np.unique(rows, return_inverse=True)
    if not len(distinct):
        return places
    names = list(query.schema.order_by)
    table = engine_table(log.fetch(distinct, names), query.schema.type)
    keys = [_ranks(_one(table[name])) for name in names]
    sorter = np.lexsort(keys[::-1])
    columns = np.array(keys)[:, sorter]
    new = np.append(False, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[sorter] = np.cumsum(new)
    return ranks[places]


def _ranks(column: pa.Array) -> Integers:
    """The rank of each value among the others."""
    numbers = pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)
    if numbers and not column.null_count:
        return np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)[1]
    values: list[Any] = to_values(column)
    rank = {value: k for k, value in enumerate(sorted(set(values), key=lambda value: (value is None, value)))}
    return np.array([rank[value] for value in values], dtype=np.int64)


def return_columns(
    found: MatchSet, log: EventLog, query: BoundQuery, functions: Mapping[str, Callable[..., Any]]
) -> dict[str, pa.Array]:
    """The columns of RETURN, one for each item."""
    if query.output is OutputMode.COUNT:
        return _counted_columns(found, log, query, functions)
    computed = [item for item in query.returns if not _is_attribute(item.expr)]
    needed = frozenset[str]().union(*(variables(item.expr) | inner_variables(item.expr) for item in computed))
    rows = {v: _rows(found, v) for v in needed}
    names = sorted({e.column for item in computed for e in walk(item.expr) if isinstance(e, Ref)})
    events = {v: _events(log, query, rows[v][0], names) for v in needed}
    rounds = {v: offsets_in_rounds(found, log, query, v) for v in needed if query[v].group is not None}
    results: dict[str, list[Any]] = {item.name: [] for item in computed}
    for k in range(len(found) if computed else 0):
        bindings: dict[str, list[dict[str, Any]]] = {}
        for variable in needed:
            low, high = rows[variable][1][k : k + 2]
            if low == high:
                continue
            if variable not in rounds:
                bindings[variable] = events[variable][low:high]
                continue
            first, last = rows[query[variable].group or ""][1][k : k + 2]
            for n, (start, end) in enumerate(pairwise(rounds[variable][first : last + 1]), start=1):
                if start < end:
                    bindings[name_in_round(variable, n)] = events[variable][start:end]
        for item in computed:
            results[item.name].append(evaluate(item.expr, bindings, functions=functions))
    return {
        item.name: _zoned(from_values(results[item.name], item.type), returned_type(item, log.arrow))
        if item.name in results
        else _attribute_column(found, log, query, item.expr)
        for item in query.returns
    }


def _counted_columns(
    found: MatchSet, log: EventLog, query: BoundQuery, functions: Mapping[str, Callable[..., Any]]
) -> dict[str, pa.Array]:
    """The columns of RETURN for OUTPUT COUNT: attributes of the completing event, and aggregates over the matches."""
    names = sorted({e.column for item in query.returns for e in walk(item.expr) if isinstance(e, Ref)})
    completing = _events(log, query, found.completed_by, names)
    totals = {a: str(k) for k, a in enumerate(query.totals)}
    columns = {}
    for item in query.returns:
        if _is_attribute(item.expr):
            assert isinstance(item.expr, Ref)
            columns[item.name] = _fetch(log, found.completed_by, item.expr.column)
            continue
        expr = _by_name(item.expr, totals)
        values = []
        for k, event in enumerate(completing):
            known = {name: found.totals[k][int(name)] for name in totals.values()} | {"": int(found.count[k])}
            bindings = {v.name: [event] for v in query.variables} | {"": [known]}
            values.append(evaluate(expr, bindings, functions=functions))
        columns[item.name] = _zoned(from_values(values, item.type), returned_type(item, log.arrow))
    return columns


def _by_name(expr: Expr, totals: Mapping[Aggregate, str]) -> Expr:
    """`expr` with each aggregate over matches read as an attribute of an event that holds them all."""
    if isinstance(expr, Aggregate):
        return Ref("", totals.get(expr, ""), expr.type)
    return map_children(lambda e: _by_name(e, totals), expr)


def returned_type(item: Returned, arrow: pa.Schema) -> pa.DataType:
    """The Arrow type of an item of RETURN: that of the column it reads, or what its value needs."""
    if _is_attribute(item.expr):
        assert isinstance(item.expr, Ref)
        column = arrow.field(item.expr.column).type
        return pa.list_(column) if item.expr.element is Element.EACH else column
    zones = {
        arrow.field(e.column).type.tz
        for e in walk(item.expr)
        if isinstance(e, Ref) and pa.types.is_timestamp(arrow.field(e.column).type)
    }
    plain = arrow_type(item.type)
    return pa.timestamp(plain.unit, zones.pop()) if pa.types.is_timestamp(plain) and len(zones) == 1 else plain


def _zoned(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Give times of the evaluator, which are UTC without a zone, the zone of the column's type."""
    return values if values.type == arrow else values.cast(pa.int64()).cast(arrow)


def last_events(found: MatchSet, log: Arrivals, ranks: Integers) -> Integers:
    """The position in `log` of each match's last event, given the rank of every event there."""
    if (found.completed_by >= 0).all():
        return log.positions(found.completed_by)
    flats, owners = [], []
    for variable in found.variables:
        flat, offsets = _rows(found, variable)
        flats.append(flat)
        owners.append(np.repeat(np.arange(len(found)), np.diff(offsets)))
    positions = log.positions(np.concatenate(flats))
    owner = np.concatenate(owners)
    order = np.lexsort([log.rows[positions], log.anchors[positions], ranks[positions], owner])
    final = np.append(np.diff(owner[order]) > 0, True)
    last: Integers = positions[order][final]
    return last


def _is_attribute(expr: Expr) -> bool:
    return isinstance(expr, Ref) and expr.default is None


def _attribute_column(found: MatchSet, log: EventLog, query: BoundQuery, expr: Expr) -> pa.Array:
    """A plain attribute, taken as it is from the events."""
    assert isinstance(expr, Ref)
    flat, offsets = _rows(found, expr.variable)
    values = _fetch(log, flat, expr.column)
    if expr.element is Element.EACH:
        return _shaped(values, offsets, True)
    if isinstance(expr.element, Nth):
        at = offsets[:-1] + (expr.element.number - 1)
        return values.take(pa.array(at, mask=at >= offsets[1:]))
    if expr.element is Element.LAST:
        lengths = np.diff(offsets)
        return values.take(pa.array(offsets[1:] - 1, mask=lengths == 0))
    return _shaped(values, offsets, False)


def _shaped(values: pa.Array, offsets: Integers, iterated: bool) -> pa.Array:
    """Cut `values` at `offsets` into one value per match, or a list if it is iterated; null where a match has none."""
    unbound = np.diff(offsets) == 0
    if not iterated:
        return values.take(pa.array(offsets[:-1], mask=unbound) if unbound.any() else to_arrow(offsets[:-1]))
    return pa.ListArray.from_arrays(
        to_arrow(offsets.astype(np.int32), pa.int32()), values, mask=pa.array(unbound) if unbound.any() else None
    )


def _rows(found: MatchSet, variable: str) -> tuple[Integers, Integers]:
    """The rows bound to a variable in all matches, and the offset where those of each match begin."""
    column = found.rows[found.variables.index(variable)]
    flat = to_numpy(column.flatten()).astype(np.int64)
    lengths = to_numpy(column.value_lengths()).astype(np.int64)
    return flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _events(log: EventLog, query: BoundQuery, rows: Integers, names: list[str]) -> list[dict[str, Any]]:
    """Events as the evaluator reads them, with the columns it needs."""
    if not names:
        return [{} for _ in rows]
    table = engine_table(log.fetch(rows, names), query.schema.type)
    columns = [to_values(table[name]) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _fetch(log: EventLog, rows: Integers, name: str) -> pa.Array:
    return _one(log.fetch(rows, [name])[name])


def _take(column: pa.ChunkedArray, positions: Integers) -> pa.Array:
    return _one(column.take(to_arrow(positions)))


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def with_types(table: pa.Table, arrow: pa.Schema) -> pa.Table:
    """The table with its columns cast to the types of a schema, which names them in the same order."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, arrow, strict=True)
    ]
    return pa.table(columns, schema=arrow)
