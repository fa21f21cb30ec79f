"""Answers of the playground, without its page: errors in a text, and results of a query."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from augury.bind import bind
from augury.compiler import with_derived_type
from augury.engine.results.flat import flattened
from augury.engine.results.matches import Matches
from augury.engine.results.render import cell
from augury.engine.results.values import to_shown
from augury.errors import AuguryError, Diagnostic, QueryError
from augury.explain.explanation import explanation_of_run
from augury.explain.why_not.answer import cannot_explain, why_not_in
from augury.hosts.local.query import run
from augury.hosts.local.sql import explained_sql, run_sql
from augury.lang import parse
from augury.options import Options
from augury.serve.subjects import PATTERN, SQL, Subject
from augury.source import Source
from augury.view.page import page

SHOWN_ROWS = 1_000  # rows of a result, or events, that the page lists

SHOWN_CHARACTERS = 120  # characters of a cell


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error in a text, and its place: `line` and `column` count from 0."""

    text: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to display, all of them text, and the total number of rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query. `plan` and `why` are HTML; `picture` creates the page of the viewer on demand."""

    title: str
    listing: Listing
    plan: str
    why: str = ""
    warnings: tuple[str, ...] = ()
    picture: Callable[[], str] | None = None


def mistakes(text: str, language: str, subject: Subject) -> tuple[Mistake, ...]:
    """Errors in a text, without planning or running the query."""
    source = Source(text)
    try:
        if language == SQL:
            explained_sql(source, {name: table.schema.empty_table() for name, table in subject.tables.items()})
        else:
            schema = subject.known.schema
            for query in parse(source).queries:
                schema = with_derived_type(schema, bind(query, schema, source))
    except QueryError as e:
        return tuple(_mistake(diagnostic, e.source) for diagnostic in e.diagnostics)
    except AuguryError as e:
        return (Mistake(str(e)),)
    return ()


def _mistake(diagnostic: Diagnostic, source: Source) -> Mistake:
    line, column = source.position(diagnostic.span.start)
    return Mistake(diagnostic.render(source), line - 1, column - 1)


def answer(text: str, language: str, subject: Subject, options: Options) -> Answer:
    """Run a query within the budgets of the options; raises `AuguryError` for errors in it."""
    source, began = Source(text), time.monotonic()
    if language == PATTERN:
        found = run(subject.known, source, replace(options, counters=True))[-1]
        return _matches_answer(found, options, time.monotonic() - began)
    rows = run_sql(source, subject.tables, options=options)
    title = f"{_count(rows.num_rows, 'row', 'rows')} in {time.monotonic() - began:.2f} s"
    plan = explained_sql(source, {name: table.schema.empty_table() for name, table in subject.tables.items()})
    return Answer(title, listing(rows), f"<pre>{html.escape(plan)}</pre>")


def _matches_answer(found: Matches, options: Options, seconds: float) -> Answer:
    total = found.count()
    refused = None if found.query is None else cannot_explain(found.query)
    if refused is None:
        told = why_not_in(found, options.watched())
        events, why = told.events, told._repr_html_()
    else:
        # The query itself has run.
        events, why = len(found.log.everything()), f"<p>{html.escape(refused.message)}</p>"
    plan = ""
    if found.compiled is not None:
        plan = explanation_of_run(found.compiled, "plan", found.counters, found.times)._repr_html_()
    return Answer(
        f"{_count(total, 'match', 'matches')} in {_count(events, 'event', 'events')}, {seconds:.2f} s",
        replace(listing(flattened(found.head(SHOWN_ROWS).to_arrow())), total=total),
        plan,
        why,
        found.warnings,
        lambda: page(found).html,
    )


def why(text: str, subject: Subject, rows: dict[str, list[int]], options: Options) -> str:
    """The reason why the events at some rows are not a match, as HTML."""
    found = run(subject.known, Source(text), options)[-1]
    return why_not_in(found, options.watched(), rows=rows)._repr_html_()


def events_of(subject: Subject) -> Listing:
    """The first events, with the rows by which `why` refers to them."""
    shown, total = subject.head(SHOWN_ROWS)
    return replace(listing(shown), total=total)


def listing(table: pa.Table) -> Listing:
    """The first rows of a table as text."""
    shown = table.slice(0, SHOWN_ROWS)
    columns = [[cell(value, SHOWN_CHARACTERS) for value in to_shown(c.combine_chunks())] for c in shown.columns]
    return Listing(tuple(table.column_names), tuple(zip(*columns, strict=True)), table.num_rows)


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"
