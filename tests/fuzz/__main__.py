"""`python -m tests.fuzz --runs 2000 --seed 1 [--part queries]`: random input, only an AuguryError may come out."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz import runner

SHARES = {"queries": 0.6, "tables": 0.2, "arguments": 0.2, "files": 0.2}
"""How many of the runs each part gets."""


def main() -> int:
    """Run the cases; the exit code is 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="tests.fuzz")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=SHARES)
    parser.add_argument("--case", type=int, help="run this one case here, with its traceback")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        runner.child(given.part, given.seed, given.first, given.stop)
        return 0
    if given.case is not None:
        from tests.fuzz.cases import run_case

        run_case(given.part or "queries", given.seed, given.case)
        return 0
    failed = 0
    for part, share in SHARES.items():
        if given.part in (None, part):
            runs = given.runs if given.part else round(given.runs * share)
            began = time.monotonic()
            report = runner.run(part, given.seed, 0, runs)
            failed += len(report.failures)
            for failure in report.failures:
                print(failure)
            print(
                f"{part}: {report.runs} runs, {report.refused} refused with a code, {len(report.failures)} failed; "
                f"slowest {report.slowest:.1f} s, peak {report.peak >> 20} MiB, in {time.monotonic() - began:.0f} s",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
