"""What slow tests are: how often they try something, and which cases of a test are left to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings

# `pytest_configure` has loaded it before test modules are imported.
THOROUGH = settings.get_current_profile_name() == "thorough"


def rounds(usual: int, thorough: int) -> int:
    """How often something is tried: as often as shows the behaviour, with `--thorough` as the second number says."""
    return thorough if THOROUGH else usual


def quick(cases: Mapping[str, Any], *names: str) -> list[Any]:
    """The cases as parameters of a test; all but the named ones are slow."""
    assert set(names) < set(cases)
    return [
        pytest.param(case, id=name, marks=[] if name in names else [pytest.mark.slow]) for name, case in cases.items()
    ]
