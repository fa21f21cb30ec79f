"""Compiled kernels that travel with a job, so that executors need not compile what the driver has compiled.

They travel inside the job, which Spark authenticates and unpickles: code like the rest of it. Executors load them from
memory. No folder is involved, which there may not be, or which others might write to.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

from augury.compiler import CompiledProgram
from augury.jit.compile import provide
from augury.jit.store import default_cache_dir, stored
from augury.native.support import support_source

MAX_STATEFUL_TASK_BYTES = 700 << 10
"""Bytes of kernels in one task with state: Spark broadcasts tasks of a MiB, which such workers cannot read."""


@dataclass(frozen=True, slots=True)
class CompiledFile:
    """One file of the kernel cache, compressed; `folder` and `file` name all that it was compiled for."""

    folder: str
    file: str
    content: bytes


def compiled_kernels(program: CompiledProgram, cache_dir: Path | None) -> tuple[CompiledFile, ...]:
    """The files of this machine's kernel cache that belong to a program."""
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None:
        return ()
    prints = {q.kernel.source.fingerprint for q in program.queries if q.kernel is not None}
    if prints:
        prints.add(support_source().fingerprint)
    return tuple(
        CompiledFile(folder, file, zlib.compress(content))
        for fingerprint in sorted(prints)
        for folder, file, content in stored(root, f"kernel_{fingerprint[:16]}.")
    )


def provide_kernels(files: tuple[CompiledFile, ...]) -> None:
    """Let this process load the kernels of a job; those of another CPU or version lie there unused."""
    provide({(file.folder, file.file): zlib.decompress(file.content) for file in files})


def light_enough(files: tuple[CompiledFile, ...]) -> tuple[CompiledFile, ...]:
    """As many of the kernels as fit into a task of a worker with state, the smallest first; it compiles the others."""
    kept, size = [], 0
    for file in sorted(dict.fromkeys(files), key=lambda file: len(file.content)):
        size += len(file.content)
        if size <= MAX_STATEFUL_TASK_BYTES:
            kept.append(file)
    return tuple(kept)
