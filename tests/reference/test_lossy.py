"""Scores of lossy matches against the formulas of SEMANTICS section 8, worked out in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pytest

from augury.errors import HostError
from augury.ir.lossy import Step
from augury.loss import Delay, Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.options import Options
from augury.reference.lossy import gap_score
from augury.testing.evaluate import compiled, reference_matches

X, Y, Z = Step("x", False), Step("y", False), Step("z", False)
N, M = Step("n", True), Step("m", True)
MODEL = LossModel(
    rate=0.1,
    rates={"y": 0.2},
    delays={
        "x": Exponential(10.0),
        "y": Exponential(20.0),
        "z": Exponential(5.0),
        "n": Exponential(40.0),
        "m": Uniform(0.0, 100.0),
    },
)


def exponential(mean: float, t: float) -> float:
    return 1 - math.exp(-t / mean)


def absent(rate: float, happened: float) -> float:
    return (1 - happened) / (rate * happened + 1 - happened)


def test_nothing_missing_scores_one() -> None:
    assert gap_score([], 7.0, MODEL) == 1.0


def test_one_missing_positive() -> None:
    assert gap_score([X], 7.0, MODEL) == pytest.approx(0.1 * exponential(10, 7), abs=1e-12)


def test_two_missing_positives() -> None:
    # The integral of f_y F_x from 0 to T, for exponential delays of means 10 and 20.
    T, a, b = 7.0, 1 / 10, 1 / 20
    integral = (1 - math.exp(-b * T)) - b / (a + b) * (1 - math.exp(-(a + b) * T))
    assert gap_score([X, Y], T, MODEL) == pytest.approx(0.1 * 0.2 * integral, abs=1e-12)


def test_three_missing_positives_are_the_ordered_integral() -> None:
    # With equal delays the three orders of three times are equally likely: the sixth part of F(T) cubed.
    same = LossModel(rate=0.5, delays={v: Exponential(10.0) for v in "xyz"})
    assert gap_score([X, Y, Z], 7.0, same) == pytest.approx(0.5**3 * exponential(10, 7) ** 3 / 6, abs=1e-10)


def test_unobserved_negations() -> None:
    one = absent(0.1, exponential(40, 7))
    two = absent(0.1, 0.07)
    assert gap_score([N], 7.0, MODEL) == pytest.approx(one, abs=1e-12)
    assert gap_score([N, M], 7.0, MODEL) == pytest.approx(one * two, abs=1e-12)


def test_a_missing_positive_between_negations_splits_the_gap() -> None:
    T, steps = 7.0, 20_000
    total = 0.0
    for k in range(steps):
        t = (k + 0.5) * T / steps
        density = math.exp(-t / 10) / 10
        total += absent(0.1, exponential(40, t)) * density * absent(0.1, (T - t) / 100) * T / steps
    assert gap_score([N, X, M], T, MODEL) == pytest.approx(0.1 * total, abs=1e-8)


@pytest.mark.parametrize(
    "delay",
    [
        Exponential(3.0),
        Uniform(1.0, 4.0),
        Normal(2.0, 1.5),
        Gamma(2.5, 0.8),
        Empirical((0.0, 1.0, 2.0, 5.0), (1, 3, 2)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_a_distribution_is_the_integral_of_its_density(delay: Delay) -> None:
    steps, end = 50_000, 4.5
    total = math.fsum(delay.density((k + 0.5) * end / steps) * end / steps for k in range(steps))
    assert total == pytest.approx(delay.distribution(end), abs=1e-4)
    assert delay.distribution(0.0) == 0.0
    assert delay.density(-1.0) == delay.distribution(-1.0) == 0.0
    assert delay.distribution(1e6) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(0.0),
        lambda: Uniform(-1.0, 2.0),
        lambda: Uniform(2.0, 2.0),
        lambda: Normal(0.0, -1.0),
        lambda: Normal(-100.0, 1.0),
        lambda: Gamma(0.0, 1.0),
        lambda: Empirical((0.0, 1.0), (0,)),
        lambda: Empirical((-1.0, 1.0), (1,)),
        lambda: LossModel(rate=1.5),
    ],
)
def test_impossible_models_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"delay|rate|positive|histogram|edges"):
        make()


SHOPLIFTING = """
SEQUENCE (x,!y,z)
WHERE (x.receptor['A'] = 'A') AND (y.receptor['B'] = 'B') AND (z.receptor['C'] = 'C') AND
      (x.id[y.id] = y.id[x.id]) AND (y.id[z.id] = z.id[y.id])
WITHIN 12 hours
THRESHOLD {threshold}
"""
LOSS = LossModel(rate=0.1, delays={"x": Exponential(3600.0), "y": Exponential(1800.0)})


def readings(*rows: tuple[int, str, str]) -> pa.Table:
    return pa.table({"ts": [r[0] for r in rows], "receptor": [r[1] for r in rows], "id": [r[2] for r in rows]})


def found(threshold: float, events: pa.Table, loss: LossModel | None = LOSS) -> list[tuple[object, float | None]]:
    options = Options(loss=loss)
    query = compiled(SHOPLIFTING.format(threshold=threshold), events, options).bound
    return [(m.rows, m.probability) for m in reference_matches(query, events, options)]


def test_a_theft_seen_at_both_ends() -> None:
    events = readings((0, "A", "t"), (600, "C", "t"))
    certain = absent(0.1, exponential(1800, 600))
    ((rows, probability),) = found(0.5, events)
    assert rows == ((0,), (1,))
    assert probability == pytest.approx(certain, abs=1e-12)
    assert found(0.999, events) == []


def test_paying_rejects() -> None:
    assert found(0.01, readings((0, "A", "t"), (300, "B", "t"), (600, "C", "t"))) == []


def test_another_item_paid_does_not() -> None:
    events = readings((0, "A", "t"), (300, "B", "u"), (600, "C", "t"))
    assert [rows for rows, _ in found(0.5, events)] == [((0,), (2,))]


def test_a_missing_shelf_reading_is_looked_for_in_the_whole_window() -> None:
    events = readings((50_000, "C", "t"))
    ((rows, probability),) = found(1e-6, events)
    T = 12 * 3600
    assert rows == ((), (0,))
    steps = 20_000
    expected = 0.1 * sum(
        math.exp(-t / 3600) / 3600 * absent(0.1, exponential(1800, T - t)) * T / steps
        for t in ((k + 0.5) * T / steps for k in range(steps))
    )
    assert probability == pytest.approx(expected, abs=1e-7)


def test_without_a_model_or_a_delay_there_is_no_score() -> None:
    events = readings((0, "A", "t"), (600, "C", "t"))
    with pytest.raises(HostError, match="A550"):
        found(0.5, events, None)
    with pytest.raises(HostError, match="no delay for component `y`"):
        found(0.5, events, LossModel(rate=0.1, delays={"x": Exponential(1.0)}))


@pytest.mark.parametrize(
    "delay",
    [
        Exponential(4.0),
        Uniform(1.0, 5.0),
        Normal(3.0, 2.0),
        Gamma(2.0, 1.5),
        Empirical((0.0, 1.0, 2.0, 5.0), (1, 3, 2)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_one_missing_component_scores_its_loss_rate_times_its_distribution(delay: Delay) -> None:
    model = LossModel(rate=0.25, delays={"x": delay})
    for length in (0.0, 0.5, 1.5, 3.0, 8.0):
        expected = 0.25 * delay.distribution(length)
        assert gap_score([Step("x", negated=False)], length, model) == pytest.approx(expected, abs=1e-9)
