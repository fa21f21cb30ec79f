"""Programs in sessions of their own, with everything they start, to be killed for certain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]

Program = subprocess.Popen[bytes]


def environment(**more: str) -> dict[str, str]:
    """That of the tests, in which the sources under test come first."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **more}


def module(name: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs a module with this Python."""
    return [sys.executable, "-m", name, *arguments]


@contextmanager
def running(command: Iterable[str | Path], log: Path, env: Mapping[str, str]) -> Iterator[Program]:
    """A program whose output goes to a file, for as long as the block takes, however that ends."""
    with log.open("wb") as output:
        program = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # The guard sees the end of its input when the block is left, and also when the tests themselves are killed.
    guard = subprocess.Popen(
        [sys.executable, "-I", __file__, str(program.pid)], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield program
    finally:
        guard.communicate()
        program.wait()


def kill(program: Program) -> None:
    """Kill -9 a program and everything that it has started."""
    _kill_session(program.pid)
    program.wait()


def _kill_session(leader: int) -> None:
    # Spark puts Python workers into a process group of their own, and one that is being started can be missed.
    while members := _session(leader):
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _session(leader: int) -> list[int]:
    """The living processes of a session, which outlives its leader; a dead one that nobody waits for is not living."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    living = [int(pid) for pid, state in map(str.split, listed.splitlines()) if not state.startswith("Z")]
    return [pid for pid in living if _session_of(pid) == leader]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def wait_until(
    happened: Callable[[], bool], what: str, *, program: Program, log: Path, seconds: float = 240, every: float = 0.05
) -> None:
    """Until something has happened; not longer than the program runs, nor than `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert program.poll() is None, f"it ended before {what}:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"it takes too long until {what}:\n{log.read_text()}"
        time.sleep(every)


if __name__ == "__main__":
    sys.stdin.read()
    _kill_session(int(sys.argv[1]))
