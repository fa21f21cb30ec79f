"""Whether an event can be that of a component, by its type and by conditions on it alone."""

from __future__ import annotations

from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Read, true
from augury.ir.query import BoundQuery
from augury.plan import Component


def fits(
    c: Component, query: BoundQuery, constants: Constants, read: Read, event: str = "i", *, in_partition: bool = False
) -> str:
    """The text of the test; `in_partition` also asks whether its key has a value."""
    tests = []
    if c.types and query.schema.type is not None:
        tests.append(" or ".join(f"type_[{event}] == {constants.type_code(c.variable, t)}" for t in c.types))
    if in_partition:
        tests.append(f"part[{event}] >= 0")
    tests += [true(j.expr, read, constants).value for j in c.alone]
    return " and ".join(f"({t})" for t in tests) or "True"
