"""`why_not`: from the matches of a query to the reason why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import numpy as np

from augury import arguments
from augury.engine.arrivals import Arrivals, in_order
from augury.engine.results.matches import Matches
from augury.engine.results.render import cell
from augury.engine.results.values import to_shown
from augury.engine.sources.column_types import engine_table
from augury.errors import HostError, suggestion
from augury.explain.why_not.asked import MAX_TRIED_EVENTS, Question
from augury.explain.why_not.nearest import nearest_miss
from augury.explain.why_not.result import WhyNot
from augury.explain.why_not.sample import MAX_EVENTS, sampled
from augury.explain.why_not.steps import Findings, findings
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.planner.describe.words import place
from augury.planner.supports import RESULTS, STRATEGIES, Supports, each
from augury.reference.stream import stream

SUPPORTS = Supports(
    strategies=STRATEGIES,
    outputs=frozenset(
        {
            OutputMode.ALL,
            OutputMode.NONOVERLAP,
            OutputMode.NONOVERLAP_FROM,
            OutputMode.COVER,
            OutputMode.LATEST,
            OutputMode.FIRST,
            OutputMode.LONGEST,
            OutputMode.LONGEST_NONOVERLAP,
            OutputMode.COUNT,
        },
    ),
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS | {"skip_to", "every", "once"},
    because={
        Group: "the rounds of a group are not followed one by one",
        "threshold": "with THRESHOLD a match is a matter of its score, not of what is there",
        "steps": "steps with strategies of their own are not looked into",
        "each": "WITHIN ... EACH is not looked into",
        "since": "NOT ... SINCE is not looked into",
        "silence": "NOT ... FOR is not looked into",
        "reluctant": "a list that may end early (`+?`) is not looked into",
        "nth": "an element by its number (`b[2]`) is not looked into",
        "until": "a list that ends UNTIL an event is not looked into",
        **each(
            (OutputMode.TIMEOUTS, OutputMode.ALL_WITH_TIMEOUTS, OutputMode.FIRST_WITH_TIMEOUTS),
            "OUTPUT {} tells by itself how far events got",
        ),
    },
)
"""The part of the language that can be explained; the rest is refused with a reason."""

EVENT_CHARACTERS = 160
"""Characters of an event after which its text is cut off."""


def why_not_in(
    matches: Matches,
    options: Options,
    *,
    rows: Mapping[str, Any] | None = None,
    sample: int | None = None,
    effort: int = MAX_TRIED_EVENTS,
) -> WhyNot:
    """The reason why the events of these matches, or the given `rows` of them, are not a match.

    At most `sample` events are searched, and each search stops once it has tried `effort` of them.
    """
    query = matches.query
    if query is None:
        return WhyNot("", 0, 0, 0, "", (), None)
    refused = cannot_explain(query)
    if refused is not None:
        raise refused
    everything = in_order(matches.log.everything(), query.schema)
    asked = _rows(query, rows or {}, everything)
    wanted = np.array(sorted({row for found in asked.values() for row in found}), dtype=np.int64)
    size = MAX_EVENTS if sample is None else arguments.limit("sample", sample)
    events, words = sampled(everything, query, size, wanted)
    table = engine_table(events.table, query.schema.type)
    arrived = stream(query, table, events.rows.tolist())
    by_row = {e.row: e for e in arrived}
    pinned = {v: tuple(by_row[r] for r in found) for v, found in asked.items()}
    question = Question(query, arrived, pinned, options, effort)
    found = findings(question)
    nearest = nearest_miss(question, found)
    bound, note = _match_of(matches, query, asked, found) if asked else (None, "")
    mentioned = set(wanted.tolist())
    if nearest is not None:
        mentioned |= {row for rows in nearest.rows.values() for row in rows} | set(nearest.candidates)
    return WhyNot(
        query=matches.compiled.source.text if matches.compiled is not None else "",
        matches=sum(m.count or 0 for m in matches) if query.output is OutputMode.COUNT else matches.count(),
        events=len(everything),
        looked_at=len(events),
        sample=words,
        steps=found.steps,
        nearest=nearest,
        rows=asked,
        found=bound,
        note=note,
        shown=_shown(everything, mentioned),
    )


def cannot_explain(query: BoundQuery) -> HostError | None:
    """The error for a query that cannot be explained; None if it can be."""
    refused = SUPPORTS.refusal("reference", query)
    if refused is None:
        return None
    where = place(query.source, refused.span)
    return HostError("A645", f"why_not cannot explain this query: {refused.reason} {where}".rstrip())


def _rows(query: BoundQuery, given: Mapping[str, Any], events: Arrivals) -> dict[str, tuple[int, ...]]:
    """The rows that the caller asks about, by variable in pattern order."""
    given = arguments.mapping("rows", given, "a dict of rows by variable")
    positive = [v.name for v in query.variables if not v.negated]
    for name in given:
        if name not in positive:
            raise HostError("A646", f"no event of a match is bound to `{name}`", suggestion(name, positive))
    found = {}
    for name in positive:
        if name in given:
            several = isinstance(given[name], Iterable) and not isinstance(given[name], str | bytes)
            values = list(given[name]) if several else [given[name]]
            rows = tuple(arguments.count(f"rows[{name!r}]", v, "the row of an event, or several") for v in values)
            missing = [row for row in rows if row not in events.rows]
            if missing or not rows:
                wrong = f"row {missing[0]}" if missing else "an empty list of rows"
                raise HostError(
                    "A647", f"there is no event at {wrong}", f"rows are numbered from 0 to {len(events) - 1}"
                )
            found[name] = rows
    return found


def _match_of(
    matches: Matches, query: BoundQuery, asked: Mapping[str, tuple[int, ...]], found: Findings
) -> tuple[dict[str, tuple[int, ...]] | None, str]:
    """A match that binds the rows in question, if there is one, and how OUTPUT treats it."""
    if found.accepted is None:
        return None, ""
    _, bindings = found.accepted
    accepted = {v: tuple(e.row for e in events) for v, events in bindings.items()}
    match query.output:
        case OutputMode.ALL if query.every is None and not query.once:
            return accepted, ""
        case OutputMode.COUNT:
            return accepted, "which is counted"
        case (
            OutputMode.ALL
            | OutputMode.NONOVERLAP
            | OutputMode.COVER
            | OutputMode.LATEST
            | OutputMode.FIRST
            | OutputMode.LONGEST
            | OutputMode.LONGEST_NONOVERLAP
            | OutputMode.NONOVERLAP_FROM
            | OutputMode.TIMEOUTS
            | OutputMode.ALL_WITH_TIMEOUTS
            | OutputMode.FIRST_WITH_TIMEOUTS
        ):
            for reported in matches:
                rows = {v: _listed(rows) for v, rows in reported.rows.items() if rows is not None}
                if asked.items() <= rows.items():
                    return rows, ""
            return accepted, f"which {_output_text(query)} leaves out"
        case _:
            assert_never(query.output)


def _output_text(query: BoundQuery) -> str:
    """The clauses that select among matches, as text."""
    pace = " ONCE" if query.once else " EVERY ..." if query.every is not None else ""
    return f"OUTPUT {query.output}{pace}"


def _listed(rows: int | list[int]) -> tuple[int, ...]:
    return tuple(rows) if isinstance(rows, list) else (rows,)


def _shown(events: Arrivals, rows: Iterable[int]) -> dict[int, str]:
    """Events as text, by their rows."""
    wanted = np.array(sorted(rows), dtype=np.int64)
    table = events.fetch(wanted)
    columns = [to_shown(table[name].combine_chunks()) for name in table.column_names]
    texts = (
        cell(dict(zip(table.column_names, values, strict=True)), EVENT_CHARACTERS)
        for values in zip(*columns, strict=True)
    )
    return dict(zip(wanted.tolist(), texts, strict=True))
