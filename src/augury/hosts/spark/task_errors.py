"""Errors raised in Python tasks, reported without Java and Python traces."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from augury.errors import HostError

OWN_ERROR = re.compile(r"error\[(A\d{3})\]: ((?:(?!\n\S*Error|\nTraceback|\n\tat |\n$| SQLSTATE).)*)", re.DOTALL)
"""Matches an error of Augury in a report of Spark."""

ACTIONS = (
    *("collect", "toArrow", "toPandas", "toLocalIterator", "count", "show", "head", "first", "take", "tail"),
    # Replaces toArrow, which Spark 3.5 lacks: `releases.collected` calls it there.
    "_collect_as_arrow",
)
"""Methods that compute a frame."""


def error_text(error: PySparkException | Py4JJavaError) -> str:
    """The full text of an error of Spark."""
    return str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)


def own_error(error: PySparkException | Py4JJavaError) -> HostError | None:
    """The error that Augury raised in a task, with its code, place and help; None for other errors."""
    found = OWN_ERROR.search(error_text(error))
    return None if found is None else HostError(found[1], found[2].strip())


def with_own_errors(frame: DataFrame) -> DataFrame:
    """The frame with actions that raise Augury's own errors; frames derived from it raise Spark's."""
    for name in ACTIONS:
        action = getattr(frame, name, None)
        if action is not None:
            setattr(frame, name, _with_own_errors(action))
    return frame


def _with_own_errors(action: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(action)
    def tell(*args: Any, **options: Any) -> Any:
        try:
            return action(*args, **options)
        except (PySparkException, Py4JJavaError) as e:
            own = own_error(e)
            if own is None:
                raise
            raise own from e

    return tell
