"""Negated parts that are looked for as soon as their neighbours are bound (First-Chance, paper 000, section 4.4).

Parts that are looked for once a match is complete are in `augury.codegen.common.absence`; the plan says which is which
(`ChainStep.absent`, `ChainBranch.at_the_end`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from augury.codegen.lazy.body import Body
from augury.codegen.lazy.context import Context, Scope
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.search import search_for
from augury.plan import Absence


def negated_states(nodes: Iterable[Node]) -> Mapping[tuple[int, Absence], Node]:
    """The states that look for negated parts, by the state where they do and the part."""
    states = list(nodes)
    found: dict[tuple[int, Absence], Node] = {}
    for n in states:
        for part, step in zip(n.step.absent, n.step.searches, strict=True):
            number = len(states) + len(found)
            found[n.number, part] = Node(number, step, (*n.path, step.component.variable), n, negated=True)
    return found


def give_up_if_present(ctx: Context, out: Body, node: Node, part: Absence, scope: Scope) -> None:
    """Emit the search for a part whose neighbours are bound; if it occurs, go on with the next candidate of a state."""
    looked_for = ctx.negated[node.number, part]
    gone = f"gone_{ctx.names[looked_for.variable]}"

    def found(inside: Body, _: Scope) -> None:
        inside.add(f"{gone} = True")
        inside.add("break")

    out.add(f"{gone} = False")
    search_for(ctx, out, looked_for, found, scope)
    with out.block(f"if {gone}:", f"NOT({ctx.label(looked_for)})"):
        out.add("continue")
