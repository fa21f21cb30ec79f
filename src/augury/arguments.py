"""Checks for the arguments of public functions: a wrong value is an error that names the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from augury.errors import HostError

MAX_VALUE_CHARACTERS = 60
"""Characters of a wrong value that a message shows."""

Known = TypeVar("Known")


def shown(value: object) -> str:
    """A value as a message shows it: short, on one line, and without asking objects of other kinds for their text.

    >>> shown("5"), shown(None), shown([1]), shown(10**5000)
    ("'5'", 'None', 'a list', 'an integer of 16610 bits')
    """
    match value:
        case None | bool():
            return repr(value)
        case int() if value.bit_length() > 64:
            return f"an integer of {value.bit_length()} bits"
        case int() | float() | str() | bytes():
            text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
            return text if len(text) <= MAX_VALUE_CHARACTERS else text[:MAX_VALUE_CHARACTERS] + "…"
        case type():
            return f"the class {value.__name__}"
        case _:
            name = type(value).__name__
            return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def unusable(name: str, wanted: str, given: object, help: str = "") -> HostError:
    """The error for an argument of the wrong kind."""
    return HostError("A610", f"the argument `{name}` is {wanted}, not {shown(given)}", help)


def text(name: str, given: Any, help: str = "", *, wanted: str = "a string") -> str:
    """A string that can be written down: a lone surrogate has no encoding.

    >>> text("time", "ts")
    'ts'
    """
    if not isinstance(given, str):
        raise unusable(name, wanted, given, help)
    if not encodable(given):
        raise unusable(name, "text that UTF-8 can encode", given, help)
    return str(given)


def encodable(given: str) -> bool:
    """Whether text can be written as UTF-8, which lone surrogates cannot.

    >>> encodable("é"), encodable("\\ud800")
    (True, False)
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def optional_text(name: str, given: Any, help: str = "", *, wanted: str = "a string") -> str | None:
    """A string, or None for none."""
    return None if given is None else text(name, given, help, wanted=f"{wanted} or None")


def texts(name: str, given: Any, wanted: str) -> tuple[str, ...]:
    """The names in an argument that is one name or several.

    >>> texts("order_by", "ts", "the name of a column"), texts("order_by", ["ts", "n"], "the name of a column")
    (('ts',), ('ts', 'n'))
    """
    wanted = f"{wanted} or a list of such names"
    if isinstance(given, str):
        return (text(name, given),)
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise unusable(name, wanted, given)
    return tuple(text(f"{name}[{k}]", item, wanted="a string") for k, item in enumerate(given))


def flag(name: str, given: Any) -> bool:
    """True or False."""
    if not isinstance(given, bool | np.bool_):
        raise unusable(name, "True or False", given)
    return bool(given)


def optional_flag(name: str, given: Any) -> bool | None:
    """True, False or None."""
    if given is not None and not isinstance(given, bool | np.bool_):
        raise unusable(name, "True, False or None", given)
    return None if given is None else bool(given)


def whole(given: Any) -> int | None:
    """An integer of Python or NumPy, or None for anything else; booleans are none.

    >>> whole(np.int32(5)), whole(True), whole("5")
    (5, None, None)
    """
    if isinstance(given, bool | np.bool_ | np.ndarray):
        return None
    try:
        return operator.index(given)
    except TypeError:
        return None


def limit(name: str, given: Any) -> int:
    """A positive integer that fits 64 bits."""
    number = whole(given)
    if number is None or not 1 <= number < 2**63:
        raise HostError("A522", f"{name} is a positive integer, not {shown(given)}")
    return number


def count(name: str, given: Any, wanted: str = "a number that is not negative") -> int:
    """An integer that is not negative."""
    number = whole(given)
    if number is None or number < 0:
        raise unusable(name, wanted, given)
    return number


def mapping(name: str, given: Any, wanted: str) -> dict[str, Any]:
    """A mapping with strings as keys; None is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise unusable(name, wanted, given)
    return {text(f"a name in {name}", key, wanted="a string"): value for key, value in given.items()}


def callables(name: str, given: Any) -> dict[str, Callable[..., Any]]:
    """Functions by name; None is an empty mapping."""
    functions = mapping(name, given, "a dict of functions by name")
    for key, function in functions.items():
        if not callable(function):
            raise unusable(f"{name}[{shown(key)}]", "a function", function)
    return functions


def optional(name: str, given: Any, kind: type[Known], wanted: str) -> Known | None:
    """A value of one class, or None."""
    if given is not None and not isinstance(given, kind):
        raise unusable(name, f"{wanted} or None", given)
    return given


def optional_path(name: str, given: Any) -> Path | None:
    """A path of the file system, or None."""
    return None if given is None else path(name, given)


def path(name: str, given: Any) -> Path:
    """A path of the file system."""
    if not isinstance(given, str | os.PathLike):
        raise unusable(name, "a path", given)
    written = os.fspath(given)
    if not isinstance(written, str) or "\0" in written:
        raise unusable(name, "a path without NUL characters", given)
    return Path(written)
