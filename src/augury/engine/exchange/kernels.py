"""Compiled kernels that are shipped with a job, so that executors need not compile what the driver has compiled.

They are part of the job, which Spark authenticates and unpickles, and are trusted like the rest of it. Executors load
them from memory: no folder is involved, which might not exist, or which others might write to.
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
"""Bytes of kernels in one stateful task: from 1 MiB on Spark broadcasts a task, which such workers cannot read."""


@dataclass(frozen=True, slots=True)
class CompiledFile:
    """One file of the kernel cache, compressed; `folder` and `file` identify the platform and the kernel."""

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
    """Make the kernels of a job available to this process; those for another CPU or version stay unused."""
    provide({(file.folder, file.file): zlib.decompress(file.content) for file in files})


def fitting_stateful_task(files: tuple[CompiledFile, ...]) -> tuple[CompiledFile, ...]:
    """Select kernels that fit into a stateful task, the smallest first; the worker compiles the others."""
    kept, size = [], 0
    for file in sorted(dict.fromkeys(files), key=lambda file: len(file.content)):
        size += len(file.content)
        if size <= MAX_STATEFUL_TASK_BYTES:
            kept.append(file)
    return tuple(kept)
