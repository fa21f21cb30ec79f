"""The equalities that candidates of a state are found by, along an index."""

from __future__ import annotations

from collections.abc import Iterable

from augury.codegen.lazy.layout import PARTITION
from augury.codegen.lazy.nest import Node
from augury.ir.predicate import Compare, Element, Ref
from augury.plan import Key, LazyChainPlan


def search_key(plan: LazyChainPlan, node: Node) -> Key | None:
    """The key that the candidates of a state share with an event bound before."""
    if not plan.indexed or not node.bound:
        return None
    if not plan.query.partition_by:
        return node.step.key
    singles = [n.variable for n in node.ancestors if not n.iterated]
    if not singles:
        return None
    near = [u for u in (*node.step.before, *node.step.after) if u in singles] or singles
    return Key(PARTITION, near[0], PARTITION)


def list_key(plan: LazyChainPlan, node: Node) -> str | None:
    """The key column that all elements of a list share, where no event bound before has the key."""
    if not plan.indexed:
        return None
    if plan.query.partition_by:
        return PARTITION if all(n.iterated for n in node.ancestors) else None
    for j in node.step.component.take:
        match j.expr:
            case Compare("=", Ref() as left, Ref() as right) if (
                left.variable == right.variable == node.variable
                and {left.element, right.element} == {Element.EACH, Element.PREVIOUS}
                and left.column == right.column
            ):
                return left.column
            case _:
                pass
    return None


def key_columns(plan: LazyChainPlan, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The columns whose values are numbered, the partition first."""
    found: set[str] = set()
    for node in nodes:
        key = search_key(plan, node)
        if key is not None:
            found |= {key.column, key.other_column}
        elif node.iterated and (column := list_key(plan, node)) is not None:
            found.add(column)
    return tuple(sorted(found))
