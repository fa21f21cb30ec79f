"""KernelSource -> callables: compiled by Numba and kept on disk, or run as the plain Python they are."""

from __future__ import annotations
import __future__

import functools
import hashlib
import linecache
import logging
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from augury.jit.entries import entry_compiler
from augury.jit.garbage import no_collections
from augury.jit.store import checked, clear, default_cache_dir, holds, read, remove, write
from augury.runtime.arrays import ArrayType, GroupType, ParameterType
from augury.runtime.kernel_source import KernelSource, prelude

__all__ = ["Entries", "Functions", "clear", "compiles", "default_cache_dir", "load", "provide"]

Function: TypeAlias = Callable[..., Any]
Entries: TypeAlias = Mapping[str, Function]
Functions: TypeAlias = Mapping[str, Function]

NO_FUNCTIONS: Functions = MappingProxyType({})

INSTRUCTIONS = ("vectors.py", "lanes.py", "list_blocks.py", "compress.py", "stopping.py")
"""Files of `augury.native` that emit LLVM instructions, which compiled kernels have in place of prelude functions."""

_LOG = logging.getLogger(__name__)
# Without fast mathematics, which may assume that there is no NaN: NaN is a value here. The error model of NumPy makes
# x / 0 an infinity, as it is for the NumPy scalars that the same text works on as plain Python.
_FLAGS = {"nogil": True, "fastmath": False, "error_model": "numpy"}

_UNCOUNTED = {"_nrt": False}
"""For functions that neither make nor keep an array: counting references to those they are given is a quarter of what
compiling them takes, and part of each call."""

_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""For functions that only compiled code calls: what would make them callable from outside is not compiled."""

_loaded: dict[tuple[str, bool, Path | None], Entries] = {}
_loading = threading.Lock()
_provided: dict[tuple[str, str], bytes] = {}
_compilations: Counter[str] = Counter()
"""How many forms of entries this process has compiled, by fingerprint; forms loaded from a cache do not count."""
_spent: dict[str, float] = {}
"""Seconds that compiling and loading forms of entries took, by fingerprint."""
_asked: dict[tuple[str, str], float] = {}
"""When Numba asked the cache for a form, by fingerprint and entry; Numba compiles one form at a time."""


def provide(compiled: Mapping[tuple[str, str], bytes]) -> None:
    """Add compiled kernels that came with a job, by cache folder and file: they are loaded from memory.

    They are code that is run: the caller must trust their origin as it trusts the job itself.
    """
    _provided.update(compiled)


def load(
    source: KernelSource, *, jit: bool = True, cache_dir: Path | None = None, functions: Functions = NO_FUNCTIONS
) -> Entries:
    """The entries of `source` by name; loading it again gives the same object.

    `functions` are those it calls besides the prelude. A kernel that calls any is not cached on disk: what they in turn
    depend on is not known.

    Compilation waits for the first call with arguments of new types; the code is cached under `cache_dir`, by default
    `default_cache_dir()`, if nobody else can write there, for code from the cache is run.

    >>> from augury.runtime.kernel_source import kernel_source
    >>> source = kernel_source("@kernel\\ndef double(x):\\n    return x + x\\n", ("double",))
    >>> load(source, jit=False)["double"](21)
    42
    """
    if functions:
        return MappingProxyType(_compiled(source, None, functions) if jit else _plain(source, functions))
    root = (default_cache_dir() if cache_dir is None else cache_dir) if jit else None
    key = (source.fingerprint, jit, root)
    known = _loaded.get(key)
    if known is not None:
        # Without the lock, which another thread may hold for as long as it takes to import the compiler.
        return known
    with _loading:
        if key not in _loaded:
            with no_collections() if jit else nullcontext():
                _loaded[key] = MappingProxyType(
                    _compiled(source, root, functions) if jit else _plain(source, functions)
                )
        return _loaded[key]


def loaded_before(source: KernelSource, cache_dir: Path | None = None) -> bool:
    """Whether `load` can return compiled entries at once, for a kernel that calls nothing besides the prelude."""
    root = default_cache_dir() if cache_dir is None else cache_dir
    return (source.fingerprint, True, root) in _loaded


def is_compiled(entry: Function) -> bool:
    """Whether an entry that `load` gave can be called at once: it is plain, or was compiled or read in this process.

    Kernels call an entry with arguments of the same types each time.
    """
    return bool(getattr(entry, "overloads", True))


def compiled_before(source: KernelSource, cache_dir: Path | None = None) -> bool:
    """Whether a kernel is compiled in this process, or cached on disk with Numba, which loads it, already imported."""
    root = default_cache_dir() if cache_dir is None else cache_dir
    known = _loaded.get((source.fingerprint, True, root))
    if known is not None:
        dispatchers: Iterable[Any] = known.values()
        return any(dispatcher.signatures for dispatcher in dispatchers)
    # Reading a kernel takes milliseconds, importing Numba first as long as many a query.
    return "numba" in sys.modules and root is not None and holds(root, _file_prefix(source.fingerprint))


def entry_is_cached(fingerprint: str, entry: str, cache_dir: Path | None) -> bool:
    """Whether an entry was compiled before, here or elsewhere, so that to load it is all that a call waits for."""
    root = default_cache_dir() if cache_dir is None else cache_dir
    begins = f"{_file_prefix(fingerprint)}{entry}."
    return any(file.startswith(begins) for _, file in _provided) or (root is not None and holds(root, begins))


def compile_entry(entry: Function, parameters: Sequence[ParameterType]) -> None:
    """Compile an entry for arguments of these types, or load it from the cache, without calling it."""
    dispatcher: Any = entry
    dispatcher.compile(tuple(map(_numba_type, parameters)))


def _numba_type(parameter: ParameterType) -> Any:
    from numba import types
    from numba.np.numpy_support import from_dtype

    match parameter:
        case ArrayType(dtype, dimensions):
            return types.Array(from_dtype(dtype), dimensions, "C")
        case GroupType(kind, members):
            return types.BaseTuple.from_types([_numba_type(member) for member in members], kind)
        case _:
            return {int: types.int64, float: types.float64, bool: types.boolean}[parameter]


def compiled_forms(entries: Entries) -> int:
    """How many forms of entries are compiled: one for each kind of arguments that an entry was compiled for."""
    dispatchers: Iterable[Any] = entries.values()
    return sum(len(dispatcher.signatures) for dispatcher in dispatchers)


def compilations(source: KernelSource) -> int:
    """How many forms of the entries of a kernel this process has compiled, those from a cache not counted."""
    return _compilations[source.fingerprint]


def seconds_spent(source: KernelSource) -> float:
    """How long this process has compiled the entries of a kernel, or loaded them from a cache."""
    return _spent.get(source.fingerprint, 0.0)


def preload() -> None:
    """Import Numba and its registries now, for processes that are forked from this one later."""
    from numba.core.registry import cpu_target

    # Else the first kernel of each process would make it read these.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def compiles(function: Function, arguments: Sequence[str]) -> bool:
    """Whether Numba can compile a function for arguments of these kinds: `i`nteger, `f`loat or `b`oolean."""
    from numba import njit, types
    from numba.core.errors import NumbaError

    kinds = {"i": types.int64, "f": types.float64, "b": types.int64}
    try:
        njit(**_FLAGS)(function).compile(tuple(kinds[a] for a in arguments))
    except (NumbaError, TypeError, AttributeError, NotImplementedError, ValueError) as e:
        _LOG.info("the registered function %r stays plain Python: %r", function, e)
        return False
    return True


def _plain(source: KernelSource, functions: Functions) -> dict[str, Function]:
    names = _execute(source, lambda f: f, functions, jit=False).__dict__
    # Compiled code divides by zero and overflows in silence, and so must the NumPy scalars of plain Python.
    silent = np.errstate(all="ignore")
    return {entry: silent(names[entry]) for entry in source.entries}


def _compiled(source: KernelSource, root: Path | None, functions: Functions) -> dict[str, Function]:
    from numba import njit

    entries: dict[str, Function] = {}
    # The flag holds for everything that a kernel calls: a registered function may make lists.
    flags = _FLAGS if source.allocates or functions else _FLAGS | _UNCOUNTED

    def compiled_entry(function: FunctionType) -> Any:
        dispatcher = njit(**flags, no_cfunc_wrapper=True, pipeline_class=entry_compiler())(function)
        # What an entry calls is linked into its code, so entries alone need a place on disk.
        dispatcher._cache = KernelCache(root, source.fingerprint, function.__name__, kept=not functions)
        entries[function.__name__] = dispatcher
        return dispatcher

    def kernel(function: FunctionType) -> Any:
        if function.__name__ in _instructions():
            return _instructions()[function.__name__]
        if function.__name__ in source.entries:
            return compiled_entry(function)
        return njit(**flags, **_INNER)(function)

    compiled = {name: njit(**_FLAGS)(function) for name, function in functions.items()}
    module = _execute(source, kernel, compiled, jit=True)
    # Code from the disk finds its globals through the name of its module.
    sys.modules[module.__name__] = module
    for name in source.entries:
        if name not in entries:
            # A function of the prelude, where it is compiled only to be called by kernels.
            compiled_entry(module.__dict__[name].py_func)
    return entries


@functools.cache
def _instructions() -> Mapping[str, Any]:
    """The intrinsics that compiled kernels have in place of some functions of the prelude.

    They are intrinsics and not functions also because Numba would count references to the arrays at each call, which
    takes longer than a dot product.
    """
    from numba import types
    from numba.extending import intrinsic

    from augury.native.compress import emit_ahead, emit_marked
    from augury.native.lanes import ListAt, emit_dot
    from augury.native.list_blocks import emit_coefficients, emit_lowest, emit_near
    from augury.native.stopping import emit_stopped

    int64, float64 = types.int64, types.float64

    def pointers(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
        """Arrays as pointers to their first element, numbers as they are."""
        return [
            context.make_array(type)(context, builder, value).data if isinstance(type, types.Array) else value
            for type, value in zip(signature.args, arguments, strict=True)
        ]

    def has_masks(context: Any) -> bool:
        # The tuple names the platform, the CPU and its features.
        return "+avx512f" in str(context.codegen().magic_tuple())

    def dot(context: Any, ao: Any, av: Any, an: Any, a: Any, bo: Any, bv: Any, bn: Any, b: Any) -> Any:
        if not _arrays_of((ao, av, an, bo, bv, bn), 2 * (int64, float64, types.uint8)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = pointers(context, builder, signature, arguments)
            return emit_dot(builder, ListAt(*given[:4]), ListAt(*given[4:]), masks=has_masks(context))

        return float64(ao, av, an, int64, bo, bv, bn, int64), generate

    def near(
        context: Any,
        rows: Any,
        width: Any,
        base: Any,
        lo: Any,
        hi: Any,
        values: Any,
        first: Any,
        sign: Any,
        limit: Any,
    ) -> Any:
        if not _arrays_of((rows, values), (types.float32, float64)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit_near(builder, *pointers(context, builder, signature, arguments))

        return int64(rows, int64, int64, int64, int64, values, int64, float64, float64), generate

    def coefficients(
        context: Any, values: Any, first: Any, width: Any, cosines: Any, sign: Any, led: Any, at: Any
    ) -> Any:
        if not _arrays_of((values, cosines, led), 3 * (float64,)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit_coefficients(builder, *pointers(context, builder, signature, arguments))

        return float64(values, int64, int64, cosines, float64, led, int64), generate

    def lowest(context: Any, bits: Any) -> Any:
        return int64(int64), lambda context, builder, signature, arguments: emit_lowest(builder, *arguments)

    def marked(context: Any, mask: Any, size: Any, lo: Any, found: Any) -> Any:
        if not _arrays_of((mask, found), (types.uint8, int64)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = pointers(context, builder, signature, arguments)
            return emit_marked(builder, *given, native=has_masks(context))

        return int64(mask, int64, int64, found), generate

    def stopped(context: Any, nums: Any) -> Any:
        if not _arrays_of((nums,), (int64,)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit_stopped(builder, *pointers(context, builder, signature, arguments))

        return types.boolean(nums), generate

    def ahead(operator: str) -> Any:
        def search(context: Any, ascending: Any, lo: Any, value: Any) -> Any:
            if not _arrays_of((ascending,), (int64,)):
                return None

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return emit_ahead(builder, operator, *pointers(context, builder, signature, arguments))

            return int64(ascending, int64, int64), generate

        return search

    found = {f.__name__: f for f in (dot, near, coefficients, lowest, marked, stopped)} | {
        "below": ahead("<"),
        "up_to": ahead("<="),
    }
    return {name: intrinsic(f) for name, f in found.items()}


def _arrays_of(arrays: Sequence[Any], kinds: Sequence[Any]) -> bool:
    return all((x.dtype, x.layout) == (kind, "C") for x, kind in zip(arrays, kinds, strict=True))


@functools.cache
def _shared_prelude(jit: bool) -> Mapping[str, Any]:
    """The names of the prelude, shared by all kernels of the process: a function is compiled once, then linked."""
    module = ModuleType("augury_prelude" if jit else "augury_plain_prelude")
    names = module.__dict__
    for part, text in prelude().items():
        exec(compile(text, str(files("augury.native") / part), "exec", dont_inherit=True), names)
    if jit:
        from numba import njit

        for name, value in list(names.items()):
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                names[name] = _instructions().get(name) or njit(**_FLAGS, **_UNCOUNTED, **_INNER)(value)
        # Code from the disk finds its globals through the name of its module.
        sys.modules[module.__name__] = module
    return MappingProxyType({name: value for name, value in names.items() if not name.startswith("__")})


def _execute(
    source: KernelSource, kernel: Callable[[FunctionType], Any], functions: Functions, *, jit: bool
) -> ModuleType:
    """Run the text in a new module that has the names of the prelude."""
    module = ModuleType(f"augury_kernel_{source.fingerprint[:16]}")
    names = module.__dict__
    names.update(_shared_prelude(jit))
    names["kernel"] = kernel
    names.update(functions)
    file = f"<augury kernel {source.fingerprint[:12]}>"
    # Without a modification time, `linecache` keeps the lines although there is no such file.
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
    # Annotations, which functions of the library have, are not looked at here.
    unread = __future__.annotations.compiler_flag
    exec(compile(source.text, file, "exec", unread, dont_inherit=True), names)
    return module


@dataclass(frozen=True, slots=True)
class KernelCache:
    """The compiled forms of one entry, one file a signature, as a Numba dispatcher asks for them.

    They are in memory if they came with a job, else on disk under `root` if there is one.

    It stands in for Numba's own cache, where an unreadable file is an error, a folder that cannot be written is no
    folder, and two processes that compile two signatures at once can each get the other's code.
    """

    root: Path | None
    fingerprint: str
    entry: str
    kept: bool = True
    """Whether code is loaded and saved; compilations are counted in any case."""

    @property
    def cache_path(self) -> str:
        """The folder of cached files that `dispatcher.stats` names."""
        return "" if self.root is None else str(self.root)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compile result for `sig`, or none: anything wrong with the file is a miss."""
        began = _asked[self.fingerprint, self.entry] = perf_counter()
        found = self._loaded(sig, target_context)
        if found is not None:
            self._spend(began)
        return found

    def _spend(self, began: float) -> None:
        _spent[self.fingerprint] = _spent.get(self.fingerprint, 0.0) + perf_counter() - began

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        # What compiled code calls. Numba's own cache has the compiler learn all types and functions here, which takes
        # a third of a second and is not needed before something is compiled.
        rtsys.initialize(target_context)
        if not self.kept:
            return None
        folder, file, key = self._place(sig, target_context.codegen())
        content = None
        if (folder, file) in _provided:
            content = checked(_provided[folder, file], key, f"{file} of the job")
        elif self.root is not None:
            content = read(self.root, folder, file, key)
        if content is None:
            return None
        try:
            with no_collections():
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception as e:
            # Unharmed, yet not what this Numba can use: which exception that gives is Numba's affair.
            _LOG.warning("the cached kernel %s does not load and is compiled anew: %r", file, e)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compile result `data`; when the folder takes nothing, it serves this process only."""
        _compilations[self.fingerprint] += 1
        self._save(sig, data)
        self._spend(_asked[self.fingerprint, self.entry])

    def _save(self, sig: Any, data: Any) -> None:
        from numba.core.serialize import dumps

        if not self.kept:
            return
        # As in Numba's own cache: such code holds addresses of this process.
        if data.library.has_dynamic_globals or not all(part.can_cache for part in data.lifted):
            return
        if self.root is not None:
            folder, file, key = self._place(sig, data.codegen)
            write(self.root, folder, file, key, dumps(data._reduce()))

    def flush(self) -> None:
        """Forget this entry, as `dispatcher.recompile()` wants."""
        if self.root is not None:
            remove(self.root, f"{_file_prefix(self.fingerprint)}{self.entry}.")

    def _place(self, sig: Any, codegen: Any) -> tuple[str, str, bytes]:
        from numba.core.sigutils import normalize_signature

        key = repr((self.fingerprint, self.entry, normalize_signature(sig))).encode()
        file = f"{_file_prefix(self.fingerprint)}{self.entry}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        return _folder(codegen), file, key


def _file_prefix(fingerprint: str) -> str:
    """The beginning of the names of a kernel's files."""
    return f"kernel_{fingerprint[:16]}."


def _folder(codegen: Any) -> str:
    """The cache folder for this Python, Numba, CPU and these settings: all but the source that decides about code."""
    import llvmlite
    import numba
    from numba import config

    python = sys.implementation.cache_tag
    settings = (config.BOUNDSCHECK, int(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
    versions = (python, numba.__version__, llvmlite.__version__, np.__version__)
    # The tuple names the platform, the CPU and its features.
    facts = repr((versions, codegen.magic_tuple(), settings, _FLAGS, _instruction_text()))
    return f"augury-{python}-numba-{numba.__version__}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"


@functools.cache
def _instruction_text() -> str:
    """The text of `INSTRUCTIONS`: the only part of compiled kernels that neither they nor the prelude contain."""
    folder = files("augury.native")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in INSTRUCTIONS)
