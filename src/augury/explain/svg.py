"""Diagrams -> one SVG picture, laid out in layers from left to right.

All text is escaped here. Colours are CSS variables with light defaults, so that a page can set its own.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from augury.planner.draw.diagram import Diagram, Edge, EdgeKind, Node
from augury.printable import one_line

LABEL_CHARACTERS = 30
"""Characters of a label after which it is wrapped."""

LABEL_LINES = 12
"""Lines of a label; further ones are left out."""

NOTE_CHARACTERS = 110
"""Characters in a line of notes below a diagram."""

CHARACTER_WIDTH = 6.7  # pixels that a character of a label is wide
LINE_HEIGHT = 15  # pixels from one line of a label to the next
MARGIN = 18  # pixels around the picture
NODE_CHARACTER_WIDTH, NODE_LINE_HEIGHT = 7.8, 18  # pixels of a character and of a line in a node
NODE_HEIGHT, NODE_WIDTH = 42, 42  # pixels of the smallest node
MIN_LAYER_GAP = 46  # pixels between two layers
ROW_GAP = 26  # pixels between two nodes of a layer
PART_HEIGHT, PART_GAP = 28, 8  # pixels of a part of a pattern, and between two of them
CROSSING_GAP = 110  # pixels between two layers whose edges cross
LOOP_HEIGHT = 34  # pixels that an edge from a node to itself rises above it
ARC_DEPTH = 30  # pixels that an edge over a layer bows out, for each layer

COLOURS: dict[EdgeKind, tuple[str, str]] = {
    "begin": ("--augury-take", "#1d4ed8"),
    "take": ("--augury-take", "#1d4ed8"),
    "store": ("--augury-store", "#b45309"),
    "proceed": ("--augury-proceed", "#7c3aed"),
    "ignore": ("--augury-soft", "#5b6675"),
    "link": ("--augury-take", "#1d4ed8"),
    "part": ("--augury-soft", "#5b6675"),
}
"""The CSS variable and the default of the colour of each kind of edge."""

INK, MUTED, BACKGROUND, PANEL = (
    f"var(--augury-{name}, {default})"
    for name, default in (("ink", "#1b2430"), ("soft", "#5b6675"), ("ground", "#ffffff"), ("panel", "#f6f7f9"))
)
SANS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def to_svg(diagrams: Sequence[Diagram], title: str) -> str:
    """The diagrams one below the other, as one picture; `title` is its text for screen readers."""
    canvas = _Canvas()
    top = float(MARGIN)
    for diagram in diagrams:
        top = _draw(canvas, diagram, top) + 2 * MARGIN
    width, height = canvas.right + MARGIN, max(top - MARGIN, 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{_escaped(title, 200)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f'<rect width="100%" height="100%" fill="{BACKGROUND}"/>{"".join(canvas.parts)}</svg>'
    )


@dataclass(slots=True)
class _Canvas:
    """The elements of a picture, and its width so far."""

    parts: list[str] = field(default_factory=list)
    right: float = 0.0

    def text(self, x: float, y: float, text: str, *, anchor: str = "middle", size: int = 13, **style: str) -> None:
        """One line of text, with an outline in the background colour that separates it from lines below."""
        width = len(text) * (CHARACTER_WIDTH if style.get("font") == MONO else NODE_CHARACTER_WIDTH)
        self.right = max(self.right, x + (width if anchor == "start" else width / 2))
        attributes = f' font-weight="{style["weight"]}"' if "weight" in style else ""
        attributes += f' stroke="{BACKGROUND}" stroke-width="4" paint-order="stroke"' if style.get("halo") else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" xml:space="preserve" '
            f'font-family="{style.get("font", SANS)}" fill="{style.get("fill", INK)}"{attributes}>'
            f"{_escaped(text)}</text>"
        )

    def path(self, drawn: str, kind: EdgeKind, *, arrow: tuple[float, float, float, float] | None = None) -> None:
        """A path, optionally with an arrowhead at a point, from a direction."""
        colour, dashes = _colour(kind), ' stroke-dasharray="4 3"' if kind in ("ignore", "part") else ""
        self.parts.append(f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="1.4"{dashes}/>')
        if arrow is not None:
            x, y, dx, dy = arrow
            length = max((dx * dx + dy * dy) ** 0.5, 1e-9)
            dx, dy = dx / length, dy / length
            left = f"{x - 8 * dx + 4 * dy:.1f},{y - 8 * dy - 4 * dx:.1f}"
            right = f"{x - 8 * dx - 4 * dy:.1f},{y - 8 * dy + 4 * dx:.1f}"
            self.parts.append(f'<polygon points="{x:.1f},{y:.1f} {left} {right}" fill="{colour}"/>')


@dataclass(slots=True)
class _Placed:
    """A node with its centre, its size, and the space that edges to itself and its note take around it."""

    node: Node
    width: float
    height: float
    room_above: float
    room_below: float
    room_beside: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


def _draw(canvas: _Canvas, diagram: Diagram, top: float) -> float:
    """Draw one diagram below `top`, and return its bottom."""
    canvas.text(MARGIN, top + 12, diagram.title, anchor="start", weight="600", fill=MUTED)
    placed = _layout(diagram, top + 28)
    crowded = len({p.layer for p in placed.values()}) < len(placed)
    bottoms = [p.bottom + p.room_below for p in placed.values()]
    for edge in diagram.edges:
        source, target = placed[edge.source], placed[edge.target]
        if source is target:
            _loop(canvas, edge, source)
        elif target.layer == source.layer + 1:
            _straight(canvas, edge, source, target, crowded=crowded)
        else:
            bottoms.append(_arc(canvas, edge, source, target))
    for p in placed.values():
        _node(canvas, p)
    bottom = max(bottoms, default=top + 28)
    for note in diagram.notes:
        for k, line in enumerate(wrap(one_line(note, 4 * NOTE_CHARACTERS), NOTE_CHARACTERS)):
            bottom += LINE_HEIGHT
            canvas.text(MARGIN + 14 * bool(k), bottom + 8, line, anchor="start", size=11, font=MONO, fill=MUTED)
    return bottom + (12 if diagram.notes else 0)


# -- places ------------------------------------------------------------------------------------------------------------


def _layout(diagram: Diagram, top: float) -> dict[str, _Placed]:
    """Nodes in layers by the longest path to them, each layer sorted by the sources of its edges."""
    placed = {node.name: _sized(node, diagram.edges) for node in diagram.nodes}
    forward = [e for e in diagram.edges if e.source != e.target]
    for _ in placed:
        for e in forward:
            placed[e.target].layer = max(placed[e.target].layer, placed[e.source].layer + 1)
    layers: defaultdict[int, list[_Placed]] = defaultdict(list)
    for p in placed.values():
        layers[p.layer].append(p)
    x = float(MARGIN)
    for k in sorted(layers):
        beside = max(p.room_beside for p in layers[k])
        for p in layers[k]:
            p.x = x + beside
        leaving = [e for e in forward if placed[e.source].layer == k and placed[e.target].layer == k + 1]
        labels = [max(map(len, _lines(e)), default=0) * CHARACTER_WIDTH + 34 for e in leaving if e.kind != "part"]
        x += 2 * beside + max([MIN_LAYER_GAP, *labels, *([CROSSING_GAP] if len(labels) > 2 else [])])
    # A label stands above its edge: in a single row it may rise above the nodes.
    labels_rise = max([LINE_HEIGHT * len(_lines(e)) + 8 - NODE_HEIGHT / 2 for e in forward], default=0.0)
    single = all(len(layer) == 1 for layer in layers.values())
    gap = PART_GAP if all(node.kind == "part" for node in diagram.nodes) else ROW_GAP
    heights = {k: sum(_height(p) + gap for p in layer) - gap for k, layer in layers.items()}
    tallest = max(heights.values(), default=0.0)
    highest = max((p.room_above for p in placed.values()), default=0.0)
    for k in sorted(layers):
        if single:
            (p,) = layers[k]
            p.y = top + max(highest, labels_rise) + NODE_HEIGHT / 2
            continue
        y = top + max(0.0, labels_rise) / 2 + (tallest - heights[k]) / 2
        for p in sorted(layers[k], key=lambda p: _mean_height(p, forward, placed)):
            p.y = y + p.room_above + p.height / 2
            y += _height(p) + gap
        if k and len(layers[k]) == 1:
            (p,) = layers[k]
            p.y = _mean_height(p, forward, placed)
    return placed


def _height(p: _Placed) -> float:
    return p.room_above + p.height + p.room_below


def _mean_height(p: _Placed, edges: Sequence[Edge], placed: dict[str, _Placed]) -> float:
    """The mean height of the nodes that lead here, as a sort key that makes edges cross less."""
    before = [placed[e.source].y for e in edges if e.target == p.node.name]
    return sum(before) / len(before) if before else 0.0


def _sized(node: Node, edges: Sequence[Edge]) -> _Placed:
    """The size of a node, and the space for edges to itself and for its note."""
    texts = [_cut(line) for line in node.lines]
    width = max([NODE_WIDTH, *(len(text) * NODE_CHARACTER_WIDTH + 22 for text in texts)])
    height = PART_HEIGHT if node.kind == "part" else max(NODE_HEIGHT, len(texts) * NODE_LINE_HEIGHT + 18)
    own = [e for e in edges if e.source == node.name == e.target]
    above = [LOOP_HEIGHT + LINE_HEIGHT * len(_lines(e)) for e in own if e.kind != "ignore"]
    below = [LOOP_HEIGHT + LINE_HEIGHT * len(_lines(e)) for e in own if e.kind == "ignore"]
    labels = [len(line) * CHARACTER_WIDTH for e in own for line in _lines(e)]
    labels.append(len(_cut(node.note)) * CHARACTER_WIDTH)
    beside = max([width, *labels]) / 2
    return _Placed(node, width, height, sum(above), max([0.0, *below]) + (LINE_HEIGHT + 4 if node.note else 0), beside)


def _lines(edge: Edge) -> list[str]:
    """The label of an edge: its kind, then its lines, wrapped."""
    if edge.kind == "part":
        return []
    found = [edge.kind.upper()]
    for line in edge.lines:
        found += wrap(one_line(line), LABEL_CHARACTERS, subsequent_indent="  ")
    return found if len(found) <= LABEL_LINES else [*found[: LABEL_LINES - 1], "…"]


def _cut(text: str) -> str:
    return one_line(text, LABEL_CHARACTERS)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _node(canvas: _Canvas, p: _Placed) -> None:
    shape = f'rx="{min(p.height, p.width) / 2:.1f}"' if p.node.kind != "part" else 'rx="5"'
    strong = "2" if p.node.kind in ("start", "match") else "1.4"
    canvas.parts.append(
        f'<rect x="{p.left:.1f}" y="{p.top:.1f}" width="{p.width:.1f}" height="{p.height:.1f}" {shape} '
        f'fill="{PANEL}" stroke="{INK}" stroke-width="{strong}"/>'
    )
    if p.node.kind == "match":
        # Accepting states have a double line.
        canvas.parts.append(
            f'<rect x="{p.left + 4:.1f}" y="{p.top + 4:.1f}" width="{p.width - 8:.1f}" height="{p.height - 8:.1f}" '
            f'rx="{min(p.height, p.width) / 2 - 4:.1f}" fill="none" stroke="{INK}"/>'
        )
    first = p.y + 4.5 - NODE_LINE_HEIGHT * (len(p.node.lines) - 1) / 2
    for k, line in enumerate(p.node.lines):
        canvas.text(p.x, first + NODE_LINE_HEIGHT * k, _cut(line))
    if p.node.note:
        below = p.bottom + p.room_below - 2
        canvas.text(p.x, below, _cut(p.node.note), size=11, font=MONO, fill=MUTED)
    canvas.right = max(canvas.right, p.x + p.room_beside)


def _label(canvas: _Canvas, edge: Edge, x: float, lowest: float) -> None:
    """The label of an edge centred on `x`, with its last line at `lowest`."""
    lines = _lines(edge)
    for k, line in enumerate(lines):
        y = lowest - LINE_HEIGHT * (len(lines) - 1 - k)
        if k:
            canvas.text(x, y, line, size=11, font=MONO, halo="yes")
        else:
            canvas.text(x, y, line, size=10, font=MONO, halo="yes", weight="700", fill=_colour(edge.kind))


def _straight(canvas: _Canvas, edge: Edge, source: _Placed, target: _Placed, *, crowded: bool) -> None:
    """An edge to the next layer; where edges cross, its label is a single line on top of it."""
    x1, y1, x2, y2 = source.right, source.y, target.left, target.y
    if edge.kind == "part":
        middle = (x1 + x2) / 2
        curve = f"M{x1:.1f},{y1:.1f} C{middle:.1f},{y1:.1f} {middle:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
        canvas.path(curve, edge.kind)
        return
    canvas.path(f"M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}", edge.kind, arrow=(x2, y2, x2 - x1, y2 - y1))
    if crowded:
        text = _cut(", ".join(edge.lines) or edge.kind)
        half = len(text) * CHARACTER_WIDTH / 2 + 3
        canvas.parts.append(
            f'<rect x="{(x1 + x2) / 2 - half:.1f}" y="{(y1 + y2) / 2 - 8:.1f}" width="{2 * half:.1f}" height="16" '
            f'fill="{BACKGROUND}"/>'
        )
        canvas.text((x1 + x2) / 2, (y1 + y2) / 2 + 4, text, size=11, font=MONO, fill=_colour(edge.kind))
    else:
        middle = (source.x + source.room_beside + target.x - target.room_beside) / 2
        _label(canvas, edge, middle, (y1 + y2) / 2 - 7)


def _loop(canvas: _Canvas, edge: Edge, p: _Placed) -> None:
    """An edge from a node to itself, below it for ignored events, else above."""
    sign = 1 if edge.kind == "ignore" else -1
    edge_of_node = p.bottom if sign > 0 else p.top
    far = edge_of_node + sign * LOOP_HEIGHT
    x1, x2 = p.x - 11, p.x + 11
    canvas.path(
        f"M{x1:.1f},{edge_of_node:.1f} C{x1 - 14:.1f},{far:.1f} {x2 + 14:.1f},{far:.1f} {x2:.1f},{edge_of_node:.1f}",
        edge.kind,
        arrow=(x2, edge_of_node, -0.35, -sign),
    )
    lowest = far + 4 + LINE_HEIGHT * (len(_lines(edge)) - 1) + 6 if sign > 0 else far + 4
    _label(canvas, edge, p.x, lowest)


def _arc(canvas: _Canvas, edge: Edge, source: _Placed, target: _Placed) -> float:
    """An edge that skips layers, as an arc below them; returns the bottom of its label."""
    y1, y2 = source.bottom + source.room_below, target.bottom + target.room_below
    low = max(y1, y2) + ARC_DEPTH * (target.layer - source.layer)
    x1, x2, middle = source.x + 6, target.x - 6, (source.x + target.x) / 2
    canvas.path(
        f"M{x1:.1f},{source.bottom:.1f} C{x1:.1f},{low:.1f} {x2:.1f},{low:.1f} {x2:.1f},{target.bottom:.1f}",
        edge.kind,
        arrow=(x2, target.bottom, 0.0, -1.0),
    )
    reached = (source.bottom + target.bottom) / 2 * 0.25 + low * 0.75
    end = reached + 14 + LINE_HEIGHT * (len(_lines(edge)) - 1)
    _label(canvas, edge, middle, end)
    return end + 6


def _colour(kind: EdgeKind) -> str:
    name, default = COLOURS[kind]
    return f"var({name}, {default})"


def _escaped(text: str, longest: int = 4 * NOTE_CHARACTERS) -> str:
    return html.escape(one_line(text, longest))
