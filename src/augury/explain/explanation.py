"""The explanation of a query as an object: text, HTML, JSON, Mermaid and a picture."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from augury.compiler import CompiledProgram, CompiledQuery
from augury.explain.mermaid import to_mermaid
from augury.explain.svg import to_svg
from augury.explain.text import explain_program, explain_text, time_rows
from augury.families import FAMILIES, portrait_of
from augury.ir import syntax
from augury.ir.text import part_text
from augury.planner.describe.words import place
from augury.planner.draw.diagram import Diagram, Edge, Node
from augury.timing import StageTime, Stopwatch

DRAWN_STAGES = ("plan", "kernel")
"""Stages shown with the automata of the plan; other stages only show the pattern."""

TIME_COLUMNS = ("left", "right", "right", "right")
"""Alignment of the columns of the times."""


class Explanation(str):
    """The explanation of a query; as a string it is the text that `augury.explain` prints.

    Notebooks show it as a picture with the text below it. `queries` are those of the program. `times` are the stages of
    the call that is explained, if any: they add up to its total time.
    """

    __slots__ = ("_compiled", "_counters", "queries", "stage", "times")

    stage: str
    queries: tuple[syntax.Query, ...]
    _compiled: tuple[CompiledQuery, ...]
    _counters: Mapping[str, int] | None
    times: tuple[StageTime, ...]

    def __new__(
        cls,
        text: str,
        stage: str = "plan",
        queries: tuple[syntax.Query, ...] = (),
        compiled: tuple[CompiledQuery, ...] = (),
        counters: Mapping[str, int] | None = None,
        times: tuple[StageTime, ...] = (),
    ) -> Explanation:
        made = super().__new__(cls, text)
        made.stage, made.queries, made._compiled, made._counters = stage, queries, compiled, counters
        made.times = times
        return made

    def diagrams(self) -> tuple[Diagram, ...]:
        """The pattern of each query, and the automata of its plan."""
        return tuple(self._diagrams())

    def _diagrams(self) -> Iterator[Diagram]:
        for k, query in enumerate(self.queries):
            several = f"query {k + 1} of {len(self.queries)}: " if len(self.queries) > 1 else ""
            yield _pattern(query.pattern, f"{several}pattern")
            if self.stage in DRAWN_STAGES and self._compiled:
                plan = self._compiled[k].choice.plan
                for diagram in portrait_of(plan).draw(plan, self._counters):
                    title = f"{several}{plan.family}, {diagram.title}"
                    yield Diagram(title, diagram.nodes, diagram.edges, diagram.notes)

    def to_svg(self) -> str:
        """The pattern and the automata as one SVG picture."""
        return to_svg(self.diagrams(), "; ".join(part_text(query.pattern) for query in self.queries))

    def to_mermaid(self) -> str:
        """The pattern and the automata as a Mermaid flowchart, for Markdown pages."""
        return to_mermaid(self.diagrams())

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON values: text, diagrams, times, and the cost and the rivals of each plan."""
        return {
            "stage": self.stage,
            "text": str(self),
            "plans": [_plan(compiled) for compiled in self._compiled],
            "diagrams": [asdict(diagram) for diagram in self.diagrams()],
            "times": [{"stage": str(t.stage), "seconds": t.seconds, "rows": t.rows} for t in self.times],
        }

    def _repr_html_(self) -> str:
        tables = _times(self.times) + "".join(map(_rivals, self._compiled)) if self.stage == "plan" else ""
        text = html.escape(str(self))
        return (
            f'<div style="overflow-x:auto">{self.to_svg()}</div>{tables}'
            f"<details><summary>{html.escape(self.stage)} as text</summary><pre>{text}</pre></details>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.stage, self.queries, self._compiled, self._counters, self.times)


def explanation(program: CompiledProgram, stage: str) -> Explanation:
    """One stage of every query of a program."""
    queries = tuple(compiled.syntax for compiled in program.queries)
    return Explanation(explain_program(program, stage), stage, queries, program.queries)


def explanation_of_run(
    compiled: CompiledQuery, stage: str, counters: Mapping[str, int] | None, watch: Stopwatch | None
) -> Explanation:
    """One stage of a query that has run, with its counters beside the estimates, and its times."""
    times = () if watch is None else watch.times()
    text = explain_text(compiled, stage, counters, times)
    return Explanation(text, stage, (compiled.syntax,), (compiled,), counters, times)


def _pattern(pattern: syntax.Part, title: str) -> Diagram:
    """A pattern as a tree: groups and negations with their parts."""
    nodes: list[Node] = []
    edges: list[Edge] = []

    def add(part: syntax.Part) -> str:
        name = f"p{len(nodes)}"
        match part:
            case syntax.Group(operator, parts):
                nodes.append(Node(name, (str(operator),), "part"))
                inner = parts
            case syntax.Negation(body):
                nodes.append(Node(name, ("NOT",), "part"))
                inner = (body,)
            case _:
                nodes.append(Node(name, (part_text(part),), "part"))
                inner = ()
        edges.extend(Edge(name, add(child), "part") for child in inner)
        return name

    add(pattern)
    return Diagram(title, tuple(nodes), tuple(edges))


def _plan(compiled: CompiledQuery) -> dict[str, Any]:
    choice = compiled.choice
    return {
        "query": compiled.source.text,
        "family": choice.plan.family,
        "cost": choice.cost,
        "rivals": [
            {"family": r.family, "reason": r.reason, "place": place(compiled.source, r.span)} for r in choice.rivals
        ],
    }


def _times(times: tuple[StageTime, ...]) -> str:
    """The times of a call, stage by stage, as HTML."""
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td style='text-align:{side}'>{html.escape(text)}</td>"
            for side, text in zip(TIME_COLUMNS, row, strict=True)
        )
        + "</tr>"
        for row in (time_rows(times) if times else ())
    )
    head = "<thead><tr><th style='text-align:left'>where the time went</th><th></th><th></th><th></th></tr></thead>"
    return f"<table>{head}<tbody>{rows}</tbody></table>" if rows else ""


def _rivals(compiled: CompiledQuery) -> str:
    """The plans that were not chosen, with the reasons, as HTML."""
    rivals = sorted(compiled.choice.rivals, key=lambda r: list(FAMILIES).index(r.family))
    rows = "".join(
        f"<tr><td>{html.escape(r.family)}</td><td style='text-align:left'>{html.escape(r.reason)}</td></tr>"
        for r in rivals
    )
    return f"<table><thead><tr><th>not chosen</th><th></th></tr></thead><tbody>{rows}</tbody></table>" if rows else ""
