"""Typed access to the JSON facts of a saved state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from augury.runtime.checks import inconsistent

T = TypeVar("T")


class Facts:
    """A JSON object whose values are read by name and type; a missing value or another type is a `HostError`."""

    def __init__(self, stated: Any, what: str) -> None:
        if not isinstance(stated, Mapping):
            raise inconsistent(f"{what} does not say what it holds")
        self.stated, self.what = stated, what

    def one(self, name: str, kind: type[T]) -> T:
        """The value of this type; a boolean does not count as an integer.

        >>> Facts({"row": 3}, "the state").one("row", int)
        3
        """
        value = self.stated.get(name)
        if type(value) is not kind:
            raise inconsistent(f"`{name}` of {self.what} is not of the kind it has to be")
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """The value of this type, or None for null."""
        return None if self.stated.get(name) is None else self.one(name, kind)

    def part(self, name: str) -> Facts:
        """A nested object."""
        return Facts(self.stated.get(name), f"`{name}` of {self.what}")

    def texts(self, name: str, size: int | None = None) -> tuple[str, ...]:
        """A list of strings, of this size if one is given."""
        values = self.one(name, list)
        if not all(isinstance(value, str) for value in values) or size not in (None, len(values)):
            raise inconsistent(f"`{name}` of {self.what} is not of the kind it has to be")
        return tuple(values)
