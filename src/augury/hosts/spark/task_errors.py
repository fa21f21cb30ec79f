"""Errors that were raised in Python tasks, as their user should see them: without the traces of two languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from augury.errors import HostError

OWN = re.compile(r"error\[(A\d{3})\]: ((?:(?!\n\S*Error|\nTraceback|\n\tat |\n$| SQLSTATE).)*)", re.DOTALL)
"""An error of Augury inside of what Spark reports."""

ACTIONS = (
    *("collect", "toArrow", "toPandas", "toLocalIterator", "count", "show", "head", "first", "take", "tail"),
    # In place of toArrow, which Spark 3.5 lacks: `releases.collected` calls it there.
    "_collect_as_arrow",
)
"""Methods of a frame that compute it."""


def error_text(error: PySparkException | Py4JJavaError) -> str:
    """All that Spark says about an error."""
    return str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)


def own_error(error: PySparkException | Py4JJavaError) -> HostError | None:
    """The error that Augury raised in a task, with its code, place and help; None if it was not Augury's."""
    found = OWN.search(error_text(error))
    return None if found is None else HostError(found[1], found[2].strip())


def with_own_errors(frame: DataFrame) -> DataFrame:
    """The frame, whose own actions raise errors of Augury as such; a frame that is made of it says them in Spark's."""
    for name in ACTIONS:
        action = getattr(frame, name, None)
        if action is not None:
            setattr(frame, name, _telling(action))
    return frame


def _telling(action: Callable[..., Any]) -> Callable[..., Any]:
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
