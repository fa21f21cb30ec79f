"""Complex event processing: find patterns in streams of events.

>>> import augury
>>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
>>> augury.match(events, "PATTERN SEQ(A a, B b) WITHIN 1 minute")
1 match
start  end  a            b
-----  ---  -----------  -----------
1      2    ts=1 type=A  ts=2 type=B
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from augury.arguments import text as _text
from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.loss.calibration import Calibration, Decile, calibration
from augury.engine.results.matches import Match, Matches
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import Schema, known_columns
from augury.errors import (
    AuguryError,
    AuguryWarning,
    BudgetExceeded,
    HostError,
    QueryError,
    TooManyMatches,
    UnsupportedPlan,
)
from augury.explain.text import STAGES as _STAGES
from augury.explain.text import explain_program, explain_text, unknown_stage
from augury.hosts.local.match import match, match_all
from augury.hosts.local.matcher import Matcher
from augury.hosts.local.sql import SqlResult, sql
from augury.ir import syntax
from augury.lang import parse as _parse
from augury.loss import Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.options import make_options
from augury.printable import printable
from augury.schema import EventSchema

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from IPython.core.interactiveshell import InteractiveShell

    from augury.plan import StreamStatistics

__version__ = "0.1.0"

__all__ = [
    "AuguryError",
    "AuguryWarning",
    "BudgetExceeded",
    "Calibration",
    "Decile",
    "Empirical",
    "EventSchema",
    "Exponential",
    "Gamma",
    "HostError",
    "LossModel",
    "Match",
    "Matcher",
    "Matches",
    "Normal",
    "QueryError",
    "SqlResult",
    "TooManyMatches",
    "Uniform",
    "UnsupportedPlan",
    "__version__",
    "calibration",
    "compile",
    "explain",
    "match",
    "match_all",
    "parse",
    "sql",
]


def parse(text: str | os.PathLike[str]) -> syntax.Program:
    """The queries of a text, or of a file given as a `Path`, as a tree; only syntax is checked."""
    return _parse(query_source(text))


def compile(
    query: str | os.PathLike[str],
    schema: Schema,
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    plan: str | None = None,
    order: Iterable[str] | None = None,
    negation: str | None = None,
    statistics: Mapping[str, Any] | StreamStatistics | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    loss: LossModel | None = None,
    max_matches: int = 1_000_000,
    max_partial_matches: int = 5_000_000,
    max_memory: int | str | None = None,
    timeout: float | str | dt.timedelta | None = None,
    jit: bool | None = None,
    merge: bool = True,
    counters: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> CompiledProgram:
    """Take a query through every stage, for events of these columns.

    `schema` is an Arrow schema, an `EventSchema`, or events as `match` takes them: then the plan is the one that
    it would choose for them.
    """
    known = known_columns(schema, time, type, order_by, time_unit)
    options = make_options(
        plan=plan,
        order=order,
        negation=negation,
        statistics=statistics,
        parameters=parameters,
        functions=functions,
        loss=loss,
        max_matches=max_matches,
        max_partial_matches=max_partial_matches,
        max_memory=max_memory,
        timeout=timeout,
        jit=jit,
        merge=merge,
        counters=counters,
        cache_dir=cache_dir,
    )
    options = options.watched()
    assert options.budget is not None
    with within(options.budget):
        return compile_program(query_source(query), known.schema, options, measure=known.measure())


def explain(
    query: str | os.PathLike[str] | Matches,
    schema: Schema | None = None,
    *,
    stage: str = "plan",
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    plan: str | None = None,
    order: Iterable[str] | None = None,
    negation: str | None = None,
    statistics: Mapping[str, Any] | StreamStatistics | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    loss: LossModel | None = None,
    max_matches: int = 1_000_000,
    max_partial_matches: int = 5_000_000,
    max_memory: int | str | None = None,
    timeout: float | str | dt.timedelta | None = None,
    jit: bool | None = None,
    merge: bool = True,
    counters: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> str:
    """What became of a query: its "syntax", "bound", "rewritten", "plan" or "kernel" stage.

    Only the first can be told without a schema, which is what `compile` takes: Arrow's, an `EventSchema`, or events.
    The other arguments are those of `match`. Of matches it tells how they were found: by which plan, and with
    `counters` how many partial matches there were beside those that were expected.

    >>> print(explain("pattern sequence(A a, B b) within 90 seconds", stage="syntax"))
    PATTERN   SEQ(A a, B b)
    WITHIN    90 seconds
    """
    if _text("stage", stage) not in _STAGES:
        raise unknown_stage(stage)
    if isinstance(query, Matches) and query.compiled is not None:
        return explain_text(query.compiled, stage, query.counters)
    if stage == "syntax" and not isinstance(query, Matches):
        return printable(str(parse(query)))
    if schema is None or isinstance(query, Matches):
        raise HostError("A524", f"stage `{stage}` depends on the columns of the events", "give a schema, or the events")
    compiled = compile(
        query,
        schema,
        time=time,
        type=type,
        order_by=order_by,
        time_unit=time_unit,
        plan=plan,
        order=order,
        negation=negation,
        statistics=statistics,
        parameters=parameters,
        functions=functions,
        loss=loss,
        max_matches=max_matches,
        max_partial_matches=max_partial_matches,
        max_memory=max_memory,
        timeout=timeout,
        jit=jit,
        merge=merge,
        counters=counters,
        cache_dir=cache_dir,
    )
    return explain_program(compiled, stage)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext augury` in a notebook: brings the cell magic `%%augury`."""
    from augury.notebook import register

    register(shell)
