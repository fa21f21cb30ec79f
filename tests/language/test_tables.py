"""Every row of the tables in docs/language, by every plan that supports the query and on every host."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

import augury
from augury.families import FAMILIES
from augury.loss import LossModel
from augury.plan import FamilyName
from augury.testing.support import read_matrix, support_matrix, to_json, to_markdown
from augury.testing.tables import Case, cases, describe, loss_model, parse_stream

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "language").glob("*.md"))
LOSS = {page.name: loss_model(page) for page in PAGES}
CASES = [case for page in PAGES for case in cases(page)]

GOLDEN, PAGE = ROOT / "tests" / "golden" / "support.json", ROOT / "docs" / "support.md"
REFUSED = read_matrix(GOLDEN)


def refusals(case: Case) -> Mapping[str, str]:
    """The families that cannot run the query of a row, and why; a row that is new runs on all of them, and may fail."""
    return REFUSED.get(case.file, {}).get(case.query, {})


Host = Callable[[str, pa.Table, FamilyName, LossModel | None, bool], Iterator[augury.Match]]


def at_once(
    query: str, stream: pa.Table, plan: FamilyName, loss: LossModel | None, jit: bool
) -> Iterator[augury.Match]:
    yield from augury.match(stream, query, plan=plan, loss=loss, jit=jit)


def one_by_one(
    query: str, stream: pa.Table, plan: FamilyName, loss: LossModel | None, jit: bool
) -> Iterator[augury.Match]:
    matcher = augury.Matcher(query, stream.schema, plan=plan, loss=loss, jit=jit)
    ordered = stream.sort_by("ts")
    for row in range(len(ordered)):
        yield from matcher.feed(ordered.slice(row, 1))
    yield from matcher.finish()


def saved_half_way(
    query: str, stream: pa.Table, plan: FamilyName, loss: LossModel | None, jit: bool
) -> Iterator[augury.Match]:
    matcher = augury.Matcher(query, stream.schema, plan=plan, loss=loss, jit=jit)
    ordered = stream.sort_by("ts")
    half = len(ordered) // 2
    yield from matcher.feed(ordered.slice(0, half))
    restored = augury.Matcher.restore(matcher.snapshot())
    yield from restored.feed(ordered.slice(half))
    yield from restored.finish()


HOSTS: Mapping[str, Host] = {host.__name__: host for host in (at_once, one_by_one, saved_half_way)}


def test_the_tables_were_found() -> None:
    pages = {case.file for case in CASES}
    assert len(CASES) >= 120
    assert pages >= {
        "patterns.md",
        "iteration.md",
        "predicates.md",
        "strategies.md",
        "windows.md",
        "negation.md",
        "sets.md",
        "output.md",
        "lossy.md",
        "reporting.md",
    }


def test_the_support_matrix(request: pytest.FixtureRequest) -> None:
    matrix = support_matrix(CASES, LOSS)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(to_json(matrix), encoding="utf-8")
        PAGE.write_text(to_markdown(matrix), encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == to_json(matrix), "run `make golden` and look at what has changed"
    assert PAGE.read_text(encoding="utf-8") == to_markdown(matrix)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "case, plan", [(case, plan) for case in CASES for plan in FAMILIES if plan not in refusals(case)], ids=str
)
def test_row(case: Case, plan: FamilyName, host: str) -> None:
    check(case, plan, host, jit=False)


@pytest.mark.parametrize("case", [case for case in CASES if refusals(case)], ids=str)
def test_families_that_cannot_run_a_row_say_why(case: Case) -> None:
    schema = parse_stream(case.stream).schema
    for plan, reason in refusals(case).items():
        with pytest.raises(augury.UnsupportedPlan) as refused:
            augury.compile(case.query, schema, plan=cast("FamilyName", plan), loss=LOSS[case.file])
        assert str(refused.value) == f"error[A612]: plan `{plan}` cannot run this query: {reason}"


def sample(plan: FamilyName, size: int) -> list[Case]:
    """Rows that the plan can run, chosen without regard to what they are about: compiling one takes a second."""
    shuffled = sorted(CASES, key=lambda case: hashlib.sha256(f"{case.query} {case.stream}".encode()).digest())
    return list(islice((case for case in shuffled if plan not in refusals(case)), size))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "plan, case",
    [
        pytest.param(plan, case, marks=[pytest.mark.slow] if number >= 1 else [])
        for plan in ("eager-nfa", "lazy-chain")
        for number, case in enumerate(sample(plan, 12))
    ],
    ids=str,
)
def test_row_compiled(plan: FamilyName, case: Case, host: str) -> None:
    check(case, plan, host, jit=True)


def check(case: Case, plan: FamilyName, host: str, *, jit: bool) -> None:
    stream = parse_stream(case.stream)
    found = describe(HOSTS[host](case.query, stream, plan, LOSS[case.file], jit), stream, case.decimals)
    if found != case.expected:
        pytest.fail(
            f"docs/language/{case}\n"
            f"  query     {case.query}\n"
            f"  stream    {case.stream}\n"
            f"  expected  {'; '.join(case.expected) or 'none'}\n"
            f"  got       {'; '.join(found) or 'none'}",
            pytrace=False,
        )
