"""Types and shapes of results where sizes are symbols of jax.export.

Each extent that is a symbol, or an expression of symbols, becomes a size of the text, `dim`; the
compiler tells extents of results as expressions of these, which are computed with jax's symbols.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Tuple

from ._operators import Operator, Parts, Type
from ._versions import is_known


def results_of(f: Operator, parts: Parts) -> Tuple[Type, ...]:
    """As Operator.results, for extents that may be symbols."""
    if all(is_known(shape) for _, _, shape in parts):
        return f.results(parts)
    raise NotImplementedError
