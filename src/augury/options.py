"""Options of how a query is run: one TypedDict for callers, frozen forms of it inside."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, cast

from augury import arguments
from augury.budget import Budget
from augury.budget.amounts import memory_size, seconds
from augury.budget.machine import default_memory
from augury.errors import HostError, suggestion
from augury.loss import LossModel
from augury.plan.family import FamilyName
from augury.plan.statistics import GivenStatistics, Statistics, StreamStatistics
from augury.schema import A_COLUMN
from augury.timing import UNTIMED, Clock, Stopwatch

NegationName: TypeAlias = Literal["post-processing", "first-chance"]
"""When a lazy chain looks for negated parts; the values of `plan.Negation`."""

TimeUnit: TypeAlias = Literal["ns", "us", "ms", "s", "D"]
"""The length of one tick of an integer time column; the names in `schema.UNITS`."""

StageName: TypeAlias = Literal["syntax", "bound", "rewritten", "plan", "kernel"]
"""The stages of a query that can be explained, in the order of the compiler."""

Lateness: TypeAlias = str | dt.timedelta | int
"""How late an event may come: such as "10 minutes", a timedelta, or ticks of the time column."""


Progress: TypeAlias = Callable[[int, int], None]
"""A function that is called with the number of events matched so far, and the number of those that can matter."""


class MatchOptions(TypedDict, total=False):
    """The options of `match`, `compile`, `explain`, `Matcher` and of the functions of `augury.spark`; none is required.

    Columns of the events:

    - `time` names the time column ("ts"), `type` the type column ("type", or None where events have no types);
      `order_by` the columns that order the events, time first (default: the time alone);
    - `time_unit` is what one tick of an integer time column is: "ns", "us", "ms", "s" (the default) or "D".

    What the query refers to:

    - `parameters` are values for the bare names of the query, `functions` Python functions that it may call; `loss`
      says how events get lost, for THRESHOLD.

    Budgets; a query that reaches one raises `BudgetExceeded`:

    - `max_matches`, and `max_partial_matches` that are kept at a time; `max_memory` (bytes, or such as "2 GB"; by
      default half of what the machine or container has); `timeout` (seconds, a timedelta, or such as "30 seconds").

    How it is evaluated:

    - `plan` forces an evaluator. `statistics` are what is known of the stream, beside what is measured, such as
      `{"rates": {"A": 3.0}, "selectivities": {"a.x < b.x": 0.1}}`: events per second by type or variable, and the share
      of pairs for which a condition is true. `order` is the order in which a lazy chain binds the variables, `negation`
      when it looks for negated parts: "post-processing" or "first-chance".
    - With `jit` a kernel is compiled at once or never, with None (the default) once running it as plain Python has
      taken a while; `cache_dir` is where it is kept. `threads` read and match a finite stream, by default one for
      each processor that the process may use; the matches are the same for any number.
    - `progress` shows a bar once a finite stream takes longer than two seconds: True or False, by default in notebooks
      and on the command line alone; or a function that is told how many events out of how many have been matched.
    - With `counters` kernels count what they do; without `merge` equivalent runs stay apart. With `compressed`, matches
      of a sequence stay in the form they were found in, which can be exponentially smaller: they are counted, iterated
      and sliced without being written out.
    """

    time: str
    type: str | None
    order_by: str | Iterable[str] | None
    time_unit: TimeUnit
    parameters: Mapping[str, Any] | None
    functions: Mapping[str, Callable[..., Any]] | None
    loss: LossModel | None
    max_matches: int
    max_partial_matches: int
    max_memory: int | str | None
    timeout: float | str | dt.timedelta | None
    plan: FamilyName | None
    statistics: Mapping[str, Any] | StreamStatistics | None
    order: Iterable[str] | None
    negation: NegationName | None
    jit: bool | None
    cache_dir: str | os.PathLike[str] | None
    threads: int | None
    progress: Progress | bool | None
    counters: bool
    merge: bool
    compressed: bool


Form = TypeVar("Form")


def option(default: Any, check: Callable[[str, Any], Any]) -> Any:
    """A field that a caller may set; `check` is given its name and the value, and returns what is kept."""
    if isinstance(default, dict):
        return field(default_factory=dict, metadata={"check": check})
    return field(default=default, metadata={"check": check})


def option_names(form: type[Any]) -> tuple[str, ...]:
    """The fields of a form that a caller may set."""
    return tuple(f.name for f in fields(form) if "check" in f.metadata)


def read_form(form: type[Form], given: Mapping[str, Any]) -> Form:
    """The fields of one form among what a caller gave, checked."""
    checks = {f.name: f.metadata["check"] for f in fields(form) if "check" in f.metadata}  # type: ignore[arg-type]
    return form(**{name: check(name, given[name]) for name, check in checks.items() if name in given})


def refuse_others(given: Mapping[str, Any], *forms: type[Any]) -> None:
    """Refuse options that none of the forms has."""
    known = [name for form in forms for name in option_names(form)]
    for name in given:
        if name not in known:
            raise HostError("A651", f"there is no option `{arguments.shown(name)[1:-1]}`", suggestion(name, known))


def _column(name: str, given: Any) -> str:
    return arguments.text(name, given, wanted=A_COLUMN)


def _optional_column(name: str, given: Any) -> str | None:
    return arguments.optional_text(name, given, wanted=A_COLUMN)


def _columns(name: str, given: Any) -> tuple[str, ...] | None:
    return None if given is None else arguments.texts(name, given, A_COLUMN)


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of the events that hold time, type and order."""

    time: str = option("ts", _column)
    type: str | None = option("type", _optional_column)
    order_by: str | Iterable[str] | None = option(None, _columns)
    time_unit: TimeUnit = option("s", lambda name, given: given)

    @property
    def required(self) -> tuple[str | None, ...]:
        """The columns beside the time that an event may not leave out."""
        return (self.type, *(_columns("order_by", self.order_by) or ()))


def _plan(name: str, given: Any) -> str | None:
    return arguments.optional_text(name, given, wanted="the name of a plan")


def _variables(name: str, given: Any) -> tuple[str, ...] | None:
    return None if given is None else arguments.texts(name, given, "the name of a variable")


def _statistics(name: str, given: Any) -> Statistics | None:
    return given if given is None or isinstance(given, StreamStatistics) else GivenStatistics.of(given)


def _values(name: str, given: Any) -> dict[str, Any]:
    return arguments.mapping(name, given, "a dict of values by name")


def _loss(name: str, given: Any) -> LossModel | None:
    return arguments.optional(name, given, LossModel, "a LossModel")


def _memory(_name: str, given: Any) -> int | None:
    return None if given is None else memory_size(given)


def _threads(name: str, given: Any) -> int | None:
    return None if given is None else arguments.limit(name, given)


def _progress(name: str, given: Any) -> Progress | bool | None:
    if given is None or isinstance(given, bool):
        return given
    if callable(given) and not isinstance(given, type):
        return cast("Progress", given)
    raise arguments.unusable(name, "True, False or a function", given)


def _timeout(_name: str, given: Any) -> float | None:
    return None if given is None else seconds(given)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of how a query is evaluated, those of `MatchOptions` frozen; passed explicitly to whoever needs them.

    `budget` watches `max_memory` and `timeout` while the query runs, `clock` collects the times of its stages. A `live`
    stream goes on with the plan that it has while a better one is compiled. With `rows_only` kernels may leave the
    times of matches to be looked up (`RowMatches`). Where `jit` was decided for the caller, `stand_ins` lets NumPy do
    what the library would have to be compiled for, as long as matches are few.
    """

    plan: FamilyName | None = option(None, _plan)
    order: tuple[str, ...] | None = option(None, _variables)
    negation: NegationName | None = option(None, arguments.optional_text)
    statistics: Statistics | None = option(None, _statistics)
    parameters: Mapping[str, Any] = option({}, _values)
    functions: Mapping[str, Callable[..., Any]] = option({}, arguments.callables)
    loss: LossModel | None = option(None, _loss)
    max_matches: int = option(1_000_000, arguments.limit)
    max_partial_matches: int = option(5_000_000, arguments.limit)
    max_memory: int | None = option(None, _memory)
    timeout: float | None = option(None, _timeout)
    jit: bool | None = option(None, arguments.optional_flag)
    cache_dir: Path | None = option(None, arguments.optional_path)
    threads: int | None = option(None, _threads)
    progress: Progress | bool | None = option(None, _progress)
    merge: bool = option(True, arguments.flag)
    counters: bool = option(False, arguments.flag)
    compressed: bool = option(False, arguments.flag)
    budget: Budget | None = field(default=None, compare=False, repr=False)
    clock: Clock = field(default=UNTIMED, compare=False, repr=False)
    live: bool = field(default=False, compare=False, repr=False)
    rows_only: bool = field(default=False, compare=False, repr=False)
    stand_ins: bool = field(default=False, compare=False, repr=False)

    def with_budget(self) -> Options:
        """Add a budget to these options, unless they have one."""
        return self if self.budget is not None else self.watched()

    def watched(self, slots: int = 1) -> Options:
        """Add a new budget to these options, for one call or one stream.

        It has an equal part of the memory that `slots` processes share.
        """
        memory = default_memory() if self.max_memory is None else self.max_memory
        return replace(self, budget=Budget(max(1, memory // slots), self.timeout))

    def compiled(self) -> Options:
        """These options with kernels compiled from the start, for a caller who left that open."""
        return self if self.jit is not None else replace(self, jit=True, stand_ins=True)

    def timed(self) -> tuple[Options, Stopwatch]:
        """Add a stopwatch to these options; returns both."""
        watch = Stopwatch()
        return replace(self, clock=watch), watch

    @property
    def watching(self) -> Budget:
        """The budget of options that have one."""
        assert self.budget is not None
        return self.budget

    @property
    def callables(self) -> dict[str, Callable[..., Any]]:
        """The functions by the names that bound queries call them by, which are in lower case.

        >>> Options(functions={"Score": abs}).callables
        {'score': <built-in function abs>}
        """
        return {name.lower(): function for name, function in self.functions.items()}


def read_options(given: Mapping[str, Any]) -> tuple[Roles, Options]:
    """The options of a call, checked; an unknown one is an error.

    >>> roles, options = read_options({"time": "at", "max_matches": 10})
    >>> roles.time, options.max_matches
    ('at', 10)
    """
    refuse_others(given, Roles, Options)
    return read_form(Roles, given), read_form(Options, given)


def make_options(**given: Unpack[MatchOptions]) -> Options:
    """`read_options` where the columns have their usual names."""
    return read_options(given)[1]
