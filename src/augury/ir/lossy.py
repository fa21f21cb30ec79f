"""Lossy queries for the evaluators: components in order, and a loss model that fits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from augury.errors import HostError
from augury.ir.pattern import Absent, Event, Pattern, Seq, components, variable_of
from augury.ir.predicate import Compare, Expr, Literal, Member, Ref, map_children, variables
from augury.ir.query import BoundQuery
from augury.loss import LossModel


@dataclass(frozen=True, slots=True)
class Step:
    """One component of the sequence."""

    variable: str
    negated: bool


def sequence(pattern: Pattern) -> list[Step]:
    """The components of a lossy pattern in order."""
    match pattern:
        case Event(variable):
            return [Step(variable, negated=False)]
        case Seq(parts):
            return [step for part in parts for step in sequence(part)]
        case Absent(body):
            return [Step(variable_of(c), negated=True) for c in components(body)]
        case _:
            raise AssertionError("a lossy pattern is a SEQ of single and negated components")


def check_model(query: BoundQuery, model: LossModel | None) -> LossModel:
    """The loss model with the rate of each component; an error if it lacks something that the query needs."""
    if model is None:
        raise HostError(
            "A550",
            "a query with THRESHOLD needs to know how events are lost",
            "give loss=LossModel(rate=..., delays={...})",
        )
    steps = sequence(query.pattern)
    model = replace(model, rates={s.variable: _rate(s.variable, query, model) for s in steps})
    last = last_positive(steps)
    for step in steps:
        if step.variable in model.delays:
            _check_support(step.variable, model)
        elif step.variable != last and (step.negated or model.rate_of(step.variable) > 0):
            raise HostError(
                "A551",
                f"the loss model has no delay for component `{step.variable}`",
                f'delays={{"{step.variable}": Exponential(mean=...)}}',
            )
    return model


def last_positive(steps: Sequence[Step]) -> str:
    return next(step.variable for step in reversed(steps) if not step.negated)


def may_miss(steps: Sequence[Step], model: LossModel) -> frozenset[str]:
    """The positive components that may be missing; the last one only if the model has a delay for it."""
    last = last_positive(steps)
    return frozenset(
        step.variable
        for step in steps
        if not step.negated
        and model.rate_of(step.variable) > 0
        and (step.variable != last or step.variable in model.delays)
    )


class _NoDefault(Exception):
    """Raised for an expression that reads a missing event without a default."""


def with_defaults(expr: Expr, missing: frozenset[str]) -> Expr | None:
    """`expr` over the observed events; None if it does not apply, or reads no event any more."""

    def fill(e: Expr) -> Expr:
        if isinstance(e, Ref):
            if e.variable not in missing:
                return e
            if e.default is None:
                raise _NoDefault
            return fill(e.default)
        return map_children(fill, e)

    try:
        filled = fill(expr)
    except _NoDefault:
        return None
    return filled if variables(filled) or not variables(expr) else None


def _check_support(variable: str, model: LossModel) -> None:
    """Check the delays that the caller defined, which no constructor has checked."""
    if model.delays[variable].distribution(0.0) > 0:
        raise HostError(
            "A555",
            f"the delay of component `{variable}` can be negative or nothing at all",
            "no part of its distribution may lie at or below zero: an event comes after the one it follows",
        )


def _rate(variable: str, query: BoundQuery, model: LossModel) -> float:
    """The loss rate of a component: its own, that of a required value of an attribute, or the general one."""
    if variable in model.rates:
        return model.rates[variable]
    for attribute, rates in model.values.items():
        demanded = _demanded(variable, attribute, query)
        found = {rates.get(value, model.rate) for value in demanded}
        if len(found) > 1:
            raise HostError(
                "A556",
                f"component `{variable}` may have several values of `{attribute}`, which are not lost alike",
                f'say how often it is lost: rates={{"{variable}": ...}}',
            )
        if found:
            return found.pop()
    return model.rate


def _demanded(variable: str, attribute: str, query: BoundQuery) -> set[str]:
    """The values of an attribute that a component can have, as text; empty if the query does not restrict them."""
    found = set(query[variable].types) if attribute == query.schema.type else set()
    for c in query.conjuncts:
        match c.expr:
            case Compare("=", Ref(v, column), Literal(value)) | Compare("=", Literal(value), Ref(v, column)) if (
                v,
                column,
            ) == (variable, attribute):
                return {str(value)}
            case Member(Ref(v, column), items, listed) if (v, column) == (variable, attribute):
                if all(isinstance(i, Literal) for i in items):
                    found = {str(i.value) for i in (*items, *listed) if isinstance(i, Literal)}
            case _:
                pass
    return found
