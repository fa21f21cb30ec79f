"""How a query is run, as opposed to what it means."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augury import arguments
from augury.budget import Budget, default_memory, memory_size, seconds
from augury.loss import LossModel
from augury.plan.statistics import GivenStatistics, Statistics, StreamStatistics


@dataclass(frozen=True, slots=True)
class Options:
    """Everything a caller may choose; passed explicitly to whoever needs it.

    `plan` forces an evaluator by name, `order` the order in which a lazy one binds the variables, `negation` when it
    looks for negated parts; `statistics` are what the caller knows of the stream. `parameters` give values to the bare
    names of the query, `functions` are Python functions it may call. `max_matches`,
    `max_partial_matches`, `max_memory` (in bytes, None for half of what there is) and `timeout` (in seconds) stop an
    explosion with an error; `budget` is what watches the last two while the query runs. With `jit` off a kernel runs as
    the plain Python it is written in, with None until that takes long; `cache_dir` keeps compiled ones. `merge` lets
    the planner merge equivalent runs, `counters` makes kernels count what they do, `compressed` lets matches share
    their events until they are looked at.
    """

    plan: str | None = None
    order: tuple[str, ...] | None = None
    negation: str | None = None
    statistics: Statistics | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    loss: LossModel | None = None
    max_matches: int = 1_000_000
    max_partial_matches: int = 5_000_000
    max_memory: int | None = None
    timeout: float | None = None
    jit: bool | None = None
    cache_dir: Path | None = None
    merge: bool = True
    counters: bool = False
    compressed: bool = False
    budget: Budget | None = field(default=None, compare=False, repr=False)

    def with_budget(self) -> Options:
        """These options with a budget, a new one unless they have one."""
        return self if self.budget is not None else self.watched()

    def watched(self, slots: int = 1) -> Options:
        """These options with a budget of which nothing is used, for a call or for a stream.

        Of `slots` processes that share the memory it gets one part.
        """
        memory = default_memory() if self.max_memory is None else self.max_memory
        return replace(self, budget=Budget(max(1, memory // slots), self.timeout))

    @property
    def callables(self) -> dict[str, Callable[..., Any]]:
        """The functions by the names that bound queries call them by, which are in lower case.

        >>> Options(functions={"Score": abs}).callables
        {'score': <built-in function abs>}
        """
        return {name.lower(): function for name, function in self.functions.items()}


def make_options(
    *,
    plan: str | None = None,
    order: Iterable[str] | None = None,
    negation: str | None = None,
    statistics: Mapping[str, Any] | StreamStatistics | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    loss: LossModel | None = None,
    max_matches: int = 1_000_000,
    max_partial_matches: int = 5_000_000,
    max_memory: int | str | None = None,
    timeout: float | str | dt.timedelta | None = None,
    jit: bool | None = None,
    merge: bool = True,
    counters: bool = False,
    compressed: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Options:
    """The options of a call, checked."""
    return Options(
        plan=arguments.optional_text("plan", plan, wanted="the name of a plan"),
        order=None if order is None else arguments.texts("order", order, "the name of a variable"),
        negation=arguments.optional_text("negation", negation),
        statistics=_statistics(statistics),
        parameters=arguments.mapping("parameters", parameters, "a dict of values by name"),
        functions=arguments.callables("functions", functions),
        loss=arguments.optional("loss", loss, LossModel, "a LossModel"),
        max_matches=arguments.limit("max_matches", max_matches),
        max_partial_matches=arguments.limit("max_partial_matches", max_partial_matches),
        max_memory=None if max_memory is None else memory_size(max_memory),
        timeout=None if timeout is None else seconds(timeout),
        jit=arguments.optional_flag("jit", jit),
        cache_dir=arguments.optional_path("cache_dir", cache_dir),
        merge=arguments.flag("merge", merge),
        counters=arguments.flag("counters", counters),
        compressed=arguments.flag("compressed", compressed),
    )


def _statistics(stated: Mapping[str, Any] | StreamStatistics | None) -> Statistics | None:
    return stated if stated is None or isinstance(stated, StreamStatistics) else GivenStatistics.of(stated)
