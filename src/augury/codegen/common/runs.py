"""The value vector of a run, and how conjuncts read it (paper 001, section 5.2).

A run keeps, for each variable that a later conjunct reads, the attributes it reads of the event bound first, of the
one bound last, and of those that are named by their number. Lists also have a length, and accumulators for the
aggregates over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Code, Leaf, Read, kind_of, value
from augury.ir.predicate import Aggregate, Element, Expr, ListLength, Nth, Ref
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.schema import ColumnType, Kind

FIRST = (Element.SINGLE, Element.FIRST)
"""Elements that are the first event bound to their variable; all others that a run remembers are the last."""

UNREAD = (Kind.NULL, Kind.OTHER)
"""Kinds of which nothing is known but whether there is a value."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One cell of the value vector: `operation` over `variable`, mostly over `argument` of it.

    `first` and `last` are of a column, whose values are held, or for a column of lists of the event itself; `nth` is of
    a column of the element of that `number`, and null while the list is shorter.
    """

    variable: str
    operation: str
    argument: str = ""
    number: int = 0

    @property
    def is_float(self) -> bool:
        return self.operation.endswith("_f")

    @property
    def element(self) -> str | None:
        """The event of the variable that the cell is about, if it is about one."""
        name = self.operation.split("_")[0]
        return name if name in ("first", "last", "nth") else None

    @property
    def words(self) -> str:
        """The content of the cell in words: which aggregate or event of its argument."""
        words = self.operation.removesuffix("_f").replace("_", " ")
        return f"{words} ({self.number})" if self.number else words

    @property
    def holds_event(self) -> bool:
        return self.operation in ("first_event", "last_event")


@dataclass(slots=True)
class ValueVector:
    """The cells of a run in the order they were asked for, in the arrays `run_integers` and `run_floats` plus `suffix`.

    `never_null` are variables with columns of theirs, of which it is not asked whether there is a value.
    """

    suffix: str = ""
    never_null: frozenset[tuple[str, str]] = frozenset()
    integers: list[Slot] = field(default_factory=list)
    floats: list[Slot] = field(default_factory=list)
    arguments: dict[tuple[str, str], Expr] = field(default_factory=dict)
    types: dict[str, ColumnType] = field(default_factory=dict)
    readers: dict[Slot, set[int]] = field(default_factory=dict)
    walked: int = 0
    """The most lists that one condition goes through, of those that were written."""

    def cell(self, run: str, slot: Slot, reader: int) -> str:
        """The text of a cell, which the conditions of component `reader` read."""
        cells, array = (self.floats, "run_floats") if slot.is_float else (self.integers, "run_integers")
        if slot not in cells:
            cells.append(slot)
        self.readers.setdefault(slot, set()).add(reader)
        return f"{array}{self.suffix}[{run}, {cells.index(slot)}]"

    def described(self) -> tuple[tuple[str, str], ...]:
        """The cells, each with a description of its content."""
        return tuple(
            (
                f"{array}{self.suffix}[:, {k}]",
                f"{cell.words} of {cell.variable} {cell.argument}".rstrip(),
            )
            for array, cells in (("run_integers", self.integers), ("run_floats", self.floats))
            for k, cell in enumerate(cells)
        )

    def holding_codes(self) -> tuple[int, ...]:
        """The integer cells that hold codes of strings."""
        return tuple(k for k, slot in enumerate(self.integers) if self._is_code(slot))

    def _is_code(self, slot: Slot) -> bool:
        if slot.operation in ("first", "last", "nth"):
            return self.types[slot.argument].kind is Kind.STRING
        argument = self.arguments.get((slot.variable, slot.argument))
        return slot.operation in ("min", "max") and argument is not None and argument.type.kind is Kind.STRING

    def place(self, slot: Slot) -> int:
        return (self.floats if slot.is_float else self.integers).index(slot)

    def of(self, variable: str) -> list[Slot]:
        return [s for s in (*self.integers, *self.floats) if s.variable == variable]


@dataclass(frozen=True, slots=True)
class Columns:
    """The identifiers of the columns a kernel reads."""

    names: Mapping[str, str]

    def of(self, event: str) -> Read:
        """Reads attributes of one event."""

        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.at(leaf.column, leaf.type, event)

        return read

    def at(self, column: str, type: ColumnType, event: str) -> Code:
        """A column at an event; if that is a variable of the kernel and no more, it is read as well."""
        x = self.names[column]
        null, at = f"({x}_null[{event}] != 0)", (event,) if event.isidentifier() else ()
        match type.kind:
            case Kind.FLOAT | Kind.STRING:
                return Code(f"{x}[{event}]", kind_of(type), reads=(x, *at))
            case Kind.LIST:
                arrays = (f"{x}_offsets", f"{x}_values", f"{x}_null")
                return Code(f"{', '.join(arrays)}, {event}", "l", null, (*arrays, *at))
            case Kind.NULL | Kind.OTHER:
                return Code("0", "i", null, (f"{x}_null", *at))
            case _:
                return Code(f"{x}[{event}]", kind_of(type), null, (f"{x}_null", x, *at))


@dataclass(frozen=True, slots=True)
class ReadSite:
    """The place in a kernel at which a conjunct is tested, with access to the run and the event there.

    `run` names the run; `variable` is the one the event `event` joins (None when a list is complete), as the element
    of that `number` where it is known; `walked` gives the texts of the current and the previous event of a list whose
    elements are gone through one by one. `lists` have value vectors and runs of their own; `single` reads an attribute
    of a variable that no run holds.
    """

    vector: ValueVector
    columns: Columns
    constants: Constants
    reader: int
    run: str
    variable: str | None = None
    event: str | None = None
    begins: bool = False
    walked: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lists: Mapping[str, tuple[ValueVector, str]] = field(default_factory=dict)
    single: Callable[[Ref], Code] | None = None
    number: int = 0

    @property
    def read(self) -> Read:
        return self._read

    def _read(self, leaf: Leaf) -> Code:
        match leaf:
            case Ref(element=Element.SINGLE) if self.single is not None:
                return self.single(leaf)
            case Ref(variable, column, type, element):
                event = self._event(variable, element)
                if event is not None:
                    return self.columns.at(column, type, event)
                if isinstance(element, Nth):
                    return self._held(variable, "nth", column, type, element.number)
                return self._held(variable, "first" if element in FIRST else "last", column, type)
            case ListLength(variable):
                return Code(self._cell(variable, "length"), "i")
            case Aggregate():
                return self._aggregate(leaf)

    def _cell(self, variable: str, operation: str, argument: str = "", number: int = 0) -> str:
        vector, run = self._holder(variable)
        return vector.cell(run, Slot(variable, operation, argument, number), self.reader)

    def _holder(self, variable: str) -> tuple[ValueVector, str]:
        return self.lists.get(variable, (self.vector, self.run))

    def _event(self, variable: str, element: Element | Nth) -> str | None:
        """The text of an event that is at hand; None for one that the run remembers."""
        if variable in self.walked and element in (Element.EACH, Element.PREVIOUS):
            current, previous = self.walked[variable]
            return current if element is Element.EACH else previous
        joining = variable == self.variable
        match element:
            case Element.SINGLE | Element.EACH if joining:
                return self.event
            case Element.FIRST if joining and self.begins:
                return self.event
            case Nth(number) if joining and number == self.number:
                return self.event
            case Element.EACH:
                raise AssertionError(f"`{variable}` is read element by element, but not walked")
            case _:
                return None

    def _held(self, variable: str, which: str, column: str, type: ColumnType, number: int = 0) -> Code:
        """A column of the first, the last or the n-th event bound to a variable, as the run remembers it."""
        vector = self._holder(variable)[0]
        if number:
            # By the length it is known which element an event is.
            self._cell(variable, "length")
        vector.types[column] = type
        match type.kind:
            case Kind.LIST:
                return self.columns.at(column, type, self._cell(variable, f"{which}_event"))
            case Kind.FLOAT:
                return Code(self._cell(variable, f"{which}_f", column, number), "f")
            case Kind.STRING:
                return Code(self._cell(variable, which, column, number), "s")
        unread = type.kind in UNREAD
        held = Code("0", "i") if unread else Code(self._cell(variable, which, column, number), kind_of(type))
        if (variable, column) in vector.never_null and not number:
            return held
        return replace(held, null=f"({self._cell(variable, f'{which}_null', column, number)} != 0)")

    def _aggregate(self, a: Aggregate) -> Code:
        v = a.variable
        if a.argument is None:
            return Code(self._cell(v, "length"), "i")
        if a.function in ("first", "last"):
            return value(a.argument, self._element(v, a.function), self.constants)
        text = expression_text(unbind(a.argument))
        self._holder(v)[0].arguments[v, text] = a.argument
        n = self._cell(v, "count", text)
        is_float = a.argument.type.kind is Kind.FLOAT
        match a.function:
            case "count":
                return Code(n, "i")
            case "sum" | "avg":
                total = self._cell(v, "sum_f" if is_float else "sum", text)
                if a.function == "avg":
                    return Code(f"divide(float({total}), float({n}))", "f")
                if is_float:
                    return Code(f"(nan if {n} == 0 else {total})", "f")
                return Code(total, "i", f"({n} == 0 or {self._cell(v, 'overflow', text)} != 0)")
            case "min" | "max":
                best = self._cell(v, f"{a.function}_f" if is_float else a.function, text)
                if is_float:
                    return Code(f"(nan if {n} == 0 else {best})", "f")
                return Code(best, kind_of(a.type), f"({n} == 0)")
            case "stddev":
                self._cell(v, "mean_f", text)
                return Code(f"stddev({n}, {self._cell(v, 'squares_f', text)})", "f")
        raise AssertionError(f"unknown aggregate {a.function}")

    def _element(self, variable: str, which: str) -> Read:
        """Reads the argument of an aggregate at the first or the last event of its list."""

        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self._held(variable, which, leaf.column, leaf.type)

        return read


def updates(
    vector: ValueVector,
    columns: Columns,
    constants: Constants,
    variable: str,
    begins: bool,
    run: str = "q",
    event: str = "i",
) -> list[str]:
    """Statements that add `event` to `variable` in a run."""
    out: list[str] = []
    for slot in vector.of(variable):
        where = f"{'run_floats' if slot.is_float else 'run_integers'}{vector.suffix}[{run}, {vector.place(slot)}]"
        if slot.operation == "length":
            out.append(f"{where} = 1" if begins else f"{where} += 1")
        elif slot.operation == "ended" and begins:
            out.append(f"{where} = 0")
        elif slot.element == "last" or (slot.element == "first" and begins):
            out.append(f"{where} = {_current(vector, columns, slot, event)}")
    out += _named(vector, columns, variable, begins, run, event)
    for v, text in vector.arguments:
        if v == variable:
            out += accumulate(vector, constants, variable, text, run, columns.of(event))
    return out


def _named(vector: ValueVector, columns: Columns, variable: str, begins: bool, run: str, event: str) -> list[str]:
    """Statements for the cells about elements by their number; the length of the list is known by then."""
    out: list[str] = []
    for slot in vector.of(variable):
        if slot.element != "nth":
            continue
        where = f"{'run_floats' if slot.is_float else 'run_integers'}{vector.suffix}[{run}, {vector.place(slot)}]"
        if begins:
            out.append(f"{where} = {_missing(vector, slot)}")
        else:
            length = f"run_integers{vector.suffix}[{run}, {vector.place(Slot(variable, 'length'))}]"
            out += [f"if {length} == {slot.number}:", f"    {where} = {_current(vector, columns, slot, event)}"]
    return out


def _missing(vector: ValueVector, slot: Slot) -> str:
    """The value of a cell about an element while the list is shorter."""
    if slot.operation == "nth_null":
        return "1"
    if slot.is_float:
        return "nan"
    return "-1" if vector.types[slot.argument].kind is Kind.STRING else "0"


def _current(vector: ValueVector, columns: Columns, slot: Slot, event: str) -> str:
    """The value of a cell about one event, computed from `event`."""
    if slot.holds_event:
        return event
    code = columns.at(slot.argument, vector.types[slot.argument], event)
    return f"int{code.null}" if slot.operation.endswith("_null") else code.value


def accumulate(vector: ValueVector, constants: Constants, v: str, text: str, run: str, read: Read) -> list[str]:
    """Statements for the accumulators over one argument, whose events `read` reads."""
    x = value(vector.arguments[v, text], read, constants)
    cells = {s.operation: s for s in vector.of(v) if s.argument == text}

    def at(operation: str) -> str:
        s = cells[operation]
        return f"{'run_floats' if s.is_float else 'run_integers'}{vector.suffix}[{run}, {vector.place(s)}]"

    n = at("count")
    body = [f"x = {x.value}", f"{n} += 1"]
    if "sum" in cells:
        if "overflow" in cells:
            body.append(f"{at('overflow')} |= add_overflows({at('sum')}, x)")
        body.append(f"{at('sum')} += x")
    if "sum_f" in cells:
        body.append(f"{at('sum_f')} += x")
    for name, sign in (("min", "<"), ("max", ">"), ("min_f", "<"), ("max_f", ">")):
        if name in cells:
            body.append(f"{at(name)} = x if {n} == 1 or x {sign} {at(name)} else {at(name)}")
    if "squares_f" in cells:
        mean = at("mean_f")
        body += [
            f"d = x - {mean}",
            f"{mean} += d / {n}",
            f"{at('squares_f')} += d * (x - {mean})",
        ]
    null = x.is_null()
    if null == "False":
        return body
    return [f"if not {null}:", *(f"    {line}" for line in body)]
