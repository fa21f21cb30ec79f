"""The generated Python of one kernel, and the name it is known by."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Protocol

import numpy.typing as npt

PRELUDE = ("prelude.py", "prelude_search.py", "prelude_lists.py")

FORMAT = 2
"""Raised when the same text comes to mean something else, such as a new duty of `kernel`."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A module of plain functions, those for compilation decorated with `@kernel`; made by `kernel_source`.

    `entries` are the functions a host calls; the text may call the functions of the prelude by name. The same plan
    gives the same bytes, hence the same `fingerprint`.
    """

    text: str
    entries: tuple[str, ...]
    fingerprint: str
    ranks_strings: bool
    """Whether strings are compared by more than equality."""
    sets: tuple[npt.NDArray[Any], ...] = field(default=(), compare=False, repr=False)
    """Sets of values that functions take as arguments: other values need no other code."""


class Emitted(Protocol):
    """What an emitter gives: the source of a kernel, and the registered functions that it calls by name."""

    @property
    def source(self) -> KernelSource: ...

    @property
    def functions(self) -> Mapping[str, tuple[str, ...]]: ...


def kernel_source(
    text: str,
    entries: tuple[str, ...],
    sets: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    *,
    ranks_strings: bool = False,
) -> KernelSource:
    """Name `text` by everything that decides what it computes: itself, its entries and the prelude.

    >>> source = kernel_source("@kernel\\ndef double(x):\\n    return x + x\\n", ("double",))
    >>> len(source.fingerprint), source == kernel_source(source.text, source.entries)
    (64, True)
    """
    if not text.replace("\n", "").isprintable():
        raise ValueError("generated code holds a character that is not printable")
    parts = json.dumps([FORMAT, *prelude().values(), entries, text])
    digest = hashlib.sha256(parts.encode()).hexdigest()
    return KernelSource(text, entries, digest, ranks_strings, tuple(sets.values()))


@functools.cache
def prelude() -> Mapping[str, str]:
    """The Python source of the prelude by file, as the parts of one module: what they import is in the others."""
    folder = files("augury.native")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in PRELUDE}
    return {name: "\n".join(map(_without_import, text.split("\n"))) for name, text in texts.items()}


def _without_import(line: str) -> str:
    return "" if line.startswith("from augury.") else line


def functions_as_kernels(text: str) -> tuple[str, tuple[str, ...]]:
    """The functions of a module of the library, each decorated to be compiled, and their names.

    What stands before the first one, such as imports, is left out: what these name is in the prelude.

    >>> functions_as_kernels("from augury.native.prelude import mix\\n\\n\\ndef twice(x):\\n    return mix(mix(x))\\n")
    ('@kernel\\ndef twice(x):\\n    return mix(mix(x))\\n', ('twice',))
    """
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    heads = {function.lineno for function in functions}
    lines = text.split("\n")
    numbered = enumerate(lines[min(heads) - 1 :], min(heads))
    body = "\n".join(f"@kernel\n{line}" if number in heads else line for number, line in numbered)
    return body, tuple(function.name for function in functions)
