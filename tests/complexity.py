"""How much work something is, told by counting: seconds depend on the machine and on who else uses it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(function: Callable[[], Any]) -> int:
    """How many functions, those written in C included, are called while `function` runs.

    >>> calls_of(lambda: [abs(x) for x in range(100)]) >= 100
    True
    """
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls
