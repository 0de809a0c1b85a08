"""Array types, each named once; shapes are said where an array is taken or returned."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
