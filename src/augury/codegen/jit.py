"""KernelSource -> callables: compiled by Numba and kept on disk, or run as the plain Python they are."""

from __future__ import annotations

import functools
import hashlib
import linecache
import logging
import pickle
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from augury.codegen.source import KernelSource, prelude_text
from augury.codegen.store import clear, default_cache_dir, read, write

__all__ = ["Entries", "Functions", "clear", "compiles", "default_cache_dir", "load"]

Function: TypeAlias = Callable[..., Any]
Entries: TypeAlias = Mapping[str, Function]
Functions: TypeAlias = Mapping[str, Function]

NO_FUNCTIONS: Functions = MappingProxyType({})

_LOG = logging.getLogger(__name__)
# Without fast mathematics, which may assume that there is no NaN: NaN is a value here. The error model of NumPy makes
# x / 0 an infinity, as it is for the NumPy scalars that the same text works on as plain Python.
_FLAGS = {"nogil": True, "fastmath": False, "error_model": "numpy"}
_loaded: dict[tuple[str, bool, Path | None], Entries] = {}
_loading = threading.Lock()


def load(
    source: KernelSource, *, jit: bool = True, cache_dir: Path | None = None, functions: Functions = NO_FUNCTIONS
) -> Entries:
    """The entries of `source` by name; loading it again gives the same object.

    `functions` are what it calls beside the prelude. A kernel that calls any is not kept on disk: what they in turn
    depend on is not known.

    Compilation waits for the first call with arguments of new types; what it yields is kept under `cache_dir`, by
    default `default_cache_dir()`. That folder is trusted like the program itself: code from it is run.

    >>> from augury.codegen.source import kernel_source
    >>> source = kernel_source("@kernel\\ndef double(x):\\n    return x + x\\n", ("double",))
    >>> load(source, jit=False)["double"](21)
    42
    """
    if functions:
        return MappingProxyType(_compiled(source, None, functions) if jit else _plain(source, functions))
    root = (default_cache_dir() if cache_dir is None else cache_dir) if jit else None
    key = (source.fingerprint, jit, root)
    with _loading:
        if key not in _loaded:
            _loaded[key] = MappingProxyType(_compiled(source, root, functions) if jit else _plain(source, functions))
        return _loaded[key]


def preload() -> None:
    """Import the compiler now, for processes that are to be forked from this one."""
    import numba

    assert numba.njit


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
    names = _execute(source, lambda f: f, functions).__dict__
    # Compiled code divides by zero and overflows in silence, and so must the NumPy scalars of plain Python.
    silent = np.errstate(all="ignore")
    return {entry: silent(names[entry]) for entry in source.entries}


def _compiled(source: KernelSource, root: Path | None, functions: Functions) -> dict[str, Function]:
    from numba import njit

    def kernel(function: FunctionType) -> Any:
        if function.__name__ == "dot":
            return _vector_dot()
        dispatcher = njit(**_FLAGS)(function)
        # What an entry calls is linked into its code, so entries alone need a place on disk.
        if root is not None and function.__name__ in source.entries:
            dispatcher._cache = KernelCache(root, source.fingerprint, function.__name__)
        return dispatcher

    compiled = {name: njit(**_FLAGS)(function) for name, function in functions.items()}
    module = _execute(source, kernel, compiled)
    # Code from the disk finds its globals through the name of its module.
    sys.modules[module.__name__] = module
    return {entry: module.__dict__[entry] for entry in source.entries}


@functools.cache
def _vector_dot() -> Any:
    """What compiled kernels have in place of `dot` of the prelude.

    It is no function, also because Numba would count references to the arrays of lists at each call, which takes longer
    than a dot product.
    """
    from numba import types
    from numba.extending import intrinsic

    from augury.codegen.lanes import ListAt, emit_dot

    def dot(context: Any, ao: Any, av: Any, an: Any, a: Any, bo: Any, bv: Any, bn: Any, b: Any) -> Any:
        kinds = (types.int64, types.float64, types.uint8)
        if any((x.dtype, x.layout) != (kind, "C") for x, kind in zip((ao, av, an, bo, bv, bn), 2 * kinds, strict=True)):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = [
                context.make_array(type)(context, builder, value).data if isinstance(type, types.Array) else value
                for type, value in zip(signature.args, arguments, strict=True)
            ]
            # The tuple names the platform, the CPU and its features.
            masks = "+avx512f" in str(context.codegen().magic_tuple())
            return emit_dot(builder, ListAt(*pointers[:4]), ListAt(*pointers[4:]), masks=masks)

        return types.float64(ao, av, an, types.int64, bo, bv, bn, types.int64), generate

    return intrinsic(dot)


def _execute(source: KernelSource, kernel: Callable[[FunctionType], Any], functions: Functions) -> ModuleType:
    """Run the prelude and the text in one new module, each under its own line numbers."""
    module = ModuleType(f"augury_kernel_{source.fingerprint[:16]}")
    names = module.__dict__
    exec(compile(prelude_text(), str(files("augury.codegen") / "prelude.py"), "exec", dont_inherit=True), names)
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            names[name] = kernel(value)
    names["kernel"] = kernel
    names.update(functions)
    file = f"<augury kernel {source.fingerprint[:12]}>"
    # Without a modification time, `linecache` keeps the lines although there is no such file.
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
    exec(compile(source.text, file, "exec", dont_inherit=True), names)
    return module


@dataclass(frozen=True, slots=True)
class KernelCache:
    """The compiled forms of one entry on disk, one file a signature, as a Numba dispatcher asks for them.

    It stands in for Numba's own cache, where an unreadable file is an error, a folder that cannot be written is no
    folder, and two processes that compile two signatures at once can each get the other's code.
    """

    root: Path
    fingerprint: str
    entry: str

    @property
    def cache_path(self) -> str:
        """Where `dispatcher.stats` says the files are."""
        return str(self.root)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compile result for `sig`, or none: anything wrong with the file is a miss."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        path, key = self._place(sig, target_context.codegen())
        content = read(path, key)
        if content is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception as e:
            # Unharmed, yet not what this Numba can use: which exception that gives is Numba's affair.
            _LOG.warning("the cached kernel %s does not load and is compiled anew: %r", path, e)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compile result `data`; when the folder takes nothing, it serves this process only."""
        from numba.core.serialize import dumps

        # As in Numba's own cache: such code holds addresses of this process.
        if data.library.has_dynamic_globals or not all(part.can_cache for part in data.lifted):
            return
        path, key = self._place(sig, data.codegen)
        try:
            write(path, key, dumps(data._reduce()))
        except OSError as e:
            _warn_once(f"compiled kernels are not kept: {path.parent}: {e.strerror}")

    def flush(self) -> None:
        """Forget this entry, as `dispatcher.recompile()` wants."""
        for path in self.root.glob(f"augury-*/kernel_{self.fingerprint[:16]}.{self.entry}.*.bin"):
            path.unlink(missing_ok=True)

    def _place(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        from numba.core.sigutils import normalize_signature

        key = repr((self.fingerprint, self.entry, normalize_signature(sig))).encode()
        file = f"kernel_{self.fingerprint[:16]}.{self.entry}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        return self.root / _folder(codegen) / file, key


def _folder(codegen: Any) -> str:
    """A name for everything but the source that decides what compiled code looks like."""
    import llvmlite
    import numba
    from numba import config

    python = sys.implementation.cache_tag
    settings = (config.BOUNDSCHECK, int(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
    versions = (python, numba.__version__, llvmlite.__version__, np.__version__)
    # The tuple names the platform, the CPU and its features.
    facts = repr((versions, codegen.magic_tuple(), settings, _FLAGS, _lanes_text()))
    return f"augury-{python}-numba-{numba.__version__}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"


@functools.cache
def _lanes_text() -> str:
    """The one part of compiled kernels that is not in their own text or in the prelude."""
    return files("augury.codegen").joinpath("lanes.py").read_text(encoding="utf-8")


@functools.cache
def _warn_once(text: str) -> None:
    _LOG.warning(text)
