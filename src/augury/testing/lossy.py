"""Random queries with THRESHOLD over the streams of `augury.testing.streams`, and loss models for them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from augury.ir.terms import OutputMode
from augury.loss import SCORINGS, Delay, Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.runtime.matches import MatchSet
from augury.testing.streams import TYPES

DELAYS: tuple[Delay, ...] = (
    Exponential(2.0),
    Exponential(9.0),
    Uniform(0.0, 6.0),
    Uniform(1.0, 3.5),
    Normal(2.0, 1.5),
    Normal(5.0, 0.5),
    Gamma(2.5, 1.0),
    Gamma(0.7, 4.0),
    Empirical((0.0, 1.0, 2.5, 7.0), (2, 5, 1)),
)


@dataclass(frozen=True, slots=True)
class LossyCase:
    """A query text, and a loss model for its events."""

    text: str
    model: LossModel


@st.composite
def lossy_cases(draw: st.DrawFn, *, most: int = 4) -> LossyCase:
    """A query that binds, with at most `most` components, and a loss model for it."""
    size = draw(st.integers(1, most))
    names = "abcdef"[:size]
    anchor = draw(st.integers(0, size - 1))
    negated = [k != anchor and draw(st.integers(0, 2)) == 0 for k in range(size)]
    types = [draw(st.sampled_from([*TYPES, *TYPES, "A|B"])) for _ in names]
    parts = [f"NOT({t} {v})" if n else f"{t} {v}" for v, n, t in zip(names, negated, types, strict=True)]
    positive = [v for v, n in zip(names, negated, strict=True) if not n]
    conjuncts = [draw(_conditions(names, positive)) for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3])))]
    if draw(st.integers(0, 3)) == 0:
        conjuncts.insert(0, "[k]")
    where = f"\nWHERE {' AND '.join(conjuncts)}" if conjuncts else ""
    threshold = draw(st.sampled_from([0.001, 0.05, 0.2, 0.5, 0.8, 1.0]))
    output = draw(st.sampled_from([OutputMode.ALL, OutputMode.ALL, OutputMode.NONOVERLAP]))
    window = draw(st.sampled_from([0, 3, 5, 8, 8, 12, 12]))
    text = f"PATTERN SEQ({', '.join(parts)}){where}\nWITHIN {window} seconds THRESHOLD {threshold}\nOUTPUT {output}"
    return LossyCase(text, draw(_models(names, positive[-1])))


@st.composite
def _models(draw: st.DrawFn, names: str, last: str) -> LossModel:
    rates = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
    delays = {v: draw(st.sampled_from(DELAYS)) for v in names if v != last or draw(st.booleans())}
    own = {v: draw(rates) for v in names if draw(st.integers(0, 2)) == 0}
    by_type = {t: draw(rates) for t in TYPES} if draw(st.integers(0, 3)) == 0 else {}
    # A component of two types can have only one rate.
    values = {"type": dict.fromkeys(TYPES, by_type["A"])} if by_type else {}
    return LossModel(draw(rates), own, delays, values, draw(st.sampled_from(SCORINGS)))


@st.composite
def _conditions(draw: st.DrawFn, names: str, positive: list[str]) -> str:
    v = draw(st.sampled_from(names))
    others = [u for u in positive if u != v]
    operator = draw(st.sampled_from(["=", "!=", "<", "<=", ">=", ">"]))
    if not others or draw(st.integers(0, 2)) == 0:
        form = draw(st.sampled_from([f"{v}.x {operator} 1", f"{v}.y[0.5] {operator} 0.5", f"{v}.x IS NOT NULL"]))
        return form if v in positive else form.replace("[0.5]", "")
    u = draw(st.sampled_from(others))
    column = draw(st.sampled_from("kkx"))
    if column == "k":
        operator = draw(st.sampled_from(["=", "=", "=", "!="]))
    return f"{_value(draw, v, u, column, positive)} {operator} {_value(draw, u, v, column, positive)}"


def _value(draw: st.DrawFn, v: str, u: str, column: str, positive: list[str]) -> str:
    """An attribute of `v` with a default for a missing `v`, mostly the attribute of `u`."""
    constant = "'p'" if column == "k" else "1"
    if v not in positive or (v == positive[-1] and draw(st.booleans())):
        return f"{v}.{column}"
    third = draw(st.sampled_from(positive))
    if third in (u, v):
        return f"{v}.{column}[{draw(st.sampled_from([f'{u}.{column}', f'{u}.{column}', constant]))}]"
    return f"{v}.{column}[{third}.{column}[{u}.{column}]]"


def differences(found: MatchSet, expected: MatchSet, tolerance: float) -> list[str]:
    """The differences between two sets of scored matches, where scores may differ by `tolerance`."""
    mine, theirs = ({m.rows: m for m in matches} for matches in (found, expected))
    out = [f"not expected: {mine[rows]}" for rows in mine.keys() - theirs.keys()]
    out += [f"not found: {theirs[rows]}" for rows in theirs.keys() - mine.keys()]
    for rows in mine.keys() & theirs.keys():
        a, b = mine[rows], theirs[rows]
        assert a.probability is not None
        assert b.probability is not None
        if abs(a.probability - b.probability) > tolerance or (a.start, a.end) != (b.start, b.end):
            out.append(f"{a} instead of {b}")
    return out
