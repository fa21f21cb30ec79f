"""Matches and their events as numbers and text for a page, without a plotting library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.arrivals import Arrivals
from augury.engine.results.matches import Matches
from augury.engine.results.render import cell
from augury.engine.results.values import to_python
from augury.engine.sources.column_types import is_text
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import SharedMatches, enumerated
from augury.schema import UNITS, Kind

Floats = npt.NDArray[np.float64]

MAX_LANES = 40
"""Lanes that are drawn; events of further types or keys share one extra lane."""

MAX_BOUND_EVENTS = 300_000
"""Events of matches on a page, counted once for each match they are in."""

MAX_VALUE_CHARACTERS = 200
"""Characters of a value on a page, after which it is cut off."""

MAX_EXACT_INTEGER = 2**53
"""The greatest integer up to which all are exact as floats, the numbers of a browser."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueColumn:
    """The values of one column of the events.

    `numbers` holds the values themselves, NaN for null, and `texts` is None; or `numbers` are positions in `texts`, -1
    for null. `is_time` marks numbers that are milliseconds since 1970.
    """

    name: str
    numbers: Floats | npt.NDArray[np.int32]
    texts: list[str] | None
    is_time: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """One way to distribute the events over lanes: the lane of every event, and the label of every lane."""

    title: str
    lane: npt.NDArray[np.int32]
    labels: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The contents of a page.

    Events are sorted by time. `time` is in milliseconds since 1970 if `is_datetime`, else in the units of the time
    column. Match `m` binds the events `bound[offsets[m]:offsets[m + 1]]` in order of time, as the variables of the same
    positions in `variable`. `start`, `end` are times like those of events; `duration` is in seconds. `values` are the
    items of RETURN and, where there are any, probability and count of each match, as texts.
    """

    time: Floats
    is_datetime: bool
    time_title: str
    type: npt.NDArray[np.int32]
    types: list[str]
    lanes: list[Lanes]
    columns: list[ValueColumn]
    start: Floats
    end: Floats
    duration: Floats
    offsets: npt.NDArray[np.int32]
    bound: npt.NDArray[np.int32]
    variable: npt.NDArray[np.int32]
    variables: list[str]
    values: list[tuple[str, list[str]]]
    events_found: int
    matches_found: int


def scene(matches: Matches, max_events: int, max_matches: int) -> Scene:
    """The scene of these matches, with at most `max_events` events and `max_matches` matches.

    Of too many matches every second, third, ... is taken, of compressed ones a sample. Their events are kept, and every
    second, third, ... of the other events.
    """
    query, log = matches.query, matches.log.everything()
    if query is None:
        raise HostError("A642", "the events have no columns, so there is nothing to draw")
    shown, found = _thinned(matches, max_matches)
    rows, owner, variable = _bound(found)
    positions = log.positions(rows)
    kept = _kept(log, positions, max_events)
    place = np.full(len(log), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    order = np.lexsort([place[positions], owner])
    events = log.table.take(pa.array(kept))
    types, type_names = _types(events, query)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(found)))])
    bound = place[positions][order].astype(np.int32)
    weight = np.bincount(bound, minlength=len(kept))
    return Scene(
        time=_axis(log.time[kept], query),
        is_datetime=_is_datetime(query),
        time_title=_time_title(query),
        type=types,
        types=type_names,
        lanes=_lanes(events, query, _key(matches), types, type_names, weight),
        columns=[_values(name, events[name].combine_chunks()) for name in events.column_names],
        start=_axis(found.start, query),
        end=_axis(found.end, query),
        duration=(found.end - found.start).astype(np.float64) * (UNITS[query.schema.time_unit] / UNITS["s"]),
        offsets=offsets.astype(np.int32),
        bound=bound,
        variable=variable[order].astype(np.int32),
        variables=list(found.variables) or ["completed by"],
        values=_match_values(shown, query, found),
        events_found=len(log),
        matches_found=len(matches),
    )


def _thinned(matches: Matches, limit: int) -> tuple[Matches, MatchSet]:
    """At most `limit` of the matches, evenly spread; of compressed ones a sample, the same every time."""
    shown = matches
    if len(matches) > limit:
        enumerable = not isinstance(matches.found, SharedMatches)
        shown = matches[:: math.ceil(len(matches) / limit)] if enumerable else matches.sample(limit, seed=0)
    found = enumerated(shown.found)
    while len(found) > 1 and sum(len(column.flatten()) for column in found.rows) > MAX_BOUND_EVENTS:
        shown = shown[::2]
        found = enumerated(shown.found)
    return shown, found


def _bound(found: MatchSet) -> tuple[Integers, Integers, Integers]:
    """The rows that matches bind, the match of each, and the position of its variable."""
    if len(found) and (found.completed_by >= 0).all():
        return found.completed_by, np.arange(len(found)), np.zeros(len(found), dtype=np.int64)
    rows, owner, variable = [], [], []
    for k, column in enumerate(found.rows):
        flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        lengths = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        rows.append(flat)
        owner.append(np.repeat(np.arange(len(found)), lengths))
        variable.append(np.full(len(flat), k))
    nothing = np.empty(0, dtype=np.int64)
    return np.concatenate([nothing, *rows]), np.concatenate([nothing, *owner]), np.concatenate([nothing, *variable])


def _kept(log: Arrivals, bound: Integers, limit: int) -> Integers:
    """The positions of the displayed events, by time."""
    order = np.argsort(log.time, kind="stable")
    if len(log) <= limit:
        return order
    wanted = np.zeros(len(log), dtype=np.bool_)
    wanted[bound] = True
    others = order[~wanted[order]]
    room = max(limit - int(wanted.sum()), 0)
    wanted[others[:: math.ceil(len(others) / room)] if room else others[:0]] = True
    return order[wanted[order]]


def _is_datetime(query: BoundQuery) -> bool:
    return query.schema[query.schema.time].kind is Kind.TIMESTAMP


def _axis(ticks: Integers, query: BoundQuery) -> Floats:
    """Ticks as positions on the time axis."""
    if _is_datetime(query):
        return ticks.astype(np.float64) * (UNITS[query.schema.time_unit] / UNITS["ms"])
    if query.schema[query.schema.time].kind is Kind.FLOAT:
        return ticks.astype(np.float64) / 1e9
    return ticks.astype(np.float64)


def _time_title(query: BoundQuery) -> str:
    unit = "s" if query.schema[query.schema.time].kind is Kind.FLOAT else query.schema.time_unit
    return query.schema.time if _is_datetime(query) else f"{query.schema.time} ({unit})"


def _types(events: pa.Table, query: BoundQuery) -> tuple[npt.NDArray[np.int32], list[str]]:
    """The type of every event; types of the pattern come first, in its order, then the others, common ones first."""
    if query.schema.type is None:
        return np.zeros(len(events), dtype=np.int32), ["events"]
    codes, names = _coded(events[query.schema.type].combine_chunks(), "(no type)")
    used = dict.fromkeys(name for v in query.variables for name in v.types if name in names)
    common = [names[k] for k in np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")]
    wanted = [*used, *(name for name in common if name not in used)]
    place = np.array([wanted.index(name) for name in names], dtype=np.int32)
    return place[codes] if len(names) else codes, wanted


def _coded(column: pa.Array, null: str) -> tuple[npt.NDArray[np.int32], list[str]]:
    """The values of a column as positions in a list of texts, equal texts at one position."""
    decoded = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if is_text(decoded.type):
        coded = pc.fill_null(decoded.cast(pa.string()), null).dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        texts = [cell(text, MAX_VALUE_CHARACTERS) for text in coded.dictionary.to_pylist()]
    else:
        texts = [null if value is None else cell(value, MAX_VALUE_CHARACTERS) for value in to_python(decoded)]
        codes = np.arange(len(texts))
    unique = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    place = np.array([unique[text] for text in texts], dtype=np.int32)
    return place[codes] if len(place) else np.zeros(0, dtype=np.int32), list(unique)


def _key(matches: Matches) -> tuple[str, ...]:
    """The columns that all events of a match share."""
    if matches.compiled is not None and matches.compiled.rewritten.key:
        return matches.compiled.rewritten.key
    return matches.query.partition_by if matches.query is not None else ()


def _lanes(
    events: pa.Table,
    query: BoundQuery,
    key: tuple[str, ...],
    types: npt.NDArray[np.int32],
    type_names: list[str],
    weight: Integers,
) -> list[Lanes]:
    """Lanes by type and, if the query has a key, by key and by both; `weight` is in how many matches an event is."""
    found = [_limited("type", types, type_names, weight, in_order=True)]
    key = tuple(name for name in key if name != query.schema.type)
    if not key or not len(events):
        return found
    codes, names = _coded(events[key[0]].combine_chunks(), "(none)")
    for name in key[1:]:
        more, more_names = _coded(events[name].combine_chunks(), "(none)")
        pairs, codes = np.unique(codes.astype(np.int64) * len(more_names) + more, return_inverse=True)
        names = [f"{names[p // len(more_names)]} · {more_names[p % len(more_names)]}" for p in pairs]
    title = ", ".join(key)
    found.append(_limited(title, codes, names, weight))
    by_key = _limited(title, codes, names, weight, limit=max(1, MAX_LANES // max(1, len(type_names))))
    pairs, both = np.unique(by_key.lane.astype(np.int64) * len(type_names) + types, return_inverse=True)
    labels = [f"{by_key.labels[p // len(type_names)]} · {type_names[p % len(type_names)]}" for p in pairs]
    if len(type_names) > 1 and len(labels) <= 2 * MAX_LANES:
        found.append(Lanes(f"{title} and type", both.astype(np.int32), labels))
    return found


def _limited(
    title: str,
    codes: Integers | npt.NDArray[np.int32],
    names: list[str],
    weight: Integers,
    *,
    in_order: bool = False,
    limit: int = MAX_LANES,
) -> Lanes:
    """A lane for each name, those with the most matches first; beyond `limit` the rest share one."""
    if in_order:
        order = np.arange(len(names))
    else:
        events, bound = np.bincount(codes, minlength=len(names)), np.bincount(codes, weight, minlength=len(names))
        order = np.lexsort([-events, -bound])
    lane = np.empty(len(names), dtype=np.int32)
    lane[order] = np.minimum(np.arange(len(names)), limit)
    labels = [names[k] for k in order[:limit]]
    if len(names) > limit:
        labels.append(f"{len(names) - limit:,} others")
    return Lanes(title, lane[codes].astype(np.int32) if len(names) else np.zeros(0, dtype=np.int32), labels)


def _values(name: str, column: pa.Array) -> ValueColumn:
    """A column as numbers, or as texts where numbers would not show all of it."""
    types = pa.types
    if types.is_dictionary(column.type):
        return _values(name, column.dictionary_decode())
    if types.is_floating(column.type):
        return ValueColumn(name, _floats(column.cast(pa.float64())), None)
    if types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        if all(v is None or abs(v) <= MAX_EXACT_INTEGER for v in bounds.values()):
            return ValueColumn(name, _floats(column.cast(pa.float64())), None)
    if types.is_timestamp(column.type) and column.type.unit != "ns":
        ticks = _floats(column.cast(pa.int64()).cast(pa.float64(), safe=False))
        return ValueColumn(name, ticks * (UNITS[column.type.unit] / UNITS["ms"]), None, is_time=True)
    codes, texts = _coded(column, "")
    return ValueColumn(name, np.where(column.is_null().to_numpy(zero_copy_only=False), -1, codes), texts)


def _floats(column: pa.Array) -> Floats:
    numbers: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _match_values(matches: Matches, query: BoundQuery, found: MatchSet) -> list[tuple[str, list[str]]]:
    """The values of a match besides its events: the items of RETURN, its probability or its count."""
    variables = set(found.variables) if not query.returns else set()
    hidden = {"start", "end", *variables, *(f"{v}_" for v in variables)}
    table = matches.to_arrow()
    return [
        (name, [cell(_plain(value), MAX_VALUE_CHARACTERS) for value in to_python(table[name].combine_chunks())])
        for name in table.column_names
        if name not in hidden
    ]


def _plain(value: Any) -> Any:
    """A value with names of missing events in plain text, without brackets."""
    return ", ".join(value) if isinstance(value, list) and all(isinstance(v, str) for v in value) else value
