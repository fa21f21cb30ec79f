"""How a query is run, as opposed to what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from augury.loss import LossModel


@dataclass(frozen=True, slots=True)
class Options:
    """Everything a caller may choose; passed explicitly to whoever needs it.

    `plan` forces an evaluator by name. `parameters` give values to the bare names of the query, `functions` are Python
    functions it may call. `max_matches` and `max_partial_matches` stop an explosion with an error.
    """

    plan: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    loss: LossModel | None = None
    max_matches: int = 1_000_000
    max_partial_matches: int = 20_000_000

    @property
    def callables(self) -> dict[str, Callable[..., Any]]:
        """The functions by the names that bound queries call them by, which are in lower case.

        >>> Options(functions={"Score": abs}).callables
        {'score': <built-in function abs>}
        """
        return {name.lower(): function for name, function in self.functions.items()}
