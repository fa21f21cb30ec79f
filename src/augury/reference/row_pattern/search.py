"""Backtracking search for the preferred match at a row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, assert_never

from augury.errors import Diagnostic, QueryError
from augury.ir.row_expression import Aggregate, Classifier, ColumnValue, MatchNumber, RowExpression, walk
from augury.ir.row_pattern import BoundRowPattern, Variable, parts_of
from augury.reference.row_pattern.mapping import Mapping
from augury.reference.row_pattern.states import Assert, Choose, Done, States, Take
from augury.reference.row_pattern.values import Evaluator, NotKnownYet


@dataclass(frozen=True, slots=True)
class Dependence:
    """The parts of the mapping before the current row that a pattern's conditions depend on.

    `candidate` if they depend on the row a match starts at, or on its number. `first` and `last` are the positions that
    they read from either end of the rows mapped to some variables, `labels` the same for the variables of those rows.
    `all` if they read everything, as aggregates do.
    """

    candidate: bool
    first: tuple[tuple[frozenset[str], int], ...]
    last: tuple[tuple[frozenset[str], int], ...]
    labels: tuple[tuple[frozenset[str] | None, bool, int], ...]
    all: bool

    @property
    def nothing(self) -> bool:
        return not (self.first or self.last or self.labels or self.all)


def dependence(bound: BoundRowPattern) -> Dependence:
    """The rows and labels that the conditions of a clause depend on."""
    first: dict[frozenset[str], int] = {}
    last: dict[frozenset[str], int] = {}
    labels: dict[tuple[frozenset[str] | None, bool], int] = {}
    candidate, everything = bound.within is not None, False
    for variable, condition in bound.conditions.items():
        for node in walk(condition):
            match node:
                case Aggregate():
                    everything = True
                case MatchNumber():
                    candidate = True
                case ColumnValue(_, _, at) if at is not None:
                    if _current(at.variables, at.last, at.offset, variable):
                        continue
                    if at.variables is None:
                        candidate = True
                    else:
                        seen = last if at.last else first
                        seen[at.variables] = max(seen.get(at.variables, 0), at.offset + 1)
                case Classifier(at) if at is not None:
                    if at.shift:
                        everything = True
                    elif not _current(at.variables, at.last, at.offset, variable):
                        key = at.variables, at.last
                        labels[key] = max(labels.get(key, 0), at.offset + 1)
                case _:
                    pass
    flat = tuple((variables, is_last, count) for (variables, is_last), count in labels.items())
    return Dependence(candidate, tuple(first.items()), tuple(last.items()), flat, everything)


def _current(variables: frozenset[str] | None, last: bool, offset: int, variable: str) -> bool:
    """Whether a navigation in the condition of `variable` always leads to the current row."""
    return last and offset == 0 and (variables is None or variable in variables)


def wanted_variables(bound: BoundRowPattern) -> set[frozenset[str]]:
    """Sets of variables that conditions and measures read."""
    expressions: list[RowExpression] = [*bound.conditions.values(), *(m.value for m in bound.measures)]
    out = set()
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, ColumnValue | Classifier) and node.at is not None and node.at.variables is not None:
                out.add(node.at.variables)
    return out


@dataclass(frozen=True, slots=True)
class PartitionEnds:
    """The bounds of a partition: its `first` row, None if that has been dropped, and whether rows may come.

    With a `watermark` rows may come, none of them earlier.
    """

    first: int | None = 0
    watermark: int | None = None


class Search:
    """Finds the preferred match at each row of one partition, in the order of preference.

    A state reached before, at the same row and with everything equal that a condition can read, is given up: either it
    failed, or the search is in a loop that maps no row.
    """

    def __init__(
        self,
        bound: BoundRowPattern,
        states: States,
        evaluator: Evaluator,
        order: list[Any] | None,
        budget: Budget,
        ends: PartitionEnds,
    ) -> None:
        self.bound, self.states, self.evaluator, self.order, self.budget = bound, states, evaluator, order, budget
        self.ends = ends
        self.depends = dependence(bound)
        self.wanted = wanted_variables(bound)
        # States by the row they were reached at; where conditions read everything, by the number of rows mapped.
        self._reached: dict[int, set[Hashable]] = {}
        self._alone = {v for v in bound.conditions if _alone(bound.conditions[v], v)}
        self._known: dict[int, dict[str, bool]] = {}
        self._forgotten = 0

    def match_at(self, start: int, number: int) -> Mapping | None:
        """The preferred match that starts at a row, if there is one; it may be empty."""
        mapping = Mapping(start, self.wanted)
        self.evaluator.begin(mapping, number)
        self._forget(start)
        pending = [(self.states.start, 0)]
        steps = 0
        while pending:
            state, length = pending.pop()
            self._cut(mapping, length)
            while True:
                steps += 1
                if steps & 1023 == 0:
                    self.budget.check(steps, self.evaluator.rows)
                row = start + len(mapping)
                reached = self._reached.setdefault(row, set())
                place = self._place(state, mapping)
                if place in reached:
                    break
                reached.add(place)
                match self.states[state]:
                    case Done():
                        # States given up because of a loop are not known to fail, so nothing is remembered about this
                        # one.
                        self._reached.clear()
                        return mapping
                    case Choose(options):
                        pending.extend((option, len(mapping)) for option in reversed(options[1:]))
                        state = options[0]
                    case Assert(end, following):
                        if row != (self.evaluator.rows if end else self.ends.first):
                            break
                        state = following
                    case Take(variable, excluded, following):
                        if row == self.evaluator.rows:
                            if self._may_come(start):
                                raise NotKnownYet
                            break
                        if not self._near(start, row):
                            break
                        mapping.append(variable, excluded)
                        if not self._holds(variable, row, mapping):
                            break
                        state = following
                    case other:
                        assert_never(other)
        return None

    def _holds(self, variable: str, row: int, mapping: Mapping) -> bool:
        condition = self.bound.conditions.get(variable)
        if condition is None:
            return True
        if variable not in self._alone:
            return self.evaluator.value(condition, len(mapping)) is True
        known = self._known.setdefault(row, {})
        if variable not in known:
            known[variable] = self.evaluator.value(condition, len(mapping)) is True
        return known[variable]

    def _forget(self, start: int) -> None:
        """Drop what is known of rows before a candidate, and everything that depends on the candidate."""
        if not self.depends.nothing or self.depends.candidate:
            self._reached.clear()
        for row in range(self._forgotten, start):
            self._reached.pop(row, None)
            self._known.pop(row, None)
        self._forgotten = start

    def _cut(self, mapping: Mapping, length: int) -> None:
        """Backtrack to a choice; where conditions read everything, states reached since cannot be reached again."""
        if self.depends.all:
            for row in range(mapping.start + length + 1, mapping.start + len(mapping) + 1):
                self._reached.pop(row, None)
        mapping.cut(length)

    def _near(self, start: int, row: int) -> bool:
        """Whether WITHIN allows the row in a match from `start` on; a null time is far from every other."""
        if self.bound.within is None or row == start:
            return True
        assert self.order is not None
        first, here = self.order[start], self.order[row]
        return first is not None and here is not None and abs(here - first) <= self.bound.within.distance

    def _may_come(self, start: int) -> bool:
        """Whether a row may still arrive after the last one that a match from `start` on may map."""
        if self.ends.watermark is None or self.bound.within is None:
            return self.ends.watermark is not None
        assert self.order is not None
        return bool(self.ends.watermark - self.order[start] <= self.bound.within.distance)

    def _place(self, state: int, mapping: Mapping) -> Hashable:
        """Everything that decides the outcome of a state at some row."""
        depends = self.depends
        if depends.nothing or depends.all:
            return state
        length = len(mapping)
        seen: list[Hashable] = [state]
        seen += [tuple(mapping.places(v)[:n]) for v, n in depends.first]
        seen += [tuple(mapping.places(v)[-n:]) for v, n in depends.last]
        for variables, last, n in depends.labels:
            places = range(length) if variables is None else mapping.places(variables)
            chosen = places[-n:] if last else places[:n]
            seen.append(tuple((place, mapping.variables[place]) for place in chosen))
        return tuple(seen)


def _alone(condition: RowExpression, variable: str) -> bool:
    """Whether a condition depends only on the current row and its neighbours, so that it is a bit of the row."""
    for node in walk(condition):
        match node:
            case Aggregate() | MatchNumber():
                return False
            case ColumnValue(_, _, at):
                if at is None or not _current(at.variables, at.last, at.offset, variable):
                    return False
            case Classifier(at):
                if at is None or at.shift or not _current(at.variables, at.last, at.offset, variable):
                    return False
            case _:
                pass
    return True


STEPS_A_ROW = 100
"""Steps at one candidate that are allowed per row of its partition, beyond the budget."""


class Budget:
    """The limit of steps that the search at one row may take."""

    def __init__(self, steps: int, bound: BoundRowPattern) -> None:
        self.steps, self.bound = steps, bound

    def check(self, steps: int, rows: int) -> None:
        """Raise an error if a search in a partition of so many rows has taken too many steps."""
        allowed = self.steps + STEPS_A_ROW * rows
        if steps > allowed:
            variables = [p for p in parts_of(self.bound.pattern) if isinstance(p, Variable)]
            span = self.bound.pattern.span if not variables else variables[0].span | variables[-1].span
            help = "make conditions stricter, bound quantifiers or add WITHIN; or raise max_steps"
            message = f"the search for a match at one row took more than {allowed} steps"
            raise QueryError([Diagnostic("A741", message, span, "too many ways to match", help)], self.bound.source)
