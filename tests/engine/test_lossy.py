"""Lossy streams on the local host: what a match tells, models by reader, fitting and calibration."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury import Empirical, Exponential, HostError, LossModel, Uniform
from augury.engine.loss.fitting import histogram
from augury.plan import FamilyName
from benchmarks.supply_chain import QUERY, supply_chain

XYZ = "SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD 0.2"
EVEN = LossModel(0.5, {"x": 0}, {"y": Uniform(0, 10)})
PLANS: tuple[FamilyName, ...] = ("reference", "lossy")

# Streams with a type missing are what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:no event is of type")


def events(*rows: tuple[int, str]) -> pa.Table:
    return pa.table({"ts": [t for t, _ in rows], "type": [name for _, name in rows]})


@pytest.mark.parametrize("plan", PLANS)
def test_a_match_tells_what_is_missing(plan: FamilyName) -> None:
    found = augury.match(events((0, "X"), (5, "Z")), XYZ, loss=EVEN, plan=plan)
    (match,) = found
    assert (match.missing, match.rows, match.events["y"]) == (["y"], {"x": 0, "y": None, "z": 1}, None)
    table = found.to_arrow()
    assert table.column_names == ["start", "end", "x", "y", "z", "probability", "missing"]
    assert table["missing"].type == pa.list_(pa.string())
    assert table.select(["y", "missing"]).to_pylist() == [{"y": None, "missing": ["y"]}]


def test_no_match_has_the_same_columns() -> None:
    table = augury.match(events((0, "X")), XYZ, loss=EVEN).to_arrow()
    assert (table.num_rows, table.column_names[-2:]) == (0, ["probability", "missing"])
    assert table["missing"].type == pa.list_(pa.string())


def test_without_a_threshold_nothing_is_missing() -> None:
    (match,) = augury.match(events((0, "X"), (5, "Z")), "SEQ(X x, Y? y, Z z) WITHIN 20 seconds")
    assert (match.missing, match.rows["y"]) == ([], None)


def test_returned_items_keep_the_probability() -> None:
    query = XYZ + " RETURN z.ts - x.ts AS took"
    table = augury.match(events((0, "X"), (5, "Z")), query, loss=EVEN).to_arrow()
    assert table.to_pylist() == [{"start": 0, "end": 5, "took": 5, "probability": 0.25, "missing": ["y"]}]


# -- models ------------------------------------------------------------------------------------------------------------


BY_READER = "SEQ(a, b, c) WHERE a.reader = 'in' AND b.reader IN ('m', 'n') AND c.reader = 'out' {}"


def by_reader(values: dict[str, float], **given: float) -> list[float | None]:
    table = pa.table({"ts": [0, 5], "reader": ["in", "out"]})
    model = LossModel(0.5, given, {"a": Uniform(0, 10), "b": Uniform(0, 10)}, {"reader": values})
    text = BY_READER.format("WITHIN 20 seconds THRESHOLD 0.01")
    found = [augury.match(table, text, type=None, loss=model, plan=plan) for plan in PLANS]
    assert found[0] == found[1]
    return [m.probability for m in found[0] if m.rows["a"] is not None]


def test_loss_rates_by_reader() -> None:
    assert by_reader({"m": 0.2, "n": 0.2}) == [0.2 * 0.5]
    # One that is not listed is lost at the general rate, and a rate of its own comes first.
    assert by_reader({"in": 0.1}) == [0.5 * 0.5]
    assert by_reader({"m": 0.2, "n": 0.3}, b=0.8) == [0.8 * 0.5]


def test_readers_that_are_not_lost_alike() -> None:
    with pytest.raises(HostError, match="A556") as raised:
        by_reader({"m": 0.2, "n": 0.3})
    assert "component `b` may have several values of `reader`" in raised.value.message


def test_loss_rates_by_type() -> None:
    model = LossModel(0.5, {}, {"x": Uniform(0, 10), "y": Uniform(0, 10)}, {"type": {"Y": 0.4, "X": 0.0}})
    found = augury.match(events((0, "X"), (5, "Z")), XYZ, loss=model)
    assert [m.probability for m in found] == [pytest.approx(0.4 * 0.5)]


def test_a_model_with_everything_comes_back_from_json() -> None:
    model = LossModel(0.1, {"z": 0.0}, {"y": Exponential(5.0)}, {"reader": {"A": 0.2}}, "posterior")
    assert LossModel.from_json(json.loads(json.dumps(model.to_json()))) == model


@pytest.mark.parametrize(
    "stated, message",
    [
        ({"scoring": "prior"}, "the scoring of a loss rate is one of `paper`, `posterior`, not 'prior'"),
        ({"values": {"reader": {"A": 2}}}, "a loss rate lies between 0 and 1, not 2"),
        ({"values": {"reader": 0.5}}, "the rates by `reader` has to be an object, not 0.5"),
    ],
)
def test_what_is_not_a_loss_model(stated: object, message: str) -> None:
    with pytest.raises(HostError, match="A552") as raised:
        LossModel.from_json(stated)
    assert message in raised.value.message


class Early:
    """A delay that can be negative."""

    def density(self, t: float) -> float:
        return 0.5 if -1 <= t <= 1 else 0.0

    def distribution(self, t: float) -> float:
        return min(1.0, max(0.0, (t + 1) / 2))


@pytest.mark.parametrize("plan", PLANS)
def test_a_delay_that_can_be_negative(plan: FamilyName) -> None:
    model = LossModel(0.5, {"x": 0}, {"y": Early()})
    with pytest.raises(HostError, match="A555"):
        augury.match(events((0, "X"), (5, "Z")), XYZ, loss=model, plan=plan)


@pytest.mark.parametrize("plan", [None, "reference", "lossy"])
def test_no_delay_at_all(plan: FamilyName | None) -> None:
    with pytest.raises(HostError, match="A551"):
        augury.match(events((0, "X"), (5, "Z")), XYZ, loss=LossModel(0.5), plan=plan)


@pytest.mark.parametrize("plan", [None, "reference"])
def test_no_model_at_all(plan: FamilyName | None) -> None:
    with pytest.raises(HostError, match="A550"):
        augury.match(events((0, "X"), (5, "Z")), XYZ, plan=plan)


# -- the end of the window ---------------------------------------------------------------------------------------------


def test_a_missing_last_component_is_reported_when_the_window_closes() -> None:
    model = LossModel(0.5, {"x": 0}, {"y": Uniform(0, 10), "z": Uniform(0, 10)})
    stream = augury.Matcher("SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD 0.3", events((0, "X")).schema, loss=model)
    assert len(stream.feed(events((0, "X"), (4, "Y")))) == 0
    assert len(stream.feed(events((20, "Q")))) == 0
    (match,) = stream.feed(events((21, "Q")))
    # z had 16 of the 20 seconds left, and takes 10 at most.
    assert (match.missing, match.probability) == (["z"], 0.5)


def test_the_posterior_waits_for_what_may_still_come() -> None:
    model = LossModel(0.5, {"x": 0}, {"y": Uniform(0, 10), "z": Exponential(10)}, scoring="posterior")
    query = "SEQ(X x, Y y, Z z) WITHIN 20 seconds THRESHOLD 0.3"
    lost = 0.5 * (1 - math.exp(-1.6))
    (alone,) = augury.match(events((0, "X"), (4, "Y")), query, loss=model)
    assert alone.probability == pytest.approx(lost / (lost + math.exp(-1.6)))
    (whole,) = augury.match(events((0, "X"), (4, "Y"), (9, "Z")), query, loss=model)
    assert (whole.missing, whole.probability) == ([], 1.0)


# -- fitting -----------------------------------------------------------------------------------------------------------


def dropped(table: pa.Table, rate: float, seed: int = 3) -> pa.Table:
    return table.filter(pa.array(np.random.default_rng(seed).random(len(table)) >= rate))


def test_rates_are_learned_from_what_is_missing_beside_the_others() -> None:
    history = dropped(supply_chain(3000, detours=0.0), 0.15)
    model = LossModel.fit(history, QUERY.format(threshold=0.5), type=None)
    assert {v: model.rate_of(v) for v in "fwts"} == pytest.approx(dict.fromkeys("fwts", 0.15), abs=0.02)
    assert set(model.delays) == {"f", "w", "t"}
    hours = model.delays["t"]
    # Six hours from the warehouse to the truck, give or take a quarter.
    assert [hours.distribution(h * 3600) for h in (2, 6, 12)] == pytest.approx([0.0, 0.5, 1.0], abs=0.06)


def test_a_complete_history_says_what_never_happens() -> None:
    history = supply_chain(3000, detours=0.1)
    model = LossModel.fit(history, QUERY.format(threshold=0.5), type=None, rate=0.05, last=True, scoring="posterior")
    assert (model.rate, model.rates, model.scoring, set(model.delays)) == (0.05, {}, "posterior", set("fwts"))
    # One in ten avoids the warehouse, however long one waits; nothing avoids the shop.
    assert model.delays["w"].distribution(48 * 3600) == pytest.approx(0.9, abs=0.02)
    assert model.delays["s"].distribution(48 * 3600) == pytest.approx(1.0)
    assert LossModel.from_json(model.to_json()) == model


def test_a_model_from_matches() -> None:
    stream = dropped(supply_chain(1500, detours=0.0), 0.1)
    guess = LossModel(0.3, {"s": 0.0}, {v: Exponential(8 * 3600) for v in "fwt"})
    matches = augury.match(stream, QUERY.format(threshold=0.05), type=None, loss=guess)
    model = LossModel.fit(matches, QUERY.format(threshold=0.05))
    assert {v: model.rate_of(v) for v in "fwt"} == pytest.approx(dict.fromkeys("fwt", 0.1), abs=0.02)
    assert isinstance(model.delays["w"], Empirical)
    assert model.delays["w"].distribution(8 * 3600) == pytest.approx(0.5, abs=0.1)


def test_negations_are_fitted_to_the_nearest_event() -> None:
    rows = [(60 * n + d, name) for n in range(40) for d, name in ((0, "X"), (5 + n % 3, "R"), (30, "Z"))]
    rows = [(t, name) for t, name in rows if not (name == "R" and t % 240 > 180)]
    query = "SEQ(X x, NOT(R r), Z z) WITHIN 50 seconds THRESHOLD 0.1"
    model = LossModel.fit(events(*rows), query, rate=0.1)
    shares = [model.delays["r"].distribution(t) for t in (4, 7, 50)]
    assert shares == pytest.approx([0.0, 0.75, 0.75], abs=0.3)
    assert shares[1] == shares[2] == pytest.approx(sum(n == "R" for _, n in rows) / 40)


def test_histories_that_show_nothing() -> None:
    with pytest.raises(HostError, match="A558"):
        LossModel.fit(events((0, "X"), (5, "Q")), XYZ)
    with pytest.raises(HostError, match="A557"):
        LossModel.fit(events((0, "X"), (5, "Z")), "SEQ(X x, Z z) WITHIN 5 seconds")
    with pytest.raises(HostError, match="A558"):
        LossModel.fit(augury.match([], XYZ, loss=EVEN), XYZ)


def test_a_delay_that_is_always_the_same() -> None:
    assert histogram("x", np.array([3.0, 3.0]), 0.0, 10.0, 1.0, 4) == Empirical((2.0, 3.0), (2.0,))
    assert histogram("x", np.array([0.0, 0.0]), 0.0, 10.0, 1.0, 4) == Empirical((0.0, 0.5), (2.0,))


# -- calibration -------------------------------------------------------------------------------------------------------


def calibrated(scoring: str, threshold: float, *, last: bool = False) -> augury.Calibration:
    query = QUERY.format(threshold=threshold)
    model = LossModel.fit(supply_chain(3000, seed=5), query, type=None, rate=0.1, scoring=scoring, last=last)
    return augury.calibration(query, supply_chain(3000, seed=2), model, type=None, jit=False)


def test_the_supply_chain_is_found_where_exact_matching_fails() -> None:
    found = calibrated("posterior", 0.5)
    assert found.exact_recall < 0.68
    assert found.recall >= 0.85
    assert found.precision >= 0.85
    assert found.error < 0.05
    assert found.error_missing < 0.06
    assert found.dropped == pytest.approx(0.1 * len(supply_chain(3000, seed=2)), rel=0.1)


def test_the_paper_finds_as_much_and_says_less_of_it() -> None:
    found = calibrated("paper", 0.02)
    assert found.recall >= 0.85
    # The joint probability of a loss is not what a reader takes it for.
    assert found.error > 0.5


def test_a_missing_last_reading_is_found_too() -> None:
    assert calibrated("posterior", 0.3, last=True).recall >= 0.95


def test_a_calibration_shows_itself() -> None:
    found = calibrated("posterior", 0.5)
    text = str(found)
    assert f"recall {found.recall:.3f} (exact matching {found.exact_recall:.3f})" in text
    assert "probability  matches  said   real" in text
    assert sum(d.count for d in found.deciles) == found.found
    image = found.to_svg()
    assert image.startswith("<svg ")
    assert image.count("<circle") == sum(d.count > 0 for d in found.deciles)
    assert found._repr_html_() == image


def test_what_has_no_probability_is_not_calibrated() -> None:
    with pytest.raises(HostError, match="A559"):
        augury.calibration("SEQ(X x, Z z) WITHIN 5 seconds", events((0, "X")), EVEN)


def test_a_stream_without_matches_is_calibrated_to_nothing() -> None:
    found = augury.calibration(XYZ, events((0, "X"), (50, "Z")), EVEN)
    assert (found.found, found.real, found.error, found.recall) == (0, 0, 0.0, 0.0)
    assert "0 real matches" in str(found)
