"""The functions for row patterns as a kernel of their own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from augury.runtime.kernel_source import KernelSource, functions_as_kernels, kernel_source


@cache
def row_pattern_support() -> KernelSource:
    """The functions of `row_pattern.py`, each an entry.

    >>> row_pattern_support().entries[:5]
    ('place_by_key', 'scatter', 'number_integers', 'number_words', 'mark_rows')
    """
    body, entries = functions_as_kernels(files("augury.native").joinpath("row_pattern.py").read_text(encoding="utf-8"))
    return kernel_source(body, entries)
