"""Values of a query that a kernel reads from arrays, not from its text: constants, windows, string codes, sets.

Queries that differ in nothing else have the same text, and are one compiled kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from augury.codegen.common.naming import constant
from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Compare, Conjunct, Expr, Literal, Member, walk
from augury.ir.query import CountWindow, TimeWindow
from augury.plan import Component
from augury.runtime.arrays import FLOAT64, INT32, INT64, ArraySpec
from augury.runtime.identifiers import function_identifiers
from augury.schema import ColumnType, Kind

INTEGERS, FLOATS = "int_sets", "float_sets"
"""Arrays that hold the sets of a kernel, each sorted, one behind the other."""

INTEGER_VALUES, FLOAT_VALUES, TYPE_CODES = "int_values", "float_values", "type_codes"
"""Arrays that hold single values: constants, lengths of windows, codes of strings; and the codes of types."""


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
    """Some of the values of an IN, of one kind, as a slice of an array; `first` and `end` are texts."""

    array: str
    first: str
    end: str
    reads: tuple[str, ...]
    """What these two read."""


@dataclass(slots=True)
class Cells:
    """The single values of one kind, in the order in which the text of a kernel asks for them.

    Every use has a cell of its own, also of a value that another one has: which values are equal is no part of a text.
    """

    array: str
    values: list[float] = field(default_factory=list)
    places: dict[Hashable, int] = field(default_factory=dict)
    """The cells by what was asked for."""

    def place(self, use: Hashable, number: float) -> int:
        """The cell of one use."""
        if use not in self.places:
            self.places[use] = len(self.values)
            self.values.append(number)
        return self.places[use]


Key: TypeAlias = "tuple[str, tuple[Any, ...]]"
"""The kind of a set, and its values as they were written."""

Split: TypeAlias = "tuple[list[Key], list[Literal]]"
"""The sets that listed constants make, and the constants that are compared one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """The constants of one kernel; made by `constants_of`, and complete when its text is.

    `strings` are the first entries of its dictionary, so that a string is its place there. `functions` are identifiers
    of registered functions by name, `set_arrays` hold the sets; `ranks_strings` says whether a conjunct asks which of
    two strings comes first, for which their order has to be known. `members` are every IN with how its items are split:
    a list of 100,000 values is looked through once, however often its condition is emitted.
    """

    strings: tuple[str, ...]
    codes: Mapping[str, int]
    functions: Mapping[str, str]
    sets: Mapping[Key, tuple[str, int, int]]
    set_arrays: Mapping[str, npt.NDArray[Any]]
    ranks_strings: bool
    members: Mapping[int, tuple[Member, Split]]
    integers: Cells = field(default_factory=lambda: Cells(INTEGER_VALUES))
    floats: Cells = field(default_factory=lambda: Cells(FLOAT_VALUES))
    types: Cells = field(default_factory=lambda: Cells(TYPE_CODES))
    literals: dict[int, Literal] = field(default_factory=dict)
    """Literals that have cells, which are known by their identity: nothing else may have that meanwhile."""
    written: bool = False
    """Whether values are written out, as a text for comparing."""
    loaded: dict[str, str] | None = None
    """Local variables that functions are to load values into, with the cells; None if they are read where they are."""

    def integer(self, use: Hashable, number: int) -> str:
        """The text that reads an integer, which is known by what it is used for."""
        return self._read(self.integers, use, number)

    def number(self, use: Hashable, number: float) -> str:
        """The text that reads a float."""
        return self._read(self.floats, use, number)

    def _read(self, cells: Cells, use: Hashable, number: float) -> str:
        if self.written:
            return constant(number)
        place = cells.place(use, number)
        cell = f"{cells.array}[{place}]"
        if self.loaded is None:
            return cell
        name = f"{cells.array}_{place}"
        self.loaded[name] = cell
        return name

    def reads(self, kind: str, text: str) -> tuple[str, ...]:
        """The arrays that a text from `literal` reads for a value of `kind`."""
        if kind == "b" or self.written:
            return ()
        return (text if self.loaded is not None else FLOAT_VALUES if kind == "f" else INTEGER_VALUES,)

    def literal(self, e: Literal, kind: str) -> str:
        """The text that reads a number, or the code of a string, as a value of `kind`; a truth value is written out."""
        self.literals[id(e)] = e
        match e.value:
            case bool(value):
                return constant(value)
            case str(text):
                return self.integer(id(e), self.codes[text])
            case int(number) if kind != "f":
                return self.integer(id(e), number)
            case int(number) | float(number):
                return self.number(id(e), float(number))
        raise AssertionError(f"a {type(e.value).__name__} is no single value")

    def type_code(self, variable: str, type: str) -> str:
        """The text that reads the code of one of the types of a variable."""
        return self._read(self.types, (variable, type), self.codes[type])

    def within(self, window: TimeWindow | CountWindow) -> str:
        """The text that reads how many ticks, or events, a window is long."""
        return self.integer("WITHIN", window.ticks if isinstance(window, TimeWindow) else window.events)

    def value_sets(self, e: Member) -> tuple[list[ValueSet], Sequence[Expr]]:
        """The items of `e` that are searched for in arrays, and those that are compared one by one."""
        # A condition may be rebuilt on its way here, the listed constants of an IN are not.
        found = self.members.get(id(e.listed))
        keys, rest = found[1] if found and found[0].operand.type == e.operand.type else _split(e)
        sets = []
        for key in keys:
            array, first, end = self.sets[key]
            use = (id(e.listed), key[0])
            bounds = self.integer((*use, "first"), first), self.integer((*use, "end"), end)
            sets.append(ValueSet(array, *bounds, tuple(name for text in bounds for name in self.reads("i", text))))
        return sets, [*e.items, *rest]

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The specifications of `arrays`."""
        sets = (ArraySpec(name, values.dtype) for name, values in self.set_arrays.items())
        return (*(ArraySpec(cells.array, dtype) for cells, dtype in self._cells), *sets)

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The values, in the order in which functions take their arrays, once the text has asked for all of them."""
        values = {cells.array: np.array(cells.values or [0], dtype=dtype) for cells, dtype in self._cells}
        return {**values, **self.set_arrays}

    @property
    def _cells(self) -> tuple[tuple[Cells, np.dtype[Any]], ...]:
        # Types are compared many at a time, in vectors of as many bits as the types of events have.
        return (self.integers, INT64), (self.floats, FLOAT64), (self.types, INT32)


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
    sets: dict[Key, tuple[str, int, int]] = {}
    for kind, values in keys:
        array, dtype = (FLOATS, np.float64) if kind == "f" else (INTEGERS, np.int64)
        items = np.unique(np.array([codes[v] for v in values] if kind == "s" else values, dtype=dtype))
        sets[kind, values] = array, ends[array], ends[array] + len(items)
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
    """The kind by which a constant is compared with a value of kind `own`; None for null."""
    if item.value is None:
        return None
    match own, kind_of(item.type):
        case ("f", "i" | "f") | ("i", "f"):
            return "f"
        case ("i", "i") | ("s", "s") | ("b", "b"):
            return own
        case _:
            return None
