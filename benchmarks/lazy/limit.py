"""The lazy chain against programs written by hand in C++ for the same query (benchmarks/limit)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from augury.runtime.state import Kernel
from benchmarks.lazy.count import expected, times_over
from benchmarks.lazy.figures import Finding, Skipped
from benchmarks.lazy.measure import Setting, Unavailable, chain, check, generated_code, kernel_of, one_pass
from benchmarks.lazy.queries import Condition, Correlated, Rising, sequence
from benchmarks.lazy.streams import MINUTE, ratio_stream, repeated
from benchmarks.limit.driver import TYPES, Written, compiler, written_by_hand
from benchmarks.measure import Batches, cut
from benchmarks.targets import Figure

RUNS = 5
"""Runs in a row, of which the fastest counts; each side has its turn in every round."""

WORKLOADS: tuple[tuple[int, int, int, Condition], ...] = (
    (100, 100_000, 10, Rising(10)),
    (1_000, 100_000, 10, Rising(3)),
    (10_000, 100_000, 2, Rising(1)),
    (100, 100_000, 5, Correlated(0.9)),
    (1_000, 100_000, 2, Correlated(0.93)),
)
"""Events in a window, events of a stream, how often that is repeated, and the condition."""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of a step as a whole, and of the generated code in it."""

    step: float
    code: float

    def least(self, other: Cost) -> Cost:
        return Cost(min(self.step, other.step), min(self.code, other.code))


def against_cpp(setting: Setting) -> Iterator[Finding]:
    """SEQ3, the rarest type last, at 1:30. The program too splits by type and matches over arrays in memory."""
    if compiler() is None:
        yield Skipped("limit", "hand-written C++", "there is no g++ here")
        return
    for window, events, times, condition in WORKLOADS:
        query = sequence("SEQ3", TYPES, condition, 20)
        name = f"SEQ3 {type(condition).__name__.lower()}, {window:,} events in the window"
        short = ratio_stream(3, 30, events // setting.scale, per_minute=window / 20)
        table = repeated(short, times, 60 * MINUTE)
        answer = times_over(expected(query, short), times, short.num_rows)
        whole = cut(table, table.num_rows)
        kernel: Kernel | None = None
        try:
            kernel = kernel_of(query.text, table, chain(query, table), setting.cache)
            check(kernel, whole, answer)
        except Unavailable as e:
            yield Skipped("limit", f"chain against C++: {name}", str(e))
        by_hand: dict[str, Written] = {}
        ours: Cost | None = None
        for _ in range(setting.rounds):
            for written in written_by_hand(query, table, answer, RUNS, setting.cache / "limit"):
                by_hand[written.variant] = written.least(by_hand.get(written.variant, written))
            if kernel is not None:
                cost = reduce(Cost.least, (_cost(kernel, whole, answer.matches) for _ in range(RUNS)))
                ours = cost.least(ours or cost)
        for variant, written in by_hand.items():
            yield Figure("limit", f"... C++ {variant}: {name}", written.kernel / table.num_rows * 1e9, "ns/event")
        if ours is not None:
            yield from _against(name, ours, by_hand, 1.3 if isinstance(condition, Rising) else 2.0)
            yield Figure("limit", f"... a step: {name}", ours.step / table.num_rows * 1e9, "ns/event")
            yield Figure("limit", f"... generated code: {name}", ours.code / table.num_rows * 1e9, "ns/event")


def _cost(kernel: Kernel, batches: Batches, matches: int) -> Cost:
    with generated_code() as spent:
        whole = one_pass(kernel, batches, matches)
    return Cost(whole.cpu, sum(spent))


def _against(name: str, ours: Cost, by_hand: Mapping[str, Written], target: float) -> Iterator[Figure]:
    """Against the loops of a chain, and against the fastest program of all.

    Standardised rows are given to generated code, but made in a step: each is compared with as much of the program.
    """
    best = min(by_hand.values(), key=lambda w: w.kernel)
    for plan, written in (("same plan", by_hand["chain"]), (f"best plan, {best.variant}", best)):
        yield Figure("limit", f"generated code against C++, {plan}: {name}", ours.code / written.kernel, "x", target)
        yield Figure("limit", f"... a whole step against C++, {plan}: {name}", ours.step / written.in_all, "x")
