"""The products of the compiler's stages as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.cut.portions import why_not_cut
from augury.errors import HostError, names
from augury.explain.layout import aligned, laid_out
from augury.families import FAMILIES, portrait_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, Variable
from augury.ir.text import query_text
from augury.ir.unbind import unbind_query
from augury.planner.describe.words import place, window_text
from augury.printable import one_line, printable
from augury.timing import StageTime

STAGES = ("syntax", "bound", "rewritten", "plan", "kernel")
"""Stages that can be explained, in the order of compilation."""


def explain_program(program: CompiledProgram, stage: str) -> str:
    """`explain_text` of every query of a program."""
    texts = [explain_text(query, stage) for query in program.queries]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"-- query {k} of {len(texts)}\n{text}" for k, text in enumerate(texts, start=1))


def explain_text(
    compiled: CompiledQuery,
    stage: str,
    counters: Mapping[str, int] | None = None,
    times: Sequence[StageTime] = (),
) -> str:
    """One stage of a compiled query, from stored products; nothing is compiled again.

    `counters` of a run are shown beside the plan, and below it `times`, the stages of the call.
    """
    match stage:
        case "syntax":
            text = query_text(compiled.syntax)
        case "bound":
            text = _bound(compiled.bound)
        case "rewritten":
            text = _bound(compiled.rewritten)
        case "plan":
            text = _plan(compiled, counters) + _times(times)
        case "kernel":
            text = _kernel(compiled)
        case _:
            raise unknown_stage(stage)
    # Names of columns and values of parameters may contain control sequences of terminals.
    return printable(text)


def unknown_stage(stage: str) -> HostError:
    """The error for the name of a stage that does not exist."""
    return HostError("A523", f"there is no stage `{one_line(stage, 80)}`", f"stages are {names(STAGES)}")


def _bound(query: BoundQuery) -> str:
    out = [query_text(unbind_query(query)), "", "variables"]
    out += aligned([_variable(v) for v in query.variables])
    out += [
        "",
        f"partition by  {', '.join(query.partition_by) or 'nothing'}",
        f"key           {', '.join(query.key) or 'none'}",
        f"window        {window_text(query)}",
        "",
    ]
    if query.conjuncts:
        out += ["predicates", *aligned([_conjunct(c) for c in query.conjuncts])]
    else:
        out.append("no predicates")
    return "\n".join(out)


def _variable(variable: Variable) -> list[str]:
    kind = "list" if variable.iterated else "single"
    of_group = "" if variable.group is None else f", in each round of {variable.group}"
    kind += (", negated" if variable.negated else "") + of_group
    return [variable.name, "|".join(variable.types) or "any type", kind]


def _conjunct(conjunct: Conjunct) -> list[str]:
    """The predicate, the number of variables it joins, and how it reads lists."""
    arity = {0: "constant", 1: "unary", 2: "pairwise"}.get(len(conjunct.variables), f"{len(conjunct.variables)}-ary")
    notes = [f"{arity} ({', '.join(conjunct.variables)})" if conjunct.variables else arity]
    for variable in conjunct.variables:
        if variable in conjunct.from_second:
            notes.append(f"per element of {variable} from the second on")
        elif variable in conjunct.each:
            notes.append(f"per element of {variable}")
        if variable in conjunct.whole:
            notes.append(f"whole list of {variable}")
        elif variable in conjunct.decided_at:
            notes.append(f"decided with element {conjunct.decided_at[variable]} of {variable}")
    return [str(conjunct), "; ".join(notes)]


def _plan(compiled: CompiledQuery, counters: Mapping[str, int] | None) -> str:
    choice = compiled.choice
    (summary, *_) = (type(choice.plan).__doc__ or "").splitlines()
    out = [f"plan  {choice.plan.family}", f"      {summary}"]
    if choice.cost is not None:
        out.append(f"      {choice.cost:.3g} operations a window are expected.")
    described = laid_out(portrait_of(choice.plan).describe(choice.plan, compiled.kernel, counters))
    out += ["", *described] if described else []
    if compiled.kernel is not None and compiled.kernel.functions:
        head = "registered functions in the kernel, which stays plain Python if one of them does not compile"
        out += ["", head, *(f"  {name}" for name in compiled.kernel.functions)]
    whole = None if compiled.kernel is None else why_not_cut(compiled)
    if whole is not None:
        out += ["", f"one thread matches all events: {whole}"]
    if choice.rivals:
        rivals = sorted(choice.rivals, key=lambda r: list(FAMILIES).index(r.family))
        out += ["", "not chosen"]
        out += aligned([[r.family, r.reason, place(compiled.source, r.span)] for r in rivals])
    return "\n".join(out)


def _times(times: Sequence[StageTime]) -> str:
    if not times:
        return ""
    return "\n\nwhere the time went\n" + "\n".join(aligned([[*row] for row in time_rows(times)]))


def time_rows(times: Sequence[StageTime]) -> list[tuple[str, str, str, str]]:
    """A row for each stage of a call: its name, its seconds, its share of the total, and its events or matches.

    >>> from augury.timing import CallStage
    >>> for row in time_rows([StageTime(CallStage.READING, 0.25, 2000), StageTime(CallStage.PLANNING, 0.75, 0)]):
    ...     print(row)
    ('reading', '0.25 s', '25%', '2,000 events')
    ('planning', '0.75 s', '75%', '')
    ('in all', '1 s', '', '')
    """
    whole = sum(time.seconds for time in times)
    rows = [
        (
            str(time.stage),
            _seconds(time.seconds),
            f"{time.seconds / whole:.0%}",
            _rows(time),
        )
        for time in times
    ]
    return [*rows, ("in all", _seconds(whole), "", "")]


def _rows(time: StageTime) -> str:
    if time.stage.unit is None or not time.rows:
        return ""
    return f"{time.rows:,} {time.stage.unit[time.rows != 1]}"


def _seconds(seconds: float) -> str:
    """
    >>> _seconds(12.3456), _seconds(0.25), _seconds(0.0123), _seconds(0.000423), _seconds(0.000004)
    ('12.3 s', '0.25 s', '12.3 ms', '0.42 ms', '0.00 ms')
    """
    if seconds >= 0.1:
        return f"{seconds:.3g} s"
    return f"{1000 * seconds:.3g} ms" if seconds >= 0.001 else f"{1000 * seconds:.2f} ms"


def _kernel(compiled: CompiledQuery) -> str:
    if compiled.kernel is not None:
        return compiled.kernel.source.text.rstrip("\n")
    family = compiled.choice.plan.family
    return f"The {family} evaluator interprets the query: there is no generated code."
