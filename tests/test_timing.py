"""A stopwatch divides the time of a call among its stages."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import pytest

from augury.timing import UNTIMED, CallStage, Clock, Stopwatch


def spend(clock: Clock, stage: CallStage) -> None:
    with clock.stage(stage, rows=1):
        sum(range(20_000))


def seconds(watch: Stopwatch) -> dict[CallStage, float]:
    return {time.stage: time.seconds for time in watch.times()}


def test_a_stage_inside_another_is_not_counted_twice() -> None:
    watch = Stopwatch()
    began = perf_counter()
    with watch.stage(CallStage.OTHER):
        with watch.stage(CallStage.PLANNING):
            spend(watch, CallStage.READING)
        spend(watch, CallStage.MATCHING)
        spend(watch, CallStage.MATCHING)
    whole = perf_counter() - began
    assert [(time.stage, time.rows) for time in watch.times()] == [
        (CallStage.READING, 1),
        (CallStage.PLANNING, 0),
        (CallStage.MATCHING, 2),
        (CallStage.OTHER, 0),
    ]
    assert 0 < sum(seconds(watch).values()) <= whole
    assert seconds(watch)[CallStage.PLANNING] < seconds(watch)[CallStage.READING]


def test_seconds_that_belong_to_another_stage_are_moved_there() -> None:
    watch = Stopwatch()
    with watch.stage(CallStage.MATCHING):
        began = perf_counter()
        sum(range(20_000))
        compiling = perf_counter() - began
        watch.moved(CallStage.LOADING, compiling)
    assert seconds(watch)[CallStage.LOADING] == compiling
    assert seconds(watch)[CallStage.MATCHING] < compiling


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_what_is_waited_for_is_divided_among_the_stages_of_the_threads(threads: int) -> None:
    watch = Stopwatch()

    def work(_: int) -> None:
        with watch.helping(), watch.stage(CallStage.MATCHING):
            spend(watch, CallStage.ENCODING)

    began = perf_counter()
    with watch.stage(CallStage.OTHER):
        if threads:
            with ThreadPoolExecutor(threads) as pool:
                assert len([*watch.threaded(pool.map(work, range(8)))]) == 8
        else:
            assert len([*watch.threaded(map(work, range(8)))]) == 8
    whole = perf_counter() - began
    assert set(seconds(watch)) == {CallStage.ENCODING, CallStage.MATCHING, CallStage.OTHER}
    assert seconds(watch)[CallStage.ENCODING] > seconds(watch)[CallStage.MATCHING]
    assert sum(seconds(watch).values()) <= whole


def test_items_are_read_while_others_are_waited_for() -> None:
    watch = Stopwatch()

    def work(item: int) -> int:
        with watch.helping():
            spend(watch, CallStage.MATCHING)
        return item

    items = watch.each(CallStage.READING, (sum(range(20_000)) for _ in range(3)))
    assert [*watch.threaded(map(work, items))] == [199_990_000] * 3
    assert set(seconds(watch)) == {CallStage.READING, CallStage.MATCHING}


def test_an_error_ends_its_stage() -> None:
    watch = Stopwatch()
    with pytest.raises(ZeroDivisionError), watch.stage(CallStage.OTHER), watch.stage(CallStage.READING):
        raise ZeroDivisionError
    assert set(seconds(watch)) == {CallStage.READING, CallStage.OTHER}


def test_a_copy_goes_on_by_itself() -> None:
    watch = Stopwatch()
    spend(watch, CallStage.READING)
    for again in (watch.copy(), pickle.loads(pickle.dumps(watch))):
        assert again.times() == watch.times()
        spend(again, CallStage.WRITING)
        assert seconds(again).keys() - seconds(watch).keys() == {CallStage.WRITING}


def test_nobody_looks_at_the_time_of_a_stream() -> None:
    spend(UNTIMED, CallStage.READING)
    UNTIMED.moved(CallStage.LOADING, 1.0)
    UNTIMED.count(CallStage.READING, 1)
    assert [*UNTIMED.each(CallStage.READING, "ab"), *UNTIMED.threaded("cd")] == ["a", "b", "c", "d"]
    assert not hasattr(UNTIMED, "__dict__")
