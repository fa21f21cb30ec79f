"""Random legal queries over the streams of `augury.testing.streams`, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from augury.ir.terms import OutputMode, Strategy
from augury.testing.streams import TYPES

COMPARISONS = ("=", "!=", "<", "<=", "<=", ">", ">=", ">=")
QUANTIFIERS = ("+", "{1,2}", "{2,}", "{2}")
LOOSE = ("*", "{0,2}")


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable of the pattern; `part` numbers the negated part it stands in, None for a positive one."""

    name: str
    iterated: bool
    part: int | None


@dataclass(slots=True)
class Scope:
    """The variables declared so far."""

    lists: bool = True
    variables: list[Declared] = field(default_factory=list)
    parts: int = 0

    def declare(self, iterated: bool, part: int | None) -> str:
        name = "abcdefgh"[len(self.variables)]
        self.variables.append(Declared(name, iterated, part))
        return name


@st.composite
def queries(
    draw: st.DrawFn,
    *,
    strategies: Sequence[Strategy] = tuple(Strategy),
    outputs: Sequence[OutputMode] = tuple(OutputMode),
    count_windows: bool = True,
    operators: Sequence[str] = ("SEQ", "SEQ", "SEQ", "AND"),
    lists: bool = True,
) -> str:
    """The text of a query that binds; an operator SETS stands for a SEQ whose first part is an AND."""
    scope = Scope(lists)
    pattern = draw(_patterns(scope, operators))
    strategy = draw(st.sampled_from(strategies))
    # Few predicates, and wide windows: a query that matches nothing tests little.
    conjuncts = [draw(_predicates(scope.variables)) for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3])))]
    if strategy is Strategy.PARTITION_CONTIGUITY or draw(st.integers(0, 3)) == 0:
        conjuncts.insert(0, "[k]")
    where = f"{strategy} {{ {' AND '.join(conjuncts)} }}"
    windows = [st.none(), st.integers(0, 12).map(lambda n: f"{n} seconds")]
    if count_windows:
        windows.append(st.integers(2, 9).map(lambda n: f"{n} EVENTS"))
    window = draw(st.one_of(windows))
    text = f"PATTERN {pattern}\nWHERE {where}"
    if window is not None:
        text += f"\nWITHIN {window}"
    output = draw(st.sampled_from(outputs))
    totals = draw(_totals([v for v in scope.variables if v.part is None])) if output is OutputMode.COUNT else ""
    return f"{text}\nOUTPUT {output}{totals}"


@st.composite
def _totals(draw: st.DrawFn, positive: Sequence[Declared]) -> str:
    """RETURN of aggregates over all matches of an event, or nothing."""
    items = []
    for k in range(draw(st.sampled_from([0, 1, 2, 4]))):
        v = draw(st.sampled_from(positive))
        read = f"{v.name}[]" if v.iterated else v.name
        forms = [f"{f}({read}.{column})" for f in ("sum", "avg", "min", "max", "count") for column in "xy"]
        forms += [f"min({read}.k)", f"max({read}.k)", f"sum({read}.x * 2 - {read}.y)", f"sum({read}.x) / count()"]
        items.append(f"{draw(st.sampled_from(forms))} AS total_{k}")
    return f"\nRETURN {', '.join(items)}" if items else ""


@st.composite
def _patterns(draw: st.DrawFn, scope: Scope, operators: Sequence[str]) -> str:
    size = draw(st.sampled_from([1, 2, 2, 2, 3, 3, 4]))
    # One part is always bound: a NOT beside it is legal, and no match is empty.
    anchor = draw(st.integers(0, size - 1))
    operator = draw(st.sampled_from(operators))
    if operator == "SETS":
        both = [draw(_components(scope, part=None, loose=False)) for _ in range(2)]
        return (
            f"SEQ(AND({', '.join(both)}), {', '.join(draw(_parts(scope, loose=True)) for _ in range(size - 1 or 1))})"
        )
    parts = [draw(_parts(scope, loose=i != anchor)) for i in range(size)]
    return f"{operator}({', '.join(parts)})"


@st.composite
def _parts(draw: st.DrawFn, scope: Scope, *, loose: bool) -> str:
    kind = draw(st.sampled_from(["component"] * 6 + ["not"] * 2 + ["group"])) if loose else "component"
    match kind:
        case "component":
            return draw(_components(scope, part=None, loose=loose))
        case "not":
            scope.parts += 1
            body = [draw(_components(scope, part=scope.parts, loose=False)) for _ in range(draw(st.integers(1, 2)))]
            inner = draw(st.sampled_from(["SEQ", "AND", "OR"])) if len(body) > 1 else "SEQ"
            return f"NOT({inner}({', '.join(body)}))"
        case _:
            inner = draw(st.sampled_from(["SEQ", "AND", "OR"]))
            body = [draw(_components(scope, part=None, loose=False)) for _ in range(2)]
            return f"{inner}({', '.join(body)})"


@st.composite
def _components(draw: st.DrawFn, scope: Scope, *, part: int | None, loose: bool) -> str:
    types = draw(st.sampled_from([*TYPES, *TYPES, "A|B", ""]))
    if not scope.lists:
        return f"{types} {scope.declare(False, part)}".strip()
    form = draw(st.sampled_from(["single"] * 3 + ["iterated"] + (["loose", "optional"] if loose else [])))
    match form:
        case "single":
            return f"{types} {scope.declare(False, part)}".strip()
        case "optional":
            name = scope.declare(False, part)
            return f"{types}? {name}" if types else f"{name}?"
        case _:
            name = scope.declare(True, part)
            quantifier = draw(st.sampled_from(LOOSE if form == "loose" else QUANTIFIERS))
            return f"{types}{quantifier} {name}[]" if types else f"{name}{quantifier}"


@st.composite
def _predicates(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    simple = draw(st.one_of(_comparisons(variables), _list_predicates(variables)))
    # Beside it a predicate over positive variables only: one over two negated parts would not be legal.
    other = draw(_comparisons([v for v in variables if v.part is None]))
    constant = draw(st.sampled_from(["1 < 2", "TRUE", "2 < 1"]))
    forms = [simple] * 6 + [f"NOT ({simple})", f"({simple} OR {other})", f"NOT ({simple} OR {other})", constant]
    return draw(st.sampled_from(forms))


@st.composite
def _comparisons(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    """Over one variable, or two that are not in different negated parts."""
    v = draw(st.sampled_from(variables))
    column = draw(st.sampled_from("xy"))
    left = f"{v.name}.{column}"
    others = [w for w in variables if w is not v and (None in (v.part, w.part) or v.part == w.part)]
    form = draw(
        st.sampled_from(["constant", "other", "other", "arithmetic", "key", "key", "null", "between", "in", "corr"])
    )
    if form in ("other", "arithmetic", "key", "corr") and not others:
        form = "constant"
    operator = draw(st.sampled_from(COMPARISONS))
    match form:
        case "constant":
            return f"{left} {operator} {draw(st.integers(-1, 3))}"
        case "other":
            return f"{left} {operator} {draw(st.sampled_from(others)).name}.{column}"
        case "arithmetic":
            w = draw(st.sampled_from(others)).name
            sign = draw(st.sampled_from("+-*/%"))
            return f"{left} {sign} {w}.{draw(st.sampled_from('xy'))} {operator} {draw(st.integers(-1, 3))}"
        case "key":
            return f"{v.name}.k = {draw(st.sampled_from(others)).name}.k"
        case "null":
            return f"{left} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
        case "between":
            return f"{left} BETWEEN 0 AND {draw(st.integers(0, 3))}"
        case "corr":
            return (
                f"corr({v.name}.h, {draw(st.sampled_from(others)).name}.h) > {draw(st.sampled_from([-0.5, 0.0, 0.9]))}"
            )
        case _:
            return f"{left} IN (0, 2)"


@st.composite
def _list_predicates(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    """Over the elements of an iterated variable, or else a plain comparison."""
    lists = [v for v in variables if v.iterated]
    if not lists:
        return draw(_comparisons(variables))
    b = draw(st.sampled_from(lists))
    operator = draw(st.sampled_from(COMPARISONS))
    n = draw(st.integers(0, 3))
    function = draw(st.sampled_from(["sum", "avg", "min", "max", "first", "last", "stddev", "count"]))
    others = [w for w in variables if w is not b and (None in (b.part, w.part) or b.part == w.part)]
    right = f"{draw(st.sampled_from(others)).name}.x" if draw(st.booleans()) and others else str(n)
    forms = [
        f"{b.name}[i].x {operator} {b.name}[i-1].x",
        f"{b.name}[i].x {operator} {function}({b.name}[..i-1].x)",
        f"{b.name}[1].x {operator} {right}",
        f"{b.name}[last].x {operator} {right}",
        f"{b.name}[{b.name}.len].y {operator} {right}",
        f"{b.name}.len {operator} {n}",
        f"count({b.name}[]) {operator} {right}",
        f"{function}({b.name}[].x) {operator} {right}",
        f"{b.name}[i].x {operator} {b.name}[1].x",
    ]
    return draw(st.sampled_from(forms))
