"""State that the search carries from row to row for conditions that look back, and the tests that read it.

For each row that is to be mapped, the search writes what is carried once the row is mapped, then tests the condition of
its variable. What is carried at depth d stays where it is while longer mappings are tried, so that giving
up a choice costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from augury.codegen.common.lines import Lines
from augury.plan.row_pattern import (
    Applied,
    Base,
    ConstantValue,
    LabelAt,
    MatchCount,
    RowPatternPlan,
    RunningValue,
    SearchValue,
    TermAt,
)

EXACT = 2**53
"""Integers below this are doubles without rounding."""

SPREADS = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")


@dataclass(slots=True)
class Carry:
    """The cells that are carried, and the constants that conditions compare with."""

    plan: RowPatternPlan
    start_integers: list[int] = field(default_factory=list)
    """What the integers are before any row is mapped."""
    floats: int = 0
    base_cells: dict[Base, int] = field(default_factory=dict)
    count_cells: dict[tuple[int, ...] | None, int] = field(default_factory=dict)
    running_cells: list[tuple[int, int]] = field(default_factory=list)
    """For each running aggregate, its count and the first cell of its value."""
    integers: list[Any] = field(default_factory=list)
    """Integers that conditions compare with; strings, which the caller turns into ranks."""
    reals: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for base in self.plan.bases:
            if base.last:
                self._base_cell(Base(base.labels, True, 0))
            else:
                self._base_cell(base)
                if base.labels is not None:
                    self._count_cell(base.labels)
        for running in self.plan.running:
            count = self._integer(0)
            if running.function == "count":
                self.running_cells.append((count, -1))
            elif running.function in SPREADS or self._adds_floats(running.term):
                self.running_cells.append((count, self.floats))
                self.floats += 2 if running.function in SPREADS else 1
            else:
                self.running_cells.append((count, self._integer(0)))

    def _integer(self, start: int) -> int:
        self.start_integers.append(start)
        return len(self.start_integers) - 1

    def _base_cell(self, base: Base) -> None:
        if base not in self.base_cells:
            self.base_cells[base] = self._integer(-1)

    def _count_cell(self, labels: tuple[int, ...]) -> None:
        if labels not in self.count_cells:
            self.count_cells[labels] = self._integer(0)

    def _adds_floats(self, term: int | None) -> bool:
        return term is not None and self.plan.terms[term].kind == "float"

    @property
    def arguments(self) -> list[str]:
        """The arguments of the search for these conditions."""
        columns = [name for k in range(len(self.plan.terms)) for name in (f"value_{k}", f"code_{k}")]
        return ["whole", "real", "path", "label_of", "integers", "reals", "size", *columns]

    def integer_constant(self, value: Any) -> str:
        if value not in self.integers:
            self.integers.append(value)
        return f"integers[{self.integers.index(value)}]"

    def float_constant(self, value: float) -> str:
        self.reals.append(value)
        return f"reals[{len(self.reals) - 1}]"


def emit_entering(out: Lines, carry: Carry) -> None:
    """Statements that map the row `at` to the variable of `next`: `said` is 1 if its condition is true, 2 if it fails.

    They stand in the search itself: a function would be given all arrays, whose references are counted at each call.
    """
    out.add("said = 1")
    out.add("label = label_of[next]")
    with out.block("while True:", why="what is carried, then the condition; it is left as soon as that is decided"):
        out.add("here = depth + 1")
        _emit_bases(out, carry)
        for k in range(len(carry.plan.running)):
            _emit_running(out, carry, k)
        emitter = _Emitter(out, carry)
        for label, condition in enumerate(carry.plan.conditions):
            if condition.value is not None:
                with out.block(f"if label == {label}:"):
                    value, null = emitter.emit(condition.value)
                    with out.block(f"if {null} != 0 or {value} == 0:"):
                        _leave(out, 0)
        out.add("break")


def _leave(out: Lines, said: int) -> None:
    out.add(f"said = {said}")
    out.add("break")


def _is_one_of(labels: tuple[int, ...] | None) -> str:
    """A test of the variable of the row."""
    if labels is None:
        return "True"
    return " or ".join(f"label == {k}" for k in labels) or "False"


def _emit_bases(out: Lines, carry: Carry) -> None:
    for base, cell in carry.base_cells.items():
        out.add(f"whole[here, {cell}] = whole[depth, {cell}]")
        if base.last:
            with out.block(f"if {_is_one_of(base.labels)}:"):
                out.add(f"whole[here, {cell}] = at")
        else:
            so_far = "depth" if base.labels is None else f"whole[depth, {carry.count_cells[base.labels]}]"
            with out.block(f"if ({_is_one_of(base.labels)}) and {so_far} == {base.offset}:"):
                out.add(f"whole[here, {cell}] = at")
    for labels, cell in carry.count_cells.items():
        out.add(f"whole[here, {cell}] = whole[depth, {cell}]")
        with out.block(f"if {_is_one_of(labels)}:"):
            out.add(f"whole[here, {cell}] += 1")


def _emit_running(out: Lines, carry: Carry, k: int) -> None:
    """The next state of an aggregate, from the one before and the value of the row."""
    running = carry.plan.running[k]
    count, cell = carry.running_cells[k]
    floats = running.function in SPREADS or (
        running.term is not None and carry.plan.terms[running.term].kind == "float"
    )
    held = "real" if floats else "whole"
    cells = [] if cell < 0 else [cell, cell + 1] if running.function in SPREADS else [cell]
    out.add(f"whole[here, {count}] = whole[depth, {count}]")
    for c in cells:
        out.add(f"{held}[here, {c}] = {held}[depth, {c}]")
    with out.block(f"if {_is_one_of(running.labels)}:"):
        if running.term is None:
            out.add(f"whole[here, {count}] += 1")
            return
        out.add(f"code = code_{running.term}[at]")
        with out.block("if code == 2:"):
            _leave(out, 2)
        added = "code == 0" if running.function != "count_if" else f"code == 0 and value_{running.term}[at] != 0"
        with out.block(f"if {added}:"):
            out.add(f"seen = whole[here, {count}]")
            out.add(f"whole[here, {count}] = seen + 1")
            if cells:
                out.add(f"value = value_{running.term}[at]")
                _emit_added(out, running.function, held, cells, floats)


def _emit_added(out: Lines, function: str, held: str, cells: Sequence[int], floats: bool) -> None:
    place = f"{held}[here, {cells[0]}]"
    match function:
        case "sum" | "avg":
            out.add(f"total = {place} + value")
            if not floats:
                with out.block(f"if (({place} ^ total) & (value ^ total)) < 0:"):
                    _leave(out, 2)
            out.add(f"{place} = total if seen > 0 else value")
        case "min" | "max":
            with out.block(f"if seen == 0 or value {'<' if function == 'min' else '>'} {place}:"):
                out.add(f"{place} = value")
        case _:
            # Welford's update, as the reference does it.
            squares = f"{held}[here, {cells[1]}]"
            out.add(f"delta = np.float64(value) - {place}")
            out.add(f"{place} += delta / np.float64(seen + 1)")
            out.add(f"{squares} += delta * (np.float64(value) - {place})")


class _Emitter:
    """Writes the statements of one condition; each value becomes two variables, the second says whether it is null."""

    def __init__(self, out: Lines, carry: Carry) -> None:
        self.out, self.carry, self.count = out, carry, 0

    def emit(self, value: SearchValue) -> tuple[str, str]:
        self.count += 1
        v, n = f"v{self.count}", f"n{self.count}"
        out = self.out
        match value:
            case ConstantValue(constant, kind):
                if constant is None:
                    out.add(f"{v} = {'0.0' if kind == 'float' else '0'}")
                elif kind == "float":
                    out.add(f"{v} = {self.carry.float_constant(float(constant))}")
                else:
                    out.add(f"{v} = {self.carry.integer_constant(int(constant) if kind != 'string' else constant)}")
                out.add(f"{n} = {int(constant is None)}")
            case TermAt(term, base):
                row = self._row(base)
                out.add(f"{v} = value_{term}[{row}]")
                out.add(f"{n} = code_{term}[{row}]")
                with out.block(f"if {n} == 2:"):
                    _leave(out, 2)
            case LabelAt(base, shift):
                self._label(base, shift, v, n)
            case MatchCount():
                out.add(f"{v} = number")
                out.add(f"{n} = 0")
            case RunningValue(running):
                self._carried(running, v, n)
            case Applied():
                self._applied(value, v, n)
            case _:
                assert_never(value)
        return v, n

    def _row(self, base: int | None, *, missing: str = "size") -> str:
        """The row of a base; where there is none, a row of nulls."""
        if base is None:
            return "at"
        where = self.carry.plan.bases[base]
        self.count += 1
        row = f"r{self.count}"
        if not where.last:
            self.out.add(f"{row} = whole[here, {self.carry.base_cells[where]}]")
        else:
            cell = self.carry.base_cells[Base(where.labels, True, 0)]
            self.out.add(f"{row} = whole[here, {cell}]")
            if where.offset:
                # What was the last row before the last row was mapped is the one before it.
                self.out.add(f"left{self.count} = {where.offset}")
                with self.out.block(f"while left{self.count} > 0 and {row} >= 0:"):
                    self.out.add(f"{row} = whole[{row} - row, {cell}]")
                    self.out.add(f"left{self.count} -= 1")
        with self.out.block(f"if {row} < 0:"):
            self.out.add(f"{row} = {missing}")
        return row

    def _label(self, base: int | None, shift: int, v: str, n: str) -> None:
        out = self.out
        if base is None and shift == 0:
            out.add(f"{v} = label")
            out.add(f"{n} = 0")
            return
        row = self._row(base, missing="-1")
        out.add(f"{v} = -1")
        out.add(f"{n} = 1")
        with out.block(f"if {row} >= 0:"):
            place = f"p{self.count}"
            out.add(f"{place} = {row} - row + {shift}")
            with out.block(f"if {place} == depth:"):
                out.add(f"{v} = label")
                out.add(f"{n} = 0")
            with out.block(f"elif {place} >= 0 and {place} < depth:"):
                out.add(f"{v} = label_of[path[{place}]]")
                out.add(f"{n} = 0")

    def _carried(self, k: int, v: str, n: str) -> None:
        out, running = self.out, self.carry.plan.running[k]
        count, cell = self.carry.running_cells[k]
        seen = f"whole[here, {count}]"
        if running.function in ("count", "count_if"):
            out.add(f"{v} = {seen}")
            out.add(f"{n} = 0")
            return
        floats = self.carry.plan.terms[running.term or 0].kind == "float" or running.function in SPREADS
        held = f"{'real' if floats else 'whole'}[here, {cell}]"
        least = 2 if running.function in ("stddev", "stddev_samp", "variance", "var_samp") else 1
        out.add(f"{v} = {'0.0' if running.kind == 'float' else '0'}")
        out.add(f"{n} = 1")
        with out.block(f"if {seen} >= {least}:"):
            out.add(f"{n} = 0")
            if running.function in SPREADS:
                squares = f"real[here, {cell + 1}]"
                out.add(f"{v} = {squares} / np.float64({seen}{' - 1' if least == 2 else ''})")
                if running.function.startswith("stddev"):
                    out.add(f"{v} = math.sqrt({v})")
            elif running.function == "avg":
                if not floats:
                    with out.block(f"if {held} > {EXACT} or {held} < -{EXACT}:"):
                        _leave(out, 2)
                out.add(f"{v} = np.float64({held}) / np.float64({seen})")
            else:
                out.add(f"{v} = {held}")

    def _applied(self, value: Applied, v: str, n: str) -> None:
        out = self.out
        match value.function:
            case "and" | "or":
                self._logical(value.operands, int(value.function == "or"), v, n)
                return
            case _:
                pass
        operands = [self.emit(o) for o in value.operands]
        (a, null), (b, other) = operands[0], operands[-1]
        match value.function:
            case "is null":
                out.add(f"{v} = 1 if {null} != 0 else 0")
                out.add(f"{n} = 0")
            case "is true" | "is false":
                test = "!=" if value.function == "is true" else "=="
                out.add(f"{v} = 1 if {null} == 0 and {a} {test} 0 else 0")
                out.add(f"{n} = 0")
            case "not":
                out.add(f"{v} = 1 if {a} == 0 else 0")
                out.add(f"{n} = {null}")
            case "to float":
                out.add(f"{v} = np.float64({a})")
                out.add(f"{n} = {null}")
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                sign = {"=": "==", "<>": "!="}.get(value.function, value.function)
                out.add(f"{v} = 1 if {a} {sign} {b} else 0")
                out.add(f"{n} = 1 if {null} != 0 or {other} != 0 else 0")
            case _:
                self._computed(value, a, b, v)
                out.add(f"{n} = 1 if {null} != 0 or {other} != 0 else 0")

    def _logical(self, operands: Sequence[SearchValue], decisive: int, v: str, n: str) -> None:
        """Evaluate AND and OR with short circuit: operands after the one that decides are not computed."""
        out = self.out
        out.add(f"{v} = {1 - decisive}")
        out.add(f"{n} = 0")
        for operand in operands:
            with out.block(f"if {v} == {1 - decisive}:"):
                one, null = self.emit(operand)
                with out.block(f"if {null} != 0:"):
                    out.add(f"{n} = 1")
                with out.block(f"elif {one} {'!=' if decisive else '=='} 0:"):
                    out.add(f"{v} = {decisive}")
        with out.block(f"if {v} == {decisive}:"):
            out.add(f"{n} = 0")

    def _computed(self, value: Applied, a: str, b: str, v: str) -> None:
        out, sign = self.out, value.function
        if value.kind == "float":
            # A double of NumPy's divides by zero as compiled code does.
            out.add(f"{v} = np.fmod({a}, {b})" if sign == "%" else f"{v} = np.float64({a}) {sign} {b}")
            return
        nulls = f"n{a[1:]} == 0 and n{b[1:]} == 0"
        out.add(f"{v} = 0")
        with out.block(f"if {nulls}:"):
            match sign:
                case "+" | "-":
                    out.add(f"{v} = {a} {sign} {b}")
                    wrong = f"(({a} ^ {v}) & ({b} ^ {v}))" if sign == "+" else f"(({a} ^ {b}) & ({a} ^ {v}))"
                    with out.block(f"if {wrong} < 0:"):
                        _leave(out, 2)
                case "*":
                    out.add(f"{v} = {a} * {b}")
                    with out.block(f"if {a} != 0 and (({a} == -1 and {b} == INT_MIN) or {v} // {a} != {b}):"):
                        _leave(out, 2)
                case _:
                    with out.block(f"if {b} == 0 or {a} == INT_MIN or {b} == INT_MIN:"):
                        _leave(out, 2)
                    out.add(f"{v} = abs({a}) // abs({b})")
                    with out.block(f"if ({a} < 0) != ({b} < 0):"):
                        out.add(f"{v} = -{v}")
                    if sign == "%":
                        out.add(f"{v} = {a} - {b} * {v}")
            assert value.limits is not None
            least, most = value.limits
            if most < 2**63 - 1:
                with out.block(f"if {v} < {least} or {v} > {most}:"):
                    _leave(out, 2)
