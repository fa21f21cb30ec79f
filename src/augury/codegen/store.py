"""Compiled kernels in a folder that many processes read and write at once: whole and unharmed, or not there.

    <cache folder>/augury-<what they were compiled with and for>/kernel_<fingerprint>.<entry>.<key>.bin

Each file holds a mark, a digest of its key and content, and the content.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from pathlib import Path

_LOG = logging.getLogger(__name__)
_MARK = b"augury kernel 1\n"
_HEADER = len(_MARK) + hashlib.sha256().digest_size


def default_cache_dir() -> Path | None:
    """`$XDG_CACHE_HOME/augury`, else `~/.cache/augury`; none for a user without a home."""
    if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return base / "augury"
    try:
        return Path.home() / ".cache" / "augury"
    except RuntimeError:
        return None


def read(path: Path, key: bytes) -> bytes | None:
    """What `write` left at `path` under `key`; none when there is nothing, or nothing to be trusted."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as e:
        _LOG.warning("the cached kernel %s cannot be read and is compiled anew: %s", path, e)
        return None
    content = data[_HEADER:]
    # Machine code with one wrong bit can take the process down, so it is never handed on unchecked.
    if data[:_HEADER] != _header(key, content):
        _LOG.warning("the cached kernel %s is damaged and is compiled anew", path)
        return None
    return content


def write(path: Path, key: bytes, content: bytes) -> None:
    """Put `content` at `path` in one step, so that a reader sees the old file, the new one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        with partial.open("xb") as f:
            f.write(_header(key, content))
            f.write(content)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def clear(cache_dir: Path | None = None) -> int:
    """Delete every compiled kernel under `cache_dir`, or the default folder, and say how many files that were.

    Kernels that are already loaded go on working. Files that are not ours are left alone.
    """
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None:
        return 0
    gone = [path for end in ("bin", "tmp") for path in root.glob(f"augury-*/kernel_*.{end}")]
    for path in gone:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in gone}:
        if not any(folder.iterdir()):
            folder.rmdir()
    return len(gone)


def _header(key: bytes, content: bytes) -> bytes:
    # The digest of the key has a fixed length, so no other key and content run together to the same bytes.
    return _MARK + hashlib.sha256(hashlib.sha256(key).digest() + content).digest()
