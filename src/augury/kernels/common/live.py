"""The tables of a state that is still in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Protocol, TypeVar

import pyarrow as pa

from augury.errors import HostError
from augury.runtime.state import RunState


class Savable(Protocol):
    """A state that can be written as tables; after an error halfway through a step it is `broken`."""

    broken: bool

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


S = TypeVar("S", bound=Savable)


def in_use(state: RunState, kind: type[S], family: str, version: int) -> S | None:
    """The state behind `state` if it is still in use, None if it has been saved and is to be restored.

    A state that cannot be continued is a `HostError`.
    """
    if isinstance(state.tables, LiveTables):
        live = state.tables.state
        assert isinstance(live, kind)
        if live.broken:
            raise HostError("A549", "an error interrupted this state, which cannot be continued", "restore a saved one")
        return live
    if (state.family, state.version) != (family, version):
        raise HostError(
            "A548", f"a state of `{state.family}` version {state.version} cannot be continued by `{family}`"
        )
    return None
