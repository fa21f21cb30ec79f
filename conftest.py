"""What every test run shares: a cache of compiled kernels of its own, and the way to rewrite golden files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

# What is generated looks like tests to nobody but the collector.
collect_ignore_glob = ["tests/golden/*"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing them")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps compiled kernels out of the user's cache, also those of programs that tests start.

    Test processes that run side by side have one cache, as the processes of a user do.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield
