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

from typing import TYPE_CHECKING, Unpack

from augury.arguments import text as _text
from augury.engine.loss.calibration import Calibration, Decile, calibration
from augury.engine.results.matches import Match, Matches
from augury.engine.sources.events import Events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import Schema
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
from augury.explain.text import explain_text, unknown_stage
from augury.hosts.local.match import match, match_all
from augury.hosts.local.matcher import Matcher
from augury.hosts.local.query import Query, QueryText, compile
from augury.hosts.local.sql import SqlResult, sql
from augury.ir.syntax import Program
from augury.lang import parse as _parse
from augury.loss import Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.options import Lateness, MatchOptions, NegationName, StageName, TimeUnit
from augury.plan import FamilyName, StreamStatistics
from augury.printable import printable
from augury.schema import EventSchema
from augury.view.page import Page

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

__all__ = [
    "AuguryError",
    "AuguryWarning",
    "BudgetExceeded",
    "Calibration",
    "Decile",
    "Empirical",
    "EventSchema",
    "Events",
    "Exponential",
    "FamilyName",
    "Gamma",
    "HostError",
    "Lateness",
    "LossModel",
    "Match",
    "MatchOptions",
    "Matcher",
    "Matches",
    "NegationName",
    "Normal",
    "Page",
    "Program",
    "Query",
    "QueryError",
    "QueryText",
    "Schema",
    "SqlResult",
    "StageName",
    "StreamStatistics",
    "TimeUnit",
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


def parse(text: QueryText) -> Program:
    """The queries of a text, or of a file given as a `Path`, as a tree; only syntax is checked."""
    return _parse(query_source(text))


def explain(
    query: QueryText | Matches,
    schema: Schema | None = None,
    *,
    stage: StageName = "plan",
    **options: Unpack[MatchOptions],
) -> str:
    """What became of a query: its "syntax", "bound", "rewritten", "plan" or "kernel" stage.

    The arguments are those of `compile`; only the syntax can be told without a schema. Of matches it tells how they
    were found: by which plan, and with `counters` how many partial matches there were beside those that were expected.

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
    return compile(query, schema, **options).explain(stage)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext augury` in a notebook: brings the cell magic `%%augury`."""
    from augury.notebook import register

    register(shell)
