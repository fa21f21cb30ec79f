"""One Spark session for all tests of this folder, which run one after the other in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury.hosts.spark.releases import INSTALLED, can, release_name

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Tests are over before the JVM's best compiler would pay.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}

OLD_WAYS = [
    # Sockets are left to the garbage collector.
    *(["ignore:unclosed <socket:ResourceWarning"] if INSTALLED < (4, 2) else []),
    *(["ignore:distutils Version classes are deprecated:DeprecationWarning"] if INSTALLED < (4, 0) else []),
    *(["ignore:is_datetime64tz_dtype is deprecated:DeprecationWarning"] if INSTALLED < (4, 0) else []),
]
"""What Spark itself does that Python and pandas warn of."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("spark"))
            for old in OLD_WAYS:
                item.add_marker(pytest.mark.filterwarnings(old), append=False)
            # That it is refused where it is lacking is tested by `test_releases`.
            lacking = [what for mark in item.iter_markers("needs") for what in mark.args if not can(what)]
            if lacking:
                item.add_marker(pytest.mark.skip(f"Spark {release_name(INSTALLED)} lacks {', '.join(lacking)}"))


@pytest.fixture(scope="session")
def spark(_own_cache: None) -> Iterator[SparkSession]:
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    yield session
    session.stop()
