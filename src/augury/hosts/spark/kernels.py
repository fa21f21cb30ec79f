"""Compiled kernels on their way to executors, which need not compile what the driver has compiled."""

from __future__ import annotations

import logging
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from augury.codegen.store import default_cache_dir
from augury.codegen.support import support_source
from augury.compiler import CompiledProgram

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompiledFile:
    """One file of the kernel cache; `place` is its path in there, which names all that it was compiled for."""

    place: str
    content: bytes


def compiled_kernels(program: CompiledProgram, cache_dir: Path | None) -> tuple[CompiledFile, ...]:
    """What the cache of this machine holds for a program."""
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None:
        return ()
    prints = {q.kernel.source.fingerprint for q in program.queries if q.kernel is not None}
    if prints:
        prints.add(support_source().fingerprint)
    return tuple(
        CompiledFile(str(path.relative_to(root)), path.read_bytes())
        for fingerprint in sorted(prints)
        for path in sorted(root.glob(f"augury-*/kernel_{fingerprint[:16]}.*.bin"))
    )


def unpack_kernels(files: tuple[CompiledFile, ...], cache_dir: Path | None) -> int:
    """Put into the cache of this machine what it lacks; how many files that were.

    A cache that cannot be written only costs time: each worker compiles for itself then.
    """
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None:
        return 0
    new = [file for file in files if not (root / file.place).exists()]
    try:
        for file in new:
            _place(root / file.place, file.content)
    except OSError as e:
        _LOG.warning("compiled kernels are not kept: %s", e)
        return 0
    return len(new)


def _place(path: Path, content: bytes) -> None:
    """In one step, so that another worker sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
