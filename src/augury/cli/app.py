"""The commands."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.progress import Progress

import augury
from augury.cli.arguments import (
    named_files,
    not_both_stdin,
    order_columns,
    parameter_values,
    read_input,
    read_loss,
    read_query,
    read_roles,
    read_statistics,
)
from augury.cli.output import Format, print_query, write_file, write_text
from augury.engine.results.matches import Matches
from augury.engine.sources.schemas import KnownColumns, known_columns, known_events
from augury.engine.warnings import type_warnings
from augury.errors import AuguryError, AuguryWarning, HostError
from augury.explain.text import explain_program
from augury.hosts.local.query import compiled, run
from augury.hosts.local.sql import run_sql
from augury.ir import syntax
from augury.lang import parse
from augury.options import NegationName, Options, make_options
from augury.plan import FamilyName
from augury.printable import printable
from augury.source import Source

LONG_INPUT = 20_000
"""Events from which on a terminal shows progress."""

app = typer.Typer(
    help="Find patterns in streams of events.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Stage(StrEnum):
    """What `explain` can show."""

    SYNTAX = "syntax"
    BOUND = "bound"
    REWRITTEN = "rewritten"
    PLAN = "plan"
    KERNEL = "kernel"


QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A query file, the text itself, or - for stdin.")]
EventsArgument = Annotated[
    str,
    typer.Argument(metavar="EVENTS", help="Parquet, CSV, JSON lines or Arrow, or - for JSON lines or CSV on stdin."),
]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", metavar="EVENTS", help="Events to take the columns from.")
]
TimeOption = Annotated[str, typer.Option("--time", help="The time column.")]
TypeOption = Annotated[str, typer.Option("--type", help="The type column.")]
NoTypeOption = Annotated[bool, typer.Option("--no-type", help="The events have no types, whatever their columns.")]
OrderOption = Annotated[list[str] | None, typer.Option("--order-by", help="Columns that order the events, time first.")]
UnitOption = Annotated[str, typer.Option("--time-unit", help="The unit of an integer time: ns, us, ms, s or D.")]
PlanOption = Annotated[str | None, typer.Option("--plan", help="Force an evaluator by name.")]
BindOption = Annotated[
    list[str] | None, typer.Option("--order", metavar="VARIABLES", help="The order in which a lazy chain binds them.")
]
NegationOption = Annotated[
    str | None, typer.Option("--negation", help="When a lazy chain looks for NOTs: post-processing or first-chance.")
]
StatisticsOption = Annotated[
    Path | None,
    typer.Option("--statistics", metavar="FILE", help="Rates and selectivities for the planner, as JSON."),
]
JitOption = Annotated[
    bool | None,
    typer.Option("--jit/--no-jit", help="Compile kernels at once, or never. Default: when it pays."),
]
ParamOption = Annotated[
    list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the query; JSON or a string.")
]
LossOption = Annotated[
    Path | None, typer.Option("--loss", metavar="FILE", help="How events get lost, as JSON, for THRESHOLD.")
]


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
def match_command(
    query: QueryArgument,
    events: EventsArgument,
    time: TimeOption = "ts",
    type: TypeOption = "type",
    no_type: NoTypeOption = False,
    order_by: OrderOption = None,
    time_unit: UnitOption = "s",
    plan: PlanOption = None,
    order: BindOption = None,
    negation: NegationOption = None,
    statistics: StatisticsOption = None,
    param: ParamOption = None,
    jit: JitOption = None,
    loss: LossOption = None,
    output: Annotated[
        Format | None, typer.Option("--output", help="Default: table on a terminal, else jsonl, or as --out ends.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write to a file instead of standard output.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Show that many matches at most.")] = None,
    max_matches: Annotated[int, typer.Option("--max-matches", min=1, help="Refuse larger results.")] = 1_000_000,
    max_partial_matches: Annotated[
        int, typer.Option("--max-partial-matches", min=1, help="Stop when more partial matches wait at a time.")
    ] = 5_000_000,
    max_memory: Annotated[
        str | None,
        typer.Option("--max-memory", metavar="SIZE", help='Such as "2 GB". Default: half of what the machine has.'),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help='Stop after that long, such as "30 seconds".')
    ] = None,
) -> None:
    """Print the matches of a query, of the last one when it holds several."""
    not_both_stdin(query, events)
    format = output or _default_format(out)
    if format is Format.PARQUET and out is None:
        raise typer.BadParameter("parquet needs --out PATH", param_hint="--output")
    parameters = parameter_values(param or [])
    roles = read_roles(time, None if no_type else type, order_by, time_unit)
    with _reporting():
        model = None if loss is None else read_loss(loss)
        options = make_options(
            plan=cast("FamilyName | None", plan),
            order=order_columns(order or []),
            negation=cast("NegationName | None", negation),
            statistics=None if statistics is None else read_statistics(statistics),
            parameters=parameters,
            loss=model,
            max_matches=max_matches,
            max_partial_matches=max_partial_matches,
            max_memory=max_memory,
            timeout=timeout,
            jit=jit,
        )
        matches = _run(read_query(query), known_events(read_input(events), roles), options)
        _warn(matches.warnings)
        shown = matches if limit is None else matches[:limit]
        if out is None:
            write_text(shown.to_arrow(), format, sys.stdout)
            sys.stdout.flush()
        else:
            write_file(shown.to_arrow(), format, out)
        if len(shown) < matches.count():
            typer.echo(f"{matches.count() - len(shown)} more matches not shown (--limit {limit})", err=True)


@app.command("view")
def view_command(
    query: QueryArgument,
    events: EventsArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PAGE", help="The HTML file to write.")],
    time: TimeOption = "ts",
    type: TypeOption = "type",
    no_type: NoTypeOption = False,
    order_by: OrderOption = None,
    time_unit: UnitOption = "s",
    plan: PlanOption = None,
    param: ParamOption = None,
    jit: JitOption = None,
    loss: LossOption = None,
    max_matches: Annotated[int, typer.Option("--max-matches", min=1, help="Refuse larger results.")] = 1_000_000,
) -> None:
    """Draw the matches of a query over their events: one HTML page to look at, without network."""
    not_both_stdin(query, events)
    parameters = parameter_values(param or [])
    roles = read_roles(time, None if no_type else type, order_by, time_unit)
    with _reporting():
        model = None if loss is None else read_loss(loss)
        options = make_options(
            plan=cast("FamilyName | None", plan), parameters=parameters, loss=model, max_matches=max_matches, jit=jit
        )
        matches = _run(read_query(query), known_events(read_input(events), roles), options)
        _warn(matches.warnings)
        shown = matches.show()
        shown.save(out)
        typer.echo(f"{out}: {shown.title}", err=True)


@app.command("check")
def check_command(
    query: QueryArgument,
    schema: SchemaOption = None,
    time: TimeOption = "ts",
    type: TypeOption = "type",
    no_type: NoTypeOption = False,
    order_by: OrderOption = None,
    time_unit: UnitOption = "s",
    param: ParamOption = None,
) -> None:
    """Check a query: its syntax, and with --schema all of it."""
    not_both_stdin(query, schema)
    parameters = parameter_values(param or [])
    with _reporting():
        source = read_query(query)
        if schema is None:
            _summary([_written(q) for q in parse(source).queries])
            return
        known = known_columns(read_input(schema), read_roles(time, None if no_type else type, order_by, time_unit))
        program = compiled(source, known, make_options(parameters=parameters))
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
def explain_command(
    query: QueryArgument,
    schema: SchemaOption = None,
    stage: Annotated[Stage | None, typer.Option("--stage", help="Default: plan with --schema, else syntax.")] = None,
    time: TimeOption = "ts",
    type: TypeOption = "type",
    no_type: NoTypeOption = False,
    order_by: OrderOption = None,
    time_unit: UnitOption = "s",
    plan: PlanOption = None,
    order: BindOption = None,
    negation: NegationOption = None,
    statistics: StatisticsOption = None,
    param: ParamOption = None,
) -> None:
    """Show what becomes of a query."""
    not_both_stdin(query, schema)
    if schema is None and stage not in (None, Stage.SYNTAX):
        raise typer.BadParameter(f"stage {stage} needs --schema EVENTS", param_hint="--stage")
    parameters = parameter_values(param or [])
    with _reporting():
        source = read_query(query)
        if schema is None:
            print_query(printable(str(parse(source))))
            return
        known = known_columns(read_input(schema), read_roles(time, None if no_type else type, order_by, time_unit))
        options = make_options(
            plan=cast("FamilyName | None", plan),
            order=order_columns(order or []),
            negation=cast("NegationName | None", negation),
            statistics=None if statistics is None else read_statistics(statistics),
            parameters=parameters,
        )
        program = compiled(source, known, options)
        text = explain_program(program, stage or Stage.PLAN)
        if stage is Stage.SYNTAX:
            print_query(text)
        else:
            typer.echo(text)


@app.command("sql")
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
    output: Annotated[
        Format | None, typer.Option("--output", help="Default: table on a terminal, else jsonl, or as --out ends.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write to a file instead of standard output.")] = None,
) -> None:
    """Print the rows of a SQL query with MATCH_RECOGNIZE in it."""
    format = output or _default_format(out)
    if format is Format.PARQUET and out is None:
        raise typer.BadParameter("parquet needs --out PATH", param_hint="--output")
    tables = named_files(table or [])
    with _reporting():
        rows = run_sql(read_query(query), tables, dialect=dialect)
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
            run_pipeline(read_pipeline(pipeline), master=master, say=say)
        _warn(tuple(dict.fromkeys(str(note.message) for note in notes if issubclass(note.category, AuguryWarning))))


def main() -> None:
    """The program `augury`."""
    app()


@contextmanager
def _reporting() -> Iterator[None]:
    """What the user got wrong is a message and exit code 1; a reader that went away is not an error."""
    try:
        yield
    except AuguryError as e:
        typer.echo(str(e), err=True)
        raise typer.Exit(1) from e
    except BrokenPipeError as e:
        # Python flushes standard output once more when it ends, which must not fail again.
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
    """The matches of the last query, with a bar for those who wait for them on a terminal."""
    if known is None:
        return [Matches.nothing() for _ in parse(source).queries][-1]
    assert known.scan is not None
    if known.scan.rows <= LONG_INPUT or not sys.stderr.isatty():
        return run(known, source, options)[-1]
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("matching", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return run(known, source, options, progress=progress)[-1]


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
