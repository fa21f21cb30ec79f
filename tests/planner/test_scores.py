"""Tables of scores against the integrals of the reference, and their running maxima against the tables."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from augury.ir.lossy import Step
from augury.loss import SCORINGS, Delay, Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.plan import LossyPlan, Unsupported
from augury.plan.lossy import BUCKETS
from augury.planner.delays import density, distribution
from augury.planner.hints import Hints
from augury.planner.scores import tabulate
from augury.reference.lossy import gap_score
from augury.testing.evaluate import compiled, family_plan
from augury.testing.tables import parse_stream

DELAYS: dict[str, Delay] = {
    "e": Exponential(4.0),
    "u": Uniform(1.0, 5.0),
    "n": Normal(3.0, 2.0),
    "g": Gamma(2.5, 1.5),
    "s": Gamma(0.6, 3.0),
    "h": Empirical((0.0, 1.0, 2.0, 5.0), (1, 3, 2)),
}


class Rayleigh:
    """A delay of one's own."""

    def density(self, t: float) -> float:
        return t / 4 * math.exp(-t * t / 8) if t > 0 else 0.0

    def distribution(self, t: float) -> float:
        return 1 - math.exp(-t * t / 8) if t > 0 else 0.0


class Sudden:
    """A delay of one's own whose density jumps where nobody can know."""

    def density(self, t: float) -> float:
        return 1 / math.pi if 0 <= t < math.pi else 0.0

    def distribution(self, t: float) -> float:
        return min(1.0, max(0.0, t / math.pi))


def steps(gap: str) -> list[Step]:
    """`x!y` is a missing x and then no y."""
    return [Step(gap[k], negated=k > 0 and gap[k - 1] == "!") for k in range(len(gap)) if gap[k] != "!"]


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("gap", ["e", "u", "n", "g", "s", "h", "eu", "ge", "!e", "!u!n", "!eu", "u!h", "!en!g", "s!e"])
def test_a_table_is_the_integral_to_1e_9(gap: str, scoring: str) -> None:
    model = LossModel(0.3, {"u": 0.2}, DELAYS, scoring=scoring)
    table = tabulate(steps(gap), 20, 1.0, model)
    assert table.error < 1e-9
    for ticks in range(21):
        assert table(ticks) == pytest.approx(gap_score(steps(gap), float(ticks), model), abs=1e-9)


@pytest.mark.parametrize("gap", ["e", "!e", "u!h", "!en!g"])
def test_a_running_maximum_is_the_greatest_score_so_far(gap: str) -> None:
    table = tabulate(steps(gap), 40, 0.5, LossModel(0.3, {}, DELAYS))
    scores = np.array([table(ticks) for ticks in range(41)])
    for ticks in range(41):
        most = table.running[int(ticks * BUCKETS / 41)]
        assert most >= scores[: ticks + 1].max() - 1e-12
    assert table.peak == pytest.approx(scores.max(), abs=0.02)


def test_a_long_window_of_nanoseconds_needs_few_stretches() -> None:
    model = LossModel(0.1, {}, {"x": Exponential(3600.0), "y": Exponential(1800.0)})
    window = 12 * 3600 * 10**9
    gap = [Step("x", negated=False), Step("y", negated=True)]
    table = tabulate(gap, window, 1e-9, model)
    assert len(table.starts) < 400
    for seconds in (0, 7, 600, 9_999, 43_200):
        assert table(seconds * 10**9) == pytest.approx(gap_score(gap, float(seconds), model), abs=1e-9)


def test_a_delay_of_ones_own() -> None:
    model = LossModel(0.4, {}, {"t": Rayleigh(), "e": Exponential(3.0)})
    for gap in ("t", "te", "!et"):
        table = tabulate(steps(gap), 8, 1.0, model)
        assert table.error < 1e-9
        for ticks in range(9):
            assert table(ticks) == pytest.approx(gap_score(steps(gap), float(ticks), model), abs=1e-9)


@pytest.mark.parametrize("delay", DELAYS.values(), ids=repr)
def test_whole_arrays_are_what_single_values_are(delay: Delay) -> None:
    t = np.array([0.0, 0.3, 1.0, 2.5, 4.999, 5.0, 30.0])
    assert distribution(delay, t).tolist() == pytest.approx([delay.distribution(x) for x in t.tolist()], abs=1e-14)
    assert density(delay, t[1:]).tolist() == pytest.approx([delay.density(x) for x in t[1:].tolist()], abs=1e-14)


def plan(query: str, model: LossModel, stream: str = "x1@0(k=p) z2@5(k=p)") -> LossyPlan | Unsupported:
    return family_plan("lossy", compiled(query, parse_stream(stream)).rewritten, Hints(loss=model))


def test_edges_that_never_reach_the_threshold_are_removed() -> None:
    model = LossModel(0.1, {}, {v: Exponential(3.0) for v in "xy"})
    text = "SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD {}"
    low, high = plan(text.format(0.05), model), plan(text.format(0.5), model)
    assert isinstance(low, LossyPlan)
    assert isinstance(high, LossyPlan)
    # Removed at 0.05: both missing. At 0.5 also each of them alone.
    assert [e.missing for e in low.removed] == [("x", "y")]
    assert [e.missing for e in high.removed] == [("x",), ("x", "y"), ("y",)]
    assert [(e.source, e.target) for e in high.edges] == [(-1, 0), (0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    "where, hashed",
    [
        ("", ()),
        ("WHERE [k]", ("k",)),
        ("WHERE x.k[z.k] = z.k AND y.k[z.k] = z.k", ("k",)),
        # Where y is missing, nothing makes x and z agree.
        ("WHERE x.k[y.k] = y.k[x.k] AND y.k[z.k] = z.k", ()),
    ],
)
def test_queues_are_hashed_by_what_all_events_share(where: str, hashed: tuple[str, ...]) -> None:
    model = LossModel(0.5, {}, {v: Exponential(3.0) for v in "xy"})
    built = plan(f"SEQ(X x, Y y, Z z) {where} WITHIN 20 seconds THRESHOLD 0.1", model)
    assert isinstance(built, LossyPlan)
    assert built.hash_by == hashed


def test_a_score_that_is_not_exact_is_left_to_the_reference() -> None:
    model = LossModel(0.5, {}, {"x": Exponential(3.0), "y": Sudden()})
    built = plan("SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD 0.1", model)
    assert isinstance(built, Unsupported)
    assert re.fullmatch(r"the score of a gap is known to .* only, not to 1e-09", built.reason)


def test_what_the_plan_does_not_do() -> None:
    model = LossModel(0.5, {}, {v: Exponential(3.0) for v in "xy"})
    exact = plan("SEQ(X x, Z z)", model)
    assert isinstance(exact, Unsupported)
    assert exact.reason == "without THRESHOLD no event is missing"
    several = plan("SEQ(X x, Z z) WHERE lower(x.k[z.k]) = z.k WITHIN 20 seconds THRESHOLD 0.5", model)
    assert isinstance(several, Unsupported)
    assert several.reason == "`lower` over several events"
