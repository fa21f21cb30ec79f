"""The arrays of a kernel, allocated and grown as their table says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from types import MappingProxyType
from typing import Any

from augury.budget import Account
from augury.runtime.arrays import Array, ArraySpec


class ArrayPool(dict[str, Array]):
    """Arrays by name; `specs` says what each is, in the order that generated functions take them.

    There is room for `sizes` of each owner, such as runs or nodes. What they take is charged to `memory`, under the
    account of each array or else that of all.

    >>> pool = ArrayPool((ArraySpec("run_state", owner="runs"), ArraySpec("free", more=2)), {"runs": 4}, "runs")
    >>> pool.reserve("runs", 5)
    >>> {name: len(array) for name, array in pool.items()}
    {'run_state': 8, 'free': 2}
    """

    def __init__(
        self,
        specs: tuple[ArraySpec, ...],
        sizes: Mapping[str, int],
        account: str,
        memory: Account | None = None,
        given: Mapping[str, Array] = MappingProxyType({}),
    ) -> None:
        """The arrays `given` are there already, and do not grow."""
        self.specs, self.sizes, self.account, self.memory = specs, dict(sizes), account, memory
        self._owned: dict[str, list[ArraySpec]] = {}
        super().__init__(given)
        for spec in specs:
            if spec.name not in given:
                self[spec.name] = spec.allocate(self.sizes[spec.owner] if spec.owner else 0)

    @property
    def arguments(self) -> list[Array]:
        """The arrays in the order of the arguments."""
        return [self[spec.name] for spec in self.specs]

    def taken_by(self, function: Callable[..., Any]) -> list[Array]:
        """The arrays that a function of the native library takes, told by the names of its parameters."""
        return [self[name] for name in _parameters(function) if name in self]

    def of(self, owner: str) -> list[ArraySpec]:
        """The arrays with a cell for each run, node, ..."""
        if owner not in self._owned:
            self._owned[owner] = [spec for spec in self.specs if spec.owner == owner]
        return self._owned[owner]

    def room(self, owner: str) -> int:
        """The capacity: the number of runs, nodes, ... there is room for."""
        return self.sizes[owner]

    def reserve(self, owner: str, least: int) -> None:
        """Ensure room for `least` runs, nodes, ...; where there is not, make it for twice as many as before."""
        if least > self.room(owner):
            self.resize(owner, max(2 * self.room(owner), least))

    def grow(self, owner: str, least: int) -> None:
        """Enlarge the room by at least `least`, and to twice as many as before."""
        self.reserve(owner, self.room(owner) + max(1, least))

    def resize(self, owner: str, size: int) -> None:
        """Enlarge the room to `size`, no less than before; the old arrays are kept until the new ones are filled."""
        if self.memory is not None:
            self.memory.hold(self.account, sum(array.nbytes for array in self.values()))
            claims: dict[str, int] = {}
            for spec in self.of(owner):
                account = spec.account or self.account
                claims[account] = claims.get(account, 0) + math.prod(spec.shape(size)) * spec.dtype.itemsize
            for account, more in claims.items():
                self.memory.claim(account, more)
        for spec in self.of(owner):
            self[spec.name] = spec.grown(self[spec.name], size)
        self.sizes[owner] = size

    def take(self, owner: str, kept: Array, size: int) -> None:
        """Keep only the cells `kept` of each array of an owner, in that order, with room for `size`."""
        for spec in self.of(owner):
            self[spec.name] = spec.grown(self[spec.name][..., kept] if spec.rows else self[spec.name][kept], size)
        self.sizes[owner] = size


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(function).parameters)
