"""What every test run shares: a cache of compiled kernels of its own, and the way to rewrite golden files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# What is generated looks like tests to nobody but the collector.
collect_ignore_glob = ["tests/golden/*"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing them")
    parser.addoption("--thorough", action="store_true", help="try several times as many random examples")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property tries where it does not say so itself."""
    # A test asserts behaviour, never seconds: a busy machine must not fail it.
    patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("quick", patient, max_examples=40)
    settings.register_profile("thorough", patient, max_examples=400)
    settings.load_profile("thorough" if config.getoption("--thorough") else "quick")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps compiled kernels out of the user's cache, also those of programs that tests start.

    Test processes that run side by side have one cache, as the processes of a user do.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        # What is printed must not depend on the terminal that the tests run in.
        patch.setenv("COLUMNS", "120")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield
