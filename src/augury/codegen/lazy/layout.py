"""The input buffers of a lazy chain: which there are, what they hold of an event, and how candidates are found by key.

A buffer holds the events of one type that pass the predicates on them alone, in stream order: `e` their numbers in the
event store, `t` what the window is measured in, `r` their ranks where time alone does not tell the order, and copies of
the columns that predicates read.
Components that ask for the same events share a buffer. An index links the events of a buffer that agree on a key; a
link leads from an event of one buffer to the last one of an index that came before it and has its key. Where candidates
are many and a comparison leaves few, a column of a buffer is also sorted, block by block. Where they are compared by a
dot product, their lists are also held in blocks of 64, turned on their side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Code, kind_of
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import NUMS
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import Columns
from augury.codegen.lazy.arrays import (
    MASK,
    buffer_owner,
    buffered,
    counted,
    indexed,
    keyed,
    leading_cosines,
    turned_blocks,
)
from augury.ir.predicate import Ref
from augury.ir.query import BoundQuery, CountWindow
from augury.plan import Component
from augury.runtime.arrays import FLOAT64, ArraySpec
from augury.runtime.columns import ColumnSpec, column_arrays
from augury.runtime.cosines import LEADING
from augury.runtime.kernel_source import Signature
from augury.schema import Kind

STORE_PIECE_EVENTS = 1 << 12
"""Events that are sorted into one buffer after the other while they are in the cache."""

PARTITION = ""
"""The key column that stands for the attributes of `[attr]`."""


@dataclass(slots=True)
class Buffer:
    """An input buffer; `columns` are the arrays copied into it."""

    number: int
    variables: list[str]
    component: Component
    """One of the components whose events the buffer holds; an event that fits one of them fits all."""
    alike: str
    """The test that an event must pass to be buffered, as text, so that equal tests share a buffer."""
    by_type: bool
    """Whether its type alone decides if an event fits."""
    columns: dict[str, None] = field(default_factory=dict)
    keys: dict[str, None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"buffer{self.number}"


@dataclass(slots=True)
class Layout:
    """Buffers, indexes and links, in the order they were asked for."""

    query: BoundQuery
    columns: Columns
    specs: tuple[ColumnSpec, ...]
    constants: Constants
    key_columns: tuple[str, ...]
    """The columns whose values are numbered, the partition first."""
    buffers: list[Buffer] = field(default_factory=list)
    indexes: dict[tuple[int, str], int] = field(default_factory=dict)
    links: dict[tuple[int, str, int], int] = field(default_factory=dict)
    sorted: dict[tuple[int, str], int] = field(default_factory=dict)
    """Columns of buffers that are sorted block by block."""
    turned: dict[tuple[int, str, bool], int] = field(default_factory=dict)
    """List columns that buffers hold in transposed blocks: whole lists, or only their leading elements."""

    def buffer(self, c: Component) -> Buffer:
        """The buffer of a component."""
        alike = fits(c, self.query, replace(self.constants, written=True), self.columns.of("i"))
        for b in self.buffers:
            if b.alike == alike:
                if c.variable not in b.variables:
                    b.variables.append(c.variable)
                return b
        by_type = bool(c.types) and self.query.schema.type is not None and not c.alone
        self.buffers.append(Buffer(len(self.buffers), [c.variable], c, alike, by_type))
        return self.buffers[-1]

    def index(self, b: Buffer, key: str) -> int:
        return self.indexes.setdefault((b.number, key), len(self.indexes))

    def link(self, b: Buffer, key: str, index: int) -> int:
        b.keys[key] = None
        return self.links.setdefault((b.number, key, index), len(self.links))

    def sorting(self, b: Buffer, column: str) -> int:
        x = self.columns.names[column]
        b.columns[x] = None
        return self.sorted.setdefault((b.number, x), len(self.sorted))

    def turning(self, b: Buffer, column: str, *, led: bool) -> int:
        return self.turned.setdefault((b.number, self.columns.names[column], led), len(self.turned))

    def single(self, b: Buffer, v: str, r: Ref) -> Code:
        """An attribute of the event that `v` is bound to, as the scalars read at the head of its loop."""
        x = self.columns.names[r.column]
        held, null = f"{v}__{x}", f"{v}__{x}_null"
        match r.type.kind:
            case Kind.LIST:
                # Lists are long: they are read where they are.
                return self.columns.at(r.column, r.type, f"e_{v}")
            case Kind.FLOAT | Kind.STRING:
                b.columns[x] = None
                return Code(held, kind_of(r.type), reads=(held,))
            case Kind.NULL | Kind.OTHER:
                b.columns[f"{x}_null"] = None
                return Code("0", "i", f"({null} != 0)", (null,))
            case _:
                b.columns[x] = b.columns[f"{x}_null"] = None
                return Code(held, kind_of(r.type), f"({null} != 0)", (null, held))

    @property
    def clock(self) -> str:
        """The array that the window is measured in."""
        return "place" if isinstance(self.query.window, CountWindow) else "time"

    @property
    def rank(self) -> str:
        """The array that orders events: the clock, where that is the whole order, else the rank."""
        return "t" if self.clock == "time" and len(self.query.schema.order_by) == 1 else "r"

    @property
    def places(self) -> tuple[str, ...]:
        """The fields of an event in every buffer: number, clock, and the rank if the clock is not the whole order."""
        return ("e", "t") if self.rank == "t" else ("e", "r", "t")

    def arrays(self, states: int) -> list[ArraySpec]:
        """Every array of the layout of a kernel with so many states, in the order generated functions take them."""
        types = {array.name: array.dtype for spec in self.specs for array in column_arrays(spec)}
        found = [counted("buffer_fill", len(self.buffers)), MASK]
        for b in self.buffers:
            places = [*self.places, *(["p"] if self.query.partition_by else [])]
            keys = [f"k{self.key_columns.index(key)}" for key in b.keys if key != PARTITION]
            found += [buffered(f"{b.name}_{x}", b.number) for x in places]
            found += [buffered(f"{b.name}__{x}", b.number, dtype=types[x]) for x in b.columns]
            found += [buffered(f"{b.name}_{x}", b.number) for x in keys]
        for (owner, key), q in self.indexes.items():
            found += [indexed(f"chain{q}_{x}", owner) for x in ("id", "next", "prev")]
            found += [keyed(f"chain{q}_{x}", key, buffer_owner(owner)) for x in ("first", "last")]
        found += [indexed(f"link{k}", owner) for (owner, _, _), k in self.links.items()]
        found += [indexed(f"sorted{z}_order", owner) for (owner, _), z in self.sorted.items()]
        found += [turned_blocks(d, owner) for (owner, _, _), d in self.turned.items()]
        led = [(owner, d) for (owner, _, led), d in self.turned.items() if led]
        found += [leading_cosines(d, owner) for owner, d in led]
        if led:
            # Of one list that is stored, and of one for each state.
            found.append(ArraySpec("lead", FLOAT64, more=(LEADING + 1) * (states + 1), fill=None))
        return [*found, counted("sorted_fill", len(self.sorted)), counted("block_width", len(self.turned), 2)]

    def key_of(self, b: Buffer, key: str, position: str) -> str:
        """The number of an event's key."""
        column = "p" if key == PARTITION else f"k{self.key_columns.index(key)}"
        return f"{b.name}_{column}[{position}]"

    def key_arguments(self) -> list[str]:
        """The arrays with the key numbers of new events; those of the partition are with the events."""
        return [f"key{n}" for n, key in enumerate(self.key_columns) if key != PARTITION]

    def _fits(self, b: Buffer) -> str:
        """The text of the test that events of a buffer pass."""
        return fits(b.component, self.query, self.constants, self.columns.of("i"))

    # -- the function that fills the buffers ------------------------------------------------------------------------

    def store_signature(self, stream: Sequence[ArraySpec], arrays: Sequence[ArraySpec]) -> Signature:
        keys = (ArraySpec(name) for name in self.key_arguments())
        return Signature("store", ("i0", "n", "k0", *keys, NUMS, *stream, *arrays))

    def tally_signature(self, stream: Sequence[ArraySpec]) -> Signature:
        return Signature("tally", ("i0", "n", "piece", ArraySpec("counts", width=len(self.buffers)), *stream))

    def store(self, out: Lines, signature: Signature, frequent: Sequence[str]) -> None:
        """Write `store`, which sorts new events into the buffers and their indexes.

        Where no event can go into two buffers, those of the most `frequent` variables are tried first.
        """
        buffers = self.buffers
        apart = self.query.schema.type is not None and all(
            a.types and b.types and not set(a.types) & set(b.types)
            for a, b in combinations([b.component for b in buffers], 2)
        )
        if apart:
            buffers = sorted(buffers, key=lambda b: min(map(frequent.index, b.variables)))
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(signature.head):
            for b in self.buffers:
                out.add(f"n{b.number} = buffer_fill[{b.number}]", remark(f"of {', '.join(b.variables)}"))
            if self.indexes or self.links:
                self._store_in_turn(out, buffers, apart=apart)
            else:
                with out.block(f"for i1 in range(natural(i0), n, {STORE_PIECE_EVENTS}):"):
                    out.add(f"size = min(n - i1, {STORE_PIECE_EVENTS})")
                    for b in buffers:
                        self._store_piece(out, b)
            for (owner, x, led), d in self.turned.items():
                new = f"block_width[{d}, 1], n{owner}, buffer{owner}_e, block{d}, block_width[{d}, 0]"
                lists = f"{x}_offsets, {x}_values, {x}_null"
                turn = f"turn_leads({new}, cosine{d}, lead, {lists})" if led else f"turn({new}, {lists})"
                out.add(turn, "what leads lists, in blocks" if led else "lists in blocks")
                out.add(f"block_width[{d}, 1] = n{owner}")
            for b in self.buffers:
                out.add(f"buffer_fill[{b.number}] = n{b.number}")

    def _store_in_turn(self, out: Lines, buffers: Sequence[Buffer], *, apart: bool) -> None:
        """Emit storing event by event, for indexes that later events of the same batch look up."""
        with out.block("for i in range(natural(i0), n):"):
            if self.query.partition_by:
                with out.block("if part[i] < 0:"):
                    out.add("continue", "it agrees with no other event")
            for k, b in enumerate(buffers):
                test = "elif" if apart and k else "if"
                with out.block(f"{test} {self._fits(b)}:", remark(f"store it for {', '.join(b.variables)}")):
                    self._append(out, b)

    def _store_piece(self, out: Lines, b: Buffer) -> None:
        """Store events buffer by buffer with a branch-free selector: branches on random types are mispredicted."""
        n, at = f"n{b.number}", f"{b.name}_e"
        self._for_each_fitting(out, b, "mask[k] = {}")
        out.add(f"{n}_0, {n} = {n}, {n} + marked(mask, size, i1, {at}[{n}:])")
        with out.block(f"for at in range(natural({n}_0), {n}):"):
            out.add(f"i = natural({at}[at])")
            self._copy(out, b)

    def tally(self, out: Lines, signature: Signature) -> None:
        """Write `tally`, which counts the events of each buffer in pieces of the stream."""
        out.add()
        out.add()
        out.add("@kernel")
        with (
            out.block(signature.head),
            out.block("for i1 in range(natural(i0), n, piece):"),
        ):
            out.add("size = min(n - i1, piece)")
            for b in self.buffers:
                out.add("total = 0")
                self._for_each_fitting(out, b, "total += {}")
                out.add(f"counts[(i1 - i0) // piece, {b.number}] += total")

    def _for_each_fitting(self, out: Lines, b: Buffer, what: str) -> None:
        """A loop over `size` events from `i1` on that does something with whether each fits; by type alone, vectors."""
        if b.by_type and not self.query.partition_by:
            out.add("types = type_[i1 : i1 + size]", remark(f"of {', '.join(b.variables)}"))
            c = b.component
            for k, type in enumerate(c.types):
                out.add(f"type{k} = {self.constants.type_code(c.variable, type)}", remark(type))
            with out.block("for k in range(size):"):
                tests = [f"types[k] == type{k}" for k in range(len(c.types))]
                out.add(what.format(tests[0] if len(tests) == 1 else " | ".join(f"({test})" for test in tests)))
            return
        loaded: dict[str, str] = {}
        test = fits(b.component, self.query, replace(self.constants, loaded=loaded), self.columns.of("i"))
        tests = [f"({test})"] + (["part[i] >= 0"] if self.query.partition_by else [])
        for name, cell in loaded.items():
            out.add(f"{name} = {cell}")
        with out.block("for k in range(size):", remark(f"of {', '.join(b.variables)}")):
            out.add("i = natural(i1 + k)")
            out.add(what.format(" and ".join(tests)))

    def _copy(self, out: Lines, b: Buffer) -> None:
        """Emit the copy of event `i` into a buffer, except for its number."""
        if "r" in self.places:
            out.add(f"{b.name}_r[at] = rank[i]")
        out.add(f"{b.name}_t[at] = {self.clock}[i]")
        if self.query.partition_by:
            out.add(f"{b.name}_p[at] = part[i]")
        for x in b.columns:
            out.add(f"{b.name}__{x}[at] = {x}[i]")

    def _append(self, out: Lines, b: Buffer) -> None:
        out.add(f"at = natural(n{b.number})")
        out.add(f"{b.name}_e[at] = i")
        self._copy(out, b)
        for key in b.keys:
            if key != PARTITION:
                n = self.key_columns.index(key)
                out.add(f"{b.name}_k{n}[at] = key{n}[i - k0]")
        for (owner, key, q), link in self.links.items():
            if owner == b.number:
                out.add(f"g = {self._new_key(key)}")
                out.add(f"link{link}[at] = chain{q}_last[g] if g >= 0 else -1")
        for (owner, key), q in self.indexes.items():
            if owner == b.number:
                index = ", ".join(f"chain{q}_{x}" for x in ("id", "next", "prev", "first", "last"))
                out.add(f"chain(at, {self._new_key(key)}, {index})")
        out.add(f"n{b.number} += 1")

    def _new_key(self, key: str) -> str:
        return "part[i]" if key == PARTITION else f"key{self.key_columns.index(key)}[i - k0]"
