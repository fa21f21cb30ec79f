"""Amounts of memory and time, as users write them and as messages show them."""

from __future__ import annotations

import datetime as dt
import math
import re

from augury.arguments import shown
from augury.errors import HostError

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
"""Bytes of the units that sizes are written in."""


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that it fills, for messages.

    >>> size_text(512), size_text(2_000_000_000), size_text(11_800_000_000)
    ('512 B', '2 GB', '11.8 GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{size} B"


def memory_size(given: int | str) -> int:
    """The bytes of a size, given as a number or as text.

    >>> memory_size(1024), memory_size("2 GB"), memory_size("1.5 GiB")
    (1024, 2000000000, 1610612736)
    """
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)?\s*", given, re.I) if isinstance(given, str) else None
    wanted = 0.0 if written is None else float(written[1]) * UNITS.get((written[2] or "B").upper(), 0)
    size = int(wanted) if wanted < 2.0**63 else 0
    if size <= 0:
        raise HostError(
            "A600",
            f"not a budget: max_memory={shown(given)}, which is a number of bytes or a text such as '2 GB'",
        )
    return size


def seconds(given: float | str | dt.timedelta) -> float:
    """The seconds of a timeout, given as a number, a timedelta or text.

    >>> seconds(1.5), seconds(dt.timedelta(minutes=1)), seconds("30 seconds"), seconds("2 min")
    (1.5, 60.0, 30.0, 120.0)
    """
    found: float | None = None
    match given:
        case dt.timedelta():
            found = given.total_seconds()
        case bool():
            pass
        case float():
            found = given
        case int():
            found = float(given) if given < 2**63 else None
        case str():
            written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", given, re.I)
            unit = None if written is None else _SECONDS.get(written[2].lower() or "s")
            if written is not None and unit is not None:
                found = float(written[1]) * unit
        case _:
            pass
    if found is None or not 0 < found < math.inf:
        raise HostError(
            "A600",
            f"not a budget: timeout={shown(given)}, which is seconds, a timedelta or a text such as '30 seconds'",
        )
    return found


_SECONDS = {
    name: unit
    for unit, names in {
        0.001: ("ms", "millisecond", "milliseconds"),
        1.0: ("s", "sec", "second", "seconds"),
        60.0: ("m", "min", "minute", "minutes"),
        3600.0: ("h", "hour", "hours"),
    }.items()
    for name in names
}
"""Seconds in each unit that a timeout may be written in."""
