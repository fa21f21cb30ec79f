"""Checks of UNTIL: where it is allowed, and what its conditions may read (SEMANTICS section 10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augury.bind.scope import Scope
from augury.ir.branches import branches
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.predicate import Conjunct


def check_until(pattern: Pattern, conjuncts: Iterable[Conjunct], scope: Scope) -> None:
    """Report an UNTIL inside a NOT, and conditions on its event that read variables not bound while the list grows."""
    lists = list(_lists(pattern, negated=False))
    for repeat, negated in lists:
        if negated and repeat.until is not None:
            help = "leave out the UNTIL, or look for the list with a query of its own"
            scope.problems.report("A429", "UNTIL has no meaning inside a NOT", repeat.span, "inside a NOT", help)
    if not lists or scope.problems.found:
        return
    found = branches(pattern)
    for repeat, _ in lists:
        assert repeat.until is not None
        v, u = repeat.body.variable, repeat.until.variable
        mine = [b for b in found if v in b.variables]
        for c in conjuncts:
            if u not in c.variables:
                continue
            for w in c.variables:
                if w != u and any(w in b.variables and (w, v) not in b.order for b in mine):
                    message = f"a condition on `{u}` cannot name `{w}`, which is not bound while `{v}` grows"
                    help = f"name variables that stand before `{v}` in a SEQ"
                    scope.problems.report("A429", message, c.span, f"`{w}` is not known by then", help)
                    break


def _lists(pattern: Pattern, *, negated: bool) -> Iterator[tuple[Repeat, bool]]:
    match pattern:
        case Repeat(until=until):
            if until is not None:
                yield pattern, negated
        case Event():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _lists(part, negated=negated)
        case Group() | OptionalPart():
            yield from _lists(pattern.body, negated=negated)
        case Absent(body):
            yield from _lists(body, negated=True)
