"""The commands."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

import augury
from augury.budget import within
from augury.cli.arguments import STDIN, named_files, not_both_stdin, read_input, read_query, row_numbers
from augury.cli.options import BUDGETS, COLUMNS, LAZY_CHAIN, SQL_BUDGETS, GivenOptions, shared_options
from augury.cli.output import Format, print_query, write_file, write_text
from augury.engine.board import BatchProgress, Board
from augury.engine.results.matches import Matches
from augury.engine.sources.schemas import KnownColumns, known_columns, known_events
from augury.engine.warnings import type_warnings
from augury.errors import AuguryError, AuguryWarning, HostError
from augury.hosts.local.progress_bar import progress_shown
from augury.hosts.local.query import compiled, run
from augury.hosts.local.sink import sink
from augury.ir import syntax
from augury.lang import parse
from augury.options import Options
from augury.printable import printable
from augury.source import Source
from augury.timing import CallStage

DEFAULT_PORT = 5006
"""Default port of the playground."""

PLAYGROUND_SECONDS = 30.0  # that a query of the playground may take by default

app = typer.Typer(
    help="Find patterns in streams of events.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Stage(StrEnum):
    """The stages of a query that `explain` shows."""

    SYNTAX = "syntax"
    BOUND = "bound"
    REWRITTEN = "rewritten"
    PLAN = "plan"
    KERNEL = "kernel"


class Form(StrEnum):
    """The output formats of `explain`."""

    TEXT = "text"
    SVG = "svg"
    MERMAID = "mermaid"
    JSON = "json"


QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A query file, the text itself, or - for stdin.")]
EventsArgument = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="Parquet, CSV, JSON lines or Arrow; a folder or a glob; - for JSON lines or CSV on stdin.",
    ),
]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", metavar="EVENTS", help="Events to take the columns from.")
]
FormatOption = Annotated[
    Format | None, typer.Option("--output", help="Default: table on a terminal, else jsonl, or as --out ends.")
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Write to a file instead of standard output.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"augury {augury.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find patterns in streams of events."""


@app.command("match")
@shared_options(*COLUMNS, "plan", *LAZY_CHAIN, "parameters", "jit", "threads", "loss", last=BUDGETS)
def match_command(
    query: QueryArgument,
    events: EventsArgument,
    given: GivenOptions,
    output: FormatOption = None,
    out: OutOption = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Show that many matches at most.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Then tell, on standard error, by which plan, and where the time went.")
    ] = False,
) -> None:
    """Print the matches of a query, of the last one when it holds several."""
    not_both_stdin(query, events)
    format = output or _default_format(out)
    if format is Format.PARQUET and out is None:
        raise typer.BadParameter("parquet needs --out PATH", param_hint="--output")
    with _reporting():
        options, watch = given.options().timed()
        source = read_query(query)
        with watch.stage(CallStage.READING):
            known = known_events(read_input(events), given.roles(), options.threads)
        # Matches that are written as they are found are not kept, so they cannot be limited or explained.
        if format is Format.PARQUET and out is not None and limit is None and known is not None and not explain:
            _sink(source, known, options, out)
            return
        matches = _run(source, known, options)
        _warn(matches.warnings)
        shown = matches if limit is None else matches[:limit]
        if out is None:
            write_text(shown.to_arrow(), format, sys.stdout)
            sys.stdout.flush()
        else:
            write_file(shown.to_arrow(), format, out)
        if len(shown) < matches.count():
            typer.echo(f"{matches.count() - len(shown)} more matches not shown (--limit {limit})", err=True)
        if explain and matches.compiled is not None:
            from augury.explain.explanation import explanation_of_run

            # `shown` is the part that was written.
            typer.echo(explanation_of_run(matches.compiled, Stage.PLAN, matches.counters, shown.times), err=True)


@app.command("view")
@shared_options(*COLUMNS, "plan", "parameters", "jit", "loss", last=("max_matches",))
def view_command(
    query: QueryArgument,
    events: EventsArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PAGE", help="The HTML file to write.")],
    given: GivenOptions,
) -> None:
    """Draw the matches of a query over their events: one HTML page to look at, without network."""
    not_both_stdin(query, events)
    with _reporting():
        options = given.options()
        matches = _run(read_query(query), known_events(read_input(events), given.roles()), options)
        _warn(matches.warnings)
        shown = matches.show()
        shown.save(out)
        typer.echo(f"{out}: {shown.title}", err=True)


@app.command("why")
@shared_options(*COLUMNS, "plan", "parameters", "jit", last=BUDGETS)
def why_command(
    query: QueryArgument,
    events: EventsArgument,
    *,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row", metavar="NAME=ROW", help="Ask about this event; rows are numbered from 0, repeat for more."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Look at that many events at most. Default: 5,000.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    given: GivenOptions,
) -> None:
    """Say why a query has no match, or why the events of --row are none."""
    not_both_stdin(query, events)
    rows = row_numbers(row or [])
    with _reporting():
        from augury.explain.why_not.answer import why_not_in

        options = given.options().watched()
        source, known = read_query(query), known_events(read_input(events), given.roles(), options.threads)
        told = why_not_in(_run(source, known, options), options, rows=rows, sample=sample)
        typer.echo(json.dumps(told.to_json(), ensure_ascii=False) if as_json else str(told))


@app.command("serve")
@shared_options(*COLUMNS, "parameters", "jit", "loss", last=BUDGETS)
def serve_command(
    events: Annotated[
        str | None,
        typer.Argument(metavar="[EVENTS]", help="Events to ask about, as `match` takes them. Default: the examples."),
    ] = None,
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")] = DEFAULT_PORT,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    given: GivenOptions,
) -> None:
    """Open the playground: a page, on this machine alone, to write queries on and to see what they find."""
    with _reporting():
        options = given.options()
        options = options if options.timeout is not None else replace(options, timeout=PLAYGROUND_SECONDS)
        try:
            from augury.serve.playground import playground_page
            from augury.serve.server import page_server, serve_until_interrupted
        except ModuleNotFoundError as e:
            raise HostError("A705", f"this page needs {e.name}", "pip install 'augury[serve]'") from e
        from augury.serve.examples import bundled_examples
        from augury.serve.subjects import Subject, example_subject

        subjects = [example_subject(example) for example in bundled_examples()]
        if events is not None:
            own = Subject(
                "stdin" if events == STDIN else Path(events).name, {"events": read_input(events)}, given.roles()
            )
            # Errors in the events are reported now.
            own.query(own.language)
            subjects = [own, *subjects]
        server, address = page_server(playground_page(subjects, options), "Augury playground", port)
        typer.echo(f"{address} (Ctrl-C ends it)", err=True)
        if show:
            typer.launch(address)
        serve_until_interrupted(server)


@app.command("check")
@shared_options(*COLUMNS, "parameters")
def check_command(query: QueryArgument, *, schema: SchemaOption = None, given: GivenOptions) -> None:
    """Check a query: its syntax, and with --schema all of it."""
    not_both_stdin(query, schema)
    with _reporting():
        source = read_query(query)
        if schema is None:
            _summary([_written(q) for q in parse(source).queries])
            return
        known = known_columns(read_input(schema), given.roles())
        program = compiled(source, known, given.options())
        if known.scan is not None:
            _warn(type_warnings(program, known.scan.types()))
        _summary(
            [
                f"variables {_names([(v.name, v.negated) for v in q.bound.variables])}; "
                f"key {', '.join(q.rewritten.key) or 'none'}"
                for q in program.queries
            ]
        )


@app.command("explain")
@shared_options(*COLUMNS, "plan", *LAZY_CHAIN, "parameters")
def explain_command(
    query: QueryArgument,
    *,
    schema: SchemaOption = None,
    stage: Annotated[Stage | None, typer.Option("--stage", help="Default: plan with --schema, else syntax.")] = None,
    form: Annotated[Form, typer.Option("--output", help="As text, as a picture, or for other programs.")] = Form.TEXT,
    given: GivenOptions,
) -> None:
    """Show what becomes of a query."""
    not_both_stdin(query, schema)
    if schema is None and stage not in (None, Stage.SYNTAX):
        raise typer.BadParameter(f"stage {stage} needs --schema EVENTS", param_hint="--stage")
    with _reporting():
        from augury.explain.explanation import Explanation, explanation

        source = read_query(query)
        if schema is None:
            program = parse(source)
            told = Explanation(printable(str(program)), Stage.SYNTAX, program.queries)
        else:
            known = known_columns(read_input(schema), given.roles())
            told = explanation(compiled(source, known, given.options()), stage or Stage.PLAN)
        match form:
            case Form.TEXT if told.stage == Stage.SYNTAX:
                print_query(str(told))
            case Form.TEXT:
                typer.echo(str(told))
            case Form.SVG:
                typer.echo(told.to_svg())
            case Form.MERMAID:
                typer.echo(told.to_mermaid(), nl=False)
            case Form.JSON:
                typer.echo(json.dumps(told.to_json(), ensure_ascii=False))
            case _:
                assert_never(form)


@app.command("sql")
@shared_options("jit", "threads", last=SQL_BUDGETS)
def sql_command(
    query: Annotated[
        str, typer.Argument(metavar="FILE", help="A file with one SELECT, the text itself, or - for stdin.")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME=FILE", help="A table of the query: Parquet, CSV, JSON lines or Arrow."),
    ] = None,
    dialect: Annotated[
        str, typer.Option("--dialect", help="The SQL dialect, such as trino, snowflake or oracle.")
    ] = "trino",
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell how the row patterns are run, and run none of them.")
    ] = False,
    *,
    given: GivenOptions,
    output: FormatOption = None,
    out: OutOption = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps", min=1, help="Stop a search that takes more steps at one row. Default: some 20 seconds."
        ),
    ] = None,
) -> None:
    """Print the rows of a SQL query with MATCH_RECOGNIZE in it."""
    format = output or _default_format(out)
    if format is Format.PARQUET and out is None:
        raise typer.BadParameter("parquet needs --out PATH", param_hint="--output")
    tables = named_files(table or [])
    with _reporting():
        from augury.engine.row_patterns import MAX_STEPS
        from augury.hosts.local.sql import explained_sql, run_sql

        options = given.options()
        if explain:
            typer.echo(explained_sql(read_query(query), tables, dialect=dialect, options=options))
            return
        rows = run_sql(read_query(query), tables, dialect=dialect, max_steps=max_steps or MAX_STEPS, options=options)
        if out is None:
            write_text(rows, format, sys.stdout, "row")
            sys.stdout.flush()
        else:
            write_file(rows, format, out, "row")


@app.command("run")
def run_command(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="A TOML file: source, queries, sinks.")],
    master: Annotated[
        str | None, typer.Option("--master", help="The Spark master. Default: as the file says, else local[*].")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not tell progress.")] = False,
    ui: Annotated[
        bool, typer.Option("--ui", help="Show how a stream is doing: on a page of this machine, and on the terminal.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where the page of --ui is; 0 for any port that is free.")
    ] = 0,
) -> None:
    """Run a pipeline on Spark: batch or streaming, to its end or until Ctrl-C."""

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    with _reporting():
        try:
            from augury.spark import read_pipeline, run_pipeline
        except ModuleNotFoundError as e:
            raise HostError("A585", f"pipelines need {e.name}", "pip install 'augury[spark]'") from e
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", AuguryWarning)
            read = read_pipeline(pipeline)
            if ui:
                with _live(pipeline.name, port, say) as (watch, told):
                    run_pipeline(read, master=master, say=told, watch=watch)
            else:
                run_pipeline(read, master=master, say=say)
        _warn(tuple(dict.fromkeys(str(note.message) for note in notes if issubclass(note.category, AuguryWarning))))


@contextmanager
def _live(
    name: str, port: int, say: Callable[[str], None]
) -> Iterator[tuple[Callable[[BatchProgress], None], Callable[[str], None]]]:
    """Show a stream while the context is open; yields a callback for its micro-batches, and one for other messages."""
    try:
        from augury.serve.live import live_view
    except ModuleNotFoundError as e:
        raise HostError("A705", f"this page needs {e.name}", "pip install 'augury[serve]'") from e
    from rich.console import Console

    from augury.cli.live import shown_live

    board = Board()
    with live_view(board, f"Augury: {name}", port) as address:
        typer.echo(address, err=True)
        if not sys.stderr.isatty():
            yield board.tell, say
            return
        with shown_live(board, Console(stderr=True)) as redraw:

            def watch(progress: BatchProgress) -> None:
                board.tell(progress)
                redraw()

            # The table shows what the lines would say.
            yield watch, lambda text: None


@contextmanager
def _reporting() -> Iterator[None]:
    """Print user errors as messages with exit code 1; a closed pipe is not an error."""
    try:
        yield
    except AuguryError as e:
        typer.echo(str(e), err=True)
        raise typer.Exit(1) from e
    except BrokenPipeError as e:
        # Python flushes standard output again at exit, which must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from e


def _warn(texts: tuple[str, ...]) -> None:
    for text in texts:
        typer.echo(printable(f"warning: {text}"), err=True)


def _default_format(out: Path | None) -> Format:
    if out is None:
        return Format.TABLE if sys.stdout.isatty() else Format.JSONL
    return {".parquet": Format.PARQUET, ".csv": Format.CSV}.get(out.suffix.lower(), Format.JSONL)


def _run(source: Source, known: KnownColumns | None, options: Options) -> Matches:
    """The matches of the last query."""
    if known is None:
        return [Matches.nothing() for _ in parse(source).queries][-1]
    return run(known, source, replace(options, progress=sys.stderr.isatty()))[-1]


def _sink(source: Source, known: KnownColumns, options: Options, out: Path) -> None:
    """Write the matches of the last query to a Parquet file as they are found."""
    options = options.watched()
    with within(options.watching), progress_shown(sys.stderr.isatty()) as progress:
        _, warnings = sink(compiled(source, known, options), known, options, out, progress=progress)
    _warn(warnings)


def _summary(queries: list[str]) -> None:
    typer.echo("ok")
    for number, text in enumerate(queries, start=1):
        typer.echo(f"query {number}: {text}" if len(queries) > 1 else text)


def _written(query: syntax.Query) -> str:
    found: dict[str, bool] = {}
    pending: list[tuple[syntax.Part, bool]] = [(query.pattern, False)]
    while pending:
        part, negated = pending.pop(0)
        match part:
            case syntax.Component(variable):
                found.setdefault(variable, negated)
            case syntax.Negation(body):
                pending.insert(0, (body, True))
            case syntax.Group(_, parts):
                pending[:0] = [(p, negated) for p in parts]
    return f"variables {_names(list(found.items()))}"


def _names(variables: list[tuple[str, bool]]) -> str:
    return ", ".join(f"{name} (negated)" if negated else name for name, negated in variables)
