"""How Numba compiles the entries of a kernel: the code that unpacks their arguments is left as it is."""

from __future__ import annotations

import functools
from typing import Any

from augury.jit.garbage import no_collections


class _Unoptimised:
    """A code library that takes modules whose functions LLVM is not to optimise."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            if function.blocks:
                # LLVM wants the second of everything that has the first.
                function.attributes.add("optnone")
                function.attributes.add("noinline")
        self._library.add_ir_module(module)


@functools.cache
def entry_compiler() -> type[Any]:
    """Numba's compiler, but for the function that Python calls, which unpacks the arguments of an entry.

    An entry takes dozens of arrays, and unpacking them is so much code that optimising it takes longer than the entry
    itself; it would save a tenth of a microsecond a call.
    """
    from numba.core.compiler import Compiler

    class EntryCompiler(Compiler):  # type: ignore[misc]
        def __init__(self, typing_context: Any, target: Any, *more: Any) -> None:
            def create_cpython_wrapper(library: Any, *about: Any, **options: Any) -> None:
                target.create_cpython_wrapper(_Unoptimised(library), *about, **options)

            super().__init__(typing_context, target.subtarget(create_cpython_wrapper=create_cpython_wrapper), *more)

        def compile_extra(self, function: Any) -> Any:
            with no_collections():
                return super().compile_extra(function)

    return EntryCompiler
