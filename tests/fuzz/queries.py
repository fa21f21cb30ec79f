"""Random query text by the grammar, most of which passes the front end, and random streams for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa

from augury.ir.terms import OutputMode, Strategy

COLUMNS = {
    "x": "number",
    "y": "number",
    "k": "number",
    "s": "string",
    "b": "boolean",
    "t": "time",
    "d": "duration",
    "l": "list",
    "odd name": "number",
    "n": "null",
}
TYPES = ("A", "B", "C", "D", "A", "B", "`odd type`")
WINDOWS = (
    *("5 seconds", "3 seconds", "1 minute", "4 EVENTS", "9 EVENTS", "w", "0 s"),
    *("2 seconds EACH", "5 seconds, 2 seconds EACH", "4 EVENTS, w EACH"),
)
PLANS = (*[None] * 42, "reference", "eager-nfa", "lazy-chain", "lazy-tree", "event-sets", "linked", "lossy")


@dataclass(slots=True)
class Scope:
    """The variables that a pattern has declared so far."""

    single: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    negated: list[str] = field(default_factory=list)
    groups: list[tuple[str, Scope]] = field(default_factory=list)
    count: int = 0

    def declare(self, iterated: bool, negated: bool) -> str:
        name = f"v{self.count}" if self.count % 7 else "ab"[self.count // 7 % 2] * (1 + self.count // 14)
        self.count += 1
        (self.negated if negated else self.lists if iterated else self.single).append(name)
        return name


def program(chance: Random) -> str:
    """One query, or several, and now and then text with a mistake in it."""
    queries = [
        query(chance, derived=k == 0 and chance.random() < 0.9) for k in range(2 if chance.random() < 0.06 else 1)
    ]
    text = ";\n".join(queries)
    return _mistaken(chance, text) if chance.random() < 0.09 else text


def query(chance: Random, derived: bool = False) -> str:
    """A query that binds, most of the time."""
    if chance.random() < 0.05:
        return _lossy_query(chance)
    scope = Scope()
    pattern = _pattern(chance, scope)
    text = [f"PATTERN {pattern}"]
    strategy = chance.choice(list(Strategy))
    conditions = [_condition(chance, scope) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
    steps = _steps(chance, scope)
    if Strategy.PARTITION_CONTIGUITY in f"{strategy}{steps}" or chance.random() < 0.2:
        conditions.insert(0, chance.choice(["[k]", "[s]", "[b]", "[k] AND [s]"]))
    if conditions or chance.random() < 0.8:
        text.append(f"WHERE {strategy}{steps} {{ {' AND '.join(conditions)} }}")
    if chance.random() < 0.75:
        text.append(f"WITHIN {chance.choice(WINDOWS)}")
    if chance.random() < 0.01:
        text.append(f"THRESHOLD {chance.choice(['0.5', '0.01', '90%', '2'])}")
    if chance.random() < 0.6:
        text.append(f"OUTPUT {_output(chance, scope, windowed='WITHIN' in text[-1])}")
    if chance.random() < 0.35:
        items = [f"{_returned(chance, scope, text[-1])} AS r{i}" for i in range(chance.randint(1, 3))]
        if scope.single and chance.random() < 0.1:
            items.append(f"{scope.single[0]}.*")
        text.append(f"RETURN {', '.join(items)}{' INTO Derived' if derived and chance.random() < 0.3 else ''}")
    return "\n".join(text)


def _steps(chance: Random, scope: Scope) -> str:
    """Now and then strategies of single steps, behind that of all."""
    if chance.random() < 0.75:
        return ""
    lists = [*scope.lists, *(group for group, _ in scope.groups)]
    places = [*scope.single, *lists, *(f"{name}[]" for name in lists), *scope.negated]
    named: dict[Strategy, list[str]] = {}
    for place in chance.sample(places, min(len(places), chance.randint(1, 3))):
        strategies = list(Strategy)[: 2 if place in scope.negated else None]
        named.setdefault(chance.choice(strategies), []).append(place)
    return "".join(f", {strategy}({', '.join(of)})" for strategy, of in named.items())


def _output(chance: Random, scope: Scope, *, windowed: bool) -> str:
    """A mode of OUTPUT, and now and then how far apart matches are to be."""
    fits = [m for m in OutputMode if windowed or not m.has_timeouts]
    mode = chance.choice(fits if chance.random() < 0.97 else list(OutputMode))
    text = str(mode)
    if (mode is OutputMode.COUNT or mode.has_timeouts) and chance.random() < 0.97:
        return text
    if mode is OutputMode.NONOVERLAP_FROM:
        places = [*scope.single, *(f"{name}{chance.choice(['[first]', '[last]'])}" for name in scope.lists)]
        text = f"{text} {chance.choice(places)}" if places else text
    return text + chance.choice([*[""] * 8, " EVERY 5 seconds", " EVERY w", " ONCE"])


def _lossy_query(chance: Random) -> str:
    """A query over a lossy stream."""
    scope = Scope()
    parts = []
    for k in range(chance.randint(2, 4)):
        negated = k > 0 and chance.random() < 0.3
        component = f"{chance.choice(TYPES)} {scope.declare(False, negated)}"
        parts.append(f"NOT({component})" if negated else component)
    key = chance.choice(["[k]", "[s]", f"{scope.single[0]}.x > 0", ""])
    where = f"WHERE skip_till_any_match {{ {key} }}"
    return f"PATTERN SEQ({', '.join(parts)})\n{where}\nWITHIN 5 seconds\nTHRESHOLD {chance.choice(['0.5', '0.01'])}"


def _returned(chance: Random, scope: Scope, before: str) -> str:
    """An item of RETURN: of what is bound, and one value."""
    if chance.random() < 0.05:
        return _number(chance, scope, 2)
    column = _column(chance, "number")
    if before == f"OUTPUT {OutputMode.COUNT}":
        read = f"{scope.lists[0]}[]" if scope.lists else scope.single[0]
        return chance.choice(["count()", f"sum({read}.{column})", f"avg({read}.{column}) + 1", f"max({read}.{column})"])
    if scope.lists and (chance.random() < 0.5 or not scope.single):
        name = chance.choice(scope.lists)
        forms = [f"{name}[first].{column}", f"avg({name}[].{column})", f"{name}.len", f"{name}.{_column(chance)}"]
        return chance.choice([*forms, f"sum({name}[..i].{column})", f"{name}[2].{column}"])
    name = chance.choice(scope.single)
    return chance.choice([f"{name}.{_column(chance)}", f"{name}.{column} * 2", f"twice({name}.{column})"])


def _pattern(chance: Random, scope: Scope) -> str:
    operator = chance.choice(["SEQ", "SEQ", "SEQ", "SEQ", "AND", "OR"])
    size = chance.choice([1, 2, 2, 2, 3, 3, 4, 5])
    # One part is always bound: a NOT beside it is legal, and no match is empty.
    anchor = chance.randrange(size)
    parts = []
    for k in range(size):
        firm = operator == "OR" or k == anchor or chance.random() < 0.03
        parts.append(_component(chance, scope, False, firm=True) if firm else _part(chance, scope, 0))
    return f"{operator}({', '.join(parts)})"


def _part(chance: Random, scope: Scope, depth: int, negated: bool = False) -> str:
    roll = chance.random()
    if chance.random() < 0.05 and not negated:
        return _group(chance, scope, depth)
    if roll < 0.72 or depth > 2:
        return _component(chance, scope, negated)
    if roll < 0.86 and not negated and not depth:
        body = _part(chance, scope, depth + 1, negated=True)
        return f"{'!' if body.startswith('SEQ') and chance.random() < 0.5 else 'NOT'}({body}){_looks(chance, scope)}"
    parts = [_component(chance, scope, negated, firm=True)]
    parts += [_part(chance, scope, depth + 1, negated) for _ in range(chance.randint(0, 2))]
    return f"{chance.choice(['SEQ', 'AND', 'OR'])}({', '.join(parts)})"


def _group(chance: Random, scope: Scope, depth: int) -> str:
    """A part that is repeated; what it binds is read through its name."""
    inside = Scope(count=scope.count)
    parts = [_component(chance, inside, False, firm=True)]
    parts += [_part(chance, inside, depth + 1) for _ in range(chance.randint(0, 2))]
    scope.count = inside.count
    text = f"{chance.choice(['SEQ', 'SEQ', 'SEQ', 'OR', 'AND'])}({', '.join(parts)})"
    if chance.random() < 0.15:
        return f"{text}?"
    name = f"g{len(scope.groups)}"
    scope.groups.append((name, inside))
    return f"{text}{chance.choice(['+', '*', '{2}', '{1,3}', '{2,}', '+?', '{1,2}?'])} {name}[]"


def _looks(chance: Random, scope: Scope) -> str:
    """How long, or from where on, a negated part is looked for, if that is said."""
    roll = chance.random()
    if roll < 0.15:
        return f" FOR {chance.choice(['2 seconds', '1 second', 'w'])}"
    if roll < 0.3 and (scope.single or scope.lists):
        return f" SINCE {chance.choice([*scope.single, *(f'{name}[first]' for name in scope.lists)])}"
    return ""


def _component(chance: Random, scope: Scope, negated: bool, *, firm: bool = False) -> str:
    types = chance.choice([chance.choice(TYPES), chance.choice(TYPES), "A|B", "C|`odd type`|D", ""])
    quantifier = chance.choice(["", "", "", "", "", "+", "{2}", "{1,3}", "{2,}"] + ["*", "?", "{0,2}"] * (not firm))
    iterated = quantifier not in ("", "?")
    if iterated and chance.random() < 0.15:
        quantifier += "?"
    name = scope.declare(iterated, negated)
    if not types:
        return f"{name}{quantifier}[]" if iterated else name
    until = f" UNTIL({chance.choice(TYPES)} {scope.declare(False, True)})" if iterated and chance.random() < 0.1 else ""
    return f"{types}{quantifier} {name}{'[]' if iterated else ''}{until}"


def _column(chance: Random, kind: str | None = None) -> str:
    names = [name for name, has in COLUMNS.items() if kind is None or has == kind]
    name = chance.choice(names)
    return f"`{name}`" if " " in name else name


def _read(chance: Random, scope: Scope, kind: str | None) -> str:
    """An attribute of a variable, mostly of the wanted kind."""
    column = _column(chance, kind if chance.random() < 0.97 else None)
    if scope.groups and chance.random() < 0.4:
        group, inside = chance.choice(scope.groups)
        index = chance.choice(["[i]", "[i-1]", "[first]", "[last]", "[]", "[2]", ""])
        return f"{group}{index}.{_read(chance, inside, kind)}"
    pool = [*scope.single, *scope.negated] * 2 + scope.lists
    if not pool:
        return "0"
    name = chance.choice(pool)
    if name in scope.lists:
        index = chance.choice(["[i]", "[i-1]", "[first]", "[last]", "[1]", "[2]", "", f"[{name}.len]"])
        return f"{name}{index}.{column}"
    return f"{name}.{column}"


def _number(chance: Random, scope: Scope, depth: int = 0) -> str:
    roll = chance.random()
    if roll < 0.5 or depth > 3:
        return _read(chance, scope, "number")
    if roll < 0.62:
        return chance.choice(["0", "1", "2.5", "-3", "9223372036854775807", "1e308", "p", "q", "10%"])
    if roll < 0.75 and scope.lists:
        name, column = chance.choice(scope.lists), _column(chance, "number")
        forms = [f"{name}[].{column}", f"{name}[..i-1].{column}", f"{name}[..i].{column}", f"{name}[].{column} * 2"]
        inner = chance.choice(forms)
        return f"{chance.choice(['sum', 'avg', 'min', 'max', 'count', 'stddev', 'first', 'last'])}({inner})"
    if roll < 0.8 and (named := [*scope.lists, *(group for group, _ in scope.groups)]):
        return f"{chance.choice(named)}.len"
    if scope.groups and chance.random() < 0.3:
        group, inside = chance.choice(scope.groups)
        return f"{chance.choice(['sum', 'count', 'max'])}({group}[].{_read(chance, inside, 'number')})"
    if roll < 0.9:
        sides = _number(chance, scope, depth + 1), _number(chance, scope, depth + 1)
        return f"({sides[0]} {chance.choice('+-*/%')} {sides[1]})"
    one = _number(chance, scope, depth + 1)
    two = _number(chance, scope, depth + 1)
    return chance.choice(
        [
            f"abs({one})",
            f"sqrt({one})",
            f"exp({one})",
            f"ln({one})",
            f"floor({one})",
            f"round({one}, 2)",
            f"least({one}, {two})",
            f"coalesce({one}, {two})",
            f"length({_read(chance, scope, chance.choice(['string', 'list']))})",
            f"corr({_read(chance, scope, 'list')}, {_read(chance, scope, 'list')})",
            f"twice({one})",
        ]
    )


def _condition(chance: Random, scope: Scope, depth: int = 0) -> str:
    roll = chance.random()
    compare = chance.choice(["=", "!=", "<", "<=", ">", ">=", "<>"])
    if roll < 0.45 or depth > 2:
        return f"{_number(chance, scope)} {compare} {_number(chance, scope)}"
    if roll < 0.55:
        right = chance.choice([_read(chance, scope, "string"), "'x'", "'it''s'", "name", "lower('Y')"])
        return f"{_read(chance, scope, 'string')} {compare} {right}"
    if roll < 0.62:
        right = chance.choice(
            [_read(chance, scope, "time"), "'2026-01-01'", "since", f"{_read(chance, scope, 'time')} + 1 s"]
        )
        return f"{_read(chance, scope, 'time')} {compare} {right}"
    if roll < 0.67:
        left, right = _read(chance, scope, "time"), _read(chance, scope, "time")
        return f"{left} - {right} {compare} {chance.choice(['5 seconds', 'w', _read(chance, scope, 'duration')])}"
    if roll < 0.73:
        return f"{_read(chance, scope, None)} IS {chance.choice(['', 'NOT '])}NULL"
    if roll < 0.79:
        return f"{_read(chance, scope, 'number')} {chance.choice(['', 'NOT '])}IN (1, 2, {_number(chance, scope, 2)})"
    if roll < 0.83:
        return f"{_read(chance, scope, 'number')} BETWEEN {_number(chance, scope, 2)} AND {_number(chance, scope, 2)}"
    if roll < 0.87:
        return f"{_read(chance, scope, 'boolean')}{chance.choice(['', ' = true', ' != false'])}"
    if roll < 0.9:
        both = f"picky({_number(chance, scope, 2)}, {_number(chance, scope, 2)})"
        return chance.choice([both, f"likes({_read(chance, scope, 'string')})"])
    sides = _condition(chance, scope, depth + 1), _condition(chance, scope, depth + 1)
    return chance.choice([f"({sides[0]} OR {sides[1]})", f"NOT ({sides[0]})", f"({sides[0]} AND {sides[1]})"])


def _mistaken(chance: Random, text: str) -> str:
    """The text with a few of its characters or words changed."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        to = min(len(text), at + chance.randint(0, 6))
        put = chance.choice(
            ["", "", "(", ")", "'", "`", "NOT(", "\r\n", "\0", "é", "\u2028", "{", "--", "/*", "9" * 30, "b[i]"]
        )
        text = text[:at] + put + text[to:] if chance.random() < 0.7 else text[:to] + text[at:to] * 2 + text[to:]
    return text


# -- streams and options -----------------------------------------------------------------------------------------------


def stream(chance: Random, size: int | None = None) -> pa.Table:
    """A stream of a few events, with nulls, ties and extreme values."""
    count = chance.choice([0, 1, 5, 12, 12, 20]) if size is None else size
    times = [chance.randrange(0, 1 + count) for _ in range(count)]
    if chance.random() < 0.7:
        times.sort()
    extreme = chance.random() < 0.1

    def some(values: list[Any]) -> list[Any]:
        return [chance.choice(values) for _ in range(count)]

    moments = [f"2026-01-01T00:00:{t:02}" for t in times]
    whole = [0, 1, 2, 3, None] + ([2**63 - 1, -(2**63)] if extreme else [])
    real = [0.0, 0.5, 1.5, None, float("nan")] + ([float("inf"), 1e308, -0.0] if extreme else [])
    return pa.table(
        {
            "ts": pa.array(moments)
            if chance.random() < 0.2
            else pa.array(times, chance.choice([pa.int64(), pa.float64()])),
            "type": pa.array(some(["A", "B", "C", "D", "odd type", "A", "B"] + [None] * (chance.random() < 0.1))),
            "x": pa.array(some(whole), pa.int64()),
            "y": pa.array(some(real), pa.float64()),
            "k": pa.array(some([1, 2, None]), pa.int32()),
            "s": pa.array(some(["x", "y", "it's", "", None, "ß"]), chance.choice([pa.string(), pa.large_string()])),
            "b": pa.array(some([True, False, None]), pa.bool_()),
            "t": pa.array(some([0, 1, 10**9, None]), pa.int64()).cast(pa.timestamp(chance.choice(["s", "ms"]))),
            "d": pa.array(some([0, 1, 10, None]), pa.int64()).cast(pa.duration(chance.choice(["s", "ns"]))),
            "l": pa.array(some([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [], None, [1.0, None, 2.0]]), pa.list_(pa.float64())),
            "odd name": pa.array(some(whole), pa.int64()),
            "n": pa.nulls(count),
        }
    )


def parameters(chance: Random) -> dict[str, Any]:
    """Values of the bare names that queries use; now and then one is missing, or of another kind."""
    given = {
        "p": chance.choice([1, 0.5, -(2**63), float("inf")]),
        "q": chance.choice([2, 1e300]),
        "w": chance.choice(["5 seconds", 7, "1 hour"]),
        "name": chance.choice(["x", 'bob\r                print("PWNED")#', "it's", "\u2028", ""]),
        "since": chance.choice(["2026-01-01T00:00:03", "1970-01-01"]),
    }
    if chance.random() < 0.05:
        given[chance.choice(list(given))] = chance.choice([None, [], "x", 1, True, b"x", "\0", 10**40])
    return given


def twice(x: float) -> float:
    return 2 * x


def picky(x: float, y: float) -> bool:
    if x > 2:
        raise ValueError("picky")
    return x < y


def likes(value: str) -> bool:
    if value == "y":
        raise KeyError(value)
    return value != "x"


FUNCTIONS = {"twice": twice, "picky": picky, "likes": likes}


def options(chance: Random) -> dict[str, Any]:
    """How the query is run."""
    given: dict[str, Any] = {
        "plan": chance.choice(PLANS),
        "parameters": parameters(chance),
        "functions": FUNCTIONS,
        "jit": False,
        "max_matches": chance.choice([3, 500, 500]),
        "max_partial_matches": 3_000,
    }
    if chance.random() < 0.2:
        given["compressed"] = True
    if chance.random() < 0.2:
        given["counters"] = True
    if chance.random() < 0.1:
        given["merge"] = False
    if chance.random() < 0.04 and given["plan"] is None:
        given["negation"] = chance.choice(["first-chance", "post-processing"])
    return given
