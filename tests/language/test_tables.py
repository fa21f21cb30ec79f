"""Every row of the tables in docs/language, by every plan that supports the query and on every host."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

import augury
from augury.loss import LossModel
from augury.plan import FAMILIES
from augury.planner import BUILDERS
from augury.testing.tables import Case, cases, describe, loss_model, parse_stream

PAGES = sorted((Path(__file__).parents[2] / "docs" / "language").glob("*.md"))
LOSS = {page.name: loss_model(page) for page in PAGES}
CASES = [case for page in PAGES for case in cases(page)]

PLANS = [name for name in FAMILIES if name in BUILDERS]
"""A family joins these tests with its builder."""

Host = Callable[[str, pa.Table, str, LossModel | None, bool], Iterator[augury.Match]]


def at_once(query: str, stream: pa.Table, plan: str, loss: LossModel | None, jit: bool) -> Iterator[augury.Match]:
    yield from augury.match(stream, query, plan=plan, loss=loss, jit=jit)


def one_by_one(query: str, stream: pa.Table, plan: str, loss: LossModel | None, jit: bool) -> Iterator[augury.Match]:
    matcher = augury.Matcher(query, stream.schema, plan=plan, loss=loss, jit=jit)
    ordered = stream.sort_by("ts")
    for row in range(len(ordered)):
        yield from matcher.feed(ordered.slice(row, 1))
    yield from matcher.finish()


def saved_half_way(
    query: str, stream: pa.Table, plan: str, loss: LossModel | None, jit: bool
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


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(case: Case, plan: str, host: str) -> None:
    check(case, plan, host, jit=False)


def has_code(case: Case, plan: str) -> bool:
    """Whether the plan can run the query, with code of its own."""
    try:
        compiled = augury.compile(case.query, parse_stream(case.stream).schema, plan=plan)
    except augury.UnsupportedPlan:
        return False
    return compiled.last.kernel is not None


def sample(plan: str, size: int) -> list[Case]:
    """Rows that have generated code, chosen without regard to what they are about: compiling one takes a second."""
    shuffled = sorted(CASES, key=lambda case: hashlib.sha256(f"{case.query} {case.stream}".encode()).digest())
    return list(islice((case for case in shuffled if has_code(case, plan)), size))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "plan, case", [(plan, case) for plan in ("eager-nfa", "lazy-chain") for case in sample(plan, 10)], ids=str
)
def test_row_compiled(plan: str, case: Case, host: str) -> None:
    check(case, plan, host, jit=True)


def check(case: Case, plan: str, host: str, *, jit: bool) -> None:
    stream = parse_stream(case.stream)
    try:
        found = describe(HOSTS[host](case.query, stream, plan, LOSS[case.file], jit), stream, case.decimals)
    except augury.UnsupportedPlan as e:
        pytest.skip(str(e))
    if found != case.expected:
        pytest.fail(
            f"docs/language/{case}\n"
            f"  query     {case.query}\n"
            f"  stream    {case.stream}\n"
            f"  expected  {'; '.join(case.expected) or 'none'}\n"
            f"  got       {'; '.join(found) or 'none'}",
            pytrace=False,
        )
