"""What a kernel knows by number instead of by its text: strings, registered functions, and sets of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Compare, Conjunct, Expr, Literal, Member, walk
from augury.plan import Component
from augury.runtime.identifiers import function_identifiers
from augury.schema import ColumnType, Kind

INTEGERS, FLOATS = "int_sets", "float_sets"
"""Arrays that hold the sets of a kernel, each sorted, one behind the other."""


def kind_of(type: ColumnType) -> str:
    """The representation of a type inside a kernel: `i`nteger, `f`loat, `s`tring code, `b`oolean or `l`ist."""
    match type.kind:
        case Kind.INT | Kind.TIMESTAMP | Kind.DURATION | Kind.NULL:
            return "i"
        case Kind.FLOAT:
            return "f"
        case Kind.STRING:
            return "s"
        case Kind.BOOL:
            return "b"
        case Kind.LIST | Kind.OTHER:
            return "l"


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Some of the values of an IN, of one kind, as a slice of an array."""

    array: str
    first: int
    end: int


Key: TypeAlias = "tuple[str, tuple[Any, ...]]"
"""The kind of a set, and its values as they were written."""

Split: TypeAlias = "tuple[list[Key], list[Literal]]"
"""The sets that listed constants make, and the constants that are compared one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """The constants of one kernel; made by `constants_of`.

    `strings` are the first entries of its dictionary, so that a string is its place there. `functions` are identifiers
    of registered functions by name, `arrays` hold the sets; `ranks_strings` says whether a conjunct asks which of two
    strings comes first, for which their order has to be known. `members` are every IN with how its items are split: a
    list of 100,000 values is looked through once, however often its condition is emitted.
    """

    strings: tuple[str, ...]
    codes: Mapping[str, int]
    functions: Mapping[str, str]
    sets: Mapping[Key, ValueSet]
    arrays: Mapping[str, npt.NDArray[Any]]
    ranks_strings: bool
    members: Mapping[int, tuple[Member, Split]]

    def code(self, string: str) -> int:
        """The dictionary code of a type name or a literal."""
        return self.codes[string]

    def value_sets(self, e: Member) -> tuple[list[ValueSet], Sequence[Expr]]:
        """The items of `e` that are searched for in arrays, and those that are compared one by one."""
        # A condition may be rebuilt on its way here, the listed constants of an IN are not.
        found = self.members.get(id(e.listed))
        keys, rest = found[1] if found and found[0].operand.type == e.operand.type else _split(e)
        return [self.sets[key] for key in keys], [*e.items, *rest]


def constants_of(components: Iterable[Component], conjuncts: Sequence[Conjunct]) -> Constants:
    """The constants of all conjuncts; type names are the first strings."""
    strings: dict[str, None] = {t: None for c in components for t in c.types}
    keys: dict[Key, None] = {}
    ranks_strings = False
    members: dict[int, tuple[Member, Split]] = {}
    for conjunct in conjuncts:
        for e in walk(conjunct.expr):
            match e:
                case Literal(value=str(value)):
                    strings[value] = None
                case Member():
                    strings |= {i.value: None for i in e.listed if isinstance(i.value, str)}
                    split = _split(e)
                    members[id(e.listed)] = e, split
                    keys |= dict.fromkeys(split[0])
                case Compare(operator, left, right):
                    ranks_strings |= orders_strings(operator, kind_of(left.type), kind_of(right.type))
                case _:
                    pass
    codes = {string: code for code, string in enumerate(strings)}
    parts: dict[str, list[npt.NDArray[Any]]] = {INTEGERS: [], FLOATS: []}
    ends = dict.fromkeys(parts, 0)
    sets: dict[Key, ValueSet] = {}
    for kind, values in keys:
        array, dtype = (FLOATS, np.float64) if kind == "f" else (INTEGERS, np.int64)
        items = np.unique(np.array([codes[v] for v in values] if kind == "s" else values, dtype=dtype))
        sets[kind, values] = ValueSet(array, ends[array], ends[array] + len(items))
        ends[array] += len(items)
        parts[array].append(items)
    arrays = {name: np.concatenate(some) for name, some in parts.items() if some}
    functions = function_identifiers(functions_of(conjuncts))
    return Constants(tuple(strings), codes, functions, sets, arrays, ranks_strings, members)


def orders_strings(operator: str, left: str, right: str) -> bool:
    """Whether a comparison of values of these kinds asks which of two strings comes first."""
    return left == right == "s" and operator not in ("=", "!=")


def functions_of(conjuncts: Iterable[Conjunct]) -> dict[str, tuple[str, ...]]:
    """The registered functions that are called, with the kinds of their arguments."""
    calls: dict[str, tuple[str, ...]] = {}
    for conjunct in conjuncts:
        for e in walk(conjunct.expr):
            if isinstance(e, Call) and e.function not in BUILTINS:
                calls[e.function] = tuple(kind_of(a.type) for a in e.arguments)
    return calls


def _split(e: Member) -> Split:
    own = kind_of(e.operand.type)
    by_kind: dict[str, list[Any]] = {}
    rest: list[Literal] = []
    nulls: list[Literal] = []
    for item in e.listed:
        kind = _set_kind(own, item)
        if kind is not None:
            by_kind.setdefault(kind, []).append(item.value)
        else:
            (nulls if item.value is None else rest).append(item)
    # One null is as good as many: whatever is compared with it is not true.
    return [(kind, tuple(values)) for kind, values in by_kind.items()], [*rest, *nulls[:1]]


def _set_kind(own: str, item: Literal) -> str | None:
    """How a constant is compared with a value of kind `own`; None for null."""
    if item.value is None:
        return None
    match own, kind_of(item.type):
        case ("f", "i" | "f") | ("i", "f"):
            return "f"
        case ("i", "i") | ("s", "s") | ("b", "b"):
            return own
        case _:
            return None
