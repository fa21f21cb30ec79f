"""Options shared by several commands, each declared once: its name, its help, and the conversion of its value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from augury.cli.arguments import order_columns, parameter_values, read_loss, read_statistics
from augury.options import Options, Roles, option_names, read_form

Result = TypeVar("Result")


def _as_given(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class SharedOption:
    """The declaration of an option, and the conversion of its value to that of `MatchOptions`."""

    declared: Any
    read: Callable[[Any], Any] = _as_given


SHARED: Mapping[str, SharedOption] = {
    "time": SharedOption(Annotated[str, typer.Option("--time", help="The time column.")]),
    "type": SharedOption(Annotated[str, typer.Option("--type", help="The type column.")]),
    "no_type": SharedOption(
        Annotated[bool, typer.Option("--no-type", help="The events have no types, whatever their columns.")]
    ),
    "order_by": SharedOption(
        Annotated[list[str] | None, typer.Option("--order-by", help="Columns that order the events, time first.")],
        order_columns,
    ),
    "time_unit": SharedOption(
        Annotated[str, typer.Option("--time-unit", help="The unit of an integer time: ns, us, ms, s or D.")]
    ),
    "plan": SharedOption(Annotated[str | None, typer.Option("--plan", help="Force an evaluator by name.")]),
    "order": SharedOption(
        Annotated[
            list[str] | None,
            typer.Option("--order", metavar="VARIABLES", help="The order in which a lazy chain binds them."),
        ],
        order_columns,
    ),
    "negation": SharedOption(
        Annotated[
            str | None,
            typer.Option("--negation", help="When a lazy chain looks for NOTs: post-processing or first-chance."),
        ]
    ),
    "statistics": SharedOption(
        Annotated[
            Path | None,
            typer.Option("--statistics", metavar="FILE", help="Rates and selectivities for the planner, as JSON."),
        ],
        read_statistics,
    ),
    "parameters": SharedOption(
        Annotated[
            list[str] | None,
            typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the query; JSON or a string."),
        ]
    ),
    "jit": SharedOption(
        Annotated[
            bool | None,
            typer.Option("--jit/--no-jit", help="Compile kernels at once, or never. Default: when it pays."),
        ]
    ),
    "threads": SharedOption(
        Annotated[
            int | None,
            typer.Option("--threads", min=1, help="Threads that read and match. Default: one for each processor."),
        ]
    ),
    "loss": SharedOption(
        Annotated[
            Path | None, typer.Option("--loss", metavar="FILE", help="How events get lost, as JSON, for THRESHOLD.")
        ],
        read_loss,
    ),
    "max_matches": SharedOption(Annotated[int, typer.Option("--max-matches", min=1, help="Refuse larger results.")]),
    "max_partial_matches": SharedOption(
        Annotated[
            int,
            typer.Option("--max-partial-matches", min=1, help="Stop when more partial matches wait at a time."),
        ]
    ),
    "max_memory": SharedOption(
        Annotated[
            str | None,
            typer.Option("--max-memory", metavar="SIZE", help='Such as "2 GB". Default: half of what the machine has.'),
        ]
    ),
    "timeout": SharedOption(
        Annotated[
            str | None,
            typer.Option("--timeout", metavar="DURATION", help='Stop after that long, such as "30 seconds".'),
        ]
    ),
}
"""Options by their names in `MatchOptions`; `no_type` is a `type` of None, which has no value on a command line."""

COLUMNS = ("time", "type", "no_type", "order_by", "time_unit")
LAZY_CHAIN = ("order", "negation", "statistics")
BUDGETS = ("max_matches", "max_partial_matches", "max_memory", "timeout")
SQL_BUDGETS = ("max_memory", "timeout")
"""Budgets of row patterns besides `--max-steps`: a row begins at most one match, and no partial matches are kept."""


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Shared options from a command line; files that they name are read on use."""

    stated: Mapping[str, Any]

    def roles(self) -> Roles:
        """The columns of time, type and order."""
        return read_form(Roles, self._values(Roles))

    def options(self) -> Options:
        """The options of evaluation; reads the files of statistics and the loss model."""
        return read_form(Options, self._values(Options))

    def _values(self, form: type[Any]) -> dict[str, Any]:
        names = [name for name in option_names(form) if self.stated.get(name) is not None]
        values = {name: SHARED[name].read(self.stated[name]) for name in names}
        return values | {"type": None} if "type" in values and self.stated["no_type"] else values


def shared_options(*names: str, last: tuple[str, ...] = ()) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a command these options in place of its parameter `given`, and those of `last` after all others.

    The function is called with one `GivenOptions`.
    """

    def declare(command: Callable[..., Result]) -> Callable[..., Result]:
        own = inspect.signature(command, eval_str=True)
        before, after = _around(list(own.parameters.values()), "given")
        parameters = [*before, *map(_parameter, names), *after, *map(_parameter, last)]

        @wraps(command)
        def called(**arguments: Any) -> Result:
            stated = {name: arguments.pop(name) for name in (*names, *last)}
            # A parameter that cannot be read is an error of usage, reported before any other.
            stated["parameters"] = parameter_values(stated.get("parameters") or [])
            return command(**arguments, given=GivenOptions(stated))

        signature = own.replace(parameters=[p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters])
        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return declare


def _around(parameters: list[inspect.Parameter], name: str) -> tuple[list[inspect.Parameter], list[inspect.Parameter]]:
    place = [p.name for p in parameters].index(name)
    return parameters[:place], parameters[place + 1 :]


def _parameter(name: str) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=_default(name), annotation=SHARED[name].declared
    )


def _default(name: str) -> Any:
    """The default of an option: that of the field with the same name."""
    if name == "no_type":
        return False
    (default,) = (f.default for form in (Roles, Options) for f in fields(form) if f.name == name)
    return None if default is MISSING else default
