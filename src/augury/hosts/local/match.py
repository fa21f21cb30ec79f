"""Match a finite stream on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from augury.arguments import mapping
from augury.budget import within
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events, is_stream
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import known_events
from augury.errors import HostError
from augury.hosts.local.query import QueryText, run, warned
from augury.lang import parse
from augury.options import MatchOptions, read_options
from augury.source import Source
from augury.timing import CallStage


def match(events: Events, query: QueryText, **options: Unpack[MatchOptions]) -> Matches:
    """The matches of a query, of the last one when the text holds several.

    `events` is an Arrow table, batch, reader or data set, a pandas or polars frame, a DuckDB relation, a path to
    Parquet, CSV, JSON lines or Arrow files, a glob or a list of such, or an iterable of dicts. They are sorted by
    `order_by` (default: `time`). Of Parquet files, data sets, polars frames and relations the columns are read that
    the query needs, and those that matches show when they are asked for. `query` is the text itself, or a `Path` to
    a file that holds it. The options are those of `MatchOptions`. It is short for `compile(query,
    events).match(events)`, with the events read once; the planner measures rates and selectivities on a sample of
    them.

    >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}, {"ts": 3, "type": "B"}]
    >>> match(events, "PATTERN SEQ(A a, B b) WITHIN 1 minute")
    2 matches
    start  end  a            b
    -----  ---  -----------  -----------
    1      2    ts=1 type=A  ts=2 type=B
    1      3    ts=1 type=A  ts=3 type=B
    """
    return warned([_found(events, {"": query}, options)[""]])[0]


def match_all(events: Events, queries: Mapping[str, QueryText], **options: Unpack[MatchOptions]) -> dict[str, Matches]:
    """The matches of many queries, by name; the events are read and sorted once.

    The arguments are those of `match`, and budgets hold for all queries together, except that `max_matches` and
    `max_partial_matches` hold for each.

    >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
    >>> found = match_all(events, {"pair": "SEQ(A a, B b)", "back": "SEQ(B b, A a)"})
    >>> {name: len(matches) for name, matches in found.items()}
    {'pair': 1, 'back': 0}
    """
    queries = mapping("queries", queries, "a dict of queries by name")
    if not queries:
        raise HostError("A580", "there is no query to match", "give queries={name: text, ...}")
    found = _found(events, queries, options)
    warned(list(found.values()))
    return found


def _found(events: Events, queries: Mapping[str, QueryText], options: MatchOptions) -> dict[str, Matches]:
    """Read the events and match them, all within one budget."""
    roles, chosen = read_options(options)
    chosen, watch = chosen.watched().timed()
    with within(chosen.watching):
        sources = {name: query_source(query) for name, query in queries.items()}
        alone = len(sources) == 1 and is_stream(events) and all(map(_is_one_query, sources.values()))
        with watch.stage(CallStage.READING):
            known = known_events(events, roles, chosen.threads, for_one_query=alone)
        if known is None:
            # Events without any column, such as an empty list.
            return {name: Matches.nothing() for name, source in sources.items() if parse(source).queries}
        return {name: run(known, source, chosen)[-1] for name, source in sources.items()}


def _is_one_query(source: Source) -> bool:
    """Whether a text holds one query that derives no events."""
    queries = parse(source).queries
    return len(queries) == 1 and queries[0].into is None
