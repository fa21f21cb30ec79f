"""Lists that end UNTIL an event: the elements that it lets a run take, and what runs remember of it."""

from __future__ import annotations

from augury.codegen.common.conditions import Conditions
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import ReadSite, Slot, ValueVector
from augury.plan import Component


def ended(vector: ValueVector, c: Component, run: str = "r") -> str:
    """The cell with one more than the rank of the event that has ended a run's list; 0 while none has."""
    return f"run_integers[{run}, {vector.place(Slot(c.variable, 'ended'))}]"


def until_conditions(at: ReadSite, conditions: Conditions) -> Conditions | None:
    """The conditions on an event that may end the list of a component; None if nothing ends it."""
    c = conditions.component
    if c.until is None:
        return None
    for operation in ("length", "ended"):
        at.vector.cell("r", Slot(c.variable, operation), at.reader)
    return Conditions(c.until, at, conditions.codes, conditions.source, conditions.counters)


def emit_until(out: Lines, until: Conditions, code: int) -> None:
    """Set `over` of the component where event i is one that ends the list of run r."""
    out.add(f"over_{code} = ends_{code}", remark(f"until {until.component.variable}"))
    until.take(out, f"over_{code}", "r", begins=True)


def emit_end(out: Lines, vector: ValueVector, c: Component, until: Conditions, code: int, same_partition: str) -> None:
    """Note in run r, which has elements, that event i ends its list."""
    emit_until(out, until, code)
    length = f"run_integers[r, {vector.place(Slot(c.variable, 'length'))}]"
    # With a first element before it: an event at the same time as the only one is not behind it.
    tests = [f"over_{code}", f"{ended(vector, c)} == 0", f"(later or {length} > 1)", *filter(None, [same_partition])]
    with out.block(f"if {' and '.join(tests)}:"):
        out.add(f"{ended(vector, c)} = k + 1")


def emit_goes_on(out: Lines, name: str, vector: ValueVector, c: Component, code: int, *, begins: bool) -> None:
    """Set `name` to false where event i is no element, since it ends the list or an event before it has."""
    tests = [f"not over_{code}"]
    if not begins:
        tests.append(f"({ended(vector, c)} == 0 or k < {ended(vector, c)})")
    out.add(f"{name} = {name} and {' and '.join(tests)}")
