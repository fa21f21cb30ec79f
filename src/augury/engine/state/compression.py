"""Compresses the bytes of a checkpoint, with their uncompressed size in front."""

from __future__ import annotations

import pyarrow as pa

from augury.errors import HostError

CODEC = "lz4"

MAX_RATIO = 256  # highest compression ratio of LZ4: a header that claims more is damaged


def compress(data: bytes) -> bytes:
    """The bytes, compressed."""
    compressed: bytes = pa.compress(data, codec=CODEC, asbytes=True)
    return len(data).to_bytes(8, "little") + compressed


def decompress(data: bytes) -> bytes:
    """Undo `compress`; anything that it did not write is a `HostError`."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > MAX_RATIO * len(data):
        raise damaged("it is cut off")
    try:
        plain: bytes = pa.decompress(data[8:], size, codec=CODEC, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as e:
        raise damaged(str(e)) from e
    return plain


def damaged(why: str) -> HostError:
    """The error for a saved state that cannot be read."""
    return HostError("A573", f"the state in the checkpoint is damaged: {why}")
