"""`python -m tests.agreement --runs 20000 --seed 1`: the reference, every plan and `match` find the same matches.

With `--construct groups` every query has that construct.
"""

from __future__ import annotations

import argparse
import time

from tests.agreement.cases import CONSTRUCTS, agree


def main() -> None:
    """Check random queries; the first difference is raised, with the smallest query that shows it."""
    parser = argparse.ArgumentParser(prog="tests.agreement")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--construct", choices=CONSTRUCTS)
    given = parser.parse_args()
    began = time.monotonic()
    seen = agree(given.runs, given.seed, given.construct)
    print(f"all agree, in {time.monotonic() - began:.0f} s")
    for name, count in seen.most_common():
        print(f"{count:8}  {name}")


if __name__ == "__main__":
    main()
