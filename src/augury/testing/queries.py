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
    """A variable of the pattern; `part` numbers the negated part it stands in, None for a positive one.

    It is `alone` when it is the one event of that part.
    """

    name: str
    iterated: bool
    part: int | None
    alone: bool = False


@dataclass(slots=True)
class Scope:
    """The variables declared so far; `sets` when an AND binds some of them."""

    lists: bool = True
    reluctant: bool = True
    sets: bool = False
    uses_reluctant: bool = False
    silences: bool = False
    until: bool = False
    variables: list[Declared] = field(default_factory=list)
    parts: int = 0
    ends: list[str] = field(default_factory=list)
    """Conditions on events that end lists."""

    def declare(self, iterated: bool, part: int | None, *, alone: bool = False) -> str:
        name = "abcdefgh"[len(self.variables)]
        self.variables.append(Declared(name, iterated, part, alone))
        return name


@st.composite
def queries(
    draw: st.DrawFn,
    *,
    strategies: Sequence[Strategy] = tuple(Strategy),
    outputs: Sequence[OutputMode] = tuple(mode for mode in OutputMode if not mode.has_timeouts),
    count_windows: bool = True,
    operators: Sequence[str] = ("SEQ", "SEQ", "SEQ", "AND"),
    lists: bool = True,
    steps: bool = True,
    silences: bool = True,
    paces: bool = False,
    until: bool = True,
) -> str:
    """The text of a query that binds; the operator SETS stands for a SEQ whose first part is an AND.

    With `steps`, some steps may have strategies of their own, and lists may end early; with `silences`, there may be
    NOT ... SINCE, NOT ... FOR and WITHIN ... EACH; with `paces`, OUTPUT has EVERY, ONCE or neither; with `until`, lists
    may end UNTIL an event.
    """
    steps = steps and set(strategies) == set(Strategy)
    scope = Scope(lists, reluctant=steps, silences=silences, until=until)
    pattern = draw(_patterns(scope, operators))
    strategy = draw(st.sampled_from(strategies))
    # Few predicates, and wide windows: a query that matches nothing tests little.
    conjuncts = [draw(_predicates(scope.variables)) for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3])))]
    conjuncts += scope.ends
    others = draw(_steps(scope.variables)) if steps and not scope.sets and draw(st.booleans()) else ""
    if "partition_contiguity" in f"{strategy}{others}" or draw(st.integers(0, 3)) == 0:
        conjuncts.insert(0, "[k]")
    where = f"{strategy}{others} {{ {' AND '.join(conjuncts)} }}"
    windows = [st.none(), st.integers(0, 12).map(lambda n: f"{n} seconds")]
    if count_windows:
        windows.append(st.integers(2, 9).map(lambda n: f"{n} EVENTS"))
    window = draw(st.one_of(windows))
    text = f"PATTERN {pattern}\nWHERE {where}"
    each = f"{draw(st.integers(0, 4))} seconds EACH" if silences and draw(st.integers(0, 5)) == 0 else None
    if window is not None or each is not None:
        text += f"\nWITHIN {', '.join(w for w in (window, each) if w is not None)}"
    output = draw(st.sampled_from(outputs))
    totals = draw(_totals([v for v in scope.variables if v.part is None])) if output is OutputMode.COUNT else ""
    pace = (
        draw(st.sampled_from(["", " EVERY 2 seconds", " EVERY 4 seconds", " ONCE"]))
        if paces and output is not OutputMode.COUNT
        else ""
    )
    return f"{text}\nOUTPUT {output}{draw(_skip_to(scope, output))}{pace}{totals}"


@st.composite
def _skip_to(draw: st.DrawFn, scope: Scope, output: OutputMode) -> str:
    if output is not OutputMode.NONOVERLAP_FROM:
        return ""
    v = draw(st.sampled_from([v for v in scope.variables if v.part is None]))
    return f" {v.name}" + (draw(st.sampled_from(["[first]", "[last]", "[1]"])) if v.iterated else "")


@st.composite
def step_queries(
    draw: st.DrawFn,
    *,
    strategies: Sequence[Strategy] = tuple(Strategy),
    outputs: Sequence[OutputMode] = (OutputMode.ALL,),
    steps: bool = True,
    elements: bool = False,
) -> str:
    """Short sequences, mostly of lists, with a strategy per step and few conditions, so that strategies matter.

    Without `steps` there is one strategy for all; with `elements`, some elements are numbered if there is a list.
    """
    scope = Scope(until=True)
    parts = []
    for _ in range(draw(st.sampled_from([2, 2, 3]))):
        types = draw(st.sampled_from(["A", "A", "B", "B", "A|B", ""]))
        if draw(st.sampled_from([True, True, False])):
            name = scope.declare(True, None)
            quantifier = draw(st.sampled_from(["+", "+", "+?", "{1,2}", "{1,2}?", "{2}", "{2,}", "*", "*?"]))
            part = f"{types}{quantifier} {name}[]" if types else f"{name}{quantifier}"
            earlier = [v.name for v in scope.variables if not v.iterated]
            parts.append(part + draw(_until(scope, earlier)))
        else:
            parts.append(f"{types} {scope.declare(False, None)}".strip())
    if draw(st.integers(0, 3)) == 0:
        scope.parts += 1
        name = scope.declare(False, 1, alone=True)
        parts.insert(draw(st.integers(0, len(parts))), f"NOT(C {name})")
    if all("*" in part or part.startswith("NOT") for part in parts):
        parts.append(f"B {scope.declare(False, None)}")
    strategy = draw(st.sampled_from(strategies))
    others = draw(_steps(scope.variables)) if steps else ""
    conjuncts = [draw(_predicates(scope.variables))] if draw(st.integers(0, 3)) == 0 else []
    if elements and any(v.iterated for v in scope.variables):
        conjuncts.append(draw(_numbered_elements(scope.variables)))
    conjuncts += scope.ends
    if "partition_contiguity" in f"{strategy}{others}" or draw(st.integers(0, 5)) == 0:
        conjuncts.insert(0, "[k]")
    window = draw(st.sampled_from(["", "", "\nWITHIN 4 seconds", "\nWITHIN 4 EVENTS"]))
    where = f"WHERE {strategy}{others} {{ {' AND '.join(conjuncts)} }}"
    return f"PATTERN SEQ({', '.join(parts)})\n{where}{window}\nOUTPUT {draw(st.sampled_from(outputs))}"


@st.composite
def group_queries(
    draw: st.DrawFn,
    *,
    outputs: Sequence[OutputMode] = (OutputMode.ALL, OutputMode.ALL, OutputMode.FIRST, OutputMode.LONGEST),
    quantifiers: Sequence[str] = ("+", "+", "*", "{2}", "{1,2}", "{2,}", "+?", "{1,2}?"),
) -> str:
    """Short sequences with a group of single components, lists, optional components and NOTs, and conditions on it."""
    strategy = draw(st.sampled_from((*Strategy, Strategy.SKIP_TILL_NEXT_MATCH)))
    operators = ("SEQ", "SEQ", "SEQ", "OR", *(["AND"] if strategy is Strategy.SKIP_TILL_ANY_MATCH else []))
    operator = draw(st.sampled_from(operators))
    types = draw(st.tuples(*[st.sampled_from(["A", "B", "B", "C", "A|B", "B|C"])] * 2))
    second = draw(st.sampled_from(["", "", "", "+", "?", "{1,2}"])) if operator == "SEQ" else ""
    parts = [f"{types[0]} b", f"{types[1]}{second} c{'[]' if second in ('+', '{1,2}') else ''}"]
    if operator == "SEQ" and draw(st.integers(0, 4)) == 0:
        parts.insert(draw(st.integers(0, 2)), "NOT(C n)")
    quantifier = draw(st.sampled_from(quantifiers))
    before = ("A a", "A a", "A a", "A+ a[]", "")
    after = ("B d", "C d", "B|C d", "NOT(C m), B d", "")
    around = draw(st.tuples(st.sampled_from(before), st.sampled_from(after)).filter(any))
    pattern = ", ".join(
        part for part in (around[0], f"{operator}({', '.join(parts)}){quantifier} g[]", around[1]) if part
    )
    conjuncts = ["[k]"] if strategy is Strategy.PARTITION_CONTIGUITY or draw(st.integers(0, 3)) == 0 else []
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        conjuncts.append(draw(_round_predicates("NOT(C n)" in pattern, iterated=second in ("+", "{1,2}"))))
    window = draw(st.sampled_from(["", "\nWITHIN 6 seconds", "\nWITHIN 6 EVENTS", "\nWITHIN 2 seconds EACH"]))
    where = f"WHERE {strategy} {{ {' AND '.join(conjuncts)} }}"
    output = draw(st.sampled_from(outputs))
    skip_to = draw(st.sampled_from([" g[first]", " g[last]"])) if output is OutputMode.NONOVERLAP_FROM else ""
    return f"PATTERN SEQ({pattern})\n{where}{window}\nOUTPUT {output}{skip_to}"


@st.composite
def _round_predicates(draw: st.DrawFn, negated: bool, *, iterated: bool) -> str:
    """Conditions over rounds of a group `g` of `b` and `c`, which may be a list; with `negated`, on a negated part."""
    operator, n = draw(st.sampled_from(COMPARISONS)), draw(st.integers(0, 3))
    forms = [
        f"g[i].b.x {operator} {n}",
        f"g.b.x {operator} g[i-1].b.x",
        f"g[first].b.x {operator} {n}",
        f"g[last].b.x {operator} g[first].b.x",
        f"g.len {operator} {n}",
        f"sum(g[].b.x) {operator} {n}",
        f"count(g[]) {operator} {n}",
        f"(g[i].b.x {operator} {n} OR g.len > 1)",
    ]
    if iterated:
        forms += [
            f"g[i].c.len {operator} {n}",
            f"g[i].b.x {operator} g[i].c[first].x",
            f"g[i-1].c[last].x {operator} g[i].b.x",
            f"sum(g[i].c[].x) {operator} {n}",
            f"max(g[].c[].x) {operator} {n}",
        ]
    else:
        forms += [
            f"g[i].b.x {operator} g[i].c.x",
            f"g[i].b.x {operator} g[i-1].c.x",
            f"g[last].c.x {operator} {n}",
            f"avg(g[].c.x - g[].b.x) {operator} {n}",
        ]
    if negated:
        forms += [f"g[i].n.x {operator} g[i].b.x", f"g[i].n.x {operator} {n}"]
    return draw(st.sampled_from(forms))


@st.composite
def timeout_queries(draw: st.DrawFn, *, strategies: Sequence[Strategy] = tuple(Strategy), steps: bool = True) -> str:
    """Sequences with a window, and OUTPUT TIMEOUTS or matches with timeouts."""
    outputs = [mode for mode in OutputMode if mode.has_timeouts]
    text = draw(
        step_queries(strategies=strategies, outputs=outputs, steps=steps, elements=draw(st.integers(0, 3)) == 0)
    )
    if "WITHIN" in text:
        return text
    window = draw(st.sampled_from(["WITHIN 2 seconds", "WITHIN 5 seconds", "WITHIN 2 seconds EACH"]))
    return text.replace("\nOUTPUT", f"\n{window}\nOUTPUT")


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
def _steps(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    """Strategies for some of the steps, each after a comma; empty if there is no step."""
    contiguous = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)
    named: dict[Strategy, list[str]] = {}
    for v in variables:
        places = [v.name, *([f"{v.name}[]"] if v.iterated else [])] if v.part is None else [v.name] * v.alone
        for place in places:
            if draw(st.booleans()):
                chosen = draw(st.sampled_from(tuple(Strategy) if v.part is None else contiguous))
                named.setdefault(chosen, []).append(place)
    return "".join(f", {strategy}({', '.join(places)})" for strategy, places in named.items())


@st.composite
def _patterns(draw: st.DrawFn, scope: Scope, operators: Sequence[str]) -> str:
    size = draw(st.sampled_from([1, 2, 2, 2, 3, 3, 4]))
    # One part is always bound, so that a NOT beside it is legal, and no match is empty.
    anchor = draw(st.integers(0, size - 1))
    operator = draw(st.sampled_from(operators))
    if operator in ("SETS", "AND"):
        scope.sets, scope.reluctant = True, False
    if operator == "SETS":
        both = [draw(_components(scope, part=None, loose=False)) for _ in range(2)]
        return (
            f"SEQ(AND({', '.join(both)}), {', '.join(draw(_parts(scope, loose=True)) for _ in range(size - 1 or 1))})"
        )
    scope.silences = scope.silences and operator == "SEQ"
    parts = [draw(_parts(scope, loose=i != anchor, in_sequence=operator == "SEQ")) for i in range(size)]
    return f"{operator}({', '.join(parts)})"


@st.composite
def _parts(draw: st.DrawFn, scope: Scope, *, loose: bool, in_sequence: bool = False) -> str:
    kind = draw(st.sampled_from(["component"] * 6 + ["not"] * 2 + ["group"])) if loose else "component"
    match kind:
        case "component":
            earlier = [v.name for v in scope.variables if v.part is None and not v.iterated] if in_sequence else []
            text = draw(_components(scope, part=None, loose=loose))
            return text + draw(_until(scope, earlier)) if scope.variables[-1].iterated else text
        case "not":
            scope.parts += 1
            first = len(scope.variables)
            size = draw(st.integers(1, 2))
            body = [draw(_components(scope, part=scope.parts, loose=False, alone=size == 1)) for _ in range(size)]
            behind = draw(_behind_not(scope, first)) if scope.silences else ""
            if size == 1:
                return f"NOT({body[0]}){behind}"
            return f"NOT({draw(st.sampled_from(['SEQ', 'AND', 'OR']))}({', '.join(body)})){behind}"
        case _:
            inner = draw(st.sampled_from(["SEQ", "OR"] if scope.uses_reluctant else ["SEQ", "AND", "OR"]))
            if inner == "AND":
                scope.sets, scope.reluctant = True, False
            body = [draw(_components(scope, part=None, loose=False)) for _ in range(2)]
            return f"{inner}({', '.join(body)}){draw(st.sampled_from(['', '?']))}"


@st.composite
def _until(draw: st.DrawFn, scope: Scope, earlier: Sequence[str]) -> str:
    """An UNTIL, perhaps with a condition on its event, or on it and an event before the list; or nothing."""
    if not scope.until or draw(st.integers(0, 3)):
        return ""
    name = f"u{len(scope.variables)}"
    match draw(st.sampled_from(["", "alone", "earlier"])):
        case "alone":
            scope.ends.append(f"{name}.x {draw(st.sampled_from(COMPARISONS))} {draw(st.integers(-1, 3))}")
        case "earlier" if earlier:
            scope.ends.append(f"{name}.x {draw(st.sampled_from(COMPARISONS))} {draw(st.sampled_from(earlier))}.x")
        case _:
            pass
    return f" UNTIL({draw(st.sampled_from([*TYPES, 'A|B']))} {name})"


@st.composite
def _behind_not(draw: st.DrawFn, scope: Scope, before: int) -> str:
    """SINCE one of the variables before a NOT of a SEQ, FOR a duration, or nothing."""
    earlier = [v for v in scope.variables[:before] if v.part is None]
    match draw(st.sampled_from(["", "", "since", "for"])):
        case "since" if earlier:
            v = draw(st.sampled_from(earlier))
            return f" SINCE {v.name}" + (draw(st.sampled_from(["[first]", "[last]"])) if v.iterated else "")
        case "for":
            return f" FOR {draw(st.integers(0, 3))} seconds"
        case _:
            return ""


@st.composite
def _components(draw: st.DrawFn, scope: Scope, *, part: int | None, loose: bool, alone: bool = False) -> str:
    types = draw(st.sampled_from([*TYPES, *TYPES, "A|B", ""]))
    if not scope.lists:
        return f"{types} {scope.declare(False, part, alone=alone)}".strip()
    form = draw(st.sampled_from(["single"] * 3 + ["iterated"] + (["loose", "optional"] if loose else [])))
    match form:
        case "single":
            return f"{types} {scope.declare(False, part, alone=alone)}".strip()
        case "optional":
            name = scope.declare(False, part)
            return f"{types}? {name}" if types else f"{name}?"
        case _:
            name = scope.declare(True, part)
            quantifier = draw(st.sampled_from(LOOSE if form == "loose" else QUANTIFIERS))
            if scope.reluctant and draw(st.integers(0, 3)) == 0:
                quantifier += "?"
                scope.uses_reluctant = True
            return f"{types}{quantifier} {name}[]" if types else f"{name}{quantifier}"


@st.composite
def _predicates(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    simple = draw(st.one_of(_comparisons(variables), _list_predicates(variables)))
    # Besides it only predicates over positive variables: one over two negated parts is not legal.
    other = draw(_comparisons([v for v in variables if v.part is None]))
    constant = draw(st.sampled_from(["1 < 2", "TRUE", "2 < 1"]))
    forms = [simple] * 6 + [f"NOT ({simple})", f"({simple} OR {other})", f"NOT ({simple} OR {other})", constant]
    return draw(st.sampled_from(forms))


@st.composite
def _comparisons(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    """A comparison over one variable, or over two that are not in different negated parts."""
    v = draw(st.sampled_from(variables))
    column = draw(st.sampled_from("xy"))
    left = f"{v.name}.{column}"
    others = [w for w in variables if w is not v and (None in (v.part, w.part) or v.part == w.part)]
    form = draw(
        st.sampled_from(
            ["constant", "other", "other", "arithmetic", "key", "key", "time", "null", "between", "in", "corr"]
        )
    )
    if form in ("other", "arithmetic", "key", "time", "corr") and not others:
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
        case "time":
            w, bound = draw(st.sampled_from(others)).name, draw(st.integers(-2, 5))
            bounds = (
                f"{v.name}.ts - {w}.ts {operator} {bound}",
                f"{v.name}.ts - {w}.ts {operator} {abs(bound)} seconds",
                f"{v.name}.ts {operator} {w}.ts + {bound} seconds",
            )
            return draw(st.sampled_from(bounds))
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
    """A condition over the elements of an iterated variable, or a plain comparison if there is none."""
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
        f"{function}({b.name}[..i].x) {operator} {right}",
        f"{b.name}[1].x {operator} {right}",
        f"{b.name}[last].x {operator} {right}",
        f"{b.name}[{b.name}.len].y {operator} {right}",
        f"{b.name}.len {operator} {n}",
        f"count({b.name}[]) {operator} {right}",
        f"{function}({b.name}[].x) {operator} {right}",
        f"{b.name}[i].x {operator} {b.name}[1].x",
        draw(_numbered_elements(variables)),
    ]
    return draw(st.sampled_from(forms))


@st.composite
def _numbered_elements(draw: st.DrawFn, variables: Sequence[Declared]) -> str:
    """A condition over numbered elements of an iterated variable, which must exist."""
    b = draw(st.sampled_from([v for v in variables if v.iterated]))
    others = [w for w in variables if w is not b and (None in (b.part, w.part) or b.part == w.part)]
    right = draw(st.sampled_from(["0", "1", "2", *(f"{w.name}.x" for w in others)]))
    n, operator = draw(st.integers(2, 3)), draw(st.sampled_from(COMPARISONS))
    forms = [
        f"{b.name}[{n}].x {operator} {right}",
        f"{b.name}[{n}].y {operator} {right}",
        f"{b.name}[3].x {operator} {b.name}[2].x",
        f"{b.name}[{n}].k IS {draw(st.sampled_from(['', 'NOT ']))}NULL",
        f"({b.name}[{n}].k = 'p' OR {b.name}[1].x {operator} {right})",
        f"{b.name}[i].x {operator} {b.name}[{n}].x",
        f"{b.name}[i].x {operator} {b.name}[i-1].x + coalesce({b.name}[{n}].x, 0)",
        f"{b.name}[{n}].x {operator} {b.name}[last].x",
        f"coalesce({b.name}[{n}].ts - {b.name}[1].ts, 0) {operator} 2",
    ]
    return draw(st.sampled_from(forms))
