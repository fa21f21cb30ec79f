"""Diagrams -> Mermaid text."""

from __future__ import annotations

from collections.abc import Sequence

from augury.planner.draw.diagram import Diagram, Node
from augury.printable import one_line

PLAIN = frozenset(" .,:_-=+*/'!?")
"""Characters besides letters and digits that have no meaning to Mermaid inside quotes."""


def to_mermaid(diagrams: Sequence[Diagram]) -> str:
    """One flowchart with a subgraph for each diagram."""
    lines = ["flowchart LR"]
    for d, diagram in enumerate(diagrams):
        names = {node.name: f"d{d}n{k}" for k, node in enumerate(diagram.nodes)}
        lines.append(f'  subgraph d{d}["{quoted(diagram.title)}"]')
        lines += [f"    {names[node.name]}{_shape(node)}" for node in diagram.nodes]
        for edge in diagram.edges:
            label = "<br/>".join([edge.kind, *map(quoted, edge.lines)])
            arrow = "-.-" if edge.kind == "part" else "-.->" if edge.kind == "ignore" else "-->"
            written = "" if edge.kind == "part" else f'|"{label}"|'
            lines.append(f"    {names[edge.source]} {arrow}{written} {names[edge.target]}")
        lines.append("  end")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Text in quotes, with characters that have a meaning to Mermaid written as entities.

    >>> quoted('a.x > "5"')
    'a.x #62; #34;5#34;'
    """
    return "".join(c if (c.isascii() and c.isalnum()) or c in PLAIN else f"#{ord(c)};" for c in one_line(text, 400))


def _shape(node: Node) -> str:
    label = "<br/>".join(map(quoted, [*node.lines, *([node.note] if node.note else [])]))
    match node.kind:
        case "match":
            return f'((("{label}")))'
        case "part":
            return f'["{label}"]'
        case "start" | "state":
            return f'(["{label}"])'
