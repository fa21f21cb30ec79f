"""The generated Python of one kernel, and its fingerprint."""

from __future__ import annotations

import functools
import hashlib
import json
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Protocol

import numpy.typing as npt

from augury.runtime.arrays import ArraySpec, ParameterType

PRELUDE = ("cells.py", "prelude.py", "prelude_search.py", "prelude_lists.py")

FORMAT = 4
"""Version of the meaning of kernel texts: raised when `kernel` or the loader does something new with them."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function that a host calls: its name and parameters, integers by name and arrays by their spec.

    >>> from augury.runtime.arrays import ArraySpec
    >>> Signature("advance", ("i0", "n", ArraySpec("nums"))).head
    'def advance(i0, n, nums):'
    """

    name: str
    parameters: tuple[str | ArraySpec, ...]

    @property
    def types(self) -> tuple[ParameterType, ...]:
        return tuple(int if isinstance(p, str) else p.type for p in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p if isinstance(p, str) else p.name for p in self.parameters)

    @property
    def head(self) -> str:
        """The first line of the function."""
        return f"def {self.name}({', '.join(self.names)}):"


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A module of plain functions, those for compilation decorated with `@kernel`; made by `kernel_source`.

    `entries` are the functions a host calls; the text may call the functions of the prelude by name. The same plan
    gives the same bytes. Plans that differ in values alone differ in comments and in `sets`, and have the same
    `fingerprint`: they are one kernel, compiled once.
    """

    text: str
    entries: tuple[str, ...]
    fingerprint: str
    ranks_strings: bool
    """Whether strings are compared by more than equality."""
    sets: tuple[npt.NDArray[Any], ...] = field(default=(), compare=False, repr=False)
    """Values, and sets of values, that functions take as arguments, so that other values need no other code."""
    signatures: Mapping[str, tuple[ParameterType, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Parameter types of entries, so that they can be compiled before they are called."""
    taken: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Which arguments of a call an entry takes, by their positions, where it does not take all of them."""
    allocates: bool = False
    """Whether functions make arrays of their own: the library's do, generated ones do not."""


class Emitted(Protocol):
    """The product of an emitter: the source of a kernel, and the registered functions that it calls by name."""

    @property
    def source(self) -> KernelSource: ...

    @property
    def functions(self) -> Mapping[str, tuple[str, ...]]: ...


def kernel_source(
    text: str,
    entries: Sequence[str | Signature],
    sets: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    *,
    ranks_strings: bool = False,
    code: str | None = None,
) -> KernelSource:
    """Make a source, whose fingerprint is of all that decides what it computes: text, entries and prelude.

    `code` is the text without its comments, which decide nothing. Hosts call an entry with everything that its
    signature names, and it takes what it uses: for each parameter, Numba compiles code that unpacks the argument.

    >>> source = kernel_source("@kernel\\ndef double(x):\\n    return x + x\\n", ("double",))
    >>> len(source.fingerprint), source == kernel_source(source.text, source.entries)
    (64, True)
    """
    if not text.replace("\n", "").isprintable():
        raise ValueError("generated code holds a character that is not printable")
    names = tuple(entry if isinstance(entry, str) else entry.name for entry in entries)
    parts = json.dumps([FORMAT, *prelude().values(), names, text if code is None else code])
    digest = hashlib.sha256(parts.encode()).hexdigest()
    declared = [entry for entry in entries if isinstance(entry, Signature)]
    text, used = _without_unused(text, declared) if declared else (text, {})
    signatures = {e.name: tuple(e.types[k] for k in used.get(e.name, range(len(e.parameters)))) for e in declared}
    return KernelSource(text, names, digest, ranks_strings, tuple(sets.values()), signatures, used)


def _without_unused(text: str, entries: Sequence[Signature]) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The text, whose entries do not name parameters that they do not use; and which ones these use."""
    tables = symtable.symtable(text, "<kernel>", "exec").get_children()
    functions = {table.get_name(): table for table in tables if isinstance(table, symtable.Function)}
    called = {name for f in functions.values() for name in f.get_globals()}
    found = {}
    for entry in entries:
        # What other functions of the text call is left as it is.
        if entry.name not in called and text.count(entry.head) == 1:
            table = functions[entry.name]
            used = [k for k, name in enumerate(entry.names) if table.lookup(name).is_referenced()]
            text = text.replace(entry.head, Signature(entry.name, tuple(entry.parameters[k] for k in used)).head)
            found[entry.name] = tuple(used)
    return text, found


@functools.cache
def prelude() -> Mapping[str, str]:
    """The Python source of the prelude by file, without the imports between the files: they become one module."""
    folder = files("augury.native")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in PRELUDE}
    return {name: "\n".join(map(_without_import, text.split("\n"))) for name, text in texts.items()}


def _without_import(line: str) -> str:
    return "" if line.startswith("from augury.") else line


def functions_as_kernels(text: str) -> tuple[str, tuple[str, ...]]:
    """The functions of a module of the library, each decorated to be compiled, and their names.

    Everything before the first one, such as imports, is left out: the prelude has the imported names.

    >>> functions_as_kernels("from augury.native.prelude import mix\\n\\n\\ndef twice(x):\\n    return mix(mix(x))\\n")
    ('@kernel\\ndef twice(x):\\n    return mix(mix(x))\\n', ('twice',))
    """
    lines = text.split("\n")
    # Parsing the modules would take 12 ms, in every process that matches anything.
    heads = [number for number, line in enumerate(lines) if line.startswith("def ")]
    body = "\n".join(f"@kernel\n{line}" if line.startswith("def ") else line for line in lines[heads[0] :])
    return body, tuple(lines[number][len("def ") : lines[number].index("(")] for number in heads)
