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

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The folder has the name of a function, whose place it would take if it were loaded later.
import augury.explain as _explain_folder  # noqa: F401

del globals()["explain"]

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from augury.engine.loss.calibration import Calibration, Decile, calibration
    from augury.engine.results.matches import Match, Matches
    from augury.engine.rules.results import RuleMatches
    from augury.engine.rules.table import Rule
    from augury.engine.sources.events import Events
    from augury.engine.sources.schemas import Schema
    from augury.errors import (
        AuguryError,
        AuguryWarning,
        BudgetExceeded,
        HostError,
        NotEnoughMemory,
        QueryError,
        TooManyMatches,
        UnsupportedPlan,
    )
    from augury.explain.explanation import Explanation
    from augury.explain.why_not.result import FailedCondition, NearMiss, Step, WhyNot
    from augury.hosts.local.explained import explain, parse, why_not
    from augury.hosts.local.match import match, match_all
    from augury.hosts.local.matcher import Matcher
    from augury.hosts.local.query import Query, QueryText, compile
    from augury.hosts.local.rules import Rules, RuleStream
    from augury.hosts.local.sql import SqlResult, explain_sql, sql
    from augury.ir.syntax import Program
    from augury.loss import Empirical, Exponential, Gamma, LossModel, Normal, Uniform
    from augury.options import Lateness, MatchOptions, NegationName, StageName, TimeUnit
    from augury.plan import FamilyName, StreamStatistics
    from augury.planner.draw.diagram import Diagram
    from augury.schema import EventSchema
    from augury.view.page import Page

__version__ = "0.1.0"

__all__ = [
    "AuguryError",
    "AuguryWarning",
    "BudgetExceeded",
    "Calibration",
    "Decile",
    "Diagram",
    "Empirical",
    "EventSchema",
    "Events",
    "Explanation",
    "Exponential",
    "FailedCondition",
    "FamilyName",
    "Gamma",
    "HostError",
    "Lateness",
    "LossModel",
    "Match",
    "MatchOptions",
    "Matcher",
    "Matches",
    "NearMiss",
    "NegationName",
    "Normal",
    "NotEnoughMemory",
    "Page",
    "Program",
    "Query",
    "QueryError",
    "QueryText",
    "Rule",
    "RuleMatches",
    "RuleStream",
    "Rules",
    "Schema",
    "SqlResult",
    "StageName",
    "Step",
    "StreamStatistics",
    "TimeUnit",
    "TooManyMatches",
    "Uniform",
    "UnsupportedPlan",
    "WhyNot",
    "__version__",
    "calibration",
    "compile",
    "explain",
    "explain_sql",
    "match",
    "match_all",
    "parse",
    "sql",
    "why_not",
]


_MODULES = {
    "Calibration": "augury.engine.loss.calibration",
    "Decile": "augury.engine.loss.calibration",
    "calibration": "augury.engine.loss.calibration",
    "Match": "augury.engine.results.matches",
    "Matches": "augury.engine.results.matches",
    "Events": "augury.engine.sources.events",
    "Schema": "augury.engine.sources.schemas",
    "AuguryError": "augury.errors",
    "AuguryWarning": "augury.errors",
    "BudgetExceeded": "augury.errors",
    "HostError": "augury.errors",
    "NotEnoughMemory": "augury.errors",
    "QueryError": "augury.errors",
    "TooManyMatches": "augury.errors",
    "UnsupportedPlan": "augury.errors",
    "Diagram": "augury.planner.draw.diagram",
    "Explanation": "augury.explain.explanation",
    "FailedCondition": "augury.explain.why_not.result",
    "NearMiss": "augury.explain.why_not.result",
    "Step": "augury.explain.why_not.result",
    "WhyNot": "augury.explain.why_not.result",
    "explain": "augury.hosts.local.explained",
    "parse": "augury.hosts.local.explained",
    "why_not": "augury.hosts.local.explained",
    "match": "augury.hosts.local.match",
    "match_all": "augury.hosts.local.match",
    "Matcher": "augury.hosts.local.matcher",
    "Query": "augury.hosts.local.query",
    "QueryText": "augury.hosts.local.query",
    "compile": "augury.hosts.local.query",
    "Rule": "augury.engine.rules.table",
    "RuleMatches": "augury.engine.rules.results",
    "RuleStream": "augury.hosts.local.rules",
    "Rules": "augury.hosts.local.rules",
    "SqlResult": "augury.hosts.local.sql",
    "explain_sql": "augury.hosts.local.sql",
    "sql": "augury.hosts.local.sql",
    "Program": "augury.ir.syntax",
    "Empirical": "augury.loss",
    "Exponential": "augury.loss",
    "Gamma": "augury.loss",
    "LossModel": "augury.loss",
    "Normal": "augury.loss",
    "Uniform": "augury.loss",
    "Lateness": "augury.options",
    "MatchOptions": "augury.options",
    "NegationName": "augury.options",
    "StageName": "augury.options",
    "TimeUnit": "augury.options",
    "FamilyName": "augury.plan",
    "StreamStatistics": "augury.plan",
    "EventSchema": "augury.schema",
    "Page": "augury.view.page",
}
"""Where each public name is defined; its module is loaded when the name is first asked for."""


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext augury` in a notebook: brings the cell magics `%%augury` and `%%match_recognize`."""
    from augury.notebook import register

    register(shell)
