"""Python functions that the caller registers for use in predicates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from augury.errors import HostError
from augury.ir.functions import BUILTINS
from augury.ir.terms import AGGREGATES
from augury.schema import BOOL, FLOAT, INT, STRING, ColumnType

_RESULTS = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STRING}


@dataclass(frozen=True, slots=True)
class Registered:
    """The signature of a registered function; `result` is None if its annotation does not say."""

    name: str
    signature: inspect.Signature | None
    result: ColumnType | None

    def takes(self, count: int) -> bool:
        """Whether the function can be called with `count` arguments."""
        if self.signature is None:
            return True
        try:
            self.signature.bind(*range(count))
        except TypeError:
            return False
        return True


def register(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Registered]:
    """The registered functions under their names in lower case.

    >>> def tax(price: float) -> float:
    ...     return price * 0.2
    >>> register({"Tax": tax})["tax"].result
    ColumnType(kind=<Kind.FLOAT: 'float'>, unit=None, item=None)
    """
    registered: dict[str, Registered] = {}
    for given, function in functions.items():
        name = given.lower()
        if name in BUILTINS or name in AGGREGATES:
            raise HostError("A520", f"the function `{given}` would hide a built-in one", "register it as another name")
        if name in registered:
            raise HostError(
                "A521", f"two functions are registered as `{name}`", "names of functions do not distinguish case"
            )
        signature = _signature(function)
        registered[name] = Registered(given, signature, None if signature is None else _result(signature))
    return registered


def _result(signature: inspect.Signature) -> ColumnType | None:
    annotation = signature.return_annotation
    if annotation in (bool, int, float, str):
        annotation = annotation.__name__
    # Postponed evaluation turns an annotation into text, and one that was text into quoted text.
    return _RESULTS.get(annotation.strip("'\"")) if isinstance(annotation, str) else None


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:
        # Some functions written in C have no signature; the missing annotation is reported instead.
        return None
