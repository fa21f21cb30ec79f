"""`B{n} b[]` finds what n single components find: a full list has left its loop (SEMANTICS section 4)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from augury.compiler import emit
from augury.families import machine_of
from augury.ir.terms import Strategy
from augury.options import Options
from augury.plan import FamilyName, Unsupported
from augury.testing.evaluate import compiled, family_plan, run
from augury.testing.streams import TYPES, cuts, streams

OPTIONS = Options(jit=False)
EVALUATORS: tuple[FamilyName, ...] = ("reference", "eager-nfa", "event-sets", "lazy-chain")


def written_both_ways(
    strategy: Strategy, before: str, name: str, after: str, n: int, condition: str, *, in_set: bool
) -> tuple[str, str]:
    """A pattern with a list of n events, and the same with n components; conditions are on each of them."""
    singles = ", ".join(f"{name} b{k}" for k in range(n))
    patterns = []
    for part in (f"{name}{{{n}}} b[]", f"SEQ({singles})"):
        first = [f"AND({before} a, {part})"] if in_set else [*([f"{before} a"] if before else []), part]
        patterns.append(f"SEQ({', '.join([*first, *([f'{after} c'] if after else [])])})")
    key = "[k] AND " if strategy is Strategy.PARTITION_CONTIGUITY else ""
    each = " AND ".join(condition.format(f"b{k}") for k in range(n))
    return (
        f"PATTERN {patterns[0]} WHERE {strategy} {{ {key}{condition.format('b[i]')} }}",
        f"PATTERN {patterns[1]} WHERE {strategy} {{ {key}{each} }}",
    )


def rows(family: FamilyName, text: str, batches: list[pa.Table]) -> set[tuple[int, ...]] | None:
    """The events of each match in the order of the pattern; None where the family does not run the query."""
    query = compiled(text, batches[0])
    plan = family_plan(family, query.rewritten)
    if isinstance(plan, Unsupported):
        return None
    kernel = machine_of(plan).kernel(plan, OPTIONS, emit(plan, OPTIONS))
    found = run(kernel, query.bound.schema, batches)
    return {tuple(row for part in match.rows for row in part) for match in found}


C4 = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4], pa.int64()),
        "type": ["C"] * 4,
        "k": ["p"] * 4,
        "x": pa.array([1] * 4, pa.int64()),
    }
)


@pytest.mark.parametrize("strategy", Strategy)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["", *TYPES]),
    st.sampled_from([*TYPES, "A|B"]),
    st.sampled_from(["", *TYPES]),
    st.integers(1, 3),
    st.sampled_from(["{}.x >= 1", "{}.x < 3", "TRUE", "{}.y > 0"]),
    st.booleans(),
    streams(max_size=9).flatmap(cuts),
)
@example("", "C", "C", 2, "TRUE", False, [C4])
def test_a_list_of_n_events_is_n_components(
    strategy: Strategy,
    before: str,
    name: str,
    after: str,
    n: int,
    condition: str,
    in_set: bool,
    batches: list[pa.Table],
) -> None:
    as_list, as_singles = written_both_ways(strategy, before, name, after, n, condition, in_set=in_set and bool(before))
    expected = rows("reference", as_singles, batches)
    for family in EVALUATORS:
        found = rows(family, as_list, batches)
        assert found is None or found == expected, family
