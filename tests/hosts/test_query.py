"""One shape of API: a compiled query, its options, and what is public."""

from __future__ import annotations

import datetime as dt
import inspect
import os
import pickle
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import Exponential, HostError, LossModel, Matcher, MatchOptions, Query, StreamStatistics
from augury.engine.state.facts import Facts
from augury.engine.state.saved_options import GIVEN_AGAIN, option_facts, restored_options
from augury.explain.text import STAGES
from augury.families import FAMILIES
from augury.options import NegationName, Options, Roles, StageName, TimeUnit, make_options, option_names
from augury.plan import FamilyName, GivenStatistics, Negation
from augury.schema import UNITS

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])
EVENTS = pa.Table.from_pylist([{"ts": t, "type": "AB"[t % 2], "x": t} for t in range(6)], COLUMNS)
PAIR = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"


# -- a compiled query --------------------------------------------------------------------------------------------------


def test_match_is_short_for_a_compiled_query() -> None:
    for schema in (COLUMNS, EVENTS, EVENTS.to_pylist()):
        query = augury.compile(PAIR, schema, max_matches=100)
        assert isinstance(query, Query)
        assert query.match(EVENTS) == augury.match(EVENTS, PAIR)
        assert len(query.match(EVENTS)) == 3, "it can be used again"
    assert query.text == PAIR
    assert repr(query) == f"Query({PAIR!r})"


def test_a_query_takes_any_events_with_its_columns() -> None:
    query = augury.compile(PAIR, COLUMNS)
    assert query.match(EVENTS.select(["x", "type", "ts"])) == query.match(EVENTS)
    assert query.match(EVENTS.to_pylist()) == query.match(EVENTS)
    assert len(query.match([])) == 0
    with pytest.raises(HostError, match="x"):
        query.match(EVENTS.drop_columns(["x"]))


def test_a_query_is_planned_for_the_events_it_was_compiled_with() -> None:
    assert "statistics: measured" in augury.compile(PAIR, EVENTS).explain()
    assert "statistics: assumed" in augury.compile(PAIR, COLUMNS).explain()
    assert augury.compile(PAIR, EVENTS).explain() == augury.explain(PAIR, EVENTS)
    plan, _ = augury.explain(augury.match(EVENTS, PAIR)).split("\n\nwhere the time went\n")
    assert augury.compile(PAIR, EVENTS).explain() == plan
    for stage in typing.get_args(StageName):
        assert augury.compile(PAIR, COLUMNS).explain(stage) == augury.explain(PAIR, COLUMNS, stage=stage)


def test_a_query_gives_matchers_with_its_options() -> None:
    query = augury.compile("SEQ(A a, B b) WHERE b.x < a.x + step", COLUMNS, parameters={"step": 2}, counters=True)
    stream, other = query.stream(lateness="2 seconds"), query.stream()
    assert isinstance(stream, Matcher)
    assert len(stream.feed(EVENTS)) + len(stream.finish()) == len(query.match(EVENTS)) == 3
    assert other.feed(EVENTS.slice(0, 2)).counters is not None, "another stream, with a state of its own"
    assert Matcher.restore(query.stream(lateness=2).snapshot()).feed(EVENTS).counters is not None


def test_the_queries_of_a_text() -> None:
    query = augury.compile("SEQ(A a, B b) WITHIN 2 seconds RETURN b.x AS x INTO C; SEQ(C c, A a)", EVENTS)
    first, last = query.match_each(EVENTS)
    assert first == augury.match(EVENTS, PAIR)
    assert last == query.match(EVENTS)


def test_a_compiled_query_can_be_sent_elsewhere() -> None:
    query = augury.compile(PAIR, EVENTS, max_matches=100)
    again = pickle.loads(pickle.dumps(query))
    assert again.match(EVENTS) == query.match(EVENTS)
    with pytest.raises(augury.TooManyMatches):
        augury.compile(PAIR, EVENTS, max_matches=1).match(EVENTS)


def test_many_queries_by_name() -> None:
    found = augury.match_all(iter(EVENTS.to_pylist()), {"pair": PAIR, "single": "PATTERN A a"}, compressed=True)
    assert {name: len(matches) for name, matches in found.items()} == {"pair": 3, "single": 3}
    assert found["pair"] == augury.match(EVENTS, PAIR)
    with pytest.raises(HostError, match="A580"):
        augury.match_all(EVENTS, {})
    with pytest.raises(HostError, match="A610"):
        augury.match_all(EVENTS, PAIR)  # type: ignore[arg-type]


def test_a_text_is_never_a_path(tmp_path: Path) -> None:
    file = tmp_path / "pair.augury"
    file.write_text(PAIR)
    assert augury.match(EVENTS, file) == augury.match(EVENTS, PAIR)
    with pytest.raises(augury.QueryError):
        augury.match(EVENTS, str(file))


# -- options -----------------------------------------------------------------------------------------------------------


def twice(x: int) -> int:
    return 2 * x


EVERY_OPTION: dict[str, Any] = {
    "time": "ts",
    "type": "type",
    "order_by": ["ts", "x"],
    "time_unit": "ms",
    "plan": "lazy-chain",
    "order": ["b", "a"],
    "negation": "first-chance",
    "statistics": {"rates": {"A": 3.0}},
    "parameters": {"n": 3, "when": dt.datetime(2026, 1, 1), "for": [dt.timedelta(1), None, "x", 1.5, True]},
    "functions": {"Twice": twice},
    "loss": LossModel(rate=0.1, delays={"a": Exponential(mean=5)}),
    "max_matches": 7,
    "max_partial_matches": 8,
    "max_memory": "1 GB",
    "timeout": dt.timedelta(seconds=90),
    "jit": False,
    "cache_dir": "somewhere",
    "threads": 3,
    "progress": False,
    "merge": False,
    "counters": True,
    "compressed": True,
}
"""Each option with a value that is not its default, where there is another one."""


def test_the_typed_dict_has_the_fields_of_the_frozen_forms() -> None:
    assert set(MatchOptions.__annotations__) == {*option_names(Roles), *option_names(Options)} == set(EVERY_OPTION)


def test_closed_sets_are_what_the_engine_knows() -> None:
    assert typing.get_args(FamilyName) == tuple(FAMILIES)
    assert set(typing.get_args(NegationName)) == {str(n) for n in Negation}
    assert set(typing.get_args(TimeUnit)) == set(UNITS)
    assert typing.get_args(StageName) == STAGES


@pytest.mark.parametrize("name", option_names(Options))
def test_every_option_survives_saving(name: str) -> None:
    """A new field of `Options` fails here until it is given a value, and below until it can be saved."""
    options = make_options(**{name: EVERY_OPTION[name]})
    assert getattr(options, name) != getattr(Options(), name), "a default proves nothing"
    facts = option_facts(options)
    again = restored_options(Facts(facts, "the snapshot"))
    if name in GIVEN_AGAIN:
        assert getattr(again, name) == getattr(Options(), name)
    else:
        assert again == options


def test_every_option_survives_a_snapshot() -> None:
    left_out = ("plan", "order", "negation", "time_unit", "threads", "progress")
    given = {k: v for k, v in EVERY_OPTION.items() if k not in left_out}
    matcher = Matcher("SEQ(A a, B b) WHERE twice(a.x) < n", COLUMNS, lateness=3, **given)
    again = Matcher.restore(matcher.snapshot(), functions=given["functions"], cache_dir=given["cache_dir"])
    assert again._setting.options == matcher._setting.options
    assert again._setting.schema == matcher._setting.schema
    assert again._setting.lateness == 3


def test_statistics_of_both_kinds_survive() -> None:
    for stated in (GivenStatistics.of({"rates": {"A": 1.0}}), StreamStatistics({"a": 1.0}, source="elsewhere")):
        options = Options(statistics=stated)
        assert restored_options(Facts(option_facts(options), "the snapshot")) == options


def takes_options() -> dict[str, Callable[..., Any]]:
    return {
        "match": lambda **o: augury.match(EVENTS, PAIR, **o),
        "match_all": lambda **o: augury.match_all(EVENTS, {"q": PAIR}, **o),
        "compile": lambda **o: augury.compile(PAIR, EVENTS, **o),
        "explain": lambda **o: augury.explain(PAIR, EVENTS, **o),
        "Matcher": lambda **o: Matcher(PAIR, COLUMNS, **o),
    }


@pytest.mark.parametrize("call", takes_options().values(), ids=takes_options().keys())
def test_every_function_takes_every_option_and_no_other(call: Callable[..., Any], tmp_path: Path) -> None:
    for name, value in EVERY_OPTION.items():
        call(**{name: tmp_path if name == "cache_dir" else value})
    with pytest.raises(HostError, match="there is no option `max_match`") as raised:
        call(max_match=5)
    assert raised.value.code == "A651"
    assert raised.value.help == "did you mean `max_matches`?"


# -- what is public ----------------------------------------------------------------------------------------------------


def own_classes(hint: Any) -> Iterator[type]:
    """The classes of Augury in an annotation."""
    if isinstance(hint, type) and not typing.get_args(hint) and hint.__module__.split(".")[0] == "augury":
        yield hint
    for part in typing.get_args(hint):
        yield from own_classes(part)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in augury.__all__:
        thing = getattr(augury, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, Exception) and thing.__module__ != "augury.ir.syntax":
            for method, function in vars(thing).items():
                function = function.__func__ if isinstance(function, classmethod) else function
                function = function.fget if isinstance(function, property) else function
                if isinstance(function, types.FunctionType) and not method.startswith("_"):
                    yield f"{name}.{method}", function


@pytest.mark.parametrize("name, function", list(public_functions()))
def test_what_a_public_signature_names_is_public(name: str, function: Callable[..., Any]) -> None:
    public = {getattr(augury, known) for known in augury.__all__ if inspect.isclass(getattr(augury, known))}
    import pandas as pd
    import polars as pl

    from augury.view.page import Page

    names = {"pd": pd, "pl": pl, "pa": pa, "os": os, "Any": Any, "Iterable": Iterable, "Mapping": Mapping, "Page": Page}
    names |= {"WhyNot": augury.WhyNot, "Explanation": augury.Explanation}
    for hint in typing.get_type_hints(function, localns=names).values():
        for found in own_classes(hint):
            assert found in public, f"{name}: {found.__module__}.{found.__qualname__}"
