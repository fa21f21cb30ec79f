"""The kernel cache counts only where nobody else can write: real files, real owners, real modes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from augury.jit import store
from augury.jit.owned import check_file, open_file, open_folder, open_inside

NOBODY = 65534
KEY, CONTENT = b"key", b"machine code"
FOLDER, FILE = "augury-x", "kernel_x.bin"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to somebody else")

# What an ordinary user gets from a cache, and what is logged.
AS_NOBODY = """
import json, os, sys
from pathlib import Path
from augury.jit import store
from augury.jit.owned import check_file, open_file, open_folder, open_inside
os.setgroups([]); os.setgid(65534); os.setuid(65534)
what, root = sys.argv[1:]
place = Path(root), "augury-x", "kernel_x.bin"
if what == "write":
    store.write(*place, b"key", b"machine code")
found = store.read(*place, b"key")
print(json.dumps(None if found is None else found.decode()))
"""


@pytest.fixture(autouse=True)
def _warn_again() -> None:
    store.warn_once.cache_clear()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with one kernel."""
    root = tmp_path / "cache"
    store.write(root, FOLDER, FILE, KEY, CONTENT)
    assert store.read(root, FOLDER, FILE, KEY) == CONTENT
    return root


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that others can get to, unlike those of pytest."""
    made = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True)
    folder = Path(made.stdout.strip())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def as_nobody(what: str, root: Path) -> tuple[str | None, str]:
    ran = subprocess.run([sys.executable, "-c", AS_NOBODY, what, str(root)], capture_output=True, text=True, check=True)
    found: str | None = json.loads(ran.stdout)
    return found, ran.stderr


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_what_is_made_is_closed_to_everybody_else(cache: Path) -> None:
    assert [mode(p) for p in (cache, cache / FOLDER, cache / FOLDER / FILE)] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("place, closed", [("", 0o700), (FOLDER, 0o700), (f"{FOLDER}/{FILE}", 0o600)])
def test_what_is_ours_and_a_group_may_write_is_tightened(
    cache: Path, place: str, closed: int, caplog: pytest.LogCaptureFixture
) -> None:
    (cache / place).chmod(0o775 if closed == 0o700 else 0o664)
    assert store.read(cache, FOLDER, FILE, KEY) == CONTENT
    assert mode(cache / place) == closed
    assert caplog.text == ""


@pytest.mark.parametrize("place", ["", FOLDER, f"{FOLDER}/{FILE}"])
def test_what_everybody_may_write_is_not_used(cache: Path, place: str, caplog: pytest.LogCaptureFixture) -> None:
    (cache / place).chmod(0o777)
    for _ in range(2):
        assert store.read(cache, FOLDER, FILE, KEY) is None
    assert caplog.text.count("kernels are compiled in memory: everybody may write") == 1


@needs_root
@pytest.mark.parametrize("place", ["", FOLDER, f"{FOLDER}/{FILE}"])
def test_what_belongs_to_somebody_else_is_not_used(cache: Path, place: str, caplog: pytest.LogCaptureFixture) -> None:
    os.chown(cache / place, NOBODY, NOBODY)
    assert store.read(cache, FOLDER, FILE, KEY) is None
    assert f"belongs to the user with number {NOBODY}" in caplog.text


@needs_root
def test_nothing_is_written_where_somebody_else_could_exchange_it(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.chown(cache, NOBODY, NOBODY)
    store.write(cache, FOLDER, "kernel_y.bin", KEY, CONTENT)
    assert not (cache / FOLDER / "kernel_y.bin").exists()
    assert f"belongs to the user with number {NOBODY}" in caplog.text


def test_a_folder_above_that_all_may_write_counts_only_if_it_is_sticky(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.chmod(0o1777)
    assert store.read(cache, FOLDER, FILE, KEY) == CONTENT
    cache.parent.chmod(0o777)
    assert store.read(cache, FOLDER, FILE, KEY) is None
    assert f"everybody may exchange what is in {cache.parent}" in caplog.text


@pytest.mark.parametrize("place", [FOLDER, f"{FOLDER}/{FILE}"])
def test_a_link_is_not_followed(cache: Path, place: str, caplog: pytest.LogCaptureFixture) -> None:
    moved = cache.parent / "elsewhere"
    (cache / place).rename(moved)
    (cache / place).symlink_to(moved)
    assert store.read(cache, FOLDER, FILE, KEY) is None
    assert caplog.text


def test_a_file_with_another_name_is_not_used(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.link(cache / FOLDER / FILE, cache.parent / "planted")
    assert store.read(cache, FOLDER, FILE, KEY) is None
    assert "has another name elsewhere" in caplog.text


def test_a_home_that_is_a_link_is_a_home(cache: Path) -> None:
    (cache.parent / "link").symlink_to(cache)
    assert store.read(cache.parent / "link", FOLDER, FILE, KEY) == CONTENT


def test_a_pipe_in_the_place_of_a_kernel_does_not_hang(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    (cache / FOLDER / FILE).unlink()
    os.mkfifo(cache / FOLDER / FILE)
    assert store.read(cache, FOLDER, FILE, KEY) is None
    assert "is no file" in caplog.text


def test_clear_leaves_what_is_not_ours(cache: Path) -> None:
    cache.chmod(0o777)
    assert store.clear(cache) == 0
    assert (cache / FOLDER / FILE).exists()
    cache.chmod(0o700)
    assert store.clear(cache) == 1


@needs_root
def test_a_user_reads_what_root_put_there_and_nobody_may_write(shared: Path) -> None:
    root = shared / "cache"
    store.write(root, FOLDER, FILE, KEY, CONTENT)
    for path in (root, root / FOLDER):
        path.chmod(0o755)
    (root / FOLDER / FILE).chmod(0o644)
    assert as_nobody("read", root) == (CONTENT.decode(), "")
    (root / FOLDER).chmod(0o775)
    found, logged = as_nobody("read", root)
    assert found is None
    assert "a group may write augury-x, which belongs to root" in logged


@needs_root
def test_a_user_has_a_cache_of_its_own_and_none_of_others(shared: Path) -> None:
    shared.chmod(0o1777)
    assert as_nobody("write", shared / "own") == (CONTENT.decode(), "")
    assert (shared / "own").stat().st_uid == NOBODY
    # Somebody was there first, and lets everybody in: kernels are compiled in memory.
    (shared / "trap").mkdir()
    os.chown(shared / "trap", 12345, 12345)
    (shared / "trap").chmod(0o777)
    found, logged = as_nobody("write", shared / "trap")
    assert found is None
    assert logged.count("belongs to the user with number 12345") == 1
    assert list((shared / "trap").iterdir()) == []


def test_a_file_that_was_replaced_while_it_was_open_counts(cache: Path) -> None:
    with open_folder(cache) as top, open_inside(top, FOLDER) as inside, open_file(inside, FILE) as opened:
        store.write(cache, FOLDER, FILE, KEY, b"newer")
        check_file(opened, FILE)
        assert os.read(opened, 1000).endswith(CONTENT)
