"""The threads of calls: shared by successive calls, safe to use inside one another, and in a forked process."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from augury.engine.threads import Workers, map_in_threads


def names_of(threads: int) -> set[str]:
    """The names of the threads that do a few things."""
    barrier = threading.Barrier(threads, timeout=30)

    def name(_: int) -> str:
        # As many at once as there are threads.
        barrier.wait()
        return threading.current_thread().name

    return set(map_in_threads(name, range(threads), threads))


def test_a_call_uses_the_threads_of_the_one_before() -> None:
    first = names_of(3)
    assert len(first) == 3
    assert names_of(3) == first


def test_a_worker_that_maps_in_turn_does_not_wait_for_threads_that_are_busy() -> None:
    def total(k: int) -> int:
        return sum(map_in_threads(lambda x: x * k, range(10), 2))

    assert list(map_in_threads(total, range(20), 2)) == [45 * k for k in range(20)]


def test_what_is_read_and_what_is_matched_share_threads_in_one_call() -> None:
    workers = Workers(2)
    seen = set()

    def work(x: int) -> int:
        seen.add(threading.current_thread().name)
        return x + 1

    assert list(workers.map(work, workers.map(work, range(50)))) == list(range(2, 52))
    assert len(seen) <= 2


def test_an_error_leaves_the_threads_usable() -> None:
    def work(k: int) -> int:
        if k == 3:
            raise ValueError("the third")
        return k

    for _ in range(3):
        with pytest.raises(ValueError, match="the third"):
            list(map_in_threads(work, range(100), 2))
        assert list(map_in_threads(abs, range(100), 2)) == list(range(100))


def test_results_that_nobody_takes_are_not_computed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for k in range(1_000):
            taken.append(k)
            yield k

    results = map_in_threads(abs, items(), 2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert len(taken) <= 6


def test_callers_with_different_numbers_of_threads_do_not_disturb_each_other() -> None:
    def call(threads: int) -> bool:
        return all(
            list(map_in_threads(lambda x: x * x, range(40), threads)) == [x * x for x in range(40)] for _ in range(20)
        )

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(call, (2, 3, 2, 4)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert list(map_in_threads(abs, range(5), 2)) == list(range(5))
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=lambda: answers.put(list(map_in_threads(abs, range(5), 2))))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert answers.get() == list(range(5))
