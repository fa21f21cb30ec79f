"""Diagrams before layout: nodes, edges and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

NodeKind: TypeAlias = Literal["start", "state", "match", "part"]
"""What a node stands for: the start of a run, a state, the accepting state, a part of a pattern."""

EdgeKind: TypeAlias = Literal["begin", "take", "ignore", "proceed", "store", "link", "part"]
"""What happens on an edge, in the words of the papers; `part` leads from a group to its parts."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `name` is unique in its diagram, `lines` are written in it, `note` below it."""

    name: str
    lines: tuple[str, ...]
    kind: NodeKind = "state"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, or from a node to itself; `lines` are written beside it."""

    source: str
    target: str
    kind: EdgeKind
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagram:
    """A diagram; its edges form no cycle, apart from edges of a node to itself. `notes` are written below it."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...] = ()
