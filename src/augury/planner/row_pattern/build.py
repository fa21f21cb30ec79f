"""A bound clause -> its plan: conditions that are bits of rows, and the values that the others read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_never

import pyarrow as pa

from augury.ir.row_expression import (
    Aggregate,
    Classifier,
    ColumnValue,
    Constant,
    MatchNumber,
    Navigation,
    Operation,
    RowExpression,
    walk,
)
from augury.ir.row_pattern import BoundRowPattern
from augury.ir.sql_types import BOOLEAN, TICKS, Family, common, family, integer_range
from augury.plan import Unsupported
from augury.plan.row_pattern import (
    ACCEPT,
    FIRST_POSITION,
    MAX_LABELS,
    MAX_POSITIONS,
    Applied,
    Base,
    Condition,
    ConstantValue,
    LabelAt,
    MatchCount,
    Program,
    RowPatternPlan,
    RunningAggregate,
    RunningValue,
    SearchValue,
    Term,
    TermAt,
    kind_of,
)
from augury.planner.row_pattern.fixed import at_fixed_rows, fixed_paths
from augury.planner.row_pattern.program import program_of
from augury.source import Span

FAMILY = "row-pattern"
COMPARED = ("=", "<>", "<", "<=", ">", ">=")
SPREADS = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
CARRIED = ("count", "count_if", "sum", "avg", "min", "max", *SPREADS)
"""Aggregates whose state the search carries from row to row."""


@dataclass(slots=True)
class _Refused(Exception):
    reason: str
    span: Span | None


T = TypeVar("T")


def build_row_pattern(bound: BoundRowPattern) -> RowPatternPlan | Unsupported:
    """The plan of a clause, or the reason why it has none."""
    program = program_of(bound.pattern)
    if program is None:
        reason = f"written out, the pattern has more than {MAX_POSITIONS} places that map a row"
        return Unsupported(FAMILY, reason, bound.pattern.span, too_large=True)
    if len(program.labels) > MAX_LABELS:
        return Unsupported(FAMILY, f"the pattern has more than {MAX_LABELS} variables", too_large=True)
    if bound.within is not None and family(bound.schema.field(bound.order_by[0].column).type) is Family.DECIMAL:
        return Unsupported(FAMILY, "WITHIN bounds a column of decimals", bound.within.span)
    builder = _Builder(program, fixed_paths(program))
    try:
        conditions = tuple(builder.condition(k, bound.conditions.get(name)) for k, name in enumerate(program.labels))
    except _Refused as e:
        return Unsupported(FAMILY, e.reason, e.span)
    return RowPatternPlan(
        bound,
        program,
        conditions,
        tuple(builder.terms),
        tuple(builder.bases),
        tuple(builder.running),
        _remembered(program, conditions),
    )


def _remembered(program: Program, conditions: tuple[Condition, ...]) -> tuple[bool, ...]:
    """For each position, whether everything that may follow it depends on rows alone."""
    free = [True] * len(program.positions)
    changed = True
    while changed:
        changed = False
        for k in range(len(free)):
            for state in program.follow[FIRST_POSITION + k]:
                if not free[k] or state == ACCEPT:
                    continue
                after = state - FIRST_POSITION
                if not free[after] or conditions[program.positions[after].label].value is not None:
                    free[k] = False
                    changed = True
    return tuple(free)


@dataclass(slots=True)
class _Builder:
    """Collects what conditions refer to, without duplicates."""

    program: Program
    paths: dict[int, tuple[str, ...]]
    """Variables that are reached in one way only, each with the variables of the rows before it."""
    terms: list[Term] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)
    running: list[RunningAggregate] = field(default_factory=list)

    def condition(self, label: int, written: RowExpression | None) -> Condition:
        if written is None:
            return Condition()
        name = self.program.labels[label]
        if all(self._is_current(node, name) for node in walk(written)):
            return Condition(bit=self._at_current(written, name))
        if family(written.type) is Family.NULL:
            return Condition(value=ConstantValue(None, "boolean"))
        fixed = at_fixed_rows(written, self.paths[label]) if label in self.paths else None
        return Condition(value=self._value(written, name)) if fixed is None else Condition(bit=fixed)

    def _is_current(self, node: RowExpression, name: str) -> bool:
        """Whether an expression reads only the current row and its neighbours."""
        match node:
            case Aggregate() | MatchNumber():
                return False
            case ColumnValue(_, _, at):
                return at is not None and _current(at, name)
            case Classifier(at):
                return at is not None and _current(at, name) and not at.shift
            case Constant() | Operation():
                return True
            case _:
                assert_never(node)

    def _at_current(self, node: RowExpression, name: str) -> RowExpression:
        """The expression with CLASSIFIER() replaced by the name of the variable."""
        match node:
            case Classifier():
                return Constant(name, node.type, node.span)
            case Operation(_, operands):
                return replace(node, operands=tuple(self._at_current(o, name) for o in operands))
            case _:
                return node

    # -- values of the search -----------------------------------------------------------------------------------------

    def _value(self, node: RowExpression, name: str) -> SearchValue:
        local = self._local(node, name)
        if local is not None:
            return local
        match node:
            case Constant(value, type):
                return self._constant(value, type, node.span)
            case MatchNumber():
                return MatchCount()
            case Aggregate():
                return self._aggregate(node)
            case Operation():
                return self._operation(node, name)
            case ColumnValue() | Classifier():
                what = "the name of a variable" if isinstance(node, Classifier) else f"a value of type {node.type}"
                raise _Refused(f"a condition computes with {what}", node.span)
            case _:
                assert_never(node)

    def _local(self, node: RowExpression, name: str) -> SearchValue | None:
        """A value that one row of the match decides, read from a precomputed column."""
        if isinstance(node, Constant):
            return None
        places: set[Base | None] = set()
        for inner in walk(node):
            match inner:
                case ColumnValue(_, _, at) if at is not None:
                    places.add(self._base(at, name))
                case Constant() | Operation():
                    pass
                case _:
                    return None
        if len(places) > 1:
            return None
        kind = kind_of(node.type)
        if kind is None:
            return None
        base = places.pop() if places else None
        term = self._known(self.terms, Term(node, kind))
        return TermAt(term, None if base is None else self._known(self.bases, base), kind)

    def _base(self, at: Navigation, name: str) -> Base | None:
        """The row from which PREV and NEXT count; None for the current one."""
        return None if _current(at, name) else Base(self._labels(at.variables), at.last, at.offset)

    def _labels(self, variables: frozenset[str] | None) -> tuple[int, ...] | None:
        if variables is None:
            return None
        return tuple(k for k, name in enumerate(self.program.labels) if name in variables)

    @staticmethod
    def _known(listed: list[T], item: T) -> int:
        if item not in listed:
            listed.append(item)
        return listed.index(item)

    def _constant(self, value: object, type: pa.DataType, span: Span | None) -> SearchValue:
        kind = kind_of(type)
        if value is None:
            return ConstantValue(None, kind or "integer")
        if kind is None and family(type) is Family.DECIMAL:
            # Only a comparison or an operation with a double gets here, so that it is read as a double.
            return ConstantValue(float(str(value)), "float")
        if kind is None:
            raise _Refused(f"a condition computes with a constant of type {type}", span)
        return ConstantValue(value, kind)

    def _aggregate(self, node: Aggregate) -> SearchValue:
        if node.function not in CARRIED or node.limit is not None:
            raise _Refused(f"a condition uses the aggregate {node.function}", node.span)
        labels = self._labels(node.variables)
        if not node.arguments:
            return RunningValue(
                self._known(self.running, RunningAggregate("count", None, labels, "integer")), "integer"
            )
        (argument,) = node.arguments
        if any(isinstance(n, Classifier | MatchNumber) for n in walk(argument)):
            raise _Refused(f"{node.function} aggregates the names of variables or numbers of matches", node.span)
        of, out = kind_of(argument.type), kind_of(node.type)
        if of is None or out is None or (node.function in ("sum", "avg") and family(node.type) is Family.INTERVAL):
            raise _Refused(f"{node.function} aggregates values of type {argument.type}", node.span)
        term = self._known(self.terms, Term(argument, of))
        return RunningValue(self._known(self.running, RunningAggregate(node.function, term, labels, out)), out)

    def _operation(self, node: Operation, name: str) -> SearchValue:
        function, operands, type = node.function, node.operands, node.type
        function = "%" if function == "mod" else function
        kind = kind_of(type)
        if kind is None:
            raise _Refused(f"a condition computes with values of type {type}", node.span)
        match function:
            case "and" | "or" | "not" | "is true" | "is false":
                return Applied(function, tuple(self._boolean(o, name) for o in operands), "boolean")
            case "is null":
                return Applied(function, (self._value(operands[0], name),), "boolean")
            case "in":
                tests = [Operation("=", (operands[0], o), BOOLEAN, node.span) for o in operands[1:]]
                return Applied("or", tuple(self._operation(t, name) for t in tests), "boolean")
            case "+" | "-" | "*" | "/" | "%":
                return self._arithmetic(node, function, name)
            case "negate":
                if kind == "float":
                    return Applied("*", (ConstantValue(-1.0, "float"), self._as_float(operands[0], name)), kind)
                zero = Constant(0, operands[0].type, node.span)
                return self._arithmetic(replace(node, operands=(zero, operands[0])), "-", name)
            case _ if function in COMPARED:
                return self._comparison(node, name)
            case _:
                raise _Refused(f"a condition applies {function} to values of several rows", node.span)

    def _boolean(self, node: RowExpression, name: str) -> SearchValue:
        return ConstantValue(None, "boolean") if family(node.type) is Family.NULL else self._value(node, name)

    def _arithmetic(self, node: Operation, function: str, name: str) -> SearchValue:
        kind = kind_of(node.type)
        assert kind is not None
        families = [family(o.type) for o in node.operands]
        if kind == "float":
            return Applied(function, tuple(self._as_float(o, name) for o in node.operands), kind)
        if family(node.type) is Family.INTEGER and all(f is Family.INTEGER for f in families):
            values = tuple(self._value(o, name) for o in node.operands)
            return Applied(function, values, kind, integer_range(node.type))
        if function in "+-" and all(f in (Family.TIMESTAMP, Family.INTERVAL) for f in families):
            units = {o.type.unit for o in node.operands} | {node.type.unit}
            if len(units) == 1:
                return Applied(function, tuple(self._value(o, name) for o in node.operands), kind, _ANY)
        raise _Refused(
            f"a condition computes {function} of {node.operands[0].type} and {node.operands[1].type}", node.span
        )

    def _as_float(self, node: RowExpression, name: str) -> SearchValue:
        value = self._value(node, name)
        if value.kind == "float":
            return value
        if isinstance(value, ConstantValue):
            return ConstantValue(None if value.value is None else float(value.value), "float")
        if value.kind != "integer" or family(node.type) is not Family.INTEGER:
            raise _Refused(f"a condition reads {node.type} as a double", node.span)
        return Applied("to float", (value,), "float")

    def _comparison(self, node: Operation, name: str) -> SearchValue:
        left, right = node.operands
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Classifier) and node.function in ("=", "<>"):
                return self._named(node, one, other, name)
        both = common(left.type, right.type)
        assert both is not None
        match family(both):
            case Family.NULL:
                return ConstantValue(None, "boolean")
            case Family.FLOAT:
                values = self._as_float(left, name), self._as_float(right, name)
            case Family.INTEGER | Family.DATE | Family.BOOLEAN | Family.STRING if kind_of(both) is not None:
                values = self._value(left, name), self._value(right, name)
            case Family.TIMESTAMP | Family.INTERVAL:
                values = self._in_ticks(left, both, name), self._in_ticks(right, both, name)
            case _:
                raise _Refused(f"a condition compares {left.type} with {right.type}", node.span)
        if {v.kind for v in values} == {"boolean", "integer"}:
            raise _Refused(f"a condition compares {left.type} with {right.type}", node.span)
        return Applied(node.function, values, "boolean")

    def _in_ticks(self, node: RowExpression, both: pa.DataType, name: str) -> SearchValue:
        if family(node.type) is Family.NULL:
            return ConstantValue(None, "integer")
        if family(node.type) is family(both) and node.type.unit == both.unit:
            return self._value(node, name)
        if isinstance(node, Constant) and isinstance(node.value, int) and family(node.type) is family(both):
            ticks = node.value * TICKS[both.unit] // TICKS[node.type.unit]
            if -(2**63) <= ticks < 2**63:
                return ConstantValue(ticks, "integer")
        raise _Refused(f"a condition compares {node.type} with {both}", node.span)

    def _named(self, node: Operation, classifier: Classifier, other: RowExpression, name: str) -> SearchValue:
        """A comparison of CLASSIFIER() with a name; both become numbers."""
        if not isinstance(other, Constant) or not (other.value is None or isinstance(other.value, str)):
            raise _Refused("a condition compares CLASSIFIER() with more than a constant", node.span)
        assert classifier.at is not None
        base = self._base(classifier.at, name)
        here = LabelAt(None if base is None else self._known(self.bases, base), classifier.at.shift)
        labels = self.program.labels
        number = None if other.value is None else labels.index(other.value) if other.value in labels else len(labels)
        return Applied(node.function, (here, ConstantValue(number, "integer")), "boolean")


_ANY = (-(2**63), 2**63 - 1)


def _current(at: Navigation, name: str) -> bool:
    """Whether a navigation in the condition of a variable leads to the current row or one of its neighbours."""
    return at.last and at.offset == 0 and (at.variables is None or name in at.variables)
