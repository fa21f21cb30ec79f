"""Annotations of array parameters of the library, with element type and dimensions.

A type checker treats all of them as arrays. `augury.native.support` reads them to compile a function before it is
called.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from numpy.typing import NDArray

from augury.runtime.arrays import FLOAT64, INT32, INT64, UINT8, ArrayType

Ints: TypeAlias = Annotated[NDArray[Any], ArrayType(INT64)]
Ints2: TypeAlias = Annotated[NDArray[Any], ArrayType(INT64, 2)]
Ints3: TypeAlias = Annotated[NDArray[Any], ArrayType(INT64, 3)]
Offsets2: TypeAlias = Annotated[NDArray[Any], ArrayType(INT32, 2)]
Floats: TypeAlias = Annotated[NDArray[Any], ArrayType(FLOAT64)]
Floats2: TypeAlias = Annotated[NDArray[Any], ArrayType(FLOAT64, 2)]
Floats3: TypeAlias = Annotated[NDArray[Any], ArrayType(FLOAT64, 3)]
Floats4: TypeAlias = Annotated[NDArray[Any], ArrayType(FLOAT64, 4)]
Bytes: TypeAlias = Annotated[NDArray[Any], ArrayType(UINT8)]
Bytes2: TypeAlias = Annotated[NDArray[Any], ArrayType(UINT8, 2)]
