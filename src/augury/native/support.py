"""The buffer's functions as a kernel of their own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from augury.runtime.kernel_source import KernelSource, functions_as_kernels, kernel_source


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
    bodies, entries = zip(*map(functions_as_kernels, texts), strict=True)
    return kernel_source("\n\n".join(bodies), tuple(name for some in entries for name in some))
