"""The stock ticker stream of paper 001, section 6: symbol, price, volume."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

PRICES = 1000
VOLUMES = 1000


def stock_stream(events: int, *, seed: int = 1, rise: float = 0.7, symbols: int = 2) -> pa.Table:
    """Ticks of `symbols` shares at times 0, 1, 2 ...; the same arguments give the same stream.

    Symbol and volume are uniform. The price of each share is a walk: one up with probability `rise`, one down or equal
    with half the rest each. It starts anywhere in 1..1000 and goes round: above 1000 comes 1. So every price, and with
    it the start of a run, stays equally likely however long the stream is.

    >>> stock_stream(3, seed=7).column_names
    ['ts', 'symbol', 'price', 'volume']
    """
    rng = np.random.default_rng(seed)
    symbol = rng.integers(1, symbols + 1, events)
    luck = rng.random(events)
    move = (luck < rise).astype(np.int64) - (luck >= (1 + rise) / 2)
    start = rng.integers(0, PRICES, symbols + 1)
    volume = rng.integers(1, VOLUMES + 1, events)
    # Sorted by symbol, each share's walk is a stretch of one running sum, less what the sum was before the stretch.
    order = np.argsort(symbol, kind="stable")
    total = np.cumsum(move[order])
    first = np.searchsorted(symbol[order], np.arange(symbols + 1))
    before = np.concatenate([[0], total])[first]
    price = np.empty(events, dtype=np.int64)
    price[order] = total
    price = (price - before[symbol] + start[symbol]) % PRICES + 1
    return pa.table({"ts": np.arange(events), "symbol": symbol, "price": price, "volume": volume})


def repeated(table: pa.Table, times: int) -> pa.Table:
    """The stream `times` over, one after the other: a longer stream with the same work in each part."""
    longer = pa.concat_tables([table] * times).combine_chunks()
    return longer.set_column(0, "ts", pa.array(np.arange(longer.num_rows)))
