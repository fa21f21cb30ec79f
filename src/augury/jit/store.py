"""Compiled kernels in a folder that many processes read and write at once: whole and unharmed, or not there.

    <cache folder>/augury-<what they were compiled with and for>/kernel_<fingerprint>.<entry>.<key>.bin

Each file holds a mark, a digest of its key and content, and the content, which is code that is run. So a folder or a
file counts only if it belongs to the user, or to root, and nobody else can write it. That is asked of what has been
opened (`augury.jit.owned`), never of a name, which may stand for something else by the time it is opened.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from augury.jit.owned import NotOwned, open_file, open_folder, open_inside

_LOG = logging.getLogger(__name__)
_MARK = b"augury kernel 1\n"
_HEADER = len(_MARK) + hashlib.sha256().digest_size


def default_cache_dir() -> Path | None:
    """`$XDG_CACHE_HOME/augury`, else `~/.cache/augury`; none for a user without a home."""
    return _cache_dir(os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~"))


@functools.cache
def _cache_dir(base: str, home: str) -> Path | None:
    """The folder for these settings; cached, since every call asks several times and paths are slow to make."""
    if os.path.isabs(base):
        return Path(base) / "augury"
    # What has no home stays a `~`.
    return Path(home) / ".cache" / "augury" if os.path.isabs(home) else None


def read(root: Path, folder: str, file: str, key: bytes) -> bytes | None:
    """The content that `write` stored under `key`; None if there is none, or if it cannot be trusted."""
    try:
        with open_folder(root) as top, open_inside(top, folder) as inside:
            data = _content(inside, file)
    except FileNotFoundError:
        return None
    except NotOwned as e:
        warn_once(f"the kernel cache is not used, and kernels are compiled in memory: {e}")
        return None
    except OSError as e:
        _LOG.warning("the cached kernel %s cannot be read and is compiled anew: %s", root / folder / file, e)
        return None
    return checked(data, key, str(root / folder / file))


def checked(data: bytes, key: bytes, name: str) -> bytes | None:
    """The content of a file that was written under `key`, if it is unharmed."""
    content = data[_HEADER:]
    # Machine code with one wrong bit can take the process down, so it is never handed on unchecked.
    if data[:_HEADER] != _header(key, content):
        _LOG.warning("the cached kernel %s is damaged and is compiled anew", name)
        return None
    return content


def write(root: Path, folder: str, file: str, key: bytes, content: bytes) -> None:
    """Put `content` there in one step, so that a reader sees the old file, the new one or none."""
    try:
        with open_folder(root, create=True) as top, open_inside(top, folder, create=True) as inside:
            partial = f"{file}.{os.getpid()}-{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(partial, flags, 0o600, dir_fd=inside), "wb") as f:
                    f.write(_header(key, content))
                    f.write(content)
                os.rename(partial, file, src_dir_fd=inside, dst_dir_fd=inside)
            except BaseException:
                _unlink(partial, inside)
                raise
    except NotOwned as e:
        warn_once(f"the kernel cache is not used, and kernels are compiled in memory: {e}")
    except OSError as e:
        warn_once(f"compiled kernels are not kept: {root / folder}: {e.strerror}")


def stored(root: Path, begins: str, ends: str = ".bin") -> list[tuple[str, str, bytes]]:
    """The folder, name and raw bytes of each cache file whose name has this beginning and end."""
    return [(folder, file, _content(inside, file)) for folder, inside, file in _files(root, begins, ends)]


def holds(root: Path, begins: str, ends: str = ".bin") -> bool:
    """Whether there is a cache file whose name has this beginning and end."""
    return any(True for _ in _files(root, begins, ends))


def remove(root: Path, begins: str, ends: str = ".bin") -> int:
    """Delete the cache files whose names have this beginning and end, and folders left empty; the number of files."""
    gone, folders = 0, set()
    for folder, inside, file in _files(root, begins, ends):
        gone += _unlink(file, inside)
        folders.add(folder)
    with _quietly(), open_folder(root) as top:
        for folder in folders:
            with open_inside(top, folder) as inside:
                empty = not os.listdir(inside)
            if empty:
                os.rmdir(folder, dir_fd=top)
    return gone


def clear(cache_dir: Path | None = None) -> int:
    """Delete every compiled kernel under `cache_dir`, or the default folder, and say how many files that were.

    Kernels that are already loaded go on working. Files that are not ours are left alone.
    """
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None:
        return 0
    return sum(remove(root, "kernel_", end) for end in (".bin", ".tmp"))


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning, the first time only."""
    _LOG.warning(text)


def _files(root: Path, begins: str, ends: str) -> Iterator[tuple[str, int, str]]:
    """The folder, its descriptor and the name of each cache file with this beginning and end of its name."""
    with _quietly(), open_folder(root) as top:
        for folder in sorted(name for name in os.listdir(top) if name.startswith("augury-")):
            with _quietly(), open_inside(top, folder) as inside:
                for file in sorted(os.listdir(inside)):
                    if file.startswith(begins) and file.endswith(ends):
                        yield folder, inside, file


@contextmanager
def _quietly() -> Iterator[None]:
    """Ignore a folder that does not exist; log a warning for one that does not belong to us."""
    try:
        yield
    except FileNotFoundError:
        return
    except (NotOwned, NotADirectoryError) as e:
        warn_once(f"the kernel cache is not used, and kernels are compiled in memory: {e}")


def _content(folder: int, file: str) -> bytes:
    with open_file(folder, file) as opened, open(opened, "rb", closefd=False) as f:
        return f.read()


def _unlink(file: str, folder: int) -> bool:
    try:
        os.unlink(file, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _header(key: bytes, content: bytes) -> bytes:
    # The digest of the key has a fixed length, so no other key and content run together to the same bytes.
    return _MARK + hashlib.sha256(hashlib.sha256(key).digest() + content).digest()
