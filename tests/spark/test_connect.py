"""Spark Connect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from tests.spark.kafka import Unreachable, fetch
from tests.spark.processes import ROOT, environment

SERVER = ("org.apache.spark", "spark-connect_2.12", "3.5.7")
"""The server, for a release whose Python package lacks it: the last one of 3.5 that is certain to be there."""


@pytest.fixture
def submit(tmp_path: Path) -> dict[str, str]:
    """What the environment has to say for a server to be found."""
    if any((Path(_find_spark_home()) / "jars").glob("spark-connect_*.jar")):
        return {}
    try:
        (jar,) = fetch([SERVER], tmp_path / "server", alone=True).glob("spark-connect_*.jar")
    except Unreachable as e:
        pytest.skip(f"the server comes from Maven Central, which cannot be reached: {e}")
    return {"PYSPARK_SUBMIT_ARGS": f"--jars {jar} pyspark-shell"}


@pytest.mark.slow
@pytest.mark.needs("Spark Connect")
def test_frames_streams_and_sql_over_spark_connect(submit: dict[str, str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.connected"],
        cwd=ROOT,
        env=environment(**submit),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "connected"
