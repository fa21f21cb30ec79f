"""Encodes batches as typed arrays, which compiled kernels read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.errors import FunctionFailed
from augury.ir.evaluate import EMPTY, Functions
from augury.ir.predicate import Expr, Ref, variables, walk
from augury.nouns import per_batch
from augury.runtime.arrays import FLOAT64, INT32, UINT8, ArraySpec
from augury.runtime.arrow_numbers import to_numpy
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.checks import MAX_COUNT, inconsistent, require
from augury.runtime.computed import StandardiseRows, compute_column, list_parts, standardise_rows, with_gaps
from augury.runtime.dictionary import Codes, Distinct, StringDictionary, codable, distinct, encode_strings, spread
from augury.runtime.positions import LastKey, one_array, ranks_in_order
from augury.schema import EventSchema, Kind

Arrays: TypeAlias = "dict[str, npt.NDArray[Any]]"

Compute: TypeAlias = "Callable[[Expr, str, pa.Table], pa.Array]"
"""Computes the value of an expression for each event, taken as the event of a variable."""

Read: TypeAlias = "Callable[[pa.Array], tuple[npt.NDArray[Any], ...]]"
"""What gives the arrays of a column, as `array_names` lists them."""


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column that a plan reads under `name`, an identifier that no other array has.

    It is the attribute called `name`, or the value of `expr`, which reads one event of one variable. Values are
    computed only for events of these `types`, or for all if empty; others have a null.
    """

    name: str
    kind: Kind
    expr: Expr | None = None
    types: frozenset[str] = frozenset()


def array_names(spec: ColumnSpec) -> tuple[str, ...]:
    """The names of the arrays that hold a column.

    >>> array_names(ColumnSpec("h", Kind.LIST))
    ('h_offsets', 'h_values', 'h_null')
    """
    return tuple(array.name for array in column_arrays(spec))


def column_arrays(spec: ColumnSpec) -> tuple[ArraySpec, ...]:
    """The arrays that hold a column.

    integer, timestamp, duration: `x` int64 (0 for null), `x_null` uint8 (1 for null); boolean: the same with `x` uint8;
    float: `x` float64 (NaN for null); string: `x` int32 (a code, -1 for null); list of numbers: `x_offsets` int64 (one
    more than there are events), `x_values` float64 (NaN for a null element), `x_null`; null and other: `x_null` alone.
    """
    x = spec.name
    null = ArraySpec(f"{x}_null", UINT8)
    match spec.kind:
        case Kind.FLOAT:
            return (ArraySpec(x, FLOAT64),)
        case Kind.STRING:
            return (ArraySpec(x, INT32),)
        case Kind.INT | Kind.TIMESTAMP | Kind.DURATION:
            return ArraySpec(x), null
        case Kind.BOOL:
            return ArraySpec(x, UINT8), null
        case Kind.LIST:
            return ArraySpec(f"{x}_offsets"), ArraySpec(f"{x}_values", FLOAT64), null
        case Kind.NULL | Kind.OTHER:
            return (null,)
        case _:
            assert_never(spec.kind)


@per_batch
class EncodedBatch:
    """A batch as arrays, all of them one-dimensional and contiguous, and of the same types in every batch.

    The elements of lists may be those of the batch itself, to be read only until an `EventStore` has copied them.

    `first` is the number of the first event, counted from 0 in the order of consumption; `rows` are the positions at
    which the events arrived. `rank` orders the events, concurrent ones share theirs. `type` is the code of the type
    name, -1 for null, and all zeros when the events have no type column: then no component names a type and kernels do
    not look. `consecutive` says that the rows are known to be consecutive numbers.
    """

    length: int
    first: int
    rows: Integers
    time: Integers
    rank: Integers
    type: Codes
    arrays: Arrays
    consecutive: bool = False

    def part(self, lo: int, hi: int) -> EncodedBatch:
        """The events from `lo` up to `hi`, over the same memory."""
        arrays: Arrays = {}
        for name, values in self.arrays.items():
            offsets = self.arrays.get(f"{name.removesuffix('_values')}_offsets")
            if name.endswith("_values") and offsets is not None and len(offsets) > self.length:
                arrays[name] = values[int(offsets[lo] - offsets[0]) : int(offsets[hi] - offsets[0])]
            else:
                # Offsets have one more entry than there are events.
                arrays[name] = values[lo : hi + len(values) - self.length]
        some = slice(lo, hi)
        rows, time, rank, type = self.rows[some], self.time[some], self.rank[some], self.type[some]
        return EncodedBatch(hi - lo, self.first + lo, rows, time, rank, type, arrays, self.consecutive)


@per_batch
class Encoding:
    """The state of the encoding between batches, which never changes: `encode` returns a new one."""

    dictionary: StringDictionary
    last: LastKey | None
    next_event: int

    @classmethod
    def start(cls, literals: Iterable[str] = ()) -> Encoding:
        """The state before any event; the strings and type names in the plan have the codes 0, 1, ... in their order.

        >>> Encoding.start(["A", "B"]).dictionary.strings
        ['A', 'B']
        """
        return cls(StringDictionary.of(literals), None, 0)

    def to_tables(self) -> dict[str, pa.Table]:
        """The encoding as Arrow tables, for a `RunState`; takes time in proportion to all strings seen so far."""
        rank, key = (None, ()) if self.last is None else self.last
        return {
            "strings": self.dictionary.to_table(),
            "position": pa.table(
                {
                    "next_event": pa.array([self.next_event], pa.int64()),
                    "rank": pa.array([rank], pa.int64()),
                    **{f"key_{i}": pa.array([value]) for i, value in enumerate(key)},
                }
            ),
        }

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], literals: Sequence[str] = ()) -> Encoding:
        """Read what `to_tables` wrote, for a plan that names these `literals`."""
        dictionary = StringDictionary.from_table(tables.get("strings"), literals)
        position = tables.get("position")
        if position is None or position.num_rows != 1 or position.column_names[:2] != ["next_event", "rank"]:
            raise inconsistent("it does not say how far the stream has come")
        next_event, rank, *key = (column[0].as_py() for column in position.columns)
        require(type(next_event) is int and 0 <= next_event < MAX_COUNT, "there is no such number of events")
        require(rank is None or (type(rank) is int and 0 <= rank < MAX_COUNT), "there is no such rank")
        return cls(dictionary, None if rank is None else (rank, tuple(key)), next_event)

    def check_last(self, events: Mapping[str, npt.NDArray[Any]], length: int) -> None:
        """Refuse a saved position that is before the last of the saved events."""
        last = -1 if self.last is None else self.last[0]
        require(length <= self.next_event, "there are more events than came")
        require(not length or int(events["rank"][length - 1]) <= last, "the last event is not the last one")


def encode(
    batch: EventBatch,
    schema: EventSchema,
    specs: Sequence[ColumnSpec],
    encoding: Encoding,
    *,
    functions: Functions = EMPTY,
    standardise: StandardiseRows = standardise_rows,
) -> tuple[EncodedBatch, Encoding]:
    """Encode a batch as arrays; also the encoding that the next batch continues from.

    The arrays of a stream are the same however it is cut into batches.

    >>> from augury.schema import EventSchema
    >>> events = pa.table({"ts": [1, 1, 2], "type": ["A", "B", "A"], "s": ["x", None, "B"]})
    >>> batch = EventBatch(events, np.arange(3), np.array([1, 1, 2]))
    >>> schema = EventSchema.from_arrow(events.schema)
    >>> encoded, _ = encode(batch, schema, [ColumnSpec("s", Kind.STRING)], Encoding.start(["A", "B"]))
    >>> encoded.rank.tolist(), encoded.type.tolist(), encoded.arrays["s"].tolist()
    ([0, 0, 1], [0, 1, 0], [2, -1, 1])
    """
    return Encoder.of(schema, specs, functions=functions, standardise=standardise).encode(batch, encoding)


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Encodes the batches of a stream; everything that does not depend on the batch is prepared once.

    `attributes` are the distinct string attributes, `computed` the string columns that have to be computed. `coded` are
    the arrays of codes with the position of their column among both, `type_place` is that of the type. `numbers` are
    all columns of other kinds: the attribute, if the column is one, the names of its arrays, and the function that
    reads them.
    """

    schema: EventSchema
    specs: tuple[ColumnSpec, ...]
    attributes: tuple[str, ...]
    computed: tuple[ColumnSpec, ...]
    coded: tuple[tuple[str, int], ...]
    type_place: int | None
    numbers: tuple[tuple[ColumnSpec, str | None, tuple[str, ...], Read], ...]
    compute: Compute

    @classmethod
    def of(
        cls,
        schema: EventSchema,
        specs: Sequence[ColumnSpec],
        *,
        typed: bool = True,
        functions: Functions = EMPTY,
        standardise: StandardiseRows = standardise_rows,
    ) -> Encoder:
        """The encoder for these columns; if it is not `typed`, the type of every event is 0."""
        coded = [(spec, _attribute(spec)) for spec in specs if spec.kind is Kind.STRING]
        type = schema.type if typed else None
        wanted = dict.fromkeys((type, *(attribute for _, attribute in coded)))
        attributes = [name for name in wanted if name is not None]
        computed = [spec for spec, attribute in coded if attribute is None]
        columns: list[ColumnSpec | str] = [*attributes, *computed]
        places = {column: k for k, column in enumerate(columns)}
        others = [(spec, _attribute(spec)) for spec in specs if spec.kind is not Kind.STRING]
        return cls(
            schema,
            tuple(specs),
            tuple(attributes),
            tuple(computed),
            tuple((spec.name, places[spec if attribute is None else attribute]) for spec, attribute in coded),
            None if type is None else places[type],
            tuple((spec, attribute, array_names(spec), _reader(spec.kind)) for spec, attribute in others),
            partial(compute_column, functions=functions, standardise=standardise),
        )

    def encode(self, batch: EventBatch, encoding: Encoding) -> tuple[EncodedBatch, Encoding]:
        """Encode a batch as arrays; also the encoding that the next batch continues from."""
        schema, size = self.schema, len(batch)
        ranks, last = ranks_in_order(batch, schema, encoding.last)
        text = [distinct_text(batch, name) for name in self.attributes]
        text += [distinct(_computed_column(spec, batch, schema, self.compute)) for spec in self.computed]
        encoded, dictionary = encode_strings(text, encoding.dictionary)
        codes = [spread(column, np.int32) for column in encoded]
        arrays: Arrays = {name: codes[place] for name, place in self.coded}
        for spec, attribute, names, read in self.numbers:
            column = (
                _computed_column(spec, batch, schema, self.compute)
                if attribute is None
                else one_array(batch.table.column(attribute))
            )
            arrays.update(zip(names, read(column), strict=True))
        type = np.zeros(size, dtype=np.int32) if self.type_place is None else codes[self.type_place]
        first, rows = encoding.next_event, batch.rows
        whole = EncodedBatch(size, first, rows, batch.time, ranks, type, arrays, batch.consecutive)
        return whole, Encoding(dictionary, last, encoding.next_event + size)


def _attribute(spec: ColumnSpec) -> str | None:
    """The attribute that a column is taken from, None when it has to be computed."""
    match spec.expr:
        case None:
            return spec.name
        case Ref(column=column):
            return column
        case _:
            return None


def _computed_column(spec: ColumnSpec, batch: EventBatch, schema: EventSchema, compute: Compute) -> pa.Array:
    assert spec.expr is not None
    (variable,) = variables(spec.expr)
    table = batch.table.select(sorted({e.column for e in walk(spec.expr) if isinstance(e, Ref)}))
    if not spec.types or schema.type is None:
        return _computed(spec.expr, variable, table, batch.rows, compute)
    types = distinct_text(batch, schema.type)
    # The last place stands for null, whose position is -1.
    wanted = np.array([*(name in spec.types for name in types.keys), False])[types.positions]
    if wanted.all():
        return _computed(spec.expr, variable, table, batch.rows, compute)
    part = table.filter(pa.array(wanted))
    return with_gaps(_computed(spec.expr, variable, part, np.asarray(batch.rows)[wanted], compute), wanted)


def _computed(expr: Expr, variable: str, table: pa.Table, rows: Integers, compute: Compute) -> pa.Array:
    """Compute a column; the error of a registered function says at which row of the stream it failed."""
    try:
        return compute(expr, variable, table)
    except FunctionFailed as e:
        if e.position is None:
            raise
        where = f"{e.message}, row {int(rows[e.position])} of the events"
        raise FunctionFailed(e.code, where, e.help) from e.__cause__


def distinct_text(batch: EventBatch, name: str) -> Distinct[str]:
    """A string column by its distinct values; cached for all kernels that are given the batch."""
    found: Distinct[str] | None = batch.texts.get(name)
    if found is None:
        found = batch.texts[name] = distinct(_as_text(one_array(batch.table[name])))
    return found


def _as_text(array: pa.Array) -> pa.Array:
    type = array.type
    return array if codable(type) else array.cast(pa.large_string())


def _reader(kind: Kind) -> Read:
    """The reader of a column that does not hold strings."""
    match kind:
        case Kind.INT | Kind.TIMESTAMP | Kind.DURATION:
            return lambda array: (_integers(array), _nulls(array))
        case Kind.BOOL:
            return lambda array: (_booleans(array), _nulls(array))
        case Kind.FLOAT:
            return lambda array: (_floats(array),)
        case Kind.LIST:
            return lambda array: (*list_parts(array), _nulls(array))
        case Kind.NULL | Kind.OTHER:
            return lambda array: (_nulls(array),)
        case Kind.STRING:
            raise AssertionError("strings are encoded by the dictionary")
        case _:
            assert_never(kind)


# Arrow's arrays are read-only where they need no copy, and Numba would compile a kernel again for read-only arrays:
# kernels are given the arrays of the store, which copies everything.


def _integers(array: pa.Array) -> Integers:
    if not pa.types.is_int64(array.type):
        if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
            # The same numbers without a cast, which is slow for a small batch.
            array = array.view(pa.int64())
        elif pa.types.is_date(array.type):
            array = array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        else:
            array = array.cast(pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    return np.asarray(to_numpy(array), dtype=np.int64)


def _floats(array: pa.Array) -> npt.NDArray[np.float64]:
    if not pa.types.is_float64(array.type):
        array = array.cast(pa.float64(), safe=False)
    if not array.null_count:
        return to_numpy(array)
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _booleans(array: pa.Array) -> npt.NDArray[np.uint8]:
    if array.null_count:
        array = array.fill_null(False)
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.uint8)


def _nulls(array: pa.Array) -> npt.NDArray[np.uint8]:
    if not array.null_count:
        return np.zeros(len(array), dtype=np.uint8)
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=np.uint8)
