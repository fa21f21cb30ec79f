"""Loss models and statistics as JSON, with something changed: refused with an `AuguryError`, or usable."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from augury import Empirical, Exponential, Gamma, LossModel, Normal, Uniform
from augury.errors import AuguryError
from augury.plan import GivenStatistics, StreamStatistics
from tests.fuzz.corrupt_state import corrupted_facts

MODEL = LossModel(
    0.1,
    {"a": 0.2, "z": 0},
    {
        "a": Exponential(3.0),
        "b": Uniform(0.0, 5.0),
        "c": Normal(2.0, 1.0),
        "d": Gamma(2.0, 1.5),
        "e": Empirical((0.0, 1.0, 2.0), (3.0, 4.0)),
    },
    {"reader": {"north": 0.5}},
    "posterior",
)
GIVEN = {"rates": {"A": 3.0, "B": 1}, "selectivities": {"a.x < b.x": 0.1}}
MEASURED = StreamStatistics({"a": 0.5}, {"a.x < b.x": 0.25}, 2.0, 10.0, "measured", {"c": 0.125})


def outcome(read: Any, stated: Any) -> str:
    try:
        model = read(stated)
    except AuguryError:
        return "refused"
    if isinstance(model, LossModel):
        for delay in model.delays.values():
            assert delay.density(1.5) >= 0
            assert 0 <= delay.distribution(1.5) <= 1 + 1e-9
    return "read"


def test_corrupted_models_and_statistics_are_refused_or_read() -> None:
    cases = (
        (LossModel.from_json, MODEL.to_json()),
        (GivenStatistics.of, GIVEN),
        (StreamStatistics.from_json, MEASURED.to_json()),
    )
    for read, stated in cases:
        found: Counter[str] = Counter()
        for number in range(1_000):
            one = random.Random(number)
            changed = stated
            for _ in range(one.randrange(1, 4)):
                changed = corrupted_facts(changed, one)
            found[outcome(read, json.loads(json.dumps(changed)))] += 1
        assert min(found["refused"], found["read"]) > 50
