"""A short run of `python -m tests.agreement`, and a longer one among the slow tests."""

from __future__ import annotations

import pytest

from tests.agreement.cases import CONSTRUCTS, agree
from tests.thorough import rounds


def test_all_evaluators_agree() -> None:
    seen = agree(40, 7)
    assert seen["queries"] >= 40
    assert seen["eager-nfa"] > 0
    assert seen["lazy-chain"] > 0


@pytest.mark.slow
def test_all_evaluators_agree_about_every_construct() -> None:
    seen = agree(rounds(400, 20_000), 8)
    assert {name for name in CONSTRUCTS if not seen[name]} == set()
