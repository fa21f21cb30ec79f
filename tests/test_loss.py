"""Loss models as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import augury
from augury import Empirical, Exponential, Gamma, HostError, LossModel, Normal, Uniform
from augury.loss import Delay
from augury.plan import FamilyName

DELAYS: dict[str, Delay] = {
    "a": Exponential(3600.0),
    "b": Uniform(0.0, 5.0),
    "c": Normal(4.0, 1.0),
    "d": Gamma(2.0, 3.0),
    "e": Empirical((0.0, 1.0, 4.0), (3.0, 1.0)),
}


def test_every_model_comes_back_from_json() -> None:
    model = LossModel(0.1, {"z": 0.0}, DELAYS)
    assert LossModel.from_json(json.loads(json.dumps(model.to_json()))) == model


def test_what_is_left_out_is_not_lost() -> None:
    assert LossModel.from_json({}) == LossModel()


@pytest.mark.parametrize(
    "stated, message",
    [
        (None, "a loss model has to be an object, not None"),
        ({"rat": 0.1}, "a loss model has no `rat`, only `rate`, `rates`, `delays`"),
        ({"rate": "0.1"}, "rate has to be a number, not '0.1'"),
        ({"rate": True}, "rate has to be a number, not True"),
        ({"rate": -0.1}, "a loss rate lies between 0 and 1, not -0.1"),
        ({"rates": [0.1]}, "rates has to be an object"),
        ({"rates": {"x": None}}, "the rate of `x` has to be a number"),
        ({"delays": {"x": 5}}, "the delay of `x` has to be an object, not 5"),
        ({"delays": {"x": {}}}, "the delay of `x` has to be one of `exponential`"),
        ({"delays": {"x": {"weibull": {}}}}, "the delay of `x` has no `weibull`, only `exponential`"),
        ({"delays": {"x": {"gamma": {"shape": 1}}}}, "the gamma delay of `x` lacks `scale`"),
        ({"delays": {"x": {"exponential": {"mean": 1, "max": 2}}}}, "has no `max`, only `mean`"),
        ({"delays": {"x": {"exponential": {"mean": 0}}}}, "the delay of `x`: mean must be a positive number, not 0"),
        ({"delays": {"x": {"uniform": {"low": 2, "high": 1}}}}, "a uniform delay needs 0 <= low < high"),
        ({"delays": {"x": {"normal": {"mean": -1e9, "stddev": 1}}}}, "is never positive"),
        ({"delays": {"x": {"empirical": {"edges": 1, "counts": [1]}}}}, "`edges` of the delay of `x` has to be a list"),
        ({"delays": {"x": {"empirical": {"edges": [0, 1], "counts": []}}}}, "one more edge than counts"),
        ({"delays": {"x": {"empirical": {"edges": [1, 0], "counts": [1]}}}}, "increase and do not go below zero"),
        ({"delays": {"x": {"empirical": {"edges": [0, float("nan")], "counts": [1]}}}}, "are numbers"),
    ],
)
def test_what_is_not_a_loss_model(stated: Any, message: str) -> None:
    with pytest.raises(HostError) as raised:
        LossModel.from_json(stated)
    assert raised.value.code == "A552"
    assert message in raised.value.message


def test_importing_augury_does_not_wait_for_scipy() -> None:
    loaded = "import augury, sys; print([m for m in sys.modules if m.startswith(('scipy', 'pandas', 'polars'))])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, check=True).stdout.strip() == b"[]"


@pytest.fixture
def without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scipy", "scipy.special", "scipy.integrate"):
        monkeypatch.setitem(sys.modules, name, None)


def scored(delay: Delay, plan: FamilyName) -> float | None:
    """The probability of a match that lacks its middle event."""
    events = [{"ts": 0, "type": "X"}, {"ts": 5, "type": "Z"}, {"ts": 30, "type": "Y"}]
    query = "SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD 0.0001"
    (match,) = augury.match(events, query, loss=LossModel(0.5, {"x": 0}, {"y": delay}), plan=plan)
    return match.probability


@pytest.mark.usefixtures("without_scipy")
@pytest.mark.parametrize(
    "delay, plan", [(Gamma(2.0, 3.0), "lossy"), (Normal(4.0, 1.0), "lossy"), (Uniform(0, 9), "reference")]
)
def test_what_needs_scipy_says_how_to_install_it(delay: Delay, plan: FamilyName) -> None:
    with pytest.raises(HostError, match=r"A518.*SciPy(?s:.*)augury\[lossy\]"):
        scored(delay, plan)


@pytest.mark.usefixtures("without_scipy")
@pytest.mark.parametrize("delay", [Exponential(10.0), Uniform(0.0, 10.0), Empirical((0.0, 4.0, 9.0), (3.0, 1.0))])
def test_other_delays_need_no_scipy(delay: Delay) -> None:
    assert scored(delay, "lossy") is not None
