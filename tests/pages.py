"""Pages of documentation that run: each block of Python or shell, in order, prints what stands below it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from itertools import zip_longest
from pathlib import Path

from augury.testing.tables import blocks


def run_page(page: Path, folder: Path) -> int:
    """Run the blocks of a page in a folder, and count them; the blocks in Python share their names."""
    names: dict[str, object] = {"__name__": page.stem}
    found = blocks(page)
    ran = 0
    for block, after in zip_longest(found, found[1:]):
        if block.language not in ("python", "sh"):
            continue
        expected = after.text if after is not None and after.language == "text" else ""
        printed = (
            _python(block.text, block.line, page, names) if block.language == "python" else _shell(block.text, folder)
        )
        assert printed.strip() == expected.strip(), f"{page.name}:{block.line} printed\n{printed}"
        ran += 1
    return ran


def _python(text: str, line: int, page: Path, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile("\n" * (line - 1) + text, str(page), "exec"), names)
    return printed.getvalue()


def _shell(text: str, folder: Path) -> str:
    # The command installed beside the interpreter that runs the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    ran = subprocess.run(text, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
