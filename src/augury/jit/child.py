"""The program that compiles kernels for another process: `python -m augury.jit.child`, run by `jit.background`.

It reads requests from its standard input and leaves compiled code in the cache on disk, where the other process loads
it. It ends when its input does.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, TypeAlias

from augury.jit.compile import compile_entry, load
from augury.runtime.kernel_source import KernelSource

Request: TypeAlias = "tuple[KernelSource, Collection[str] | None, Path]"
"""A kernel, the entries to compile (None for all), and the folder of the cache."""


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Compile the requested kernels one by one; each answer is empty, or says what went wrong."""
    while True:
        try:
            source, entries, root = pickle.load(requests)
        except EOFError:
            return
        try:
            compile_entries(source, entries, root)
            answer = ""
        # Whatever the compiler raises is sent to the other process, which goes on without the kernel.
        except Exception as e:
            answer = f"{type(e).__name__}: {e}"
        pickle.dump(answer, answers)
        answers.flush()


def compile_entries(source: KernelSource, entries: Collection[str] | None, root: Path) -> None:
    """Compile entries for the argument types that they declare, or load them from the cache."""
    functions = load(source, cache_dir=root)
    for name, parameters in source.signatures.items():
        if entries is None or name in entries:
            compile_entry(functions[name], parameters)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
