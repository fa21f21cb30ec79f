"""The same text as plain Python and as machine code, and a cache that may be slow but never wrong."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury import native
from augury.jit import compile as jit
from augury.jit import store
from augury.jit.compile import load
from augury.jit.store import clear, default_cache_dir
from augury.runtime.kernel_source import KernelSource, kernel_source
from tests.thorough import rounds

PAIRS = """\
@kernel
def follows(a, b):
    return a < b

@kernel
def pairs(A_row, B_row):
    total = 0
    for i in range(B_row.shape[0]):
        total += lower_bound(A_row, 0, A_row.shape[0], B_row[i])    # SEQ(A a, B b)
    return total

@kernel
def rises(x):
    total = 0
    for i in range(1, x.shape[0]):
        if follows(x[i - 1], x[i]):
            total += 1
    return total
"""
SOURCE = kernel_source(PAIRS, ("pairs", "rises"))
ROWS = (np.array([0, 1, 4]), np.array([2, 3, 5]))
ANSWER = 2 + 2 + 3

# Run by a fresh process: load SOURCE from the folder, call it, tell how.
WORKER = """
import json, logging, sys
from pathlib import Path
import numpy as np
logging.basicConfig(stream=sys.stderr, format="%(message)s")
from augury.jit.compile import load
from augury.runtime.kernel_source import kernel_source
text, entries, folder = json.loads(sys.stdin.readline())
if sys.stdin.readline():
    print("ready", flush=True)
    sys.stdin.readline()
entry = load(kernel_source(text, tuple(entries)), cache_dir=Path(folder))[entries[0]]
answer = int(entry(np.array([0, 1, 4]), np.array([2, 3, 5])))
hits, misses = (sum(counts.values()) for counts in (entry.stats.cache_hits, entry.stats.cache_misses))
print(json.dumps({"answer": answer, "hits": hits, "misses": misses}))
"""
COMPILED = {"answer": ANSWER, "hits": 0, "misses": 1}
CACHED = {"answer": ANSWER, "hits": 1, "misses": 0}


# Put before a worker: bind it by a limit that holds from the next program on.
THEN_RUN = "; import os, sys; os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
FILES_OF_1000_BYTES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))" + THEN_RUN
# Root may write where permissions forbid it: take that power (CAP_DAC_OVERRIDE) from its bounding set.
PERMISSIONS = "import ctypes, os; os.geteuid() or ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)" + THEN_RUN


def spawn(limit: str | None = None) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    code = [WORKER] if limit is None else [limit, WORKER]
    return subprocess.Popen([sys.executable, "-c", *code], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def request(folder: Path) -> str:
    return json.dumps([SOURCE.text, SOURCE.entries, str(folder)]) + "\n"


def in_fresh_process(folder: Path, limit: str | None = None) -> tuple[dict[str, int], str]:
    """What a new process reports of its first call, and what it logged."""
    with spawn(limit) as process:
        out, err = process.communicate(request(folder))
    assert process.returncode == 0, err
    report: dict[str, int] = json.loads(out)
    return report, err


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """The one file that a fresh process leaves for `pairs`: its place under the folder, and its bytes."""
    folder = tmp_path_factory.mktemp("filled")
    report, err = in_fresh_process(folder)
    assert (report, err) == (COMPILED, "")
    (file,) = files_in(folder)
    return str(file.relative_to(folder)), file.read_bytes()


@pytest.fixture
def warm(filled: tuple[str, bytes], tmp_path: Path) -> Path:
    """A copy of the filled folder at another path."""
    file = tmp_path / filled[0]
    file.parent.mkdir()
    file.write_bytes(filled[1])
    return tmp_path


# -- two ways to run one text ------------------------------------------------------------------------------------------


def test_plain_and_compiled_agree(tmp_path: Path) -> None:
    plain, compiled = load(SOURCE, jit=False), load(SOURCE, cache_dir=tmp_path)
    assert list(plain) == list(compiled) == ["pairs", "rises"]
    assert plain["pairs"](*ROWS) == compiled["pairs"](*ROWS) == ANSWER
    rng = np.random.default_rng(1)
    for x in (rng.integers(0, 9, 50), rng.random(50), np.array([1.0, np.nan, 2.0, 3.0]), np.array([], dtype=np.int32)):
        assert plain["rises"](x) == compiled["rises"](x)


def test_a_comparison_with_nan_is_not_true_and_zero_divides_in_silence(tmp_path: Path) -> None:
    text = """\
@kernel
def probe(x):
    return x[0] < x[0], x[0] != x[0], x[1] / x[2], x[3:].sum()
"""
    source = kernel_source(text, ("probe",))
    x = np.array([np.nan, 1.0, 0.0, 1e308, 1e308])
    expected = (False, True, np.inf, np.inf)
    assert load(source, jit=False)["probe"](x) == load(source, cache_dir=tmp_path)["probe"](x) == expected


def test_float_remainders_are_exact(tmp_path: Path) -> None:
    source = kernel_source("@kernel\ndef rest(x, y):\n    return float_remainder(x, y)\n", ("rest",))
    plain, compiled = load(source, jit=False)["rest"], load(source, cache_dir=tmp_path)["rest"]
    values = [0.1, -0.1, 1.0, 2.5, -7.5, 1e300, 5e-324, np.inf, -np.inf]
    for x, y in product(values, values):
        expected = math.nan if math.isinf(x) else math.fmod(x, y)
        np.testing.assert_array_equal([plain(x, y), compiled(x, y)], expected)
    np.testing.assert_array_equal([f(x, y) for f in (plain, compiled) for x, y in ((1.0, 0.0), (np.nan, 1.0))], np.nan)


def test_a_traceback_of_a_plain_kernel_shows_the_generated_line() -> None:
    text = "@kernel\ndef broken(x):\n    y = x + 1\n    return missing(y)    # take B b\n"
    source = kernel_source(text, ("broken",))
    with pytest.raises(NameError) as raised:
        load(source, jit=False)["broken"](1)
    shown = "".join(traceback.format_exception(raised.value))
    assert f'File "<augury kernel {source.fingerprint[:12]}>", line 4, in broken' in shown
    assert "return missing(y)    # take B b" in shown


def test_a_kernel_that_numba_refuses_shows_the_generated_line(tmp_path: Path) -> None:
    source = kernel_source("@kernel\ndef refused(x):\n    return x.nothing    # take C c\n", ("refused",))
    with pytest.raises(Exception, match="take C c"):
        load(source, cache_dir=tmp_path)["refused"](1)
    assert files_in(tmp_path) == []


def test_a_failure_in_the_prelude_points_into_the_prelude() -> None:
    with pytest.raises(TypeError) as raised:
        load(SOURCE, jit=False)["pairs"](np.array(["a"]), np.array([1]))
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert Path(last.filename).name == "prelude.py"
    assert last.line == "if a[middle] < v:"


def test_loading_again_gives_the_same_object(tmp_path: Path) -> None:
    again = kernel_source(PAIRS, ("pairs", "rises"))
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load(again, cache_dir=tmp_path), range(32)))
    assert all(entries is loaded[0] for entries in loaded)
    assert load(SOURCE, jit=False) is load(again, jit=False)
    assert load(SOURCE, jit=False) is not loaded[0]


def test_the_fingerprint_tells_texts_and_entries_apart() -> None:
    sources = [SOURCE, kernel_source(PAIRS, ("pairs",)), kernel_source(PAIRS + "\n", ("pairs", "rises"))]
    assert len({source.fingerprint for source in sources}) == len(sources)
    assert list(load(sources[1], jit=False)) == ["pairs"]


def test_two_threads_run_a_kernel_at_once(tmp_path: Path) -> None:
    # The kernel waits for another thread to write to its argument: only without the lock of the interpreter can it.
    text = """\
@kernel
def wait(flags, mine, other, patience):
    flags[mine] = 1
    for i in range(patience):
        if flags[other] == 1:
            return True
        flags[2] += 1
    return False
"""
    wait = load(kernel_source(text, ("wait",)), cache_dir=tmp_path)["wait"]
    assert not wait(np.zeros(3, dtype=np.int64), 0, 1, 10)
    flags = np.zeros(3, dtype=np.int64)
    met: dict[int, bool] = {}
    threads = [threading.Thread(target=lambda m=m: met.update({m: wait(flags, m, 1 - m, 10**10)})) for m in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert met == {0: True, 1: True}


def test_importing_augury_does_not_import_numba() -> None:
    code = "import sys, augury, augury.jit.compile; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- the cache ---------------------------------------------------------------------------------------------------------


def test_a_second_process_loads_without_compiling(warm: Path) -> None:
    before = [(path, path.read_bytes()) for path in files_in(warm)]
    assert in_fresh_process(warm) == (CACHED, "")
    assert [(path, path.read_bytes()) for path in files_in(warm)] == before


def test_each_signature_has_a_file_of_its_own(tmp_path: Path) -> None:
    rises = load(SOURCE, cache_dir=tmp_path)["rises"]
    for dtype in (np.int64, np.float32):
        assert rises(np.array([1, 2, 3], dtype=dtype)) == 2
    assert len(files_in(tmp_path)) == 2


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "truncated in the header": lambda data: data[:20],
    "truncated in the code": lambda data: data[: len(data) // 2],
    "garbage": lambda data: bytes(len(data)),
    "one bit of the header": lambda data: flip(data, 30),
    "one bit of the code": lambda data: flip(data, len(data) // 2),
    "longer": lambda data: data + b"\0",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_never_handed_on(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path, "augury-x", "kernel_x.bin"
    path = Path(*place)
    store.write(*place, b"key", content := os.urandom(1000))
    assert store.read(*place, b"key") == content
    path.write_bytes(DAMAGE[kind](path.read_bytes()))
    assert store.read(*place, b"key") is None
    assert "is damaged and is compiled anew" in caplog.text


def test_a_reader_among_writers_sees_whole_files_only(tmp_path: Path) -> None:
    place = tmp_path, "augury-x", "kernel_x.bin"
    contents = [bytes([i]) * 3_000_000 for i in range(4)]
    store.write(*place, b"key", contents[0])
    with ThreadPoolExecutor(4) as pool:
        writes = [pool.submit(store.write, *place, b"key", content) for content in contents * 10]
        while not all(write.done() for write in writes):
            assert store.read(*place, b"key") in contents
    for write in writes:
        write.result()
    assert files_in(tmp_path) == [Path(*place)]


def test_a_file_under_another_key_is_never_handed_on(tmp_path: Path) -> None:
    store.write(tmp_path, "augury-x", "kernel_x.bin", b"key", b"content")
    assert store.read(tmp_path, "augury-x", "kernel_x.bin", b"other") is None


@pytest.mark.parametrize("kind", [pytest.param("truncated in the code", marks=pytest.mark.slow), "one bit of the code"])
def test_a_damaged_kernel_is_compiled_anew_and_replaced(kind: str, warm: Path) -> None:
    (file,) = files_in(warm)
    file.write_bytes(DAMAGE[kind](file.read_bytes()))
    report, err = in_fresh_process(warm)
    assert report == COMPILED
    assert f"{file} is damaged" in err
    assert in_fresh_process(warm) == (CACHED, "")


def test_a_whole_file_that_numba_cannot_use_is_compiled_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = kernel_source(PAIRS + "# unusable\n", ("rises",))
    rises = load(source, cache_dir=tmp_path)["rises"]
    assert rises(np.array([1, 2])) == 1
    (file,) = files_in(tmp_path)
    cache: Any = rises._cache  # type: ignore[attr-defined]
    (sig,) = rises.signatures  # type: ignore[attr-defined]
    target = rises.targetctx  # type: ignore[attr-defined]
    folder, name, key = cache._place(sig, target.codegen())
    assert tmp_path / folder / name == file
    for content in (pickle.dumps(("not", "a", "result")), b"not a pickle"):
        store.write(tmp_path, folder, name, key, content)
        assert cache.load_overload(sig, target) is None
        assert f"{file.name} does not load" in caplog.text
        caplog.clear()


def test_processes_that_start_together_on_an_empty_folder(tmp_path: Path) -> None:
    processes = [spawn() for _ in range(rounds(2, 4))]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(request(tmp_path) + "wait\n")
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        out, err = process.communicate("go\n")
        assert (process.returncode, err) == (0, "")
        assert json.loads(out)["answer"] == ANSWER
    (file,) = files_in(tmp_path)
    assert file.suffix == ".bin"
    assert in_fresh_process(tmp_path) == (CACHED, "")


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    folders: list[Path] = []

    def lock(top: Path) -> None:
        folders.extend([top, *(path for path in top.rglob("*") if path.is_dir())])
        for folder in folders:
            folder.chmod(0o555)

    yield lock
    for folder in folders:
        folder.chmod(0o755)


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="root is held to permissions by a call of Linux")


@needs_linux
def test_a_read_only_folder_serves_what_it_holds(warm: Path, read_only: Callable[[Path], None]) -> None:
    read_only(warm)
    assert in_fresh_process(warm, PERMISSIONS) == (CACHED, "")


@needs_linux
def test_a_read_only_folder_without_the_kernel_only_costs_time(
    tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    read_only(tmp_path)
    report, err = in_fresh_process(tmp_path, PERMISSIONS)
    assert report == COMPILED
    assert err.count("compiled kernels are not kept") == 1
    assert files_in(tmp_path) == []


def test_a_full_disk_leaves_no_partial_file(tmp_path: Path) -> None:
    report, err = in_fresh_process(tmp_path, FILES_OF_1000_BYTES)
    assert report == COMPILED
    assert "compiled kernels are not kept" in err
    assert files_in(tmp_path) == []


def test_a_folder_that_is_a_file_only_costs_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "file"
    folder.write_text("")
    source = kernel_source(PAIRS + "# nowhere\n", ("pairs",))
    assert load(source, cache_dir=folder)["pairs"](*ROWS) == ANSWER
    assert "compiled kernels are not kept" in caplog.text


def test_recompiling_forgets_the_entry_on_disk(tmp_path: Path) -> None:
    source = kernel_source(PAIRS + "# recompile\n", ("rises",))
    rises = load(source, cache_dir=tmp_path)["rises"]
    assert rises(np.array([1, 2])) == 1
    rises.recompile()  # type: ignore[attr-defined]
    assert rises(np.array([1, 2])) == 1
    assert sum(rises.stats.cache_hits.values()) == 0  # type: ignore[attr-defined]
    assert len(files_in(tmp_path)) == 1


def test_clear_removes_kernels_and_nothing_else(tmp_path: Path) -> None:
    ours = [tmp_path / "augury-1" / "kernel_a.pairs.0.bin", tmp_path / "augury-2" / "kernel_b.pairs.0.bin.7-ab.tmp"]
    theirs = [tmp_path / "augury-2" / "notes.txt", tmp_path / "other" / "kernel_a.bin"]
    for path in (*ours, *theirs):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert clear(tmp_path) == 2
    assert files_in(tmp_path) == sorted(theirs)
    assert not (tmp_path / "augury-1").exists()
    assert clear(tmp_path) == clear(tmp_path / "nowhere") == 0


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "augury"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / ".cache" / "augury"
    source = kernel_source(PAIRS + "# default\n", ("pairs",))
    assert load(source)["pairs"](*ROWS) == ANSWER
    assert len(files_in(tmp_path / ".cache" / "augury")) == 1


def test_kernels_on_disk_are_named_by_every_file_that_writes_instructions() -> None:
    folder = Path(native.__file__).parent
    writing = {file.name for file in folder.glob("*.py") if "from llvmlite import ir" in file.read_text()}
    assert writing == set(jit.INSTRUCTIONS)


def test_kernels_share_what_is_compiled_of_the_prelude(tmp_path: Path) -> None:
    def shifted(offset: int) -> KernelSource:
        return kernel_source(f"@kernel\ndef shifted(x):\n    return natural(x) + {offset}\n", ("shifted",))

    first, second = (load(shifted(k), cache_dir=tmp_path)["shifted"] for k in (1, 2))
    assert first(5) == 6
    natural = jit._shared_prelude(True)["natural"]
    compiled = list(natural.signatures)
    assert compiled
    assert second(5) == 7
    assert natural.signatures == compiled


def test_only_entries_are_compiled_to_be_called_from_python(tmp_path: Path) -> None:
    pairs = load(SOURCE, cache_dir=tmp_path)["pairs"]
    assert pairs(*ROWS) == ANSWER
    [code] = pairs.inspect_llvm().values()  # type: ignore[attr-defined]
    wrappers = [line for line in code.splitlines() if line.startswith("define") and "cpython" in line]
    assert len(wrappers) == 1
    attributes = re.search(r"#(\d+)", wrappers[0])
    assert attributes is not None
    # Unpacking dozens of arrays is so much code that optimising it takes longer than the kernel itself.
    assert re.search(rf"attributes #{attributes[1]} = {{[^}}]*optnone", code)
    assert "cfunc" not in code
