"""The buffer's functions as a kernel of their own."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from augury.runtime.kernel_source import KernelSource, kernel_source


@cache
def support_source() -> KernelSource:
    """The functions of the modules beside this that are named here, each an entry.

    >>> "expand" in support_source().entries
    True
    """
    names = (
        "buffer.py",
        "chains.py",
        "counting.py",
        "ordering.py",
        "rates.py",
        "sequences.py",
        "standardising.py",
        "weighing.py",
    )
    texts = [files("augury.native").joinpath(name).read_text(encoding="utf-8") for name in names]
    # Without their imports: what these name is in the prelude.
    body = "\n\n".join(text[text.index("\ndef ") + 1 :] for text in texts)
    return kernel_source(
        re.sub(r"^def ", "@kernel\ndef ", body, flags=re.M), tuple(re.findall(r"^def (\w+)", body, re.M))
    )
