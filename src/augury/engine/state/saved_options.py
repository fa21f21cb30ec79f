"""Saves options as JSON, field by field, and restores them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, assert_never

from augury.engine.state.facts import Facts
from augury.errors import HostError
from augury.loss import LossModel
from augury.options import Options, option_names, read_form
from augury.plan import GivenStatistics, Statistics, StreamStatistics
from augury.runtime.checks import inconsistent, require

MAX_LIST_DEPTH = 32  # levels of nested lists in a parameter

GIVEN_AGAIN = frozenset({"functions", "cache_dir", "threads", "progress"})
"""Options that cannot be saved, or that depend on the machine: they are given again on restoring."""


class Codec(NamedTuple):
    """How one option is saved and restored; `restored` gives a value as a caller could have given it."""

    saved: Callable[[Any], Any]
    restored: Callable[[Any], Any]


def option_facts(options: Options) -> dict[str, Any]:
    """Every option that can be saved, by its name, and the names of the functions."""
    facts = {
        name: CODECS[name].saved(getattr(options, name)) if name in CODECS else getattr(options, name)
        for name in option_names(Options)
        if name not in GIVEN_AGAIN
    }
    return {**facts, "functions": sorted(options.callables)}


def restored_options(facts: Facts) -> Options:
    """Read what `option_facts` wrote, checked like the options of a caller; without functions."""
    given: dict[str, Any] = {}
    for name in option_names(Options):
        if name in GIVEN_AGAIN:
            continue
        require(name in facts.stated, f"it does not say what `{name}` is")
        value = facts.stated[name]
        given[name] = CODECS[name].restored(value) if name in CODECS else value
    try:
        return read_form(Options, given)
    except HostError as e:
        raise inconsistent(f"an option has a value that there is not: {e.message}") from e


def _statistics_facts(statistics: Statistics | None) -> list[Any] | None:
    match statistics:
        case None:
            return None
        case GivenStatistics():
            return ["given", statistics.to_json()]
        case StreamStatistics():
            return ["stream", statistics.to_json()]
        case _:
            assert_never(statistics)


def _statistics(facts: Any) -> Mapping[str, Any] | StreamStatistics | None:
    match facts:
        case None:
            return None
        case ["given", dict(stated)]:
            return stated
        case ["stream", stated]:
            return StreamStatistics.from_json(stated)
        case _:
            raise inconsistent("it does not say where its statistics are from")


def _parameter_facts(name: str, value: Any) -> list[Any]:
    match value:
        case dt.datetime():
            return ["datetime", value.isoformat()]
        case dt.timedelta():
            return ["timedelta", [value.days, value.seconds, value.microseconds]]
        case list() | tuple():
            return ["list", [_parameter_facts(name, v) for v in value]]
        case None | bool() | int() | float() | str():
            return ["plain", value]
        case _:
            raise HostError("A546", f"the parameter `{name}` of type {type(value).__name__} cannot be saved")


def _parameter(facts: Any, depth: int = 0) -> Any:
    try:
        match facts:
            case ["datetime", str(text)]:
                return dt.datetime.fromisoformat(text)
            case ["timedelta", [int(days), int(seconds), int(microseconds)]]:
                return dt.timedelta(days, seconds, microseconds)
            case ["list", list(items)] if depth < MAX_LIST_DEPTH:
                return [_parameter(item, depth + 1) for item in items]
            case ["plain", None | bool() | int() | float() | str() as value]:
                return value
    except (ValueError, OverflowError) as e:
        raise inconsistent(f"a parameter has a value that there is not: {e}") from e
    raise inconsistent("a parameter has a value that there is not")


def _parameters(facts: Any) -> dict[str, Any]:
    require(isinstance(facts, dict), "its parameters have no names")
    return {name: _parameter(value) for name, value in facts.items()}


CODECS: Mapping[str, Codec] = {
    "statistics": Codec(_statistics_facts, _statistics),
    "parameters": Codec(lambda given: {name: _parameter_facts(name, v) for name, v in given.items()}, _parameters),
    "loss": Codec(
        lambda model: None if model is None else model.to_json(),
        lambda stated: None if stated is None else LossModel.from_json(stated),
    ),
}
"""The options whose values are not JSON values."""
