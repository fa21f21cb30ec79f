"""Budgets: memory, time, matches and partial matches end a query with an error that has a code, on every plan."""

from __future__ import annotations

import datetime as dt
import inspect
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury import Matcher
from augury.budget import STOP, Budget, within
from augury.budget.amounts import memory_size, seconds, size_text
from augury.budget.machine import default_memory
from augury.errors import AuguryError, BudgetExceeded, HostError, TooManyMatches
from augury.options import Options
from augury.plan import FamilyName

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])


def events(types: str) -> pa.Table:
    return pa.table({"ts": range(len(types)), "type": list(types), "x": range(len(types))}, schema=COLUMNS)


# -- what is asked for -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, expected",
    [
        (1, 1),
        ("7", 7),
        ("512 B", 512),
        ("2 GB", 2 * 10**9),
        ("1.5gib", 3 * 2**29),
        ("10KB", 10_000),
        (" 3 TB ", 3 * 10**12),
    ],
)
def test_sizes(given: int | str, expected: int) -> None:
    assert memory_size(given) == expected


@pytest.mark.parametrize("given", [0, -1, True, "", "2 GBs", "-1 GB", "much", 1.5, None, "0 B", "1 iB", [2]])
def test_what_is_no_size(given: Any) -> None:
    with pytest.raises(HostError, match="max_memory") as raised:
        memory_size(given)
    assert raised.value.code == "A600"


@pytest.mark.parametrize(
    "given, expected",
    [
        (2, 2.0),
        (0.5, 0.5),
        ("30 seconds", 30.0),
        ("2 min", 120.0),
        ("1.5", 1.5),
        (dt.timedelta(hours=1), 3600.0),
        ("5ms", 0.005),
    ],
)
def test_timeouts(given: Any, expected: float) -> None:
    assert seconds(given) == pytest.approx(expected)


@pytest.mark.parametrize(
    "given", [0, -1, True, "", "2 fortnights", "soon", float("nan"), float("inf"), dt.timedelta(0), [1]]
)
def test_what_is_no_timeout(given: Any) -> None:
    with pytest.raises(HostError, match="timeout") as raised:
        seconds(given)
    assert raised.value.code == "A600"


def test_a_timeout_of_ages_leaves_the_watch_alive() -> None:
    for timeout in (1e306, 0.2):
        budget = Budget(10**9, timeout)
        with within(budget):
            time.sleep(0.4)
            assert budget.late == (timeout == 0.2)


def test_the_default_is_half_of_what_there_is() -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < default_memory() <= machine // 2
    assert size_text(1_500_000) == "1.5 MB"


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits are of POSIX")
def test_a_limit_of_the_process_counts_too() -> None:
    code = """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
        from augury.budget.machine import default_memory
        print(default_memory())
    """
    assert int(in_child(code)) <= 2 * 2**30


def test_options_with_a_budget_can_be_sent() -> None:
    options = Options(max_memory=10**6, timeout=2.0).watched(slots=4)
    sent = pickle.loads(pickle.dumps(options))
    assert (sent.budget.memory, sent.budget.timeout) == (250_000, 2.0)
    assert sent == options


EAGER: dict[str, Any] = {"plan": "eager-nfa", "merge": False, "jit": False}


def test_a_snapshot_keeps_the_budgets() -> None:
    matcher = Matcher("SEQ(A+ a[], B b)", COLUMNS, max_memory="600 KB", timeout="90 seconds", **EAGER)
    again = Matcher.restore(matcher.snapshot())
    assert again._setting.options.budget is not None
    assert (again._setting.options.budget.memory, again._setting.options.budget.timeout) == (600_000, 90.0)
    with pytest.raises(BudgetExceeded, match="max_memory=600 KB is not enough for this query: partial matches"):
        again.feed(events("A" * 30))


# -- memory ------------------------------------------------------------------------------------------------------------

MANY = "ABC" * 60

EXPLOSIONS = {
    "eager-nfa": "SEQ(A+ a[], B+ b[], C c) WHERE sum(a[].x) < sum(b[].x) + c.x",
    "lazy-chain": "SEQ(A a, B b, C c, A d)",
    "lazy-tree": "SEQ(A a, B b, C c, A d) WITHIN 1 hour",
    "linked": "SEQ(A a, B b, C c, A d)",
    "event-sets": "AND(A+ a[], B+ b[], C+ c[]) WHERE skip_till_next_match { a[i].x > 0 AND b[i].x > 0 }",
    "reference": "SEQ(A a, B b, C c, A d)",
}


@pytest.mark.parametrize("plan", EXPLOSIONS)
def test_memory_ends_with_an_error_on_every_plan(plan: FamilyName) -> None:
    types = MANY if plan != "event-sets" else "A" * 3000
    query = EXPLOSIONS[plan] if plan != "event-sets" else "AND(A a, A b, A c, A+ d[]) WHERE skip_till_next_match {}"
    limit = 300_000 if plan != "reference" else 20_000_000
    with pytest.raises(BudgetExceeded, match=r"max_memory=.* is not enough for this query: ") as raised:
        augury.match(events(types), query, plan=plan, jit=False, max_memory=limit, max_matches=10**9)
    assert raised.value.code == "A565"
    assert "raise max_memory" in raised.value.help


def test_memory_of_a_lossy_plan() -> None:
    loss = augury.LossModel(rate=0.1, delays={v: augury.Exponential(5.0) for v in "abc"})
    query = "SEQ(A a, B b, C c) WITHIN 1 hour THRESHOLD 0.0001"
    with pytest.raises(BudgetExceeded, match="max_memory"):
        augury.match(events(MANY), query, loss=loss, plan="lossy", jit=False, max_memory=200_000, max_matches=10**9)


def test_memory_of_counts_and_of_compressed_matches() -> None:
    small: dict[str, Any] = {"jit": False, "max_memory": 150_000}
    with pytest.raises(BudgetExceeded, match="max_memory"):
        augury.match(
            events("A" * 3000 + "B"), "SEQ(A+ a[], B b) WITHIN 1 second OUTPUT COUNT", plan="eager-nfa", **small
        )
    found = augury.match(events("A" * 25 + "B"), "SEQ(A+ a[], B b)", compressed=True, jit=False, max_memory="2 MB")
    assert found.count() == 2**25 - 1
    with pytest.raises(BudgetExceeded, match="max_memory=2 MB is not enough for this query: matches") as raised:
        found.to_arrow()
    assert raised.value.code == "A565"


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits are of POSIX")
@pytest.mark.parametrize(
    "call",
    [
        'augury.match([{"ts": i, "type": "AB"[i % 2]} for i in range(4000)], '
        '"SEQ(A+ a[], B+ b[], A+ c[]) WITHIN 1 hour", max_matches=10**9)',
        pytest.param(
            'augury.match([{"ts": i, "type": "A"} for i in range(40)], '
            '"AND(" + ", ".join(f"A a{k}" for k in range(12)) + ")", max_matches=10**9)',
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_explosion_under_a_limit_of_the_process(call: str) -> None:
    """A smaller limit than anybody would set, so that it is quick: what counts is that no MemoryError comes out."""
    code = f"""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
        import augury
        try:
            {call}
        except augury.BudgetExceeded as e:
            print(e.code)
    """
    assert in_child(code).strip() in {"A565", "A568"}


def test_a_real_memory_error_has_a_code() -> None:
    with pytest.raises(BudgetExceeded, match="max_memory=1 KB") as raised, within(Budget(1000, None)):
        np.empty(2**60, dtype=np.uint8)
    assert raised.value.code == "A565"
    with pytest.raises(BudgetExceeded, match="nested too deeply") as raised, within(Budget(1000, None)):
        raise RecursionError
    assert raised.value.code == "A569"


# -- matches and partial matches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked", "reference"])
def test_max_matches_on_every_plan(plan: FamilyName) -> None:
    with pytest.raises(TooManyMatches, match="max_matches=50 is reached: there are more than 50 matches") as raised:
        augury.match(events("A" * 10 + "B" * 10), "SEQ(A a, B b)", plan=plan, jit=False, max_matches=50)
    assert raised.value.code == "A567"


@pytest.mark.parametrize(
    "plan, query",
    [
        ("eager-nfa", "SEQ(A+ a[], B b)"),
        ("lazy-chain", "SEQ(A a, A b, A c, B d)"),
        ("event-sets", "AND(A a, A b, A c, B d) WHERE skip_till_next_match {}"),
        ("reference", "SEQ(A+ a[], B b)"),
    ],
)
def test_max_partial_matches_on_every_plan(plan: FamilyName, query: str) -> None:
    order = ["a", "b", "c", "d"] if plan == "lazy-chain" else None
    matcher = Matcher(query, COLUMNS, plan=plan, order=order, jit=False, merge=False, max_partial_matches=20)
    with pytest.raises(TooManyMatches, match="max_partial_matches=20 is reached: more than 20 ") as raised:
        matcher.feed(events("A" * 800))
    assert raised.value.code == "A568"


def test_one_event_with_too_many_matches_takes_no_memory_for_them() -> None:
    """All matches end with one event, whose matches are written together."""
    query = "SEQ(A a, A b, A c, A d, B e)"
    with pytest.raises(TooManyMatches, match="max_matches=1000 "):
        augury.match(
            events("A" * 60 + "B"),
            query,
            plan="lazy-chain",
            order=["e", "a", "b", "c", "d"],
            max_matches=1000,
            jit=False,
        )


def test_long_lists_on_the_reference_need_no_deep_stack() -> None:
    given: dict[str, Any] = {"query": "SEQ(A+ a[], B b)", "plan": "reference", "max_partial_matches": 400}
    augury.match(events("AB"), **given)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        with pytest.raises(TooManyMatches, match="max_partial_matches=400 "):
            augury.match(events("A" * 500), **given)
    finally:
        sys.setrecursionlimit(before)


# -- time --------------------------------------------------------------------------------------------------------------

NEVER = (
    "AND(A a, A b, A c, A d, A e, A f, A g, A h, A i) "
    "WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x + h.x + i.x < 0 - a.x - b.x"
)
"""No match, and nothing but trying all 45!/36! combinations tells."""

FRUITLESS = {
    "lazy-chain": NEVER,
    "eager-nfa": "SEQ(A+ a[], B b) WHERE sum(a[].x) < 0 - b.x",
    "linked": "SEQ(A a, A b, A c, A d, A e, A f, A g, A h) WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x < 0 - h.x",
    "event-sets": "AND(A a, A b, A c, A d, A e, A+ f[]) WHERE skip_till_any_match { a.x > 0 }",
    "reference": NEVER,
}


@pytest.mark.parametrize("plan", ["lazy-chain", "linked", "eager-nfa", "reference"])
@pytest.mark.parametrize("jit", [False, True])
def test_a_timeout_ends_a_query_on_every_plan(plan: FamilyName, jit: bool) -> None:
    limits: dict[str, Any] = {"max_matches": 10**9, "max_partial_matches": 10**9, "max_memory": "4 GB"}
    types = "A" * 300 + "B" if plan == "eager-nfa" else "A" * 45
    with pytest.raises(BudgetExceeded, match=r"timeout=0\.7 s is over") as raised:
        augury.match(events(types), FRUITLESS[plan], plan=plan, jit=jit, timeout=0.7, merge=False, **limits)
    assert raised.value.code == "A566"


def test_a_timeout_ends_long_lists_on_the_reference() -> None:
    """Each event is compared with thousands: the clock is looked at by comparisons, not by partial matches."""
    query = "SEQ(A+ a[], B+ b[], A+ c[]) WITHIN 1 hour"
    with pytest.raises(BudgetExceeded, match=r"timeout=0\.5 s is over"):
        augury.match(events("AB" * 2000), query, plan="reference", timeout=0.5)


def test_a_timeout_is_for_each_call() -> None:
    matcher = Matcher("SEQ(A a, B b) WITHIN 1 hour", COLUMNS, timeout=5)
    for _ in range(3):
        matcher.feed(events("AB"))
        time.sleep(0.01)
    assert matcher._setting.options.budget is not None
    assert not matcher._setting.options.budget.late


def test_a_timeout_in_a_thread() -> None:
    found: list[BaseException] = []

    def run() -> None:
        try:
            augury.match(events("A" * 45), NEVER, jit=False, timeout=0.3, max_partial_matches=10**9)
        except AuguryError as e:
            found.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (error,) = found
    assert isinstance(error, BudgetExceeded)
    assert error.code == "A566"


def test_the_cell_stops_a_kernel_and_the_state_is_broken() -> None:
    matcher = Matcher("SEQ(A a, B b)", COLUMNS, timeout=0.2, plan="lazy-chain", jit=False)
    matcher.feed(events("AB"))
    with pytest.raises(BudgetExceeded, match="timeout"):
        matcher.feed(events("A" * 2000 + "B" * 2000))
    with pytest.raises(HostError, match="interrupted") as raised:
        matcher.feed(events("AB"))
    assert raised.value.code == "A549"


def test_budgets_that_do_not_run_stop_nothing() -> None:
    budget = Budget(10**9, 60.0)
    cells = np.zeros(16, dtype=np.int64)
    budget.watch(cells)
    with budget.running():
        budget.check()
        budget.stop(interrupted=False)
        assert cells[STOP] == 1
        with pytest.raises(BudgetExceeded):
            budget.check()
    with budget.running():
        budget.check()


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def in_child(code: str, **more: str) -> str:
    """What a program prints; its standard error must stay empty."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **more},
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


BEGINNING = """
    import os, signal, sys, threading, time
    import pyarrow as pa
    import augury

    columns = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])

    def table(types):
        return pa.table({{"ts": range(len(types)), "type": list(types), "x": range(len(types))}}, schema=columns)

    def press():
        time.sleep({delay})
        global at
        at = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    query, pressing = {query!r}, threading.Thread(target=press, daemon=True)
"""

ENDING = """
    print(len(augury.match(table("AAB"), "SEQ(A a, B b)", jit=True)))
    busy = [t for t in threading.enumerate() if t.name == "augury-compiler"]
    for t in busy:
        t.join(60)
    print(any(t.is_alive() for t in busy))
"""

INTERRUPTED = f"""{BEGINNING}
    given = dict(jit=True, max_partial_matches=10**9, max_matches=10**9, plan={{plan!r}})
    matcher = augury.Matcher(query, columns, **given)
    matcher.feed(table({{small!r}}))
    time.sleep(0.1)
    pressing.start()
    try:
        matcher.feed(table({{large!r}}))
    except KeyboardInterrupt as e:
        print("interrupted", time.monotonic() - at < 5, e.__cause__)
    try:
        matcher.feed(table("A"))
    except augury.HostError as e:
        print(e.code)
{ENDING}"""

COMPILING = f"""{BEGINNING}
    pressing.start()
    try:
        augury.match(table("A" * 45), query, jit=True, plan="lazy-chain")
    except KeyboardInterrupt as e:
        print("interrupted", time.monotonic() - at < 5, e.__cause__)
{ENDING}"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
@pytest.mark.slow
@pytest.mark.parametrize("plan", ["lazy-chain", "linked"])
def test_ctrl_c_in_a_kernel(plan: FamilyName, tmp_path: Path) -> None:
    """A real signal, to a real process, in a kernel that has been compiled and that would run for hours."""
    query = FRUITLESS[plan]
    code = INTERRUPTED.format(query=query, plan=plan, small="A", large="A" * 45, delay=1.0)
    assert in_child(code, XDG_CACHE_HOME=str(tmp_path)).splitlines() == ["interrupted True None", "A549", "2", "False"]


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
@pytest.mark.parametrize("delay", [1.0, pytest.param(0.3, marks=pytest.mark.slow)])
def test_ctrl_c_while_a_kernel_is_compiled(delay: float, tmp_path: Path) -> None:
    """No noise of the compiler: the error stays empty. The compiler ends by itself, and the next query waits for it."""
    query = "AND(A a, A b, A c, A d) WHERE a.x + b.x + c.x + d.x < 0 - a.x"
    code = COMPILING.format(query=query, delay=delay)
    assert in_child(code, XDG_CACHE_HOME=str(tmp_path)).splitlines() == ["interrupted True None", "2", "False"]


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
def test_a_handler_of_ones_own_is_left_alone() -> None:
    """It decides itself whether a query goes on; and whoever wanted to be woken by signals still is."""
    heard: list[int] = []
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    waker = signal.set_wakeup_fd(sending)
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        found = augury.match(events("A" * 400 + "B" * 400), "SEQ(A a, B b)", jit=False, plan="lazy-chain")
        assert len(found) == 160_000
        while not heard:
            time.sleep(0.01)
        assert os.read(receiving, 100) == bytes([signal.SIGINT])
        assert signal.set_wakeup_fd(sending) == sending
    finally:
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGINT, before)
        os.close(receiving)
        os.close(sending)
