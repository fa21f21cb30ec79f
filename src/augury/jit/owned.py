"""Folders and files that nobody else can have written, opened and looked at by descriptor.

| | counts |
|---|---|
| our folder, or file, closed to others | yes |
| ours, and the group may write it | it is closed to the group first |
| root's, and nobody else may write it | yes; an image or an administrator put it there |
| somebody else's, or open to all | no |
| a folder above: ours or root's, or sticky | yes |
| a folder above that is somebody else's, or open to all and not sticky | no: what is in it may be exchanged |
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotOwned(Exception):
    """A file or folder that others could have written."""


@contextmanager
def open_folder(path: Path, *, create: bool = False) -> Iterator[int]:
    """The descriptor of a folder of ours; with `create` it is made, open to nobody else, with those above it."""
    # Links on the way, such as a home that lies elsewhere, are followed once; then each step is taken by descriptor.
    real = Path(os.path.realpath(path))
    opened = os.open(real.anchor, _FOLDER)
    at = Path(real.anchor)
    try:
        _check_above(opened, at)
        for depth, name in enumerate(real.parts[1:], 2):
            at /= name
            below = _step(opened, name, at, create=create)
            os.close(opened)
            opened = below
            if depth < len(real.parts):
                _check_above(opened, at)
        _check(opened, at)
        yield opened
    finally:
        os.close(opened)


@contextmanager
def open_inside(folder: int, name: str, *, create: bool = False) -> Iterator[int]:
    """The descriptor of a folder of ours inside another one."""
    opened = _step(folder, name, Path(name), create=create)
    try:
        _check(opened, Path(name))
        yield opened
    finally:
        os.close(opened)


@contextmanager
def open_file(folder: int, name: str) -> Iterator[int]:
    """The descriptor of a file of ours in a folder."""
    try:
        opened = os.open(name, _FILE, dir_fd=folder)
    except OSError as e:
        raise _as_link(e, Path(name)) from e
    try:
        check_file(opened, name)
        yield opened
    finally:
        os.close(opened)


def check_file(opened: int, name: str) -> None:
    """Refuse an opened file that others may have written, or may write under another name."""
    facts = os.fstat(opened)
    if not stat.S_ISREG(facts.st_mode):
        raise NotOwned(f"{name} is no file")
    # The count is 0 if the file was replaced since it was opened: the opened one is still complete.
    if facts.st_nlink > 1:
        raise NotOwned(f"{name} has another name elsewhere")
    _check(opened, Path(name))


def _step(folder: int, name: str, path: Path, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        # Somebody may be faster: what is there then is looked at like anything else.
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
        return _step(folder, name, path, create=False)
    except OSError as e:
        raise _as_link(e, path) from e


def _as_link(e: OSError, path: Path) -> Exception:
    """Turn the error for a symbolic link, which may lead anywhere, into `NotOwned`; other errors stay."""
    return NotOwned(f"{path} is a symbolic link") if e.errno == errno.ELOOP else e


def _check(opened: int, path: Path) -> None:
    """Refuse what others may have written; close to the group what is ours."""
    facts = os.fstat(opened)
    mode, me = stat.S_IMODE(facts.st_mode), os.geteuid()
    if facts.st_uid not in (me, 0):
        raise NotOwned(f"{path} belongs to the user with number {facts.st_uid}, not to this one")
    if mode & stat.S_IWOTH:
        raise NotOwned(f"everybody may write {path}")
    if mode & stat.S_IWGRP:
        if facts.st_uid != me:
            raise NotOwned(f"a group may write {path}, which belongs to root")
        os.fchmod(opened, 0o700 if stat.S_ISDIR(facts.st_mode) else 0o600)


def _check_above(opened: int, path: Path) -> None:
    """Refuse a folder in which others may exchange what we look for."""
    facts = os.fstat(opened)
    if facts.st_uid not in (os.geteuid(), 0):
        raise NotOwned(f"{path} belongs to the user with number {facts.st_uid}, who may exchange what is in it")
    if facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX:
        raise NotOwned(f"everybody may exchange what is in {path}")
