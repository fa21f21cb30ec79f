"""Whatever names and values hold, they are neither run nor in the way: every plan agrees with the reference."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import augury
from augury.families import FAMILIES
from augury.plan import FamilyName
from augury.testing.ugly import EXECUTED_MARKER, UglyCase, quoted, refused_names, ugly_cases

FEW = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
COMPILED = settings(FEW, max_examples=2)
PLANS = tuple(f for f in FAMILIES if f != "reference")


@pytest.fixture(autouse=True, scope="module")
def nothing_runs() -> Iterator[None]:
    yield
    assert not vars(builtins).pop(EXECUTED_MARKER, False), "text of a user was run"


def agrees(case: UglyCase, plan: FamilyName, jit: bool) -> None:
    found = augury.match(case.events, case.query, plan=plan, jit=jit, **case.options)
    expected = augury.match(case.events, case.query, plan="reference", **case.options)
    assert found.to_arrow().equals(expected.to_arrow())
    assert EXECUTED_MARKER not in vars(builtins)


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_agrees_with_the_reference(plan: FamilyName) -> None:
    @FEW
    @given(ugly_cases([plan]))
    def test(case: UglyCase) -> None:
        agrees(case, plan, jit=False)

    test()


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
def test_every_compiled_plan_agrees_with_the_reference(plan: FamilyName) -> None:
    @COMPILED
    @given(ugly_cases([plan]))
    def test(case: UglyCase) -> None:
        agrees(case, plan, jit=True)

    test()


@FEW
@given(ugly_cases())
def test_what_is_explained_is_printable(case: UglyCase) -> None:
    for plan in case.plans:
        for stage in ("syntax", "bound", "rewritten", "plan", "kernel"):
            text = augury.explain(case.query, case.events.schema, stage=stage, plan=plan, **case.options)
            assert text.replace("\n", "").isprintable()
    assert EXECUTED_MARKER not in vars(builtins)


@FEW
@given(ugly_cases())
def test_a_matcher_finds_the_same(case: UglyCase) -> None:
    matcher = augury.Matcher(case.query, case.events.schema, plan=case.plans[0], jit=False, **case.options)
    fed = [matcher.feed(case.events.slice(k, 2)) for k in range(0, case.events.num_rows, 2)]
    fed.append(matcher.finish())
    expected = augury.match(case.events, case.query, plan="reference", **case.options)
    assert sum(map(len, fed)) == len(expected)
    assert EXECUTED_MARKER not in vars(builtins)


@FEW
@given(refused_names())
def test_no_query_holds_a_name_that_ends_a_line(name: str) -> None:
    columns = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float64())])
    for text in (f"SEQ(A {quoted(name)}, B b)", f"SEQ({quoted(name)} a, B b)", f"SEQ(A a) WHERE a.{quoted(name)} = 1"):
        with pytest.raises(augury.QueryError) as caught:
            augury.compile(f"PATTERN {text}", columns)
        assert [d.code for d in caught.value.diagnostics] == ["A290"]
