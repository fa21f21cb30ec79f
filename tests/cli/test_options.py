"""Options that commands share: they are those of the API, with its defaults."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from augury.cli import app
from augury.cli.options import SHARED, GivenOptions
from augury.errors import HostError
from augury.loss import LossModel
from augury.options import MatchOptions, Options, Roles, make_options

ONLY_IN_PYTHON = {"progress", "functions", "cache_dir", "merge", "counters", "compressed"}


def shared(name: str) -> dict[str, Any]:
    """The shared options of a command, and what they are when they are not given."""
    (command,) = (c.callback for c in app.registered_commands if c.name == name)
    assert command is not None
    return {p.name: p.default for p in inspect.signature(command).parameters.values() if p.name in SHARED}


def test_the_command_line_has_the_options_of_the_api() -> None:
    assert set(SHARED) - {"no_type"} == set(MatchOptions.__annotations__) - ONLY_IN_PYTHON
    assert set(SHARED) == set(shared("match"))


@pytest.mark.parametrize("name", ["match", "view", "check", "explain"])
def test_an_option_that_is_not_given_has_the_default_of_the_api(name: str) -> None:
    given = GivenOptions({**shared(name), "parameters": {}})
    assert given.roles() == Roles()
    assert given.options() == Options()


def stated(**more: Any) -> GivenOptions:
    return GivenOptions({"no_type": False, "parameters": {}, **more})


def test_values_of_the_command_line_become_those_of_the_api(tmp_path: Path) -> None:
    (tmp_path / "loss.json").write_text('{"rate": 0.25}')
    (tmp_path / "statistics.json").write_text('{"rates": {"A": 3.0}}')
    given = stated(
        time="at",
        type="kind",
        order_by=["at,n", "m"],
        order=["b", "a"],
        statistics=tmp_path / "statistics.json",
        loss=tmp_path / "loss.json",
        parameters={"low": 5},
        max_memory="1 KB",
        jit=False,
    )
    assert given.roles() == Roles("at", "kind", ("at", "n", "m"))
    assert given.options() == make_options(
        order=["b", "a"],
        statistics={"rates": {"A": 3.0}},
        loss=LossModel(rate=0.25),
        parameters={"low": 5},
        max_memory="1 KB",
        jit=False,
    )
    assert stated(type="kind", no_type=False).roles().type == "kind"
    assert GivenOptions({"type": "kind", "no_type": True}).roles().type is None


def test_files_are_read_when_the_options_are_asked_for(tmp_path: Path) -> None:
    given = stated(loss=tmp_path / "nowhere.json")
    assert given.roles() == Roles()
    with pytest.raises(HostError, match="A554"):
        given.options()
