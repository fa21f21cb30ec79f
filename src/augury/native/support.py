"""The library as a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from inspect import isfunction
from typing import Annotated, Any, get_origin, get_type_hints

from augury.native import (
    buffer,
    chains,
    containing,
    counting,
    ordering,
    packed,
    rates,
    sequences,
    standardising,
    weighing,
)
from augury.runtime.arrays import ArrayType, GroupType, ParameterType
from augury.runtime.kernel_source import KernelSource, functions_as_kernels, kernel_source

MODULES = (buffer, chains, containing, counting, ordering, packed, rates, sequences, standardising, weighing)
"""Modules of the library that is compiled once for all queries."""


@cache
def support_source() -> KernelSource:
    """The functions of `MODULES`, each an entry.

    >>> "expand" in support_source().entries
    True
    """
    folder = files("augury.native")
    texts = [folder.joinpath(f"{m.__name__.rpartition('.')[2]}.py").read_text(encoding="utf-8") for m in MODULES]
    bodies, entries = zip(*map(functions_as_kernels, texts), strict=True)
    names = [name for some in entries for name in some]
    known = {name: value for module in MODULES for name, value in vars(module).items() if isfunction(value)}
    source = kernel_source("\n\n".join(bodies), names)
    return replace(source, allocates=True, signatures={name: parameter_types(known[name]) for name in names})


def parameter_types(function: Callable[..., Any]) -> tuple[ParameterType, ...]:
    """Parameter types of a function of the library, from its annotations (`augury.native.kinds`).

    >>> parameter_types(counting.plus)
    (<class 'int'>, <class 'int'>)
    """
    hints = get_type_hints(function, include_extras=True)
    return tuple(_type(hint) for name, hint in hints.items() if name != "return")


def _type(hint: Any) -> ParameterType:
    if get_origin(hint) is Annotated:
        found: ArrayType = hint.__metadata__[0]
        return found
    if hint in (int, float, bool):
        scalar: type[int] | type[float] | type[bool] = hint
        return scalar
    members = get_type_hints(hint, include_extras=True).values()
    return GroupType(hint, tuple(member.__metadata__[0] for member in members))
