"""The JSON facts of a saved state, each asked for with the kind that it has to be of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from augury.runtime.checks import inconsistent

T = TypeVar("T")


class Facts:
    """An object of JSON; a fact that is missing, or of another kind than asked for, is a `HostError`."""

    def __init__(self, stated: Any, what: str) -> None:
        if not isinstance(stated, Mapping):
            raise inconsistent(f"{what} does not say what it holds")
        self.stated, self.what = stated, what

    def one(self, name: str, kind: type[T]) -> T:
        """A fact of this kind; a truth is no number.

        >>> Facts({"row": 3}, "the state").one("row", int)
        3
        """
        value = self.stated.get(name)
        if type(value) is not kind:
            raise inconsistent(f"`{name}` of {self.what} is not of the kind it has to be")
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """A fact of this kind, or null."""
        return None if self.stated.get(name) is None else self.one(name, kind)

    def part(self, name: str) -> Facts:
        """An object inside this one."""
        return Facts(self.stated.get(name), f"`{name}` of {self.what}")

    def texts(self, name: str, size: int | None = None) -> tuple[str, ...]:
        """A list of strings, of a certain size if one is given."""
        values = self.one(name, list)
        if not all(isinstance(value, str) for value in values) or size not in (None, len(values)):
            raise inconsistent(f"`{name}` of {self.what} is not of the kind it has to be")
        return tuple(values)
