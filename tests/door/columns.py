"""A column of every Arrow type, with the values that are hardest to read."""

from __future__ import annotations

import decimal
import uuid
from functools import cache

import numpy as np
import pyarrow as pa

SIZE = 4
ZONES = (None, "UTC", "Europe/Berlin", "+05:30", "-00:00", "No/Where", "utc", "+25:00", "\0")
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Money(pa.ExtensionType):  # type: ignore[misc]
    """An extension type that nobody registered."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "augury.test.money")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> Money:
        return cls(storage)


@cache
def columns() -> dict[str, pa.Array]:
    """Columns by name, all of the same length."""
    return {**_numbers(), **_texts(), **_times(), **_dictionaries(), **_nested(), **_extensions()}


def _numbers() -> dict[str, pa.Array]:
    kinds = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
    out = {str(t): pa.array(range(SIZE), t) for t in kinds}
    out |= {str(t): pa.array([0.0, 1.0, 2.0, 3.0], t) for t in (pa.float32(), pa.float64())}
    out["float16"] = pa.array(np.arange(SIZE, dtype=np.float16))
    out["uint64 beyond"] = pa.array([1, 2, 3, 2**63], pa.uint64())
    out["int64 extremes"] = pa.array([LOWEST, 0, 1, HIGHEST])
    out["float specials"] = pa.array([float("nan"), float("inf"), -float("inf"), 1e308])
    out["float infinite"] = pa.array([0.0, 1.0, 2.0, float("inf")])
    out["boolean"] = pa.array([True, False, True, None])
    out["null"] = pa.nulls(SIZE)
    for type in (pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(38, 10), pa.decimal256(76, 20)):
        out[str(type)] = pa.array([decimal.Decimal(i) for i in range(SIZE)], type)
    out["decimal256 huge"] = pa.array([decimal.Decimal(10) ** 70] * SIZE, pa.decimal256(76, 0))
    return out


def _texts() -> dict[str, pa.Array]:
    out = {str(t): pa.array(list("ABAB"), t) for t in (pa.string(), pa.large_string(), pa.string_view())}
    out |= {
        str(t): pa.array([b"A", b"B", b"A", b"\xff"], t) for t in (pa.binary(), pa.large_binary(), pa.binary_view())
    }
    out["fixed bytes"] = pa.array([b"AA"] * SIZE, pa.binary(2))
    out["iso"] = pa.array([f"2020-01-01T00:00:0{i}" for i in range(SIZE)])
    out["iso view"] = out["iso"].cast(pa.string_view())
    out["iso bad"] = pa.array(["2020-01-01", "x", "", "2020"])
    out["iso far"] = pa.array(["0001-01-01", "9999-12-31T23:59:59.999999999", "10000-01-01", "2020-01-01"])
    out["iso zoned far"] = pa.array(["0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00", *["2020-01-01T00:00Z"] * 2])
    out["iso nul"] = pa.array(["2020-01-01\0", *["2020-01-01"] * 3])
    return out


def _times() -> dict[str, pa.Array]:
    few, extremes = pa.array([1, 2, 3, 4], pa.int64()), pa.array([LOWEST, 0, 1, HIGHEST], pa.int64())
    out = {"date32": few.cast(pa.int32()).cast(pa.date32()), "date64": pa.array([86_400_000] * SIZE, pa.date64())}
    out["date32 extremes"] = pa.array([-(2**31), 0, 1, 2**31 - 1], pa.int32()).cast(pa.date32())
    out["date64 extremes"] = pa.array([-(2**62), 0, 1, 2**62]).view(pa.date64())
    out |= {f"time32[{unit}]": pa.array([1, 2, 3, 4], pa.time32(unit)) for unit in ("s", "ms")}
    out |= {f"time64[{unit}]": pa.array([1, 2, 3, 4], pa.time64(unit)) for unit in ("us", "ns")}
    out["time64 beyond"] = pa.array([-1, 2, 3, 2**62]).view(pa.time64("us"))
    for unit in ("s", "ms", "us", "ns"):
        out[f"duration[{unit}]"] = few.cast(pa.duration(unit))
        out[f"duration[{unit}] extremes"] = extremes.cast(pa.duration(unit))
        for zone in ZONES if unit == "us" else ZONES[:3]:
            out[f"timestamp[{unit}, {zone!r}]"] = few.cast(pa.timestamp(unit, zone))
            out[f"timestamp[{unit}, {zone!r}] extremes"] = extremes.cast(pa.timestamp(unit, zone))
    out["interval"] = pa.array([pa.MonthDayNano([1, 2, 3])] * SIZE, pa.month_day_nano_interval())
    return out


def _dictionaries() -> dict[str, pa.Array]:
    codes = pa.array([0, 1, 0, 1], pa.int8())
    values = {
        "text": pa.array(["A", "B"]),
        "large text": pa.array(["A", "B"], pa.large_string()),
        "views": pa.array(["A", "B"], pa.string_view()),
        "bytes": pa.array([b"A", b"B"]),
        "integers": pa.array([1, 2]),
        "floats": pa.array([1.0, float("nan")]),
        "booleans": pa.array([True, False]),
        "times": pa.array([1, 2]).cast(pa.timestamp("us", "UTC")),
        "dates": pa.array([1, 2], pa.date32()),
        "dictionaries": pa.array(["A", "B"]).dictionary_encode(),
        "lists": pa.array([[1], [2]]),
        "structs": pa.array([{"a": 1}, {"a": 2}]),
        "nulls among them": pa.array(["A", None]),
        "repeated values": pa.array(["A", "A"]),
        "iso": pa.array(["2020-01-01", "2020-01-02"]),
    }
    out = {f"dictionary of {name}": pa.DictionaryArray.from_arrays(codes, items) for name, items in values.items()}
    out["dictionary by uint64"] = pa.DictionaryArray.from_arrays(codes.cast(pa.uint64()), values["text"])
    return out


def _nested() -> dict[str, pa.Array]:
    items = {
        "integers": pa.array(range(SIZE)),
        "text": pa.array(list("ABAB")),
        "floats": pa.array([float("nan"), float("inf"), None, 1e308]),
        "codes": pa.array(list("ABAB")).dictionary_encode(),
        "times": pa.array([LOWEST, 0, 1, HIGHEST]).cast(pa.timestamp("us", "UTC")),
        "booleans": pa.array([True, False, None, True]),
    }
    bounds = pa.array(range(SIZE + 1), pa.int32())
    starts, ones = bounds[:SIZE], pa.array([1] * SIZE, pa.int32())
    kinds = pa.array([0] * SIZE, pa.int8())
    out = {}
    for name, values in items.items():
        lists = pa.ListArray.from_arrays(bounds, values)
        out[f"list of {name}"] = lists
        out[f"list of lists of {name}"] = pa.ListArray.from_arrays(bounds, lists)
        out[f"large list of {name}"] = pa.LargeListArray.from_arrays(bounds.cast(pa.int64()), values)
        out[f"fixed list of {name}"] = pa.FixedSizeListArray.from_arrays(values, 1)
        out[f"list view of {name}"] = pa.ListViewArray.from_arrays(starts, ones, values)
        large = starts.cast(pa.int64()), ones.cast(pa.int64())
        out[f"large list view of {name}"] = pa.LargeListViewArray.from_arrays(*large, values)
        out[f"run ends of {name}"] = pa.RunEndEncodedArray.from_arrays(bounds[1:], values)
        out[f"struct of {name}"] = pa.StructArray.from_arrays([values], ["x"])
        out[f"map of {name}"] = pa.MapArray.from_arrays(bounds, items["text"], values)
        out[f"sparse union of {name}"] = pa.UnionArray.from_sparse(kinds, [values])
        out[f"dense union of {name}"] = pa.UnionArray.from_dense(kinds, starts, [values])
    out["struct of nothing"] = pa.array([{}] * SIZE, pa.struct([]))
    out["struct with two of one name"] = pa.StructArray.from_arrays([items["integers"], items["text"]], ["x", "x"])
    out["lists with nulls"] = pa.array([[1, None], None, [], [3]])
    out["lists of nothing"] = pa.array([[]] * SIZE, pa.list_(pa.int64(), 0))
    out["lists of null"] = pa.array([[None]] * SIZE)
    out["lists beyond"] = pa.array([[2**63]] * SIZE, pa.list_(pa.uint64()))
    out["lists of decimals"] = pa.array([[decimal.Decimal("1.5")]] * SIZE)
    return out


def _extensions() -> dict[str, pa.Array]:
    numbers, names = pa.array(range(SIZE)), pa.array(list("ABAB"))
    storage = {
        "uuid": (pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in range(SIZE)], pa.binary(16))),
        "json": (pa.json_(pa.string()), pa.array(["{}"] * SIZE)),
        "bool8": (pa.bool8(), pa.array([1, 0, 1, 0], pa.int8())),
        "tensor": (pa.fixed_shape_tensor(pa.int64(), [1]), pa.FixedSizeListArray.from_arrays(numbers, 1)),
        "opaque": (pa.opaque(pa.int64(), "t", "v"), numbers),
        "extension of integers": (Money(pa.int64()), numbers),
        "extension of text": (Money(pa.string()), names),
    }
    return {name: pa.ExtensionArray.from_storage(type, values) for name, (type, values) in storage.items()}
