"""Groups against SEMANTICS section 10: the pattern written out once, twice, ..., and what the gap may hold."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import pyarrow as pa
import pytest

from augury.ir.terms import Strategy
from augury.testing.evaluate import compiled, reference_matches
from augury.testing.streams import SCHEMA
from tests.thorough import rounds

NEXT, ANY = Strategy.SKIP_TILL_NEXT_MATCH, Strategy.SKIP_TILL_ANY_MATCH
STRICT, PARTITION = Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY

MOST_ROUNDS = 4
"""How often patterns are written out; matches with more rounds are left out of the comparison."""


@dataclass(frozen=True, slots=True)
class Body:
    """The part that is repeated, its operator and its variables."""

    operator: str
    parts: str
    variables: tuple[str, ...]

    def round(self, n: int) -> str:
        """The part as round `n` is written, with variables of its own."""
        numbered = re.sub(r"\b([bcn])\b", rf"\g<1>{n}", self.parts)
        return f"{self.operator}({numbered})"


BODIES = (
    Body("SEQ", "B b", ("b",)),
    Body("SEQ", "B b, C c", ("b", "c")),
    Body("SEQ", "B b, C+ c[]", ("b", "c")),
    Body("SEQ", "B+ b[], C c", ("b", "c")),
    Body("SEQ", "B b, C? c", ("b", "c")),
    Body("SEQ", "B b, NOT(A n), C c", ("b", "c")),
    Body("OR", "B b, C c", ("b", "c")),
    Body("SEQ", "A|B b, B|C c", ("b", "c")),
)
BOUNDS = {"+": (1, None), "*": (0, None), "{2}": (2, 2), "{1,2}": (1, 2), "{2,}": (2, None), "+?": (1, None)}
AROUND = (("A a", "D d"), ("A a", "B|D d"), ("A a", ""), ("", "D d"), ("A+ a[]", "D+ d[]"))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition through the group, and what it is with so many rounds written out; `whole` if over all of them."""

    text: str
    written: Callable[[int], list[str]]
    whole: bool = False


CONDITIONS = (
    Condition("[k]", lambda _: ["[k]"]),
    Condition("g[i].b.x <= g[i].c.x", lambda k: [f"b{n}.x <= c{n}.x" for n in range(1, k + 1)]),
    Condition("g[i].b.x >= g[i-1].c.x", lambda k: [f"b{n}.x >= c{n - 1}.x" for n in range(2, k + 1)]),
    Condition("g[first].b.x > 0", lambda k: ["b1.x > 0"] if k else []),
    Condition("g[last].c.x > 0", lambda k: [f"c{k}.x > 0"] if k else [], whole=True),
    Condition(
        "sum(g[].c.x) > 1", lambda k: [" + ".join(f"c{n}.x" for n in range(1, k + 1)) + " > 1"] if k else [], True
    ),
    Condition("g.len = 2", lambda k: [f"{k} = 2"] if k else [], whole=True),
)


def written_out(body: Body, before: str, after: str, k: int) -> str:
    parts = [part for part in (before, *(body.round(n) for n in range(1, k + 1)), after) if part]
    return f"SEQ({', '.join(parts)})"


def rows_of(text: str, events: pa.Table) -> Iterator[dict[str, tuple[int, ...]]]:
    """The matches of a query, by the rows of each variable."""
    query = compiled(text, events).bound
    names = [v.name for v in query.variables if not v.negated]
    for found in reference_matches(query, events):
        yield dict(zip(names, found.rows, strict=True))


def folded(match: dict[str, tuple[int, ...]], body: Body, k: int) -> dict[str, tuple[int, ...]]:
    """A match of the pattern written out, as the group binds it."""
    found: dict[str, tuple[int, ...]] = {v: match[v] for v in ("a", "d") if v in match}
    per_round = [[match.get(f"{v}{n}", ()) for v in body.variables] for n in range(1, k + 1)]
    found["g"] = tuple(min(row for own in events for row in own) for events in per_round)
    for i, v in enumerate(body.variables):
        found[v] = tuple(row for events in per_round for row in events[i])
    return found


def has_further(match: dict[str, tuple[int, ...]], longer: list[dict[str, tuple[int, ...]]]) -> bool:
    """Whether a longer list of rounds has the same events so far, and all others of it before what follows."""
    after = match.get("d", ())
    if not after or not longer:
        return False
    so_far = {v: own for v, own in match.items() if v != "d" and own}
    last = max(row for own in so_far.values() for row in own)
    for other in longer:
        new = [row for v, own in other.items() if v not in so_far for row in own]
        if all(other.get(v) == own for v, own in so_far.items()) and new and last < min(new) <= max(new) < after[0]:
            return True
    return False


def check(
    body: Body, bounds: str, around: tuple[str, str], strategy: Strategy, chosen: list[Condition], events: pa.Table
) -> None:
    before, after = around
    low, high = BOUNDS[bounds]
    if low == 0 and not (before or after):
        return
    inner = [part for part in (before, f"{body.operator}({body.parts}){bounds} g[]", after) if part]
    text = f"PATTERN SEQ({', '.join(inner)}) WHERE {strategy} {{ {' AND '.join(c.text for c in chosen)} }}"

    def where(k: int, *, whole: bool) -> str:
        parts = [part for c in chosen if whole or not c.whole for part in c.written(k)]
        return f"WHERE {strategy} {{ {' AND '.join(parts)} }}"

    expected = []
    for k in range(low, min(high or MOST_ROUNDS, MOST_ROUNDS) + 1):
        if k == 0 and not (before or after):
            continue
        longer: list[dict[str, tuple[int, ...]]] = []
        if strategy is not ANY and bounds != "+?" and k != high and k > 0:
            # What must be absent does not take part in selection.
            positive = replace(body, parts=body.parts.replace("NOT(A n), ", ""))
            prefix = written_out(positive, before, "", k + 1)
            longer = list(rows_of(f"PATTERN {prefix} {where(k + 1, whole=False)}", events))
        for match in rows_of(f"PATTERN {written_out(body, before, after, k)} {where(k, whole=True)}", events):
            if not has_further(match, longer):
                expected.append(folded(match, body, k))
    names = [v for v in ("a", "g", *body.variables, "d") if v != "a" or before if v != "d" or after]
    found = {tuple(m[v] for v in names) for m in rows_of(text, events) if len(m["g"]) <= MOST_ROUNDS}
    assert found == {tuple(match.get(v, ()) for v in names) for match in expected}, text


def some_stream(chance: random.Random, types: str, size: int) -> pa.Table:
    rows = [
        {"ts": n, "type": chance.choice(types), "k": chance.choice("pppq"), "x": chance.randrange(3)}
        for n in range(size)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_every_quantifier_strategy_and_place(body: Body) -> None:
    chance = random.Random(str(body))
    conditions = CONDITIONS[1:] if body.parts in ("B b, C c", "A|B b, B|C c") and body.operator == "SEQ" else ()
    for bounds, strategy, around in chance.sample([*product(BOUNDS, Strategy, AROUND)], rounds(15, 120)):
        for _ in range(rounds(1, 30)):
            chosen = [CONDITIONS[0]] if strategy is PARTITION or chance.random() < 0.5 else []
            chosen += chance.sample(conditions, chance.choice((0, 0, 1, 2)) if conditions else 0)
            check(body, bounds, around, strategy, chosen, some_stream(chance, "AABBBCCCD", 8))


def test_and_under_skip_till_any_match() -> None:
    chance = random.Random(1)
    body = Body("AND", "B b, C c", ("b", "c"))
    for bounds, around in product(BOUNDS, AROUND):
        for _ in range(rounds(2, 30)):
            check(body, bounds, around, ANY, [], some_stream(chance, "ABBCCD", 7))


STEPS = {
    "skip_till_any_match, {0}(g)": "skip_till_any_match, {0}(b1)",
    "skip_till_any_match, {0}(g[])": "skip_till_any_match, {0}(b2, b3)",
    "skip_till_next_match, {0}(c), {1}(g[])": "skip_till_next_match, {0}(c1, c2, c3), {1}(b2, b3)",
    "skip_till_next_match, {0}(d), {1}(g)": "skip_till_next_match, {0}(d), {1}(b1)",
}


@pytest.mark.parametrize("steps", STEPS)
def test_steps_that_differ(steps: str) -> None:
    """Of three rounds, so that all steps are there: which gap each strategy of a group is about."""
    chance = random.Random(steps)
    body = BODIES[1]
    for pair in product(Strategy, repeat=2):
        where, written = (text.format(*pair) for text in (steps, STEPS[steps]))
        for _ in range(rounds(6, 60)):
            events = some_stream(chance, "ABBCCD", 9)
            text = f"PATTERN SEQ(A a, SEQ(B b, C c){{3}} g[], D d) WHERE {where} {{ [k] }}"
            found = {tuple(match.values()) for match in rows_of(text, events)}
            out = f"PATTERN {written_out(body, 'A a', 'D d', 3)} WHERE {written} {{ [k] }}"
            names = ("a", "g", "b", "c", "d")
            expected = {tuple(folded(m, body, 3)[v] for v in names) for m in rows_of(out, events)}
            assert found == expected, text
