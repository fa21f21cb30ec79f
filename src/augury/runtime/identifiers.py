"""Turns names given by users into identifiers of generated code, the same for the emitter and the loader."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_HINT_CHARACTERS = 24
"""Characters of a name that its identifier repeats."""


def identifier(role: str, number: int, hint: str = "") -> str:
    """An identifier for the `number`-th thing of a `role`, which repeats its name as far as that is plain ASCII.

    Role and number alone make it unique. It has no two underscores in a row and none at its end, so that parts may be
    joined by them.

    >>> identifier("v", 0, "a"), identifier("c", 3, "low-speed"), identifier("c", 4, "速度")
    ('v0_a', 'c3_low_speed', 'c4')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", hint[: 4 * MAX_HINT_CHARACTERS])[:MAX_HINT_CHARACTERS].strip("_")
    return f"{role}{number}_{plain}" if plain else f"{role}{number}"


def identifiers(role: str, names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name.

    >>> identifiers("v", ["a", "price drop"])
    {'a': 'v0_a', 'price drop': 'v1_price_drop'}
    """
    return {name: identifier(role, number, name) for number, name in enumerate(names)}


def function_identifiers(calls: Iterable[str]) -> dict[str, str]:
    """The identifiers of registered functions in a kernel, in the order of `functions_of`.

    >>> function_identifiers(["speed", "größe"])
    {'speed': 'f0_speed', 'größe': 'f1_gr_e'}
    """
    return {name: identifier("f", k, name) for k, name in enumerate(calls)}
