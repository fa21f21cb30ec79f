"""The tables of a state that is still in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

import pyarrow as pa


class Savable(Protocol):
    """A state that can be written as tables."""

    def to_tables(self) -> dict[str, pa.Table]: ...


class LiveTables(Mapping[str, pa.Table]):
    """The tables of a state that is still in use: written when somebody looks at them, before the next step."""

    def __init__(self, state: Savable, prepare: Callable[[], None]) -> None:
        self.state, self._prepare = state, prepare

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        self._prepare()
        return self.state.to_tables()

    def __getitem__(self, name: str) -> pa.Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)
