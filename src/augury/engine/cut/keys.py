"""The key by which the stream of a program can be split."""

from __future__ import annotations

from augury.compiler import CompiledProgram
from augury.ir.predicate import Ref
from augury.ir.query import BoundQuery


def shared_key(program: CompiledProgram) -> tuple[str, ...]:
    """The columns that all events of a match of any query of the program share.

    What a query derives from a match must carry the key on, or it would be looked for in another partition.
    """
    return tuple(
        name
        for name in program.queries[0].rewritten.key
        if all(name in q.rewritten.key and (q is program.last or _carries(q.bound, name)) for q in program.queries)
    )


def _carries(query: BoundQuery, name: str) -> bool:
    return any(
        item.name == name and isinstance(item.expr, Ref) and item.expr.default is None and item.expr.column == name
        for item in query.returns
    )
