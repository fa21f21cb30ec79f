"""RowPatternPlan -> source of the search: backtracking over positions, in the order of preference.

Each row has a bit for each position that it may be mapped to. A mapping is a path of states, one for each row; going
back means to try what follows the state before, after what was tried. Where a position has failed for good, its bit is
cleared: that is how failures are remembered. The pattern is data, so patterns whose conditions are all bits share one
text; conditions that look back become statements of the search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading
from augury.codegen.row_pattern.carried import Carry, emit_entering
from augury.codegen.row_pattern.cells import STEPS_A_ROW, Cell, SkipMode, Status
from augury.plan.row_pattern import ACCEPT, AT_FIRST_ROW, ELSEWHERE, RowPatternPlan
from augury.runtime.kernel_source import KernelSource, kernel_source

STEPS_A_POLL = 4096
"""Steps of a candidate after which it is seen whether the search is to stop."""

WORD_BITS = 63
"""Positions that one word of a row has bits for; the sign is left alone."""

ARGUMENTS = (
    "nums",
    "starts",
    "resume",
    "numbers",
    "mapped_to",
    "firsts",
    "bits",
    "failures",
    "reach",
    "begin",
    "follow",
    "ends",
    "word_of",
    "mask_of",
    "remembered",
    "skipped",
    "path",
    "back",
    "log",
    "match_start",
    "match_length",
    "match_number",
    "match_path",
)
"""What `search` takes.

Cells, rows by partition, how far each has come, tables by state, the stack, and what it writes.
"""


SETTINGS = {
    "until": Cell.UNTIL,
    "skip": Cell.SKIP,
    "unmatched": Cell.UNMATCHED,
    "within": Cell.WITHIN,
    "fallible": Cell.FALLIBLE,
    "opened": Cell.OPEN,
    "ahead": Cell.AHEAD,
    "probe": Cell.PROBE,
    "probe_mask": Cell.PROBE_MASK,
}
"""Cells that stay the same during a call: the compiler cannot know that they are not written, and would read them."""


@dataclass(frozen=True, slots=True)
class RowPatternSource:
    """The search of a plan, and what its conditions carry: cells by their start, constants in the order of use."""

    source: KernelSource
    start_integers: tuple[int, ...] = ()
    floats: int = 0
    integers: tuple[Any, ...] = ()
    reals: tuple[float, ...] = ()
    functions: dict[str, tuple[str, ...]] = field(default_factory=dict)


def emit_row_pattern(plan: RowPatternPlan) -> RowPatternSource:
    """The search of a plan; the same plan gives the same text."""
    one_word = len(plan.program.positions) <= WORD_BITS
    if not plan.looks_back:
        return _search_of_bits(one_word=one_word)
    out, carry = Lines(), Carry(plan)
    for line in heading(plan.bound.source):
        out.comment(line)
    out.add()
    _emit_search(out, carry, one_word=one_word)
    return RowPatternSource(
        kernel_source(f"{out}\n", ("search",)),
        tuple(carry.start_integers),
        carry.floats,
        tuple(carry.integers),
        tuple(carry.reals),
    )


@cache
def _search_of_bits(*, one_word: bool) -> RowPatternSource:
    """The search of every pattern whose conditions are all bits of rows."""
    out = Lines()
    _emit_search(out, None, one_word=one_word)
    return RowPatternSource(kernel_source(f"{out}\n", ("search",)))


def _word(row: str, state: str, *, one_word: bool) -> str:
    """The number of the word of a row that has the bit of a state."""
    return row if one_word else f"{row} * words + word_of[{state}]"


def _emit_search(out: Lines, carry: Carry | None, *, one_word: bool) -> None:
    extra = [] if carry is None else [a for a in carry.arguments if a != "path"]
    out.add("@kernel")
    with out.block(f"def search({', '.join([*ARGUMENTS, *extra])}):"):
        out.add(f"partition = nums[{Cell.PARTITION}]")
        out.add(f"row = nums[{Cell.ROW}]")
        out.add(f"number = nums[{Cell.NUMBER}]")
        out.add(f"mapped = nums[{Cell.MAPPED}]")
        out.add(f"found = nums[{Cell.FOUND}]")
        out.add(f"used = nums[{Cell.USED}]")
        out.add(f"logged = nums[{Cell.LOGGED}]")
        out.add(f"words = nums[{Cell.WORDS}]")
        for name, cell in SETTINGS.items():
            out.add(f"{name} = nums[{cell}]")
        out.add("tried = 0")
        _emit_first_bits(out)
        out.add(f"status = {Status.DONE}")
        with out.block(f"while status == {Status.DONE} and partition < starts.shape[0] - 1:"):
            out.add("low = starts[partition]")
            out.add("high = starts[partition + 1]")
            out.add("first = firsts[partition]")
            with out.block("if row == resume[partition]:"):
                out.add(f"nums[{Cell.FIRST_FOUND}] = found")
                out.add(f"nums[{Cell.FIRST_USED}] = used")
            out.add(f"allowed = nums[{Cell.STEPS}] + {STEPS_A_ROW} * (high - low)")
            with out.block("while row < high:"):
                _emit_candidate(out, carry, one_word=one_word)
            with out.block(f"if status == {Status.DONE} or status == {Status.WAITING}:"):
                out.add(f"status = {Status.DONE}")
                out.add("resume[partition] = row")
                out.add("numbers[partition] = number")
                out.add("mapped_to[partition] = mapped")
                out.add("partition += 1")
                with out.block("if partition < starts.shape[0] - 1:"):
                    out.add("row = resume[partition]")
                    out.add("number = numbers[partition]")
                    out.add("mapped = mapped_to[partition]")
        _emit_forget(out)
        out.add(f"nums[{Cell.PARTITION}] = partition")
        out.add(f"nums[{Cell.ROW}] = row")
        out.add(f"nums[{Cell.NUMBER}] = number")
        out.add(f"nums[{Cell.MAPPED}] = mapped")
        out.add(f"nums[{Cell.FOUND}] = found")
        out.add(f"nums[{Cell.USED}] = used")
        out.add(f"nums[{Cell.LOGGED}] = 0")
        out.add(f"nums[{Cell.TRIED}] += tried")
        out.add("return status")


def _emit_forget(out: Lines) -> None:
    with out.block("while logged > 0:", why="set the bits again that were cleared for one candidate"):
        out.add("logged -= 1")
        out.add("bits[log[logged, 0]] |= log[logged, 1]")


def _emit_first_bits(out: Lines) -> None:
    """Emit `promising`: the bits one of which a row must have to begin a match, or 0 if there are no such bits."""
    out.add("promising = 0")
    with out.block(f"for j in range(begin[{ELSEWHERE}], begin[{ELSEWHERE + 1}]):"):
        with out.block(f"if follow[j] == {ACCEPT} or words > 1 or unmatched != 0:"):
            out.add("promising = 0")
            out.add("break")
        out.add("promising |= mask_of[follow[j]]")


def _emit_candidate(out: Lines, carry: Carry | None, *, one_word: bool) -> None:
    """One candidate: find its match, write it, and go on with the next one."""
    with out.block("if promising != 0 and row != first and bits[row] & promising == 0 and logged == 0:"):
        out.add("row += 1")
        out.add("continue")
    with out.block(
        "if probe_mask != 0 and row + probe < high and bits[row + probe] & probe_mask == 0 and logged == 0:",
        why="the rarest of the rows that every match begins with is not there",
    ):
        out.add("row += 1")
        out.add("continue")
    with out.block("if row >= until or stopped(nums):"):
        out.add(f"status = {Status.PAUSED}")
        out.add("break")
    with out.block("if found >= match_start.shape[0]:"):
        out.add(f"status = {Status.OUTPUT_FULL}")
        out.add("break")
    _emit_forget(out)
    out.add("end = high")
    out.add("waits = opened != 0", why="whether rows after the last one may belong to this match")
    with out.block("if within != 0:"):
        out.add("waits = reach[row] > high")
        out.add("end = min(high, reach[row])")
    out.add(f"start = {AT_FIRST_ROW} if row == first else {ELSEWHERE}")
    out.add("state = start")
    out.add("k = begin[state]")
    out.add("at = row")
    out.add("depth = 0")
    out.add("cut = 0", why="how many rows of the path were mapped when WITHIN cut it off")
    out.add("steps = 0")
    out.add(f"poll = {STEPS_A_POLL}")
    out.add("matched = False")
    with out.block("while True:"):
        _emit_steps(out, carry, one_word=one_word)
    out.add("tried += steps")
    with out.block(f"if status != {Status.DONE}:"):
        out.add("break")
    with out.block("if not matched:"):
        with out.block("if unmatched != 0 and row >= mapped:"):
            _emit_written(out, length="0", number="0")
        out.add("row += 1")
        out.add("continue")
    with out.block("if used + depth > match_path.shape[0]:"):
        out.add(f"status = {Status.OUTPUT_FULL}")
        out.add("break")
    out.add("following = row + 1")
    with out.block("if depth > 0:"):
        _emit_skip(out)
        with out.block(f"if status != {Status.DONE}:"):
            out.add("break")
    with out.block("for d in range(depth):"):
        out.add("match_path[used + d] = path[d]")
    out.add("used += depth")
    _emit_written(out, length="depth", number="number")
    out.add("number += 1")
    out.add("mapped = max(mapped, row + depth)")
    out.add("row = following")


def _emit_written(out: Lines, *, length: str, number: str) -> None:
    out.add("match_start[found] = row")
    out.add(f"match_length[found] = {length}")
    out.add(f"match_number[found] = {number}")
    out.add("found += 1")


def _emit_steps(out: Lines, carry: Carry | None, *, one_word: bool) -> None:
    """Map one more row, or go back to the row before."""
    word = _word("at", "next", one_word=one_word)
    out.add("went = False")
    with out.block("if at < end:"):
        out.add("last = begin[state + 1]")
        with out.block("while k < last:"):
            out.add("next = follow[k]")
            out.add("k += 1")
            out.add("steps += 1")
            with out.block(f"if next == {ACCEPT}:"):
                out.add("matched = True")
                out.add("break")
            with out.block(f"if bits[{word}] & mask_of[next] == 0:"):
                out.add("continue")
            with out.block(f"if fallible != 0 and failures[{word}] & mask_of[next] != 0:"):
                _emit_failed(out)
            with out.block("if depth >= path.shape[0]:"):
                out.add(f"status = {Status.PATH_FULL}")
                out.add("break")
            if carry is not None:
                emit_entering(out, carry)
                with out.block("if said == 0:"):
                    out.add("continue")
                with out.block("if said == 2:"):
                    _emit_failed(out)
            out.add("path[depth] = next")
            out.add("back[depth] = k")
            out.add("depth += 1")
            out.add("at += 1")
            out.add("state = next")
            out.add("k = begin[state]")
            out.add("went = True")
            out.add("break")
        with out.block("if went:", why="a path is no longer than its partition: steps are counted where it goes back"):
            out.add("continue")
    with out.block("elif waits:"), out.block("if begin[state] < begin[state + 1]:"):
        with out.block(f"if follow[begin[state]] == {ACCEPT}:", why="whatever comes, this match is preferred"):
            out.add("matched = True")
        with out.block("else:"):
            out.add(f"status = {Status.WAITING}")
    with out.block("elif at == high and opened == 0:"):
        out.add("matched = ends[state] != 0")
    with out.block("else:"):
        out.add("cut = max(cut, depth)")
        with out.block("for j in range(begin[state], begin[state + 1]):"):
            out.add(f"matched = matched or follow[j] == {ACCEPT}")
    with out.block(f"if matched or status != {Status.DONE}:"):
        out.add("break")
    with out.block("if steps > allowed:"):
        out.add(f"status = {Status.TOO_LONG}")
        out.add("break")
    with out.block("if steps >= poll:"):
        out.add(f"poll = steps + {STEPS_A_POLL}")
        with out.block("if stopped(nums):"):
            out.add(f"status = {Status.PAUSED}")
            out.add("break")
    out.add("k = -1")
    with out.block("while depth > 0 and k < 0:", why="back to the last row that could be mapped otherwise"):
        _emit_back(out, one_word=one_word)
    with out.block(f"if k < 0 or status != {Status.DONE}:"):
        out.add("break")


def _emit_back(out: Lines, *, one_word: bool) -> None:
    """Give up the last row of the path; `k` is what comes next for it, if there is something left to try."""
    word = _word("at", "state", one_word=one_word)
    out.add("depth -= 1")
    out.add("at -= 1")
    with out.block("if remembered[state] != 0:", why="no way on from here, however it was reached"):
        with out.block("if depth < cut:", why="for this candidate: WITHIN may allow more rows to the next"):
            with out.block("if logged >= log.shape[0]:"):
                out.add(f"status = {Status.LOG_FULL}")
                out.add("break")
            out.add(f"log[logged, 0] = {word}")
            out.add("log[logged, 1] = mask_of[state]")
            out.add("logged += 1")
        out.add(f"bits[{word}] &= ~mask_of[state]")
    out.add("cut = min(cut, depth)")
    out.add("state = path[depth - 1] if depth > 0 else start")
    with out.block("if back[depth] < begin[state + 1]:"):
        out.add("k = back[depth]")


def _emit_failed(out: Lines) -> None:
    """A condition has failed; where it may have read rows that are not known yet, it is tested again later."""
    out.add(f"status = {Status.WAITING} if at + ahead >= high else {Status.FAILED}")
    out.add("break")


def _emit_skip(out: Lines) -> None:
    """The next candidate after a match that maps rows."""
    with out.block(f"if skip == {SkipMode.PAST_LAST}:"):
        out.add("following = row + depth")
    with out.block(f"elif skip != {SkipMode.NEXT_ROW}:"):
        out.add("place = -1")
        with out.block("for d in range(depth):"), out.block("if skipped[path[d]] != 0:"):
            out.add("place = d")
            with out.block(f"if skip == {SkipMode.FIRST}:"):
                out.add("break")
        with out.block("if place < 0:"):
            out.add(f"status = {Status.NOT_MAPPED}")
        with out.block("elif place == 0:"):
            out.add(f"status = {Status.FIRST_ROW}")
        with out.block("else:"):
            out.add("following = row + place")
