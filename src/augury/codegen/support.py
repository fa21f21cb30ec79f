"""The buffer's functions as a kernel of their own."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from augury.codegen.source import KernelSource, kernel_source


@cache
def support_source() -> KernelSource:
    """The functions of `augury.codegen.buffer`, each an entry.

    >>> "expand" in support_source().entries
    True
    """
    text = files("augury.codegen").joinpath("buffer.py").read_text(encoding="utf-8")
    # Without its imports: what they name is in the prelude.
    body = text[text.index("\ndef ") + 1 :]
    return kernel_source(
        re.sub(r"^def ", "@kernel\ndef ", body, flags=re.M), tuple(re.findall(r"^def (\w+)", body, re.M))
    )
