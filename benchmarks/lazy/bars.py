"""The minute bars of 492 shares in 2018, as the events of paper 000: a price, its history, and a region as the type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.lazy.streams import HISTORY

DATA = Path(__file__).parents[3] / "shared" / "data"
"""Beside the repository, not in it: the data may not be passed on."""

UNLISTED = "UnlistedCompany"
"""The type of the shares that no list of regions has."""


def minute_bars(minutes: int, *, data: Path = DATA) -> pa.Table | None:
    """The bars of the first `minutes` minutes in which shares have a full history; None without the data.

    Bars of the same minute are concurrent. 459 shares are North American, 18 European, 2 Asian, 1 Central American and
    12 on no list.
    """
    bars, lists = data / "us_stocks_1min_2018.parquet", data / "nasdaq_company_regions"
    if not bars.exists() or not lists.is_dir():
        return None
    table = pq.read_table(bars, columns=["ts", "ticker", "close"])
    times = np.unique(table["ts"].to_numpy())
    last = times[min(minutes + HISTORY, len(times)) - 1]
    table = table.slice(0, int(np.searchsorted(table["ts"].to_numpy(), last, side="right"))).combine_chunks()
    region = {
        ticker.strip(): file.stem for file in sorted(lists.glob("*.txt")) for ticker in file.read_text().splitlines()
    }
    tickers = table["ticker"].combine_chunks().dictionary_encode()
    company = tickers.indices.to_numpy().astype(np.int64)
    price = table["close"].to_numpy()
    order = np.argsort(company, kind="stable")
    counts = np.bincount(company)
    rank = np.empty(len(company), dtype=np.int64)
    rank[order] = np.arange(len(company)) - np.repeat(np.cumsum(counts) - counts, counts)
    # Bars of a company are neighbours in `order`, so a history is a stretch of it.
    place = np.empty(len(company), dtype=np.int64)
    place[order] = np.arange(len(company))
    full = np.flatnonzero(rank >= HISTORY - 1)
    history = price[order][place[full][:, None] + np.arange(1 - HISTORY, 1)]
    types = [region.get(ticker, UNLISTED) for ticker in tickers.dictionary.to_pylist()]
    names = sorted(set(types))
    code = np.array([names.index(t) for t in types], dtype=np.int32)[company[full]]
    return pa.table(
        {
            "ts": table["ts"].to_numpy()[full],
            "type": pa.DictionaryArray.from_arrays(pa.array(code), pa.array(names)),
            "price": price[full],
            "history": pa.FixedSizeListArray.from_arrays(pa.array(history.ravel()), HISTORY),
        }
    )
