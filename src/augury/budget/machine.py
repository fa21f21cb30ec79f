"""The memory that the machine, its container and the limits of the process leave, and what the process uses of it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

DEFAULT_MACHINE_BYTES = 8 * 10**9  # where the system tells nothing


def default_memory() -> int:
    """Half of the memory that the machine, the container or a limit of the process lets this process have."""
    limits = [*_container_limits()]
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits.append(None if soft == resource.RLIM_INFINITY else soft)
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((limit for limit in limits if limit), default=DEFAULT_MACHINE_BYTES) // 2


def resident() -> int:
    """Bytes of memory that this process uses; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


_CGROUP_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with the memory limit of a container: control groups version 2 and version 1."""


@cache
def _container_limits() -> tuple[int | None, ...]:
    """The memory limits of the container, read once: doing so takes a tenth of a millisecond, in each call."""
    return tuple(_number(Path(name)) for name in _CGROUP_LIMIT_FILES)


def _number(file: Path) -> int | None:
    """The number in a file; None for "max" and for a file that cannot be read."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
