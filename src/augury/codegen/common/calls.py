"""Calls of functions of the native library in generated text."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any


def call(function: Callable[..., Any], *first: str) -> str:
    """The text of a call: the first arguments as given, the others, arrays, by the names of the parameters.

    >>> from augury.native.queues import earlier_rank
    >>> call(earlier_rank, "2")
    'earlier_rank(2, rank, path_event)'
    """
    others = list(signature(function).parameters)[len(first) :]
    return f"{function.__name__}({', '.join((*first, *others))})"
