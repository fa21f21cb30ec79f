"""Servers of pages for tests: the command itself, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def playground(*arguments: str | Path) -> Iterator[str]:
    """The address of a playground that runs as long as this lasts."""
    command = [sys.executable, "-m", "augury.cli", "serve", "--no-open", "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.match(r"(http://127\.0\.0\.1:\d+/) ", line)
        assert found is not None, line + process.stderr.read()
        yield found[1]
    finally:
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
