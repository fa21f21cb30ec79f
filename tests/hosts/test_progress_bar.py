"""Progress is shown to whoever waits: a function of the caller's, a bar after two seconds, or nothing."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import augury
from augury.hosts.local import progress_bar
from augury.hosts.local.progress_bar import progress_shown

EVENTS = [{"ts": t, "type": "AB"[t % 2]} for t in range(12_000)]
QUERY = "SEQ(A a, B b) WITHIN 1 second"


def test_a_function_is_told_how_many_events_are_done() -> None:
    told: list[tuple[int, int]] = []
    found = augury.match(EVENTS, QUERY, progress=lambda done, total: told.append((done, total)))
    assert len(found) == 6_000
    assert told == [(5_000, 12_000), (10_000, 12_000), (12_000, 12_000)]
    augury.compile(QUERY, EVENTS, progress=lambda done, total: told.append((done, total))).match(EVENTS)
    assert len(told) == 6


def test_a_bar_appears_when_a_call_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_shown(True) as tell:
        assert tell is not None
        tell(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_bar, "BAR_DELAY_SECONDS", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_shown(True) as tell:
        assert tell is not None
        tell(1, 2)
    assert "50%" in capsys.readouterr().err


def test_by_default_only_notebooks_have_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with progress_shown(None) as tell:
        assert tell is None
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    with progress_shown(None) as tell:
        assert tell is not None
    with progress_shown(False) as tell:
        assert tell is None


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(augury.HostError) as raised:
        augury.match(EVENTS, QUERY, progress="yes")  # type: ignore[arg-type]
    assert raised.value.code == "A610"
